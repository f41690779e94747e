//! Bodies of `POST /message` and `GET /history`, compatible with the remote control of the Gemini CLI. Specified in
//! `docs/agent-cli-access.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Request body of `POST /message`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageRequest {
    /// Text of the message.
    pub message: String,
    /// Recipients, by participant name. Default: the current chat targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<String>>,
    /// Idempotency key chosen by the caller. Repeating the request with the same key does not send the message again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Passes the text to the model unchanged, without slash command parsing or an envelope. Rejected (409,
    /// `not_literal`) if the agent would interpret the first character itself.
    #[serde(default)]
    pub literal: bool,
    /// Allows text that begins with `!`, which some agents run as a shell command.
    #[serde(default)]
    pub allow_shell: bool,
}

/// Response body of `POST /message`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageBody {
    /// Always `Message submitted`.
    pub status: String,
    /// Request id of the message. `GET /control/receipts/{request_id}` returns the progress of the message.
    pub request_id: String,
    /// Id of the turn that the message started; null if no agent has started a turn.
    pub turn: Option<String>,
    /// Current stage of the receipt.
    pub stage: String,
    /// Failure message. Present in the response to a retry if the original message failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Failure code for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// True if an earlier request had the same request id. The message was not sent again.
    pub duplicate: bool,
    /// Output lines of a slash command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// Number of included and total bytes of a truncated text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtentBody {
    /// Number of bytes that are included.
    pub shown: u64,
    /// Total number of bytes of the original text.
    pub whole: u64,
}

/// Entry of `GET /history`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// `user` or `model`.
    pub role: String,
    /// Text of the message.
    pub text: String,
    /// Present if the text is truncated; `GET /control/items/{id}/output` returns the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<ExtentBody>,
    /// Message id, the same as in `/control/messages`. Only with `?details=1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Sender of the message. Only with `?details=1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Time of the message. Only with `?details=1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Ids of the turns that a message started, or of the turn that an answer belongs to. Only with `?details=1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<String>,
}
