//! Parses conversation files in the same way as Gemini CLI: each line is a record, and the last record with a message
//! id takes precedence. Records in an unknown format count as content, because a later version of Gemini may store
//! messages differently.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::{Map, Value};

/// Maximum size of a conversation file that is read.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Parsed content of a conversation file.
#[derive(Debug, Default)]
pub(super) struct ConversationContent {
    pub id: Option<String>,
    /// Ids and classes of the messages, in order.
    messages: Vec<(String, MessageClass)>,
    /// Index of each id in `messages`.
    indexes: HashMap<String, usize>,
    /// Records in an unknown format: the id of the record, or a hash if it has no id.
    unknown: HashSet<String>,
    /// True if the file has ever contained a message of the user or the model. Messages that were rewound later and
    /// lines that cannot be parsed also count.
    was_used: bool,
}

/// Class of a message according to Gemini's rules for resuming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageClass {
    /// Message that makes the conversation resumable.
    Resumable,
    /// Slash command of the user, or notice of Gemini. Such a message alone does not make the conversation resumable.
    Aside,
    /// Context that Gemini adds, or a message without content.
    Setup,
    Unknown,
}

impl ConversationContent {
    /// Reads a conversation file. Skips lines that are not valid JSON, as Gemini does.
    pub fn read(file: &Path) -> io::Result<Self> {
        let mut content = Self::default();
        for line in BufReader::new(open(file)?).split(b'\n') {
            let line = line?;
            match serde_json::from_slice::<Value>(&line) {
                Ok(record) => content.record(&record),
                Err(_) => content.was_used |= !line.trim_ascii().is_empty(),
            }
        }
        Ok(content)
    }

    fn record(&mut self, record: &Value) {
        if let Some(to) = record["$rewindTo"].as_str() {
            self.truncate(self.indexes.get(to).copied().unwrap_or_default());
        } else if let Some(id) = record["id"].as_str() {
            self.message(id, record);
        } else if let Some(changes) = record["$set"].as_object() {
            if changes.get("messages").is_some_and(Value::is_array) {
                self.truncate(0);
            }
            self.header(changes);
        } else if let Some(header) =
            record.as_object().filter(|header| header.get("sessionId").is_some_and(Value::is_string))
        {
            self.id = header["sessionId"].as_str().map(str::to_owned);
            self.header(header);
        } else {
            self.unknown.insert(hash(record));
        }
    }

    fn header(&mut self, fields: &Map<String, Value>) {
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("messages", Value::Array(messages)) => {
                    for message in messages {
                        match message["id"].as_str() {
                            Some(id) => self.message(id, message),
                            None => drop(self.unknown.insert(hash(message))),
                        }
                    }
                }
                ("directories" | "memoryScratchpad", _) => {}
                (_, Value::Array(list)) if !list.is_empty() => drop(self.unknown.insert(hash(value))),
                (_, Value::Object(fields)) if !fields.is_empty() => drop(self.unknown.insert(hash(value))),
                _ => {}
            }
        }
    }

    fn message(&mut self, id: &str, message: &Value) {
        let kind = MessageClass::of(message);
        if kind == MessageClass::Unknown {
            self.unknown.insert(id.to_owned());
        }
        self.was_used |= kind != MessageClass::Setup;
        let place = *self.indexes.entry(id.to_owned()).or_insert(self.messages.len());
        match self.messages.get_mut(place) {
            Some((_, known)) => *known = kind,
            None => self.messages.push((id.to_owned(), kind)),
        }
    }

    fn truncate(&mut self, length: usize) {
        self.messages.truncate(length);
        self.indexes.retain(|_, place| *place < length);
    }

    /// Returns the ids of the resumable messages, in order.
    pub fn resumable(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().filter(|(_, kind)| *kind == MessageClass::Resumable).map(|(id, _)| id.as_str())
    }

    /// Returns the number of resumable messages and the number of records in an unknown format.
    pub fn size(&self) -> (usize, usize) {
        (self.resumable().count(), self.unknown.len())
    }

    /// Returns true if this file contains all resumable messages and unknown records of `other`.
    pub fn contains(&self, other: &Self) -> bool {
        other.resumable().all(|id| self.indexes.contains_key(id)) && other.unknown.is_subset(&self.unknown)
    }

    /// Returns true if the file has no resumable messages and no unknown records.
    pub fn is_empty(&self) -> bool {
        self.size() == (0, 0)
    }

    /// Returns true if the file is empty (see [`is_empty`](Self::is_empty)) and has never contained a message of the
    /// user or the model.
    pub fn is_unused(&self) -> bool {
        self.is_empty() && !self.was_used
    }
}

impl MessageClass {
    fn of(message: &Value) -> Self {
        let text = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            Value::Array(parts) if parts.iter().all(|part| part["text"].is_string()) => {
                parts.iter().filter_map(|part| part["text"].as_str()).collect()
            }
            // Images, files, and formats that later versions may add.
            _ => {
                return if matches!(message["type"].as_str(), Some("user" | "gemini")) {
                    Self::Resumable
                } else {
                    Self::Unknown
                };
            }
        };
        let text = text.trim();
        let has = |field: &str| message[field].as_array().is_some_and(|list| !list.is_empty());
        let begins = |marks: &[&str]| marks.iter().any(|mark| text.starts_with(mark));
        match message["type"].as_str() {
            Some("user") if text.is_empty() || begins(&["<session_context>", "<hook_context>"]) => Self::Setup,
            Some("user") if begins(&["/", "?"]) => Self::Aside,
            Some("user") => Self::Resumable,
            Some("gemini") if text.is_empty() && !has("toolCalls") && !has("thoughts") => Self::Setup,
            Some("gemini") => Self::Resumable,
            Some("info" | "error" | "warning") => Self::Aside,
            _ => Self::Unknown,
        }
    }
}

fn hash(record: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    record.to_string().hash(&mut hasher);
    format!("#{:x}", hasher.finish())
}

/// Opens a regular file. Fails for symbolic links, for other kinds of files, and for files larger than
/// [`MAX_FILE_BYTES`].
fn open(file: &Path) -> io::Result<File> {
    let named = fs::symlink_metadata(file)?;
    if !named.is_file() || named.len() > MAX_FILE_BYTES {
        return Err(io::Error::other("not a regular file, or larger than 256 MiB"));
    }
    let open = File::open(file)?;
    let facts = open.metadata()?;
    if (facts.dev(), facts.ino()) != (named.dev(), named.ino()) {
        return Err(io::Error::other("the file was replaced while it was opened"));
    }
    Ok(open)
}

/// Reads the bytes of a regular file.
pub(super) fn bytes(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(file)?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
