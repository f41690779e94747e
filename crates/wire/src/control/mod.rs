//! The HTTP control plane's bodies: what `/control/*` takes and gives, field for field.
//! Described for its users in `docs/agent-cli-access.md`. Times are ISO 8601 in UTC with milliseconds.

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

/// `GET /control/health`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthBody {
    /// Always true: an engine that cannot answer does not answer.
    pub ok: bool,
    /// The version of wh.
    pub version: String,
    /// Whole seconds since the engine started.
    pub uptime: u64,
}

/// What a command that was carried out answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SentBody {
    /// Always true.
    pub ok: bool,
    /// What was injected, as it was named in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injected: Option<String>,
    /// Whether the terminal has taken every byte. False: they wait, in order, for a program that does not read.
    pub delivered: bool,
    /// The caller's id, if it gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The id was seen before: nothing was sent, and `delivered` is how it stands now.
    pub duplicate: bool,
}

/// `POST /control/wait`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"condition": "frames > 0", "timeout": 1000}))]
pub struct WaitRequest {
    /// What to wait for: `screen_contains "text"`, `screen_stable 300`, `exited`, `idle`, `question` and others, joined by
    /// `and`, `or`, `not`.
    pub condition: String,
    /// Milliseconds; 5000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 3_600_000))]
    pub timeout: Option<u64>,
}

/// How a wait ended: matched (200), timed out (408), or the program ended first (409).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitBody {
    /// The same as `matched`.
    pub ok: bool,
    /// Whether the condition held.
    pub matched: bool,
    /// Milliseconds waited.
    pub elapsed: u64,
    /// `timeout` or `exited` when not matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["timeout", "exited"]))]
    pub error: Option<String>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The screen's last lines that are not blank, when not matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screen: Option<Vec<String>>,
}

/// `GET /control/messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessagesBody {
    /// Those that passed the filters, the newest `limit` of them, oldest first.
    pub messages: Vec<Message>,
    /// All messages of the conversation.
    pub total: usize,
    /// Those returned.
    pub filtered: usize,
}

/// Every error answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// What was wrong, in a few stable words.
    pub error: String,
    /// A stable code for programs: `request_id_reused`, for example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The value that was wrong and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Where in a condition the error is, counted in characters from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
}
