//! Notifications of the Codex server: turns, items, plans, usage and errors.

use serde_json::Value;

use super::item::{CodexFileChange, ThreadItem};
use super::read::JsonFields;
use super::reply::StartedThread;

/// Notification of the Codex server.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerNotification {
    /// A turn started.
    TurnStarted {
        /// Id of the conversation.
        thread: String,
        /// The started turn.
        turn: CodexTurn,
    },
    /// A turn ended.
    TurnCompleted {
        /// Id of the conversation.
        thread: String,
        /// The ended turn with its outcome.
        turn: CodexTurn,
    },
    /// The plan of a turn changed.
    PlanUpdated {
        /// Id of the conversation.
        thread: String,
        /// Explanation of the change.
        explanation: Option<String>,
        /// All steps of the plan.
        steps: Vec<PlanStep>,
    },
    /// An item was started or completed.
    Item {
        /// Id of the conversation.
        thread: String,
        /// Id of the turn.
        turn: String,
        /// The complete item.
        item: ThreadItem,
        /// True if the item is complete.
        done: bool,
    },
    /// Text was appended to a message, a plan or a command's output.
    Delta {
        /// Id of the conversation.
        thread: String,
        /// Id of the turn.
        turn: String,
        /// Id of the item.
        item: String,
        /// Text to append.
        text: String,
    },
    /// Reasoning text was appended, or a new part of the reasoning started.
    Thought {
        /// Id of the conversation.
        thread: String,
        /// Id of the turn.
        turn: String,
        /// Id of the item.
        item: String,
        /// Appended text; `None` at the start of a new part.
        text: Option<String>,
        /// True if the text belongs to the complete reasoning, false if it belongs to the summary.
        full: bool,
    },
    /// A file change was updated. The new changes replace the previous ones.
    PatchUpdated {
        /// Id of the conversation.
        thread: String,
        /// Id of the turn.
        turn: String,
        /// Id of the item.
        item: String,
        /// The new changes.
        changes: Vec<CodexFileChange>,
    },
    /// Token usage of a conversation.
    Usage {
        /// Id of the conversation.
        thread: String,
        /// Tokens used in total.
        total: TokenCounts,
        /// Tokens used for the last answer.
        last: TokenCounts,
        /// Size of the context window in tokens.
        window: Option<u64>,
    },
    /// The status of a conversation changed.
    Status {
        /// Id of the conversation.
        thread: String,
        /// New status of the conversation.
        status: ThreadStatus,
    },
    /// The settings of a conversation changed.
    Settings {
        /// Id of the conversation.
        thread: String,
        /// New settings. The field `thread` of the settings is empty.
        settings: StartedThread,
    },
    /// A request of the server was answered or withdrawn.
    Resolved {
        /// Id of the request.
        id: Value,
    },
    /// An error occurred in a turn.
    Error {
        /// Id of the conversation.
        thread: String,
        /// Details of the error.
        error: TurnError,
        /// True if the server retries automatically.
        will_retry: bool,
    },
    /// Warning for the user.
    Warning {
        /// Text of the warning.
        text: String,
    },
    /// The server replaced the requested model by another one.
    Rerouted {
        /// Model that was requested.
        from: String,
        /// Model that answers instead.
        to: String,
    },
    /// Notification of an unknown or unused kind.
    Other {
        /// Method of the notification.
        method: String,
        /// Parameters as received.
        params: Value,
    },
}

/// Turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodexTurn {
    /// Id of the turn.
    pub id: String,
    /// Progress of the turn.
    pub status: TurnStatus,
    /// Error of a failed turn.
    pub error: Option<TurnError>,
}

/// Progress of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TurnStatus {
    /// The turn is running.
    #[default]
    InProgress,
    /// The turn ended normally.
    Completed,
    /// The turn was interrupted.
    Interrupted,
    /// The turn failed.
    Failed,
    /// Unknown status as received.
    Other(String),
}

impl CodexTurn {
    /// Decodes a turn; `None` if it has no id.
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

/// Error in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnError {
    /// Message for display.
    pub message: String,
    /// Additional details for display.
    pub details: Option<String>,
    /// Error code, for example `usageLimitExceeded`.
    pub kind: Option<String>,
    /// HTTP status of the model provider's response.
    pub http_status: Option<u64>,
}

impl TurnError {
    fn read(error: &Value) -> Self {
        let info = &error["codexErrorInfo"];
        let variant = info.as_object().and_then(|info| info.iter().next());
        Self {
            message: error.text("message").map(|text| provider_message(&text)).unwrap_or_default(),
            details: error.text("additionalDetails"),
            kind: info.as_str().map(str::to_owned).or_else(|| variant.map(|(name, _)| name.clone())),
            http_status: variant.and_then(|(_, about)| about.number("httpStatusCode")),
        }
    }

    /// Returns true if the error is caused by a missing or invalid login.
    pub fn is_about_login(&self) -> bool {
        self.kind.as_deref() == Some("unauthorized") || self.http_status == Some(401)
    }
}

/// Extracts the message from a provider error in JSON form. Other text is returned unchanged.
fn provider_message(text: &str) -> String {
    let json = serde_json::from_str::<Value>(text).unwrap_or_default();
    json["error"].text("message").unwrap_or_else(|| text.to_owned())
}

/// Step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// Description of the step.
    pub step: String,
    /// Progress of the step.
    pub status: StepStatus,
}

/// Progress of a plan step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// Not started yet.
    Pending,
    /// Currently in progress.
    InProgress,
    /// Completed with success.
    Completed,
}

/// Token counts: total, input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenCounts {
    /// Sum of all tokens.
    pub total: u64,
    /// Input tokens in total.
    pub input: u64,
    /// Output tokens in total.
    pub output: u64,
}

impl TokenCounts {
    fn read(tokens: &Value) -> Self {
        let number = |field: &str| tokens.number(field).unwrap_or_default();
        Self { total: number("totalTokens"), input: number("inputTokens"), output: number("outputTokens") }
    }
}

/// Status of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThreadStatus {
    /// A turn is running or waits for an answer.
    Active,
    /// No turn is running.
    Idle,
    /// An error occurred and no turn is running.
    SystemError,
    /// The status is missing or unknown.
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

impl ServerNotification {
    /// Decodes a notification. Never fails: unknown notifications become [`ServerNotification::Other`].
    pub fn read(method: &str, params: Value) -> Self {
        Self::known(method, &params).unwrap_or_else(|| Self::Other { method: method.to_owned(), params })
    }

    fn known(method: &str, params: &Value) -> Option<Self> {
        let text = |field: &str| params.text(field).unwrap_or_default();
        let (thread, turn) = (text("threadId"), text("turnId"));
        Some(match method {
            "turn/started" => Self::TurnStarted { thread, turn: CodexTurn::read(&params["turn"])? },
            "turn/completed" => Self::TurnCompleted { thread, turn: CodexTurn::read(&params["turn"])? },
            "turn/plan/updated" => {
                Self::PlanUpdated { thread, explanation: params.text("explanation"), steps: steps(params) }
            }
            "item/started" | "item/completed" => {
                Self::Item { thread, turn, item: ThreadItem::read(&params["item"])?, done: method == "item/completed" }
            }
            "item/agentMessage/delta" | "item/plan/delta" | "item/commandExecution/outputDelta" => {
                Self::Delta { thread, turn, item: params.text("itemId")?, text: text("delta") }
            }
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" | "item/reasoning/summaryPartAdded" => {
                let more = if method.ends_with("PartAdded") { None } else { Some(text("delta")) };
                let full = method == "item/reasoning/textDelta";
                Self::Thought { thread, turn, item: params.text("itemId")?, text: more, full }
            }
            "item/fileChange/patchUpdated" => Self::PatchUpdated {
                thread,
                turn,
                item: params.text("itemId")?,
                changes: CodexFileChange::list(params),
            },
            "thread/tokenUsage/updated" => {
                let usage = &params["tokenUsage"];
                let (total, last) = (TokenCounts::read(&usage["total"]), TokenCounts::read(&usage["last"]));
                Self::Usage { thread, total, last, window: usage.number("modelContextWindow") }
            }
            "thread/status/changed" => Self::Status { thread, status: ThreadStatus::read(&params["status"]) },
            "thread/settings/updated" => {
                Self::Settings { thread, settings: StartedThread::settings(&params["threadSettings"], "sandboxPolicy") }
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
