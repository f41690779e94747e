//! State machine of one terminal program. It takes inputs and returns effects. It decides which commands are executed
//! or refused, when a frame is complete, when a wait ends, and which answers are sent.

mod delivery;
mod frames;
mod interrupt;
mod refusal;
mod typing;
mod waits;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::condition::Condition;
use crate::event::{Event, Notice};
use crate::histogram::Histogram;
use crate::request::{Request, RequestId};
use crate::space::state::Gauges;
use crate::terminal::{Exit, SignalTarget, Size};
use delivery::{DeliveryLedger, PendingCaller};
pub use delivery::{DeliveryState, InputReceipt, Loss};
pub use frames::FrameBoundaries;
use frames::Frames;
use interrupt::InterruptStage;
pub use interrupt::{CTRL_C, INTERRUPT_QUIET_PERIOD, INTERRUPT_SILENCE_TIMEOUT, UnreadInput};
pub use refusal::Refusal;
use waits::{WaitContext, Waits};
pub use waits::{WaitOutcome, WaitResult};

/// Maximum number of bytes queued for a program that does not read. A command that would exceed it is refused
/// and queues nothing.
pub const MAX_QUEUED_INPUT_BYTES: usize = 1 << 20;

/// Maximum number of open waits. Each is evaluated on every frame.
pub const MAX_OPEN_WAITS: usize = 64;

/// Time that a read of the screen waits for a frame after typing, so that it includes the effect of the input.
const ECHO_TIMEOUT: Duration = Duration::from_millis(80);

/// Identifies the recipient of an answer. Assigned by the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Types bytes into the terminal.
    Type {
        /// Encoded as the program reads them.
        bytes: Vec<u8>,
        /// Time at which the caller is answered.
        answer: AnswerAt,
    },
    /// Discards all input that the program has not read, interrupts the program, then types these bytes, if any, once
    /// it has handled the interrupt. The caller is answered when all of it is delivered or lost.
    Interrupt {
        /// Encoded as the program reads them.
        then: Vec<u8>,
    },
    /// Changes the size of the terminal.
    Resize(Size),
    Signal(u8, SignalTarget),
    /// Sets a marker with this label.
    Mark(String),
}

/// Time at which the caller of a typing command is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerAt {
    /// After the bytes were written to the terminal, even if it has not accepted all of them.
    Offered,
    /// After the terminal has accepted all bytes, or some are lost.
    Settled,
}

/// Input of the state machine.
#[derive(Debug)]
pub enum Input {
    /// A client sends a command.
    Command(Ticket, Option<Request>, Command),
    /// Bytes typed at the attached terminal.
    Keys(Vec<u8>),
    /// Reply of the terminal to a query of the program.
    Replied(Vec<u8>),
    /// The bytes of a command were written to the terminal; this many of all queued bytes remain.
    Offered(usize),
    /// All queued input was discarded. The value describes the input that the program could have read.
    Discarded(UnreadInput),
    /// The signal was sent to the program.
    Interrupted,
    /// Result of [`Effect::CheckUnreadInput`].
    Unread(UnreadInput),
    /// The terminal accepts no more input.
    Unwritable,
    /// Queued bytes were written; this many remain.
    Wrote(usize),
    /// A client reads the screen.
    ReadScreen(Ticket, ScreenTiming),
    /// A client waits for a condition, with a timeout.
    Wait(Ticket, Condition, Duration),
    /// A client cancels its wait.
    CancelWait(Ticket),
    /// The program wrote output.
    Output(FrameBoundaries),
    /// The program sent a notice outside the screen.
    Noticed(Notice),
    /// A terminal was attached (true) or detached (false).
    Attached(bool),
    /// Size of the attached terminal.
    Window(Size),
    /// The program was stopped (true) or continued (false).
    Stopped(bool),
    /// The program ended; its last output may still arrive.
    Exited(Exit),
    /// All of the program's output was read.
    Drained,
    /// The effect of all input is on the screen. Sent for wh's own UI only: other programs cannot report it.
    Drawn,
    /// State of the conversation behind the screen.
    Gauged(Gauges),
    /// The time returned by [`Session::wake_at`] was reached.
    Tick,
}

/// Timing of a screen read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScreenTiming {
    /// A complete frame that includes the effect of input typed just before. May wait some milliseconds for it.
    #[default]
    Settled,
    /// The screen at this moment, possibly within a frame.
    Now,
}

/// Effect that the engine must execute.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Queue these bytes for the program and write as much as it accepts now, then send [`Input::Offered`].
    Write(Vec<u8>),
    /// Like [`Effect::Write`], for a reply of the terminal, which no client typed.
    Reply(Vec<u8>),
    /// Discard all queued input, including the terminal's own buffer, then send [`Input::Discarded`].
    DiscardInput {
        /// Keep the next byte, which a line editor may be about to read.
        keep_next: bool,
    },
    /// Interrupt the program by a signal, then send [`Input::Interrupted`].
    Interrupt,
    /// Check how much input the program has not read, then send [`Input::Unread`].
    CheckUnreadInput,
    /// Change the size of the terminal.
    Resize(Size),
    Signal(u8, SignalTarget),
    /// Set a marker in the recording, if there is one.
    Mark(String),
    /// Store the final state of a command that carried a request id.
    Settled(RequestId, InputReceipt),
    Answer(Ticket, Result<InputAccepted, Refusal>),
    /// Answer a screen read with the current screen.
    Show(Ticket),
    Waited(Ticket, WaitResult),
    /// Publish an event to all subscribers.
    Publish(Event),
}

/// Answer to an accepted command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputAccepted {
    /// Delivery state of its bytes.
    pub delivery: DeliveryState,
    /// True if it was accepted earlier under the same request id.
    pub duplicate: bool,
}

impl InputAccepted {
    /// True if the terminal has accepted every byte.
    pub fn delivered(&self) -> bool {
        matches!(self.delivery, DeliveryState::Delivered(_))
    }
}

/// Status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Running,
    /// Stopped by a signal.
    Stopped,
    Exited(Exit),
}

/// Read access of the state machine to the screen.
pub trait View {
    /// Rows without trailing blanks, joined by newlines.
    fn text(&self) -> String;
    /// The cursor's column and row.
    fn cursor(&self) -> (u16, u16);
    fn title(&self) -> Option<String>;
    /// Hash of the visible contents. Equal for screens that look the same.
    fn fingerprint(&self) -> u64;
}

/// The state machine.
#[derive(Debug)]
pub struct Session {
    status: Status,
    since: Instant,
    attached: bool,
    drained: bool,
    queued: usize,
    receipts: DeliveryLedger,
    /// Caller whose bytes were written, until the terminal has reported how many it accepted.
    offered: Option<PendingCaller>,
    /// The latest interrupt, until the program has handled it.
    interrupting: Option<InterruptStage>,
    /// Time of the latest input to the program.
    last_typed: Option<Instant>,
    /// Caller of an interrupt without a text, until the interrupt is delivered.
    interrupt_caller: Option<PendingCaller>,
    /// Input held back until the program has handled an interrupt.
    held_input: VecDeque<(Option<PendingCaller>, Vec<u8>)>,
    frames: Frames,
    waits: Waits,
    gauges: Gauges,
    /// True if the terminal shows wh's own UI instead of another process.
    hosted: bool,
    screen_reads: Vec<Ticket>,
    last_client_input: Option<Instant>,
    typed_bytes: u64,
    input_to_frame: Histogram,
}

impl Session {
    /// Returns the session of a program that was just started.
    pub fn new(now: Instant) -> Self {
        Self {
            status: Status::Running,
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
            frames: Frames::default(),
            waits: Waits::new(now),
            gauges: Gauges::default(),
            hosted: false,
            screen_reads: Vec::new(),
            last_client_input: None,
            typed_bytes: 0,
            input_to_frame: Histogram::default(),
        }
    }

    /// Returns a session that shows wh's own UI.
    pub fn hosted(now: Instant) -> Self {
        Self { hosted: true, ..Self::new(now) }
    }

    /// Returns the status of the program and the time of its last change.
    pub fn status(&self) -> (Status, Instant) {
        (self.status, self.since)
    }

    /// True if a terminal is attached.
    pub fn attached(&self) -> bool {
        self.attached
    }

    /// Returns the number of frames, and the time of the latest complete one.
    pub fn frames(&self) -> (u64, Option<Instant>) {
        (self.frames.count(), self.frames.last())
    }

    /// Returns the number of open waits.
    pub fn open_waits(&self) -> usize {
        self.waits.count()
    }

    /// Returns the number of bytes queued for the program.
    pub fn queued(&self) -> usize {
        self.queued + self.held_input.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    /// True if input is held back until the program has handled an interrupt.
    pub fn interrupting(&self) -> bool {
        self.interrupting.is_some()
    }

    /// Returns the state of the command with this request id, if it is stored.
    pub fn receipt(&mut self, id: &RequestId, now: Instant) -> Option<InputReceipt> {
        self.receipts.find(id, now)
    }

    /// Returns the number of bytes typed by clients, and the time from input to the next frame.
    pub fn input(&self) -> (u64, &Histogram) {
        (self.typed_bytes, &self.input_to_frame)
    }

    /// Returns the time at which [`Input::Tick`] must be sent if no other input comes first.
    pub fn wake_at(&self) -> Option<Instant> {
        let waits_for_echo = !self.screen_reads.is_empty() && !self.frames.in_burst();
        let look = self.last_client_input.filter(|_| waits_for_echo).map(|typed| typed + ECHO_TIMEOUT);
        let interrupt = self.interrupting.as_ref().and_then(InterruptStage::wake_at);
        [self.frames.due(), self.waits.wake_at(self.frames.in_burst()), look, interrupt].into_iter().flatten().min()
    }

    /// Handles an input and returns the effects in order.
    pub fn handle(&mut self, input: Input, now: Instant, view: &impl View) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Command(ticket, request, command) => self.command(ticket, request, command, now, &mut effects),
            Input::Keys(bytes) => self.keys(bytes, now, &mut effects),
            Input::Replied(bytes) => self.replied(bytes, &mut effects),
            Input::Offered(left) => self.offered(left, now, &mut effects),
            Input::Discarded(unread) => self.discarded(unread, now, &mut effects),
            Input::Interrupted => self.interrupted(now, &mut effects),
            Input::Unread(unread) => self.unread(unread, now, &mut effects),
            Input::Unwritable => self.lose(Loss::Ended, &mut effects),
            Input::Wrote(left) => self.remaining(left, now, &mut effects),
            Input::ReadScreen(ticket, ScreenTiming::Now) => effects.push(Effect::Show(ticket)),
            Input::ReadScreen(ticket, ScreenTiming::Settled) => {
                self.screen_reads.push(ticket);
                self.answer_screen_reads(now, &mut effects);
            }
            Input::Wait(ticket, condition, timeout) => {
                if self.waits.count() >= MAX_OPEN_WAITS {
                    effects.push(Effect::Answer(ticket, Err(Refusal::TooManyWaits)));
                } else {
                    self.waits.add(ticket, condition, now, timeout);
                    self.check_waits(false, now, view, &mut effects);
                }
            }
            Input::CancelWait(ticket) => self.waits.remove(ticket),
            Input::Output(output) => {
                if let Some(stage) = &mut self.interrupting {
                    stage.output(now);
                }
                if self.frames.output(output, now) {
                    self.frame(now, view, &mut effects);
                }
            }
            Input::Noticed(notice) => effects.push(Effect::Publish(Event::Noticed(notice))),
            Input::Attached(attached) => {
                self.attached = attached;
                effects.push(Effect::Publish(Event::Attached(attached)));
            }
            Input::Window(size) => effects.extend([Effect::Resize(size), Effect::Publish(Event::Resized(size))]),
            Input::Stopped(stopped) => {
                if self.set_status(if stopped { Status::Stopped } else { Status::Running }, now) {
                    effects.push(Effect::Publish(Event::Stopped(stopped)));
                }
            }
            Input::Exited(exit) => drop(self.set_status(Status::Exited(exit), now)),
            Input::Drained => {
                self.drained = true;
                self.lose(Loss::Ended, &mut effects);
                self.frames.complete(now);
                if let Status::Exited(exit) = self.status {
                    effects.push(Effect::Publish(Event::Exited(exit)));
                }
                self.frame(now, view, &mut effects);
            }
            Input::Drawn => {
                self.last_client_input = None;
                self.answer_screen_reads(now, &mut effects);
            }
            Input::Gauged(gauges) => {
                self.gauges = gauges;
                self.check_waits(false, now, view, &mut effects);
            }
            Input::Tick => {
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

    /// Sets the status; false if nothing changed.
    fn set_status(&mut self, status: Status, now: Instant) -> bool {
        // Stop and continue events after the end are outdated.
        let changes = !matches!(self.status, Status::Exited(_)) && self.status != status;
        if changes {
            self.status = status;
            self.since = now;
        }
        changes
    }

    /// Handles a completed frame: waits and screen reads are answered.
    fn frame(&mut self, now: Instant, view: &impl View, effects: &mut Vec<Effect>) {
        if let Some(typed) = self.last_client_input.take() {
            self.input_to_frame.observe(now.saturating_duration_since(typed));
        }
        self.check_waits(true, now, view, effects);
        self.answer_screen_reads(now, effects);
    }

    fn check_waits(&mut self, changed: bool, now: Instant, view: &impl View, effects: &mut Vec<Effect>) {
        let seen = WaitContext {
            frames: self.frames.count(),
            last_frame: self.frames.last(),
            in_burst: self.frames.in_burst(),
            over: self.drained,
            gauges: self.gauges,
            changed,
            now,
        };
        effects
            .extend(self.waits.settle(&seen, view).into_iter().map(|(ticket, waited)| Effect::Waited(ticket, waited)));
    }

    fn answer_screen_reads(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let echo_may_come = self.last_client_input.is_some_and(|typed| now < typed + ECHO_TIMEOUT);
        if self.drained || !(echo_may_come || self.frames.in_burst()) {
            effects.extend(self.screen_reads.drain(..).map(Effect::Show));
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
