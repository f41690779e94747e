//! What the demo agent leaves behind in order to be gone on with: one small file for each conversation, with what it
//! remembers, and beside it the prompts that have reached it. Nothing is written unless whoever starts it wants that.
//!
//! The files are so small that reading and writing them does not hold anybody up. One that cannot be written is not
//! missed before somebody goes on with it: the conversation goes on meanwhile.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use wh_agents::port::Surroundings;

use super::character::{Character, Mode, Model};
use super::memory::Memory;

/// Conversations that are kept. Beyond that the ones that were silent for longest go.
const MOST: usize = 2000;

/// How long a conversation is kept in which nothing is said.
const LONGEST: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// Bytes of prompts after which a new file of them is begun. The one before it stays.
const MOST_PROMPTS: u64 = 8 << 20;

/// What the files of prompts are called after the conversation's name.
const PROMPTS: &str = ".prompts.jsonl";
const OLDER_PROMPTS: &str = ".prompts.old.jsonl";

/// What was kept of a conversation.
#[derive(Debug)]
pub(super) struct Conversation {
    pub memory: Memory,
    pub character: Character,
    pub turns: u64,
}

/// Where a conversation is kept, and under which name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shelf {
    folder: PathBuf,
    pub name: String,
}

impl Shelf {
    /// Where conversations are kept: with the state of the person's programs.
    pub fn folder(here: &Surroundings) -> Option<PathBuf> {
        let state = here.variable("XDG_STATE_HOME").map(PathBuf::from).or_else(|| here.home(".local/state"))?;
        Some(state.join("wheelhouse/demo"))
    }

    /// A place for a new conversation. The oldest make room for it.
    pub fn new(folder: PathBuf) -> Self {
        tidy(&folder, MOST, SystemTime::now());
        Self { folder, name: fresh() }
    }

    /// The place of a conversation that is kept under this name, and what was kept.
    pub fn find(folder: PathBuf, name: &str) -> Option<(Self, Conversation)> {
        // The name comes from outside, and must not lead elsewhere.
        let plain = !name.is_empty() && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let shelf = Self { folder, name: name.to_owned() };
        let text = fs::read(shelf.file(".json")).ok().filter(|_| plain)?;
        let kept: Value = serde_json::from_slice(&text).ok()?;
        let whole = |name: &str| kept[name].as_u64().unwrap_or_default();
        let entries = kept["entries"].as_array()?.iter().filter_map(Value::as_u64);
        let memory = Memory::of(entries, whole("input"), whole("output"));
        let character = Character {
            model: kept["model"].as_str().and_then(Model::named).unwrap_or_default(),
            mode: kept["mode"].as_str().and_then(Mode::named).unwrap_or_default(),
        };
        Some((shelf, Conversation { memory, character, turns: whole("turns") }))
    }

    /// Another place beside this one.
    pub fn another(&self) -> Self {
        Self::new(self.folder.clone())
    }

    fn file(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}{end}", self.name))
    }

    /// Writes down what is remembered, in the place of what was.
    pub fn keep(&self, memory: &Memory, character: Character, turns: u64) {
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

    /// Writes a prompt down that has arrived.
    pub fn arrived(&self, text: &str) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = json!({ "at": u64::try_from(at.as_millis()).unwrap_or(u64::MAX), "text": text });
        let written = self.make_folder().and_then(|()| {
            let prompts = self.file(PROMPTS);
            if fs::metadata(&prompts).is_ok_and(|facts| facts.len() > MOST_PROMPTS) {
                fs::rename(&prompts, self.file(OLDER_PROMPTS))?;
            }
            let mut file = private(&prompts, true)?;
            file.write_all(format!("{line}\n").as_bytes())?;
            file.flush()
        });
        warn(written);
    }

    /// The prompts that have arrived, as far as they are kept, oldest first. Half a line is none.
    pub fn prompts(&self) -> Vec<String> {
        let mut text = String::new();
        let read = File::open(self.file(PROMPTS)).and_then(|mut file| file.read_to_string(&mut text));
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let texts = lines.filter_map(|line| line["text"].as_str().map(str::to_owned)).collect();
        if read.is_ok() { texts } else { Vec::new() }
    }

    fn make_folder(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }
}

/// Opens a file that is nobody else's business.
fn private(path: &Path, append: bool) -> io::Result<File> {
    OpenOptions::new().create(true).write(true).append(append).truncate(!append).mode(0o600).open(path)
}

fn warn(written: io::Result<()>) {
    if let Err(error) = written {
        tracing::warn!(%error, "the demo agent cannot keep its conversation");
    }
}

/// A name that no other conversation has.
fn fresh() -> String {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    if read.is_err() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        bytes = (now ^ (u128::from(std::process::id()) << 96)).to_be_bytes();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Takes away what was silent for too long, and of the rest what is too much: with the new one there are as many as may be.
fn tidy(folder: &Path, most: usize, now: SystemTime) {
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
        if place < surplus || now.duration_since(*at).is_ok_and(|age| age > LONGEST) {
            for end in [".json", PROMPTS, OLDER_PROMPTS] {
                // What is gone already need not be taken away.
                let _ = fs::remove_file(folder.join(format!("{name}{end}")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn memory(entries: &[u64]) -> Memory {
        Memory::of(entries.iter().copied(), 3, 4)
    }

    #[test]
    fn what_is_kept_is_found_again_and_is_nobody_elses_business() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("deep/demo");
        let shelf = Shelf::new(folder.clone());
        let character = Character { model: Model::Brief, mode: Mode::Plan };
        shelf.keep(&memory(&[1, 2]), character, 7);
        shelf.arrived("two\nlines");
        shelf.arrived("more");
        let (found, kept) = Shelf::find(folder.clone(), &shelf.name).unwrap();
        assert_eq!((found, kept.turns, kept.memory.usage()), (shelf.clone(), 7, memory(&[1, 2]).usage()));
        assert_eq!((kept.character.model, kept.character.mode), (Model::Brief, Mode::Plan));
        assert_eq!(shelf.prompts(), ["two\nlines", "more"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 2, "{files:?}");
        assert!(files.iter().all(|file| mode(file) == 0o600));
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("x.json"), r#"{"entries":[]}"#).unwrap();
        let folder = place.path().join("demo");
        fs::create_dir(&folder).unwrap();
        assert!(Shelf::find(place.path().to_owned(), "x").is_some());
        for name in ["../x", "", "nobody", &"x".repeat(65)] {
            assert!(Shelf::find(folder.clone(), name).is_none(), "{name}");
        }
        fs::write(folder.join("half.json"), "{\"entr").unwrap();
        assert!(Shelf::find(folder, "half").is_none());
    }

    #[test]
    fn the_oldest_make_room_and_the_forgotten_go() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().to_owned();
        let shelves: Vec<Shelf> = (0..4).map(|_| Shelf::new(folder.clone())).collect();
        let now = SystemTime::now();
        for (age, shelf) in shelves.iter().enumerate() {
            shelf.keep(&memory(&[]), Character::default(), 0);
            shelf.arrived("x");
            let at = now - Duration::from_secs(age as u64 * 60);
            File::options().append(true).open(shelf.file(".json")).unwrap().set_modified(at).unwrap();
        }
        let there = |shelf: &Shelf| (shelf.file(".json").exists(), shelf.file(PROMPTS).exists());
        tidy(&folder, 4, now);
        assert_eq!(
            shelves.iter().map(there).collect::<Vec<_>>(),
            [(true, true), (true, true), (true, true), (false, false)]
        );
        tidy(&folder, 100, now + LONGEST - Duration::from_secs(90));
        assert_eq!(shelves.iter().map(there).filter(|there| there.0).count(), 2);
    }
}
