//! A tool call, and the permission for one.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::content::ContentBlock;
use super::soft::{self, words};

words! {
    /// What a tool does.
    ToolKind {
        /// Reads files.
        Read = "read",
        /// Changes files.
        Edit = "edit",
        /// Takes files away.
        Delete = "delete",
        /// Moves files.
        Move = "move",
        /// Searches.
        Search = "search",
        /// Runs a command.
        Execute = "execute",
        /// Thinks.
        Think = "think",
        /// Fetches from elsewhere.
        Fetch = "fetch",
        /// Changes the mode.
        SwitchMode = "switch_mode",
    }
}

words! {
    /// How far a call is.
    ToolStatus {
        /// It has not begun.
        Pending = "pending",
        /// It runs.
        InProgress = "in_progress",
        /// It is over.
        Completed = "completed",
        /// It came to nothing.
        Failed = "failed",
    }
}

words! {
    /// What an option of a permission means.
    PermissionKind {
        /// Yes, this time.
        AllowOnce = "allow_once",
        /// Yes, and from now on.
        AllowAlways = "allow_always",
        /// No, this time.
        RejectOnce = "reject_once",
        /// No, and never.
        RejectAlways = "reject_always",
    }
}

/// A call, or what has changed of one: what is absent is as it was.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolCall {
    /// Which.
    #[serde(deserialize_with = "soft::field")]
    pub tool_call_id: String,
    /// What it does, for people.
    #[serde(deserialize_with = "soft::field")]
    pub title: Option<String>,
    /// The tool, where the agent says.
    #[serde(deserialize_with = "soft::field")]
    pub name: Option<String>,
    /// What kind of tool.
    #[serde(deserialize_with = "soft::field")]
    pub kind: Option<ToolKind>,
    /// How far it is.
    #[serde(deserialize_with = "soft::field")]
    pub status: Option<ToolStatus>,
    /// What came of it so far, all of it.
    #[serde(deserialize_with = "soft::maybe_list")]
    pub content: Option<Vec<ToolContent>>,
    /// The files that it is about.
    #[serde(deserialize_with = "soft::maybe_list")]
    pub locations: Option<Vec<Location>>,
    /// Its input.
    #[serde(deserialize_with = "soft::field")]
    pub raw_input: Option<Value>,
    /// Its output.
    #[serde(deserialize_with = "soft::field")]
    pub raw_output: Option<Value>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Location {
    /// The file.
    pub path: String,
    /// The line.
    #[serde(default, deserialize_with = "soft::field")]
    pub line: Option<u64>,
}

/// Something that came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolContent {
    /// A block.
    Content(ContentBlock),
    /// A change to a file.
    Diff {
        /// The file.
        path: String,
        /// Before; absent for a new one.
        old: Option<String>,
        /// After.
        new: String,
    },
    /// A terminal of the client's.
    Terminal(String),
    /// Something else, as it came.
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

/// `session/request_permission`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionRequest {
    /// In which session.
    #[serde(deserialize_with = "soft::field")]
    pub session_id: Option<String>,
    /// The call, which may not have been told of before.
    #[serde(deserialize_with = "soft::field")]
    pub tool_call: ToolCall,
    /// The answers that there are.
    #[serde(deserialize_with = "soft::list")]
    pub options: Vec<PermissionOption>,
}

/// An answer to a permission.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    /// What it is chosen by.
    pub option_id: String,
    /// In words.
    #[serde(default, deserialize_with = "soft::field")]
    pub name: Option<String>,
    /// What it means.
    #[serde(default, deserialize_with = "soft::field")]
    pub kind: PermissionKind,
}
