//! The table of settings, used for parsing, validation, `wh config`, shell completion and docs/configuration.md.

use std::borrow::Cow;
use std::sync::LazyLock;

use wh_tui::bell::BellSetting;
use wh_tui::keymap::ACTIONS;

use super::value::{SettingType, SettingValue};

/// Rule for a setting in a project file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectRule {
    /// Always used, because it affects only the display.
    Always,
    /// Used after the user trusts the file.
    Trusted,
    /// Never allowed: the setting is for the daemon, which serves all projects.
    Never,
}

#[derive(Debug)]
pub struct SettingRow {
    /// TOML table that contains the key; empty for a top-level key.
    pub section: &'static str,
    /// Key in the TOML table, without the name of the table.
    pub name: &'static str,
    pub kind: SettingType,
    /// Default value as text; empty if there is no default.
    pub default: Cow<'static, str>,
    /// Flag that overrides the setting.
    pub flag: Option<&'static str>,
    /// Clap ids of the flag that overrides the setting.
    pub arguments: &'static [&'static str],
    /// Environment variable that overrides the setting.
    pub variable: Option<&'static str>,
    /// Commands that use the setting.
    pub used_by: &'static str,
    /// True if the daemon reads the setting at startup.
    pub daemon: bool,
    /// Rule for project files.
    pub project: ProjectRule,
    pub description: &'static str,
}

impl SettingRow {
    /// Returns the full key, e.g. `control.max_age`.
    pub fn key(&self) -> String {
        if self.section.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.section, self.name) }
    }

    /// Parses the default value.
    pub fn default_value(&self) -> Option<SettingValue> {
        let list = matches!(self.kind, SettingType::Names { .. } | SettingType::Keys);
        if self.default.is_empty() && !list { None } else { self.kind.parse_text(&self.default).ok() }
    }
}

const BASE_ROW: SettingRow = SettingRow {
    section: "",
    name: "",
    kind: SettingType::Names { least: 0 },
    default: Cow::Borrowed(""),
    flag: None,
    arguments: &[],
    variable: None,
    used_by: "",
    daemon: false,
    project: ProjectRule::Trusted,
    description: "",
};

/// Base row for limits of control messages.
const CONTROL_ROW: SettingRow =
    SettingRow { section: "control", used_by: "the daemon", daemon: true, project: ProjectRule::Never, ..BASE_ROW };

const fn number(smallest: u64, largest: u64) -> SettingType {
    SettingType::Number { smallest, largest }
}

const SPACE: &str = "wh, wh space connect";

const FIXED: [SettingRow; 14] = [
    SettingRow {
        name: "theme",
        kind: SettingType::Choice(&["auto", "dark", "light", "none"]),
        default: Cow::Borrowed("auto"),
        flag: Some("theme"),
        arguments: &["theme"],
        variable: Some("WH_THEME"),
        used_by: "wh, wh space connect, the daemon",
        daemon: true,
        project: ProjectRule::Always,
        description: "Colours of the terminal UI; none disables colours, auto matches the terminal (in the daemon: dark)",
        ..BASE_ROW
    },
    SettingRow {
        name: "agent",
        kind: SettingType::Names { least: 1 },
        default: Cow::Borrowed("demo"),
        flag: Some("agent"),
        arguments: &["agents", "agent"],
        variable: Some("WH_AGENT"),
        used_by: "wh, wh space connect, wh new",
        description: "Agents to start; `wh new` starts only one",
        ..BASE_ROW
    },
    SettingRow {
        name: "target",
        flag: Some("target"),
        arguments: &["targets"],
        variable: Some("WH_TARGET"),
        used_by: SPACE,
        description: "Participants that receive your messages [default: all]",
        ..BASE_ROW
    },
    SettingRow {
        name: "space_target",
        flag: Some("space-target"),
        arguments: &["space_targets"],
        variable: Some("WH_SPACE_TARGET"),
        used_by: SPACE,
        description: "Default targets of the space: they receive your messages if target is not set",
        ..BASE_ROW
    },
    SettingRow {
        name: "hard_limit",
        kind: number(1 << 10, 4 << 20),
        default: Cow::Borrowed("1048576"),
        flag: Some("control-hard-limit"),
        arguments: &["control_hard_limit"],
        variable: Some("WH_CONTROL_HARD_LIMIT"),
        description: "Maximum length of inline text, in bytes",
        ..CONTROL_ROW
    },
    SettingRow {
        name: "max_age",
        kind: number(1, 43_200),
        default: Cow::Borrowed("600"),
        flag: Some("control-max-age"),
        arguments: &["control_max_age"],
        variable: Some("WH_CONTROL_MAX_AGE"),
        description: "Maximum age of a message, in seconds",
        ..CONTROL_ROW
    },
    SettingRow {
        name: "max_skew",
        kind: number(0, 43_200),
        default: Cow::Borrowed("300"),
        flag: Some("control-max-skew"),
        arguments: &["control_max_skew"],
        variable: Some("WH_CONTROL_MAX_SKEW"),
        description: "Maximum time that the sent_at of a message may be ahead of the clock, in seconds",
        ..CONTROL_ROW
    },
    SettingRow {
        name: "dedupe_ttl",
        kind: number(1, 86_400),
        default: Cow::Borrowed("900"),
        flag: Some("control-dedupe-ttl"),
        arguments: &["control_dedupe_ttl"],
        variable: Some("WH_CONTROL_DEDUPE_TTL"),
        description: "Time to remember a request_id, in seconds; at least max_age plus max_skew",
        ..CONTROL_ROW
    },
    SettingRow {
        name: "dedupe_capacity",
        kind: number(1, 10_000_000),
        default: Cow::Borrowed("200000"),
        flag: Some("control-dedupe-capacity"),
        arguments: &["control_dedupe_capacity"],
        variable: Some("WH_CONTROL_DEDUPE_CAPACITY"),
        description: "Maximum number of remembered request_ids",
        ..CONTROL_ROW
    },
    SettingRow {
        section: "timeouts",
        name: "answer",
        kind: SettingType::Time,
        default: Cow::Borrowed("10s"),
        flag: Some("timeout"),
        arguments: &["answer_timeout"],
        variable: Some("WH_ANSWER_TIMEOUT"),
        used_by: "commands that call a run or the daemon",
        description: "Timeout for a response of the daemon or a run",
        ..BASE_ROW
    },
    SettingRow {
        section: "timeouts",
        name: "wait",
        kind: SettingType::Time,
        default: Cow::Borrowed("5s"),
        flag: Some("timeout"),
        arguments: &["wait_timeout"],
        used_by: "wh wait",
        description: "Maximum time to wait for a condition",
        ..BASE_ROW
    },
    SettingRow {
        section: "timeouts",
        name: "stop",
        kind: SettingType::Time,
        default: Cow::Borrowed("30s"),
        flag: Some("timeout"),
        arguments: &["stop_timeout"],
        used_by: "wh daemon stop",
        description: "Timeout for the daemon and its processes to end",
        ..BASE_ROW
    },
    SettingRow {
        section: "timeouts",
        name: "linger",
        kind: number(0, u32::MAX as u64),
        flag: Some("linger"),
        arguments: &["linger"],
        used_by: "wh run",
        description: "Seconds to keep the HTTP API open after the program exits [default: 0 to 2, see `wh run --help`]",
        ..BASE_ROW
    },
    SettingRow {
        section: "notifications",
        name: "bell",
        kind: SettingType::Choice(&BellSetting::NAMES),
        default: Cow::Borrowed("off"),
        used_by: "wh, wh space connect, the daemon",
        daemon: true,
        description: "Ring the terminal bell when a question opens (question), or also when agents finish (all)",
        ..BASE_ROW
    },
];

static TABLE: LazyLock<Vec<SettingRow>> = LazyLock::new(|| {
    let keys = ACTIONS.iter().map(|row| SettingRow {
        section: "keys",
        name: row.name,
        kind: SettingType::Keys,
        default: Cow::Owned(row.keys.join(", ")),
        used_by: "wh, wh space connect, the daemon",
        daemon: true,
        description: row.description,
        ..BASE_ROW
    });
    FIXED.into_iter().chain(keys).collect()
});

/// Returns every setting in display order.
pub fn table() -> &'static [SettingRow] {
    &TABLE
}

/// Finds the setting with this key.
pub fn by_key(key: &str) -> Option<&'static SettingRow> {
    table().iter().find(|setting| setting.key() == key)
}

/// Lists the tables that a file may have.
pub fn sections() -> impl Iterator<Item = &'static str> {
    let mut seen: Vec<&str> = Vec::new();
    for setting in table() {
        if !setting.section.is_empty() && !seen.contains(&setting.section) {
            seen.push(setting.section);
        }
    }
    seen.into_iter()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clap::CommandFactory;

    use super::*;

    /// The tables of docs/configuration.md, each with its name.
    fn tables() -> [(&'static str, String); 4] {
        let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
        let cells = |row: &[&str]| format!("| {} |\n", row.join(" | ").replace("  ", " "));
        let [mut effects, mut values, mut sources, mut keys]: [String; 4] = Default::default();
        for setting in table() {
            let (key, default) = (code(&setting.key()), code(&setting.default));
            if setting.section == "keys" {
                keys += &cells(&[&key, &default, setting.description]);
                continue;
            }
            let kind = match setting.kind {
                SettingType::Choice(words) => words.join(", "),
                SettingType::Names { .. } => "name or list".to_owned(),
                SettingType::Number { smallest, largest } => format!("{smallest} to {largest}"),
                SettingType::Time => "time".to_owned(),
                SettingType::Keys => "key or list".to_owned(),
            };
            let flag = setting.flag.map(|flag| code(&format!("--{flag}"))).unwrap_or_default();
            let variable = setting.variable.map(code).unwrap_or_default();
            let project = match setting.project {
                ProjectRule::Always => "yes",
                ProjectRule::Trusted => "trusted",
                ProjectRule::Never => "no",
            };
            effects += &cells(&[&key, setting.description]);
            values += &cells(&[&key, &kind, &default, project, setting.used_by]);
            if setting.flag.is_some() || setting.variable.is_some() {
                sources += &cells(&[&key, &flag, &variable]);
            }
        }
        [("effects", effects), ("values", values), ("flags", sources), ("keys", keys)]
    }

    #[test]
    fn the_documentation_has_these_tables() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let page = std::fs::read_to_string(page).unwrap();
        for (name, table) in tables() {
            assert!(page.contains(&table), "docs/configuration.md must have this table of {name}:\n{table}");
        }
    }

    #[test]
    fn each_setting_has_one_key_and_a_default_of_its_type() {
        let keys: HashSet<String> = table().iter().map(SettingRow::key).collect();
        assert_eq!(keys.len(), table().len());
        for setting in table() {
            assert!(!setting.used_by.is_empty() && !setting.description.is_empty(), "{}", setting.key());
            if !setting.default.is_empty() {
                let value = setting.kind.parse_text(&setting.default).unwrap();
                assert_eq!(value.to_string(), setting.default, "{}", setting.key());
            }
        }
    }

    /// All arguments of all commands: id, flag, variable, default.
    fn arguments(command: &clap::Command, all: &mut Vec<(String, String, Option<String>, Vec<String>)>) {
        for argument in command.get_arguments() {
            let Some(flag) = argument.get_long() else { continue };
            let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned());
            let default = argument.get_default_values().iter().map(|text| text.to_string_lossy().into_owned());
            all.push((argument.get_id().to_string(), flag.to_owned(), variable, default.collect()));
        }
        command.get_subcommands().for_each(|command| arguments(command, all));
    }

    #[test]
    fn the_flags_variables_and_defaults_are_those_of_the_command_line() {
        let mut all = Vec::new();
        arguments(&crate::Arguments::command(), &mut all);
        for setting in table() {
            for id in setting.arguments {
                let found: Vec<_> =
                    all.iter().filter(|(one, flag, ..)| one == id && Some(flag.as_str()) == setting.flag).collect();
                assert!(!found.is_empty(), "{}: no command has {id}", setting.key());
                for (_, _, variable, default) in found {
                    // The limits read their variables themselves.
                    if setting.section != "control" {
                        assert_eq!(variable.as_deref(), setting.variable, "{}", setting.key());
                    }
                    if let [default] = &default[..] {
                        assert_eq!(default, &setting.default, "{}", setting.key());
                    }
                }
            }
        }
    }
}
