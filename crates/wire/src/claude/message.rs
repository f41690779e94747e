//! Messages of the conversation and notifications that need no response.

use serde::{Deserialize, Deserializer};

use super::{
    content::{ContentBlock, blocks},
    decode::Unknown,
    json::{Json, lax, or_default},
    result::TurnResult,
    stream::StreamMessage,
    system::System,
};

/// Message of the conversation, or a notification about it.
#[derive(Debug, Clone, PartialEq)]
pub enum ClaudeMessage {
    /// Output of the model, one frame per content block.
    Assistant(Box<AssistantMessage>),
    /// Tool results, synthetic notes of the agent and, with replay, the client's own messages.
    User(Box<UserMessage>),
    /// Incremental update of a message.
    Stream(StreamMessage),
    /// End of a turn.
    Result(Box<TurnResult>),
    /// Notification about the agent itself.
    System(System),
    /// Notification that a tool is still running.
    ToolProgress(ToolProgress),
    /// One-line summary of several tool calls.
    ToolUseSummary(ToolUseSummary),
    /// Usage of the subscription plan.
    RateLimit(RateLimit),
    /// Progress of a login.
    AuthStatus(AuthStatus),
    /// Start of a new conversation in the same process.
    ConversationReset(ConversationReset),
    /// Progress of a message sent by the client.
    CommandLifecycle(CommandLifecycle),
    /// Suggestion for the user's next message.
    PromptSuggestion(PromptSuggestion),
    /// Frame of an unknown kind or with an unexpected shape.
    Unknown(Box<Unknown>),
}

/// Output of the model. Frames with the same `message.id` belong to one message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AssistantMessage {
    /// The message, or a part of it.
    pub message: ApiMessage,
    /// Id of the frame.
    pub uuid: Option<String>,
    /// Id of the session.
    pub session_id: Option<String>,
    /// Tool call that started the subagent that wrote the message; `None` for the main conversation.
    pub parent_tool_use_id: Option<String>,
    /// Ids of the frames that this frame replaces.
    #[serde(default, deserialize_with = "or_default")]
    pub supersedes: Vec<String>,
    /// True if an interrupt cut off the message, possibly in the middle of a word.
    #[serde(default, deserialize_with = "or_default")]
    pub aborted: bool,
    /// Error code if the agent wrote the message because the model request failed: `rate_limit`, `overloaded`, …
    pub error: Option<String>,
    /// Time at which the frame was created, by the agent's clock.
    pub timestamp: Option<String>,
}

/// Message of the Messages API.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ApiMessage {
    /// Id of the message. All known versions of Claude Code send one.
    pub id: Option<String>,
    /// Model that wrote the message.
    pub model: Option<String>,
    /// Content blocks of the message.
    #[serde(default, deserialize_with = "blocks")]
    pub content: Vec<ContentBlock>,
    /// Reason for the end; `None` while the message is incomplete.
    pub stop_reason: Option<String>,
    /// Token usage so far.
    #[serde(default, deserialize_with = "lax")]
    pub usage: Option<Usage>,
}

/// Token usage of a message or a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens that were not read from the cache.
    #[serde(deserialize_with = "or_default")]
    pub input_tokens: u64,
    /// Output tokens in total.
    #[serde(deserialize_with = "or_default")]
    pub output_tokens: u64,
    /// Input tokens written to the cache.
    #[serde(deserialize_with = "or_default")]
    pub cache_creation_input_tokens: u64,
    /// Input tokens read from the cache.
    #[serde(deserialize_with = "or_default")]
    pub cache_read_input_tokens: u64,
}

/// Message in the user role.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct UserMessage {
    /// Content blocks. A plain string is read as one text block.
    #[serde(rename = "message", deserialize_with = "content")]
    pub content: Vec<ContentBlock>,
    /// Id of the frame. In a replay, the id assigned by the client.
    pub uuid: Option<String>,
    /// Id of the session.
    pub session_id: Option<String>,
    /// Tool call that started the subagent that receives the message; `None` for the main conversation.
    pub parent_tool_use_id: Option<String>,
    /// True if this is a replay of a message of the client.
    #[serde(default, rename = "isReplay", deserialize_with = "or_default")]
    pub is_replay: bool,
    /// True if the agent generated the message. Such a message need not be displayed.
    #[serde(default, rename = "isSynthetic", deserialize_with = "or_default")]
    pub is_synthetic: bool,
    /// Structured result of the tool; its shape depends on the tool.
    pub tool_use_result: Option<Json>,
    /// Time at which the frame was created, by the agent's clock.
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

/// Notification that a tool is still running.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ToolProgress {
    /// Id of the call.
    pub tool_use_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// Tool call that started the subagent that made this call.
    pub parent_tool_use_id: Option<String>,
    /// Elapsed time in seconds.
    #[serde(default, deserialize_with = "lax")]
    pub elapsed_time_seconds: f64,
    /// Background task of the call, if any.
    pub task_id: Option<String>,
}

/// One-line summary of several tool calls.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ToolUseSummary {
    /// Text of the summary.
    pub summary: String,
    /// Ids of the summarized calls.
    #[serde(default, deserialize_with = "or_default")]
    pub preceding_tool_use_ids: Vec<String>,
}

/// Usage of the subscription plan.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RateLimit {
    /// Details of the limit.
    pub rate_limit_info: RateLimitInfo,
}

/// Limit of the subscription plan.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitInfo {
    /// State: `allowed`, `allowed_warning` or `rejected`.
    pub status: String,
    /// Reset time in seconds since 1970.
    #[serde(default, deserialize_with = "lax")]
    pub resets_at: Option<f64>,
    /// Kind of limit: `five_hour`, `seven_day`, …
    pub rate_limit_type: Option<String>,
    /// Used fraction of the limit, from 0 to 1.
    #[serde(default, deserialize_with = "lax")]
    pub utilization: Option<f64>,
}

/// Progress of a login.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthStatus {
    /// True while the login is in progress.
    pub is_authenticating: bool,
    /// Output lines of the login.
    #[serde(default, deserialize_with = "or_default")]
    pub output: Vec<String>,
    /// Reason for a failed login.
    pub error: Option<String>,
}

/// Start of a new conversation in the same process, for example after `/clear`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ConversationReset {
    /// Session id of the new conversation.
    pub new_conversation_id: String,
    /// Cause of the reset: `clear`, `plan_mode_exit`, …
    pub trigger: Option<String>,
}

/// Progress of a message sent by the client.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CommandLifecycle {
    /// Id that the client assigned to the message.
    pub command_uuid: String,
    /// Current state of the message.
    pub state: CommandState,
}

/// State of a message sent by the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandState {
    /// The message waits for its turn to start.
    Queued,
    /// The turn of the message is running.
    Started,
    /// The turn of the message has ended.
    Completed,
    /// The message was withdrawn or its turn was interrupted.
    Cancelled,
}

/// Suggestion for the user's next message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PromptSuggestion {
    /// Text of the suggestion.
    pub suggestion: String,
}
