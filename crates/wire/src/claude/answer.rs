//! Responses to the agent's control requests.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::permission::PermissionUpdate;

/// Response to a control request of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// Response to [`CanUseTool`](super::CanUseTool).
    Permission(PermissionResult),
    /// Response to [`UserDialog`](super::UserDialog).
    UserDialog(UserDialogResult),
    /// Response to [`Elicitation`](super::Elicitation).
    Elicitation(ElicitationResult),
    /// Response to [`McpMessage`](super::McpMessage).
    Mcp(McpReply),
    /// Response to [`HookCallback`](super::HookCallback).
    Hook(HookOutput),
    /// Response to any other request.
    Other(Value),
}

/// Decision on a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum PermissionResult {
    /// The tool may run.
    Allow {
        /// Input to call the tool with; required by older versions of Claude Code. In the response to a question, the
        /// input of that question with the additional field `answers`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_input: Option<Value>,
        /// Changes to the permission rules, if the user chose an "always" option.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_permissions: Option<Vec<PermissionUpdate>>,
        /// Id of the tool call.
        #[serde(default, rename = "toolUseID", skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<String>,
        /// Scope of the decision: `user_temporary` or `user_permanent`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision_classification: Option<String>,
    },
    /// The tool must not run.
    Deny {
        /// Reason, passed to the model.
        message: String,
        /// If true, also ends the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interrupt: Option<bool>,
        /// Id of the tool call.
        #[serde(default, rename = "toolUseID", skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<String>,
        /// Kind of the decision: `user_reject`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision_classification: Option<String>,
    },
}

impl PermissionResult {
    /// Allows the call with unchanged input.
    pub fn allow(input: Value) -> Self {
        Self::Allow {
            updated_input: Some(input),
            updated_permissions: None,
            tool_use_id: None,
            decision_classification: None,
        }
    }

    /// Denies the call with a reason for the model.
    pub fn deny(message: impl Into<String>) -> Self {
        Self::Deny { message: message.into(), interrupt: None, tool_use_id: None, decision_classification: None }
    }
}

/// Response of a hook registered by the client. The default lets the agent continue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HookOutput {
    /// Ends the turn if false.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub proceed: Option<bool>,
    /// Message for the user about the end of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Decision of the hook: `approve` or `block`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Reason for the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Message for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_message: Option<String>,
    /// Omits the hook's output from the transcript if true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_output: Option<bool>,
    /// Additional fields, which depend on the event. The field `hookEventName` contains the name of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_specific_output: Option<Value>,
}

/// The user's response to an elicitation of an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ElicitationResult {
    /// Action chosen by the user.
    pub action: ElicitationAction,
    /// Completed form fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}

/// Action of the user on an elicitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitationAction {
    /// The user accepted.
    Accept,
    /// The user declined.
    Decline,
    /// The user dismissed the request.
    Cancel,
}

/// Response of an MCP server hosted by the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpReply {
    /// The JSON-RPC message.
    pub mcp_response: Value,
}

/// Result of a dialog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase", deny_unknown_fields)]
pub enum UserDialogResult {
    /// The user completed the dialog.
    Completed {
        /// Result, depending on the kind of dialog.
        result: Value,
    },
    /// The user cancelled the dialog.
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
