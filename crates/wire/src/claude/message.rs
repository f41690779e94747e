//! The frames of the conversation, and those about it that need no answer.

use serde::{Deserialize, Deserializer};

use super::{
    content::{ContentBlock, blocks},
    decode::Unknown,
    json::{Json, lax, or_default},
    result::TurnResult,
    stream::StreamMessage,
    system::System,
};

/// A frame of the conversation, or about it.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The model spoke: one frame for each block.
    Assistant(Box<AssistantMessage>),
    /// What tools answered, notes of the agent's, and with replay what was sent.
    User(Box<UserMessage>),
    /// A message grows.
    Stream(StreamMessage),
    /// A turn is over.
    Result(Box<TurnResult>),
    /// The agent about itself.
    System(System),
    /// A tool is still at work.
    ToolProgress(ToolProgress),
    /// What a few calls did, in a line.
    ToolUseSummary(ToolUseSummary),
    /// How much of the plan is used.
    RateLimit(RateLimit),
    /// The agent signs in.
    AuthStatus(AuthStatus),
    /// The conversation begins anew.
    ConversationReset(ConversationReset),
    /// How far a message of ours has come.
    CommandLifecycle(CommandLifecycle),
    /// What the person might say next.
    PromptSuggestion(PromptSuggestion),
    /// A frame of a kind or of a shape that is not known, whole.
    Unknown(Box<Unknown>),
}

/// What the model said. Frames with the same `message.id` are one message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AssistantMessage {
    /// The message, or a part of it.
    pub message: ApiMessage,
    /// The frame's id.
    pub uuid: Option<String>,
    /// The session.
    pub session_id: Option<String>,
    /// The call of the subagent that speaks; none for the main conversation.
    pub parent_tool_use_id: Option<String>,
    /// Frames to be taken away, because this one stands for them.
    #[serde(default, deserialize_with = "or_default")]
    pub supersedes: Vec<String>,
    /// Cut by an interrupt: it may end within a word.
    #[serde(default, deserialize_with = "or_default")]
    pub aborted: bool,
    /// The agent speaks in the model's place because the request failed: `rate_limit`, `overloaded`, …
    pub error: Option<String>,
    /// When, by the agent's clock.
    pub timestamp: Option<String>,
}

/// A message of the Messages API.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ApiMessage {
    /// Its id; Claude Code has always sent one.
    pub id: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Its blocks.
    #[serde(default, deserialize_with = "blocks")]
    pub content: Vec<ContentBlock>,
    /// Why it ended; none while it grows.
    pub stop_reason: Option<String>,
    /// What it cost so far.
    #[serde(default, deserialize_with = "lax")]
    pub usage: Option<Usage>,
}

/// Tokens of a message or of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Read, and not from the cache.
    #[serde(deserialize_with = "or_default")]
    pub input_tokens: u64,
    /// Written.
    #[serde(deserialize_with = "or_default")]
    pub output_tokens: u64,
    /// Read and put into the cache.
    #[serde(deserialize_with = "or_default")]
    pub cache_creation_input_tokens: u64,
    /// Read from the cache.
    #[serde(deserialize_with = "or_default")]
    pub cache_read_input_tokens: u64,
}

/// A message in the user's role.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct UserMessage {
    /// Its blocks; a mere string is one block of text.
    #[serde(rename = "message", deserialize_with = "content")]
    pub content: Vec<ContentBlock>,
    /// The frame's id; in a replay the one that we gave.
    pub uuid: Option<String>,
    /// The session.
    pub session_id: Option<String>,
    /// The call of the subagent that it is for; none for the main conversation.
    pub parent_tool_use_id: Option<String>,
    /// It is what we sent.
    #[serde(default, rename = "isReplay", deserialize_with = "or_default")]
    pub is_replay: bool,
    /// The agent wrote it, and nobody has to see it.
    #[serde(default, rename = "isSynthetic", deserialize_with = "or_default")]
    pub is_synthetic: bool,
    /// What the tool gave to the agent, by its own shape.
    pub tool_use_result: Option<Json>,
    /// When, by the agent's clock.
    pub timestamp: Option<String>,
}

fn content<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ContentBlock>, D::Error> {
    #[derive(Deserialize)]
    struct Inner {
        #[serde(deserialize_with = "blocks")]
        content: Vec<ContentBlock>,
    }

    Inner::deserialize(deserializer).map(|inner| inner.content)
}

/// A tool is still at work.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ToolProgress {
    /// The call.
    pub tool_use_id: String,
    /// The tool.
    pub tool_name: String,
    /// The call of the subagent that called it.
    pub parent_tool_use_id: Option<String>,
    /// For how long.
    #[serde(default, deserialize_with = "lax")]
    pub elapsed_time_seconds: f64,
    /// The task that it runs as.
    pub task_id: Option<String>,
}

/// What a few calls did, in a line.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ToolUseSummary {
    /// The line.
    pub summary: String,
    /// The calls.
    #[serde(default, deserialize_with = "or_default")]
    pub preceding_tool_use_ids: Vec<String>,
}

/// How much of the plan is used.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RateLimit {
    /// How much, and until when.
    pub rate_limit_info: RateLimitInfo,
}

/// A limit of the plan.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitInfo {
    /// `allowed`, `allowed_warning` or `rejected`.
    pub status: String,
    /// When it begins anew, in seconds since 1970.
    #[serde(default, deserialize_with = "lax")]
    pub resets_at: Option<f64>,
    /// `five_hour`, `seven_day`, …
    pub rate_limit_type: Option<String>,
    /// The part that is used, 1 for all.
    #[serde(default, deserialize_with = "lax")]
    pub utilization: Option<f64>,
}

/// The agent signs in.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthStatus {
    /// Whether it still does.
    pub is_authenticating: bool,
    /// What it says meanwhile.
    #[serde(default, deserialize_with = "or_default")]
    pub output: Vec<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// The conversation begins anew, as after `/clear`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ConversationReset {
    /// The session from here on.
    pub new_conversation_id: String,
    /// `clear`, `plan_mode_exit`, …
    pub trigger: Option<String>,
}

/// How far a message of ours has come.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CommandLifecycle {
    /// The id that we gave to it.
    pub command_uuid: String,
    /// So far.
    pub state: CommandState,
}

/// The way of a message of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandState {
    /// It waits for its turn.
    Queued,
    /// Its turn runs.
    Started,
    /// Its turn is over.
    Completed,
    /// It was taken back, or its turn was interrupted.
    Cancelled,
}

/// What the person might say next.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PromptSuggestion {
    /// The words.
    pub suggestion: String,
}
