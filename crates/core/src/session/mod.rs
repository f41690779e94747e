//! One terminal program under control, as a machine: what happens goes in, what must be done comes out. It decides what
//! is carried out and what is refused, when a frame is complete, when a wait is over and who is answered what.

mod frames;
mod refusal;
mod settling;
mod taken;
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
use frames::Frames;
pub use frames::Output;
pub use refusal::Refusal;
use settling::Stage;
pub use settling::{CTRL_C, INTERRUPT_QUIET, INTERRUPT_SILENCE, UnreadInput};
use taken::{Caller, Receipts};
pub use taken::{Fate, Loss, Taken};
use waits::{Seen, Waits};
pub use waits::{Waited, Why};

/// Bytes that may wait for a program that does not read. Beyond that a command is refused, whole.
pub const LONGEST_QUEUE: usize = 1 << 20;

/// Waits that may be open at once: each is looked at on every frame.
pub const MOST_WAITS: usize = 64;

/// Who looks at the screen right after typing wants to see the effect: a look waits this long for a frame to come.
const ECHO_PATIENCE: Duration = Duration::from_millis(80);

/// Names whom an answer is for. The engine gives them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// A command to the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Type bytes.
    Type {
        /// As the program reads them.
        bytes: Vec<u8>,
        /// When the caller is answered.
        answer: AnswerAt,
    },
    /// Discard all input that the program has not read, interrupt it, and type these bytes, if any, once it has handled
    /// that. The caller is answered when all of it is delivered or lost.
    Interrupt {
        /// As the program reads them.
        then: Vec<u8>,
    },
    /// Change the terminal's size.
    Resize(Size),
    /// Send a signal.
    Signal(u8, SignalTarget),
    /// Mark this moment, by this name.
    Mark(String),
}

/// When the caller of a command that types is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerAt {
    /// Once the terminal was offered the bytes, whether or not it has taken them.
    Offered,
    /// Once the terminal has taken all of them, or some are lost.
    Settled,
}

/// What happens.
#[derive(Debug)]
pub enum Input {
    /// A door asks for something.
    Command(Ticket, Option<Request>, Command),
    /// A person typed this at the attached terminal.
    Keys(Vec<u8>),
    /// The terminal replies this to a query of the program.
    Replied(Vec<u8>),
    /// The bytes of a command were offered to the terminal; so many of all that are queued still wait.
    Offered(usize),
    /// All queued input was discarded; this much of it the program could have read.
    Discarded(UnreadInput),
    /// The program was sent the signal.
    Interrupted,
    /// This much of its input the program has not read.
    Unread(UnreadInput),
    /// The terminal takes no input any more.
    Unwritable,
    /// Queued bytes went out; so many still wait.
    Wrote(usize),
    /// A door looks at the screen: at a complete frame, or at what is there this moment.
    Look(Ticket, Sight),
    /// A door waits.
    Wait(Ticket, Condition, Duration),
    /// It no longer does.
    Leave(Ticket),
    /// The program wrote something.
    Output(Output),
    /// It told its terminal something beside the screen.
    Noticed(Notice),
    /// A person's terminal was attached, or is no longer.
    Attached(bool),
    /// The person's window has this size.
    Window(Size),
    /// The program was stopped, or goes on.
    Stopped(bool),
    /// The program ended; its last output may still be on the way.
    Exited(Exit),
    /// All of its output has been seen.
    Drained,
    /// The effect of all that was typed is on the screen; a program of another process cannot tell us that.
    Drawn,
    /// The conversation behind the screen stands so.
    Gauged(Gauges),
    /// The time that [`Session::wake_at`] named has come.
    Tick,
}

/// What a look is to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sight {
    /// A complete frame, with the effect of what was typed just before: may wait for it, some milliseconds.
    #[default]
    Settled,
    /// What is there this moment, be it half a frame.
    Now,
}

/// What must be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Queue these bytes for the program and offer what it takes now; then say [`Input::Offered`].
    Write(Vec<u8>),
    /// The same for a reply of the terminal, which nobody typed.
    Reply(Vec<u8>),
    /// Discard all queued input, also that which the terminal holds; then say [`Input::Discarded`].
    DiscardInput {
        /// A line editor keeps the next byte, which it may be about to read.
        keep_next: bool,
    },
    /// Interrupt the program by a signal; then say [`Input::Interrupted`].
    Interrupt,
    /// Look how much of its input the program has not read; then say [`Input::Unread`].
    LookAtInput,
    /// Change the terminal's size.
    Resize(Size),
    /// Send a signal.
    Signal(u8, SignalTarget),
    /// Mark this moment in the recording, if there is one.
    Mark(String),
    /// A command that carried an id has come to its end.
    Settled(RequestId, Taken),
    /// Answer a command.
    Answer(Ticket, Result<Done, Refusal>),
    /// Answer a look with the screen as it is.
    Show(Ticket),
    /// Answer a wait.
    Waited(Ticket, Waited),
    /// Tell everybody who watches.
    Publish(Event),
}

/// A command was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Its progress.
    pub fate: Fate,
    /// True if it was accepted earlier, under the same id.
    pub duplicate: bool,
}

impl Done {
    /// True if the terminal has taken every byte.
    pub fn delivered(&self) -> bool {
        matches!(self.fate, Fate::Delivered(_))
    }
}

/// How the program fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It runs.
    Running,
    /// A signal has stopped it.
    Stopped,
    /// It has ended.
    Exited(Exit),
}

/// What the machine may ask of the screen.
pub trait View {
    /// The text: rows without trailing blanks, joined by newlines.
    fn text(&self) -> String;
    /// The cursor's column and row.
    fn cursor(&self) -> (u16, u16);
    /// The window title.
    fn title(&self) -> Option<String>;
    /// The same for two screens that look the same.
    fn fingerprint(&self) -> u64;
}

/// The machine.
#[derive(Debug)]
pub struct Session {
    status: Status,
    since: Instant,
    attached: bool,
    drained: bool,
    queued: usize,
    receipts: Receipts,
    /// Caller whose bytes were written, until it is known how many the terminal took.
    offered: Option<Caller>,
    /// The last interrupt, until the program has handled it.
    interrupting: Option<Stage>,
    /// When something was last typed to the program.
    last_typed: Option<Instant>,
    /// Caller of an interrupt without a text, until the program has the interrupt.
    interrupter: Option<Caller>,
    /// Input that waits until the program has handled an interrupt.
    held: VecDeque<(Option<Caller>, Vec<u8>)>,
    frames: Frames,
    waits: Waits,
    gauges: Gauges,
    /// There is no program of another process behind the terminal, but wh's own UI.
    hosted: bool,
    looks: Vec<Ticket>,
    typed: Option<Instant>,
    typed_bytes: u64,
    input_to_frame: Histogram,
}

impl Session {
    /// A program that has just been started.
    pub fn new(now: Instant) -> Self {
        Self {
            status: Status::Running,
            since: now,
            attached: false,
            drained: false,
            queued: 0,
            receipts: Receipts::default(),
            offered: None,
            interrupting: None,
            last_typed: None,
            interrupter: None,
            held: VecDeque::new(),
            frames: Frames::default(),
            waits: Waits::new(now),
            gauges: Gauges::default(),
            hosted: false,
            looks: Vec::new(),
            typed: None,
            typed_bytes: 0,
            input_to_frame: Histogram::default(),
        }
    }

    /// wh's own UI at a terminal of ours.
    pub fn hosted(now: Instant) -> Self {
        Self { hosted: true, ..Self::new(now) }
    }

    /// How the program fares, and since when.
    pub fn status(&self) -> (Status, Instant) {
        (self.status, self.since)
    }

    /// Whether a person's terminal is attached.
    pub fn attached(&self) -> bool {
        self.attached
    }

    /// Frames so far, and when the last was complete.
    pub fn frames(&self) -> (u64, Option<Instant>) {
        (self.frames.count(), self.frames.last())
    }

    /// Waits that are open.
    pub fn open_waits(&self) -> usize {
        self.waits.count()
    }

    /// Bytes that wait for the program.
    pub fn queued(&self) -> usize {
        self.queued + self.held.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    /// True if input waits until the program has handled an interrupt.
    pub fn interrupting(&self) -> bool {
        self.interrupting.is_some()
    }

    /// What became of the command of this id, if it is known.
    pub fn receipt(&mut self, id: &RequestId, now: Instant) -> Option<Taken> {
        self.receipts.find(id, now)
    }

    /// Bytes that doors have typed so far, and how long it took each time until a frame followed.
    pub fn input(&self) -> (u64, &Histogram) {
        (self.typed_bytes, &self.input_to_frame)
    }

    /// When [`Input::Tick`] must come if nothing else happens before.
    pub fn wake_at(&self) -> Option<Instant> {
        let waits_for_echo = !self.looks.is_empty() && !self.frames.in_burst();
        let look = self.typed.filter(|_| waits_for_echo).map(|typed| typed + ECHO_PATIENCE);
        let interrupt = self.interrupting.as_ref().and_then(Stage::wake_at);
        [self.frames.due(), self.waits.wake_at(self.frames.in_burst()), look, interrupt].into_iter().flatten().min()
    }

    /// Takes note of what happened and says what to do about it, in order.
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
            Input::Wrote(left) => self.left(left, now, &mut effects),
            Input::Look(ticket, Sight::Now) => effects.push(Effect::Show(ticket)),
            Input::Look(ticket, Sight::Settled) => {
                self.looks.push(ticket);
                self.show(now, &mut effects);
            }
            Input::Wait(ticket, condition, timeout) => {
                if self.waits.count() >= MOST_WAITS {
                    effects.push(Effect::Answer(ticket, Err(Refusal::TooManyWaits)));
                } else {
                    self.waits.add(ticket, condition, now, timeout);
                    self.look_at_waits(false, now, view, &mut effects);
                }
            }
            Input::Leave(ticket) => self.waits.remove(ticket),
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
                if self.becomes(if stopped { Status::Stopped } else { Status::Running }, now) {
                    effects.push(Effect::Publish(Event::Stopped(stopped)));
                }
            }
            Input::Exited(exit) => drop(self.becomes(Status::Exited(exit), now)),
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
                self.typed = None;
                self.show(now, &mut effects);
            }
            Input::Gauged(gauges) => {
                self.gauges = gauges;
                self.look_at_waits(false, now, view, &mut effects);
            }
            Input::Tick => {
                if self.frames.tick(now) {
                    self.frame(now, view, &mut effects);
                } else {
                    self.look_at_waits(false, now, view, &mut effects);
                }
                self.typed = self.typed.filter(|typed| now < *typed + ECHO_PATIENCE);
                self.show(now, &mut effects);
                self.settle(now, &mut effects);
            }
        }
        effects
    }

    /// Takes on a status; false if that changes nothing.
    fn becomes(&mut self, status: Status, now: Instant) -> bool {
        // What stops or goes on after the end is news of the past.
        let changes = !matches!(self.status, Status::Exited(_)) && self.status != status;
        if changes {
            self.status = status;
            self.since = now;
        }
        changes
    }

    /// A frame is complete: whoever watches is told.
    fn frame(&mut self, now: Instant, view: &impl View, effects: &mut Vec<Effect>) {
        if let Some(typed) = self.typed.take() {
            self.input_to_frame.observe(now.saturating_duration_since(typed));
        }
        self.look_at_waits(true, now, view, effects);
        self.show(now, effects);
    }

    fn look_at_waits(&mut self, changed: bool, now: Instant, view: &impl View, effects: &mut Vec<Effect>) {
        let seen = Seen {
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

    fn show(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        let echo_may_come = self.typed.is_some_and(|typed| now < typed + ECHO_PATIENCE);
        if self.drained || !(echo_may_come || self.frames.in_burst()) {
            effects.extend(self.looks.drain(..).map(Effect::Show));
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
