//! What the server says unasked.

use serde_json::Value;

use super::item::{Change, Item};
use super::read::Read;
use super::reply::Started;

/// Something that the server says unasked.
#[derive(Debug, Clone, PartialEq)]
pub enum Notification {
    /// It works on a turn.
    TurnStarted {
        /// In which conversation.
        thread: String,
        /// Which.
        turn: Turn,
    },
    /// It is done with a turn.
    TurnCompleted {
        /// In which conversation.
        thread: String,
        /// Which, and how it ended.
        turn: Turn,
    },
    /// The plan of a turn.
    PlanUpdated {
        /// In which conversation.
        thread: String,
        /// Why.
        explanation: Option<String>,
        /// Step by step.
        steps: Vec<PlanStep>,
    },
    /// An item begins, or is complete.
    Item {
        /// In which conversation.
        thread: String,
        /// In which turn.
        turn: String,
        /// All of it.
        item: Item,
        /// Whether it is complete.
        done: bool,
    },
    /// An item has more text: a message, a plan, or what a command has written.
    Delta {
        /// In which conversation.
        thread: String,
        /// In which turn.
        turn: String,
        /// Which item.
        item: String,
        /// What was added.
        text: String,
    },
    /// A thought has more text, or a new part of it begins.
    Thought {
        /// In which conversation.
        thread: String,
        /// In which turn.
        turn: String,
        /// Which item.
        item: String,
        /// What was added; `None` is a new part.
        text: Option<String>,
        /// Whether it is of the thought in full, and not in short.
        full: bool,
    },
    /// A change to files is another than it was.
    PatchUpdated {
        /// In which conversation.
        thread: String,
        /// In which turn.
        turn: String,
        /// Which item.
        item: String,
        /// What it is now.
        changes: Vec<Change>,
    },
    /// What a conversation has cost.
    Usage {
        /// Which conversation.
        thread: String,
        /// In all.
        total: Tokens,
        /// For the last answer.
        last: Tokens,
        /// How many fit.
        window: Option<u64>,
    },
    /// How a conversation is.
    Status {
        /// Which.
        thread: String,
        /// How.
        status: ThreadStatus,
    },
    /// What holds in a conversation has changed.
    Settings {
        /// Which.
        thread: String,
        /// What holds; its thread is empty.
        settings: Started,
    },
    /// A request of the server's needs no answer any more, or has had one.
    Resolved {
        /// Its id.
        id: Value,
    },
    /// A turn has met an error.
    Error {
        /// In which conversation.
        thread: String,
        /// What it says.
        error: TurnError,
        /// Whether it tries again by itself.
        will_retry: bool,
    },
    /// Something that a person should know.
    Warning {
        /// In words.
        text: String,
    },
    /// Another model answers than the one that was asked.
    Rerouted {
        /// The one that was asked.
        from: String,
        /// The one that answers.
        to: String,
    },
    /// What is not known here, or of no use.
    Other {
        /// What about.
        method: String,
        /// What.
        params: Value,
    },
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// Its id.
    pub id: String,
    /// How it fares.
    pub status: TurnStatus,
    /// Why it failed.
    pub error: Option<TurnError>,
}

/// How a turn fares.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TurnStatus {
    /// It runs.
    #[default]
    InProgress,
    /// It ended as it should.
    Completed,
    /// It was interrupted.
    Interrupted,
    /// It has failed.
    Failed,
    /// Something else.
    Other(String),
}

impl Turn {
    /// Reads it. `None`: it has no id.
    pub fn read(turn: &Value) -> Option<Self> {
        let status = match turn.text("status") {
            None => TurnStatus::InProgress,
            Some(status) => match status.as_str() {
                "inProgress" => TurnStatus::InProgress,
                "completed" => TurnStatus::Completed,
                "interrupted" => TurnStatus::Interrupted,
                "failed" => TurnStatus::Failed,
                _ => TurnStatus::Other(status),
            },
        };
        Some(Self { id: turn.text("id")?, status, error: turn.some("error").map(TurnError::read) })
    }
}

/// What went wrong in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnError {
    /// In words.
    pub message: String,
    /// In more words.
    pub details: Option<String>,
    /// In one word, as `usageLimitExceeded`.
    pub kind: Option<String>,
    /// What the model's provider answered.
    pub http_status: Option<u64>,
}

impl TurnError {
    fn read(error: &Value) -> Self {
        let info = &error["codexErrorInfo"];
        let variant = info.as_object().and_then(|info| info.iter().next());
        Self {
            message: error.text("message").map(|text| said(&text)).unwrap_or_default(),
            details: error.text("additionalDetails"),
            kind: info.as_str().map(str::to_owned).or_else(|| variant.map(|(name, _)| name.clone())),
            http_status: variant.and_then(|(_, about)| about.number("httpStatusCode")),
        }
    }

    /// Whether it is about who is logged in.
    pub fn is_about_login(&self) -> bool {
        self.kind.as_deref() == Some("unauthorized") || self.http_status == Some(401)
    }
}

/// The words in an error that a provider has sent as JSON.
fn said(text: &str) -> String {
    let json = serde_json::from_str::<Value>(text).unwrap_or_default();
    json["error"].text("message").unwrap_or_else(|| text.to_owned())
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// What is to do.
    pub step: String,
    /// How it fares.
    pub status: StepStatus,
}

/// How a step of a plan fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// It has not begun.
    Pending,
    /// It has.
    InProgress,
    /// It is done.
    Completed,
}

/// Tokens, by what they were for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// All.
    pub total: u64,
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
}

impl Tokens {
    fn read(tokens: &Value) -> Self {
        let number = |field: &str| tokens.number(field).unwrap_or_default();
        Self { total: number("totalTokens"), input: number("inputTokens"), output: number("outputTokens") }
    }
}

/// How a conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThreadStatus {
    /// It works, or waits for an answer.
    Active,
    /// It does nothing.
    Idle,
    /// It does nothing, because of an error.
    SystemError,
    /// It does not say, or in a word that is not known.
    #[default]
    Unknown,
}

impl ThreadStatus {
    pub(super) fn read(status: &Value) -> Self {
        match status.text("type").as_deref() {
            Some("active") => Self::Active,
            Some("idle") => Self::Idle,
            Some("systemError") => Self::SystemError,
            _ => Self::Unknown,
        }
    }
}

impl Notification {
    /// Reads one. Never fails: what it does not know comes back as it came.
    pub fn read(method: &str, params: Value) -> Self {
        Self::known(method, &params).unwrap_or_else(|| Self::Other { method: method.to_owned(), params })
    }

    fn known(method: &str, params: &Value) -> Option<Self> {
        let text = |field: &str| params.text(field).unwrap_or_default();
        let (thread, turn) = (text("threadId"), text("turnId"));
        Some(match method {
            "turn/started" => Self::TurnStarted { thread, turn: Turn::read(&params["turn"])? },
            "turn/completed" => Self::TurnCompleted { thread, turn: Turn::read(&params["turn"])? },
            "turn/plan/updated" => {
                Self::PlanUpdated { thread, explanation: params.text("explanation"), steps: steps(params) }
            }
            "item/started" | "item/completed" => {
                Self::Item { thread, turn, item: Item::read(&params["item"])?, done: method == "item/completed" }
            }
            "item/agentMessage/delta" | "item/plan/delta" | "item/commandExecution/outputDelta" => {
                Self::Delta { thread, turn, item: params.text("itemId")?, text: text("delta") }
            }
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" | "item/reasoning/summaryPartAdded" => {
                let more = if method.ends_with("PartAdded") { None } else { Some(text("delta")) };
                let full = method == "item/reasoning/textDelta";
                Self::Thought { thread, turn, item: params.text("itemId")?, text: more, full }
            }
            "item/fileChange/patchUpdated" => {
                Self::PatchUpdated { thread, turn, item: params.text("itemId")?, changes: Change::list(params) }
            }
            "thread/tokenUsage/updated" => {
                let usage = &params["tokenUsage"];
                let (total, last) = (Tokens::read(&usage["total"]), Tokens::read(&usage["last"]));
                Self::Usage { thread, total, last, window: usage.number("modelContextWindow") }
            }
            "thread/status/changed" => Self::Status { thread, status: ThreadStatus::read(&params["status"]) },
            "thread/settings/updated" => {
                Self::Settings { thread, settings: Started::settings(&params["threadSettings"], "sandboxPolicy") }
            }
            "serverRequest/resolved" => Self::Resolved { id: params.some("requestId")?.clone() },
            "error" => {
                Self::Error { thread, error: TurnError::read(&params["error"]), will_retry: params.is("willRetry") }
            }
            "warning" | "guardianWarning" => Self::Warning { text: params.text("message")? },
            "configWarning" | "deprecationNotice" => Self::Warning { text: joined(params)? },
            "mcpServer/startupStatus/updated" if params.text("status").as_deref() == Some("failed") => {
                let why = params.text("error").map(|error| format!(": {error}")).unwrap_or_default();
                Self::Warning { text: format!("the MCP server {} did not start{why}", params.text("name")?) }
            }
            "model/rerouted" => Self::Rerouted { from: text("fromModel"), to: text("toModel") },
            _ => return None,
        })
    }
}

fn steps(params: &Value) -> Vec<PlanStep> {
    let read = |step: &Value| {
        let status = match step.text("status").as_deref() {
            Some("completed") => StepStatus::Completed,
            Some("inProgress" | "in_progress") => StepStatus::InProgress,
            _ => StepStatus::Pending,
        };
        Some(PlanStep { step: step.text("step")?, status })
    };
    params.list("plan").iter().filter_map(read).collect()
}

fn joined(params: &Value) -> Option<String> {
    let summary = params.text("summary")?;
    Some(match params.text("details").filter(|details| !details.is_empty()) {
        Some(details) => format!("{summary} {details}"),
        None => summary,
    })
}
