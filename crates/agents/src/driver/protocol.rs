//! The protocol of an agent, as the driver uses it: messages in, steps out. No IO, no async and no clock: what takes time is
//! the driver's.

use serde_json::Value;
use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Capabilities, Deed, Outcome, Report};
use wh_core::space::item::Level;
use wh_core::space::question::{Answer, Question};
use wh_pipe::link::{Codec, Events, Link};

use super::turn::NOT_READING;
use crate::port::{BoxFuture, Reports, StartError, Unheard};

/// A message to the agent.
pub type FrameOf<P> = <<P as Protocol>::Codec as Codec>::Frame;

/// A message of the agent.
pub type MessageOf<P> = <<P as Protocol>::Codec as Codec>::Message;

/// One agent's protocol. It lives as long as the harness: a new process of the agent continues with it.
pub trait Protocol: Sized + Send + 'static {
    /// Lines of the protocol.
    type Codec: Codec<Reply = Result<Value, Self::Refusal>>;
    /// Content of a refused request.
    type Refusal: Send + 'static;
    /// A question of the agent, as far as it is needed to answer it.
    type Ask: Send;
    /// A request of the protocol's own, to know its reply by.
    type Tag: Send;

    /// The agent's name for people.
    fn title(&self) -> &str;

    /// True if the agent answers an interrupt. Otherwise one that is written has arrived.
    fn acknowledges_interrupts(&self) -> bool;

    /// The agent's abilities and choices now.
    fn capabilities(&self) -> Capabilities;

    /// A refused or unanswered request in words, with what to do about it.
    fn words(&self, failure: &Failure<Self::Refusal>) -> String;

    /// A text without the name that the agent has for the conversation.
    fn discreet(&self, text: &str) -> String;

    /// Handles a message of the agent.
    fn said(&mut self, message: MessageOf<Self>, now: Now<'_>, steps: &mut Steps<Self>);

    /// Handles a line of the agent's standard error, where the launch has a marker for such lines.
    fn logged(&mut self, _line: &str, _steps: &mut Steps<Self>) {}

    /// Makes the frame of a prompt.
    fn prompt(&mut self, turn: &TurnId, text: &str, steps: &mut Steps<Self>) -> FrameOf<Self>;

    /// The agent was handed a prompt.
    fn delivered(&mut self, _steps: &mut Steps<Self>) {}

    /// Handles the reply to the prompt of a turn, where the prompt is a request.
    fn prompt_replied(
        &mut self,
        _turn: &TurnId,
        _reply: Result<Value, Failure<Self::Refusal>>,
        _now: Now<'_>,
        _steps: &mut Steps<Self>,
    ) {
    }

    /// Makes the frame that interrupts a turn, or with `None` the agent's own work. `None` comes back while the agent could not
    /// tell which turn is meant; the driver asks again when more is known.
    fn interrupt(&mut self, turn: Option<&TurnId>) -> Option<FrameOf<Self>>;

    /// Handles the reply to an interrupt, where one tells more than that it was taken.
    fn interrupted(&mut self, _reply: &Value, _now: Now<'_>, _steps: &mut Steps<Self>) {}

    /// The work has ended: its items are complete.
    fn close(&mut self, steps: &mut Steps<Self>);

    /// Says why an answer cannot be sent, if it cannot.
    fn objection(&self, _ask: &Self::Ask, _part: usize, _answer: &Answer) -> Option<String> {
        None
    }

    /// Makes the frame that answers a question, with one answer for each of its parts.
    fn answer(&mut self, ask: Self::Ask, answers: Vec<(Question, Answer)>, steps: &mut Steps<Self>) -> FrameOf<Self>;

    /// Takes the answer to a question of wh's own ([`Connected::doubt`]). False: it is a question of the agent.
    fn decide(&mut self, _ask: &Self::Ask, _answer: &Answer, _steps: &mut Steps<Self>) -> bool {
        false
    }

    /// Makes the frame for a question that nobody will answer. `None`: the agent withdraws it by itself.
    fn abandon(&self, _ask: &Self::Ask) -> Option<FrameOf<Self>> {
        None
    }

    /// Says whether a mode may be chosen.
    fn allows(&self, mode: &str) -> Result<(), StartError>;

    /// Makes the request for another model or mode. `None`: it holds from the next prompt on, without a request.
    fn choose(&mut self, setting: &Setting) -> Option<FrameOf<Self>>;

    /// Takes the outcome of a choice; the error says why it does not hold.
    fn chosen(&mut self, setting: &Setting, outcome: Result<Value, Failure<Self::Refusal>>) -> Result<(), String>;

    /// The mode that it is in, if that skips permissions.
    fn skipping_mode(&self) -> Option<String>;

    /// The mode to enter in place of one that skips permissions and may not. `None`: it has no other.
    fn careful_mode(&self) -> Option<String>;

    /// Makes the request that enters the careful mode. `None`: it holds from the next prompt on, without a request.
    fn enter_careful_mode(&mut self, mode: &str) -> Option<FrameOf<Self>> {
        self.choose(&Setting::Mode(mode.to_owned()))
    }

    /// Carries out a call other than `restart`.
    fn call(&mut self, id: u64, call: Call, now: Now<'_>, steps: &mut Steps<Self>);

    /// Handles the reply to a request of its own.
    fn replied(
        &mut self,
        _tag: Self::Tag,
        _reply: Result<Value, Failure<Self::Refusal>>,
        _now: Now<'_>,
        _steps: &mut Steps<Self>,
    ) {
    }

    /// Time at which [`woke`](Self::woke) is to be called, if nothing else happens.
    fn wakes_at(&self, _now: Now<'_>) -> Option<Instant> {
        None
    }

    /// The time has come.
    fn woke(&mut self, _now: Now<'_>, _steps: &mut Steps<Self>) {}

    /// A process has ended; the next one goes on with the same conversation, where it can. True if it will.
    fn lost(&mut self) -> bool;

    /// The conversation is left: the next process begins a new one.
    fn forget(&mut self);

    /// The conversation cannot be resumed: the next process begins a new one, with the text of this one as context where
    /// that is known. True if it is.
    fn replace_conversation(&mut self) -> bool {
        self.forget();
        false
    }
}

/// The handshake of an agent, up to a conversation that can be used.
pub trait Connect: Protocol {
    /// Starts the agent and begins a conversation, or resumes the one that it was in. A process that cannot be used has
    /// ended when this fails. History of a resumed conversation may be reported meanwhile.
    fn connect(&mut self, reports: &Reports) -> impl Future<Output = Result<Connected<Self>, ConnectError>> + Send;
}

/// A process that can be used.
pub struct Connected<P: Protocol> {
    /// The link to it.
    pub link: Link<P::Codec>,
    /// Its messages.
    pub events: Events<P::Codec>,
    /// Reports that follow the first [`Report::Ready`].
    pub greeting: Vec<Report>,
    /// A question of wh's own about the conversation. Prompts wait for its answer.
    pub doubt: Option<(P::Ask, Question)>,
}

/// Reason why there is no conversation.
#[derive(Debug)]
pub enum ConnectError {
    /// Another try would end the same way.
    Fatal(String),
    /// Only the earlier conversation could not be resumed.
    ConversationLost(String),
    /// Nobody hears reports any more.
    Unheard,
}

impl From<Unheard> for ConnectError {
    fn from(_: Unheard) -> Self {
        Self::Unheard
    }
}

/// A model or a mode to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A model.
    Model(String),
    /// A mode.
    Mode(String),
}

impl Setting {
    /// The choice, as its outcome is reported.
    pub fn deed(&self) -> Deed {
        match self {
            Self::Model(model) => Deed::Model(model.clone()),
            Self::Mode(mode) => Deed::Mode(mode.clone()),
        }
    }
}

/// Reason why a request has no result.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure<R> {
    /// The agent refuses.
    Refused(R),
    /// The agent did not answer in time; it may still have done it.
    Timeout,
    /// The request could not be written in time.
    NotReading,
    /// The agent is gone, in these words.
    Gone(String),
}

impl<R> Failure<R> {
    /// In words; those of a refusal are the protocol's.
    pub fn words(&self, refusal: impl FnOnce(&R) -> String) -> String {
        match self {
            Self::Refused(refused) => refusal(refused),
            Self::Timeout => "it did not answer in time".to_owned(),
            Self::NotReading => NOT_READING.to_owned(),
            Self::Gone(why) => why.clone(),
        }
    }
}

/// The state of the driver while a message is handled.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    /// The time.
    pub at: Instant,
    /// The prompt under way.
    pub turn: Option<&'a TurnId>,
    /// A prompt or the agent's own work is under way.
    pub working: bool,
    /// A prompt would have to wait.
    pub busy: bool,
    /// A prompt is under way or waits.
    pub prompted: bool,
    /// The work is to stop.
    pub interrupted: bool,
    /// A question is open.
    pub asked: bool,
}

/// A step of the driver.
pub enum Step<P: Protocol> {
    /// Report this.
    Report(Report),
    /// Tell a person, once only: agents repeat some warnings with every turn.
    Once(Level, String),
    /// The agent has taken the prompt of this turn.
    Submitted(TurnId),
    /// The agent works: on the prompt under way.
    Begun,
    /// The agent works by itself.
    OwnWork,
    /// The work has ended.
    Ended(Outcome),
    /// The agent is busy with something that is not a turn, or no longer.
    Occupied(bool),
    /// Ask a person.
    Ask {
        /// The agent's name for the question.
        id: String,
        /// The part of it that its answer needs.
        ask: P::Ask,
        /// Its parts, whose answers are wanted together.
        questions: Vec<Question>,
    },
    /// The agent does not want to know any more.
    Withdraw(String),
    /// The abilities or choices have changed.
    Ready,
    /// End the process and start another one. Prompts that wait are for that one.
    Reconnect,
    /// Write a frame that has no reply.
    Send(FrameOf<P>),
    /// Write a request.
    Request(FrameOf<P>, P::Tag),
    /// A call was carried out, or not.
    Called(u64, Result<Value, String>),
    /// A call that takes its time, beside the conversation.
    Aside(u64, BoxFuture<'static, Result<Value, String>>),
}

/// Steps of the driver, in their order.
pub struct Steps<P: Protocol>(pub Vec<Step<P>>);

impl<P: Protocol> Default for Steps<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P: Protocol> Steps<P> {
    /// Adds a step.
    pub fn push(&mut self, step: Step<P>) {
        self.0.push(step);
    }

    /// Reports something.
    pub fn report(&mut self, report: Report) {
        self.push(Step::Report(report));
    }

    /// Reports several things.
    pub fn reports(&mut self, reports: Vec<Report>) {
        self.0.extend(reports.into_iter().map(Step::Report));
    }

    /// Tells a person something.
    pub fn notice(&mut self, level: Level, text: impl Into<String>) {
        self.report(Report::Notice(level, text.into()));
    }

    /// Warns a person.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.notice(Level::Warning, text);
    }

    /// The agent works on the prompt under way.
    pub fn begun(&mut self) {
        self.push(Step::Begun);
    }

    /// The work has ended.
    pub fn ended(&mut self, outcome: Outcome) {
        self.push(Step::Ended(outcome));
    }

    /// A call was carried out, or not.
    pub fn called(&mut self, id: u64, outcome: Result<Value, String>) {
        self.push(Step::Called(id, outcome));
    }
}
