//! Interface between the driver and an agent's protocol. A protocol receives messages and returns steps for the driver.
//! Implementations have no IO, no async code and no timers, except in the handshake ([`Handshake`]).

use serde_json::Value;
use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{AckedOrder, Call, Report, ReportedCapabilities, TurnOutcome};
use wh_core::space::item::NoticeLevel;
use wh_core::space::question::{Answer, Question};
use wh_pipe::link::{Codec, Link, LinkEvents};

use super::turn::NOT_READING;
use crate::interface::{AgentStartError, BoxFuture, ReportSender, ReportsClosed};

/// Frame of a protocol, sent to the agent.
pub type ProtocolFrame<P> = <<P as Protocol>::Codec as Codec>::Frame;

/// Message of a protocol, received from the agent.
pub type ProtocolMessage<P> = <<P as Protocol>::Codec as Codec>::Message;

/// Protocol of one agent. Exists as long as the harness, also across restarts of the agent's process.
pub trait Protocol: Sized + Send + 'static {
    /// Line codec of the protocol.
    type Codec: Codec<Reply = Result<Value, Self::ErrorReply>>;
    /// Error reply of the agent to a request.
    type ErrorReply: Send + 'static;
    /// Data required to answer a question of the agent.
    type PendingQuestion: Send;
    /// Purpose of a protocol-specific request, stored to handle the reply.
    type Tag: Send;

    /// Returns the display name of the agent.
    fn title(&self) -> &str;

    /// Returns true if the agent acknowledges interrupts. Otherwise a written interrupt counts as acknowledged.
    fn acknowledges_interrupts(&self) -> bool;

    /// Returns true if the protocol itself reports the delivery of prompts and the outcome of answers, by
    /// [`DriverStep::Delivered`] and [`DriverStep::AnswerSettled`]. Otherwise a written frame is delivered.
    fn confirms_delivery(&self) -> bool {
        false
    }

    /// Returns true if the driver may start a new process after the agent has exited.
    fn can_restart(&self) -> bool {
        true
    }

    /// Returns the current capabilities and settings of the agent.
    fn capabilities(&self) -> ReportedCapabilities;

    /// Formats the failure of a request, with a suggested fix if one is known.
    fn failure_text(&self, failure: &RequestFailure<Self::ErrorReply>) -> String;

    /// Removes the agent's conversation ids from a text.
    fn redact_ids(&self, text: &str) -> String;

    /// Handles a message from the agent.
    fn on_message(&mut self, message: ProtocolMessage<Self>, now: DriverState<'_>, steps: &mut DriverSteps<Self>);

    /// Handles a line of standard error that contains the marker configured in the launch.
    fn on_stderr_line(&mut self, _line: &str, _steps: &mut DriverSteps<Self>) {}

    /// Builds the frame that sends a prompt.
    fn prompt(&mut self, turn: &TurnId, text: &str, steps: &mut DriverSteps<Self>) -> ProtocolFrame<Self>;

    /// Handles the delivery of a prompt.
    fn on_prompt_delivered(&mut self, _steps: &mut DriverSteps<Self>) {}

    /// Handles the reply to a prompt. Called only if the protocol sends prompts as requests.
    fn on_prompt_reply(
        &mut self,
        _turn: &TurnId,
        _reply: Result<Value, RequestFailure<Self::ErrorReply>>,
        _now: DriverState<'_>,
        _steps: &mut DriverSteps<Self>,
    ) {
    }

    /// Builds the frame that interrupts a turn. If `turn` is `None`, the frame interrupts other work of the agent.
    /// Returns `None` while the id that the agent assigned to the turn is unknown; the driver then tries again later.
    fn interrupt(&mut self, turn: Option<&TurnId>) -> Option<ProtocolFrame<Self>>;

    /// Handles the reply to an interrupt. Required only if the reply contains more than an acknowledgement.
    fn on_interrupt_reply(&mut self, _reply: &Value, _now: DriverState<'_>, _steps: &mut DriverSteps<Self>) {}

    /// Completes all items when the current work of the agent ends.
    fn finish_items(&mut self, steps: &mut DriverSteps<Self>);

    /// Returns the reason if an answer cannot be sent to the agent, otherwise `None`.
    fn objection(&self, _ask: &Self::PendingQuestion, _part: usize, _answer: &Answer) -> Option<String> {
        None
    }

    /// Builds the frame that answers a question. `answers` contains one answer per part of the question.
    fn answer(
        &mut self,
        ask: Self::PendingQuestion,
        answers: Vec<(Question, Answer)>,
        steps: &mut DriverSteps<Self>,
    ) -> ProtocolFrame<Self>;

    /// Handles the answer to the question that wh itself asked ([`Connected::own_question`]). Returns false if the
    /// agent asked the question.
    fn answer_own_question(
        &mut self,
        _ask: &Self::PendingQuestion,
        _answer: &Answer,
        _steps: &mut DriverSteps<Self>,
    ) -> bool {
        false
    }

    /// Builds the frame that dismisses a question. Returns `None` if the agent withdraws the question on its own.
    fn dismissal_frame(&self, _ask: &Self::PendingQuestion) -> Option<ProtocolFrame<Self>> {
        None
    }

    /// Returns an error if the mode is unknown or not allowed.
    fn check_mode(&self, mode: &str) -> Result<(), AgentStartError>;

    /// Builds the request for a model or mode change. Returns `None` if the change applies from the next prompt on
    /// without a request.
    fn setting_request(&mut self, setting: &AgentSetting) -> Option<ProtocolFrame<Self>>;

    /// Handles the outcome of a model or mode change. Returns the reason if the change failed.
    fn on_setting_reply(
        &mut self,
        setting: &AgentSetting,
        outcome: Result<Value, RequestFailure<Self::ErrorReply>>,
    ) -> Result<(), String>;

    /// Returns the current mode if it is a mode that skips permissions.
    fn skipping_mode(&self) -> Option<String>;

    /// Returns a mode that does not skip permissions, to replace the current mode. `None` if the agent has no such
    /// mode.
    fn careful_mode(&self) -> Option<String>;

    /// Builds the request that enters the mode from [`careful_mode`](Self::careful_mode). Returns `None` if the mode
    /// applies from the next prompt on without a request.
    fn enter_careful_mode(&mut self, mode: &str) -> Option<ProtocolFrame<Self>> {
        self.setting_request(&AgentSetting::Mode(mode.to_owned()))
    }

    /// Executes a call. The driver handles `restart` calls itself.
    fn run_call(&mut self, id: u64, call: Call, now: DriverState<'_>, steps: &mut DriverSteps<Self>);

    /// Handles the reply to a protocol-specific request.
    fn on_reply(
        &mut self,
        _tag: Self::Tag,
        _reply: Result<Value, RequestFailure<Self::ErrorReply>>,
        _now: DriverState<'_>,
        _steps: &mut DriverSteps<Self>,
    ) {
    }

    /// Returns the time at which [`on_wake`](Self::on_wake) must be called. The driver asks again after every event.
    fn wake_at(&self, _now: DriverState<'_>) -> Option<Instant> {
        None
    }

    /// Called at the time that [`wake_at`](Self::wake_at) returned.
    fn on_wake(&mut self, _now: DriverState<'_>, _steps: &mut DriverSteps<Self>) {}

    /// Handles the end of a process. Returns true if the next process will resume the conversation.
    fn on_process_end(&mut self) -> bool;

    /// Forgets the conversation. The next process starts a new one.
    fn forget_conversation(&mut self);

    /// Forgets a conversation that cannot be resumed. The next process starts a new conversation, with the recorded
    /// text of the old one as context. Returns true if there is recorded text.
    fn replace_conversation(&mut self) -> bool {
        self.forget_conversation();
        false
    }
}

/// Handshake of a protocol: starts the agent's process and opens a conversation.
pub trait Handshake: Protocol {
    /// Starts the agent's process and opens a new conversation or resumes the previous one. May report the history of a
    /// resumed conversation before it returns. On failure, the process has already ended.
    fn connect(&mut self, reports: &ReportSender)
    -> impl Future<Output = Result<Connected<Self>, ConnectError>> + Send;
}

/// Process with an open conversation, ready for prompts.
pub struct Connected<P: Protocol> {
    /// Link for sending to the process.
    pub link: Link<P::Codec>,
    /// Events received from the process.
    pub events: LinkEvents<P::Codec>,
    /// Reports to send after the first [`Report::Ready`].
    pub initial_reports: Vec<Report>,
    /// Question that wh itself asks about the conversation. Prompts wait until the user answers it.
    pub own_question: Option<(P::PendingQuestion, Question)>,
}

/// Failure to open a conversation.
#[derive(Debug)]
pub enum ConnectError {
    /// Permanent failure, which would occur again on a retry.
    Fatal(String),
    /// The previous conversation could not be resumed. Starting a new conversation may succeed.
    ConversationLost(String),
    /// The receiver of reports is closed.
    ReportsClosed,
}

impl From<ReportsClosed> for ConnectError {
    fn from(_: ReportsClosed) -> Self {
        Self::ReportsClosed
    }
}

/// Model or mode that a client selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentSetting {
    Model(String),
    Mode(String),
}

impl AgentSetting {
    /// Returns the order to report in the acknowledgement.
    pub fn acked_order(&self) -> AckedOrder {
        match self {
            Self::Model(model) => AckedOrder::Model(model.clone()),
            Self::Mode(mode) => AckedOrder::Mode(mode.clone()),
        }
    }
}

/// Failure of a request to the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestFailure<R> {
    /// The agent refused the request.
    Refused(R),
    /// The agent did not reply in time. The agent may still execute the request.
    Timeout,
    /// The agent did not read the request in time.
    NotReading,
    /// The agent has exited. Contains the reason.
    Gone(String),
}

impl<R> RequestFailure<R> {
    /// Formats the failure. `refusal` formats the agent's error if the agent refused the request.
    pub fn describe(&self, refusal: impl FnOnce(&R) -> String) -> String {
        match self {
            Self::Refused(refused) => refusal(refused),
            Self::Timeout => "the agent did not answer in time".to_owned(),
            Self::NotReading => NOT_READING.to_owned(),
            Self::Gone(why) => why.clone(),
        }
    }
}

/// State of the driver at the time at which an input is handled.
#[derive(Debug, Clone, Copy)]
pub struct DriverState<'a> {
    pub at: Instant,
    /// Turn of the prompt in progress; `None` between turns and during work that the agent began on its own.
    pub turn: Option<&'a TurnId>,
    /// True if a prompt, or work that the agent began on its own, is in progress.
    pub working: bool,
    /// True if a new prompt would have to wait.
    pub busy: bool,
    /// True if a prompt is in progress or queued.
    pub prompted: bool,
    /// True if an interrupt is pending.
    pub interrupted: bool,
    /// True if a question is open.
    pub asked: bool,
}

/// Instruction from a protocol to the driver.
pub enum DriverStep<P: Protocol> {
    /// Sends a report to the owner of the harness.
    Report(Report),
    /// Shows a notice unless the same text was shown before. Some agents repeat warnings in every turn.
    NoticeOnce(NoticeLevel, String),
    /// The agent has received the prompt of this turn. Only if [`Protocol::confirms_delivery`] is true.
    Delivered(TurnId),
    /// The oldest answer without an outcome has this outcome. Only if [`Protocol::confirms_delivery`] is true.
    AnswerSettled(Result<(), String>),
    /// The agent has accepted the prompt of this turn.
    Submitted(TurnId),
    /// The agent has begun to work on the current prompt.
    Begun,
    /// The agent has begun to work without a prompt.
    OwnWorkBegun,
    /// The current work has ended.
    Ended(TurnOutcome),
    /// True: the agent is busy with an operation other than a turn. False: the operation has ended.
    Occupied(bool),
    /// Asks the user a question of the agent.
    Ask {
        /// Id of the question that the agent assigned.
        id: String,
        /// Data required to answer the question.
        ask: P::PendingQuestion,
        /// Parts of the question. The answers to all parts are sent together.
        questions: Vec<Question>,
    },
    /// The agent withdraws the question with this id.
    Withdraw(String),
    /// Reports changed capabilities or settings.
    Ready,
    /// Replaces the process. The new process receives the prompts that wait.
    Reconnect,
    /// Sends a frame that has no reply.
    Send(ProtocolFrame<P>),
    /// Sends a request. [`Protocol::on_reply`] receives the tag with the reply.
    Request(ProtocolFrame<P>, P::Tag),
    /// Completes the call with this id.
    Called(u64, Result<Value, String>),
    /// Runs the call with this id in the background.
    RunInBackground(u64, BoxFuture<'static, Result<Value, String>>),
}

/// Steps of a protocol for the driver, in order.
pub struct DriverSteps<P: Protocol>(pub Vec<DriverStep<P>>);

impl<P: Protocol> Default for DriverSteps<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P: Protocol> DriverSteps<P> {
    pub fn push(&mut self, step: DriverStep<P>) {
        self.0.push(step);
    }

    pub fn report(&mut self, report: Report) {
        self.push(DriverStep::Report(report));
    }

    pub fn reports(&mut self, reports: Vec<Report>) {
        self.0.extend(reports.into_iter().map(DriverStep::Report));
    }

    /// Appends a notice for the user.
    pub fn notice(&mut self, level: NoticeLevel, text: impl Into<String>) {
        self.report(Report::Notice(level, text.into()));
    }

    /// Appends a warning for the user.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.notice(NoticeLevel::Warning, text);
    }

    /// Appends a step: the agent has begun to work on the current prompt.
    pub fn begun(&mut self) {
        self.push(DriverStep::Begun);
    }

    /// Appends a step: the current work has ended.
    pub fn ended(&mut self, outcome: TurnOutcome) {
        self.push(DriverStep::Ended(outcome));
    }

    /// Appends a step that completes the call with this id.
    pub fn called(&mut self, id: u64, outcome: Result<Value, String>) {
        self.push(DriverStep::Called(id, outcome));
    }
}
