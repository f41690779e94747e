//! Translates Gemini CLI's transcripts. A line replaces an earlier line with the same message id. Gemini records no end
//! of a turn except an interrupt or an error, and a tool call only once it has ended.

mod cards;

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use wh_core::space::harness::Report;
use wh_core::space::item::{ItemBody, NoticeLevel};

use super::fact::{TranscriptEnd, TranscriptFact, TranscriptReader, parsed, reported};
use cards::GeminiCalls;

/// Maximum number of messages whose later versions are recognised. The oldest are forgotten.
const MAX_TRACKED_MESSAGES: usize = 1024;

/// Maximum time between two lines that Gemini copies. A longer interval ends the copy.
const COPIED_LINE_TIMEOUT: Duration = Duration::from_secs(1);

/// Beginning of the first message of every conversation, which contains context instead of a prompt.
const SESSION_CONTEXT: &str = "<session_context>";

/// Beginning of text that a hook has added to a prompt.
const HOOK_CONTEXT: &str = "<hook_context>";

/// Beginning of the message that replaces a compressed conversation.
const STATE_SNAPSHOT: &str = "<state_snapshot>";

const REQUEST_CANCELLED: &str = "Request cancelled.";

/// Beginning of an error that has ended the turn.
const API_ERROR: &str = "[API Error: ";

/// Beginning of the notice that follows every error.
const REQUEST_FAILED: &str = "This request failed.";

/// Translator of Gemini CLI's transcripts.
#[derive(Debug, Default)]
pub struct GeminiTranscript {
    session: Option<String>,
    /// Transcript of a subagent, whose work is part of a call in another transcript.
    is_subagent: bool,
    in_turn: bool,
    calls: GeminiCalls,
    /// Messages by id, with a hash of the reported content.
    messages: VecDeque<(String, u64)>,
    /// Time of the last copied line. After a cancelled tool call Gemini copies the whole conversation with new ids to
    /// the end of the file, without the cancelled turn.
    copying: Option<Timestamp>,
    is_compacted: bool,
}

impl TranscriptReader for GeminiTranscript {
    fn line(&mut self, line: &[u8]) -> Vec<TranscriptFact> {
        let Some(value) = parsed(line) else { return vec![TranscriptFact::Unknown] };
        let mut facts = Vec::new();
        if let Some(kind) = value["kind"].as_str() {
            self.is_subagent = kind != "main";
        }
        if self.is_subagent {
            return facts;
        }
        if value["$set"].is_object() {
            self.set(&value["$set"], &mut facts);
        } else if value["id"].is_string() && value["type"].is_string() {
            self.message(&value, &mut facts);
        } else if value["sessionId"].is_string() {
            self.session(&value["sessionId"], &mut facts);
        } else if value["$rewindTo"].is_null() {
            facts.push(TranscriptFact::Unknown);
        }
        facts
    }

    fn end(&mut self) -> Vec<TranscriptFact> {
        self.in_turn = false;
        reported(self.calls.end()).collect()
    }
}

impl GeminiTranscript {
    fn session(&mut self, id: &Value, facts: &mut Vec<TranscriptFact>) {
        if let Some(id) = id.as_str().filter(|id| self.session.as_deref() != Some(id)) {
            self.session = Some(id.to_owned());
            facts.push(TranscriptFact::SessionId(id.to_owned()));
        }
    }

    /// Handles changed fields of the conversation. A new list of messages repeats messages that have their own lines.
    fn set(&mut self, fields: &Value, facts: &mut Vec<TranscriptFact>) {
        self.session(&fields["sessionId"], facts);
        let Some(messages) = fields["messages"].as_array() else { return };
        self.copying = None;
        let snapshot = messages
            .iter()
            .any(|message| texts(&message["content"]).iter().any(|text| text.trim_start().starts_with(STATE_SNAPSHOT)));
        if snapshot && !std::mem::replace(&mut self.is_compacted, true) {
            facts.push(TranscriptFact::Compacted);
            facts.push(notice(NoticeLevel::Info, "the conversation was compacted".to_owned()));
        }
        if !snapshot {
            self.is_compacted = false;
        }
    }

    fn message(&mut self, message: &Value, facts: &mut Vec<TranscriptFact>) {
        if self.is_copy(message) {
            return;
        }
        match message["type"].as_str() {
            Some("user") => self.user(message, facts),
            Some("gemini") => self.answer(message, facts),
            Some(level @ ("info" | "warning" | "error")) => {
                if self.is_new(message) {
                    self.notice(level, &texts(&message["content"]).concat(), facts);
                }
            }
            _ => facts.push(TranscriptFact::Unknown),
        }
    }

    /// Returns true if the line is part of a copy of the conversation.
    fn is_copy(&mut self, message: &Value) -> bool {
        let Some(time) = message["timestamp"].as_str().and_then(|time| time.parse::<Timestamp>().ok()) else {
            return self.copying.is_some();
        };
        let begins = message["type"] == "user" && is_session_context(&message["content"]);
        let continues =
            self.copying.is_some_and(|last| time.duration_since(last).unsigned_abs() <= COPIED_LINE_TIMEOUT);
        self.copying = (begins || continues).then_some(time);
        self.copying.is_some()
    }

    /// Returns true if the message was not seen with this content.
    fn is_new(&mut self, message: &Value) -> bool {
        let mut hasher = DefaultHasher::new();
        (message["content"].to_string(), message["thoughts"].to_string()).hash(&mut hasher);
        let (id, hash) = (message["id"].as_str().unwrap_or_default(), hasher.finish());
        if let Some((_, known)) = self.messages.iter_mut().rev().find(|(known, _)| known == id) {
            return std::mem::replace(known, hash) != hash;
        }
        self.messages.push_back((id.to_owned(), hash));
        if self.messages.len() > MAX_TRACKED_MESSAGES {
            self.messages.pop_front();
        }
        true
    }

    fn user(&mut self, message: &Value, facts: &mut Vec<TranscriptFact>) {
        if !self.is_new(message) {
            return;
        }
        let content = Some(&message["displayContent"]).filter(|content| !content.is_null());
        let is_original = content.is_some();
        let texts = texts(content.unwrap_or(&message["content"]));
        let texts = texts.into_iter().filter(|text| is_original || !text.trim_start().starts_with(HOOK_CONTEXT));
        let text: String = texts.collect();
        // Results of tool calls are in the line of the call.
        if text.is_empty() {
            return;
        }
        if self.in_turn {
            self.ended(TranscriptEnd::Completed, facts);
        }
        let id = message["id"].as_str().map(str::to_owned);
        facts.push(TranscriptFact::Prompt { text, id, queued: false });
        self.began(facts);
    }

    fn answer(&mut self, message: &Value, facts: &mut Vec<TranscriptFact>) {
        let id = message["id"].as_str().unwrap_or_default();
        let is_new = self.is_new(message);
        let calls: Vec<TranscriptFact> =
            message["toolCalls"].as_array().into_iter().flatten().flat_map(|call| self.calls.call(call)).collect();
        // Gemini repeats a line to add the number of tokens, possibly after the end of the turn.
        if !is_new && calls.is_empty() {
            return;
        }
        // Gemini records a cancelled call after the interrupt that has cancelled it.
        let list = message["toolCalls"].as_array().map(Vec::as_slice).unwrap_or_default();
        if list.is_empty() || list.iter().any(|call| call["status"] != "cancelled") {
            self.began(facts);
        }
        if is_new {
            for (number, thought) in message["thoughts"].as_array().into_iter().flatten().enumerate() {
                let part = |field: &str| thought[field].as_str().unwrap_or_default();
                let text = format!("**{}**\n{}", part("subject"), part("description"));
                let body = ItemBody::Thought { text, action: None, tokens: None };
                facts.push(item(format!("thought-{id}-{number}"), body));
            }
            let text = texts(&message["content"]).concat();
            if !text.trim().is_empty() {
                facts.push(item(format!("text-{id}"), ItemBody::Text { text, attachments: Vec::new() }));
            }
        }
        facts.extend(calls);
    }

    fn notice(&mut self, level: &str, text: &str, facts: &mut Vec<TranscriptFact>) {
        match level {
            "info" if text == REQUEST_CANCELLED => self.ended(TranscriptEnd::Interrupted, facts),
            "info" if text.starts_with(REQUEST_FAILED) || text.trim().is_empty() => {}
            "error" if text.starts_with(API_ERROR) => self.ended(TranscriptEnd::Failed(error_text(text)), facts),
            // Error of a command, which leaves the turn as it is.
            "error" => facts.push(notice(NoticeLevel::Error, error_text(text))),
            "warning" => facts.push(notice(NoticeLevel::Warning, text.to_owned())),
            _ => facts.push(notice(NoticeLevel::Info, text.to_owned())),
        }
    }

    fn began(&mut self, facts: &mut Vec<TranscriptFact>) {
        if !std::mem::replace(&mut self.in_turn, true) {
            facts.push(TranscriptFact::TurnBegan);
        }
    }

    fn ended(&mut self, end: TranscriptEnd, facts: &mut Vec<TranscriptFact>) {
        self.in_turn = false;
        facts.extend(reported(self.calls.end()));
        facts.push(TranscriptFact::TurnEnded(end));
    }
}

fn notice(level: NoticeLevel, text: String) -> TranscriptFact {
    TranscriptFact::Report(Report::Notice(level, text))
}

fn item(key: String, body: ItemBody) -> TranscriptFact {
    TranscriptFact::Report(Report::Item { key, body, done: true })
}

/// Returns the texts of a content, which is a text, a part or a list of parts. Thoughts are left out.
fn texts(content: &Value) -> Vec<&str> {
    let parts = match content {
        Value::String(text) => return vec![text],
        Value::Array(parts) => &parts[..],
        part => std::slice::from_ref(part),
    };
    let shown = parts.iter().filter(|part| part["thought"] != true);
    shown.filter_map(|part| part["text"].as_str().or(part.as_str())).collect()
}

fn is_session_context(content: &Value) -> bool {
    texts(content).first().is_some_and(|text| text.trim_start().starts_with(SESSION_CONTEXT))
}

/// Returns the message of an error. Gemini records the response body of the model provider.
fn error_text(text: &str) -> String {
    let body = text.strip_prefix(API_ERROR).and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let parsed = serde_json::from_str::<Value>(body).ok();
    let message = parsed.as_ref().and_then(|body| body["error"]["message"].as_str());
    message.unwrap_or(body).to_owned()
}
