//! `system` frames: notifications about the agent, distinguished by `subtype`.

use serde::{
    Deserialize,
    de::{Error, MapAccess},
};

use super::{
    json::{lax, or_default},
    permission::PermissionMode,
    reply::CommandInfo,
    tagged::{Tagged, TaggedFields},
    task::{BackgroundTask, TaskNotification, TaskProgress, TaskStarted, TaskUpdated},
};

/// Notification about the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum SystemMessage {
    /// Session information, sent at the start of every turn.
    Init(Box<Init>),
    /// Current activity of the agent.
    Status(AgentActivity),
    /// Change of the session state: idle, running or waiting for the client.
    SessionStateChanged(SessionStateChanged),
    /// The conversation so far was replaced by a summary.
    CompactBoundary(CompactBoundary),
    /// A model request failed and will be retried.
    ApiRetry(ApiRetry),
    /// A task of the agent started: a subagent or a background command.
    TaskStarted(Box<TaskStarted>),
    /// Progress of a task.
    TaskProgress(Box<TaskProgress>),
    /// Change of a task's state.
    TaskUpdated(Box<TaskUpdated>),
    /// End of a task.
    TaskNotification(Box<TaskNotification>),
    /// Complete list of background tasks. Replaces the previous list.
    BackgroundTasksChanged(Vec<BackgroundTask>),
    /// Estimated number of reasoning tokens so far.
    ThinkingTokens(ThinkingTokens),
    /// A tool call was denied without asking the user.
    PermissionDenied(PermissionDenied),
    /// Temporary notification for the user.
    Notification(Notification),
    /// Message for the user.
    Informational(Informational),
    /// Output of a slash command that the agent handled itself.
    LocalCommandOutput(LocalCommandOutput),
    /// Complete list of slash commands. Replaces the previous list.
    CommandsChanged(Vec<CommandInfo>),
    /// The model refused and another model took over.
    RefusalFallback(Box<RefusalFallback>),
    /// The model refused and there is no fallback.
    RefusalNoFallback(RefusalNoFallback),
    /// An MCP elicitation was completed outside the client, for example on a web page.
    ElicitationComplete(ElicitationComplete),
    /// The session title changed.
    SessionTitle(SessionTitle),
}

impl Tagged for SystemMessage {
    const TAG: &'static str = "subtype";

    fn read<'de, A: MapAccess<'de>>(subtype: &str, fields: TaggedFields<A>) -> Result<Self, A::Error> {
        Ok(match subtype {
            "init" => Self::Init(fields.typed()?),
            "status" => Self::Status(fields.typed()?),
            "session_state_changed" => Self::SessionStateChanged(fields.typed()?),
            "compact_boundary" => Self::CompactBoundary(fields.typed()?),
            "api_retry" => Self::ApiRetry(fields.typed()?),
            "task_started" => Self::TaskStarted(fields.typed()?),
            "task_progress" => Self::TaskProgress(fields.typed()?),
            "task_updated" => Self::TaskUpdated(fields.typed()?),
            "task_notification" => Self::TaskNotification(fields.typed()?),
            "background_tasks_changed" => {
                let Tasks { tasks } = fields.typed()?;
                Self::BackgroundTasksChanged(tasks)
            }
            "thinking_tokens" => Self::ThinkingTokens(fields.typed()?),
            "permission_denied" => Self::PermissionDenied(fields.typed()?),
            "notification" => Self::Notification(fields.typed()?),
            "informational" => Self::Informational(fields.typed()?),
            "local_command_output" => Self::LocalCommandOutput(fields.typed()?),
            "commands_changed" => {
                let Commands { commands } = fields.typed()?;
                Self::CommandsChanged(commands)
            }
            "model_refusal_fallback" => Self::RefusalFallback(fields.typed()?),
            "model_refusal_no_fallback" => Self::RefusalNoFallback(fields.typed()?),
            "elicitation_complete" => Self::ElicitationComplete(fields.typed()?),
            "session_title_changed" => Self::SessionTitle(fields.typed()?),
            _ => return Err(A::Error::custom(format_args!("unknown subtype `{subtype}`"))),
        })
    }
}

#[derive(Deserialize)]
struct Tasks {
    tasks: Vec<BackgroundTask>,
}

#[derive(Deserialize)]
struct Commands {
    commands: Vec<CommandInfo>,
}

/// Session information at the start of a turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Init {
    /// Id of the session.
    pub session_id: String,
    /// Working directory of the agent.
    pub cwd: Option<String>,
    /// Model in use.
    pub model: Option<String>,
    /// Permission mode in effect.
    #[serde(rename = "permissionMode")]
    pub permission_mode: Option<PermissionMode>,
    /// Version of the agent.
    pub claude_code_version: Option<String>,
    /// Names of the available tools.
    #[serde(default, deserialize_with = "or_default")]
    pub tools: Vec<String>,
    /// MCP servers that provide tools.
    #[serde(default, deserialize_with = "lax")]
    pub mcp_servers: Vec<InitMcpServer>,
    /// Names of the slash commands.
    #[serde(default, deserialize_with = "or_default")]
    pub slash_commands: Vec<String>,
    /// Names of the subagents.
    #[serde(default, deserialize_with = "or_default")]
    pub agents: Vec<String>,
    /// Names of the skills.
    #[serde(default, deserialize_with = "or_default")]
    pub skills: Vec<String>,
    /// Names of the protocol features of this agent version.
    #[serde(default, deserialize_with = "or_default")]
    pub capabilities: Vec<String>,
    /// Source of the credential: `ANTHROPIC_API_KEY`, `none`, …
    #[serde(rename = "apiKeySource")]
    pub api_key_source: Option<String>,
    /// Name of the selected output style.
    pub output_style: Option<String>,
}

/// MCP server that provides tools to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InitMcpServer {
    /// Name of the server.
    pub name: String,
    /// State: `connected`, `failed`, `needs-auth`, `pending` or `disabled`.
    pub status: String,
}

/// Current activity of the agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AgentActivity {
    /// `requesting` or `compacting`; `None` for any other activity.
    pub status: Option<String>,
    /// New permission mode, if it changed.
    #[serde(rename = "permissionMode")]
    pub permission_mode: Option<PermissionMode>,
    /// Result of a compaction: `success` or `failed`.
    pub compact_result: Option<String>,
    /// Reason for a failed compaction.
    pub compact_error: Option<String>,
}

/// Change of the session state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SessionStateChanged {
    /// New state of the session.
    pub state: SessionState,
    /// Id of the session.
    pub session_id: Option<String>,
}

/// Activity state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Nothing is running, not even in the background.
    Idle,
    /// A turn or a background task is running.
    Running,
    /// The agent waits for a response of the client.
    RequiresAction,
}

/// Notification that the conversation so far was replaced by a summary.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CompactBoundary {
    /// Details of the compaction.
    #[serde(default, deserialize_with = "lax")]
    pub compact_metadata: CompactMetadata,
}

/// Details of a compaction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CompactMetadata {
    /// Cause: `manual` or `auto`.
    pub trigger: Option<String>,
    /// Context tokens before the compaction.
    pub pre_tokens: Option<u64>,
    /// Context tokens after the compaction.
    pub post_tokens: Option<u64>,
}

/// Notification that a model request failed and will be retried.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ApiRetry {
    /// Number of the retry, starting at 1.
    pub attempt: u64,
    /// Maximum number of retries.
    #[serde(default, deserialize_with = "lax")]
    pub max_retries: u64,
    /// Delay before the retry in milliseconds.
    #[serde(default, deserialize_with = "lax")]
    pub retry_delay_ms: f64,
    /// HTTP status; `None` if there was no response.
    #[serde(default, deserialize_with = "lax")]
    pub error_status: Option<u16>,
    /// Error code: `rate_limit`, `overloaded`, `server_error`, …
    pub error: Option<String>,
}

/// Estimated number of reasoning tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ThinkingTokens {
    /// Estimated tokens so far.
    pub estimated_tokens: u64,
    /// Estimated tokens since the previous notification.
    #[serde(default, deserialize_with = "lax")]
    pub estimated_tokens_delta: u64,
}

/// Notification of a tool call that was denied without asking the user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PermissionDenied {
    /// Name of the tool.
    pub tool_name: String,
    /// Id of the call.
    pub tool_use_id: String,
    /// Id of the subagent that made the call; `None` for the main conversation.
    pub agent_id: Option<String>,
    /// Message passed to the model.
    #[serde(default)]
    pub message: String,
    /// Reason for the denial; may contain escape sequences.
    pub decision_reason: Option<String>,
}

/// Temporary notification for the user.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Notification {
    /// Key of the notification. A notification replaces the previous notification with the same key.
    pub key: Option<String>,
    /// Text of the notification.
    pub text: String,
    /// Priority: `low`, `medium`, `high` or `immediate`.
    pub priority: Option<String>,
    /// Display time in milliseconds.
    #[serde(default, deserialize_with = "lax")]
    pub timeout_ms: Option<f64>,
}

/// Message for the user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Informational {
    /// Text of the message.
    pub content: String,
    /// Level: `info`, `notice`, `suggestion` or `warning`.
    pub level: Option<String>,
    /// Id of the tool call that the message refers to.
    pub tool_use_id: Option<String>,
}

/// Output of a slash command that the agent handled itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LocalCommandOutput {
    /// Text of the output.
    pub content: String,
}

/// Notification that the model refused and another model took over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RefusalFallback {
    /// Model that refused.
    pub original_model: String,
    /// Model that took over.
    pub fallback_model: String,
    /// Kind of fallback: `retry`, `revert` or `sticky`.
    pub direction: Option<String>,
    /// Ids of the frames of the refused answer, to be removed from the display.
    #[serde(default, deserialize_with = "or_default")]
    pub retracted_message_uuids: Vec<String>,
    /// Id of the client message that was refused.
    pub refused_user_message_uuid: Option<String>,
    /// Message for display.
    #[serde(default)]
    pub content: String,
}

/// Notification that the model refused and there is no fallback.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RefusalNoFallback {
    /// Model that refused.
    pub original_model: String,
    /// Id of the client message that was refused.
    pub refused_user_message_uuid: Option<String>,
    /// Message for display.
    #[serde(default)]
    pub content: String,
}

/// Notification that an MCP elicitation was completed outside the client, for example on a web page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ElicitationComplete {
    /// Name of the server.
    pub mcp_server_name: String,
    /// Id of the elicitation.
    pub elicitation_id: String,
}

/// Change of the session title.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SessionTitle {
    /// New session title.
    pub title: String,
}
