//! `agents.toml` as it is written: its schema, and where what is wrong in it stands. Pure: what its words come to, and
//! which agents there are with it, is seen to when a catalogue is made.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor, value::SeqAccessDeserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wh_core::input::closest;

use crate::table::Protocol;

/// The keys of an agent, whatever it speaks.
pub(super) const COMMON: [&str; 6] = ["protocol", "title", "command", "arguments", "environment", "install_hint"];

/// And those of one that speaks the Agent Client Protocol.
const OF_ACP: [&str; 8] = [
    "version_arguments",
    "login_hint",
    "login",
    "logout",
    "status",
    "authenticate",
    "modes_skipping_permissions",
    "quirks",
];

const AUTHENTICATE: [&str; 2] = ["method", "always"];

const QUIRKS: [&str; 4] = ["mode_in_words", "kept_by_minute", "told", "client"];

/// The longest name of an agent.
const LONGEST_ID: usize = 40;

/// What to do where nothing better can be said.
const CORRECT: &str = "correct it, or move the file away";

/// What is wrong with a file about agents, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {message}", path.display())]
pub struct FileError {
    /// Which file.
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// A file about agents, as it is written.
#[derive(Debug, Clone)]
pub struct AgentsFile {
    path: PathBuf,
    text: String,
    pub(super) sections: Vec<Section>,
}

/// The keys of a table, and where they are.
type Keys = Vec<(String, Range<usize>)>;

/// What it says of one agent.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub id: Spanned<String>,
    /// The keys that are there, and where.
    pub keys: Keys,
    pub says: Definition,
}

#[derive(Debug, Deserialize)]
struct Document {
    #[serde(default)]
    agents: BTreeMap<Spanned<String>, Definition>,
}

pub(super) type Text = Spanned<String>;

/// What may be said of an agent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(expecting = "the table of an agent, as [agents.NAME]")]
pub(super) struct Definition {
    pub protocol: Option<Spanned<Protocol>>,
    pub title: Option<Text>,
    pub command: Option<Spanned<Words>>,
    pub arguments: Option<Vec<Text>>,
    pub version_arguments: Option<Vec<Text>>,
    pub environment: Option<BTreeMap<Text, Spanned<Variable>>>,
    pub install_hint: Option<Text>,
    pub login_hint: Option<Text>,
    pub login: Option<Vec<Text>>,
    pub logout: Option<Vec<Text>>,
    pub status: Option<Vec<Text>>,
    pub authenticate: Option<Authenticate>,
    pub modes_skipping_permissions: Option<Vec<Text>>,
    pub quirks: Option<Quirks>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "a table, as { method = \"api-key\", always = false }")]
pub(super) struct Authenticate {
    pub method: Text,
    #[serde(default)]
    pub always: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "a table, as { kept_by_minute = true }")]
pub(super) struct Quirks {
    pub mode_in_words: Option<String>,
    pub kept_by_minute: Option<bool>,
    pub told: Option<Vec<String>>,
    pub client: Option<Vec<String>>,
}

/// A text or several.
#[derive(Debug, Clone)]
pub(super) enum Words {
    One(String),
    Several(Vec<Text>),
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Words;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a command, or a list of those that it may be installed as")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Words, E> {
                Ok(Words::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Words, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(sequence)).map(Words::Several)
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// A variable: set, or taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Variable {
    Set(String),
    Removed,
}

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = Variable;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a text, or false to take the variable away")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Variable, E> {
                Ok(Variable::Set(text.to_owned()))
            }

            fn visit_bool<E: Error>(self, keep: bool) -> Result<Variable, E> {
                if keep {
                    Err(E::invalid_value(serde::de::Unexpected::Bool(keep), &self))
                } else {
                    Ok(Variable::Removed)
                }
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

impl AgentsFile {
    /// Reads what a file says.
    pub fn read(path: &Path, text: &str) -> Result<Self, FileError> {
        let mut file = Self { path: path.to_owned(), text: text.to_owned(), sections: Vec::new() };
        let unread = |error: toml::de::Error| {
            file.wrong(error.span().unwrap_or_default(), error.message().replace('\n', ", "), CORRECT)
        };
        let table = DeTable::parse(text).map_err(unread)?;
        let keys = file.check(table.get_ref())?;
        let document: Document = toml::from_str(text).map_err(unread)?;
        let mut sections: Vec<Section> = Vec::new();
        for (id, says) in document.agents {
            file.check_id(&id)?;
            let keys = keys.get(id.get_ref()).cloned().unwrap_or_default();
            sections.push(Section { id, keys, says });
        }
        // In the order in which they are written: that is the order in which to offer them.
        sections.sort_by_key(|section| section.id.span().start);
        file.sections = sections;
        Ok(file)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong at this place.
    pub(super) fn wrong(&self, at: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> FileError {
        let before = self.text.get(..at.start).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        FileError { path: self.path.clone(), line, column, message: message.into(), hint: hint.into() }
    }

    /// Sees that every key is one that there is. The keys of each agent come back.
    fn check(&self, table: &DeTable) -> Result<BTreeMap<String, Keys>, FileError> {
        for (key, value) in table {
            if key.get_ref() != "agents" {
                let hint = match value.get_ref() {
                    DeValue::Table(_) => format!("write [agents.{}] for an agent of that name", key.get_ref()),
                    _ => "an agent is a table: write [agents.NAME] before its keys".to_owned(),
                };
                return Err(self.wrong(key.span(), format!("there is no key {:?} here", key.get_ref()), hint));
            }
        }
        let mut found = BTreeMap::new();
        let Some(agents) = table.get("agents").and_then(|agents| agents.get_ref().as_table()) else { return Ok(found) };
        let all: Vec<&str> = COMMON.into_iter().chain(OF_ACP).collect();
        for (id, agent) in agents {
            let Some(agent) = agent.get_ref().as_table() else { continue };
            self.check_keys(agent, &all)?;
            for (name, keys) in [("authenticate", &AUTHENTICATE[..]), ("quirks", &QUIRKS)] {
                if let Some(inner) = agent.get(name).and_then(|inner| inner.get_ref().as_table()) {
                    self.check_keys(inner, keys)?;
                }
            }
            let keys = agent.iter().map(|(key, _)| (key.get_ref().to_string(), key.span()));
            found.insert(id.get_ref().to_string(), keys.collect());
        }
        Ok(found)
    }

    fn check_keys(&self, table: &DeTable, known: &[&str]) -> Result<(), FileError> {
        // The first in the file, not in the alphabet.
        let unknown = table.iter().map(|(key, _)| key).filter(|key| !known.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let hint = match closest(key.get_ref(), known.iter().copied()) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None => format!("there are {}", known.join(", ")),
        };
        Err(self.wrong(key.span(), format!("there is no key {:?}", key.get_ref()), hint))
    }

    fn check_id(&self, id: &Text) -> Result<(), FileError> {
        let name = id.get_ref();
        let allowed = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
        let begins = name.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
        if begins && name.chars().all(allowed) && name.len() <= LONGEST_ID && name != "system" {
            return Ok(());
        }
        let hint = format!("use small letters, digits, - and _, at most {LONGEST_ID}; not \"system\"");
        Err(self.wrong(id.span(), format!("{name:?} cannot be the name of an agent"), hint))
    }
}

/// Whether a key is for agents of the Agent Client Protocol alone.
pub(super) fn is_of_acp(key: &str) -> bool {
    OF_ACP.contains(&key)
}
