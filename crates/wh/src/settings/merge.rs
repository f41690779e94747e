//! Merges settings from environment variables, project file, user file and defaults, highest precedence first. Clap
//! handles flags, which override all of these. Does no I/O.

use std::path::PathBuf;
use std::time::Duration;

use wh_tui::bell::BellSetting;
use wh_tui::keymap::{ACTIONS, BindingError, KeyMap};

use super::document::{ConfigFile, SettingsFileError};
use super::table::{ProjectRule, SettingRow, by_key, table};
use super::value::{SettingType, SettingValue};

/// Environment variable that disables colours in all programs (<https://no-color.org>). No file overrides it.
const NO_COLOR: &str = "NO_COLOR";

/// Source of a setting's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    Default,
    User { path: PathBuf, line: usize, column: usize },
    Project { path: PathBuf, line: usize, column: usize },
    Environment(&'static str),
}

impl SettingSource {
    /// Returns the name of the source in JSON output.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User { .. } => "user",
            Self::Project { .. } => "project",
            Self::Environment(_) => "environment",
        }
    }

    /// True if the source is a file.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::User { .. } | Self::Project { .. })
    }
}

/// Value of a setting and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedSetting {
    /// Effective value; `None` if no source has a value and there is no default, or if the environment variable has an
    /// invalid value.
    pub value: Option<SettingValue>,
    pub source: SettingSource,
}

/// Settings files in use.
#[derive(Debug, Default)]
pub struct SettingsFiles {
    pub user: Option<ConfigFile>,
    pub project: Option<ConfigFile>,
    /// True if the user trusts the project's file.
    pub trusted: bool,
}

impl SettingsFiles {
    /// Lists settings of the project's file that are not used because the user does not trust the file.
    pub fn untrusted(&self) -> Vec<&'static SettingRow> {
        let entries = self.project.iter().filter(|_| !self.trusted).flat_map(|file| &file.entries);
        entries.map(|entry| entry.setting).filter(|setting| setting.project != ProjectRule::Always).collect()
    }
}

/// Effective settings, before flags override them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Values in the order of the table's rows.
    resolved: Vec<ResolvedSetting>,
    keys: KeyMap,
    /// Error messages for environment variables with invalid values. Commands that use such a variable fail.
    wrong_variables: Vec<String>,
}

impl Settings {
    /// Merges the sources. `variable` reads the environment.
    pub fn new(files: &SettingsFiles, variable: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsFileError> {
        let mut wrong_variables = Vec::new();
        let resolved = table()
            .iter()
            .map(|setting| {
                resolve(setting, files, &variable).unwrap_or_else(|(name, words)| {
                    wrong_variables.push(words);
                    ResolvedSetting { value: None, source: SettingSource::Environment(name) }
                })
            })
            .collect();
        let mut settings = Self { resolved, keys: KeyMap::default(), wrong_variables };
        settings.derive_dedupe_ttl();
        settings.keys = settings.bind_keys()?;
        settings.derive_keys();
        Ok(settings)
    }

    pub fn defaults() -> Self {
        let resolved = table().iter().map(default).collect();
        Self { resolved, keys: KeyMap::default(), wrong_variables: Vec::new() }
    }

    /// Returns error messages for environment variables with invalid values.
    pub fn wrong_variables(&self) -> &[String] {
        &self.wrong_variables
    }

    /// Lists every setting with its value.
    pub fn all(&self) -> impl Iterator<Item = (&'static SettingRow, &ResolvedSetting)> {
        table().iter().zip(&self.resolved)
    }

    pub fn get(&self, setting: &SettingRow) -> Option<&ResolvedSetting> {
        self.all().find(|(one, _)| std::ptr::eq(*one, setting)).map(|(_, resolved)| resolved)
    }

    fn value(&self, key: &str) -> Option<&SettingValue> {
        self.get(by_key(key)?)?.value.as_ref()
    }

    /// Returns the value of a choice setting.
    pub fn choice(&self, key: &str) -> Option<&str> {
        match self.value(key) {
            Some(SettingValue::Choice(word)) => Some(word),
            _ => None,
        }
    }

    /// Returns the value of a choice setting if it comes from a file.
    pub fn choice_of_file(&self, key: &str) -> Option<&str> {
        let resolved = self.get(by_key(key)?)?;
        self.choice(key).filter(|_| resolved.source.is_file())
    }

    /// Returns the names of a list setting; empty if the setting has no value or is not a list of names.
    pub fn names(&self, key: &str) -> &[String] {
        match self.value(key) {
            Some(SettingValue::Names(names)) => names,
            _ => &[],
        }
    }

    pub fn time(&self, key: &str) -> Option<Duration> {
        match self.value(key) {
            Some(SettingValue::Time(time)) => Some(*time),
            _ => None,
        }
    }

    fn number(&self, key: &str) -> Option<u64> {
        match self.value(key) {
            Some(SettingValue::Number(number)) => Some(*number),
            _ => None,
        }
    }

    pub fn keys(&self) -> &KeyMap {
        &self.keys
    }

    /// Returns the setting for the events that ring the terminal bell.
    pub fn bell(&self) -> BellSetting {
        self.choice("notifications.bell").and_then(BellSetting::named).unwrap_or_default()
    }

    /// Raises the default of `control.dedupe_ttl` as the daemon does: it must be at least the maximum age plus the
    /// maximum skew.
    fn derive_dedupe_ttl(&mut self) {
        let least = self.number("control.max_age").unwrap_or(0) + self.number("control.max_skew").unwrap_or(0);
        let place = table().iter().position(|setting| setting.key() == "control.dedupe_ttl");
        let Some(resolved) = place.and_then(|place| self.resolved.get_mut(place)) else { return };
        if let (SettingSource::Default, Some(SettingValue::Number(ttl))) = (&resolved.source, &mut resolved.value) {
            *ttl = least.max(*ttl);
        }
    }

    /// Updates the default keys of each action: removes keys that a file binds to another action.
    fn derive_keys(&mut self) {
        for (setting, resolved) in table().iter().zip(&mut self.resolved) {
            let row = ACTIONS.iter().find(|row| setting.section == "keys" && setting.name == row.name);
            if let (SettingSource::Default, Some(row)) = (&resolved.source, row) {
                resolved.value = Some(SettingValue::Keys(self.keys.keys_of(row.action)));
            }
        }
    }

    fn bind_keys(&self) -> Result<KeyMap, SettingsFileError> {
        let mut bound = Vec::new();
        for row in &ACTIONS {
            let Some(resolved) = by_key(&format!("keys.{}", row.name)).and_then(|setting| self.get(setting)) else {
                continue;
            };
            if let (true, Some(SettingValue::Keys(keys))) = (resolved.source.is_file(), &resolved.value) {
                bound.push((row.action, keys.clone()));
            }
        }
        KeyMap::new(bound).or_else(|error| {
            let place = match &error {
                BindingError::Twice { second, .. } => by_key(&format!("keys.{second}")),
                // Already reported when the file was parsed.
                BindingError::Text(_) | BindingError::Reserved(_) => None,
            };
            match place.and_then(|setting| self.get(setting)).map(|resolved| resolved.source.clone()) {
                Some(SettingSource::User { path, line, column } | SettingSource::Project { path, line, column }) => {
                    Err(SettingsFileError { path, line, column, message: error.to_string() })
                }
                _ => Ok(KeyMap::default()),
            }
        })
    }
}

fn default(setting: &'static SettingRow) -> ResolvedSetting {
    ResolvedSetting { value: setting.default_value(), source: SettingSource::Default }
}

/// Resolves one setting. If its environment variable has an invalid value, the error is the name of the variable and a
/// message.
fn resolve(
    setting: &'static SettingRow,
    files: &SettingsFiles,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<ResolvedSetting, (&'static str, String)> {
    if let Some(name) = setting.variable
        && let Some(text) = variable(name)
        // An empty variable counts as not set for a number, and as an empty list for a list, as in the parsers of the
        // commands.
        && !(text.is_empty() && matches!(setting.kind, SettingType::Number { .. }))
    {
        let value = setting.kind.parse_text(&text).map_err(|wrong| (name, format!("{name} {}", wrong.message)))?;
        return Ok(ResolvedSetting { value: Some(value), source: SettingSource::Environment(name) });
    }
    if setting.key() == "theme" && variable(NO_COLOR).is_some_and(|text| !text.is_empty()) {
        let none = SettingValue::Choice("none".to_owned());
        return Ok(ResolvedSetting { value: Some(none), source: SettingSource::Environment(NO_COLOR) });
    }
    let allowed = files.trusted || setting.project == ProjectRule::Always;
    let project = files.project.as_ref().filter(|_| allowed);
    if let Some((file, entry)) = project.and_then(|file| Some((file, file.get(setting)?))) {
        let source = SettingSource::Project { path: file.path.clone(), line: entry.line, column: entry.column };
        return Ok(ResolvedSetting { value: Some(entry.value.clone()), source });
    }
    if let Some((file, entry)) = files.user.as_ref().and_then(|file| Some((file, file.get(setting)?))) {
        let source = SettingSource::User { path: file.path.clone(), line: entry.line, column: entry.column };
        return Ok(ResolvedSetting { value: Some(entry.value.clone()), source });
    }
    Ok(default(setting))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::document::SettingsFileOwner;
    use super::*;

    fn file(owner: SettingsFileOwner, text: &str) -> Option<ConfigFile> {
        let path = if owner == SettingsFileOwner::User { "/user.toml" } else { "/project.toml" };
        Some(ConfigFile::read(Path::new(path), text, owner).unwrap())
    }

    fn shown(settings: &Settings, key: &str) -> String {
        let resolved = settings.get(by_key(key).unwrap()).unwrap();
        let value = resolved.value.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        format!("{value} by {}", resolved.source.name())
    }

    /// A key of each type, as the sources have it from the lowest to the highest.
    const TYPES: [(&str, [&str; 4]); 4] = [
        ("theme", ["auto", "dark", "light", "none"]),
        ("agent", ["demo", "a", "b, c", "d"]),
        ("timeouts.answer", ["10s", "1s", "2s", "3s"]),
        ("control.max_age", ["600", "1", "", "3"]),
    ];

    #[test]
    fn a_source_counts_before_those_below_it_for_each_type() {
        for (key, [default, user, project, environment]) in TYPES {
            let setting = by_key(key).unwrap();
            let write = |owner, value: &str| {
                let value = setting.kind.parse_text(value).unwrap();
                file(owner, &super::super::document::set(Path::new("/"), "", setting, &value).unwrap())
            };
            let mut files = SettingsFiles::default();
            let merge = |files: &SettingsFiles, set: bool| {
                let variable = |name: &str| (set && setting.variable == Some(name)).then(|| environment.to_owned());
                shown(&Settings::new(files, variable).unwrap(), key)
            };
            assert_eq!(merge(&files, false), format!("{default} by default"));
            files.user = write(SettingsFileOwner::User, user);
            assert_eq!(merge(&files, false), format!("{user} by user"));
            if !project.is_empty() {
                files.project = write(SettingsFileOwner::Project, project);
                let displayed = setting.project == ProjectRule::Always;
                let before = if displayed { format!("{project} by project") } else { format!("{user} by user") };
                assert_eq!(merge(&files, false), before);
                assert_eq!(files.untrusted().len(), usize::from(!displayed));
                files.trusted = true;
                assert_eq!(merge(&files, false), format!("{project} by project"));
                assert_eq!(files.untrusted().len(), 0);
            }
            assert_eq!(merge(&files, true), format!("{environment} by environment"));
        }
    }

    #[test]
    fn a_wrong_variable_is_named() {
        let merge = |name: &'static str, value: &'static str| {
            Settings::new(&SettingsFiles::default(), |one| (one == name).then(|| value.to_owned()))
        };
        let wrong = merge("WH_CONTROL_MAX_AGE", "ten").unwrap();
        assert_eq!(shown(&wrong, "control.max_age"), "- by environment");
        let words = r#"WH_CONTROL_MAX_AGE is "ten"; it must be a number from 1 to 43200"#;
        assert_eq!(wrong.wrong_variables(), [words]);
        assert_eq!(shown(&merge("WH_CONTROL_MAX_AGE", "").unwrap(), "control.max_age"), "600 by default");
        assert_eq!(shown(&merge("WH_TARGET", "").unwrap(), "target"), " by environment");
        assert_eq!(shown(&merge("WH_CONTROL_MAX_AGE", "4000").unwrap(), "control.dedupe_ttl"), "4300 by default");
    }

    #[test]
    fn no_color_counts_before_the_theme_of_a_file_and_not_before_wh_theme() {
        let files = SettingsFiles { user: file(SettingsFileOwner::User, "theme = 'dark'"), ..SettingsFiles::default() };
        let merge = |set: &[(&str, &str)]| {
            let variable = |name: &str| set.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned());
            shown(&Settings::new(&files, variable).unwrap(), "theme")
        };
        assert_eq!(merge(&[("NO_COLOR", "1")]), "none by environment");
        assert_eq!(merge(&[("NO_COLOR", "")]), "dark by user");
        assert_eq!(merge(&[("NO_COLOR", "1"), ("WH_THEME", "light")]), "light by environment");
    }

    #[test]
    fn a_key_that_a_file_binds_is_taken_from_the_action_that_had_it() {
        let user = file(SettingsFileOwner::User, "[keys]\nundo = 'f2'\nredo = []\n");
        let settings = Settings::new(&SettingsFiles { user, ..SettingsFiles::default() }, |_| None).unwrap();
        assert_eq!(shown(&settings, "keys.undo"), "f2 by user");
        assert_eq!(shown(&settings, "keys.redo"), " by user");
        assert_eq!(shown(&settings, "keys.signal_board"), "ctrl+t by default");
    }

    #[test]
    fn a_key_that_is_bound_twice_is_a_mistake_of_the_file() {
        let user = file(SettingsFileOwner::User, "[keys]\nundo = 'f9'\ntools = 'f9'\n");
        let files = SettingsFiles { user, ..SettingsFiles::default() };
        let mistake = Settings::new(&files, |_| None).unwrap_err();
        assert_eq!(mistake.to_string(), "/user.toml:2:1: f9 is bound to both tools and undo");
    }
}
