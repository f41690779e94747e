//! Who could take part: the agents that there are, whether they can be used now, and the conversations that each of them
//! keeps.

mod lines;

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// An agent that could take part, or does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCard {
    /// What it is chosen by, and its name as a participant.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Whether it is there.
    pub installed: bool,
    /// Which version, if it says.
    pub version: Option<String>,
    /// Whether somebody is logged in with it.
    pub login: LoginState,
    /// What to do in order to use it; `None` when nothing is missing, as far as is known.
    pub hint: Option<String>,
    /// Whether it takes part in this space now.
    pub taking_part: bool,
    /// What it can do.
    pub abilities: Abilities,
}

/// What an agent can do, as far as that is known without starting one. `None`: only the running one tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Abilities {
    /// What it says comes while it is said.
    pub streaming: Option<bool>,
    /// It goes on with a conversation that it keeps.
    pub resume: Option<bool>,
    /// It works in several modes.
    pub modes: Option<bool>,
    /// Its model can be chosen.
    pub models: Option<bool>,
    /// It shows what it thinks.
    pub thinking: Option<bool>,
    /// It lists its MCP servers.
    pub mcp: Option<bool>,
    /// It switches them on and off by a command.
    pub mcp_switching: Option<bool>,
    /// It has a mode that skips permissions.
    pub skips_permissions: Option<bool>,
    /// It lists the conversations that it keeps.
    pub conversations: Option<bool>,
}

impl Abilities {
    /// All of them, but to switch MCP servers by a command.
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

/// Whether somebody is logged in with an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoginState {
    /// It needs no login.
    NotNeeded,
    /// Yes.
    Yes {
        /// As whom or by what, where that is known.
        account: Option<String>,
    },
    /// No.
    No,
    /// Nothing says.
    Unknown,
}

/// A conversation that an agent keeps, and that can be gone on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationCard {
    /// Its id: ours. What the agent calls it stays with whoever asked the agent.
    pub id: String,
    /// What it is about, in a line.
    pub title: String,
    /// When something was last said in it, where that is known.
    pub at: Option<SystemTime>,
    /// Where it was held, where that is known.
    pub directory: Option<PathBuf>,
}

/// What can be asked about an agent beside its conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// Which agents there are; about none in particular.
    Agents,
    /// How it is: installed, which version, who is logged in, its MCP servers.
    Status,
    /// Which models it offers.
    Models,
    /// Which MCP servers it has.
    Mcp,
    /// Switch an MCP server on or off.
    SwitchMcp {
        /// Which.
        server: String,
        /// On.
        on: bool,
    },
    /// Which conversations it keeps.
    Conversations,
    /// Log in.
    LogIn,
    /// Give a login that is under way what it asks for, as the code that a web page showed.
    TellLogin(String),
    /// Stop the login that is under way.
    StopLogin,
    /// Log out.
    LogOut,
    /// Have it take part, and chat go to it.
    Invite,
}

/// What came of an [`Ask`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Told {
    /// The agents.
    Agents(Vec<AgentCard>),
    /// How it is.
    Status(Box<StatusCard>),
    /// Its models.
    Models {
        /// Whose.
        agent: String,
        /// Which.
        models: Vec<ModelCard>,
    },
    /// Its MCP servers.
    Mcp {
        /// Whose.
        agent: String,
        /// Which.
        servers: Vec<McpServer>,
        /// They can be switched by a command.
        switching: bool,
    },
    /// Its conversations.
    Conversations {
        /// Whose.
        agent: String,
        /// Which.
        conversations: Vec<ConversationCard>,
    },
    /// How far the login came.
    LoggedIn {
        /// Whose.
        agent: String,
        /// How far.
        done: LoginDone,
    },
    /// What the logout came to.
    LoggedOut {
        /// Whose.
        agent: String,
        /// To what.
        done: LogoutDone,
    },
    /// It takes part, by this id.
    TakesPart(String),
    /// It was done; in a sentence.
    Done(String),
}

/// How an agent is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusCard {
    /// What is known of it.
    pub card: AgentCard,
    /// What else there is to say, a name and a value each: what it runs on, its model.
    pub about: Vec<(String, String)>,
    /// Its MCP servers, or why they are not known.
    pub mcp: Result<Vec<McpServer>, String>,
    /// How the one is that takes part.
    pub running: Option<RunningCard>,
}

/// How an agent is that takes part.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunningCard {
    /// The model in use, where it is known.
    pub model: Option<String>,
    /// The mode in use, where it is known.
    pub mode: Option<String>,
    /// Our id for the conversation that it is in, once that can be gone on with.
    pub conversation: Option<String>,
    /// Its turns in this space.
    pub turns: u64,
}

/// A model that an agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCard {
    /// What it is chosen by.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// It is used when nothing is said.
    pub is_default: bool,
    /// It was chosen last.
    pub is_current: bool,
}

/// An MCP server of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is, in the agent's words: `connected`, `not loaded`, `disabled`, ….
    pub status: String,
    /// Why.
    pub reason: Option<String>,
}

/// How somebody logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoginMethod {
    /// On a web page.
    Browser,
    /// With a key that the agent keeps.
    ApiKey,
    /// With a variable of the environment.
    Variable,
    /// On a terminal of the agent's own.
    Terminal,
}

impl LoginMethod {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::ApiKey => "api_key",
            Self::Variable => "env_var",
            Self::Terminal => "terminal",
        }
    }
}

/// How far a login came.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoginDone {
    /// Somebody is logged in.
    pub success: bool,
    /// It goes on, and its end will be told in the space.
    pub pending: bool,
    /// As whom or by what.
    pub account: Option<String>,
    /// How.
    pub method: Option<LoginMethod>,
    /// What the agent said.
    pub message: Option<String>,
    /// What the person has to do, where something is left to them.
    pub instructions: Option<String>,
}

/// What a logout came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogoutDone {
    /// Nobody is logged in any more, as far as the agent's own login goes.
    pub success: bool,
    /// Whether the agent has a logout at all.
    pub supported: bool,
    /// In a sentence or two.
    pub message: String,
}

/// Our id for what this agent calls so: short, and the same each time.
pub fn conversation_id(agent: &str, own: &str) -> String {
    // FNV-1a, written out because a hash of the library may be another one in its next version.
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
        assert_eq!(conversation_id("a", "b"), "c9919042666b2", "it stays what it is in the next version too");
        assert_ne!(id, conversation_id("codex", "0f5b"), "two agents may have the same id");
        assert_ne!(conversation_id("ab", "c"), conversation_id("a", "bc"));
    }
}
