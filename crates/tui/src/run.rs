//! Event loop of the UI: a single task with one `select!`. Each event (terminal input, change of the space, command
//! from the [`UiPort`], timer) updates the app, and then a frame is drawn.

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
use wh_client::{DrawProgress, Mirror, MirrorChange, SessionGone, Space, UiOrder, UiPort};
use wh_core::space::command::{CommandAccepted, SpaceRefusal};
use wh_core::terminal::Size;
use wh_screen::decode::{DecodedGesture, InputDecoder};

use crate::app::{App, AppEffect, BackgroundAnswer, BackgroundQuery, SentCommand};
use crate::bell::{self, BellDetector};
use crate::composer;
use crate::options::TuiOptions;
use crate::paint::{self, Painter};
use crate::view;

/// Timeout after which a lone ESC byte is read as the Escape key and not as the beginning of an escape sequence.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(30);

/// Minimum time between two frames. Frames caused by input are drawn immediately.
const FRAME_INTERVAL: Duration = Duration::from_millis(16);

/// Maximum time to wait for the space to answer requests caused by input. After this time, the input counts as drawn
/// even without the answers.
const DRAW_ANSWER_TIMEOUT: Duration = Duration::from_millis(100);

const INPUT_BUFFER_BYTES: usize = 16 * 1024;

/// Reason why [`run`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TuiExit {
    /// The user quit the UI.
    UserQuit,
    /// The space ended.
    Space,
    /// The terminal was closed.
    Terminal,
}

/// Error while reading from or writing to the terminal.
#[derive(Debug, thiserror::Error)]
#[error("cannot read from or write to the terminal: {0}")]
pub struct TuiError(#[from] io::Error);

/// Shows a space on a terminal until the user quits, the space ends or the terminal is closed.
///
/// `terminal` yields the input of the terminal and receives the output. `sizes` holds the current size of the terminal.
/// `drawn` is updated after each frame with the progress of drawing.
pub async fn run<S>(
    terminal: S,
    sizes: watch::Receiver<Size>,
    drawn: watch::Sender<DrawProgress>,
    space: Space,
    port: UiPort,
    options: TuiOptions,
) -> Result<TuiExit, TuiError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let Ok(mirror) = space.mirror().await else { return Ok(TuiExit::Space) };
    let (mut reader, mut writer) = tokio::io::split(terminal);
    let outcome = match send(&mut writer, paint::ENTER_SEQUENCE).await {
        Ok(()) => {
            let ringer = BellDetector::new(options.bell, mirror.state());
            let mut run = UiLoop {
                quit_requests: options.quit_requests.clone(),
                app: App::new(options),
                mirror,
                decoder: InputDecoder::new(),
                painter: Painter::default(),
                sizes,
                drawn,
                port,
                requests: FuturesUnordered::new(),
                queries: FuturesUnordered::new(),
                unanswered: VecDeque::new(),
                listing: None,
                replies: Vec::new(),
                stale: false,
                last_input: Instant::now(),
                last_frame: None,
                next_frame: Some(Instant::now()),
                request_count: 0,
                ringer,
            };
            run.app.sync(
                run.mirror.state(),
                &MirrorChange { reset: true, ..MirrorChange::default() },
                SystemTime::now(),
            );
            run.until_left(&mut reader, &mut writer).await
        }
        Err(error) => Err(error.into()),
    };
    let outcome = match outcome {
        Ok(left) => left,
        Err(LoopStop::Space) => TuiExit::Space,
        Err(LoopStop::Io(error)) if lost(&error) => TuiExit::Terminal,
        Err(LoopStop::Io(error)) => return Err(error.into()),
    };
    match send(&mut writer, paint::EXIT_SEQUENCE).await {
        Err(error) if !lost(&error) => Err(error.into()),
        _ => Ok(outcome),
    }
}

/// Returns true if the error means that the terminal was closed.
fn lost(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
}

async fn send(writer: &mut (impl AsyncWrite + Unpin), text: &str) -> io::Result<()> {
    writer.write_all(text.as_bytes()).await?;
    writer.flush().await
}

/// Reason why the event loop ends.
enum LoopStop {
    Space,
    Io(io::Error),
}

impl From<io::Error> for LoopStop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<SessionGone> for LoopStop {
    fn from(_: SessionGone) -> Self {
        Self::Space
    }
}

/// Number of the request in [`UiLoop::unanswered`], the request, and the answer of the space.
type RequestAnswer = (u64, SentCommand, Result<Result<CommandAccepted, SpaceRefusal>, SessionGone>);

struct UiLoop {
    /// Channel for requests to quit. If set, a quit action sends a request and the event loop continues.
    quit_requests: Option<mpsc::Sender<()>>,
    app: App,
    mirror: Mirror,
    decoder: InputDecoder,
    painter: Painter,
    sizes: watch::Receiver<Size>,
    drawn: watch::Sender<DrawProgress>,
    port: UiPort,
    requests: FuturesUnordered<BoxFuture<'static, RequestAnswer>>,
    /// Queries in progress. Frames do not wait for their results.
    queries: FuturesUnordered<BoxFuture<'static, BackgroundAnswer>>,
    /// Numbers of the requests that frames wait for, each with the time at which the wait times out.
    unanswered: VecDeque<(u64, Instant)>,
    listing: Option<JoinHandle<Vec<String>>>,
    /// Reply channels of clients that wait for the next frame.
    replies: Vec<oneshot::Sender<()>>,
    /// True if the space has changed since the last update of the mirror.
    stale: bool,
    last_input: Instant,
    last_frame: Option<Instant>,
    next_frame: Option<Instant>,
    /// Number of requests sent so far.
    request_count: u64,
    ringer: BellDetector,
}

impl UiLoop {
    async fn until_left<S>(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
        writer: &mut WriteHalf<S>,
    ) -> Result<TuiExit, LoopStop>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let mut input = vec![0; INPUT_BUFFER_BYTES];
        let mut sized = true;
        let mut ordered = true;
        loop {
            let escape = self.decoder.pending().then(|| self.last_input + ESCAPE_TIMEOUT);
            let effects = tokio::select! {
                biased;
                read = reader.read(&mut input) => {
                    let read = match read {
                        Ok(0) => return Ok(TuiExit::Terminal),
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
                Some((number, request, answer)) = self.requests.next(), if !self.requests.is_empty() => {
                    self.unanswered.retain(|(waiting, _)| *waiting != number);
                    self.catch_up().await?;
                    self.draw_by(Instant::now());
                    self.app.on_answer(request, answer?, self.mirror.state(), SystemTime::now())
                }
                Some(answer) = self.queries.next(), if !self.queries.is_empty() => {
                    self.catch_up().await?;
                    self.draw_by(Instant::now());
                    self.app.on_agent_answer(answer, self.mirror.state(), SystemTime::now())
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
                    // A resize is also reported when the user returns from a shell, which may have overwritten the
                    // screen.
                    self.painter.invalidate();
                    self.draw_by(Instant::now());
                    Vec::new()
                }
                changed = self.mirror.changed(), if !self.stale => {
                    changed?;
                    self.stale = true;
                    let soonest = self.last_frame.map_or_else(Instant::now, |last| last + FRAME_INTERVAL);
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
            let leaves = self.perform(effects);
            if leaves || self.next_frame.is_some_and(|at| at <= Instant::now()) {
                self.draw(writer).await?;
            }
            if leaves {
                return Ok(TuiExit::UserQuit);
            }
        }
    }

    fn draw_by(&mut self, at: Instant) {
        self.next_frame = Some(self.next_frame.map_or(at, |earlier| earlier.min(at)));
    }

    /// Updates the mirror, then handles the input. Input thus applies to the current state of the space, not to the
    /// state in the last frame.
    async fn typed(&mut self, decoded: Vec<DecodedGesture>) -> Result<Vec<AppEffect>, LoopStop> {
        self.draw_by(Instant::now());
        self.catch_up().await?;
        let now = SystemTime::now();
        // The size may have changed since the last frame. Input typed on a screen that is too small is dropped, and
        // must not grant a permission.
        let size = *self.sizes.borrow();
        self.app.too_small |= !view::fits(size);
        self.app.dialog.resize(size, self.mirror.state(), now);
        let mut effects = Vec::new();
        for DecodedGesture { gesture, .. } in decoded {
            effects.extend(self.app.gesture(&gesture, self.mirror.state(), now));
        }
        Ok(effects)
    }

    async fn catch_up(&mut self) -> Result<(), LoopStop> {
        self.stale = false;
        let change = self.mirror.catch_up().await?;
        self.app.sync(self.mirror.state(), &change, SystemTime::now());
        Ok(())
    }

    /// Performs the effects that the app returned. Returns true if the UI must end.
    fn perform(&mut self, effects: Vec<AppEffect>) -> bool {
        let mut leaves = false;
        for effect in effects {
            match effect {
                AppEffect::Ask(request) => self.ask(request),
                AppEffect::Query(query) => self.query(query),
                AppEffect::ListFiles => {
                    let directory = self.app.directory().to_owned();
                    let list = move || composer::list(&directory, composer::FileListLimits::default());
                    self.listing.get_or_insert_with(|| tokio::task::spawn_blocking(list));
                }
                AppEffect::Redraw => self.painter.invalidate(),
                AppEffect::Leave => match &self.quit_requests {
                    // A full channel already holds a request to quit.
                    Some(requests) => drop(requests.try_send(())),
                    None => leaves = true,
                },
            }
        }
        leaves
    }

    /// Sends a request to the space. The event loop receives the answer through [`UiLoop::requests`].
    fn ask(&mut self, request: SentCommand) {
        self.request_count += 1;
        let number = self.request_count;
        let (space, by) = (self.mirror.space().clone(), self.app.me().clone());
        let mut answer = async move {
            let answer = space.command(by, None, request.command.clone()).await;
            (number, request, answer)
        }
        .boxed();
        // Polled immediately, so that requests are sent in the order in which they were made.
        match (&mut answer).now_or_never() {
            Some(answer) => self.requests.push(std::future::ready(answer).boxed()),
            None => self.requests.push(answer),
        }
        self.unanswered.push_back((number, Instant::now() + DRAW_ANSWER_TIMEOUT));
    }

    /// Sends a query to the space. The event loop receives the result through [`UiLoop::queries`].
    fn query(&mut self, query: BackgroundQuery) {
        let space = self.mirror.space().clone();
        self.queries.push(
            async move {
                match query {
                    BackgroundQuery::Agents => BackgroundAnswer::Agents(space.agents().await),
                    BackgroundQuery::Conversations(agent) => {
                        let found = space.conversations(&agent).await;
                        BackgroundAnswer::Conversations(agent, found)
                    }
                    BackgroundQuery::Invite(agent, conversation) => {
                        let result = space.invite(&agent, conversation).await;
                        BackgroundAnswer::Invited(agent, result)
                    }
                    BackgroundQuery::ItemPart(item, offset) => {
                        let result = match space.piece(item.clone(), offset).await {
                            Ok(result) => result.map_err(|error| error.to_string()),
                            Err(SessionGone) => Err("the space has ended".to_owned()),
                        };
                        BackgroundAnswer::ItemPart(item, offset, result)
                    }
                }
            }
            .boxed(),
        );
    }

    async fn draw(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> Result<(), LoopStop> {
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
            // The client may have disconnected.
            let _ = reply.send(());
        }
        self.unanswered.retain(|(_, until)| *until > now);
        let mut drawn = DrawProgress { change_count: self.mirror.change_count(), ..*self.drawn.borrow() };
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
            tracing::warn!(%error, "cannot list the files for @ completion");
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
