//! Facts that a transcript line states, the same for every agent.

use serde_json::Value;
use wh_core::space::harness::Report;
use wh_wire::claude::Json;

/// Fact that a transcript line states.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptFact {
    /// The conversation contains this prompt of the user.
    Prompt {
        /// Text as the agent recorded it.
        text: String,
        /// Id of the prompt, if the format has one.
        id: Option<String>,
        /// True if the prompt was sent while an earlier turn was running.
        queued: bool,
    },
    /// Part of the conversation, in the form that the protocol harness of the same agent reports.
    Report(Report),
    /// A turn has started, before or after its prompt, or without a prompt.
    TurnBegan,
    /// The turn has ended. Agents do not record every end: for some turns the fact precedes the next prompt.
    TurnEnded(TranscriptEnd),
    /// A tool call was requested. It runs, or waits for a permission.
    ToolWaits { id: String, name: String },
    /// A tool call has a result.
    ToolDone { id: String },
    /// The conversation was compacted.
    Compacted,
    /// The conversation was cleared: the transcript begins a new one.
    Cleared,
    /// Id of the conversation in this transcript.
    SessionId(String),
    /// The line is not in the agent's format. The caller counts such lines.
    Unknown,
}

/// Outcome of a turn, as the transcript records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscriptEnd {
    Completed,
    /// The user has interrupted the turn.
    Interrupted,
    /// The turn failed, with this error message.
    Failed(String),
}

/// Translator of the transcript lines of one conversation. Pure: reads no files.
pub trait TranscriptReader {
    /// Translates one line. Lines without a fact give an empty list.
    fn line(&mut self, line: &[u8]) -> Vec<TranscriptFact>;

    /// Ends the conversation of this transcript: cancels what is in progress. Called when the agent has exited or
    /// continues in another transcript, and after the last line of a history.
    fn end(&mut self) -> Vec<TranscriptFact>;
}

impl TranscriptFact {
    /// Converts a fact that precedes the point at which a conversation was resumed. `None` if the fact is not part of
    /// the history.
    pub fn into_history(self) -> Option<Report> {
        match self {
            Self::Prompt { text, .. } => Some(Report::EarlierPrompt(text)),
            Self::Report(report) => Some(report),
            Self::TurnBegan
            | Self::TurnEnded(_)
            | Self::ToolWaits { .. }
            | Self::ToolDone { .. }
            | Self::Compacted
            | Self::Cleared
            | Self::SessionId(_)
            | Self::Unknown => None,
        }
    }
}

/// Splits the facts of a transcript that already existed into the history and the facts of the current turns, which begin
/// with the newest prompt of this text. Without a prompt, all facts are history.
pub fn split_history(mut facts: Vec<TranscriptFact>, prompt: Option<&str>) -> (Vec<Report>, Vec<TranscriptFact>) {
    let is_newest =
        |fact: &TranscriptFact| matches!(fact, TranscriptFact::Prompt { text, .. } if Some(text.as_str()) == prompt);
    let place =
        facts.iter().rposition(is_newest).map(|place| match place.checked_sub(1).map(|before| &facts[before]) {
            Some(TranscriptFact::TurnBegan) => place - 1,
            _ => place,
        });
    let current = facts.split_off(place.unwrap_or(facts.len()));
    (facts.into_iter().filter_map(TranscriptFact::into_history).collect(), current)
}

/// Parses a line; `None` if it is not a JSON object. Unpaired surrogates, which agents write when they cut a text, are
/// replaced.
pub(super) fn parsed(line: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(line);
    serde_json::from_str::<Json>(&text).ok()?.value().filter(Value::is_object)
}

/// Converts reports into facts.
pub(super) fn reported(reports: Vec<Report>) -> impl Iterator<Item = TranscriptFact> {
    reports.into_iter().map(TranscriptFact::Report)
}
