//! What `/agents` takes and gives: the agents that could take part in a space, and what can be asked about each.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// `GET /agents`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsBody {
    /// The agents that there are, installed or not, in the order in which to offer them.
    pub agents: Vec<AgentBody>,
}

/// An agent that could take part, or does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentBody {
    /// What it is chosen by, and its name as a participant.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Whether it is there.
    pub installed: bool,
    /// Which version, if it says.
    pub version: Option<String>,
    /// Whether somebody is logged in: `yes`, `no`, `not_needed` or `unknown`.
    pub logged_in: String,
    /// As whom or by what, where that is known.
    pub account: Option<String>,
    /// What to do in order to use it; null when nothing is missing, as far as is known.
    pub hint: Option<String>,
    /// Whether it takes part in this space now.
    pub taking_part: bool,
    /// What it can do.
    #[serde(default)]
    pub capabilities: AgentCapabilities,
}

/// What an agent can do, as far as that is known without starting one; null where only the running one tells.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AgentCapabilities {
    /// What it says comes while it is said.
    pub streaming: Option<bool>,
    /// It goes on with a conversation that it keeps.
    pub resume: Option<bool>,
    /// It works in several modes.
    pub modes: Option<bool>,
    /// Its model can be chosen.
    pub model_selection: Option<bool>,
    /// It shows what it thinks.
    pub thinking: Option<bool>,
    /// It lists its MCP servers.
    pub mcp: Option<bool>,
    /// It switches them on and off by a command.
    pub mcp_switching: Option<bool>,
    /// It has a mode that skips permissions, for `--allow-skipping-permissions`.
    pub skips_permissions: Option<bool>,
    /// It lists the conversations that it keeps.
    pub session_listing: Option<bool>,
}

/// `GET /agents/{id}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStatusBody {
    /// The agent.
    pub agent: AgentBody,
    /// What else it says of itself.
    pub about: BTreeMap<String, String>,
    /// Its MCP servers; null where they are not known.
    pub mcp: Option<Vec<AgentMcpServer>>,
    /// Why they are not known.
    pub mcp_problem: Option<String>,
    /// How the one is that takes part; null where none does.
    #[serde(default)]
    pub running: Option<AgentRunning>,
}

/// An agent that takes part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRunning {
    /// The model in use, where it is known.
    pub model: Option<String>,
    /// The mode in use, where it is known.
    pub mode: Option<String>,
    /// The conversation that it is in, as `GET /agents/{id}/sessions` calls it; null while there is none to go on with.
    pub session: Option<String>,
    /// Its turns in this space.
    pub turns: u64,
}

/// `GET /agents/{id}/models`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentModelsBody {
    /// The models that it offers.
    pub models: Vec<AgentModel>,
}

/// A model that an agent offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentModel {
    /// What it is chosen by.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// It is used when nothing is said.
    pub is_default: bool,
    /// It was chosen last.
    pub is_current: bool,
}

/// `GET /agents/{id}/mcp`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMcpBody {
    /// Its MCP servers.
    pub servers: Vec<AgentMcpServer>,
}

/// An MCP server of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMcpServer {
    /// Its name.
    pub name: String,
    /// How it is, in the agent's words.
    pub status: String,
    /// Why.
    pub reason: Option<String>,
}

/// `GET /agents/{id}/sessions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentConversationsBody {
    /// The conversations that it keeps of the space's directory, the newest first.
    pub sessions: Vec<AgentConversation>,
}

/// A conversation that an agent keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentConversation {
    /// Its id, for `POST /agents/{id}/start`. It is wh's: what the agent calls it stays inside.
    pub id: String,
    /// What it is about, in a line.
    pub title: String,
    /// When something was last said in it.
    pub updated_at: Option<String>,
    /// Where it was held.
    pub directory: Option<String>,
}

/// `POST /agents/{id}/login`; no body begins a login.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(example = json!({}))]
pub struct AgentLoginRequest {
    /// What a login that is under way asks for, as the code that a web page showed.
    pub code: Option<String>,
    /// Stop the login that is under way.
    pub cancel: bool,
}

/// What a login came to, so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLoginBody {
    /// Somebody is logged in.
    pub success: bool,
    /// It goes on; its end is told in the space.
    pub pending: bool,
    /// As whom or by what.
    pub account: Option<String>,
    /// `browser`, `api_key`, `env_var` or `terminal`.
    pub method: Option<String>,
    /// What the agent said, or what was done.
    pub message: Option<String>,
    /// Something is left to the person.
    pub requires_manual_action: bool,
    /// What that is.
    pub instructions: Option<String>,
}

/// What a logout came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLogoutBody {
    /// Its own login is gone.
    pub success: bool,
    /// Whether the agent has a logout at all.
    pub supported: bool,
    /// In a sentence or two.
    pub message: String,
}

/// `POST /agents/{id}/start`; no body begins a new conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(example = json!({}))]
pub struct AgentStartRequest {
    /// The conversation that it goes on with, by its id of `GET /agents/{id}/sessions`. One that takes part already is
    /// ended first.
    pub session: Option<String>,
}

/// An agent takes part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStartedBody {
    /// Always true.
    pub ok: bool,
    /// Its name as a participant.
    pub participant: String,
}
