//! What `/control/questions`, `/control/items/{id}/output`, `/control/answer`, `/control/interrupt`, `/control/command` and `/control/receipts` take
//! and give.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `GET /control/questions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionsBody {
    /// What waits for an answer, oldest first.
    pub questions: Vec<QuestionBody>,
}

/// Something that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionBody {
    /// Its id: what to answer by.
    pub id: String,
    /// Who asks.
    pub from: String,
    /// `permission`, `choice`, `text`, or `secret` for words that are neither shown nor kept.
    pub kind: String,
    /// What is asked, in one line.
    pub title: String,
    /// What it is about.
    pub details: Vec<DetailBody>,
    /// The answers to choose from.
    pub options: Vec<OptionBody>,
    /// Whether words of one's own are an answer too.
    pub accepts_text: bool,
    /// Whether an answer may be chosen to begin with; not where a hasty Enter could do harm.
    pub preselects: bool,
    /// The turn that waits.
    pub turn: Option<String>,
    /// Since when.
    pub asked_at: String,
}

/// A part of what a question is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum DetailBody {
    /// Explained in words.
    Text {
        /// The words.
        text: String,
    },
    /// A command that would be run.
    Command {
        /// The command.
        command: String,
    },
    /// A file or folder.
    Path {
        /// Its path.
        path: String,
    },
    /// A change to a file.
    Diff {
        /// Its path.
        path: String,
        /// What it holds; null if it is new.
        old: Option<String>,
        /// What it would hold.
        new: String,
    },
    /// What a tool would be given.
    Input {
        /// The tool.
        tool: String,
        /// Its input.
        input: Value,
    },
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OptionBody {
    /// Its id: what to answer with.
    pub id: String,
    /// What it says.
    pub label: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always` or `other`.
    pub kind: String,
}

/// `GET /control/items/{id}/output`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputBody {
    /// The item's id.
    pub item: String,
    /// Where this part begins, in bytes of UTF-8.
    pub offset: u64,
    /// This part: what was said or thought, or what a tool gave; a change to a file as a patch.
    pub text: String,
    /// Where the next part begins; null at the end.
    pub next: Option<u64>,
    /// Bytes that the item itself shows.
    pub shown: u64,
    /// Bytes that there are in all.
    pub whole: u64,
}

/// `POST /control/answer`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// The question's id.
    pub id: String,
    /// The id of the option chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// Words of one's own: the answer itself, or a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The caller's name for this command: the same name is carried out once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// `POST /control/interrupt`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterruptRequest {
    /// Whom; whoever works when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
    /// The caller's name for this command: the same name is carried out once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// `POST /control/command`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandRequest {
    /// A slash command, as it would be typed.
    pub command: String,
    /// The caller's name for this command: the same name is carried out once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// What a command to the space answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoneBody {
    /// Always true.
    pub ok: bool,
    /// What it says, for people.
    pub lines: Vec<String>,
    /// What became of it so far; null for a command that is for the UI alone.
    pub receipt: Option<ReceiptBody>,
    /// The id was seen before: nothing was done, and the receipt is that of the first.
    pub duplicate: bool,
}

/// What became of one command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptBody {
    /// The caller's id, or ours where the caller had none.
    pub request_id: String,
    /// `accepted`, `delivered`, `submitted`, `started`, `finished` or `failed`.
    pub stage: String,
    /// Why it failed, in words.
    pub reason: Option<String>,
    /// Why it failed, as a code for programs: `cancelled`, `cut_off`, `interrupted`, `ended`, `failed` or another reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Restriction under which the agent works on it: it may not know the whole conversation.
    pub warning: Option<String>,
    /// The message that it became.
    pub message: Option<String>,
    /// The turn that it started.
    pub turn: Option<String>,
    /// When it came how far.
    pub reached: Vec<ReachedBody>,
}

/// One stage of a receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReachedBody {
    /// The stage.
    pub stage: String,
    /// When.
    pub at: String,
}
