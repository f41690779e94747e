//! Request and response bodies of the HTTP API. Specified in `docs/agent-cli-access.md`. Times are ISO 8601 in UTC with
//! milliseconds.

mod agents;
mod input;
mod screen;
mod sessions;
mod space;
mod state;
mod stream;

pub use agents::{
    AgentBody, AgentCapabilities, AgentConversation, AgentConversationsBody, AgentLoginBody, AgentLoginRequest,
    AgentLogoutBody, AgentMcpBody, AgentMcpServer, AgentModel, AgentModelsBody, AgentRunning, AgentStartRequest,
    AgentStartedBody, AgentStatusBody, AgentsBody,
};
pub use input::{MarkBody, MouseBody, ResizeBody, SendInputBody, SignalBody};
pub use screen::{CellBody, CursorBody, ModesBody, ScreenBody, ScrollbackBody};
pub use sessions::{
    LastScreenBody, NewSessionRequest, RenameRequest, SessionKind, SessionStatus, SessionSummary, SessionsBody,
};
pub use space::{
    AnswerRequest, CommandRequest, DetailBody, DoneBody, InterruptRequest, OptionBody, OutputBody, QuestionBody,
    QuestionsBody, ReachedBody, ReceiptBody,
};
pub use state::{
    Acknowledgement, Acknowledgements, ActiveStream, AgentSession, AgentUsage, ChatTargets, ClientState, ExitBody,
    Message, ParticipantStatus, PauseState, PendingOperation, Reasoning, SessionFacts, SignalBoard, SignalPause,
    StreamFrame, Streams, TerminalFacts, Tool, TurnBody, Ui,
};
pub use stream::{EventBody, FrameBody, StreamBody};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Response body of `GET /control/health`, and of `GET /health` of a daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthBody {
    /// Always true. A server that cannot respond sends nothing.
    pub ok: bool,
    /// Version of wh.
    pub version: String,
    /// Seconds since the HTTP API was started.
    pub uptime: u64,
}

/// Response body of a command to a terminal program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SentBody {
    /// Always true on success.
    pub ok: bool,
    /// Input that was sent, as given in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injected: Option<String>,
    /// True if the terminal accepted every byte. If false, the rest is queued until the program reads its input.
    pub delivered: bool,
    /// Idempotency key from the request, if present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// True if an earlier request had the same request id. Nothing was sent again; `delivered` is the current state of
    /// the earlier input.
    pub duplicate: bool,
}

/// Request body of `POST /control/wait`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"condition": "frames > 0", "timeout": 1000}))]
pub struct WaitRequest {
    /// Condition to wait for: `screen_contains "text"`, `screen_stable 300`, `exited`, `idle`, `question` and others,
    /// joined by `and`, `or`, `not`.
    pub condition: String,
    /// Timeout in milliseconds. Default: 5000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 3_600_000))]
    pub timeout: Option<u64>,
}

/// Result of a wait: matched (200), timed out (408), or the program exited first (409).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitBody {
    /// Same value as `matched`.
    pub ok: bool,
    /// True if the condition was true before the timeout.
    pub matched: bool,
    /// Duration of the wait in milliseconds.
    pub elapsed: u64,
    /// Reason for failure: `timeout` or `exited`. Absent if the condition matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["timeout", "exited"]))]
    pub error: Option<String>,
    /// Description of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Last lines of the screen that are not blank. Absent if the condition matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screen: Option<Vec<String>>,
}

/// Response body of `GET /control/messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessagesBody {
    /// Messages that match the filters, oldest first, at most `limit`.
    pub messages: Vec<Message>,
    /// Number of messages in the conversation.
    pub total: usize,
    /// Number of messages returned.
    pub filtered: usize,
}

/// Body of every error response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// Short title of the error. Does not change between versions.
    pub error: String,
    /// Error code for programs, for example `request_id_reused`. Does not change between versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The rejected value and a suggested fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Position of the error in a condition, in characters from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
}
