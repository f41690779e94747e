//! What the agent says about itself: the `system` frames, sorted by their `subtype`.

use serde::{
    Deserialize,
    de::{Error, MapAccess},
};

use super::{
    json::{lax, or_default},
    permission::PermissionMode,
    reply::CommandInfo,
    tagged::{Fields, Tagged},
    task::{BackgroundTask, TaskNotification, TaskProgress, TaskStarted, TaskUpdated},
};

/// What the agent says about itself.
#[derive(Debug, Clone, PartialEq)]
pub enum System {
    /// A turn begins: the session as it is. The first is not sent before the first turn.
    Init(Box<Init>),
    /// What it is busy with.
    Status(Status),
    /// Whether it works, rests or waits for us.
    SessionStateChanged(SessionStateChanged),
    /// What was said before is now a summary.
    CompactBoundary(CompactBoundary),
    /// A request to the model failed and is tried again.
    ApiRetry(ApiRetry),
    /// A task of its own began: a subagent, a command in the background.
    TaskStarted(Box<TaskStarted>),
    /// A task came further.
    TaskProgress(Box<TaskProgress>),
    /// A task is in another state.
    TaskUpdated(Box<TaskUpdated>),
    /// A task is over.
    TaskNotification(Box<TaskNotification>),
    /// All tasks in the background, in the place of those named before.
    BackgroundTasksChanged(Vec<BackgroundTask>),
    /// How much the model has thought.
    ThinkingTokens(ThinkingTokens),
    /// A tool was not allowed to run, and nobody was asked.
    PermissionDenied(PermissionDenied),
    /// Something for the person to notice for a while.
    Notification(Notification),
    /// Something for the person to read.
    Informational(Informational),
    /// What a slash command of its own printed.
    LocalCommandOutput(LocalCommandOutput),
    /// All slash commands, in the place of those named before.
    CommandsChanged(Vec<CommandInfo>),
    /// The model refused, and another one took over.
    RefusalFallback(Box<RefusalFallback>),
    /// The model refused, and there is no other.
    RefusalNoFallback(RefusalNoFallback),
    /// A question of an MCP server was settled elsewhere.
    ElicitationComplete(ElicitationComplete),
    /// The session has another title.
    SessionTitle(SessionTitle),
}

impl Tagged for System {
    const TAG: &'static str = "subtype";

    fn read<'de, A: MapAccess<'de>>(subtype: &str, fields: Fields<A>) -> Result<Self, A::Error> {
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
            _ => return Err(A::Error::custom("an unknown subtype")),
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

/// The session as it is at the beginning of a turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Init {
    /// The session.
    pub session_id: String,
    /// Where it works.
    pub cwd: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What it may do without asking.
    #[serde(rename = "permissionMode")]
    pub permission_mode: Option<PermissionMode>,
    /// The agent's version.
    pub claude_code_version: Option<String>,
    /// What it can call.
    #[serde(default, deserialize_with = "or_default")]
    pub tools: Vec<String>,
    /// The servers that it has tools from.
    #[serde(default, deserialize_with = "lax")]
    pub mcp_servers: Vec<McpServer>,
    /// What can be called with a slash.
    #[serde(default, deserialize_with = "or_default")]
    pub slash_commands: Vec<String>,
    /// Its subagents.
    #[serde(default, deserialize_with = "or_default")]
    pub agents: Vec<String>,
    /// Its skills.
    #[serde(default, deserialize_with = "or_default")]
    pub skills: Vec<String>,
    /// What this version of the protocol can do.
    #[serde(default, deserialize_with = "or_default")]
    pub capabilities: Vec<String>,
    /// How it is paid: `ANTHROPIC_API_KEY`, `none`, …
    #[serde(rename = "apiKeySource")]
    pub api_key_source: Option<String>,
    /// The style of its answers.
    pub output_style: Option<String>,
}

/// A server that the agent has tools from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// `connected`, `failed`, `needs-auth`, `pending` or `disabled`.
    pub status: String,
}

/// What the agent is busy with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Status {
    /// `requesting` or `compacting`; none if with nothing of these.
    pub status: Option<String>,
    /// What it may do without asking, if that changed.
    #[serde(rename = "permissionMode")]
    pub permission_mode: Option<PermissionMode>,
    /// How compacting ended: `success` or `failed`.
    pub compact_result: Option<String>,
    /// Why compacting failed.
    pub compact_error: Option<String>,
}

/// The session is in another state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SessionStateChanged {
    /// Which.
    pub state: SessionState,
    /// The session.
    pub session_id: Option<String>,
}

/// Whether the session works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// It rests; nothing runs, also not in the background.
    Idle,
    /// It works.
    Running,
    /// It waits for an answer of ours.
    RequiresAction,
}

/// What was said before is now a summary.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CompactBoundary {
    /// How it came about.
    #[serde(default, deserialize_with = "lax")]
    pub compact_metadata: CompactMetadata,
}

/// How a conversation became a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CompactMetadata {
    /// `manual` or `auto`.
    pub trigger: Option<String>,
    /// Tokens before.
    pub pre_tokens: Option<u64>,
    /// Tokens after.
    pub post_tokens: Option<u64>,
}

/// A request to the model failed and is tried again.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ApiRetry {
    /// For which time, from 1.
    pub attempt: u64,
    /// For how many times at most.
    #[serde(default, deserialize_with = "lax")]
    pub max_retries: u64,
    /// After how long.
    #[serde(default, deserialize_with = "lax")]
    pub retry_delay_ms: f64,
    /// The HTTP status; none if there was no answer.
    #[serde(default, deserialize_with = "lax")]
    pub error_status: Option<u16>,
    /// `rate_limit`, `overloaded`, `server_error`, …
    pub error: Option<String>,
}

/// How much the model has thought: an estimate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ThinkingTokens {
    /// Tokens so far.
    pub estimated_tokens: u64,
    /// Tokens since the last such frame.
    #[serde(default, deserialize_with = "lax")]
    pub estimated_tokens_delta: u64,
}

/// A tool was not allowed to run, and nobody was asked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PermissionDenied {
    /// The tool.
    pub tool_name: String,
    /// The call.
    pub tool_use_id: String,
    /// The subagent that called.
    pub agent_id: Option<String>,
    /// What the model was told.
    #[serde(default)]
    pub message: String,
    /// Why; may have escape sequences.
    pub decision_reason: Option<String>,
}

/// Something for the person to notice for a while.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Notification {
    /// Takes the place of the one before with this name.
    pub key: Option<String>,
    /// The words.
    pub text: String,
    /// `low`, `medium`, `high` or `immediate`.
    pub priority: Option<String>,
    /// For how long.
    #[serde(default, deserialize_with = "lax")]
    pub timeout_ms: Option<f64>,
}

/// Something for the person to read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Informational {
    /// The words.
    pub content: String,
    /// `info`, `notice`, `suggestion` or `warning`.
    pub level: Option<String>,
    /// The call that it is about.
    pub tool_use_id: Option<String>,
}

/// What a slash command of the agent's own printed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LocalCommandOutput {
    /// The output.
    pub content: String,
}

/// The model refused, and another one took over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RefusalFallback {
    /// The model that refused.
    pub original_model: String,
    /// The one that took over.
    pub fallback_model: String,
    /// `retry`, `revert` or `sticky`.
    pub direction: Option<String>,
    /// Frames to be taken away: the refused answer.
    #[serde(default, deserialize_with = "or_default")]
    pub retracted_message_uuids: Vec<String>,
    /// The message of ours that was refused.
    pub refused_user_message_uuid: Option<String>,
    /// The same in words.
    #[serde(default)]
    pub content: String,
}

/// The model refused, and there is no other.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RefusalNoFallback {
    /// The model.
    pub original_model: String,
    /// The message of ours that was refused.
    pub refused_user_message_uuid: Option<String>,
    /// The same in words.
    #[serde(default)]
    pub content: String,
}

/// A question of an MCP server was settled elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ElicitationComplete {
    /// The server.
    pub mcp_server_name: String,
    /// The question.
    pub elicitation_id: String,
}

/// The session has another title.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SessionTitle {
    /// The title.
    pub title: String,
}
