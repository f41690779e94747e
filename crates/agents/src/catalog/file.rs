//! Parses `agents.toml` files and validates them against the schema. Errors contain the position in the file.
//! [`Catalog`](super::Catalog) expands variables and builds the agents.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor, value::SeqAccessDeserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wh_core::input::closest;

use crate::table::ProtocolKind;

/// Keys that are allowed for agents of every protocol.
pub(super) const COMMON_KEYS: [&str; 6] = ["protocol", "title", "command", "arguments", "environment", "install_hint"];

/// Keys that are allowed only for ACP agents.
const ACP_KEYS: [&str; 8] = [
    "version_arguments",
    "login_hint",
    "login",
    "logout",
    "status",
    "authenticate",
    "modes_skipping_permissions",
    "quirks",
];

const AUTHENTICATE_KEYS: [&str; 2] = ["method", "always"];

const QUIRKS_KEYS: [&str; 4] =
    ["mode_message_prefix", "resume_only_after_start_minute", "acknowledged_requests", "client_capabilities"];

/// Former and current names of keys in `quirks`. Former names are accepted with a warning.
const RENAMED_QUIRKS_KEYS: [(&str, &str); 4] = [
    ("mode_in_words", "mode_message_prefix"),
    ("kept_by_minute", "resume_only_after_start_minute"),
    ("told", "acknowledged_requests"),
    ("client", "client_capabilities"),
];

/// Maximum length of an agent id.
const MAX_AGENT_ID_CHARS: usize = 40;

/// Suggested fix for errors without a more specific suggestion.
const GENERIC_HINT: &str = "correct the error, or move the file away";

/// Error in an `agents.toml` file, with its position and a suggested fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {message}", path.display())]
pub struct AgentsFileError {
    pub path: PathBuf,
    /// Line number, starting at 1.
    pub line: usize,
    /// Column in characters, starting at 1.
    pub column: usize,
    pub message: String,
    /// Suggested fix for the error.
    pub hint: String,
}

/// Parsed and validated `agents.toml` file. Variables are not expanded.
#[derive(Debug, Clone)]
pub struct AgentsFile {
    path: PathBuf,
    text: String,
    pub(super) sections: Vec<AgentSection>,
    warnings: Vec<String>,
}

/// Keys of a table with their byte ranges in the file.
type KeyRanges = Vec<(String, Range<usize>)>;

/// Table of one agent in `agents.toml`.
#[derive(Debug, Clone)]
pub(super) struct AgentSection {
    pub id: Spanned<String>,
    /// Keys that are present in the table, with their byte ranges in the file.
    pub keys: KeyRanges,
    pub definition: AgentDefinition,
}

#[derive(Debug, Deserialize)]
struct Document {
    #[serde(default)]
    agents: BTreeMap<Spanned<String>, AgentDefinition>,
}

pub(super) type SpannedText = Spanned<String>;

/// Settings of one agent in `agents.toml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(expecting = "a table such as [agents.NAME]")]
pub(super) struct AgentDefinition {
    pub protocol: Option<Spanned<ProtocolKind>>,
    pub title: Option<SpannedText>,
    pub command: Option<Spanned<OneOrMany>>,
    pub arguments: Option<Vec<SpannedText>>,
    pub version_arguments: Option<Vec<SpannedText>>,
    pub environment: Option<BTreeMap<SpannedText, Spanned<VariableChange>>>,
    pub install_hint: Option<SpannedText>,
    pub login_hint: Option<SpannedText>,
    pub login: Option<Vec<SpannedText>>,
    pub logout: Option<Vec<SpannedText>>,
    pub status: Option<Vec<SpannedText>>,
    pub authenticate: Option<AuthenticateTable>,
    pub modes_skipping_permissions: Option<Vec<SpannedText>>,
    pub quirks: Option<QuirksTable>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "a table such as { method = \"api-key\", always = false }")]
pub(super) struct AuthenticateTable {
    pub method: SpannedText,
    #[serde(default)]
    pub always: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "a table such as { acknowledged_requests = [\"example/progress\"] }")]
pub(super) struct QuirksTable {
    #[serde(alias = "mode_in_words")]
    pub mode_message_prefix: Option<String>,
    #[serde(alias = "kept_by_minute")]
    pub resume_only_after_start_minute: Option<bool>,
    #[serde(alias = "told")]
    pub acknowledged_requests: Option<Vec<String>>,
    #[serde(alias = "client")]
    pub client_capabilities: Option<Vec<String>>,
}

/// Value of a key that accepts a single text or a list of texts.
#[derive(Debug, Clone)]
pub(super) enum OneOrMany {
    One(String),
    Several(Vec<SpannedText>),
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrManyVisitor;

        impl<'de> Visitor<'de> for OneOrManyVisitor {
            type Value = OneOrMany;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a command or a list of commands")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<OneOrMany, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(sequence)).map(OneOrMany::Several)
            }
        }

        deserializer.deserialize_any(OneOrManyVisitor)
    }
}

/// Change of an environment variable: a new value, or the removal of the variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VariableChange {
    Set(String),
    Removed,
}

impl<'de> Deserialize<'de> for VariableChange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct VariableChangeVisitor;

        impl Visitor<'_> for VariableChangeVisitor {
            type Value = VariableChange;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a string, or false to remove the variable")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<VariableChange, E> {
                Ok(VariableChange::Set(text.to_owned()))
            }

            fn visit_bool<E: Error>(self, keep: bool) -> Result<VariableChange, E> {
                if keep {
                    Err(E::invalid_value(serde::de::Unexpected::Bool(keep), &self))
                } else {
                    Ok(VariableChange::Removed)
                }
            }
        }

        deserializer.deserialize_any(VariableChangeVisitor)
    }
}

impl AgentsFile {
    /// Parses and validates the text of a file.
    pub fn read(path: &Path, text: &str) -> Result<Self, AgentsFileError> {
        let mut file =
            Self { path: path.to_owned(), text: text.to_owned(), sections: Vec::new(), warnings: Vec::new() };
        let unread = |error: toml::de::Error| {
            file.error_at(error.span().unwrap_or_default(), error.message().replace('\n', ", "), GENERIC_HINT)
        };
        let table = DeTable::parse(text).map_err(unread)?;
        let keys = file.check(table.get_ref())?;
        let warnings = file.renamed_keys(table.get_ref());
        let document: Document = toml::from_str(text).map_err(unread)?;
        let mut sections: Vec<AgentSection> = Vec::new();
        for (id, says) in document.agents {
            file.check_id(&id)?;
            let keys = keys.get(id.get_ref()).cloned().unwrap_or_default();
            sections.push(AgentSection { id, keys, definition: says });
        }
        // Agents are displayed in the order in which the file defines them.
        sections.sort_by_key(|section| section.id.span().start);
        (file.sections, file.warnings) = (sections, warnings);
        Ok(file)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns warnings about former names of keys, each with its position and the current name.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Builds an error for the byte range `at`.
    pub(super) fn error_at(
        &self,
        at: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> AgentsFileError {
        let before = self.text.get(..at.start).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        AgentsFileError { path: self.path.clone(), line, column, message: message.into(), hint: hint.into() }
    }

    /// Rejects unknown keys. Returns the keys of each agent.
    fn check(&self, table: &DeTable) -> Result<BTreeMap<String, KeyRanges>, AgentsFileError> {
        for (key, value) in table {
            if key.get_ref() != "agents" {
                let hint = match value.get_ref() {
                    DeValue::Table(_) => format!("write [agents.{}] to define an agent with this name", key.get_ref()),
                    _ => "write the keys into a table [agents.NAME]".to_owned(),
                };
                return Err(self.error_at(
                    key.span(),
                    format!("unknown key {:?} at the top level", key.get_ref()),
                    hint,
                ));
            }
        }
        let mut found = BTreeMap::new();
        let Some(agents) = table.get("agents").and_then(|agents| agents.get_ref().as_table()) else { return Ok(found) };
        let all: Vec<&str> = COMMON_KEYS.into_iter().chain(ACP_KEYS).collect();
        for (id, agent) in agents {
            let Some(agent) = agent.get_ref().as_table() else { continue };
            self.check_keys(agent, &all)?;
            for (name, keys) in [("authenticate", &AUTHENTICATE_KEYS[..]), ("quirks", &QUIRKS_KEYS)] {
                if let Some(inner) = agent.get(name).and_then(|inner| inner.get_ref().as_table()) {
                    self.check_keys(inner, keys)?;
                    self.check_renamed_keys(inner)?;
                }
            }
            let keys = agent.iter().map(|(key, _)| (key.get_ref().to_string(), key.span()));
            found.insert(id.get_ref().to_string(), keys.collect());
        }
        Ok(found)
    }

    fn check_keys(&self, table: &DeTable, known: &[&str]) -> Result<(), AgentsFileError> {
        // Report the first unknown key in file order, not in alphabetical order.
        let is_known = |key: &str| known.contains(&key) || current_name(key).is_some_and(|name| known.contains(&name));
        let unknown = table.iter().map(|(key, _)| key).filter(|key| !is_known(key.get_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let hint = match closest(key.get_ref(), known.iter().copied()) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None => format!("valid keys: {}", known.join(", ")),
        };
        Err(self.error_at(key.span(), format!("unknown key {:?}", key.get_ref()), hint))
    }

    /// Rejects a key that is present under both its former and its current name.
    fn check_renamed_keys(&self, table: &DeTable) -> Result<(), AgentsFileError> {
        for (former, current) in RENAMED_QUIRKS_KEYS {
            if let Some((key, _)) = table.get_key_value(former)
                && table.contains_key(current)
            {
                let message = format!("{former:?} was renamed to {current:?}, and both are present");
                return Err(self.error_at(key.span(), message, format!("remove {former:?}")));
            }
        }
        Ok(())
    }

    /// Formats a warning for each key that is present under its former name, in file order.
    fn renamed_keys(&self, table: &DeTable) -> Vec<String> {
        let agents = table.get("agents").and_then(|agents| agents.get_ref().as_table());
        let quirks = agents.into_iter().flat_map(|agents| agents.iter()).filter_map(|(_, agent)| {
            agent.get_ref().as_table()?.get("quirks").and_then(|quirks| quirks.get_ref().as_table())
        });
        let mut renamed: Vec<(usize, String)> = quirks
            .flat_map(|quirks| quirks.iter())
            .filter_map(|(key, _)| {
                let current = current_name(key.get_ref())?;
                let message = format!("the key {:?} was renamed", key.get_ref());
                let AgentsFileError { path, line, column, message, hint } =
                    self.error_at(key.span(), message, format!("write {current:?}"));
                Some((key.span().start, format!("{}:{line}:{column}: {message}; {hint}", path.display())))
            })
            .collect();
        renamed.sort();
        renamed.into_iter().map(|(_, warning)| warning).collect()
    }

    fn check_id(&self, id: &SpannedText) -> Result<(), AgentsFileError> {
        let name = id.get_ref();
        let allowed = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
        let begins = name.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
        if begins && name.chars().all(allowed) && name.len() <= MAX_AGENT_ID_CHARS && name != "system" {
            return Ok(());
        }
        let hint = format!(
            "use at most {MAX_AGENT_ID_CHARS} lowercase letters, digits, - and _, \
             and begin with a letter or digit; \"system\" is reserved"
        );
        Err(self.error_at(id.span(), format!("{name:?} is not a valid agent name"), hint))
    }
}

/// Returns the current name of a renamed key in `quirks`; `None` if the key was not renamed.
fn current_name(key: &str) -> Option<&'static str> {
    RENAMED_QUIRKS_KEYS.iter().find(|(former, _)| *former == key).map(|(_, current)| *current)
}

/// Returns true if a key applies only to ACP agents.
pub(super) fn is_acp_key(key: &str) -> bool {
    ACP_KEYS.contains(&key)
}
