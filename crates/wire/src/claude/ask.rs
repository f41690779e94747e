//! What the agent asks: its control requests. Each wants an answer by its id; it can be withdrawn by
//! [`Incoming::Cancel`](super::Incoming::Cancel).

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess},
};
use serde_json::Value;

use super::{
    decode::Head,
    json::{Json, lax, or_default, read},
    permission::PermissionUpdate,
    tagged::{Fields, Tagged, tagged},
};

/// The agent asks something and waits.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Ask {
    /// What an answer must name.
    pub request_id: String,
    /// What it asks.
    #[serde(rename = "request", default = "nothing", deserialize_with = "kind")]
    pub kind: AskKind,
}

/// What the agent asks.
#[derive(Debug, Clone, PartialEq)]
pub enum AskKind {
    /// May a tool run? Also how the agent puts questions to the person. Answered by
    /// [`PermissionResult`](super::PermissionResult).
    CanUseTool(Box<CanUseTool>),
    /// A hook of ours fires. Answered by [`HookOutput`](super::HookOutput).
    HookCallback(HookCallback),
    /// A message for an MCP server of ours. Answered by [`McpReply`](super::McpReply).
    McpMessage(McpMessage),
    /// An MCP server wants something from the person. Answered by [`ElicitationResult`](super::ElicitationResult).
    Elicitation(Box<Elicitation>),
    /// A dialog for the person. Answered by [`UserDialogResult`](super::UserDialogResult); one of a kind that was not
    /// declared is to be left unanswered.
    UserDialog(UserDialog),
    /// Something else, to be answered with the error `unsupported_request`.
    Unknown {
        /// Its `subtype`, if it has one.
        subtype: Option<String>,
        /// All of it.
        raw: Json,
    },
}

/// May a tool run?
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CanUseTool {
    /// The tool.
    pub tool_name: String,
    /// What it is called with.
    #[serde(default)]
    pub input: Value,
    /// The call.
    pub tool_use_id: Option<String>,
    /// The subagent that calls; none for the main conversation.
    pub agent_id: Option<String>,
    /// The question in words.
    pub title: Option<String>,
    /// The tool's name for people.
    pub display_name: Option<String>,
    /// What the call does, in a line.
    pub description: Option<String>,
    /// What "always" could mean, to be sent back with the answer.
    #[serde(default, deserialize_with = "or_default")]
    pub permission_suggestions: Vec<PermissionUpdate>,
    /// The path for which it has to ask.
    pub blocked_path: Option<String>,
    /// Why it asks; may have escape sequences.
    pub decision_reason: Option<String>,
    /// The kind of the reason: `rule`, `mode`, `hook`, `safetyCheck`, …
    pub decision_reason_type: Option<String>,
    /// The rule by which it asks.
    #[serde(default, deserialize_with = "lax")]
    pub matched_ask_rule: Option<Value>,
    /// The MCP server that the tool is of.
    #[serde(default, deserialize_with = "lax")]
    pub mcp_server: Option<Value>,
    /// "Always" must not be offered.
    #[serde(default, deserialize_with = "or_default")]
    pub suppress_always_allow_rule: bool,
    /// Approval must not be preselected.
    #[serde(default, deserialize_with = "or_default")]
    pub default_to_no: bool,
    /// It is a question for the person: approving alone is no answer.
    #[serde(default, deserialize_with = "or_default")]
    pub requires_user_interaction: bool,
}

/// A hook of ours fires.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct HookCallback {
    /// The id that it was registered by.
    pub callback_id: String,
    /// What it is told; `hook_event_name` says of which event.
    #[serde(default)]
    pub input: Value,
    /// The call that it is about.
    pub tool_use_id: Option<String>,
}

/// A message for an MCP server of ours.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct McpMessage {
    /// The server.
    pub server_name: String,
    /// The JSON-RPC message.
    pub message: Value,
}

/// An MCP server wants something from the person.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Elicitation {
    /// The server.
    pub mcp_server_name: String,
    /// What it says.
    pub message: String,
    /// `form`, also when absent, or `url`.
    pub mode: Option<String>,
    /// The page to open.
    pub url: Option<String>,
    /// The question's id, for the end of one by `url`.
    pub elicitation_id: Option<String>,
    /// The fields of the form, as a JSON Schema.
    pub requested_schema: Option<Value>,
    /// The order of the fields.
    #[serde(default, deserialize_with = "lax")]
    pub property_order: Vec<String>,
    /// The question in words.
    pub title: Option<String>,
    /// The server's name for people.
    pub display_name: Option<String>,
    /// More about it.
    pub description: Option<String>,
}

/// A dialog for the person.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct UserDialog {
    /// Its kind.
    pub dialog_kind: String,
    /// What it is about, by its kind.
    #[serde(default)]
    pub payload: Value,
    /// The call that it is about.
    pub tool_use_id: Option<String>,
}

fn nothing() -> AskKind {
    AskKind::Unknown { subtype: None, raw: Json::from(Value::Null) }
}

/// A request that cannot be read is kept and not refused, because the agent waits for an answer by its id.
fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<AskKind, D::Error> {
    let raw = Json::deserialize(deserializer)?;
    Ok(read(raw.text()).unwrap_or_else(|_| {
        let Head { subtype, .. } = read(raw.text()).unwrap_or_default();
        AskKind::Unknown { subtype, raw }
    }))
}

impl<'de> Deserialize<'de> for AskKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer)
    }
}

impl Tagged for AskKind {
    const TAG: &'static str = "subtype";

    fn read<'de, A: MapAccess<'de>>(subtype: &str, fields: Fields<A>) -> Result<Self, A::Error> {
        Ok(match subtype {
            "can_use_tool" => Self::CanUseTool(fields.typed()?),
            "hook_callback" => Self::HookCallback(fields.typed()?),
            "mcp_message" => Self::McpMessage(fields.typed()?),
            "elicitation" => Self::Elicitation(fields.typed()?),
            "request_user_dialog" => Self::UserDialog(fields.typed()?),
            _ => return Err(A::Error::custom("an unknown subtype")),
        })
    }
}
