//! Conversation files of Gemini CLI. Loading a conversation makes Gemini write an empty one under the same id: in the same
//! minute into the same file, otherwise into a second one, and its next start deletes every file of an id that has an empty
//! one. So before a load wh copies the file into its own state directory and gives it a name that Gemini neither writes
//! nor deletes; it still finds the file by the id inside. See docs/decisions/035-conversations-are-compared.md.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::manage::gemini;
use crate::port::Surroundings;

/// Characters of an id in the name that Gemini gives to a file.
const ID_PREFIX: usize = 8;

/// Longest file that is read.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Age after which a copy that nobody has resumed is removed.
const MAX_COPY_AGE: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// The files of one conversation.
#[derive(Debug, Clone)]
pub(super) struct ConversationFiles {
    /// The folder with a folder for each project.
    projects: PathBuf,
    /// The folder with the conversations of this project, where Gemini has one for it.
    chats: Option<PathBuf>,
    /// The copy in wh's state directory.
    copy: PathBuf,
    id: String,
}

/// A conversation as its file has it.
#[derive(Debug, Default)]
struct Content {
    id: Option<String>,
    /// Ids of the messages that can be resumed, in their order.
    messages: Vec<String>,
}

/// The state of a conversation's file before it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prepared {
    /// It is there, under a name that is safe.
    Safe,
    /// It was gone, and is restored from wh's copy.
    Restored,
    /// There is neither a file nor a copy.
    Missing,
}

impl ConversationFiles {
    /// `None` if the id is not one of Gemini's, or there is no home directory.
    pub fn new(here: &Surroundings, id: &str) -> Option<Self> {
        let is_plain = id.len() >= 2 * ID_PREFIX && id.chars().all(|one| one.is_ascii_alphanumeric() || one == '-');
        if !is_plain {
            return None;
        }
        let projects = gemini::folder(here)?.join("tmp");
        let state = here.variable("XDG_STATE_HOME").map(PathBuf::from).filter(|state| state.is_absolute());
        let state = state.or_else(|| here.home(".local/state"))?;
        let copy = state.join("wheelhouse/conversations/gemini").join(format!("{id}.jsonl"));
        Some(Self { projects, chats: gemini::chats(here), copy, id: id.to_owned() })
    }

    /// Copies the file and gives it a safe name. No process may have the conversation open. `restore`: the copy takes the
    /// place of the file.
    pub fn prepare(&self, restore: bool) -> io::Result<Prepared> {
        let found = self.found();
        let best = found.iter().filter(|(_, content)| !content.messages.is_empty());
        let best = best.max_by_key(|(_, content)| content.messages.len());
        let copied = read(&self.copy).map(|content| content.messages.len()).unwrap_or_default();
        let prepared = match best {
            Some((file, _)) if restore && copied > 0 => {
                write(&file.with_file_name(self.safe_name(file)), &fs::read(&self.copy)?)?;
                if file.file_name() != Some(self.safe_name(file).as_ref()) {
                    fs::remove_file(file)?;
                }
                Prepared::Restored
            }
            Some((file, content)) => {
                // A copy that has more is the one to restore.
                if content.messages.len() >= copied {
                    make_folder(self.copy.parent())?;
                    self.remove_old_copies();
                    write(&self.copy, &fs::read(file)?)?;
                }
                fs::rename(file, file.with_file_name(self.safe_name(file)))?;
                Prepared::Safe
            }
            None if copied > 0 => {
                let Some(folder) = self.folder(&found) else { return Ok(Prepared::Missing) };
                fs::create_dir_all(&folder)?;
                write(&folder.join(self.safe_name(&self.copy)), &fs::read(&self.copy)?)?;
                Prepared::Restored
            }
            None => Prepared::Missing,
        };
        self.remove_empty();
        Ok(prepared)
    }

    /// Removes the empty files that a load has left: the next start of Gemini would delete the conversation with them.
    pub fn remove_empty(&self) {
        for (file, _) in self.found().iter().filter(|(_, content)| content.messages.is_empty()) {
            if let Err(error) = fs::remove_file(file) {
                tracing::debug!(%error, "an empty conversation stays");
            }
        }
    }

    fn remove_old_copies(&self) {
        let copies = self.copy.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
        for copy in copies {
            let written = copy.metadata().and_then(|facts| facts.modified()).ok();
            if written.and_then(|written| written.elapsed().ok()).is_some_and(|age| age > MAX_COPY_AGE) {
                let _ = fs::remove_file(copy.path());
            }
        }
    }

    /// True if wh has a copy with something in it.
    pub fn has_copy(&self) -> bool {
        read(&self.copy).is_ok_and(|content| !content.messages.is_empty())
    }

    /// The files of this id in all projects, with their content.
    fn found(&self) -> Vec<(PathBuf, Content)> {
        let prefix = format!("-{}", &self.id[..ID_PREFIX]);
        let projects = fs::read_dir(&self.projects).into_iter().flatten().flatten();
        let files =
            projects.flat_map(|project| fs::read_dir(project.path().join("chats")).into_iter().flatten().flatten());
        files
            .map(|file| file.path())
            .filter(|file| {
                let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                name.starts_with("session-") && name.ends_with(".jsonl") && name.contains(&prefix)
            })
            .filter_map(|file| Some((read(&file).ok()?, file)).map(|(content, file)| (file, content)))
            .filter(|(_, content)| content.id.as_ref() == Some(&self.id))
            .collect()
    }

    /// The folder that the conversation belongs in. A conversation is never written into another project.
    fn folder(&self, found: &[(PathBuf, Content)]) -> Option<PathBuf> {
        let left = || found.first().and_then(|(file, _)| file.parent()).map(Path::to_owned);
        self.chats.clone().or_else(left)
    }

    /// A name with both ends of the id. Gemini itself uses only the first, after the minute in which the file was begun.
    fn safe_name(&self, file: &Path) -> String {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let minute = name.strip_prefix("session-").and_then(|rest| rest.get(..16));
        let minute = minute.filter(|minute| minute.starts_with("20")).unwrap_or("2000-01-01T00-00");
        format!("session-{minute}-{}-{}.jsonl", &self.id[..ID_PREFIX], &self.id[self.id.len() - ID_PREFIX..])
    }
}

/// Reads a file as Gemini does. Lines that are cut off are passed over.
fn read(file: &Path) -> io::Result<Content> {
    let facts = fs::symlink_metadata(file)?;
    if !facts.is_file() || facts.len() > MAX_FILE_BYTES {
        return Err(io::Error::other("this is not a conversation, or it is too long"));
    }
    let mut content = Content::default();
    let mut resumable = HashSet::new();
    for line in BufReader::new(fs::File::open(file)?).split(b'\n') {
        let Ok(record) = serde_json::from_slice::<Value>(&line?) else { continue };
        if let Some(to) = record["$rewindTo"].as_str() {
            let from = content.messages.iter().position(|id| id == to).unwrap_or_default();
            content.messages.truncate(from);
        } else if let Some(id) = record["id"].as_str() {
            if is_resumable(&record) && resumable.insert(id.to_owned()) {
                content.messages.push(id.to_owned());
            }
        } else if let Some(messages) = record["$set"]["messages"].as_array() {
            let ids = messages.iter().filter(|one| is_resumable(one)).filter_map(|one| one["id"].as_str());
            content.messages = ids.map(str::to_owned).collect();
            resumable = content.messages.iter().cloned().collect();
        } else if let Some(id) = record["sessionId"].as_str() {
            content.id = Some(id.to_owned());
        }
    }
    Ok(content)
}

/// True for a message that makes a conversation one to resume, by Gemini's own rule.
fn is_resumable(message: &Value) -> bool {
    let content = &message["content"];
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let text: String = match content.as_str() {
        Some(text) => text.to_owned(),
        None => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
    };
    let text = text.trim();
    let has = |field: &str| message[field].as_array().is_some_and(|list| !list.is_empty());
    match message["type"].as_str() {
        Some("user") => {
            !text.is_empty() && !["/", "?", "<session_context>", "<hook_context>"].iter().any(|it| text.starts_with(it))
        }
        Some("gemini") => !text.is_empty() || has("toolCalls") || has("thoughts"),
        _ => false,
    }
}

fn make_folder(folder: Option<&Path>) -> io::Result<()> {
    folder.map_or(Ok(()), |folder| DirBuilder::new().recursive(true).mode(0o700).create(folder))
}

/// Replaces a file in one step. Only this user can read it.
fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    let unfinished = file.with_extension("new");
    let mut new = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    new.write_all(content)?;
    new.sync_all()?;
    fs::rename(unfinished, file)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    const ID: &str = "6104d0d3-1111-4222-8333-0123456789ab";

    struct Home(TempDir);

    impl Home {
        fn new() -> Self {
            let home = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(home.chats()).unwrap();
            let projects = json!({"projects": {"/work": "work", "/elsewhere": "elsewhere"}});
            fs::write(home.0.path().join(".gemini/projects.json"), projects.to_string()).unwrap();
            home
        }

        fn chats(&self) -> PathBuf {
            self.0.path().join(".gemini/tmp/work/chats")
        }

        fn files(&self) -> ConversationFiles {
            let mut here = Surroundings::new("/work");
            here.environment.insert("HOME".into(), Some(self.0.path().into()));
            here.environment.insert("GEMINI_CLI_HOME".into(), None);
            here.environment.insert("XDG_STATE_HOME".into(), Some(self.0.path().join("state").into()));
            ConversationFiles::new(&here, ID).unwrap()
        }

        fn begin(&self, name: &str, said: &[&str]) {
            let mut lines = vec![
                json!({"sessionId": ID, "projectHash": "h", "kind": "main"}),
                json!({"$set": {"messages": [{"id": "c", "type": "user", "content": [{"text": "<session_context>x"}]}]}}),
            ];
            lines.extend(said.iter().map(|text| json!({"id": text, "type": "user", "content": [{"text": text}]})));
            let text: Vec<String> = lines.iter().map(Value::to_string).collect();
            fs::write(self.chats().join(name), format!("{}\n{{\"cut o", text.join("\n"))).unwrap();
        }

        fn names(&self) -> Vec<String> {
            let names =
                fs::read_dir(self.chats()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        }
    }

    const SAFE: &str = "session-2026-11-18T01-02-6104d0d3-456789ab.jsonl";

    #[test]
    fn a_file_is_copied_and_gets_a_name_that_gemini_does_not_use() {
        let home = Home::new();
        home.begin("session-2026-11-18T01-02-6104d0d3.jsonl", &["one", "two"]);
        home.begin("session-2026-11-18T01-03-6104d0d3.jsonl", &[]);
        assert_eq!(home.files().prepare(false).unwrap(), Prepared::Safe);
        assert_eq!(home.names(), [SAFE], "the empty one is gone");
        assert!(home.files().has_copy());
        assert_eq!(home.files().prepare(false).unwrap(), Prepared::Safe, "and it keeps that name");
        home.begin("session-2026-11-18T01-04-6104d0d3.jsonl", &[]);
        home.files().remove_empty();
        assert_eq!(home.names(), [SAFE]);
    }

    #[test]
    fn a_file_that_is_gone_or_lost_its_messages_is_restored_from_the_copy() {
        let home = Home::new();
        assert_eq!(home.files().prepare(false).unwrap(), Prepared::Missing);
        home.begin("session-2026-11-18T01-02-6104d0d3.jsonl", &["one", "two"]);
        home.files().prepare(false).unwrap();
        fs::remove_file(home.chats().join(SAFE)).unwrap();
        assert_eq!(home.files().prepare(false).unwrap(), Prepared::Restored);
        let restored = home.chats().join(&home.names()[0]);
        assert_eq!(read(&restored).unwrap().messages, ["one", "two"]);
        fs::remove_file(restored).unwrap();

        home.begin(SAFE, &["two"]);
        assert_eq!(home.files().prepare(false).unwrap(), Prepared::Safe, "what is there is taken");
        assert_eq!(
            home.files().prepare(true).unwrap(),
            Prepared::Restored,
            "the copy has more, and was not overwritten"
        );
        assert_eq!(read(&home.chats().join(SAFE)).unwrap().messages, ["one", "two"]);
    }

    #[test]
    fn a_file_that_is_gone_is_restored_into_its_own_project_and_no_other() {
        let home = Home::new();
        let elsewhere = home.0.path().join(".gemini/tmp/elsewhere/chats");
        fs::create_dir_all(&elsewhere).unwrap();
        home.begin("session-2026-11-18T01-02-6104d0d3.jsonl", &["one", "two"]);
        home.files().prepare(false).unwrap();
        fs::remove_dir_all(home.chats()).unwrap();
        assert_eq!(home.files().prepare(false).unwrap(), Prepared::Restored, "there are two projects");
        assert_eq!(home.names().len(), 1);
        fs::remove_dir_all(home.chats()).unwrap();
        fs::write(home.0.path().join(".gemini/projects.json"), r#"{"projects": {"/elsewhere": "elsewhere"}}"#).unwrap();
        assert_eq!(home.files().prepare(false).unwrap(), Prepared::Missing, "its project is not known");
        assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn messages_are_counted_as_gemini_does() {
        let home = Home::new();
        let file = home.chats().join("session-x.jsonl");
        let lines = [
            json!({"sessionId": ID, "projectHash": "h"}),
            json!({"id": "a", "type": "user", "content": [{"text": "hello"}]}),
            json!({"id": "b", "type": "gemini", "content": "", "toolCalls": []}),
            json!({"id": "b", "type": "gemini", "content": "answer"}),
            json!({"id": "c", "type": "user", "content": "/about"}),
            json!({"id": "d", "type": "user", "content": "more"}),
            json!({"$rewindTo": "d"}),
            json!({"$set": {"lastUpdated": "now"}}),
            json!(7),
        ];
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs::write(&file, text.join("\n")).unwrap();
        let content = read(&file).unwrap();
        assert_eq!((content.id.as_deref(), content.messages), (Some(ID), vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn an_id_that_could_lead_elsewhere_is_not_one() {
        for id in ["", "short", "../../../../etc/passwd-and-more", "6104d0d3/1111-4222-8333"] {
            assert!(ConversationFiles::new(&Surroundings::new("/"), id).is_none(), "{id}");
        }
    }
}
