//! `session/update`: what happens in a session.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::content::ContentBlock;
use super::read;
use super::session::SessionReply;
use super::soft::{self, words};
use super::tool::ToolCall;

/// The parameters of `session/update`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionUpdate {
    /// In which session.
    #[serde(deserialize_with = "soft::field")]
    pub session_id: Option<String>,
    /// What.
    pub update: Update,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The user said more; only where an old session is told again.
    UserMessage(Chunk),
    /// The agent said more.
    AgentMessage(Chunk),
    /// The agent thought more.
    AgentThought(Chunk),
    /// A call begins.
    ToolCall(Box<ToolCall>),
    /// A call has changed.
    ToolCallUpdate(Box<ToolCall>),
    /// What the agent means to do, all of it.
    Plan(Vec<PlanEntry>),
    /// The commands that there are now.
    AvailableCommands(Vec<Command>),
    /// The mode is another.
    CurrentMode(String),
    /// What can be chosen is another; all of it.
    ConfigOptions(SessionReply),
    /// The session has another title.
    SessionInfo {
        /// The title, if that is what has changed.
        title: Option<String>,
    },
    /// What the session takes.
    Usage(UsageUpdate),
    /// The agent has something to say beside the conversation.
    Notice(Notice),
    /// The conversation is made shorter.
    Compaction(Value),
    /// Something else, as it came.
    Unknown {
        /// What the agent calls it.
        kind: String,
        /// All of it.
        raw: Value,
    },
}

impl Default for Update {
    fn default() -> Self {
        Self::Unknown { kind: String::new(), raw: Value::Null }
    }
}

impl From<Value> for Update {
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

impl<'de> Deserialize<'de> for Update {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(Self::from)
    }
}

/// More of a message.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Chunk {
    /// What was added.
    pub content: ContentBlock,
    /// Of which message, where the agent says.
    #[serde(deserialize_with = "soft::field")]
    pub message_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entries {
    #[serde(deserialize_with = "soft::list")]
    entries: Vec<PlanEntry>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct PlanEntry {
    /// What is to be done.
    #[serde(deserialize_with = "soft::field")]
    pub content: String,
    /// `pending`, `in_progress` or `completed`.
    #[serde(deserialize_with = "soft::field")]
    pub status: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Commands {
    #[serde(deserialize_with = "soft::list")]
    available_commands: Vec<Command>,
}

/// A command of the agent's own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Command {
    /// Its name, without a slash.
    pub name: String,
    /// What it does.
    #[serde(default, deserialize_with = "soft::field")]
    pub description: String,
}

/// What a session takes.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct UsageUpdate {
    /// Tokens in context.
    #[serde(deserialize_with = "soft::field")]
    pub used: Option<u64>,
    /// How many fit.
    #[serde(deserialize_with = "soft::field")]
    pub size: Option<u64>,
    /// What it has cost.
    #[serde(deserialize_with = "soft::field")]
    pub cost: Option<Cost>,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// How much.
    #[serde(deserialize_with = "soft::field")]
    pub amount: f64,
    /// Of what, as ISO 4217.
    #[serde(deserialize_with = "soft::field")]
    pub currency: String,
}

words! {
    /// How much something matters.
    Level {
        /// Good to know.
        Info = "info",
        /// Something is not as it should be.
        Warning = "warning",
        /// Something does not work.
        Error = "error",
    }
}

/// Something said beside the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Notice {
    /// What.
    #[serde(deserialize_with = "soft::field", alias = "text")]
    pub message: String,
    /// How much it matters.
    #[serde(deserialize_with = "soft::field", alias = "severity")]
    pub level: Level,
}
