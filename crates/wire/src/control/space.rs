//! Bodies of `/control/questions`, `/control/items/{id}/output`, `/control/answer`, `/control/interrupt`,
//! `/control/command` and `/control/receipts`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Response body of `GET /control/questions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionsBody {
    /// Open questions, oldest first.
    pub questions: Vec<QuestionBody>,
}

/// An open question of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionBody {
    /// Question id, used in the answer.
    pub id: String,
    /// Participant that asks the question.
    pub from: String,
    /// `permission`, `choice`, `text`, or `secret` for text that is neither displayed nor stored.
    pub kind: String,
    /// One-line question text.
    pub title: String,
    /// Details, for example the command to run or the change to a file.
    pub details: Vec<DetailBody>,
    /// Answers to choose from.
    pub options: Vec<OptionBody>,
    /// True if free text is accepted as an answer.
    pub accepts_text: bool,
    /// True if a default answer may be preselected. False if an accidental Enter could do harm.
    pub preselects: bool,
    /// Id of the turn that waits for the answer.
    pub turn: Option<String>,
    /// Time of the question.
    pub asked_at: String,
}

/// Detail of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DetailBody {
    /// Explanatory text for the user.
    Text {
        /// The text itself.
        text: String,
    },
    /// A command that the agent wants to run.
    Command {
        /// The command line.
        command: String,
    },
    /// A file or directory.
    Path {
        /// Path of the file or directory.
        path: String,
    },
    /// A change to a file.
    Diff {
        /// Path of the file.
        path: String,
        /// Current content; null if the file is new.
        old: Option<String>,
        /// Proposed new content.
        new: String,
    },
    /// Input of a tool call.
    Input {
        /// Name of the tool.
        tool: String,
        /// Input of the call.
        input: Value,
    },
}

/// Answer that can be chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OptionBody {
    /// Option id, used in the answer.
    pub id: String,
    /// Display text of the option.
    pub label: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always` or `other`.
    pub kind: String,
}

/// Response body of `GET /control/items/{id}/output`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputBody {
    /// Id of the item.
    pub item: String,
    /// Start of this part as a byte offset in the UTF-8 output.
    pub offset: u64,
    /// Text of this part: message, reasoning or tool output. A file change is shown as a patch.
    pub text: String,
    /// Offset of the next part; null at the end.
    pub next: Option<u64>,
    /// Number of output bytes in the item itself, whose text may be truncated.
    pub shown: u64,
    /// Total number of bytes of the output.
    pub whole: u64,
}

/// Request body of `POST /control/answer`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// Id of the question.
    pub id: String,
    /// Id of the chosen option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// Free text: the answer itself, or a reason for the chosen option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Idempotency key chosen by the caller. A repeated request with the same key has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Request body of `POST /control/interrupt`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterruptRequest {
    /// Participant to interrupt. Default: every participant that is working.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
    /// Idempotency key chosen by the caller. A repeated request with the same key has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Request body of `POST /control/command`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandRequest {
    /// Slash command, as a user would type it.
    pub command: String,
    /// Idempotency key chosen by the caller. A repeated request with the same key has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// Response body of an executed command: an answer, an interrupt or a slash command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoneBody {
    /// Always true on success.
    pub ok: bool,
    /// Output of the command, for display.
    pub lines: Vec<String>,
    /// Receipt of the command; null for commands that only affect the UI.
    pub receipt: Option<ReceiptBody>,
    /// True if an earlier request had the same request id. Nothing was executed again; `receipt` is the receipt of the
    /// earlier request.
    pub duplicate: bool,
}

/// Receipt of one command, with the stages that the command has reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptBody {
    /// Request id from the caller, or an id assigned by wh if the caller sent none.
    pub request_id: String,
    /// Current stage: `accepted`, `delivered`, `submitted`, `started`, `finished` or `failed`.
    pub stage: String,
    /// Failure message, if the command failed.
    pub reason: Option<String>,
    /// Failure code for programs: `cancelled`, `cut_off`, `interrupted`, `ended`, `failed` or another reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Warning that the agent may not know the whole conversation.
    pub warning: Option<String>,
    /// Id of the message that the command added, if any.
    pub message: Option<String>,
    /// Id of the turn that the command started.
    pub turn: Option<String>,
    /// All stages reached so far, with their times.
    pub reached: Vec<ReachedBody>,
}

/// Stage of a receipt, with its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReachedBody {
    /// Name of the stage.
    pub stage: String,
    /// Time at which the stage was reached.
    pub at: String,
}
