//! State machine of a terminal program. It takes inputs and returns effects, which the engine executes. It accepts or
//! refuses commands, detects complete frames, ends waits and answers callers.

mod delivery;
mod frames;
mod interrupt;
mod refusal;
mod typing;
mod waits;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::condition::Condition;
use crate::event::{Event, TerminalNotice};
use crate::histogram::Histogram;
use crate::request::{FingerprintedId, RequestId};
use crate::space::state::SpaceGauges;
use crate::terminal::{Exit, SignalTarget, Size};
use delivery::{DeliveryLedger, PendingCaller};
pub use delivery::{DeliveryState, InputLoss, InputReceipt};
pub use frames::FrameBoundaries;
use frames::FrameTracker;
use interrupt::InterruptStage;
pub use interrupt::{CTRL_C, INTERRUPT_QUIET_PERIOD, INTERRUPT_SILENCE_TIMEOUT, UnreadInput};
pub use refusal::TerminalRefusal;
use waits::{WaitContext, Waits};
pub use waits::{WaitOutcome, WaitResult};

/// Maximum number of bytes queued for a program that does not read. A command that would exceed the maximum is refused
/// completely.
pub const MAX_QUEUED_INPUT_BYTES: usize = 1 << 20;

/// Maximum number of open waits. Each wait is evaluated on every frame.
pub const MAX_OPEN_WAITS: usize = 64;

/// Maximum time for which a read of the screen waits for a frame after input, so that the screen shows the effect of
/// the input.
const ECHO_TIMEOUT: Duration = Duration::from_millis(80);

/// Number by which the engine finds the caller that an answer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalCommand {
    /// Types bytes into the terminal.
    Type {
        /// Bytes in the encoding that the program expects.
        bytes: Vec<u8>,
        /// Stage of the write after which the caller receives the answer.
        answer: AnswerTiming,
    },
    /// Discards the input that the program has not read, and interrupts the program. Types the bytes of `then`, if any,
    /// when the program has handled the interrupt. The caller receives the answer when the interrupt and the bytes were
    /// delivered or lost.
    Interrupt {
        /// Bytes to type after the interrupt, in the encoding that the program expects; may be empty.
        then: Vec<u8>,
    },
    Resize(Size),
    Signal(u8, SignalTarget),
    /// Sets a marker with this label in the recording.
    Mark(String),
}

/// Stage of the write after which the caller of [`TerminalCommand::Type`] receives the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerTiming {
    /// After the first attempt to write the bytes, even if the terminal has accepted only a part of them.
    Offered,
    /// After the terminal has accepted all bytes, or after some were lost.
    Settled,
}

/// Input of the session's state machine.
#[derive(Debug)]
pub enum SessionInput {
    /// A client sends a command.
    Command(Ticket, Option<FingerprintedId>, TerminalCommand),
    /// The user typed these bytes at the attached terminal.
    Keys(Vec<u8>),
    /// The terminal emulator replied to a query of the program with these bytes.
    Replied(Vec<u8>),
    /// Result of [`SessionEffect::Write`]: number of bytes that remain in the queue after the first attempt to write.
    Offered(usize),
    /// Result of [`SessionEffect::DiscardInput`]: the unread input, measured before it was discarded.
    Discarded(UnreadInput),
    /// Result of [`SessionEffect::Interrupt`]: the signal was sent to the program.
    Interrupted,
    /// Result of [`SessionEffect::CheckUnreadInput`]: the input that the program has not read.
    Unread(UnreadInput),
    /// The terminal can no longer accept input.
    Unwritable,
    /// Queued bytes were written later; this number of bytes remains in the queue.
    Wrote(usize),
    /// A client reads the screen.
    ReadScreen(Ticket, ScreenTiming),
    /// A client waits for this condition, at most for this duration.
    Wait(Ticket, Condition, Duration),
    CancelWait(Ticket),
    /// The program wrote output with these frame boundaries.
    Output(FrameBoundaries),
    /// The program sent a notice to the terminal, such as a new title.
    Noticed(TerminalNotice),
    /// A terminal was attached (true) or detached (false).
    Attached(bool),
    /// The attached terminal has this size.
    Window(Size),
    /// A signal has stopped the program (true) or continued it (false).
    Stopped(bool),
    /// The program has exited. Its last output may still arrive.
    Exited(Exit),
    /// All output of the program was read.
    Drained,
    /// The screen shows the effect of all input. Only wh's own UI sends this input; other programs cannot report it.
    Drawn,
    /// State of the conversation that the session shows.
    Gauged(SpaceGauges),
    /// The time returned by [`SessionMachine::wake_at`] was reached.
    Tick,
}

/// Time at which a read of the screen is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScreenTiming {
    /// After the next complete frame if input was just typed, so that the screen shows the effect of the input, or if a
    /// frame is incomplete; otherwise immediately. May take some milliseconds.
    #[default]
    Settled,
    /// Immediately, even while a frame is incomplete.
    Now,
}

/// Effect of the session's state machine, which the engine must execute.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEffect {
    /// Queue these bytes for the program, write the bytes that the terminal accepts now, and send
    /// [`SessionInput::Offered`].
    Write(Vec<u8>),
    /// Queue and write these bytes like [`SessionEffect::Write`]. They are a reply of the terminal emulator, not input
    /// of a client.
    Reply(Vec<u8>),
    /// Discard all queued input, including the terminal's own buffer, and send [`SessionInput::Discarded`].
    DiscardInput {
        /// True to retain the next byte, because a line editor may be about to read it.
        keep_next: bool,
    },
    /// Send an interrupt signal to the program, and send [`SessionInput::Interrupted`].
    Interrupt,
    /// Check how many bytes of input the program has not read, and send [`SessionInput::Unread`].
    CheckUnreadInput,
    Resize(Size),
    Signal(u8, SignalTarget),
    /// Set a marker with this label in the recording, if the session is recorded.
    Mark(String),
    /// Store the final delivery state of the command with this request id.
    Settled(RequestId, InputReceipt),
    Answer(Ticket, Result<InputAccepted, TerminalRefusal>),
    /// Answer the screen read of this caller with the current screen.
    Show(Ticket),
    Waited(Ticket, WaitResult),
    /// Publish an event to all subscribers.
    Publish(Event),
}

/// Answer to an accepted command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputAccepted {
    /// Delivery state of the bytes of the command.
    pub delivery: DeliveryState,
    /// True if the command is a retry of an accepted command.
    pub duplicate: bool,
}

impl InputAccepted {
    /// True if the terminal has accepted every byte of the command.
    pub fn delivered(&self) -> bool {
        matches!(self.delivery, DeliveryState::Delivered(_))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramStatus {
    Running,
    /// The program was stopped by a signal.
    Stopped,
    Exited(Exit),
}

/// Read access to the screen, for the state machine.
pub trait ScreenAccess {
    /// Rows of the screen without trailing blanks, joined by newlines.
    fn text(&self) -> String;
    /// Column and row of the cursor.
    fn cursor(&self) -> (u16, u16);
    fn title(&self) -> Option<String>;
    /// Hash of the visible contents. Two screens that look the same have equal hashes.
    fn fingerprint(&self) -> u64;
}

/// Terminal session of a program, as a state machine.
#[derive(Debug)]
pub struct SessionMachine {
    status: ProgramStatus,
    since: Instant,
    attached: bool,
    drained: bool,
    queued: usize,
    receipts: DeliveryLedger,
    /// Caller whose bytes are being written, until [`SessionInput::Offered`].
    offered: Option<PendingCaller>,
    /// Stage of the interrupt in progress; `None` if there is none.
    interrupting: Option<InterruptStage>,
    /// Time of the latest input to the program.
    last_typed: Option<Instant>,
    /// Caller of an interrupt without text, until the interrupt is delivered.
    interrupt_caller: Option<PendingCaller>,
    /// Pieces of input that are held back until the program has handled an interrupt, each with its caller.
    held_input: VecDeque<(Option<PendingCaller>, Vec<u8>)>,
    frames: FrameTracker,
    waits: Waits,
    gauges: SpaceGauges,
    /// True if the session shows wh's own UI and has no process.
    hosted: bool,
    screen_reads: Vec<Ticket>,
    last_client_input: Option<Instant>,
    typed_bytes: u64,
    input_to_frame: Histogram,
}

impl SessionMachine {
    /// Creates the session of a program that was just started.
    pub fn new(now: Instant) -> Self {
        Self {
            status: ProgramStatus::Running,
            since: now,
            attached: false,
            drained: false,
            queued: 0,
            receipts: DeliveryLedger::default(),
            offered: None,
            interrupting: None,
            last_typed: None,
            interrupt_caller: None,
            held_input: VecDeque::new(),
            frames: FrameTracker::default(),
            waits: Waits::new(now),
            gauges: SpaceGauges::default(),
            hosted: false,
            screen_reads: Vec::new(),
            last_client_input: None,
            typed_bytes: 0,
            input_to_frame: Histogram::default(),
        }
    }

    /// Creates a session that shows wh's own UI.
    pub fn hosted(now: Instant) -> Self {
        Self { hosted: true, ..Self::new(now) }
    }

    /// Returns the status of the program and the time of its last change.
    pub fn status(&self) -> (ProgramStatus, Instant) {
        (self.status, self.since)
    }

    pub fn attached(&self) -> bool {
        self.attached
    }

    /// Returns the number of complete frames, and the time of the latest one.
    pub fn frames(&self) -> (u64, Option<Instant>) {
        (self.frames.count(), self.frames.last())
    }

    pub fn open_waits(&self) -> usize {
        self.waits.count()
    }

    /// Returns the number of bytes that the terminal has not accepted, including input that is held back.
    pub fn queued(&self) -> usize {
        self.queued + self.held_input.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    /// True if an interrupt is in progress.
    pub fn interrupting(&self) -> bool {
        self.interrupting.is_some()
    }

    /// Returns the delivery state of the command with this request id, if it is stored.
    pub fn receipt(&mut self, id: &RequestId, now: Instant) -> Option<InputReceipt> {
        self.receipts.find(id, now)
    }

    /// Returns the number of bytes that clients have typed, and a histogram of the times from input to the next frame.
    pub fn input(&self) -> (u64, &Histogram) {
        (self.typed_bytes, &self.input_to_frame)
    }

    /// Returns the time at which the engine must send [`SessionInput::Tick`] if it sends no other input before.
    pub fn wake_at(&self) -> Option<Instant> {
        let waits_for_echo = !self.screen_reads.is_empty() && !self.frames.in_burst();
        let look = self.last_client_input.filter(|_| waits_for_echo).map(|typed| typed + ECHO_TIMEOUT);
        let interrupt = self.interrupting.as_ref().and_then(InterruptStage::wake_at);
        [self.frames.due(), self.waits.wake_at(self.frames.in_burst()), look, interrupt].into_iter().flatten().min()
    }

    /// Handles an input and returns the effects in the order of execution.
    pub fn handle(&mut self, input: SessionInput, now: Instant, view: &impl ScreenAccess) -> Vec<SessionEffect> {
        let mut effects = Vec::new();
        match input {
            SessionInput::Command(ticket, request, command) => {
                self.command(ticket, request, command, now, &mut effects)
            }
            SessionInput::Keys(bytes) => self.keys(bytes, now, &mut effects),
            SessionInput::Replied(bytes) => self.replied(bytes, &mut effects),
            SessionInput::Offered(left) => self.offered(left, now, &mut effects),
            SessionInput::Discarded(unread) => self.discarded(unread, now, &mut effects),
            SessionInput::Interrupted => self.interrupted(now, &mut effects),
            SessionInput::Unread(unread) => self.unread(unread, now, &mut effects),
            SessionInput::Unwritable => self.lose(InputLoss::Ended, &mut effects),
            SessionInput::Wrote(left) => self.remaining(left, now, &mut effects),
            SessionInput::ReadScreen(ticket, ScreenTiming::Now) => effects.push(SessionEffect::Show(ticket)),
            SessionInput::ReadScreen(ticket, ScreenTiming::Settled) => {
                self.screen_reads.push(ticket);
                self.answer_screen_reads(now, &mut effects);
            }
            SessionInput::Wait(ticket, condition, timeout) => {
                if self.waits.count() >= MAX_OPEN_WAITS {
                    effects.push(SessionEffect::Answer(ticket, Err(TerminalRefusal::TooManyWaits)));
                } else {
                    self.waits.add(ticket, condition, now, timeout);
                    self.check_waits(false, now, view, &mut effects);
                }
            }
            SessionInput::CancelWait(ticket) => self.waits.remove(ticket),
            SessionInput::Output(output) => {
                if let Some(stage) = &mut self.interrupting {
                    stage.output(now);
                }
                if self.frames.output(output, now) {
                    self.frame(now, view, &mut effects);
                }
            }
            SessionInput::Noticed(notice) => effects.push(SessionEffect::Publish(Event::Noticed(notice))),
            SessionInput::Attached(attached) => {
                self.attached = attached;
                effects.push(SessionEffect::Publish(Event::Attached(attached)));
            }
            SessionInput::Window(size) => {
                effects.extend([SessionEffect::Resize(size), SessionEffect::Publish(Event::Resized(size))])
            }
            SessionInput::Stopped(stopped) => {
                if self.set_status(if stopped { ProgramStatus::Stopped } else { ProgramStatus::Running }, now) {
                    effects.push(SessionEffect::Publish(Event::Stopped(stopped)));
                }
            }
            SessionInput::Exited(exit) => drop(self.set_status(ProgramStatus::Exited(exit), now)),
            SessionInput::Drained => {
                self.drained = true;
                self.lose(InputLoss::Ended, &mut effects);
                self.frames.complete(now);
                if let ProgramStatus::Exited(exit) = self.status {
                    effects.push(SessionEffect::Publish(Event::Exited(exit)));
                }
                self.frame(now, view, &mut effects);
            }
            SessionInput::Drawn => {
                self.last_client_input = None;
                self.answer_screen_reads(now, &mut effects);
            }
            SessionInput::Gauged(gauges) => {
                self.gauges = gauges;
                self.check_waits(false, now, view, &mut effects);
            }
            SessionInput::Tick => {
                if self.frames.tick(now) {
                    self.frame(now, view, &mut effects);
                } else {
                    self.check_waits(false, now, view, &mut effects);
                }
                self.last_client_input = self.last_client_input.filter(|typed| now < *typed + ECHO_TIMEOUT);
                self.answer_screen_reads(now, &mut effects);
                self.settle(now, &mut effects);
            }
        }
        effects
    }

    /// Sets the status. Returns false if the status is the same or the program has already exited.
    fn set_status(&mut self, status: ProgramStatus, now: Instant) -> bool {
        // Stop and continue events after the exit are outdated.
        let changes = !matches!(self.status, ProgramStatus::Exited(_)) && self.status != status;
        if changes {
            self.status = status;
            self.since = now;
        }
        changes
    }

    /// Handles a completed frame: answers waits and screen reads.
    fn frame(&mut self, now: Instant, view: &impl ScreenAccess, effects: &mut Vec<SessionEffect>) {
        if let Some(typed) = self.last_client_input.take() {
            self.input_to_frame.observe(now.saturating_duration_since(typed));
        }
        self.check_waits(true, now, view, effects);
        self.answer_screen_reads(now, effects);
    }

    fn check_waits(&mut self, changed: bool, now: Instant, view: &impl ScreenAccess, effects: &mut Vec<SessionEffect>) {
        let seen = WaitContext {
            frames: self.frames.count(),
            last_frame: self.frames.last(),
            in_burst: self.frames.in_burst(),
            over: self.drained,
            gauges: self.gauges,
            changed,
            now,
        };
        effects.extend(
            self.waits.settle(&seen, view).into_iter().map(|(ticket, waited)| SessionEffect::Waited(ticket, waited)),
        );
    }

    fn answer_screen_reads(&mut self, now: Instant, effects: &mut Vec<SessionEffect>) {
        let echo_may_come = self.last_client_input.is_some_and(|typed| now < typed + ECHO_TIMEOUT);
        if self.drained || !(echo_may_come || self.frames.in_burst()) {
            effects.extend(self.screen_reads.drain(..).map(SessionEffect::Show));
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
