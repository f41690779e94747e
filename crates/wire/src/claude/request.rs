//! Control requests of the client.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::permission::PermissionMode;

/// Returns a request id. The counter makes the id unique within this process, the random part across processes.
pub fn request_id(counter: u64, random: u32) -> String {
    format!("req_{counter}_{random:08x}")
}

/// Control request to the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case", deny_unknown_fields)]
pub enum ClientRequest {
    /// Introduces the client. Must be sent first. Reply: [`InitializeReply`](super::InitializeReply).
    Initialize(Box<Initialize>),
    /// Interrupts the turn. Reply: [`InterruptReply`](super::InterruptReply).
    Interrupt {
        /// If true, also withdraws queued messages.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cancel_queued: Option<bool>,
    },
    /// Selects another model.
    SetModel {
        /// Model id; `None` for the agent's default.
        model: Option<String>,
    },
    /// Changes the permission mode.
    SetPermissionMode {
        /// New permission mode.
        mode: PermissionMode,
    },
    /// Restores files to their state at a message. Reply: [`RewindReply`](super::RewindReply).
    RewindFiles {
        /// Message id assigned by the client.
        user_message_id: String,
        /// If true, reports the changes without making them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dry_run: Option<bool>,
    },
    /// Queries the status of the MCP servers.
    McpStatus {},
    /// Reconnects an MCP server.
    McpReconnect {
        /// Name of the server.
        #[serde(rename = "serverName")]
        server_name: String,
    },
    /// Enables or disables an MCP server.
    McpToggle {
        /// Name of the server.
        #[serde(rename = "serverName")]
        server_name: String,
        /// True to enable the server.
        enabled: bool,
    },
    /// Replaces the MCP servers set by an earlier request.
    McpSetServers {
        /// Settings of the MCP servers, by server name.
        servers: Map<String, Value>,
    },
    /// Sends a message from an MCP server hosted by the client.
    McpMessage {
        /// Name of the server.
        server_name: String,
        /// The JSON-RPC message.
        message: Value,
    },
    /// Queries the usage of the context window.
    GetContextUsage {
        /// Level of detail: `summary` or `full`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// Stops a background task of the agent.
    StopTask {
        /// Id of the task.
        task_id: String,
    },
    /// Lists the models that can be selected.
    ListModels {},
    /// Withdraws a queued message.
    CancelAsyncMessage {
        /// Message id assigned by the client.
        message_uuid: String,
    },
    /// Any other request.
    #[serde(untagged)]
    Other(OtherRequest),
}

impl ClientRequest {
    /// Creates a request of a kind that has no variant in this enum.
    pub fn other(subtype: impl Into<String>, mut fields: Map<String, Value>) -> Self {
        fields.remove("subtype");
        Self::Other(OtherRequest { subtype: subtype.into(), fields })
    }
}

/// Control request of a kind that has no variant in [`ClientRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherRequest {
    subtype: String,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// Parameters of `initialize`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Initialize {
    /// Hooks to register, by event name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<BTreeMap<String, Vec<HookMatcher>>>,
    /// Names of the MCP servers hosted by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdk_mcp_servers: Option<Vec<String>>,
    /// Definitions of subagents, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Map<String, Value>>,
    /// Replaces the agent's system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<Vec<String>>,
    /// Text appended to the agent's system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append_system_prompt: Option<String>,
    /// If false, the system prompt is rebuilt for every request. Otherwise the first system prompt is reused, even if
    /// the session is resumed with a different system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt_snapshot: Option<bool>,
    /// Replaces the agent's plan mode instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_mode_instructions: Option<String>,
    /// If true, moves the information about the working directory and memory from the system prompt to the first
    /// message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude_dynamic_sections: Option<bool>,
    /// JSON Schema of the final answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<Value>,
    /// Title of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Skills to enable; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// Enables suggestions for the user's next message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_suggestions: Option<bool>,
    /// Enables progress summaries of subagents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_progress_summaries: Option<bool>,
    /// Enables forwarding of subagent text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_subagent_text: Option<bool>,
    /// Kinds of dialogs that the client can show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supported_dialog_kinds: Option<Vec<String>>,
    /// True if the user can stop individual tasks. An interrupt then leaves background tasks running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_task_stop_affordance: Option<bool>,
}

/// Hooks to register for one event, limited to the tools that match a pattern.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookMatcher {
    /// Pattern of tool names; `None` for all tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// Ids of the hooks, assigned by the client.
    pub hook_callback_ids: Vec<String>,
    /// Response timeout in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// Behaviour without a response: `block` prevents the action, `continue` (the default) lets it proceed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<String>,
}
