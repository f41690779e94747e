//! Agents that are available to a space, their installation and login, and their saved conversations.

mod lines;

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// An available or joined agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCard {
    /// Id by which it is chosen, and its name as a participant.
    pub id: String,
    /// Name for people.
    pub title: String,
    /// True if the agent is installed.
    pub installed: bool,
    /// Installed version, if the agent reports it.
    pub version: Option<String>,
    pub login: LoginState,
    /// Step that is needed to use the agent; `None` if nothing is known to be missing.
    pub hint: Option<String>,
    /// True if the agent has joined this space.
    #[serde(rename = "taking_part")]
    pub joined: bool,
    pub abilities: Abilities,
}

/// Abilities of an agent that are known without starting it. `None` if only the running agent reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Abilities {
    /// Sends text while it is generated.
    pub streaming: Option<bool>,
    /// Resumes a saved conversation.
    pub resume: Option<bool>,
    /// Has several modes.
    pub modes: Option<bool>,
    /// Lets the user choose the model.
    pub models: Option<bool>,
    /// Shows its thoughts.
    pub thinking: Option<bool>,
    /// Lists its MCP servers.
    pub mcp: Option<bool>,
    /// Enables and disables MCP servers by a command.
    pub mcp_switching: Option<bool>,
    /// Has a mode that skips permissions.
    pub skips_permissions: Option<bool>,
    /// Lists its saved conversations.
    pub conversations: Option<bool>,
}

impl Abilities {
    /// All abilities except switching MCP servers by a command.
    pub const ALL: Self = Self {
        streaming: Some(true),
        resume: Some(true),
        modes: Some(true),
        models: Some(true),
        thinking: Some(true),
        mcp: Some(true),
        mcp_switching: Some(false),
        skips_permissions: Some(true),
        conversations: Some(true),
    };
}

/// Login state of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoginState {
    /// The agent needs no login.
    NotNeeded,
    Yes {
        /// Account name or credential, if known.
        account: Option<String>,
    },
    /// Not logged in.
    No,
    /// Login state is unknown.
    Unknown,
}

/// Saved conversation of an agent, which can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationCard {
    /// Id assigned by `wh`, see [`conversation_id`]. The agent's own id is not part of the card.
    pub id: String,
    /// Summary in one line.
    pub title: String,
    /// Time of the last message, if known.
    pub at: Option<SystemTime>,
    /// Working directory of the conversation, if known.
    pub directory: Option<PathBuf>,
}

/// Request about agents outside a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentRequest {
    /// Lists all agents.
    Agents,
    /// Returns the installation, version, login and MCP servers.
    Status,
    /// Lists the models.
    Models,
    /// Lists the MCP servers.
    Mcp,
    /// Enables or disables an MCP server.
    SwitchMcp {
        server: String,
        /// True to enable it.
        on: bool,
    },
    /// Lists the saved conversations.
    Conversations,
    LogIn,
    /// Submits the code that a running login asks for, such as one shown on a web page.
    #[serde(rename = "TellLogin")]
    SubmitLoginCode(String),
    /// Cancels the running login.
    #[serde(rename = "StopLogin")]
    CancelLogin,
    LogOut,
    /// Adds the agent to the space and makes it the chat target.
    Invite,
}

/// Answer to an [`AgentRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentReply {
    Agents(Vec<AgentCard>),
    Status(Box<StatusCard>),
    /// Models of an agent.
    Models {
        agent: String,
        models: Vec<ModelCard>,
    },
    /// MCP servers of an agent.
    Mcp {
        agent: String,
        servers: Vec<McpServer>,
        /// True if they can be enabled and disabled by a command.
        switching: bool,
    },
    /// Saved conversations of an agent.
    Conversations {
        agent: String,
        conversations: Vec<ConversationCard>,
    },
    /// Progress of a login.
    LoggedIn {
        agent: String,
        done: LoginProgress,
    },
    /// Result of a logout.
    LoggedOut {
        agent: String,
        done: LogoutResult,
    },
    /// The agent has joined under this id.
    #[serde(rename = "TakesPart")]
    Joined(String),
    /// Success, with a message.
    Done(String),
}

/// Status of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusCard {
    pub card: AgentCard,
    /// Further facts as pairs of name and value, such as the platform and the model.
    pub about: Vec<(String, String)>,
    /// MCP servers, or the reason for which they are unknown.
    pub mcp: Result<Vec<McpServer>, String>,
    /// State of the joined agent, if it has joined.
    pub running: Option<RunningCard>,
}

/// State of a joined agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunningCard {
    /// Model in use, if known.
    pub model: Option<String>,
    /// Mode in use, if known.
    pub mode: Option<String>,
    /// Id assigned by `wh` to its conversation, once it can be resumed.
    pub conversation: Option<String>,
    /// Number of its turns in this space.
    pub turns: u64,
}

/// Model of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCard {
    pub id: String,
    /// Name for people.
    pub title: String,
    /// True if the model is used unless another is chosen.
    pub is_default: bool,
    /// True if the model was chosen last.
    pub is_current: bool,
}

/// An MCP server of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    pub name: String,
    /// Status as reported by the agent: `connected`, `not loaded`, `disabled`, ….
    pub status: String,
    /// Reason for the status.
    pub reason: Option<String>,
}

/// Method of a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoginMethod {
    /// On a web page.
    Browser,
    /// With an API key that the agent stores.
    ApiKey,
    /// With an environment variable.
    Variable,
    /// On a terminal of the agent.
    Terminal,
}

impl LoginMethod {
    /// Returns the name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::ApiKey => "api_key",
            Self::Variable => "env_var",
            Self::Terminal => "terminal",
        }
    }
}

/// Progress of a login.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoginProgress {
    pub success: bool,
    /// True if the login is still running; the space will report its end.
    pub pending: bool,
    /// Account name or credential.
    pub account: Option<String>,
    pub method: Option<LoginMethod>,
    /// Message of the agent.
    pub message: Option<String>,
    /// Instructions for the user, if a step is left.
    pub instructions: Option<String>,
}

/// Result of a logout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogoutResult {
    /// True if the agent's own login was removed.
    pub success: bool,
    /// True if the agent supports logging out.
    pub supported: bool,
    /// Message for people.
    pub message: String,
}

/// Derives a short, stable id from an agent's own conversation id.
pub fn conversation_id(agent: &str, own: &str) -> String {
    // FNV-1a, implemented here because a hash of the standard library may change between versions.
    let bytes = agent.bytes().chain([0]).chain(own.bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("c{:012x}", hash & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_and_the_same_each_time() {
        let id = conversation_id("claude", "0f5b");
        assert_eq!(id, conversation_id("claude", "0f5b"));
        assert_eq!(id.len(), 13);
        assert_eq!(conversation_id("a", "b"), "c9919042666b2", "the id is stable across versions");
        assert_ne!(id, conversation_id("codex", "0f5b"), "two agents may have the same id");
        assert_ne!(conversation_id("ab", "c"), conversation_id("a", "bc"));
    }
}
