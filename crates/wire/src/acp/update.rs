//! Notifications of the method `session/update`.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::content::ContentBlock;
use super::lenient::{self, string_enum};
use super::read;
use super::session::SessionReply;
use super::tool::ToolCall;

/// Parameters of `session/update`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionUpdate {
    /// Id of the session.
    #[serde(deserialize_with = "lenient::field")]
    pub session_id: Option<String>,
    /// The update itself.
    pub update: SessionUpdateKind,
}

/// Update of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionUpdateKind {
    /// Part of a user message. Only sent when a loaded session is replayed.
    UserMessage(MessageChunk),
    /// Part of an agent message.
    AgentMessage(MessageChunk),
    /// Part of the agent's reasoning.
    AgentThought(MessageChunk),
    /// Start of a tool call.
    ToolCall(Box<ToolCall>),
    /// Change of a tool call.
    ToolCallUpdate(Box<ToolCall>),
    /// Complete plan of the agent.
    Plan(Vec<PlanEntry>),
    /// Complete list of available commands.
    AvailableCommands(Vec<AcpCommand>),
    /// Change of the current mode. Contains the id of the new mode.
    CurrentMode(String),
    /// Complete list of config options.
    ConfigOptions(SessionReply),
    /// Change of session metadata.
    SessionInfo {
        /// New title, if it changed.
        title: Option<String>,
    },
    /// Token usage and cost of the session.
    Usage(UsageUpdate),
    /// Message of the agent that is not part of the conversation.
    Notice(AcpNotice),
    /// Compaction of the conversation.
    Compaction(Value),
    /// Update of an unknown kind.
    Unknown {
        /// Name of the update.
        kind: String,
        /// The complete update as received.
        raw: Value,
    },
}

impl Default for SessionUpdateKind {
    fn default() -> Self {
        Self::Unknown { kind: String::new(), raw: Value::Null }
    }
}

impl From<Value> for SessionUpdateKind {
    fn from(value: Value) -> Self {
        let kind = value["sessionUpdate"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "user_message_chunk" => Self::UserMessage(read(value)),
            "agent_message_chunk" => Self::AgentMessage(read(value)),
            "agent_thought_chunk" => Self::AgentThought(read(value)),
            "tool_call" => Self::ToolCall(read(value)),
            "tool_call_update" => Self::ToolCallUpdate(read(value)),
            "plan" => Self::Plan(read::<Entries>(value).entries),
            "available_commands_update" => Self::AvailableCommands(read::<Commands>(value).available_commands),
            "current_mode_update" => match value["currentModeId"].as_str() {
                Some(mode) => Self::CurrentMode(mode.to_owned()),
                None => Self::Unknown { kind, raw: value },
            },
            "config_option_update" => Self::ConfigOptions(read(value)),
            "session_info_update" => Self::SessionInfo { title: value["title"].as_str().map(str::to_owned) },
            "usage_update" => Self::Usage(read(value)),
            "notice" => Self::Notice(read(value)),
            "compaction_update" | "compaction_summary_chunk" => Self::Compaction(value),
            _ => Self::Unknown { kind, raw: value },
        }
    }
}

impl<'de> Deserialize<'de> for SessionUpdateKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(Self::from)
    }
}

/// Part of a message or of the agent's reasoning.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MessageChunk {
    /// Content to append.
    pub content: ContentBlock,
    /// Id of the message, if the agent reports it.
    #[serde(deserialize_with = "lenient::field")]
    pub message_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entries {
    #[serde(deserialize_with = "lenient::list")]
    entries: Vec<PlanEntry>,
}

/// Entry of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct PlanEntry {
    /// Description of the task.
    #[serde(deserialize_with = "lenient::field")]
    pub content: String,
    /// Status: `pending`, `in_progress` or `completed`.
    #[serde(deserialize_with = "lenient::field")]
    pub status: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Commands {
    #[serde(deserialize_with = "lenient::list")]
    available_commands: Vec<AcpCommand>,
}

/// Slash command of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AcpCommand {
    /// Name without the slash.
    pub name: String,
    /// Description of the command.
    #[serde(default, deserialize_with = "lenient::field")]
    pub description: String,
}

/// Token usage and cost of a session.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct UsageUpdate {
    /// Tokens in the context.
    #[serde(deserialize_with = "lenient::field")]
    pub used: Option<u64>,
    /// Size of the context window in tokens.
    #[serde(deserialize_with = "lenient::field")]
    pub size: Option<u64>,
    /// Cost of the session so far.
    #[serde(deserialize_with = "lenient::field")]
    pub cost: Option<Cost>,
}

/// Amount of money.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Amount in units of the currency.
    #[serde(deserialize_with = "lenient::field")]
    pub amount: f64,
    /// Currency code according to ISO 4217.
    #[serde(deserialize_with = "lenient::field")]
    pub currency: String,
}

string_enum! {
    /// Severity of a notice.
    Level {
        /// Information that requires no action.
        Info = "info",
        /// Warning about a potential problem.
        Warning = "warning",
        /// Failure of an operation.
        Error = "error",
    }
}

/// Message of the agent that is not part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct AcpNotice {
    /// Text of the message.
    #[serde(deserialize_with = "lenient::field", alias = "text")]
    pub message: String,
    /// Severity of the message.
    #[serde(deserialize_with = "lenient::field", alias = "severity")]
    pub level: Level,
}
