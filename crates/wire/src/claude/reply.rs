//! What the agent answers to our requests.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;

use super::{
    json::{lax, or_default},
    permission::PermissionMode,
};

/// The answer to a request of ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The request.
    pub request_id: String,
    /// What came of it; null if the agent says no more than that it was done.
    pub outcome: Result<Value, Refusal>,
}

/// Why a request of ours was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// In words.
    pub message: String,
    /// In one word: `unsupported_request`, `bypass_not_launched`, …
    pub code: Option<String>,
}

impl<'de> Deserialize<'de> for Reply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Frame {
            response: Body,
        }

        #[derive(Deserialize)]
        struct Body {
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
            "error" => Err(Refusal {
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

/// What the agent answers to `initialize`. It has no session id: that comes with the first turn.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct InitializeReply {
    /// What can be called with a slash.
    #[serde(deserialize_with = "lax")]
    pub commands: Vec<CommandInfo>,
    /// The models to choose from.
    #[serde(deserialize_with = "lax")]
    pub models: Vec<ModelInfo>,
    /// The agent's version.
    #[serde(deserialize_with = "lax")]
    pub claude_code_version: Option<String>,
    /// Its process.
    #[serde(deserialize_with = "lax")]
    pub pid: Option<u32>,
    /// What it may do without asking.
    #[serde(deserialize_with = "lax")]
    pub current_permission_mode: Option<PermissionMode>,
    /// Whether a matcher's `onFailure` counts.
    #[serde(deserialize_with = "lax")]
    pub hook_on_failure_supported: bool,
    /// What this version of the protocol can do.
    #[serde(deserialize_with = "lax")]
    pub capabilities: Vec<String>,
}

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandInfo {
    /// Its name without the slash.
    pub name: String,
    /// What it does.
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// What can follow it.
    #[serde(default, deserialize_with = "or_default")]
    pub argument_hint: String,
    /// Its other names.
    #[serde(default, deserialize_with = "or_default")]
    pub aliases: Vec<String>,
}

/// A model to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// What `set_model` takes.
    pub value: String,
    /// Its name for people.
    #[serde(default, deserialize_with = "or_default")]
    pub display_name: String,
    /// More about it.
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// The model that it stands for.
    pub resolved_model: Option<String>,
}

/// What the agent answers to `interrupt`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct InterruptReply {
    /// Messages of ours that still wait.
    #[serde(deserialize_with = "lax")]
    pub still_queued: Vec<String>,
    /// Messages of ours that were taken back.
    #[serde(deserialize_with = "lax")]
    pub cancelled: Vec<String>,
}

/// What the agent answers to `rewind_files`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RewindReply {
    /// Whether it can be done, or was done.
    #[serde(deserialize_with = "lax")]
    pub can_rewind: bool,
    /// Why not.
    #[serde(deserialize_with = "lax")]
    pub error: Option<String>,
    /// The files.
    #[serde(deserialize_with = "lax")]
    pub files_changed: Vec<String>,
    /// Lines more.
    #[serde(deserialize_with = "lax")]
    pub insertions: u64,
    /// Lines fewer.
    #[serde(deserialize_with = "lax")]
    pub deletions: u64,
}
