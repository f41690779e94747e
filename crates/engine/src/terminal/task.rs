//! The task that owns a terminal session. One loop hears everybody (the program, its guard, the doors, the person, the
//! clock), tells the machine, and does what the machine says.

mod drawn;
mod durable;
mod interrupt;
mod on_demand;
mod output;
mod requests;
mod snapshot;

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tracing::debug;
use wh_client::{Attachment, FromTerminal, Request, WaitEnd};
use wh_core::event::Event;
use wh_core::session::{Done, Effect, Input, Refusal, Status, Why};
use wh_core::terminal::{Exit, SignalTarget, Size};
use wh_screen::pty::{Order, Report, Terminal};
use wh_screen::render;

use super::Clock;
use super::attached::{Deed, Display, Person, next_deed};
use super::hosted::{Behind, Line, News};
use super::hub::Hub;
use super::keeper::Keeper;
use super::outbox::Outbox;
use super::recorder::{Recorder, Take};
use crate::ledger::SessionLedger;
use drawn::{HeldAnswer, HeldLook, Undrawn};
use durable::StoredCommands;
use on_demand::Waiting;
use output::OutputReading;
use requests::{Replies, Reply};

/// Read at once at most; more than this would keep the doors waiting. Linux hands out a terminal's output in pieces of
/// about 4 KiB, and has a worker of its own make the next one ready: while the emulator takes one piece, the next comes.
/// Who reads on at once only waits for that worker, and both take turns instead of working side by side.
const READ_AT_ONCE: usize = 64 * 1024;

/// How many of the screen's last lines a wait that did not match is told.
const LAST_LINES: usize = 20;

type Answer = Result<Done, Refusal>;

/// Who the session is.
pub(super) struct Identity {
    pub id: String,
    /// Its terminal's first size.
    pub size: Size,
    pub command: Vec<String>,
    pub pid: i32,
    pub clock: Clock,
}

pub(super) struct Task {
    identity: Identity,
    terminal: Terminal,
    behind: Behind,
    keeper: Keeper,
    requests: mpsc::Receiver<Request>,
    outbox: Outbox,
    display: Display,
    person: Option<Person>,
    replies: Replies,
    /// Commands with an id, where they are stored.
    stored: Option<StoredCommands>,
    hub: Hub,
    /// Answers to typing, until its effect is drawn.
    undrawn: Undrawn<HeldAnswer>,
    /// Looks at a UI, until it has drawn what had happened in its space before.
    undrawn_looks: Undrawn<HeldLook>,
    /// Requests that wait for the first frame of a UI that runs on demand.
    waiting: Waiting,
    recorder: Option<Recorder>,
    size: Size,
    reading: OutputReading,
    /// The program was stopped, and the person's terminal does not know yet.
    untold_stop: bool,
    /// The guard is still there.
    guarded: bool,
    tell_ended: Option<oneshot::Sender<Exit>>,
}

impl Task {
    pub fn new(
        identity: Identity,
        line: Line,
        keeper: Keeper,
        requests: mpsc::Receiver<Request>,
        tell_ended: oneshot::Sender<Exit>,
    ) -> Self {
        let mut hub = Hub::new(identity.clock.time);
        hub.publish(Event::Started { command: identity.command.clone(), pid: identity.pid }, identity.clock.time);
        let size = identity.size;
        Self {
            identity,
            terminal: line.terminal,
            behind: line.behind,
            keeper,
            requests,
            outbox: Outbox::default(),
            display: Display::default(),
            person: None,
            replies: Replies::default(),
            stored: None,
            hub,
            undrawn: Undrawn::default(),
            undrawn_looks: Undrawn::default(),
            waiting: Waiting::default(),
            recorder: None,
            size,
            reading: OutputReading::Open,
            untold_stop: false,
            guarded: true,
            tell_ended: Some(tell_ended),
        }
    }

    /// Reads nothing until a person's terminal is attached.
    pub fn hold(mut self, held: bool) -> Self {
        self.reading = if held { OutputReading::Held } else { OutputReading::Open };
        self
    }

    /// Stores the commands that carry an id.
    pub fn store(mut self, ledger: Option<SessionLedger>) -> Self {
        self.stored = ledger.map(StoredCommands::new);
        self
    }

    /// Writes everything down from here on.
    pub fn record(mut self, recorder: Option<Recorder>) -> Self {
        self.recorder = recorder;
        self
    }

    async fn take(&mut self, take: Take) {
        if let Some(recorder) = &self.recorder {
            recorder.record(take).await;
        }
    }

    /// Runs until nobody holds the surface any more.
    pub async fn run(mut self) {
        let mut buffer = vec![0; READ_AT_ONCE];
        loop {
            let drawing = [self.undrawn.deadline(), self.undrawn_looks.deadline()];
            let ui = [self.waiting.deadline(), self.behind.check_at()];
            let program = [self.keeper.wake_at(), self.reading.deadline()];
            let wake = program.into_iter().chain(drawing).chain(ui).flatten().min();
            let idle = self.outbox.is_empty();
            let runs = self.behind.is_running();
            let reads_person = idle && !self.keeper.session.interrupting();
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(request) => self.request(request).await,
                    None => return,
                },
                begun = durable::next(&mut self.stored) => self.begun(begun).await,
                news = self.behind.next(), if self.guarded => self.news(news).await,
                deed = next_deed(&mut self.person, reads_person) => self.deed(deed).await,
                written = self.outbox.write(&self.terminal), if !idle && runs && self.reading.is_open() => {
                    self.written(written).await;
                }
                count = output::read(&self.terminal, &self.display, &mut buffer), if runs && self.reading.reads() => {
                    self.output(count, &buffer).await;
                }
                () = self.display.stopped(), if self.untold_stop => self.untold_stop = false,
                () = sleep_until(wake) => self.tick().await,
            }
        }
    }

    async fn attach(&mut self, attachment: Attachment) {
        self.reading.release(Instant::now());
        self.display = Display(Some(attachment.output));
        self.person = Some(Person { input: attachment.input, changes: attachment.changes });
        self.happens(Input::Attached(true)).await;
        self.happens(Input::Window(attachment.size)).await;
    }

    async fn news(&mut self, news: News) {
        match news {
            News::Report(report) => self.report(report).await,
            News::Drawn(drawn) => {
                self.drawn(drawn).await;
                self.carry_out_waiting().await;
            }
            News::Ordered(order) => {
                self.has_screen();
                self.behind.order(order);
            }
            News::Gauged(gauges) => self.happens(Input::Gauged(gauges)).await,
            News::Happened(batch) if batch.is_empty() => {
                self.hub.publish(Event::SpaceMissed, self.identity.clock.time(Instant::now()));
            }
            News::Happened(batch) => {
                for event in batch {
                    let at = event.at;
                    self.hub.publish(Event::Space(event), at);
                }
            }
        }
    }

    async fn report(&mut self, report: Option<Report>) {
        let now = Instant::now();
        match report {
            Some(Report::Stopped(_)) => {
                self.happens(Input::Stopped(true)).await;
                self.untold_stop = true;
            }
            Some(Report::Continued) => {
                self.untold_stop = false;
                self.happens(Input::Stopped(false)).await;
            }
            Some(Report::Exited(code)) => self.exited(Exit::Code(code), now).await,
            Some(Report::Killed(signal)) => self.exited(Exit::Signal(signal), now).await,
            Some(Report::Started(_) | Report::Failed(_)) => {}
            None => {
                self.guarded = false;
                if !matches!(self.keeper.session.status().0, Status::Exited(_)) {
                    self.exited(Exit::Unknown, now).await;
                }
            }
        }
    }

    async fn deed(&mut self, deed: Deed) {
        match deed {
            Deed::Typed(bytes) => self.happens(Input::Keys(bytes.into())).await,
            Deed::Changed(FromTerminal::Resized(size)) => self.happens(Input::Window(size)).await,
            Deed::Changed(FromTerminal::Continue) => {
                self.behind.give(Order::Signal(nix::libc::SIGCONT as u8));
            }
            Deed::Left => {
                self.person = None;
                self.display = Display(None);
                self.happens(Input::Attached(false)).await;
            }
        }
    }

    async fn tick(&mut self) {
        self.forget_the_gone();
        let now = Instant::now();
        let (effects, answers) = self.keeper.tick(now);
        self.shows(effects, answers).await;
        let (answers, looks) = (self.undrawn.overdue(now), self.undrawn_looks.overdue(now));
        self.release(answers, looks).await;
        if self.reading.deadline().is_some_and(|at| at <= now) {
            self.last_words(now).await;
        }
        self.check_ui(now).await;
    }

    async fn happens(&mut self, input: Input) {
        let effects = self.keeper.handle(input, Instant::now());
        self.perform(effects).await;
    }

    async fn perform(&mut self, effects: Vec<Effect>) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Write(bytes) => {
                    let bytes = Bytes::from(bytes);
                    self.take(Take::Input(bytes.clone())).await;
                    effects.extend(self.offer(bytes));
                }
                Effect::Reply(bytes) => effects.extend(self.offer(Bytes::from(bytes))),
                Effect::DiscardInput { keep_next } => effects.extend(self.discard_input(keep_next)),
                Effect::Interrupt => effects.extend(self.interrupt().await),
                Effect::LookAtInput => effects.extend(self.look_at_input()),
                Effect::Resize(size) => {
                    self.take(Take::Resize(size)).await;
                    effects.extend(self.apply_size(size));
                }
                Effect::Mark(label) => self.take(Take::Mark(label)).await,
                Effect::Publish(event) => self.hub.publish(event, self.identity.clock.time(Instant::now())),
                Effect::Signal(number, SignalTarget::Program) => self.behind.give(Order::Signal(number)),
                Effect::Signal(number, SignalTarget::Foreground) => {
                    self.behind.give(Order::SignalForeground(number));
                }
                Effect::Settled(id, taken) => self.settle(id, taken),
                Effect::Answer(ticket, answer) => self.answer(ticket, answer),
                Effect::Show(ticket) => {
                    if let Some(Reply::Look(look, reply)) = self.replies.remove(ticket)
                        && let Some(shown) = self.shown(look)
                    {
                        let _ = reply.send(shown);
                    }
                }
                Effect::Waited(ticket, waited) => {
                    if let Some(Reply::Wait(reply)) = self.replies.remove(ticket) {
                        let last = (waited.why != Why::Matched).then(|| self.keeper.frame()).flatten();
                        let screen = last.map(|frame| render::last_lines(&frame, LAST_LINES)).unwrap_or_default();
                        let _ = reply.send(Ok(WaitEnd { waited, screen }));
                    }
                }
            }
        }
        self.settle_unawaited();
        self.hub.frames(self.keeper.session.frames().0);
    }

    /// Queues bytes for the program and writes what its terminal takes at once.
    fn offer(&mut self, bytes: Bytes) -> Vec<Effect> {
        self.outbox.push(bytes);
        let offered = match self.outbox.offer(&self.terminal) {
            Ok(()) => Input::Offered(self.outbox.len()),
            Err(error) => self.unwritable(&error),
        };
        self.keeper.handle(offered, Instant::now())
    }

    async fn written(&mut self, written: io::Result<()>) {
        let input = match written {
            Ok(()) => Input::Wrote(self.outbox.len()),
            Err(error) => self.unwritable(&error),
        };
        self.happens(input).await;
    }

    fn unwritable(&mut self, error: &io::Error) -> Input {
        debug!(%error, "the terminal takes no more input");
        self.outbox.clear();
        Input::Unwritable
    }

    fn apply_size(&mut self, size: Size) -> Vec<Effect> {
        self.size = size;
        if !self.behind.resize(size)
            && let Err(error) = self.terminal.resize(size)
        {
            debug!(%error, "the terminal keeps its size");
        }
        self.keeper.resize(size, Instant::now())
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake.into()).await,
        None => std::future::pending().await,
    }
}
