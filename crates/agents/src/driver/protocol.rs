//! Interface between the driver and an agent's protocol: messages in, steps out. Implementations have no IO, no async
//! code and no clock.

use serde_json::Value;
use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{AckedOrder, Call, Capabilities, Outcome, Report};
use wh_core::space::item::Level;
use wh_core::space::question::{Answer, Question};
use wh_pipe::link::{Codec, Link, LinkEvents};

use super::turn::NOT_READING;
use crate::interface::{BoxFuture, Reports, ReportsClosed, StartError};

/// Frame sent to the agent.
pub type FrameOf<P> = <<P as Protocol>::Codec as Codec>::Frame;

/// Message received from the agent.
pub type MessageOf<P> = <<P as Protocol>::Codec as Codec>::Message;

/// Protocol of one agent. Lives as long as the harness and continues with the next process after a restart.
pub trait Protocol: Sized + Send + 'static {
    /// Line codec of the protocol.
    type Codec: Codec<Reply = Result<Value, Self::Refusal>>;
    /// Error content of a refused request.
    type Refusal: Send + 'static;
    /// Data needed to answer a question of the agent.
    type Ask: Send;
    /// Identifies the reply to a protocol-specific request.
    type Tag: Send;

    /// Display name of the agent.
    fn title(&self) -> &str;

    /// True if the agent acknowledges interrupts. Otherwise a written interrupt counts as acknowledged.
    fn acknowledges_interrupts(&self) -> bool;

    /// Current capabilities and settings of the agent.
    fn capabilities(&self) -> Capabilities;

    /// Formats a failed request, with a hint if one is known.
    fn failure_text(&self, failure: &RequestFailure<Self::Refusal>) -> String;

    /// Removes the agent's id of the conversation from a text.
    fn redact_ids(&self, text: &str) -> String;

    /// Handles a message from the agent.
    fn on_message(&mut self, message: MessageOf<Self>, now: Now<'_>, steps: &mut Steps<Self>);

    /// Handles a line of standard error that contains the launch's marker.
    fn on_stderr_line(&mut self, _line: &str, _steps: &mut Steps<Self>) {}

    /// Builds the frame of a prompt.
    fn prompt(&mut self, turn: &TurnId, text: &str, steps: &mut Steps<Self>) -> FrameOf<Self>;

    /// Called after a prompt was delivered.
    fn on_prompt_delivered(&mut self, _steps: &mut Steps<Self>) {}

    /// Handles the reply to a prompt, if prompts are requests.
    fn on_prompt_reply(
        &mut self,
        _turn: &TurnId,
        _reply: Result<Value, RequestFailure<Self::Refusal>>,
        _now: Now<'_>,
        _steps: &mut Steps<Self>,
    ) {
    }

    /// Builds the frame that interrupts a turn; `turn` is `None` for the agent's own work. Returns `None` while the
    /// agent could not identify the turn; the driver tries again later.
    fn interrupt(&mut self, turn: Option<&TurnId>) -> Option<FrameOf<Self>>;

    /// Handles the reply to an interrupt, if it contains more than an acknowledgement.
    fn on_interrupt_reply(&mut self, _reply: &Value, _now: Now<'_>, _steps: &mut Steps<Self>) {}

    /// Completes all items at the end of the work.
    fn finish_items(&mut self, steps: &mut Steps<Self>);

    /// Returns the reason if an answer cannot be sent.
    fn objection(&self, _ask: &Self::Ask, _part: usize, _answer: &Answer) -> Option<String> {
        None
    }

    /// Builds the frame that answers a question, with one answer for each of its parts.
    fn answer(&mut self, ask: Self::Ask, answers: Vec<(Question, Answer)>, steps: &mut Steps<Self>) -> FrameOf<Self>;

    /// Handles the answer to wh's own question ([`Connected::own_question`]). False if the agent asked the question.
    fn answer_own_question(&mut self, _ask: &Self::Ask, _answer: &Answer, _steps: &mut Steps<Self>) -> bool {
        false
    }

    /// Builds the frame for a question that will not be answered. `None` if the agent withdraws it itself.
    fn dismissal_frame(&self, _ask: &Self::Ask) -> Option<FrameOf<Self>> {
        None
    }

    /// Checks that a mode may be entered.
    fn check_mode(&self, mode: &str) -> Result<(), StartError>;

    /// Builds the request for a model or mode change. `None` if it applies from the next prompt on without a request.
    fn setting_request(&mut self, setting: &Setting) -> Option<FrameOf<Self>>;

    /// Handles the outcome of a model or mode change. Returns the reason if it does not apply.
    fn on_setting_reply(
        &mut self,
        setting: &Setting,
        outcome: Result<Value, RequestFailure<Self::Refusal>>,
    ) -> Result<(), String>;

    /// Current mode, if it skips permissions.
    fn skipping_mode(&self) -> Option<String>;

    /// Mode that replaces a mode that skips permissions when this is not allowed. `None` if there is no such mode.
    fn careful_mode(&self) -> Option<String>;

    /// Builds the request that enters the careful mode. `None` if it applies from the next prompt on without a request.
    fn enter_careful_mode(&mut self, mode: &str) -> Option<FrameOf<Self>> {
        self.setting_request(&Setting::Mode(mode.to_owned()))
    }

    /// Executes a call other than `restart`.
    fn run_call(&mut self, id: u64, call: Call, now: Now<'_>, steps: &mut Steps<Self>);

    /// Handles the reply to a protocol-specific request.
    fn on_reply(
        &mut self,
        _tag: Self::Tag,
        _reply: Result<Value, RequestFailure<Self::Refusal>>,
        _now: Now<'_>,
        _steps: &mut Steps<Self>,
    ) {
    }

    /// Time at which [`on_wake`](Self::on_wake) must be called. Requested again after every event.
    fn wake_at(&self, _now: Now<'_>) -> Option<Instant> {
        None
    }

    /// Called at the time of [`wake_at`](Self::wake_at).
    fn on_wake(&mut self, _now: Now<'_>, _steps: &mut Steps<Self>) {}

    /// Handles the end of a process. True if the next process will resume the conversation.
    fn on_process_end(&mut self) -> bool;

    /// Forgets the conversation, so that the next process starts a new one.
    fn forget_conversation(&mut self);

    /// Forgets a conversation that cannot be resumed. The next process starts a new one with the text of the old one as
    /// context. True if the text is known.
    fn replace_conversation(&mut self) -> bool {
        self.forget_conversation();
        false
    }
}

/// Handshake of an agent, up to a usable conversation.
pub trait Connect: Protocol {
    /// Starts the agent and opens a conversation, or resumes the previous one. On failure the process has already
    /// ended. The history of a resumed conversation may be reported before this returns.
    fn connect(&mut self, reports: &Reports) -> impl Future<Output = Result<Connected<Self>, ConnectError>> + Send;
}

/// Process that is ready for prompts.
pub struct Connected<P: Protocol> {
    /// Link to the process.
    pub link: Link<P::Codec>,
    /// Events of the link.
    pub events: LinkEvents<P::Codec>,
    /// Reports that follow the first [`Report::Ready`].
    pub initial_reports: Vec<Report>,
    /// Question of wh about the conversation. Prompts wait for its answer.
    pub own_question: Option<(P::Ask, Question)>,
}

/// Failure to open a conversation.
#[derive(Debug)]
pub enum ConnectError {
    /// Permanent: retrying would fail the same way.
    Fatal(String),
    /// The earlier conversation could not be resumed. Starting a new one may succeed.
    ConversationLost(String),
    /// The receiver of reports is closed.
    ReportsClosed,
}

impl From<ReportsClosed> for ConnectError {
    fn from(_: ReportsClosed) -> Self {
        Self::ReportsClosed
    }
}

/// Model or mode to select.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// Selects a model by id.
    Model(String),
    /// Selects a mode by id.
    Mode(String),
}

impl Setting {
    /// Identifies the order in its acknowledgement.
    pub fn acked_order(&self) -> AckedOrder {
        match self {
            Self::Model(model) => AckedOrder::Model(model.clone()),
            Self::Mode(mode) => AckedOrder::Mode(mode.clone()),
        }
    }
}

/// Failure of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestFailure<R> {
    /// The agent refused it.
    Refused(R),
    /// The agent did not answer in time. It may still execute the request.
    Timeout,
    /// The request could not be written in time.
    NotReading,
    /// The agent has exited, with this reason.
    Gone(String),
}

impl<R> RequestFailure<R> {
    /// Formats the failure. The caller formats a refusal.
    pub fn describe(&self, refusal: impl FnOnce(&R) -> String) -> String {
        match self {
            Self::Refused(refused) => refusal(refused),
            Self::Timeout => "it did not answer in time".to_owned(),
            Self::NotReading => NOT_READING.to_owned(),
            Self::Gone(why) => why.clone(),
        }
    }
}

/// State of the driver while a message is handled.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    pub at: Instant,
    /// Turn of the prompt in progress.
    pub turn: Option<&'a TurnId>,
    /// A prompt or the agent's own work is in progress.
    pub working: bool,
    /// A new prompt would have to wait.
    pub busy: bool,
    /// A prompt is in progress or waits.
    pub prompted: bool,
    /// An interrupt is pending.
    pub interrupted: bool,
    /// A question is open.
    pub asked: bool,
}

/// Instruction of a protocol to the driver.
pub enum Step<P: Protocol> {
    /// Sends a report.
    Report(Report),
    /// Shows a notice, once per text: some agents repeat warnings in every turn.
    NoticeOnce(Level, String),
    /// The agent has accepted the prompt of this turn.
    Submitted(TurnId),
    /// The agent works on the current prompt.
    Begun,
    /// The agent has started work on its own.
    OwnWorkBegun,
    /// The work has ended.
    Ended(Outcome),
    /// The agent is busy with an operation other than a turn, or no longer.
    Occupied(bool),
    /// Asks the user.
    Ask {
        /// The agent's id of the question.
        id: String,
        /// Data needed to answer it.
        ask: P::Ask,
        /// Parts of the question. Their answers are sent together.
        questions: Vec<Question>,
    },
    /// The agent withdraws the question with this id.
    Withdraw(String),
    /// Capabilities or settings have changed.
    Ready,
    /// Ends the process and starts another. Waiting prompts go to the new process.
    Reconnect,
    /// Writes a frame without a reply.
    Send(FrameOf<P>),
    /// Writes a request.
    Request(FrameOf<P>, P::Tag),
    /// Completes a call.
    Called(u64, Result<Value, String>),
    /// Runs a call in the background.
    RunInBackground(u64, BoxFuture<'static, Result<Value, String>>),
}

/// Steps in order.
pub struct Steps<P: Protocol>(pub Vec<Step<P>>);

impl<P: Protocol> Default for Steps<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P: Protocol> Steps<P> {
    /// Appends a step.
    pub fn push(&mut self, step: Step<P>) {
        self.0.push(step);
    }

    /// Appends a report.
    pub fn report(&mut self, report: Report) {
        self.push(Step::Report(report));
    }

    /// Appends several reports.
    pub fn reports(&mut self, reports: Vec<Report>) {
        self.0.extend(reports.into_iter().map(Step::Report));
    }

    /// Appends a notice.
    pub fn notice(&mut self, level: Level, text: impl Into<String>) {
        self.report(Report::Notice(level, text.into()));
    }

    /// Appends a warning.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.notice(Level::Warning, text);
    }

    /// Appends the step that the agent works on the current prompt.
    pub fn begun(&mut self) {
        self.push(Step::Begun);
    }

    /// Appends the end of the work.
    pub fn ended(&mut self, outcome: Outcome) {
        self.push(Step::Ended(outcome));
    }

    /// Completes a call.
    pub fn called(&mut self, id: u64, outcome: Result<Value, String>) {
        self.push(Step::Called(id, outcome));
    }
}
