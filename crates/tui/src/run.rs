//! The loop: whatever happens, at the terminal, in the space, through the port or by the clock, becomes a change of the
//! app and then a frame. One task, one `select!`.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, SystemTime};

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use ratatui::layout::Rect;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, WriteHalf};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use wh_client::{Change, Drawn, Gone, Mirror, Space, UiOrder, UiPort};
use wh_core::space::command::{Done, Refusal};
use wh_core::terminal::Size;
use wh_screen::decode::{Decoded, Decoder};

use crate::app::{Act, App, Look, Looked, Request};
use crate::bell::{self, Ringer};
use crate::composer;
use crate::options::Options;
use crate::paint::{self, Painter};
use crate::view;

/// How long an ESC may be the beginning of something.
const ESCAPE_PATIENCE: Duration = Duration::from_millis(30);

/// Between two frames that nobody at the terminal asked for.
const FRAME: Duration = Duration::from_millis(16);

/// What is typed counts as drawn once the space has answered what it led to, or has taken so long to.
const ANSWER_PATIENCE: Duration = Duration::from_millis(100);

/// Bytes of input that are read at once.
const INPUT: usize = 16 * 1024;

/// Why nothing is shown any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The person left.
    Person,
    /// The space is gone.
    Space,
    /// The terminal is gone.
    Terminal,
}

/// The terminal could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the terminal cannot be used: {0}")]
pub struct Error(#[from] io::Error);

/// Shows a space on a terminal until the person leaves or the space is gone.
///
/// `terminal` gives a terminal's input and takes what draws its screen; `sizes` says how large it is. `drawn` follows what
/// has been drawn of the input and of the space.
pub async fn run<S>(
    terminal: S,
    sizes: watch::Receiver<Size>,
    drawn: watch::Sender<Drawn>,
    space: Space,
    port: UiPort,
    options: Options,
) -> Result<Left, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let Ok(mirror) = space.mirror().await else { return Ok(Left::Space) };
    let (mut reader, mut writer) = tokio::io::split(terminal);
    let outcome = match send(&mut writer, paint::ENTER).await {
        Ok(()) => {
            let ringer = Ringer::new(options.bell, mirror.state());
            let mut run = Run {
                stays: options.stays.clone(),
                app: App::new(options),
                mirror,
                decoder: Decoder::new(),
                painter: Painter::default(),
                sizes,
                drawn,
                port,
                asked: FuturesUnordered::new(),
                looks: FuturesUnordered::new(),
                unanswered: VecDeque::new(),
                listing: None,
                replies: Vec::new(),
                stale: false,
                last_input: Instant::now(),
                last_frame: None,
                next_frame: Some(Instant::now()),
                questions: 0,
                ringer,
            };
            run.app.sync(run.mirror.state(), &Change { reset: true, ..Change::default() }, SystemTime::now());
            run.until_left(&mut reader, &mut writer).await
        }
        Err(error) => Err(error.into()),
    };
    let outcome = match outcome {
        Ok(left) => left,
        Err(Stop::Space) => Left::Space,
        Err(Stop::Io(error)) if lost(&error) => Left::Terminal,
        Err(Stop::Io(error)) => return Err(error.into()),
    };
    match send(&mut writer, paint::LEAVE).await {
        Err(error) if !lost(&error) => Err(error.into()),
        _ => Ok(outcome),
    }
}

/// Whether nobody is at the other end any more.
fn lost(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
}

async fn send(writer: &mut (impl AsyncWrite + Unpin), text: &str) -> io::Result<()> {
    writer.write_all(text.as_bytes()).await?;
    writer.flush().await
}

/// Why the loop cannot go on.
enum Stop {
    Space,
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Gone> for Stop {
    fn from(_: Gone) -> Self {
        Self::Space
    }
}

/// What the space said to a request, and which one of [`Run::unanswered`] that was.
type Answered = (u64, Request, Result<Result<Done, Refusal>, Gone>);

struct Run {
    /// Where to say that the person wants to leave, if the UI stays.
    stays: Option<mpsc::Sender<()>>,
    app: App,
    mirror: Mirror,
    decoder: Decoder,
    painter: Painter,
    sizes: watch::Receiver<Size>,
    drawn: watch::Sender<Drawn>,
    port: UiPort,
    asked: FuturesUnordered<BoxFuture<'static, Answered>>,
    /// What is asked of the agents themselves. No frame waits for it.
    looks: FuturesUnordered<BoxFuture<'static, Looked>>,
    /// Requests that frames wait for, and until when.
    unanswered: VecDeque<(u64, Instant)>,
    listing: Option<JoinHandle<Vec<String>>>,
    /// Whoever waits for the next frame.
    replies: Vec<oneshot::Sender<()>>,
    /// The space has changed, and the mirror has not followed yet.
    stale: bool,
    last_input: Instant,
    last_frame: Option<Instant>,
    next_frame: Option<Instant>,
    /// Requests so far.
    questions: u64,
    ringer: Ringer,
}

impl Run {
    async fn until_left<S>(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
        writer: &mut WriteHalf<S>,
    ) -> Result<Left, Stop>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let mut input = vec![0; INPUT];
        let mut sized = true;
        let mut ordered = true;
        loop {
            let escape = self.decoder.pending().then(|| self.last_input + ESCAPE_PATIENCE);
            let acts = tokio::select! {
                biased;
                read = reader.read(&mut input) => {
                    let read = match read {
                        Ok(0) => return Ok(Left::Terminal),
                        read => read?,
                    };
                    self.last_input = Instant::now();
                    let decoded = self.decoder.feed(&input[..read]);
                    self.typed(decoded).await?
                }
                () = sleep_until(escape) => {
                    let decoded = self.decoder.timeout();
                    self.typed(decoded).await?
                }
                Some((number, request, answer)) = self.asked.next(), if !self.asked.is_empty() => {
                    self.unanswered.retain(|(waiting, _)| *waiting != number);
                    self.catch_up().await?;
                    self.draw_by(Instant::now());
                    self.app.answered(request, answer?, self.mirror.state(), SystemTime::now())
                }
                Some(looked) = self.looks.next(), if !self.looks.is_empty() => {
                    self.catch_up().await?;
                    self.draw_by(Instant::now());
                    self.app.looked(looked, self.mirror.state(), SystemTime::now())
                }
                order = self.port.orders.recv(), if ordered => match order {
                    Some(UiOrder { command, reply }) => {
                        self.replies.push(reply);
                        self.catch_up().await?;
                        self.draw_by(Instant::now());
                        self.app.ui(command, self.mirror.state(), SystemTime::now())
                    }
                    None => {
                        ordered = false;
                        Vec::new()
                    }
                },
                changed = self.sizes.changed(), if sized => {
                    sized = changed.is_ok();
                    // Who comes back from their shell is told the size, and sees what the shell has left.
                    self.painter.forget();
                    self.draw_by(Instant::now());
                    Vec::new()
                }
                changed = self.mirror.changed(), if !self.stale => {
                    changed?;
                    self.stale = true;
                    let soonest = self.last_frame.map_or_else(Instant::now, |last| last + FRAME);
                    self.draw_by(soonest);
                    Vec::new()
                }
                files = listed(&mut self.listing) => {
                    self.listing = None;
                    self.app.files(files, self.mirror.state());
                    self.draw_by(Instant::now());
                    Vec::new()
                }
                () = sleep_until(self.next_frame) => Vec::new(),
            };
            let leaves = self.perform(acts);
            if leaves || self.next_frame.is_some_and(|at| at <= Instant::now()) {
                self.draw(writer).await?;
            }
            if leaves {
                return Ok(Left::Person);
            }
        }
    }

    fn draw_by(&mut self, at: Instant) {
        self.next_frame = Some(self.next_frame.map_or(at, |earlier| earlier.min(at)));
    }

    /// What was done at the terminal is done to what is true now, not to what was true at the last frame.
    async fn typed(&mut self, decoded: Vec<Decoded>) -> Result<Vec<Act>, Stop> {
        self.draw_by(Instant::now());
        self.catch_up().await?;
        let now = SystemTime::now();
        // The size may have changed since the last frame: what was typed since is dropped where it is too small, and grants
        // nothing anywhere.
        let size = *self.sizes.borrow();
        self.app.too_small |= !view::fits(size);
        self.app.dialog.resize(size, self.mirror.state(), now);
        let mut acts = Vec::new();
        for Decoded { gesture, .. } in decoded {
            acts.extend(self.app.gesture(&gesture, self.mirror.state(), now));
        }
        Ok(acts)
    }

    async fn catch_up(&mut self) -> Result<(), Stop> {
        self.stale = false;
        let change = self.mirror.catch_up().await?;
        self.app.sync(self.mirror.state(), &change, SystemTime::now());
        Ok(())
    }

    /// Does what the app asks for; says whether to leave.
    fn perform(&mut self, acts: Vec<Act>) -> bool {
        let mut leaves = false;
        for act in acts {
            match act {
                Act::Ask(request) => self.ask(request),
                Act::Look(look) => self.look(look),
                Act::ListFiles => {
                    let directory = self.app.directory().to_owned();
                    let list = move || composer::list(&directory, composer::Files::default());
                    self.listing.get_or_insert_with(|| tokio::task::spawn_blocking(list));
                }
                Act::Redraw => self.painter.forget(),
                Act::Leave => match &self.stays {
                    // One who says it twice has said it.
                    Some(stays) => drop(stays.try_send(())),
                    None => leaves = true,
                },
            }
        }
        leaves
    }

    /// Sends a request; the answer comes to the loop.
    fn ask(&mut self, request: Request) {
        self.questions += 1;
        let number = self.questions;
        let (space, by) = (self.mirror.space().clone(), self.app.me().clone());
        let mut answer = async move {
            let answer = space.command(by, None, request.command.clone()).await;
            (number, request, answer)
        }
        .boxed();
        // On its way at once, so that requests come in the order in which they were made.
        match (&mut answer).now_or_never() {
            Some(answer) => self.asked.push(std::future::ready(answer).boxed()),
            None => self.asked.push(answer),
        }
        self.unanswered.push_back((number, Instant::now() + ANSWER_PATIENCE));
    }

    /// Asks the agents themselves; what they say comes to the loop, whenever that is.
    fn look(&mut self, look: Look) {
        let space = self.mirror.space().clone();
        self.looks.push(
            async move {
                match look {
                    Look::Agents => Looked::Agents(space.agents().await),
                    Look::Conversations(agent) => {
                        let found = space.conversations(&agent).await;
                        Looked::Conversations(agent, found)
                    }
                    Look::Invite(agent, conversation) => {
                        let came = space.invite(&agent, conversation).await;
                        Looked::Invited(agent, came)
                    }
                    Look::Part(item, offset) => {
                        let came = match space.piece(item.clone(), offset).await {
                            Ok(came) => came.map_err(|error| error.to_string()),
                            Err(Gone) => Err("the space is gone".to_owned()),
                        };
                        Looked::Part(item, offset, came)
                    }
                }
            }
            .boxed(),
        );
    }

    async fn draw(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> Result<(), Stop> {
        if self.stale {
            self.catch_up().await?;
        }
        let Size { columns, rows } = *self.sizes.borrow_and_update();
        let buffer = self.painter.begin(Rect::new(0, 0, columns, rows));
        let drawn = view::draw(&mut self.app, self.mirror.state(), buffer, SystemTime::now());
        self.port.facts.send_if_modified(|facts| std::mem::replace(facts, drawn.facts) != drawn.facts);
        if let Some(frame) = self.painter.finish(drawn.cursor) {
            send(writer, &frame).await?;
        }
        if self.ringer.rings(self.mirror.state()) {
            send(writer, bell::BEL).await?;
        }
        let now = Instant::now();
        self.last_frame = Some(now);
        self.next_frame = drawn.wake.map(|wake| now + wake);
        for reply in self.replies.drain(..) {
            // Whoever asked may have gone.
            let _ = reply.send(());
        }
        self.unanswered.retain(|(_, until)| *until > now);
        let mut drawn = Drawn { beat: self.mirror.beat(), ..*self.drawn.borrow() };
        match self.unanswered.front() {
            Some((_, until)) => self.draw_by(*until),
            None => drawn.typed = self.decoder.taken(),
        }
        self.drawn.send_if_modified(|known| std::mem::replace(known, drawn) != drawn);
        Ok(())
    }
}

async fn listed(listing: &mut Option<JoinHandle<Vec<String>>>) -> Vec<String> {
    match listing {
        Some(task) => task.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the files could not be listed");
            Vec::new()
        }),
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
