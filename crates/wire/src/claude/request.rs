//! What we ask of the agent: our control requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::permission::PermissionMode;

/// The id of a request: the counter makes it unique in this process, the random part beyond it.
pub fn request_id(counter: u64, random: u32) -> String {
    format!("req_{counter}_{random:08x}")
}

/// What is asked of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Introduces us; comes first. Answered by [`InitializeReply`](super::InitializeReply).
    Initialize(Box<Initialize>),
    /// Ends the turn. Answered by [`InterruptReply`](super::InterruptReply).
    Interrupt {
        /// Takes back messages that still wait, too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cancel_queued: Option<bool>,
    },
    /// Another model.
    SetModel {
        /// Which; none for the agent's own choice.
        model: Option<String>,
    },
    /// What the agent may do without asking.
    SetPermissionMode {
        /// The mode.
        mode: PermissionMode,
    },
    /// Files back to what they were at a message. Answered by [`RewindReply`](super::RewindReply).
    RewindFiles {
        /// The message, by the id that we gave.
        user_message_id: String,
        /// Only says what would be done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dry_run: Option<bool>,
    },
    /// How the MCP servers fare.
    McpStatus {},
    /// Connects an MCP server again.
    McpReconnect {
        /// Which.
        #[serde(rename = "serverName")]
        server_name: String,
    },
    /// Switches an MCP server on or off.
    McpToggle {
        /// Which.
        #[serde(rename = "serverName")]
        server_name: String,
        /// On.
        enabled: bool,
    },
    /// Other MCP servers, in the place of those set so before.
    McpSetServers {
        /// Their settings by name.
        servers: Map<String, Value>,
    },
    /// A message from an MCP server of ours.
    McpMessage {
        /// The server.
        server_name: String,
        /// The JSON-RPC message.
        message: Value,
    },
    /// What fills the context.
    GetContextUsage {
        /// `summary` or `full`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// Ends a task of the agent's.
    StopTask {
        /// Which.
        task_id: String,
    },
    /// The models to choose from.
    ListModels {},
    /// Takes back a message that still waits.
    CancelAsyncMessage {
        /// Which, by the id that we gave.
        message_uuid: String,
    },
    /// Anything else.
    #[serde(untagged)]
    Other(OtherRequest),
}

impl Request {
    /// A request that has no type here.
    pub fn other(subtype: impl Into<String>, mut fields: Map<String, Value>) -> Self {
        fields.remove("subtype");
        Self::Other(OtherRequest { subtype: subtype.into(), fields })
    }
}

/// A request that has no type here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherRequest {
    subtype: String,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// How we introduce ourselves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Initialize {
    /// The hooks that we want to hear of, by event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<BTreeMap<String, Vec<HookMatcher>>>,
    /// The MCP servers that we are, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdk_mcp_servers: Option<Vec<String>>,
    /// Subagents by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Map<String, Value>>,
    /// In the place of the agent's own prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<Vec<String>>,
    /// After the agent's own prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append_system_prompt: Option<String>,
    /// False: the prompt is made anew for every request. Otherwise the first one is kept, also when the session is resumed
    /// with another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt_snapshot: Option<bool>,
    /// In the place of what the agent is told of plans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_mode_instructions: Option<String>,
    /// Says with the first message, and not in the prompt, where the agent works and remembers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude_dynamic_sections: Option<bool>,
    /// The shape of the last answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<Value>,
    /// The session's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The skills to have; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// Whether to suggest what the person might say next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_suggestions: Option<bool>,
    /// Whether subagents say what they have done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_progress_summaries: Option<bool>,
    /// Whether what subagents say is passed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_subagent_text: Option<bool>,
    /// The dialogs that we can show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supported_dialog_kinds: Option<Vec<String>>,
    /// Whether a person can end single tasks here: then an interrupt spares those in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_task_stop_affordance: Option<bool>,
}

/// The calls of an event that we want to hear of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookMatcher {
    /// Which tools; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// Our names for what is to be called.
    pub hook_callback_ids: Vec<String>,
    /// Seconds that we have for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// `block`: without an answer of ours the action does not happen; `continue`, the default: it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<String>,
}
