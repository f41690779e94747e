//! Reads the history of a conversation from Claude Code's conversation files, which contain one protocol frame per
//! line.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use wh_core::space::harness::Report;
use wh_wire::claude::{ClaudeMessage, ContentBlock, Incoming, UserMessage, decode};

use super::calls::Checkpoint;
use super::items::ClaudeItems;
use crate::interface::{QueryContext, ResumeSelector, StartOptions};

/// Maximum length of a line in a conversation file. Longer lines are skipped.
const MAX_HISTORY_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Reports and checkpoints of an earlier conversation.
#[derive(Debug, Default)]
pub(super) struct ConversationHistory {
    pub reports: Vec<Report>,
    pub checkpoints: Vec<Checkpoint>,
}

/// Reads the history of the conversation to resume. Skips unreadable parts, because the history is only displayed;
/// Claude Code itself reads the conversation separately.
pub(super) async fn of(start: &StartOptions) -> ConversationHistory {
    let (Some(resume), Some(folder)) = (start.resume.clone(), folder(&QueryContext::from(start))) else {
        return ConversationHistory::default();
    };
    let read = tokio::task::spawn_blocking(move || file(&folder, &resume).map(|file| read(&file)).unwrap_or_default());
    read.await.unwrap_or_default()
}

/// Returns Claude Code's directory with the conversations of a working directory. The directory is named after the
/// path, with every character except ASCII letters and digits replaced by a hyphen.
pub(crate) fn folder(here: &QueryContext) -> Option<PathBuf> {
    let settings = here.variable("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| here.home(".claude"))?;
    let path = here.directory.to_string_lossy();
    let name: String = path.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
    Some(settings.join("projects").join(name))
}

fn file(folder: &Path, resume: &ResumeSelector) -> Option<PathBuf> {
    match resume {
        // The id is user input and must not contain a path.
        ResumeSelector::Named(id) if id.chars().all(|one| one.is_ascii_alphanumeric() || one == '-') => {
            Some(folder.join(format!("{id}.jsonl"))).filter(|file| file.is_file())
        }
        ResumeSelector::Named(_) => None,
        ResumeSelector::Latest => {
            let files = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
            let conversations = files.filter(|file| file.extension().is_some_and(|end| end == "jsonl"));
            conversations.max_by_key(|file| file.metadata().and_then(|facts| facts.modified()).ok())
        }
    }
}

fn read(file: &Path) -> ConversationHistory {
    let Ok(file) = std::fs::File::open(file) else { return ConversationHistory::default() };
    let mut history = ConversationHistory::default();
    let mut items = ClaudeItems::default();
    for line in
        BufReader::new(file).split(b'\n').map_while(Result::ok).filter(|line| line.len() <= MAX_HISTORY_LINE_BYTES)
    {
        match decode(&line) {
            Ok(Incoming::Message(ClaudeMessage::Assistant(message))) => {
                history.reports.extend(items.assistant(*message))
            }
            Ok(Incoming::Message(ClaudeMessage::User(message))) => {
                if let Some(text) = prompt(&message) {
                    history
                        .checkpoints
                        .push(Checkpoint { uuid: message.uuid.clone().unwrap_or_default(), ..Checkpoint::new(&text) });
                    history.reports.push(Report::EarlierPrompt(text));
                }
                history.reports.extend(items.user(&message, &[]));
            }
            _ => {}
        }
    }
    history.reports.extend(items.end());
    history
}

/// Returns the text of a user message. `None` for user messages that Claude Code generated.
pub(crate) fn prompt(message: &UserMessage) -> Option<String> {
    if message.is_synthetic || message.parent_tool_use_id.is_some() {
        return None;
    }
    let texts: Vec<&str> = message
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let text = texts.join("\n");
    let of_the_agent = ["<command-", "<local-command", "[Request interrupted", "<task-notification", "Caveat:"];
    let spoken = !text.trim().is_empty() && !of_the_agent.iter().any(|start| text.trim_start().starts_with(start));
    spoken.then_some(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::json;
    use wh_core::space::item::{ItemBody, ToolStatus};

    use super::*;

    #[test]
    fn a_saved_conversation_is_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let lines = [
            json!({"type": "queue-operation", "operation": "enqueue"}),
            json!({"type": "user", "message": {"role": "user", "content": "do it"}, "uuid": "u1"}),
            json!({"type": "user", "message": {"role": "user", "content": "<local-command-stdout>x</local-command-stdout>"}, "uuid": "u2"}),
            json!({"type": "assistant", "uuid": "a1", "message": {"id": "m1", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]}}),
            json!({"type": "user", "uuid": "u3", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a b"}]}}),
            json!({"type": "assistant", "uuid": "a2", "message": {"id": "m2", "content": [{"type": "text", "text": "done"}]}}),
        ];
        let file_path = folder.path().join("abc-1.jsonl");
        let mut file = std::fs::File::create(&file_path).unwrap();
        for line in &lines {
            writeln!(file, "{line}").unwrap();
        }
        writeln!(file, "half a li").unwrap();
        assert_eq!(super::file(folder.path(), &ResumeSelector::Named("abc-1".to_owned())), Some(file_path.clone()));
        assert_eq!(super::file(folder.path(), &ResumeSelector::Named("../abc-1".to_owned())), None);
        assert_eq!(super::file(folder.path(), &ResumeSelector::Latest), Some(file_path.clone()));
        let ConversationHistory { reports, checkpoints } = read(&file_path);
        assert_eq!(checkpoints.iter().map(|one| one.uuid.as_str()).collect::<Vec<_>>(), ["u1"]);
        assert_eq!(reports[0], Report::EarlierPrompt("do it".to_owned()));
        let done = |report: &Report| match report {
            Report::Item { body: ItemBody::Tool(call), done: true, .. } => call.status == ToolStatus::Completed,
            _ => false,
        };
        assert!(reports.iter().any(done), "{reports:?}");
        let message = |report: &Report| {
            matches!(
                report,
                Report::Item { body: ItemBody::Text { text, .. }, .. } if text == "done"
            )
        };
        assert!(message(reports.last().unwrap()), "{reports:?}");
    }
}
