//! Task that owns a terminal session. One loop receives events from the program, its supervisor, clients, the attached
//! user and the clock, passes them to the state machine, and performs the resulting effects.

mod drawn;
mod durable;
mod interrupt;
mod on_demand;
mod output;
mod requests;
mod reservation;
mod snapshot;

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tracing::debug;
use wh_client::{SurfaceRequest, TerminalAttachment, UserTerminalEvent, WaitEnd};
use wh_core::event::Event;
use wh_core::session::{InputAccepted, ProgramStatus, SessionEffect, SessionInput, TerminalRefusal, WaitOutcome};
use wh_core::terminal::{Exit, SignalTarget, Size};
use wh_screen::pty::{PtyMaster, SupervisorOrder, SupervisorReport};
use wh_screen::render;

use super::StartClock;
use super::attached::{AttachedDisplay, AttachedTerminal, UserAction, next_user_action};
use super::hosted::{PeerEvent, TerminalPeer, TerminalWithPeer};
use super::hub::EventHub;
use super::input_queue::InputQueue;
use super::recorder::{RecordedEvent, Recorder};
use super::screened::ScreenedSession;
use crate::ledger::SessionLedger;
use drawn::{HeldAnswer, HeldScreenRead, HeldUntilDrawn};
use durable::StoredCommands;
use on_demand::FirstFrameWaiters;
use output::OutputReading;
use requests::{AwaitedReply, ReplyChannels};
use reservation::Keyboard;

/// Maximum bytes of program output per read, so that requests are served between two reads. Linux delivers terminal
/// output in pieces of about 4 KiB, prepared by a kernel worker. The emulator processes one piece while the worker
/// prepares the next; reading again at once would only wait for the worker.
const MAX_TERMINAL_READ_BYTES: usize = 64 * 1024;

/// Number of lines from the end of the screen that are returned if a wait does not match.
const UNMATCHED_WAIT_LINES: usize = 20;

type CommandAnswer = Result<InputAccepted, TerminalRefusal>;

/// Facts about the session that never change.
pub(super) struct SessionIdentity {
    pub id: String,
    /// Initial size of the terminal.
    pub size: Size,
    pub command: Vec<String>,
    pub pid: i32,
    pub clock: StartClock,
}

pub(super) struct TerminalTask {
    identity: SessionIdentity,
    terminal: PtyMaster,
    peer: TerminalPeer,
    screened: ScreenedSession,
    requests: mpsc::Receiver<SurfaceRequest>,
    input_queue: InputQueue,
    display: AttachedDisplay,
    attached: Option<AttachedTerminal>,
    replies: ReplyChannels,
    /// Commands with a request id; `None` if commands are not stored.
    stored: Option<StoredCommands>,
    hub: EventHub,
    /// Answers to typed input, held until the UI has drawn the effect of the input.
    undrawn: HeldUntilDrawn<HeldAnswer>,
    /// Screen reads, held until the UI has drawn all earlier events of its space.
    undrawn_reads: HeldUntilDrawn<HeldScreenRead>,
    /// Requests held until a UI that runs on demand has drawn its first frame.
    first_frame_waiters: FirstFrameWaiters,
    /// Reservation of the keyboard by the harness of an agent, and the input that waits for its release.
    keyboard: Keyboard,
    recorder: Option<Recorder>,
    size: Size,
    reading: OutputReading,
    /// True if a signal stopped the program and the attached terminal has not received a report of the stop yet.
    stop_unreported: bool,
    /// True while the supervisor runs.
    supervised: bool,
    ended_sender: Option<oneshot::Sender<Exit>>,
}

impl TerminalTask {
    pub fn new(
        identity: SessionIdentity,
        terminal: TerminalWithPeer,
        screened: ScreenedSession,
        requests: mpsc::Receiver<SurfaceRequest>,
        ended_sender: oneshot::Sender<Exit>,
    ) -> Self {
        let mut hub = EventHub::new(identity.clock.time);
        hub.publish(Event::Started { command: identity.command.clone(), pid: identity.pid }, identity.clock.time);
        let size = identity.size;
        Self {
            identity,
            terminal: terminal.terminal,
            peer: terminal.peer,
            screened,
            requests,
            input_queue: InputQueue::default(),
            display: AttachedDisplay::default(),
            attached: None,
            replies: ReplyChannels::default(),
            stored: None,
            hub,
            undrawn: HeldUntilDrawn::default(),
            undrawn_reads: HeldUntilDrawn::default(),
            first_frame_waiters: FirstFrameWaiters::default(),
            keyboard: Keyboard::default(),
            recorder: None,
            size,
            reading: OutputReading::Open,
            stop_unreported: false,
            supervised: true,
            ended_sender: Some(ended_sender),
        }
    }

    /// Holds output until a user's terminal is attached, if `held` is set.
    pub fn hold_output(mut self, held: bool) -> Self {
        self.reading = if held { OutputReading::Held } else { OutputReading::Open };
        self
    }

    /// Sets the ledger that stores commands with a request id.
    pub fn store(mut self, ledger: Option<SessionLedger>) -> Self {
        self.stored = ledger.map(StoredCommands::new);
        self
    }

    /// Sets the recorder of the session.
    pub fn record(mut self, recorder: Option<Recorder>) -> Self {
        self.recorder = recorder;
        self
    }

    async fn record_event(&mut self, record_event: RecordedEvent) {
        if let Some(recorder) = &self.recorder {
            recorder.record(record_event).await;
        }
    }

    /// Runs until all handles of the session are dropped.
    pub async fn run(mut self) {
        let mut buffer = vec![0; MAX_TERMINAL_READ_BYTES];
        loop {
            let drawing = [self.undrawn.deadline(), self.undrawn_reads.deadline()];
            let ui = [self.first_frame_waiters.deadline(), self.peer.check_at()];
            let program = [self.screened.wake_at(), self.reading.deadline()];
            let wake = program.into_iter().chain(drawing).chain(ui).flatten().min();
            let idle = self.input_queue.is_empty();
            let runs = self.peer.is_running();
            let reads_attached = idle && !self.screened.session.interrupting() && !self.keyboard.is_reserved();
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(request) => self.request(request).await,
                    None => return,
                },
                () = self.keyboard.released() => self.execute_deferred().await,
                begun = durable::next(&mut self.stored) => self.handle_begun(begun).await,
                peer_event = self.peer.next(), if self.supervised => self.peer_event(peer_event).await,
                user_action = next_user_action(&mut self.attached, reads_attached) => self.user_action(user_action).await,
                written = self.input_queue.write(&self.terminal), if !idle && runs && self.reading.is_open() => {
                    self.handle_written(written).await;
                }
                count = output::read(&self.terminal, &self.display, &mut buffer), if runs && self.reading.reads() => {
                    self.output(count, &buffer).await;
                }
                () = self.display.stopped(), if self.stop_unreported => self.stop_unreported = false,
                () = sleep_until(wake) => self.tick().await,
            }
        }
    }

    async fn attach(&mut self, attachment: TerminalAttachment) {
        self.reading.release(Instant::now());
        self.display = AttachedDisplay(Some(attachment.output));
        self.attached = Some(AttachedTerminal { input: attachment.input, changes: attachment.changes });
        self.handle_input(SessionInput::Attached(true)).await;
        self.handle_input(SessionInput::Window(attachment.size)).await;
    }

    async fn peer_event(&mut self, peer_event: PeerEvent) {
        match peer_event {
            PeerEvent::Report(report) => self.report(report).await,
            PeerEvent::Drawn(drawn) => {
                self.drawn(drawn).await;
                self.execute_first_frame_waiters().await;
            }
            PeerEvent::Ordered(order) => {
                self.has_screen();
                self.peer.order(order);
            }
            PeerEvent::Gauged(gauges) => self.handle_input(SessionInput::Gauged(gauges)).await,
            PeerEvent::SpaceEvents(batch) if batch.is_empty() => {
                self.hub.publish(Event::SpaceMissed, self.identity.clock.time(Instant::now()));
            }
            PeerEvent::SpaceEvents(batch) => {
                for event in batch {
                    let at = event.at;
                    self.hub.publish(Event::Space(event), at);
                }
            }
        }
    }

    async fn report(&mut self, report: Option<SupervisorReport>) {
        let now = Instant::now();
        match report {
            Some(SupervisorReport::Stopped(_)) => {
                self.handle_input(SessionInput::Stopped(true)).await;
                self.stop_unreported = true;
            }
            Some(SupervisorReport::Continued) => {
                self.stop_unreported = false;
                self.handle_input(SessionInput::Stopped(false)).await;
            }
            Some(SupervisorReport::Exited(code)) => self.exited(Exit::Code(code), now).await,
            Some(SupervisorReport::Killed(signal)) => self.exited(Exit::Signal(signal), now).await,
            Some(SupervisorReport::Started(_) | SupervisorReport::Failed(_)) => {}
            None => {
                self.supervised = false;
                if !matches!(self.screened.session.status().0, ProgramStatus::Exited(_)) {
                    self.exited(Exit::Unknown, now).await;
                }
            }
        }
    }

    async fn user_action(&mut self, user_action: UserAction) {
        match user_action {
            UserAction::Typed(bytes) => self.handle_input(SessionInput::Keys(bytes.into())).await,
            UserAction::Changed(UserTerminalEvent::Resized(size)) => {
                self.handle_input(SessionInput::Window(size)).await
            }
            UserAction::Changed(UserTerminalEvent::Continue) => {
                self.peer.give(SupervisorOrder::Signal(nix::libc::SIGCONT as u8));
            }
            UserAction::Detached => {
                self.attached = None;
                self.display = AttachedDisplay(None);
                self.handle_input(SessionInput::Attached(false)).await;
            }
        }
    }

    async fn tick(&mut self) {
        self.drop_abandoned_waits();
        let now = Instant::now();
        let (effects, answers) = self.screened.tick(now);
        self.screen_changed(effects, answers).await;
        let (answers, looks) = (self.undrawn.overdue(now), self.undrawn_reads.overdue(now));
        self.release(answers, looks).await;
        if self.reading.deadline().is_some_and(|at| at <= now) {
            self.finish_if_silent(now).await;
        }
        self.check_ui(now).await;
    }

    async fn handle_input(&mut self, input: SessionInput) {
        let effects = self.screened.handle(input, Instant::now());
        self.perform(effects).await;
    }

    async fn perform(&mut self, effects: Vec<SessionEffect>) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                SessionEffect::Write(bytes) => {
                    let bytes = Bytes::from(bytes);
                    self.record_event(RecordedEvent::Input(bytes.clone())).await;
                    self.hub.count_typed();
                    effects.extend(self.offer(bytes));
                }
                SessionEffect::Reply(bytes) => effects.extend(self.offer(Bytes::from(bytes))),
                SessionEffect::DiscardInput { keep_next } => effects.extend(self.discard_input(keep_next)),
                SessionEffect::Interrupt => effects.extend(self.interrupt().await),
                SessionEffect::CheckUnreadInput => effects.extend(self.check_input()),
                SessionEffect::Resize(size) => {
                    self.record_event(RecordedEvent::Resize(size)).await;
                    effects.extend(self.apply_size(size));
                }
                SessionEffect::Mark(label) => self.record_event(RecordedEvent::Mark(label)).await,
                SessionEffect::Publish(event) => self.hub.publish(event, self.identity.clock.time(Instant::now())),
                SessionEffect::Signal(number, SignalTarget::Program) => self.peer.give(SupervisorOrder::Signal(number)),
                SessionEffect::Signal(number, SignalTarget::Foreground) => {
                    self.peer.give(SupervisorOrder::SignalForeground(number));
                }
                SessionEffect::Settled(id, taken) => self.settle(id, taken),
                SessionEffect::Answer(ticket, answer) => self.answer(ticket, answer),
                SessionEffect::Show(ticket) => {
                    if let Some(AwaitedReply::ReadScreen(look, reply)) = self.replies.remove(ticket)
                        && let Some(shown) = self.shown(look)
                    {
                        let _ = reply.send(shown);
                    }
                }
                SessionEffect::Waited(ticket, waited) => {
                    if let Some(AwaitedReply::Wait(reply)) = self.replies.remove(ticket) {
                        let last = (waited.outcome != WaitOutcome::Matched).then(|| self.screened.frame()).flatten();
                        let screen =
                            last.map(|frame| render::last_lines(&frame, UNMATCHED_WAIT_LINES)).unwrap_or_default();
                        let _ = reply.send(Ok(WaitEnd { waited, screen }));
                    }
                }
            }
        }
        self.settle_unawaited();
        self.hub.frames(self.screened.session.frames().0);
    }

    /// Queues bytes for the program, and writes as many as its terminal accepts without blocking.
    fn offer(&mut self, bytes: Bytes) -> Vec<SessionEffect> {
        self.input_queue.push(bytes);
        let offered = match self.input_queue.offer(&self.terminal) {
            Ok(()) => SessionInput::Offered(self.input_queue.len()),
            Err(error) => self.unwritable(&error),
        };
        self.screened.handle(offered, Instant::now())
    }

    async fn handle_written(&mut self, written: io::Result<()>) {
        let input = match written {
            Ok(()) => SessionInput::Wrote(self.input_queue.len()),
            Err(error) => self.unwritable(&error),
        };
        self.handle_input(input).await;
    }

    fn unwritable(&mut self, error: &io::Error) -> SessionInput {
        debug!(%error, "cannot write to the terminal");
        self.input_queue.clear();
        SessionInput::Unwritable
    }

    fn apply_size(&mut self, size: Size) -> Vec<SessionEffect> {
        self.size = size;
        if !self.peer.resize(size)
            && let Err(error) = self.terminal.resize(size)
        {
            debug!(%error, "cannot resize the terminal");
        }
        self.screened.resize(size, Instant::now())
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake.into()).await,
        None => std::future::pending().await,
    }
}
