//! One terminal program under control, as a machine: what happens goes in, what must be done comes out. It decides what
//! is carried out and what is refused, when a frame is complete, when a wait is over and who is answered what.

mod frames;
mod taken;
mod waits;

use std::time::{Duration, Instant};

use crate::condition::Condition;
use crate::event::{Event, Notice};
use crate::histogram::Histogram;
use crate::request::{Ledger, RequestId};
use crate::space::state::Gauges;
use crate::terminal::{Exit, SignalTarget, Size};
use frames::Frames;
pub use frames::Output;
use taken::Receipts;
pub use taken::{Fate, Taken};
use waits::{Seen, Waits};
pub use waits::{Waited, Why};

/// Bytes that may wait for a program that does not read. Beyond that a command is refused, whole.
pub const LONGEST_QUEUE: usize = 1 << 20;

/// Characters of what was typed that a retry is told.
const LONGEST_NAME: usize = 256;

/// Waits that may be open at once: each is looked at on every frame.
pub const MOST_WAITS: usize = 64;

/// Who looks at the screen right after typing wants to see the effect: a look waits this long for a frame to come.
const ECHO_PATIENCE: Duration = Duration::from_millis(80);

/// Names whom an answer is for. The engine gives them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What a door asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Type these bytes, known to the caller by this name; or the reason why there are none in the present mode.
    Type(Result<Vec<u8>, Refusal>, String),
    /// Change the terminal's size.
    Resize(Size),
    /// Send a signal.
    Signal(u8, SignalTarget),
    /// Mark this moment, by this name.
    Mark(String),
}

impl Command {
    fn kind(&self) -> Kind {
        match self {
            Self::Type(..) => Kind::Type,
            Self::Resize(_) => Kind::Resize,
            Self::Signal(..) => Kind::Signal,
            Self::Mark(_) => Kind::Mark,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Type,
    Resize,
    Signal,
    Mark,
}

/// What happens.
#[derive(Debug)]
pub enum Input {
    /// A door asks for something.
    Command(Ticket, Option<RequestId>, Command),
    /// The bytes of a command were offered to the terminal; so many of all that are queued still wait.
    Offered(usize),
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
    /// Change the terminal's size.
    Resize(Size),
    /// Send a signal.
    Signal(u8, SignalTarget),
    /// Mark this moment in the recording, if there is one.
    Mark(String),
    /// Answer a command.
    Answer(Ticket, Result<Done, Refusal>),
    /// Answer a look with the screen as it is.
    Show(Ticket),
    /// Answer a wait.
    Waited(Ticket, Waited),
    /// Tell everybody who watches.
    Publish(Event),
}

/// A command was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Whether the terminal has taken every byte.
    pub delivered: bool,
    /// Whether this is the answer to an earlier command of the same id.
    pub duplicate: bool,
    /// What was typed, as the first caller named it.
    pub named: Option<String>,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody is left to take it.
    #[error("the program has ended")]
    Ended,
    /// The program does not read, and enough waits for it already.
    #[error("the program does not read its input, and {queued} bytes already wait for it; try again when it does")]
    QueueFull {
        /// Bytes that wait.
        queued: usize,
    },
    /// The terminal's mode has no such input.
    #[error("the program does not ask for mouse events now")]
    NotWanted,
    /// There is no such cell.
    #[error("the mouse is outside of the terminal, which has {0} cells")]
    OffScreen(Size),
    /// The person's window decides.
    #[error("a person's terminal is attached, and its window decides the size")]
    Attached,
    /// The id belongs to another command.
    #[error("this request_id was used for a command of another kind")]
    AnotherCommand,
    /// No more ids can be kept.
    #[error("too many request_ids within ten minutes")]
    LedgerFull,
    /// There is no process.
    #[error("this is wh itself, which takes no signals through its own door; /exit ends it")]
    NoProcess,
    /// No more waits can be open.
    #[error("{MOST_WAITS} waits are open already; try again when one is over")]
    TooManyWaits,
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
    ledger: Ledger<(Kind, Done)>,
    receipts: Receipts,
    /// Commands that were written and wait to hear how much was taken.
    offered: Option<(Ticket, Option<RequestId>, String)>,
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
            ledger: Ledger::default(),
            receipts: Receipts::default(),
            offered: None,
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

    /// Whether the program has ended and all of its output has been seen.
    pub fn over(&self) -> bool {
        self.drained
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
        self.queued
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
        [self.frames.due(), self.waits.wake_at(self.frames.in_burst()), look].into_iter().flatten().min()
    }

    /// Takes note of what happened and says what to do about it, in order.
    pub fn handle(&mut self, input: Input, now: Instant, view: &impl View) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Command(ticket, id, command) => self.command(ticket, id, command, now, &mut effects),
            Input::Offered(left) => self.offered(left, now, &mut effects),
            Input::Unwritable => {
                self.queued = 0;
                self.receipts.lost();
                effects.extend(self.offered.take().map(|(ticket, ..)| Effect::Answer(ticket, Err(Refusal::Ended))));
            }
            Input::Wrote(left) => self.left(left, now),
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
                self.receipts.lost();
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

    fn command(
        &mut self,
        ticket: Ticket,
        id: Option<RequestId>,
        command: Command,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(earlier) = id.as_ref().and_then(|id| self.ledger.find(id, now)) {
            let answer = match earlier {
                (kind, done) if *kind == command.kind() => Ok(Done { duplicate: true, ..done.clone() }),
                _ => Err(Refusal::AnotherCommand),
            };
            effects.push(Effect::Answer(ticket, answer));
            return;
        }
        let kind = command.kind();
        if let Err(refusal) = self.admit(id.as_ref(), &command) {
            effects.push(Effect::Answer(ticket, Err(refusal)));
            return;
        }
        match command {
            Command::Type(Err(_), _) => return,
            Command::Type(Ok(bytes), named) => {
                self.queued += bytes.len();
                self.receipts.queue(bytes.len());
                self.typed_bytes += bytes.len() as u64;
                self.typed = Some(now);
                self.offered = Some((ticket, id, named));
                effects.push(Effect::Publish(Event::Typed { bytes: bytes.len() }));
                effects.push(Effect::Write(bytes));
                return;
            }
            Command::Resize(size) => effects.extend([Effect::Resize(size), Effect::Publish(Event::Resized(size))]),
            Command::Signal(number, target) => effects.push(Effect::Signal(number, target)),
            Command::Mark(label) => {
                effects.extend([Effect::Mark(label.clone()), Effect::Publish(Event::Marked(label))])
            }
        }
        self.done(ticket, id, kind, Done { delivered: true, duplicate: false, named: None }, now, effects);
    }

    fn admit(&self, id: Option<&RequestId>, command: &Command) -> Result<(), Refusal> {
        if self.drained || matches!(self.status, Status::Exited(_)) {
            return Err(Refusal::Ended);
        }
        if id.is_some() {
            self.ledger.room().map_err(|_| Refusal::LedgerFull)?;
        }
        match command {
            Command::Type(Err(refusal), _) => Err(*refusal),
            Command::Type(Ok(bytes), _) if self.queued + bytes.len() > LONGEST_QUEUE => {
                Err(Refusal::QueueFull { queued: self.queued })
            }
            Command::Resize(_) if self.attached => Err(Refusal::Attached),
            Command::Signal(..) if self.hosted => Err(Refusal::NoProcess),
            _ => Ok(()),
        }
    }

    fn left(&mut self, left: usize, now: Instant) {
        self.queued = left;
        self.receipts.left(left, now);
    }

    fn offered(&mut self, left: usize, now: Instant, effects: &mut Vec<Effect>) {
        self.left(left, now);
        if let Some((ticket, id, named)) = self.offered.take() {
            let done = Done { delivered: left == 0, duplicate: false, named: Some(named) };
            self.done(ticket, id, Kind::Type, done, now, effects);
        }
    }

    fn done(
        &mut self,
        ticket: Ticket,
        id: Option<RequestId>,
        kind: Kind,
        done: Done,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(id) = id {
            let named: Option<String> = done.named.as_ref().map(|named| named.chars().take(LONGEST_NAME).collect());
            self.receipts.enter(id.clone(), done.delivered, now);
            self.ledger.enter(id, (kind, Done { named, ..done.clone() }), now);
        }
        effects.push(Effect::Answer(ticket, Ok(done)));
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
mod tests;
