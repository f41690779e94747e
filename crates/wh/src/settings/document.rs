//! Parses a settings file, rejects keys and values that the table of settings does not allow, and records the position
//! of every value. Edits a file without losing comments. Does no I/O.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{Document, DocumentMut, Item, Table, TableLike, TomlError};
use wh_core::input::closest;

use super::table::{self, ProjectRule, SettingRow};
use super::value::SettingValue;

/// Error in a settings file, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFileError {
    pub path: PathBuf,
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl fmt::Display for SettingsFileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, column, message } = self;
        write!(formatter, "{}:{line}:{column}: {message}", path.display())
    }
}

impl SettingsFileError {
    fn new(path: &Path, text: &str, offset: usize, message: String) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { path: path.to_owned(), line, column, message }
    }

    fn syntax(path: &Path, text: &str, error: &TomlError) -> Self {
        let offset = error.span().map_or(0, |span| span.start);
        Self::new(path, text, offset, error.message().replace('\n', ", "))
    }
}

/// Value of a setting in a file, with its position.
#[derive(Debug, Clone)]
pub struct SettingEntry {
    pub setting: &'static SettingRow,
    pub value: SettingValue,
    pub line: usize,
    pub column: usize,
}

/// Parsed settings file.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    pub path: PathBuf,
    pub entries: Vec<SettingEntry>,
}

/// Owner of a settings file: the user, or the project that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFileOwner {
    User,
    Project,
}

impl ConfigFile {
    /// Parses a settings file. Fails with the first error in the file.
    pub fn read(path: &Path, text: &str, owner: SettingsFileOwner) -> Result<Self, SettingsFileError> {
        let document = Document::parse(text).map_err(|error| SettingsFileError::syntax(path, text, &error))?;
        let mut reader = SettingsReader { owner, entries: Vec::new(), mistakes: Vec::new() };
        reader.root(document.as_table());
        // Reports the first error in the file. The keys were not checked in this order.
        if let Some((offset, message)) = reader.mistakes.into_iter().min_by_key(|(offset, _)| *offset) {
            return Err(SettingsFileError::new(path, text, offset, message));
        }
        let entries = reader.entries.into_iter().map(|(setting, value, offset)| {
            let SettingsFileError { line, column, .. } = SettingsFileError::new(path, text, offset, String::new());
            SettingEntry { setting, value, line, column }
        });
        Ok(Self { path: path.to_owned(), entries: entries.collect() })
    }

    pub fn get(&self, setting: &SettingRow) -> Option<&SettingEntry> {
        self.entries.iter().find(|entry| std::ptr::eq(entry.setting, setting))
    }
}

struct SettingsReader {
    owner: SettingsFileOwner,
    /// Settings with their values and the byte offsets of their keys.
    entries: Vec<(&'static SettingRow, SettingValue, usize)>,
    mistakes: Vec<(usize, String)>,
}

impl SettingsReader {
    fn root(&mut self, root: &Table) {
        for (name, item, at) in keys(root) {
            let section = table::sections().find(|section| *section == name);
            match (section, item.as_table_like()) {
                (Some(section), Some(inner)) => self.section(section, inner),
                (Some(section), None) => {
                    let message = format!("{section} is a table; write [{section}] before its keys");
                    self.mistakes.push((at.start, message));
                }
                (None, _) => self.key(name, item, &at),
            }
        }
    }

    fn section(&mut self, section: &str, table: &dyn TableLike) {
        for (name, item, at) in keys(table) {
            self.key(&format!("{section}.{name}"), item, &at);
        }
    }

    fn key(&mut self, key: &str, item: &Item, at: &Range<usize>) {
        let Some(setting) = table::by_key(key) else {
            self.mistakes.push((at.start, unknown(key)));
            return;
        };
        if self.owner == SettingsFileOwner::Project && setting.project == ProjectRule::Never {
            let message = format!("{key} is only allowed in your own config.toml: the daemon uses it for all projects");
            self.mistakes.push((at.start, message));
            return;
        }
        match setting.kind.parse_toml(item) {
            Ok(value) => self.entries.push((setting, value, at.start)),
            Err(wrong) => {
                let place = wrong.at.or_else(|| item.span()).map_or(at.start, |span| span.start);
                self.mistakes.push((place, format!("{key} {}", wrong.message)));
            }
        }
    }
}

/// Lists the keys of a table with their items and positions.
fn keys(table: &dyn TableLike) -> Vec<(&str, &Item, Range<usize>)> {
    let names = table.iter().map(|(name, _)| name).collect::<Vec<_>>();
    let found = names.into_iter().filter_map(|name| table.get_key_value(name));
    found.map(|(key, item)| (key.get(), item, key.span().or_else(|| item.span()).unwrap_or_default())).collect()
}

/// Returns the message for an unknown key, with a suggestion.
pub fn unknown(key: &str) -> String {
    let sections = table::sections().map(str::to_owned);
    let names: Vec<String> = table::table().iter().map(SettingRow::key).chain(sections).collect();
    let last = key.rsplit('.').next().unwrap_or(key);
    // Suggests a similar key, else a key with the same name in another table.
    let moved = table::table().iter().find(|setting| setting.name == last).map(SettingRow::key);
    match closest(key, names.iter().map(String::as_str)).map(str::to_owned).or(moved) {
        Some(meant) => format!("unknown key {key:?}; did you mean {meant:?}?"),
        None => format!("unknown key {key:?}; `wh config` lists the keys"),
    }
}

/// Returns the text of a file with one value changed.
pub fn set(path: &Path, text: &str, setting: &SettingRow, value: &SettingValue) -> Result<String, SettingsFileError> {
    let mut document = editable(path, text)?;
    let table: &mut dyn TableLike = if setting.section.is_empty() {
        document.as_table_mut()
    } else {
        if document.get(setting.section).is_some_and(|item| !item.is_table_like()) {
            document.remove(setting.section);
        }
        let item = document.entry(setting.section).or_insert_with(|| Item::Table(Table::new()));
        match item.as_table_like_mut() {
            Some(table) => table,
            None => return Ok(text.to_owned()),
        }
    };
    let mut value = value.to_toml();
    match table.get_mut(setting.name) {
        Some(item) => {
            if let Some(before) = item.as_value() {
                *value.decor_mut() = before.decor().clone();
            }
            *item = Item::Value(value);
        }
        None => drop(table.insert(setting.name, Item::Value(value))),
    }
    Ok(document.to_string())
}

/// Removes `key` from the text of a file; the key may be unknown. Returns `None` if the file does not have the key.
/// Preserves comments above the key.
pub fn unset(path: &Path, text: &str, key: &str) -> Result<Option<String>, SettingsFileError> {
    let document = Document::parse(text).map_err(|error| SettingsFileError::syntax(path, text, &error))?;
    let root = document.as_table();
    let (table, name): (Option<&Table>, _) = match key.split_once('.') {
        None => (Some(root), key),
        Some((section, name)) => (root.get(section).and_then(Item::as_table), name),
    };
    // A key outside of inline tables has its own lines. These lines are removed.
    if let Some((key, Item::Value(value))) = table.and_then(|table| table.get_key_value(name))
        && let (Some(from), Some(to)) = (key.span(), value.span())
    {
        let (before, after) = (text.get(..from.start).unwrap_or(text), text.get(to.end..).unwrap_or_default());
        let before = before.rfind('\n').map_or("", |end| &before[..=end]);
        let after = after.find('\n').map_or("", |end| &after[end + 1..]);
        return Ok(Some(format!("{before}{after}")));
    }
    let mut document = document.into_mut();
    let removed = match key.split_once('.') {
        None => document.remove(key).is_some(),
        Some((section, name)) => {
            let table = document.get_mut(section).and_then(Item::as_table_like_mut);
            table.is_some_and(|table| table.remove(name).is_some())
        }
    };
    Ok(removed.then(|| document.to_string()))
}

fn editable(path: &Path, text: &str) -> Result<DocumentMut, SettingsFileError> {
    text.parse().map_err(|error| SettingsFileError::syntax(path, text, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/c.toml";

    fn read(text: &str) -> Result<ConfigFile, String> {
        ConfigFile::read(Path::new(PATH), text, SettingsFileOwner::User).map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn every_value_has_its_place() {
        let file =
            read("# mine\ntheme = 'dark'\ntimeouts.answer = 3\n[control]\n  max_age = 5 # s\n[keys]\nundo = ['f9']\n");
        let found: Vec<String> = file
            .unwrap()
            .entries
            .iter()
            .map(|entry| format!("{}={} {}:{}", entry.setting.key(), entry.value, entry.line, entry.column))
            .collect();
        assert_eq!(found, ["theme=dark 2:1", "timeouts.answer=3s 3:10", "control.max_age=5 5:3", "keys.undo=f9 7:1"]);
    }

    #[test]
    fn a_mistake_is_named_with_its_place_and_what_was_meant() {
        for (text, words) in [
            ("# a\n\nthem = 'dark'", r#"/c.toml:3:1: unknown key "them"; did you mean "theme"?"#),
            ("theme = 3", "/c.toml:1:9: theme is an integer; it must be one of auto, dark, light, none"),
            (
                "[control]\nmax_aeg = 1",
                r#"/c.toml:2:1: unknown key "control.max_aeg"; did you mean "control.max_age"?"#,
            ),
            ("[contrl]\nmax_age = 1", r#"/c.toml:1:2: unknown key "contrl"; did you mean "control"?"#),
            ("max_age = 1", r#"/c.toml:1:1: unknown key "max_age"; did you mean "control.max_age"?"#),
            ("control = 1", "/c.toml:1:1: control is a table; write [control] before its keys"),
            ("[[control]]\nmax_age = 1", "/c.toml:1:3: control is a table; write [control] before its keys"),
            ("zebra = 1\ntheme = 1", r#"/c.toml:1:1: unknown key "zebra"; `wh config` lists the keys"#),
            (
                "agent = ['demo', 'a b']",
                r#"/c.toml:1:18: agent has the invalid name "a b"; a name is one word without commas; write several names as a list"#,
            ),
            (
                "[keys]\nundo = 'ctlr+x'",
                r#"/c.toml:2:8: keys.undo has an unknown key "ctlr+x"; did you mean "ctrl+x"?"#,
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), words);
        }
        for syntax in ["theme = ", "theme == 'dark'", "theme = 'dark'\ntheme = 'light'"] {
            assert!(read(syntax).unwrap_err().starts_with("/c.toml:"), "{syntax}");
        }
    }

    #[test]
    fn a_project_cannot_set_what_is_for_the_daemon() {
        let read = |text| {
            ConfigFile::read(Path::new(PATH), text, SettingsFileOwner::Project).map_err(|error| error.to_string())
        };
        let words =
            "/c.toml:2:1: control.max_age is only allowed in your own config.toml: the daemon uses it for all projects";
        assert_eq!(read("[control]\nmax_age = 1").unwrap_err(), words);
        assert!(read("theme = 'dark'\nagent = 'demo'").is_ok());
    }

    fn with(text: &str, key: &str, value: &str) -> String {
        let setting = table::by_key(key).unwrap();
        set(Path::new(PATH), text, setting, &setting.kind.parse_text(value).unwrap()).unwrap()
    }

    #[test]
    fn a_change_keeps_comments_and_formatting() {
        let text = "# mine\ntheme   =  'dark'  # at night\n\n[control]\n# old\nmax_age = 5\n";
        assert_eq!(with(text, "theme", "light"), text.replace("'dark'", "\"light\""));
        assert_eq!(with(text, "control.max_age", "9"), text.replace('5', "9"));
        assert_eq!(with(text, "control.max_skew", "9"), format!("{text}max_skew = 9\n"));
        assert_eq!(with("", "agent", "a,b"), "agent = [\"a\", \"b\"]\n");
        assert_eq!(with("", "keys.undo", "f9"), "[keys]\nundo = \"f9\"\n");
        assert_eq!(
            with("timeouts = { wait = 3 }\n", "timeouts.answer", "7"),
            "timeouts = { wait = 3 , answer = \"7s\" }\n"
        );
        assert_eq!(with("control = 3\n", "control.max_age", "7"), "[control]\nmax_age = 7\n", "a mistake is put right");
        assert!(set(Path::new(PATH), "theme = ", table::by_key("theme").unwrap(), &SettingValue::Number(1)).is_err());
    }

    #[test]
    fn a_key_is_removed_even_if_there_is_no_such_setting() {
        let unset = |text, key| unset(Path::new(PATH), text, key).unwrap();
        let text = "# mine\n\nthem = 1 # x\ntheme = 'dark'\n[control]\nmax_age = 5\n# end\n[contrl]\na = 1\n";
        assert_eq!(unset(text, "them").unwrap(), text.replace("them = 1 # x\n", ""));
        assert_eq!(unset(text, "control.max_age").unwrap(), text.replace("max_age = 5\n", ""));
        assert_eq!(unset(text, "contrl").unwrap(), text.replace("# end\n[contrl]\na = 1\n", ""));
        assert_eq!(unset("agent = [\n 'a',\n 'b',\n]", "agent").unwrap(), "");
        assert_eq!(unset("keys.undo = 'f9'\n", "keys.undo").unwrap(), "");
        assert_eq!(unset("keys = { undo = 'f9' }\n", "keys.undo").unwrap(), "keys = {}\n");
        assert_eq!(unset(text, "agent"), None);
    }
}
