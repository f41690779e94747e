//! Tool calls and permission requests.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::content::ContentBlock;
use super::lenient::{self, string_enum};

string_enum! {
    /// Kind of a tool.
    ToolKind {
        /// Reads files or data.
        Read = "read",
        /// Modifies existing files.
        Edit = "edit",
        /// Deletes existing files.
        Delete = "delete",
        /// Moves or renames files.
        Move = "move",
        /// Searches for information.
        Search = "search",
        /// Runs a command.
        Execute = "execute",
        /// Thinks, without external effects.
        Think = "think",
        /// Fetches external data.
        Fetch = "fetch",
        /// Changes the mode of the session.
        SwitchMode = "switch_mode",
    }
}

string_enum! {
    /// Progress of a tool call.
    ToolStatus {
        /// Not started yet.
        Pending = "pending",
        /// Running at the moment.
        InProgress = "in_progress",
        /// Ended with success.
        Completed = "completed",
        /// Ended with an error.
        Failed = "failed",
    }
}

string_enum! {
    /// Effect of a permission option.
    PermissionKind {
        /// Allows this call only.
        AllowOnce = "allow_once",
        /// Allows this and future calls.
        AllowAlways = "allow_always",
        /// Rejects this call only.
        RejectOnce = "reject_once",
        /// Rejects this and future calls.
        RejectAlways = "reject_always",
    }
}

/// Tool call, or an update of a tool call. Fields that are absent in an update have not changed.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolCall {
    /// Id of the call.
    #[serde(deserialize_with = "lenient::field")]
    pub tool_call_id: String,
    /// Title for display.
    #[serde(deserialize_with = "lenient::field")]
    pub title: Option<String>,
    /// Name of the tool, if the agent reports it.
    #[serde(deserialize_with = "lenient::field")]
    pub name: Option<String>,
    /// Kind of the tool.
    #[serde(deserialize_with = "lenient::field")]
    pub kind: Option<ToolKind>,
    /// Progress of the call.
    #[serde(deserialize_with = "lenient::field")]
    pub status: Option<ToolStatus>,
    /// All content produced so far.
    #[serde(deserialize_with = "lenient::maybe_list")]
    pub content: Option<Vec<ToolContent>>,
    /// Files that the call affects.
    #[serde(deserialize_with = "lenient::maybe_list")]
    pub locations: Option<Vec<FileLocation>>,
    /// Input of the call.
    #[serde(deserialize_with = "lenient::field")]
    pub raw_input: Option<Value>,
    /// Output of the call.
    #[serde(deserialize_with = "lenient::field")]
    pub raw_output: Option<Value>,
}

/// Position in a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FileLocation {
    /// Path of the file.
    pub path: String,
    /// Line number, if known.
    #[serde(default, deserialize_with = "lenient::field")]
    pub line: Option<u64>,
}

/// Content produced by a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolContent {
    /// Content block of the result.
    Content(ContentBlock),
    /// Change of a file.
    Diff {
        /// Path of the file.
        path: String,
        /// Previous content; `None` for a new file.
        old: Option<String>,
        /// New content of the file.
        new: String,
    },
    /// Id of a terminal that the client created for the agent.
    Terminal(String),
    /// Content of an unknown kind, as received.
    Unknown(Value),
}

impl From<Value> for ToolContent {
    fn from(mut value: Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let known = match value["type"].as_str() {
            Some("content") => Some(Self::Content(value["content"].take().into())),
            Some("diff") => text(&value["path"]).zip(text(&value["newText"])).map(|(path, new)| Self::Diff {
                path,
                old: text(&value["oldText"]),
                new,
            }),
            Some("terminal") => text(&value["terminalId"]).map(Self::Terminal),
            _ => None,
        };
        known.unwrap_or(Self::Unknown(value))
    }
}

impl<'de> Deserialize<'de> for ToolContent {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(Self::from)
    }
}

/// Parameters of `session/request_permission`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionRequest {
    /// Id of the session.
    #[serde(deserialize_with = "lenient::field")]
    pub session_id: Option<String>,
    /// Tool call that needs permission. The agent may not have reported this call before.
    #[serde(deserialize_with = "lenient::field")]
    pub tool_call: ToolCall,
    /// Answers to choose from.
    #[serde(deserialize_with = "lenient::list")]
    pub options: Vec<PermissionOption>,
}

/// Answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// Id that selects the answer.
    pub option_id: String,
    /// Display text of the answer.
    #[serde(default, deserialize_with = "lenient::field")]
    pub name: Option<String>,
    /// Effect of the answer.
    #[serde(default, deserialize_with = "lenient::field")]
    pub kind: PermissionKind,
}
