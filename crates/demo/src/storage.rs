//! Saved conversations of the demo agent, which can be resumed. Each conversation has one small file and a log of the
//! prompts that the agent received. Files are written only if `StartOptions::may_store_state` is set.
//!
//! The files are so small that blocking file access is acceptable. If a write fails, the error is logged and the
//! conversation continues.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use wh_agents::interface::QueryContext;

use super::character::{DemoMode, DemoModel, DemoSettings};
use super::memory::DemoContext;

/// Maximum number of saved conversations. If there are more, the least recently used conversations are deleted.
const MAX_CONVERSATIONS: usize = 2000;

/// Maximum age of a conversation since its last use. Older conversations are deleted.
const MAX_CONVERSATION_AGE: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// Size at which the prompt log is rotated. One rotated log is retained.
const MAX_PROMPT_LOG_BYTES: u64 = 8 << 20;

/// File name suffix of the prompt log.
const PROMPTS_SUFFIX: &str = ".prompts.jsonl";

/// File name suffix of the rotated prompt log.
const OLD_PROMPTS_SUFFIX: &str = ".prompts.old.jsonl";

/// State of a conversation, as read from its file.
#[derive(Debug)]
pub(super) struct DemoConversation {
    pub memory: DemoContext,
    pub character: DemoSettings,
    pub turns: u64,
}

/// Directory and base name of the files of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DemoConversationFiles {
    folder: PathBuf,
    pub name: String,
}

impl DemoConversationFiles {
    /// Returns the directory of saved conversations, which is inside the user's state directory.
    pub fn folder(here: &QueryContext) -> Option<PathBuf> {
        let state = here.variable("XDG_STATE_HOME").map(PathBuf::from).or_else(|| here.home(".local/state"))?;
        Some(state.join("wheelhouse/demo"))
    }

    /// Creates the location for a new conversation. Deletes old conversations to make room.
    pub fn new(folder: PathBuf) -> Self {
        delete_old(&folder, MAX_CONVERSATIONS, SystemTime::now());
        Self { folder, name: random_name() }
    }

    /// Reads the saved conversation with this name; `None` if there is none.
    pub fn find(folder: PathBuf, name: &str) -> Option<(Self, DemoConversation)> {
        // The name is untrusted and must not lead to another directory.
        let plain = !name.is_empty() && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let files = Self { folder, name: name.to_owned() };
        let text = fs::read(files.file(".json")).ok().filter(|_| plain)?;
        let kept: Value = serde_json::from_slice(&text).ok()?;
        let whole = |name: &str| kept[name].as_u64().unwrap_or_default();
        let entries = kept["entries"].as_array()?.iter().filter_map(Value::as_u64);
        let memory = DemoContext::of(entries, whole("input"), whole("output"));
        let character = DemoSettings {
            model: kept["model"].as_str().and_then(DemoModel::named).unwrap_or_default(),
            mode: kept["mode"].as_str().and_then(DemoMode::named).unwrap_or_default(),
        };
        Some((files, DemoConversation { memory, character, turns: whole("turns") }))
    }

    /// Creates the location for a new conversation in the same directory.
    pub fn sibling(&self) -> Self {
        Self::new(self.folder.clone())
    }

    fn file(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}{end}", self.name))
    }

    /// Saves the state of the conversation and replaces the state saved before.
    pub fn save(&self, memory: &DemoContext, character: DemoSettings, turns: u64) {
        let (entries, input, output) = memory.parts();
        let kept = json!({
            "entries": entries.collect::<Vec<_>>(), "input": input, "output": output, "turns": turns,
            "model": character.model.id(), "mode": character.mode.id(),
        });
        let written = self.make_folder().and_then(|()| {
            let (whole, half) = (self.file(".json"), self.file(".json.new"));
            private(&half, false)?.write_all(kept.to_string().as_bytes())?;
            fs::rename(half, whole)
        });
        warn(written);
    }

    /// Appends a prompt to the prompt log.
    pub fn log_prompt(&self, text: &str) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = json!({ "at": u64::try_from(at.as_millis()).unwrap_or(u64::MAX), "text": text });
        let written = self.make_folder().and_then(|()| {
            let prompts = self.file(PROMPTS_SUFFIX);
            if fs::metadata(&prompts).is_ok_and(|facts| facts.len() > MAX_PROMPT_LOG_BYTES) {
                fs::rename(&prompts, self.file(OLD_PROMPTS_SUFFIX))?;
            }
            let mut file = private(&prompts, true)?;
            file.write_all(format!("{line}\n").as_bytes())?;
            file.flush()
        });
        warn(written);
    }

    /// Returns the prompts in the current log, oldest first, without those in the rotated log. Incomplete lines are
    /// skipped.
    pub fn prompts(&self) -> Vec<String> {
        let mut text = String::new();
        let read = File::open(self.file(PROMPTS_SUFFIX)).and_then(|mut file| file.read_to_string(&mut text));
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let texts = lines.filter_map(|line| line["text"].as_str().map(str::to_owned)).collect();
        if read.is_ok() { texts } else { Vec::new() }
    }

    fn make_folder(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }
}

/// Opens a file for writing, with access for its owner only.
fn private(path: &Path, append: bool) -> io::Result<File> {
    OpenOptions::new().create(true).write(true).append(append).truncate(!append).mode(0o600).open(path)
}

fn warn(written: io::Result<()>) {
    if let Err(error) = written {
        tracing::warn!(%error, "the demo agent could not save its conversation");
    }
}

/// Returns a random name that no other conversation has.
fn random_name() -> String {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    if read.is_err() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        bytes = (now ^ (u128::from(std::process::id()) << 96)).to_be_bytes();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Deletes conversations that are too old. Of the others, keeps only the `most - 1` newest, because the caller adds
/// one.
fn delete_old(folder: &Path, most: usize, now: SystemTime) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let conversation = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let name = entry.file_name().to_str()?.strip_suffix(".json")?.to_owned();
        Some((entry.metadata().ok()?.modified().ok()?, name))
    };
    let mut kept: Vec<(SystemTime, String)> = entries.filter_map(conversation).collect();
    kept.sort();
    let surplus = (kept.len() + 1).saturating_sub(most);
    for (place, (at, name)) in kept.iter().enumerate() {
        if place < surplus || now.duration_since(*at).is_ok_and(|age| age > MAX_CONVERSATION_AGE) {
            for end in [".json", PROMPTS_SUFFIX, OLD_PROMPTS_SUFFIX] {
                // The file may not exist.
                let _ = fs::remove_file(folder.join(format!("{name}{end}")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn memory(entries: &[u64]) -> DemoContext {
        DemoContext::of(entries.iter().copied(), 3, 4)
    }

    #[test]
    fn a_saved_conversation_is_found_again_and_is_private() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("deep/demo");
        let files = DemoConversationFiles::new(folder.clone());
        let character = DemoSettings { model: DemoModel::Brief, mode: DemoMode::Plan };
        files.save(&memory(&[1, 2]), character, 7);
        files.log_prompt("two\nlines");
        files.log_prompt("more");
        let (found, kept) = DemoConversationFiles::find(folder.clone(), &files.name).unwrap();
        assert_eq!((found, kept.turns, kept.memory.usage()), (files.clone(), 7, memory(&[1, 2]).usage()));
        assert_eq!((kept.character.model, kept.character.mode), (DemoModel::Brief, DemoMode::Plan));
        assert_eq!(files.prompts(), ["two\nlines", "more"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 2, "{files:?}");
        assert!(files.iter().all(|file| mode(file) == 0o600));
    }

    #[test]
    fn a_name_cannot_lead_to_another_directory() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("x.json"), r#"{"entries":[]}"#).unwrap();
        let folder = place.path().join("demo");
        fs::create_dir(&folder).unwrap();
        assert!(DemoConversationFiles::find(place.path().to_owned(), "x").is_some());
        for name in ["../x", "", "nobody", &"x".repeat(65)] {
            assert!(DemoConversationFiles::find(folder.clone(), name).is_none(), "{name}");
        }
        fs::write(folder.join("half.json"), "{\"entr").unwrap();
        assert!(DemoConversationFiles::find(folder, "half").is_none());
    }

    #[test]
    fn old_conversations_are_deleted() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().to_owned();
        let conversations: Vec<DemoConversationFiles> =
            (0..4).map(|_| DemoConversationFiles::new(folder.clone())).collect();
        let now = SystemTime::now();
        for (age, files) in conversations.iter().enumerate() {
            files.save(&memory(&[]), DemoSettings::default(), 0);
            files.log_prompt("x");
            let at = now - Duration::from_secs(age as u64 * 60);
            File::options().append(true).open(files.file(".json")).unwrap().set_modified(at).unwrap();
        }
        let there = |files: &DemoConversationFiles| (files.file(".json").exists(), files.file(PROMPTS_SUFFIX).exists());
        delete_old(&folder, 4, now);
        assert_eq!(
            conversations.iter().map(there).collect::<Vec<_>>(),
            [(true, true), (true, true), (true, true), (false, false)]
        );
        delete_old(&folder, 100, now + MAX_CONVERSATION_AGE - Duration::from_secs(90));
        assert_eq!(conversations.iter().map(there).filter(|there| there.0).count(), 2);
    }
}
