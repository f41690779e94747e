//! Bodies of `/agents`: the known agents, their login, models, MCP servers and saved conversations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Response body of `GET /agents`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsBody {
    /// All known agents, installed or not, in display order.
    pub agents: Vec<AgentBody>,
}

/// Agent known to wh, installed or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentBody {
    /// Id that selects the agent. Also the agent's participant name.
    pub id: String,
    /// Display name of the agent.
    pub title: String,
    /// True if the agent is installed.
    pub installed: bool,
    /// Installed version, if known.
    pub version: Option<String>,
    /// Login state: `yes`, `no`, `not_needed` or `unknown`.
    pub logged_in: String,
    /// Account or credential in use, if known.
    pub account: Option<String>,
    /// Instructions for making the agent usable; null if wh knows of no problem.
    pub hint: Option<String>,
    /// True if the agent has joined this space.
    pub taking_part: bool,
    /// Features that the agent supports.
    #[serde(default)]
    pub capabilities: AgentCapabilities,
}

/// Features of an agent that are known before the agent is started. Unknown features are null.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AgentCapabilities {
    /// True if the agent streams its answers while it writes them.
    pub streaming: Option<bool>,
    /// True if the agent can resume a saved conversation.
    pub resume: Option<bool>,
    /// True if the agent has several modes.
    pub modes: Option<bool>,
    /// True if the agent offers a choice of models.
    pub model_selection: Option<bool>,
    /// True if the agent shows its reasoning.
    pub thinking: Option<bool>,
    /// True if the agent can list its MCP servers.
    pub mcp: Option<bool>,
    /// True if the agent has commands that enable and disable MCP servers.
    pub mcp_switching: Option<bool>,
    /// True if the agent has a mode that skips permission requests. `--allow-skipping-permissions` enables this mode.
    pub skips_permissions: Option<bool>,
    /// True if the agent can list its saved conversations.
    pub session_listing: Option<bool>,
}

/// Response body of `GET /agents/{id}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStatusBody {
    /// The agent itself.
    pub agent: AgentBody,
    /// Additional facts that the agent reports about itself.
    pub about: BTreeMap<String, String>,
    /// MCP servers of the agent; null if unknown.
    pub mcp: Option<Vec<AgentMcpServer>>,
    /// Reason why the MCP servers are unknown.
    pub mcp_problem: Option<String>,
    /// State of the agent in this space; null if the agent has not joined.
    #[serde(default)]
    pub running: Option<AgentRunning>,
}

/// State of an agent that has joined the space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRunning {
    /// Model in use, if known.
    pub model: Option<String>,
    /// Mode in use, if known.
    pub mode: Option<String>,
    /// Id of the current conversation, as listed by `GET /agents/{id}/sessions`; null if the conversation cannot be
    /// resumed.
    pub session: Option<String>,
    /// Number of turns of the agent in this space.
    pub turns: u64,
}

/// Response body of `GET /agents/{id}/models`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentModelsBody {
    /// Models that the agent offers.
    pub models: Vec<AgentModel>,
}

/// A model that an agent offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentModel {
    /// Id that selects the model.
    pub id: String,
    /// Display name of the model.
    pub name: String,
    /// True if the agent uses this model by default.
    pub is_default: bool,
    /// True if this model is selected.
    pub is_current: bool,
}

/// Response body of `GET /agents/{id}/mcp`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMcpBody {
    /// MCP servers of the agent.
    pub servers: Vec<AgentMcpServer>,
}

/// An MCP server of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMcpServer {
    /// Name of the server.
    pub name: String,
    /// Status as reported by the agent.
    pub status: String,
    /// Reason for the status, if the agent gives one.
    pub reason: Option<String>,
}

/// Response body of `GET /agents/{id}/sessions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentConversationsBody {
    /// Saved conversations of the agent in the space's directory, newest first.
    pub sessions: Vec<AgentConversation>,
}

/// A conversation saved by an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentConversation {
    /// Id for `POST /agents/{id}/start`. Assigned by wh; the agent's own id is not exposed.
    pub id: String,
    /// One-line summary of the conversation.
    pub title: String,
    /// Time of the last message.
    pub updated_at: Option<String>,
    /// Working directory of the conversation.
    pub directory: Option<String>,
}

/// Request body of `POST /agents/{id}/login`. Without a body, a login is started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(example = json!({}))]
pub struct AgentLoginRequest {
    /// Code that the pending login asks for, for example a code shown on a web page.
    pub code: Option<String>,
    /// Cancels the pending login.
    pub cancel: bool,
}

/// Response body of `POST /agents/{id}/login`: state of the login.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLoginBody {
    /// True if the login succeeded.
    pub success: bool,
    /// True while the login is in progress. The result of the login is reported in the space.
    pub pending: bool,
    /// Account or credential in use.
    pub account: Option<String>,
    /// Login method: `browser`, `api_key`, `env_var` or `terminal`.
    pub method: Option<String>,
    /// Message of the agent, or a description of the action taken.
    pub message: Option<String>,
    /// True if the user must act to complete the login.
    pub requires_manual_action: bool,
    /// Instructions for the user.
    pub instructions: Option<String>,
}

/// Response body of `POST /agents/{id}/logout`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLogoutBody {
    /// True if the agent's stored login was removed.
    pub success: bool,
    /// True if the agent supports logout.
    pub supported: bool,
    /// Result for display, one or two sentences.
    pub message: String,
}

/// Request body of `POST /agents/{id}/start`. Without a body, a new conversation is started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(example = json!({}))]
pub struct AgentStartRequest {
    /// Id of the saved conversation to resume, from `GET /agents/{id}/sessions`. If the agent has already joined, its
    /// current conversation is ended first.
    pub session: Option<String>,
}

/// Response body of `POST /agents/{id}/start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStartedBody {
    /// Always true on success.
    pub ok: bool,
    /// Participant name of the agent.
    pub participant: String,
}
