//! Agents that are available to a space: their installation, login, MCP servers, models and saved conversations.

mod lines;

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// Summary of an agent that is available to a space or has joined it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCard {
    /// Id that selects the agent. It is also the participant name of the agent.
    pub id: String,
    /// Display name of the agent.
    pub title: String,
    /// True if the agent's program is installed.
    pub installed: bool,
    /// Installed version, if the agent reports it.
    pub version: Option<String>,
    pub login: LoginState,
    /// Instruction for a step that the user must take before the agent can be used; `None` if no such step is known.
    pub hint: Option<String>,
    /// True if the agent has joined this space.
    #[serde(rename = "taking_part")]
    pub joined: bool,
    pub abilities: StaticCapabilities,
}

/// Abilities of an agent that are known before the agent is started. `None` if only the running agent reports the
/// ability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StaticCapabilities {
    /// The agent sends text while it generates the text.
    pub streaming: Option<bool>,
    /// The agent can resume a saved conversation.
    pub resume: Option<bool>,
    /// The agent has several modes.
    pub modes: Option<bool>,
    /// The agent lets the user choose the model.
    pub models: Option<bool>,
    /// The agent shows its thoughts.
    pub thinking: Option<bool>,
    /// The agent lists its MCP servers.
    pub mcp: Option<bool>,
    /// The agent's program has commands that enable and disable an MCP server.
    pub mcp_switching: Option<bool>,
    /// The agent has a mode in which it asks for no permissions.
    pub skips_permissions: Option<bool>,
    /// The agent lists its saved conversations.
    pub conversations: Option<bool>,
}

impl StaticCapabilities {
    /// All abilities except the commands that enable and disable an MCP server.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoginState {
    NotNeeded,
    Yes {
        /// Name of the account or kind of the credential, if known.
        account: Option<String>,
    },
    /// The user is not logged in.
    No,
    /// It is unknown if the user is logged in.
    Unknown,
}

/// Summary of a saved conversation that the agent can resume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationCard {
    /// Short id that [`conversation_id`] derives from the agent's own conversation id.
    pub id: String,
    /// Summary of the conversation in one line.
    pub title: String,
    /// Time of the last message, if known.
    pub at: Option<SystemTime>,
    /// Working directory of the conversation, if known.
    pub directory: Option<PathBuf>,
}

/// Request about the agents themselves, not about a conversation: lists, logins, MCP servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentRequest {
    /// Lists all agents.
    Agents,
    /// Returns the installation, version, login and MCP servers of the agent.
    Status,
    /// Lists the models of the agent.
    Models,
    /// Lists the MCP servers of the agent.
    Mcp,
    /// Enables or disables an MCP server of the agent.
    SwitchMcp {
        server: String,
        /// True to enable the server, false to disable it.
        on: bool,
    },
    /// Lists the saved conversations of the agent.
    Conversations,
    LogIn,
    /// Submits a code to the running login, such as the code that a web page has shown to the user.
    #[serde(rename = "TellLogin")]
    SubmitLoginCode(String),
    #[serde(rename = "StopLogin")]
    CancelLogin,
    LogOut,
    /// Adds the agent to the space and makes the agent the chat target.
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
        /// True if a command can enable and disable the servers.
        switching: bool,
    },
    /// Saved conversations of an agent.
    Conversations {
        agent: String,
        conversations: Vec<ConversationCard>,
    },
    /// Progress of a running login, or result of a finished login.
    LoggedIn {
        agent: String,
        done: LoginStatus,
    },
    /// Result of a logout.
    LoggedOut {
        agent: String,
        done: LogoutResult,
    },
    /// The agent has joined under this id.
    #[serde(rename = "TakesPart")]
    Joined(String),
    /// The request succeeded, with a human-readable message.
    Done(String),
}

/// Status of an agent, to be displayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusCard {
    pub card: AgentCard,
    /// Further properties to display, such as the platform and the model: name and value.
    pub about: Vec<(String, String)>,
    /// MCP servers, or an error message if the list is not available.
    pub mcp: Result<Vec<McpServer>, String>,
    /// State of the agent in this space; `None` if it has not joined.
    pub running: Option<RunningCard>,
}

/// State of an agent that has joined the space.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunningCard {
    /// Model in use, if known.
    pub model: Option<String>,
    /// Mode in use, if known.
    pub mode: Option<String>,
    /// Id of the agent's conversation, derived by [`conversation_id`]; `None` if the conversation cannot be resumed
    /// yet.
    pub conversation: Option<String>,
    /// Number of turns of the agent in this space.
    pub turns: u64,
}

/// Model that an agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCard {
    pub id: String,
    /// Display name of the model.
    pub title: String,
    /// True if the agent uses the model unless the user chooses another one.
    pub is_default: bool,
    /// True if the user chose this model last.
    pub is_current: bool,
}

/// MCP server that an agent has configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    pub name: String,
    /// Status as reported by the agent: `connected`, `not loaded`, `disabled`, ….
    pub status: String,
    /// Reason for the status, for example an error of the server.
    pub reason: Option<String>,
}

/// Method by which a user logs in to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoginMethod {
    /// The user logs in on a web page.
    Browser,
    /// The agent stores an API key of the user.
    ApiKey,
    /// An environment variable contains the credential.
    Variable,
    /// The user logs in on the agent's own terminal.
    Terminal,
}

impl LoginMethod {
    /// Returns the name of the method in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::ApiKey => "api_key",
            Self::Variable => "env_var",
            Self::Terminal => "terminal",
        }
    }
}

/// Progress of a running login, or result of a finished login.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoginStatus {
    pub success: bool,
    /// True if the login is still running. A notice in the space reports the result.
    pub pending: bool,
    /// Name of the account or kind of the credential.
    pub account: Option<String>,
    pub method: Option<LoginMethod>,
    /// Message from the agent's login.
    pub message: Option<String>,
    /// Instructions for the user's next step, if there is one.
    pub instructions: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogoutResult {
    /// True if the agent's stored credential was removed.
    pub success: bool,
    /// True if the agent has a way to log out.
    pub supported: bool,
    /// Human-readable text of the message.
    pub message: String,
}

/// Derives a short id from an agent's own conversation id. The same conversation always has the same id.
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
