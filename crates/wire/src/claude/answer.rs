//! What we answer to the agent's questions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::permission::PermissionUpdate;

/// An answer to a question of the agent's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// To [`CanUseTool`](super::CanUseTool).
    Permission(PermissionResult),
    /// To [`UserDialog`](super::UserDialog).
    UserDialog(UserDialogResult),
    /// To [`Elicitation`](super::Elicitation).
    Elicitation(ElicitationResult),
    /// To [`McpMessage`](super::McpMessage).
    Mcp(McpReply),
    /// To [`HookCallback`](super::HookCallback).
    Hook(HookOutput),
    /// To anything else.
    Other(Value),
}

/// Whether a tool may run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum PermissionResult {
    /// It may.
    Allow {
        /// What it is to be called with. To a question of the agent's: its input with `answers`. Older agents want it
        /// always.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_input: Option<Value>,
        /// Changes to the rules: what "always" means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_permissions: Option<Vec<PermissionUpdate>>,
        /// The call.
        #[serde(default, rename = "toolUseID", skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<String>,
        /// `user_temporary` or `user_permanent`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision_classification: Option<String>,
    },
    /// It may not.
    Deny {
        /// What the model is told.
        message: String,
        /// Ends the turn, too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interrupt: Option<bool>,
        /// The call.
        #[serde(default, rename = "toolUseID", skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<String>,
        /// `user_reject`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision_classification: Option<String>,
    },
}

impl PermissionResult {
    /// It may run as it is called.
    pub fn allow(input: Value) -> Self {
        Self::Allow {
            updated_input: Some(input),
            updated_permissions: None,
            tool_use_id: None,
            decision_classification: None,
        }
    }

    /// It may not, for this reason.
    pub fn deny(message: impl Into<String>) -> Self {
        Self::Deny { message: message.into(), interrupt: None, tool_use_id: None, decision_classification: None }
    }
}

/// What a hook of ours says. The default lets the agent go on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HookOutput {
    /// False: the turn ends.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub proceed: Option<bool>,
    /// What the person is told of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// `approve` or `block`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A note for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Nothing of it in the transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// What the event has beside; `hookEventName` says of which event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<Value>,
}

/// What the person says to an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ElicitationResult {
    /// Whether.
    pub action: ElicitationAction,
    /// The form, filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}

/// Whether the person gives an MCP server what it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitationAction {
    /// Yes.
    Accept,
    /// No.
    Decline,
    /// Neither.
    Cancel,
}

/// What an MCP server of ours says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpReply {
    /// The JSON-RPC message.
    pub mcp_response: Value,
}

/// How a dialog ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase", deny_unknown_fields)]
pub enum UserDialogResult {
    /// The person was done with it.
    Completed {
        /// What came of it, by its kind.
        result: Value,
    },
    /// The person left it.
    Cancelled {},
}

impl From<PermissionResult> for Answer {
    fn from(result: PermissionResult) -> Self {
        Self::Permission(result)
    }
}

impl From<UserDialogResult> for Answer {
    fn from(result: UserDialogResult) -> Self {
        Self::UserDialog(result)
    }
}

impl From<ElicitationResult> for Answer {
    fn from(result: ElicitationResult) -> Self {
        Self::Elicitation(result)
    }
}

impl From<McpReply> for Answer {
    fn from(reply: McpReply) -> Self {
        Self::Mcp(reply)
    }
}

impl From<HookOutput> for Answer {
    fn from(output: HookOutput) -> Self {
        Self::Hook(output)
    }
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self::Other(value)
    }
}
