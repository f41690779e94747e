//! The task that owns a terminal session. One loop hears everybody (the program, its guard, the doors, the person, the
//! clock), tells the machine, and does what the machine says.

mod drawn;
mod durable;
mod interrupt;
mod on_demand;
mod snapshot;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tracing::debug;
use wh_client::{Attachment, FromTerminal, Look, Request, Shown, ToTerminal, WaitEnd};
use wh_core::event::Event;
use wh_core::request::{self, RequestId};
use wh_core::session::{AnswerAt, Command, Done, Effect, Input, Refusal, Sight, Status, Ticket, Why};
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

/// Read at once at most; more than this would keep the doors waiting. Linux hands out a terminal's output in pieces of
/// about 4 KiB, and has a worker of its own make the next one ready: while the emulator takes one piece, the next comes.
/// Who reads on at once only waits for that worker, and both take turns instead of working side by side.
const READ_AT_ONCE: usize = 64 * 1024;

/// A program that has ended may leave others behind that keep its terminal open; its own last words come well before.
const LAST_WORDS: Duration = Duration::from_millis(200);

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
    replies: HashMap<Ticket, Reply>,
    next_ticket: u64,
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
    /// A person's terminal is to be attached and is not yet: the program's first words are for it.
    held: bool,
    /// The program was stopped, and the person's terminal does not know yet.
    untold_stop: bool,
    /// The guard is still there.
    guarded: bool,
    /// The terminal may still have output.
    open: bool,
    /// When the last words of a program that has ended are taken to be spoken.
    silent_at: Option<Instant>,
    tell_ended: Option<oneshot::Sender<Exit>>,
}

/// Who waits for what.
enum Reply {
    Command(oneshot::Sender<Answer>),
    Typing(oneshot::Sender<Answer>),
    Look(Look, oneshot::Sender<Shown>),
    Wait(oneshot::Sender<Result<WaitEnd, Refusal>>),
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
            replies: HashMap::new(),
            next_ticket: 0,
            stored: None,
            hub,
            undrawn: Undrawn::default(),
            undrawn_looks: Undrawn::default(),
            waiting: Waiting::default(),
            recorder: None,
            size,
            held: false,
            untold_stop: false,
            guarded: true,
            open: true,
            silent_at: None,
            tell_ended: Some(tell_ended),
        }
    }

    /// Reads nothing until a person's terminal is attached.
    pub fn hold(mut self, held: bool) -> Self {
        self.held = held;
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
            let wake = [self.keeper.wake_at(), self.silent_at].into_iter().chain(drawing).chain(ui).flatten().min();
            let idle = self.outbox.is_empty();
            let open = self.open && self.behind.is_running();
            let reads_person = idle && !self.keeper.session.interrupting();
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(request) => self.request(request).await,
                    None => return,
                },
                begun = durable::next(&mut self.stored) => self.begun(begun).await,
                news = self.behind.next(), if self.guarded => self.news(news).await,
                deed = next_deed(&mut self.person, reads_person) => self.deed(deed).await,
                written = self.outbox.write(&self.terminal), if !idle && open => self.written(written).await,
                count = read(&self.terminal, &self.display, &mut buffer), if open && !self.held => self.output(count, &buffer).await,
                () = self.display.stopped(), if self.untold_stop => self.untold_stop = false,
                () = sleep_until(wake) => self.tick().await,
            }
        }
    }

    async fn request(&mut self, request: Request) {
        self.forget_the_gone();
        if let Some(request) = self.begin(request) {
            self.carry_out(request, None).await;
        }
    }

    /// Carries a request out; `begun` is the id under which it was stored just now.
    async fn carry_out(&mut self, request: Request, begun: Option<RequestId>) {
        let Some((request, begun)) = self.after_first_frame(request, begun) else { return };
        match request {
            Request::Type { gestures, request, answer, reply } => {
                let command = self.keeper.encode(&gestures).map(|bytes| Command::Type { bytes, answer });
                self.command(request, begun, Reply::Typing(reply), command).await;
            }
            Request::Interrupt { then, request, reply } => {
                // What the program wrote before is no sign that it has handled the interrupt.
                self.catch_up().await;
                let command = self.keeper.encode(&then).map(|then| Command::Interrupt { then });
                self.command(request, begun, Reply::Typing(reply), command).await;
            }
            Request::Keyboard { bytes, reply } => {
                let command = Command::Type { bytes: bytes.to_vec(), answer: AnswerAt::Offered };
                self.command(None, None, Reply::Typing(reply), Ok(command)).await;
            }
            Request::Resize { size, request, reply } => {
                self.command(request, begun, Reply::Command(reply), Ok(Command::Resize(size))).await;
            }
            Request::Signal { number, target, request, reply } => {
                self.command(request, begun, Reply::Command(reply), Ok(Command::Signal(number, target))).await;
            }
            Request::Mark { label, request, reply } => {
                self.command(request, begun, Reply::Command(reply), Ok(Command::Mark(label))).await;
            }
            Request::Look { look, reply } => match self.behind.undrawn_beat() {
                Some(beat) if look.sight == Sight::Settled => self.undrawn_looks.hold(beat, (look, reply)),
                _ => {
                    if look.sight == Sight::Now {
                        self.catch_up().await;
                    }
                    self.look(look, reply).await;
                }
            },
            Request::Wait { condition, timeout, reply } => {
                if let Some(gauges) = self.behind.gauges() {
                    self.happens(Input::Gauged(gauges)).await;
                }
                let ticket = self.ticket(Reply::Wait(reply));
                self.happens(Input::Wait(ticket, condition, timeout)).await;
            }
            Request::Tell { reply } => {
                let _ = reply.send(self.facts());
            }
            Request::Receipt { request_id, reply } => self.receipt(request_id, reply),
            Request::Watch { screen, reply } => {
                let (facts, shown) = (self.facts(), self.shown(Look::default()));
                let screen_use = if screen { self.behind.screen_use() } else { None };
                let _ = reply.send(self.hub.watch(facts, shown, screen_use));
            }
            Request::Events { after, reply } => drop(reply.send(self.hub.after(&after))),
            Request::Attach(attachment) => self.attach(attachment).await,
            Request::End { now } => self.behind.give(if now { Order::Kill } else { Order::End }),
        }
    }

    /// Gives a command to the machine: the only way in for commands, with or without an id. What cannot be typed in the
    /// program's present mode comes as its refusal.
    async fn command(
        &mut self,
        request: Option<request::Request>,
        begun: Option<RequestId>,
        reply: Reply,
        command: Result<Command, Refusal>,
    ) {
        let ticket = self.ticket(reply);
        self.note_ticket(ticket, begun);
        match command {
            Ok(command) => self.happens(Input::Command(ticket, request, command)).await,
            Err(refusal) => {
                let answer = self.keeper.session.refuse(request.as_ref(), refusal, Instant::now());
                self.answer(ticket, answer);
            }
        }
    }

    /// Answers a command: the only way out.
    fn answer(&mut self, ticket: Ticket, answer: Answer) {
        match self.replies.remove(&ticket) {
            // Who types to wh's own UI is answered once the effect is on the screen.
            Some(Reply::Typing(reply))
                if self.behind.is_hosted() && answer.as_ref().is_ok_and(|done| !done.duplicate) =>
            {
                let reply = self.after_commit(ticket, reply, &answer);
                self.undrawn.hold(self.outbox.pushed(), (reply, answer));
            }
            Some(Reply::Command(reply) | Reply::Typing(reply)) => {
                let reply = self.after_commit(ticket, reply, &answer);
                let _ = reply.send(answer);
            }
            Some(Reply::Wait(reply)) => drop(answer.err().map(|refusal| reply.send(Err(refusal)))),
            Some(Reply::Look(..)) | None => {}
        }
    }

    fn ticket(&mut self, reply: Reply) -> Ticket {
        self.next_ticket += 1;
        let ticket = Ticket(self.next_ticket);
        self.replies.insert(ticket, reply);
        ticket
    }

    /// Ends the waits of callers who have hung up.
    fn forget_the_gone(&mut self) {
        if self.keeper.session.open_waits() == 0 {
            return;
        }
        let gone = |reply: &Reply| matches!(reply, Reply::Wait(sender) if sender.is_closed());
        let tickets: Vec<Ticket> =
            self.replies.iter().filter(|(_, reply)| gone(reply)).map(|(ticket, _)| *ticket).collect();
        for ticket in tickets {
            self.replies.remove(&ticket);
            self.keeper.handle(Input::Leave(ticket), Instant::now());
        }
    }

    async fn attach(&mut self, attachment: Attachment) {
        self.held = false;
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

    async fn exited(&mut self, exit: Exit, now: Instant) {
        self.happens(Input::Exited(exit)).await;
        if self.open {
            self.held = false;
            self.silent_at = Some(now + LAST_WORDS);
        } else {
            self.finish().await;
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

    async fn written(&mut self, written: io::Result<()>) {
        let input = match written {
            Ok(()) => Input::Wrote(self.outbox.len()),
            Err(error) => self.unwritable(&error),
        };
        self.happens(input).await;
    }

    async fn output(&mut self, count: io::Result<usize>, buffer: &[u8]) {
        match count {
            Ok(0) => self.drained().await,
            Ok(count) => {
                self.forget_the_gone();
                self.take(Take::Output(Bytes::copy_from_slice(&buffer[..count]))).await;
                self.silent_at = self.silent_at.map(|_| Instant::now() + LAST_WORDS);
                let (effects, answers) = self.keeper.output(&buffer[..count], Instant::now());
                self.shows(effects, answers).await;
            }
            Err(error) => {
                debug!(%error, "the terminal cannot be read");
                self.drained().await;
            }
        }
    }

    /// The screen has changed: whoever waits is told, and the terminal's answers go to the program.
    async fn shows(&mut self, effects: Vec<Effect>, answers: Vec<u8>) {
        self.perform(effects).await;
        if !answers.is_empty() {
            self.happens(Input::Replied(answers)).await;
        }
    }

    async fn drained(&mut self) {
        self.open = false;
        if self.silent_at.is_some() {
            self.finish().await;
        }
    }

    /// The program has ended and its last words are spoken.
    async fn finish(&mut self) {
        self.silent_at = None;
        self.open = false;
        self.outbox.clear();
        self.happens(Input::Drained).await;
        if let (Status::Exited(exit), _) = self.keeper.session.status() {
            self.take(Take::Exit(exit.code())).await;
            self.recorder = None;
            self.tell_ended.take().map(|tell| tell.send(exit));
        }
        // The person's terminal shows all that there is to show.
        self.display = Display(None);
        self.person = None;
        let (answers, looks) = (self.undrawn.shown(u64::MAX), self.undrawn_looks.shown(u64::MAX));
        self.release(answers, looks).await;
    }

    async fn tick(&mut self) {
        self.forget_the_gone();
        let now = Instant::now();
        let (effects, answers) = self.keeper.tick(now);
        self.shows(effects, answers).await;
        let (answers, looks) = (self.undrawn.overdue(now), self.undrawn_looks.overdue(now));
        self.release(answers, looks).await;
        if self.silent_at.is_some_and(|at| at <= now) {
            self.last_words(now).await;
        }
        self.check_ui(now).await;
    }

    /// The program has ended and was silent for a while: that is its end, unless there is still something to read or the
    /// person's terminal is too far behind to read on.
    async fn last_words(&mut self, now: Instant) {
        let mut buffer = [0; 4096];
        if self.display.is_full() {
            self.silent_at = Some(now + LAST_WORDS);
            return;
        }
        match self.terminal.try_read(&mut buffer) {
            Ok(Some(count)) if count > 0 => self.passes(&buffer[..count]).await,
            _ => self.finish().await,
        }
    }

    /// Takes some of what the program has written already: who looks at this moment is not shown an earlier one.
    async fn catch_up(&mut self) {
        let mut buffer = [0; 4096];
        if !self.open || self.held || self.display.is_full() {
            return;
        }
        if let Ok(Some(count)) = self.terminal.try_read(&mut buffer)
            && count > 0
        {
            self.passes(&buffer[..count]).await;
        }
    }

    /// Takes output that was read out of turn; the person's terminal has room for it.
    async fn passes(&mut self, bytes: &[u8]) {
        self.display.pass_on(bytes);
        self.output(Ok(bytes.len()), bytes).await;
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
                    if let Some(Reply::Look(look, reply)) = self.replies.remove(&ticket)
                        && let Some(shown) = self.shown(look)
                    {
                        let _ = reply.send(shown);
                    }
                }
                Effect::Waited(ticket, waited) => {
                    if let Some(Reply::Wait(reply)) = self.replies.remove(&ticket) {
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

/// Reads what the program has written, once the person's terminal (if any) can take it, and passes it on there. Cancel
/// safe: nothing is read before it can be passed on.
async fn read(terminal: &Terminal, display: &Display, buffer: &mut [u8]) -> io::Result<usize> {
    let room = display.room().await;
    let count = terminal.read(buffer).await?;
    if let (Some(room), true) = (room, count > 0) {
        room.send(ToTerminal::Output(Bytes::copy_from_slice(&buffer[..count])));
    }
    Ok(count)
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake.into()).await,
        None => std::future::pending().await,
    }
}
