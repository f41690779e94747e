//! Translates Claude Code's transcripts, whose message lines are nearly the messages of its stream-json protocol.

use serde_json::{Value, json};
use wh_core::space::harness::Report;
use wh_core::space::item::{ItemBody, NoticeLevel, ToolCall, ToolKind, ToolResultPart, ToolStatus};
use wh_wire::claude::{AssistantMessage, ClaudeMessage, ContentBlock, Incoming, UserMessage, decode};

use super::fact::{TranscriptEnd, TranscriptFact, TranscriptReader, parsed, reported};
use crate::claude::history;
use crate::claude::items::ClaudeItems;

/// Line types that state no fact.
const SILENT_TYPES: [&str; 16] = [
    "agent-name",
    "agent-setting",
    "ai-title",
    "attribution-snapshot",
    "bridge-session",
    "content-replacement",
    "custom-title",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "summary",
    "tag",
];

/// Text in place of an answer when a conversation continues without a prompt.
const NO_RESPONSE: &str = "No response requested.";

/// Beginning of the line that Claude Code writes after an interrupt.
const INTERRUPTED: &str = "[Request interrupted by user";

/// Beginnings of the tool results of calls that the user has denied.
const DENIED: [&str; 2] = ["The user doesn't want to proceed with this tool use", "The user doesn't want to take this"];

/// Translator of Claude Code's transcripts.
#[derive(Debug, Default)]
pub struct ClaudeTranscript {
    items: ClaudeItems,
    session: Option<String>,
    in_turn: bool,
    /// Id of the line before the prompt of the current turn.
    before_prompt: Option<String>,
    /// Summary of the hooks at the end of a turn: its id, and the id of the line before it.
    stop_hooks: Option<(String, String)>,
    /// Last line of a turn whose end was recorded before the turn. Claude Code writes the lines of a new file out of
    /// order.
    ended_early: Option<String>,
    /// Shell command of the user that has no output yet: item key and card.
    shell: Option<(String, ToolCall)>,
}

impl TranscriptReader for ClaudeTranscript {
    fn line(&mut self, line: &[u8]) -> Vec<TranscriptFact> {
        let Some(value) = parsed(line) else { return vec![TranscriptFact::Unknown] };
        // Work of a subagent is part of a tool call.
        if value["isSidechain"] == true {
            return Vec::new();
        }
        let mut facts = Vec::new();
        if let Some(session) = value["sessionId"].as_str().filter(|session| self.session.as_deref() != Some(session)) {
            self.session = Some(session.to_owned());
            facts.push(TranscriptFact::SessionId(session.to_owned()));
        }
        let Some(kind) = value["type"].as_str() else { return vec![TranscriptFact::Unknown] };
        match (kind, decode(line)) {
            ("user", Ok(Incoming::Message(ClaudeMessage::User(message)))) => self.user(&value, &message, &mut facts),
            ("assistant", Ok(Incoming::Message(ClaudeMessage::Assistant(message)))) => {
                self.assistant(&value, *message, &mut facts);
            }
            ("system", _) => self.system(&value, &mut facts),
            ("attachment", _) => attachment(&value, &mut facts),
            (kind, _) if SILENT_TYPES.contains(&kind) => {}
            _ => facts.push(TranscriptFact::Unknown),
        }
        facts
    }

    fn end(&mut self) -> Vec<TranscriptFact> {
        self.in_turn = false;
        reported(self.items.end()).collect()
    }
}

impl ClaudeTranscript {
    fn user(&mut self, value: &Value, message: &UserMessage, facts: &mut Vec<TranscriptFact>) {
        if ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"].iter().any(|mark| value[mark] == true) {
            return;
        }
        let results = tool_results(message);
        if !results.is_empty() {
            let denied: Vec<String> =
                results.iter().filter(|(_, text)| is_denied(value, text)).map(|(id, _)| id.clone()).collect();
            facts.extend(reported(self.items.user(message, &denied)));
            facts.extend(results.into_iter().map(|(id, _)| TranscriptFact::ToolDone { id }));
            return;
        }
        let text = text_of(message);
        if let Some(source) = value["promptSource"].as_str() {
            return self.prompt(text, value, source == "queued", facts);
        }
        if text.starts_with(INTERRUPTED) {
            return self.ended(TranscriptEnd::Interrupted, facts);
        }
        if text.contains("<command-name>/clear</command-name>") {
            return facts.push(TranscriptFact::Cleared);
        }
        if let Some(command) = between(&text, "<bash-input>", "</bash-input>") {
            return self.shell_input(command, value, facts);
        }
        if text.starts_with("<bash-stdout>") {
            return self.shell_output(&text, facts);
        }
        // Earlier versions do not record the source of a prompt.
        let is_human = value["origin"]["kind"].as_str().is_none_or(|origin| origin == "human");
        if let Some(text) = history::prompt(message).filter(|_| is_human) {
            self.prompt(text, value, false, facts);
        }
    }

    fn prompt(&mut self, text: String, value: &Value, queued: bool, facts: &mut Vec<TranscriptFact>) {
        let before = value["parentUuid"].as_str().map(str::to_owned);
        if self.in_turn {
            // An interrupt before the first answer is not recorded: the next prompt follows the same line instead. The
            // end of other turns may not be recorded either, because Claude Code need not show their duration.
            let is_retracted = before.is_some() && before == self.before_prompt;
            let end = if is_retracted { TranscriptEnd::Interrupted } else { TranscriptEnd::Completed };
            self.ended(end, facts);
        }
        self.before_prompt = before;
        let id = ["promptId", "uuid"].iter().find_map(|field| value[*field].as_str()).map(str::to_owned);
        facts.push(TranscriptFact::Prompt { text, id, queued });
        self.began(facts);
    }

    fn assistant(&mut self, value: &Value, message: AssistantMessage, facts: &mut Vec<TranscriptFact>) {
        // Claude Code itself wrote the message: the text of an interrupted or failed request.
        let is_synthetic = message.message.model.as_deref() == Some("<synthetic>");
        let text: Vec<&str> = message.message.content.iter().filter_map(text).collect();
        let text = text.join("\n");
        if is_synthetic && text == NO_RESPONSE {
            return;
        }
        if !is_synthetic {
            self.began(facts);
        }
        let calls: Vec<TranscriptFact> = message
            .message
            .content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::ToolUse(call) => {
                    Some(TranscriptFact::ToolWaits { id: call.id.clone(), name: call.name.clone() })
                }
                _ => None,
            })
            .collect();
        facts.extend(reported(self.items.assistant(message)));
        facts.extend(calls);
        if value["isApiErrorMessage"] == true {
            self.ended(TranscriptEnd::Failed(text), facts);
        } else if self.ended_early.is_some() && self.ended_early.as_deref() == value["uuid"].as_str() {
            self.ended(TranscriptEnd::Completed, facts);
        }
    }

    fn system(&mut self, value: &Value, facts: &mut Vec<TranscriptFact>) {
        let notice = |level, text: String| TranscriptFact::Report(Report::Notice(level, text));
        match value["subtype"].as_str() {
            Some("turn_duration") if self.in_turn => self.ended(TranscriptEnd::Completed, facts),
            Some("turn_duration") => {
                let before = value["parentUuid"].as_str();
                let hooks = self.stop_hooks.take().filter(|(summary, _)| Some(summary.as_str()) == before);
                self.ended_early = hooks.map(|(_, before)| before).or_else(|| before.map(str::to_owned));
            }
            Some("stop_hook_summary") => {
                let ids = value["uuid"].as_str().zip(value["parentUuid"].as_str());
                self.stop_hooks = ids.map(|(own, before)| (own.to_owned(), before.to_owned()));
            }
            Some("compact_boundary") => {
                facts.push(TranscriptFact::Compacted);
                facts.push(notice(NoticeLevel::Info, "the conversation was compacted".to_owned()));
            }
            Some("api_error") => {
                let status = value["error"]["status"].as_u64();
                let what = status.map_or("the model did not answer".to_owned(), |status| {
                    format!("the model answered with HTTP {status}")
                });
                let seconds = value["retryInMs"].as_f64().unwrap_or_default() / 1000.0;
                let (attempt, of) = (&value["retryAttempt"], &value["maxRetries"]);
                facts
                    .push(notice(NoticeLevel::Warning, format!("{what}; attempt {attempt} of {of} in {seconds:.1} s")));
            }
            Some(_) => {}
            None => facts.push(TranscriptFact::Unknown),
        }
    }

    fn shell_input(&mut self, command: &str, value: &Value, facts: &mut Vec<TranscriptFact>) {
        let card = ToolCall {
            name: "Bash".to_owned(),
            title: format!("! {}", command.lines().next().unwrap_or_default()),
            kind: ToolKind::Execute,
            input: json!({ "command": command }),
            status: ToolStatus::Running,
            output: Vec::new(),
        };
        let key = format!("shell-{}", value["uuid"].as_str().unwrap_or_default());
        facts.push(item(&key, &card));
        self.shell = Some((key, card));
    }

    fn shell_output(&mut self, text: &str, facts: &mut Vec<TranscriptFact>) {
        let Some((key, mut card)) = self.shell.take() else { return };
        let parts =
            [between(text, "<bash-stdout>", "</bash-stdout>"), between(text, "<bash-stderr>", "</bash-stderr>")];
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        card.output = parts.map(|part| ToolResultPart::Text(part.to_owned())).collect();
        card.status = ToolStatus::Completed;
        facts.push(item(&key, &card));
    }

    fn began(&mut self, facts: &mut Vec<TranscriptFact>) {
        if !std::mem::replace(&mut self.in_turn, true) {
            facts.push(TranscriptFact::TurnBegan);
        }
    }

    fn ended(&mut self, end: TranscriptEnd, facts: &mut Vec<TranscriptFact>) {
        self.in_turn = false;
        self.ended_early = None;
        facts.extend(reported(self.items.end()));
        facts.push(TranscriptFact::TurnEnded(end));
    }
}

/// Handles context that Claude Code has added. A prompt that was sent during a turn is recorded in this way.
fn attachment(value: &Value, facts: &mut Vec<TranscriptFact>) {
    let attachment = &value["attachment"];
    let is_prompt = attachment["commandMode"].as_str().is_none_or(|mode| mode == "prompt")
        && attachment["origin"]["kind"].as_str().is_none_or(|origin| origin == "human");
    if attachment["type"] != "queued_command" || !is_prompt {
        return;
    }
    let prompt = &attachment["prompt"];
    let parts = prompt.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    let text = prompt.as_str().map_or_else(|| parts.collect::<Vec<_>>().join("\n"), str::to_owned);
    let id = attachment["source_uuid"].as_str().or(value["uuid"].as_str()).map(str::to_owned);
    facts.push(TranscriptFact::Prompt { text, id, queued: true });
}

fn item(key: &str, card: &ToolCall) -> TranscriptFact {
    let done = card.status.is_over();
    TranscriptFact::Report(Report::Item { key: key.to_owned(), body: ItemBody::Tool(card.clone()), done })
}

fn text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(text),
        _ => None,
    }
}

fn text_of(message: &UserMessage) -> String {
    message.content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// Returns the ids of the calls whose results the message contains, with the first text of each result.
fn tool_results(message: &UserMessage) -> Vec<(String, String)> {
    let result = |block: &ContentBlock| match block {
        ContentBlock::ToolResult(result) => {
            let first = result.content.iter().find_map(text).unwrap_or_default();
            Some((result.tool_use_id.clone(), first.to_owned()))
        }
        _ => None,
    };
    message.content.iter().filter_map(result).collect()
}

fn is_denied(value: &Value, result: &str) -> bool {
    value["toolUseResult"] == "User rejected tool use" || DENIED.iter().any(|start| result.starts_with(start))
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(inner, _)| inner)
}
