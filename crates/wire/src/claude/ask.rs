//! Control requests of the agent. The agent waits for a response with the id of the request, unless it withdraws the
//! request with [`Incoming::Cancel`](super::Incoming::Cancel).

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess},
};
use serde_json::Value;

use super::{
    decode::FrameHead,
    json::{Json, lax, or_default, read},
    permission::PermissionUpdate,
    tagged::{Tagged, TaggedFields, tagged},
};

/// Control request of the agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct IncomingRequest {
    /// Id that the response must contain.
    pub request_id: String,
    /// Content of the request.
    #[serde(rename = "request", default = "nothing", deserialize_with = "kind")]
    pub kind: IncomingRequestKind,
}

/// Content of a control request of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum IncomingRequestKind {
    /// Asks for permission to run a tool. The agent also uses this request for questions to the user. Response:
    /// [`PermissionResult`](super::PermissionResult).
    CanUseTool(Box<CanUseTool>),
    /// Calls a hook registered by the client. Response: [`HookOutput`](super::HookOutput).
    HookCallback(HookCallback),
    /// Sends a message to an MCP server hosted by the client. Response: [`McpReply`](super::McpReply).
    McpMessage(McpMessage),
    /// Forwards a request of an MCP server to the user. Response: [`ElicitationResult`](super::ElicitationResult).
    Elicitation(Box<Elicitation>),
    /// Shows a dialog to the user. Response: [`UserDialogResult`](super::UserDialogResult). Do not respond to a dialog
    /// whose kind the client did not declare in [`Initialize`](super::Initialize).
    UserDialog(UserDialog),
    /// Request of an unknown kind. Respond with the error `unsupported_request`.
    Unknown {
        /// Value of `subtype`, if present.
        subtype: Option<String>,
        /// The complete request as received.
        raw: Json,
    },
}

/// Request for permission to run a tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CanUseTool {
    /// Name of the tool.
    pub tool_name: String,
    /// Input of the call.
    #[serde(default)]
    pub input: Value,
    /// Id of the call.
    pub tool_use_id: Option<String>,
    /// Id of the subagent that makes the call; `None` for the main conversation.
    pub agent_id: Option<String>,
    /// Question text for the user.
    pub title: Option<String>,
    /// Display name of the tool.
    pub display_name: Option<String>,
    /// One-line description of the call.
    pub description: Option<String>,
    /// Rule changes to offer as "always" options. The response contains the changes that the user chose.
    #[serde(default, deserialize_with = "or_default")]
    pub permission_suggestions: Vec<PermissionUpdate>,
    /// Path that requires permission.
    pub blocked_path: Option<String>,
    /// Reason for the request; may contain escape sequences.
    pub decision_reason: Option<String>,
    /// Kind of the reason: `rule`, `mode`, `hook`, `safetyCheck`, …
    pub decision_reason_type: Option<String>,
    /// Rule that requires the permission.
    #[serde(default, deserialize_with = "lax")]
    pub matched_ask_rule: Option<Value>,
    /// MCP server that provides the tool.
    #[serde(default, deserialize_with = "lax")]
    pub mcp_server: Option<Value>,
    /// True if "always" must not be offered.
    #[serde(default, deserialize_with = "or_default")]
    pub suppress_always_allow_rule: bool,
    /// True if approval must not be preselected.
    #[serde(default, deserialize_with = "or_default")]
    pub default_to_no: bool,
    /// True if the request is a question for the user. Approval alone is then not a valid response.
    #[serde(default, deserialize_with = "or_default")]
    pub requires_user_interaction: bool,
}

/// Call of a hook registered by the client.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct HookCallback {
    /// Id under which the hook was registered.
    pub callback_id: String,
    /// Input of the hook. The field `hook_event_name` contains the name of the event.
    #[serde(default)]
    pub input: Value,
    /// Id of the tool call that triggered the hook.
    pub tool_use_id: Option<String>,
}

/// Message for an MCP server hosted by the client.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct McpMessage {
    /// Name of the server.
    pub server_name: String,
    /// The JSON-RPC message.
    pub message: Value,
}

/// Request of an MCP server for input from the user.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Elicitation {
    /// Name of the server.
    pub mcp_server_name: String,
    /// Message for the user.
    pub message: String,
    /// Input mode: `form` (the default) or `url`.
    pub mode: Option<String>,
    /// URL to open.
    pub url: Option<String>,
    /// Id used to report the completion of a `url` request.
    pub elicitation_id: Option<String>,
    /// JSON Schema of the form fields.
    pub requested_schema: Option<Value>,
    /// Display order of the fields.
    #[serde(default, deserialize_with = "lax")]
    pub property_order: Vec<String>,
    /// Question text for the user.
    pub title: Option<String>,
    /// Display name of the server.
    pub display_name: Option<String>,
    /// Longer description of the request.
    pub description: Option<String>,
}

/// Dialog to show to the user.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct UserDialog {
    /// Kind of dialog.
    pub dialog_kind: String,
    /// Content, depending on the kind.
    #[serde(default)]
    pub payload: Value,
    /// Id of the tool call that the dialog belongs to.
    pub tool_use_id: Option<String>,
}

fn nothing() -> IncomingRequestKind {
    IncomingRequestKind::Unknown { subtype: None, raw: Json::from(Value::Null) }
}

/// Decodes the request. A malformed request becomes `Unknown` instead of an error, because the agent waits for a
/// response to every request.
fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IncomingRequestKind, D::Error> {
    let raw = Json::deserialize(deserializer)?;
    Ok(read(raw.text()).unwrap_or_else(|_| {
        let FrameHead { subtype, .. } = read(raw.text()).unwrap_or_default();
        IncomingRequestKind::Unknown { subtype, raw }
    }))
}

impl<'de> Deserialize<'de> for IncomingRequestKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer)
    }
}

impl Tagged for IncomingRequestKind {
    const TAG: &'static str = "subtype";

    fn read<'de, A: MapAccess<'de>>(subtype: &str, fields: TaggedFields<A>) -> Result<Self, A::Error> {
        Ok(match subtype {
            "can_use_tool" => Self::CanUseTool(fields.typed()?),
            "hook_callback" => Self::HookCallback(fields.typed()?),
            "mcp_message" => Self::McpMessage(fields.typed()?),
            "elicitation" => Self::Elicitation(fields.typed()?),
            "request_user_dialog" => Self::UserDialog(fields.typed()?),
            _ => return Err(A::Error::custom(format_args!("unknown subtype `{subtype}`"))),
        })
    }
}
