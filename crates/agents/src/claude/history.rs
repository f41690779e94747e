//! What was said before, from the file in which Claude Code keeps a conversation: one frame a line, as it speaks them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use wh_core::space::harness::Report;
use wh_wire::claude::{ContentBlock, Incoming, Message, UserMessage, decode};

use super::calls::Checkpoint;
use super::items::Items;
use crate::port::{Resume, Start, Surroundings};

/// The longest line that is read; what is longer is left out.
const LONGEST: usize = 16 * 1024 * 1024;

/// What a conversation held.
#[derive(Debug, Default)]
pub(super) struct History {
    pub reports: Vec<Report>,
    pub checkpoints: Vec<Checkpoint>,
}

/// Reads the conversation that is to be gone on with. What cannot be read is left out: Claude Code itself knows it.
pub(super) async fn of(start: &Start) -> History {
    let (Some(resume), Some(folder)) = (start.resume.clone(), folder(&Surroundings::from(start))) else {
        return History::default();
    };
    let read = tokio::task::spawn_blocking(move || file(&folder, &resume).map(|file| read(&file)).unwrap_or_default());
    read.await.unwrap_or_default()
}

/// Where it keeps the conversations of a directory: under a name in which only letters and digits are left.
pub(super) fn folder(here: &Surroundings) -> Option<PathBuf> {
    let settings = here.variable("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| here.home(".claude"))?;
    let path = here.directory.to_string_lossy();
    let name: String = path.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
    Some(settings.join("projects").join(name))
}

fn file(folder: &Path, resume: &Resume) -> Option<PathBuf> {
    match resume {
        // The name comes from outside, and must not lead elsewhere.
        Resume::Named(id) if id.chars().all(|one| one.is_ascii_alphanumeric() || one == '-') => {
            Some(folder.join(format!("{id}.jsonl"))).filter(|file| file.is_file())
        }
        Resume::Named(_) => None,
        Resume::Latest => {
            let files = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
            let conversations = files.filter(|file| file.extension().is_some_and(|end| end == "jsonl"));
            conversations.max_by_key(|file| file.metadata().and_then(|facts| facts.modified()).ok())
        }
    }
}

fn read(file: &Path) -> History {
    let Ok(file) = std::fs::File::open(file) else { return History::default() };
    let mut history = History::default();
    let mut items = Items::default();
    for line in BufReader::new(file).split(b'\n').map_while(Result::ok).filter(|line| line.len() <= LONGEST) {
        match decode(&line) {
            Ok(Incoming::Message(Message::Assistant(said))) => history.reports.extend(items.assistant(*said)),
            Ok(Incoming::Message(Message::User(said))) => {
                if let Some(text) = prompt(&said) {
                    history
                        .checkpoints
                        .push(Checkpoint { uuid: said.uuid.clone().unwrap_or_default(), ..Checkpoint::new(&text) });
                    history.reports.push(Report::Recalled(text));
                }
                history.reports.extend(items.user(&said, &[]));
            }
            _ => {}
        }
    }
    history.reports.extend(items.end());
    history
}

/// What a person said; not what the agent wrote in their place.
fn prompt(said: &UserMessage) -> Option<String> {
    if said.is_synthetic || said.parent_tool_use_id.is_some() {
        return None;
    }
    let texts: Vec<&str> = said
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
    use wh_core::space::item::{Body, ToolStatus};

    use super::*;

    #[test]
    fn a_kept_conversation_is_read_as_it_was_said() {
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
        assert_eq!(super::file(folder.path(), &Resume::Named("abc-1".to_owned())), Some(file_path.clone()));
        assert_eq!(super::file(folder.path(), &Resume::Named("../abc-1".to_owned())), None);
        assert_eq!(super::file(folder.path(), &Resume::Latest), Some(file_path.clone()));
        let History { reports, checkpoints } = read(&file_path);
        assert_eq!(checkpoints.iter().map(|one| one.uuid.as_str()).collect::<Vec<_>>(), ["u1"]);
        assert_eq!(reports[0], Report::Recalled("do it".to_owned()));
        let done = |report: &Report| match report {
            Report::Item { body: Body::Tool(call), done: true, .. } => call.status == ToolStatus::Completed,
            _ => false,
        };
        assert!(reports.iter().any(done), "{reports:?}");
        let said =
            |report: &Report| matches!(report, Report::Item { body: Body::Text { text, .. }, .. } if text == "done");
        assert!(said(reports.last().unwrap()), "{reports:?}");
    }
}
