//! Replies of the agent to control requests of the client.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;

use super::{
    json::{lax, or_default},
    permission::PermissionMode,
};

/// Reply to a control request of the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Id of the request.
    pub request_id: String,
    /// Result of the request. `Null` if the agent only confirms the request.
    pub outcome: Result<Value, ReplyError>,
}

/// Error reply to a control request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyError {
    /// Message for display.
    pub message: String,
    /// Error code: `unsupported_request`, `bypass_not_launched`, …
    pub code: Option<String>,
}

impl<'de> Deserialize<'de> for Reply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Frame {
            response: ReplyBody,
        }

        #[derive(Deserialize)]
        struct ReplyBody {
            subtype: String,
            request_id: String,
            #[serde(default)]
            response: Value,
            #[serde(default)]
            error: Value,
            error_code: Option<String>,
        }

        let Frame { response: body } = Frame::deserialize(deserializer)?;
        let outcome = match body.subtype.as_str() {
            "success" => Ok(body.response),
            "error" => Err(ReplyError {
                message: match body.error {
                    Value::String(message) => message,
                    other => other.to_string(),
                },
                code: body.error_code,
            }),
            other => return Err(D::Error::unknown_variant(other, &["success", "error"])),
        };
        Ok(Self { request_id: body.request_id, outcome })
    }
}

/// Reply to `initialize`. Does not contain the session id; the first turn reports the session id.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct InitializeReply {
    /// Available slash commands.
    #[serde(deserialize_with = "lax")]
    pub commands: Vec<CommandInfo>,
    /// Models that can be selected.
    #[serde(deserialize_with = "lax")]
    pub models: Vec<ModelInfo>,
    /// Version of the agent.
    #[serde(deserialize_with = "lax")]
    pub claude_code_version: Option<String>,
    /// Process id of the agent.
    #[serde(deserialize_with = "lax")]
    pub pid: Option<u32>,
    /// Permission mode at the start.
    #[serde(deserialize_with = "lax")]
    pub current_permission_mode: Option<PermissionMode>,
    /// True if the agent honours `onFailure` of hook matchers.
    #[serde(deserialize_with = "lax")]
    pub hook_on_failure_supported: bool,
    /// Names of the protocol features of this agent version.
    #[serde(deserialize_with = "lax")]
    pub capabilities: Vec<String>,
}

/// Slash command of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandInfo {
    /// Name without the slash.
    pub name: String,
    /// Description of the command.
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// Hint for the arguments.
    #[serde(default, deserialize_with = "or_default")]
    pub argument_hint: String,
    /// Alternative names of the command.
    #[serde(default, deserialize_with = "or_default")]
    pub aliases: Vec<String>,
}

/// Model that can be selected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// Value for `set_model`.
    pub value: String,
    /// Display name of the model.
    #[serde(default, deserialize_with = "or_default")]
    pub display_name: String,
    /// Description of the model.
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// Full model id that the value resolves to.
    pub resolved_model: Option<String>,
}

/// Reply to `interrupt`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct InterruptReply {
    /// Ids of client messages that are still queued.
    #[serde(deserialize_with = "lax")]
    pub still_queued: Vec<String>,
    /// Ids of client messages that were withdrawn.
    #[serde(deserialize_with = "lax")]
    pub cancelled: Vec<String>,
}

/// Reply to `rewind_files`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RewindReply {
    /// True if the rewind is possible or was done.
    #[serde(deserialize_with = "lax")]
    pub can_rewind: bool,
    /// Reason why the rewind is not possible.
    #[serde(deserialize_with = "lax")]
    pub error: Option<String>,
    /// Paths of the changed files.
    #[serde(deserialize_with = "lax")]
    pub files_changed: Vec<String>,
    /// Number of added lines.
    #[serde(deserialize_with = "lax")]
    pub insertions: u64,
    /// Number of removed lines.
    #[serde(deserialize_with = "lax")]
    pub deletions: u64,
}
