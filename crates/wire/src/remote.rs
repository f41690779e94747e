//! The small remote control of a chat: `POST /message` and `GET /history`, as the Gemini CLI's remote control has them.
//! Described for its users in `docs/agent-cli-access.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `POST /message`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageRequest {
    /// What to say.
    pub message: String,
    /// To whom; the chat's targets when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<String>>,
    /// The caller's name for this message: the same name is said once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Pass the text to the model as it is: no slash command, no envelope. Refused (409, `not_literal`) where the agent would
    /// interpret its first character itself.
    #[serde(default)]
    pub literal: bool,
    /// Allow a text that begins with `!`, by which an agent may run a shell command.
    #[serde(default)]
    pub allow_shell: bool,
}

/// What a message answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageBody {
    /// Always `Message submitted`.
    pub status: String,
    /// The name by which `/control/receipts/{request_id}` tells what became of it.
    pub request_id: String,
    /// The turn that it started, if somebody takes it up.
    pub turn: Option<String>,
    /// How far it is.
    pub stage: String,
    /// Why it failed, in words: of a retry whose first message failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it failed, as a code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The id was seen before: nothing was said again.
    pub duplicate: bool,
    /// Lines that a slash command came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// Extent of a text that is not shown whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtentBody {
    /// Bytes that are here.
    pub shown: u64,
    /// Bytes that there are, or were.
    pub whole: u64,
}

/// One entry of `GET /history`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// `user` or `model`.
    pub role: String,
    /// What was said.
    pub text: String,
    /// Present if the text is not shown whole; `GET /control/items/{id}/output` has the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<ExtentBody>,
    /// With `?details=1`: its id, the same as in `/control/messages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// With `?details=1`: who said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// With `?details=1`: when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// With `?details=1`: the turns that a message started, and the turn that an answer belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<String>,
}
