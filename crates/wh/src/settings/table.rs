//! The table of settings. Parsing, validation, `wh config`, its completion and docs/configuration.md follow from it.

use std::borrow::Cow;
use std::sync::LazyLock;

use wh_tui::bell::Bell;
use wh_tui::keymap::ACTIONS;

use super::value::{Kind, Value};

/// Rule for a setting in a project's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InProject {
    /// Always used: it changes only what is displayed.
    Always,
    /// Used once the person has trusted the file.
    Trusted,
    /// A mistake: it is for the daemon, which serves all projects.
    Never,
}

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// The table of the file that it stands in; empty for none.
    pub section: &'static str,
    /// Its key in that table.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// The value that counts if no other source has one, as text. Empty for none.
    pub default: Cow<'static, str>,
    /// The flag that counts before it.
    pub flag: Option<&'static str>,
    /// Clap's ids of that flag.
    pub arguments: &'static [&'static str],
    /// The environment variable that counts before it.
    pub variable: Option<&'static str>,
    /// The commands that use it.
    pub used_by: &'static str,
    /// The daemon reads it when it starts.
    pub daemon: bool,
    /// Rule for a project's file.
    pub project: InProject,
    /// Its meaning, in a line.
    pub description: &'static str,
}

impl Setting {
    /// Its whole key, as `control.max_age`.
    pub fn key(&self) -> String {
        if self.section.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.section, self.name) }
    }

    /// The value that counts if no other source has one.
    pub fn default_value(&self) -> Option<Value> {
        let list = matches!(self.kind, Kind::Names { .. } | Kind::Keys);
        if self.default.is_empty() && !list { None } else { self.kind.parse_text(&self.default).ok() }
    }
}

const ROW: Setting = Setting {
    section: "",
    name: "",
    kind: Kind::Names { least: 0 },
    default: Cow::Borrowed(""),
    flag: None,
    arguments: &[],
    variable: None,
    used_by: "",
    daemon: false,
    project: InProject::Trusted,
    description: "",
};

/// A limit of control messages.
const LIMIT: Setting =
    Setting { section: "control", used_by: "the daemon", daemon: true, project: InProject::Never, ..ROW };

const fn number(smallest: u64, largest: u64) -> Kind {
    Kind::Number { smallest, largest }
}

const SPACE: &str = "wh, wh space connect";

const FIXED: [Setting; 14] = [
    Setting {
        name: "theme",
        kind: Kind::Choice(&["auto", "dark", "light", "none"]),
        default: Cow::Borrowed("auto"),
        flag: Some("theme"),
        arguments: &["theme"],
        variable: Some("WH_THEME"),
        used_by: "wh, wh space connect, the daemon",
        daemon: true,
        project: InProject::Always,
        description: "Colours of the terminal UI; none has no colours, auto suits the terminal (in the daemon: dark)",
        ..ROW
    },
    Setting {
        name: "agent",
        kind: Kind::Names { least: 1 },
        default: Cow::Borrowed("demo"),
        flag: Some("agent"),
        arguments: &["agents", "agent"],
        variable: Some("WH_AGENT"),
        used_by: "wh, wh space connect, wh new",
        description: "Agents to start with; wh new starts one",
        ..ROW
    },
    Setting {
        name: "target",
        flag: Some("target"),
        arguments: &["targets"],
        variable: Some("WH_TARGET"),
        used_by: SPACE,
        description: "Participants that your messages go to; without one, all",
        ..ROW
    },
    Setting {
        name: "space_target",
        flag: Some("space-target"),
        arguments: &["space_targets"],
        variable: Some("WH_SPACE_TARGET"),
        used_by: SPACE,
        description: "Default targets of the space, used where there is no target",
        ..ROW
    },
    Setting {
        name: "hard_limit",
        kind: number(1 << 10, 4 << 20),
        default: Cow::Borrowed("1048576"),
        flag: Some("control-hard-limit"),
        arguments: &["control_hard_limit"],
        variable: Some("WH_CONTROL_HARD_LIMIT"),
        description: "Longest text that is sent inline, in bytes",
        ..LIMIT
    },
    Setting {
        name: "max_age",
        kind: number(1, 43_200),
        default: Cow::Borrowed("600"),
        flag: Some("control-max-age"),
        arguments: &["control_max_age"],
        variable: Some("WH_CONTROL_MAX_AGE"),
        description: "Oldest message that is accepted, in seconds",
        ..LIMIT
    },
    Setting {
        name: "max_skew",
        kind: number(0, 43_200),
        default: Cow::Borrowed("300"),
        flag: Some("control-max-skew"),
        arguments: &["control_max_skew"],
        variable: Some("WH_CONTROL_MAX_SKEW"),
        description: "Largest time that a message may be ahead of the clock, in seconds",
        ..LIMIT
    },
    Setting {
        name: "dedupe_ttl",
        kind: number(1, 86_400),
        default: Cow::Borrowed("900"),
        flag: Some("control-dedupe-ttl"),
        arguments: &["control_dedupe_ttl"],
        variable: Some("WH_CONTROL_DEDUPE_TTL"),
        description: "Time that a request_id is remembered, in seconds; at least max_age and max_skew together",
        ..LIMIT
    },
    Setting {
        name: "dedupe_capacity",
        kind: number(1, 10_000_000),
        default: Cow::Borrowed("200000"),
        flag: Some("control-dedupe-capacity"),
        arguments: &["control_dedupe_capacity"],
        variable: Some("WH_CONTROL_DEDUPE_CAPACITY"),
        description: "Number of request_ids that are remembered",
        ..LIMIT
    },
    Setting {
        section: "timeouts",
        name: "answer",
        kind: Kind::Time,
        default: Cow::Borrowed("10s"),
        flag: Some("timeout"),
        arguments: &["answer_timeout"],
        variable: Some("WH_ANSWER_TIMEOUT"),
        used_by: "commands that ask a run or the daemon",
        description: "Limit for an answer of the daemon or a run",
        ..ROW
    },
    Setting {
        section: "timeouts",
        name: "wait",
        kind: Kind::Time,
        default: Cow::Borrowed("5s"),
        flag: Some("timeout"),
        arguments: &["wait_timeout"],
        used_by: "wh wait",
        description: "Longest wait for a condition",
        ..ROW
    },
    Setting {
        section: "timeouts",
        name: "stop",
        kind: Kind::Time,
        default: Cow::Borrowed("30s"),
        flag: Some("timeout"),
        arguments: &["stop_timeout"],
        used_by: "wh daemon stop",
        description: "Limit for the end of the daemon and its processes",
        ..ROW
    },
    Setting {
        section: "timeouts",
        name: "linger",
        kind: number(0, u32::MAX as u64),
        flag: Some("linger"),
        arguments: &["linger"],
        used_by: "wh run",
        description: "Seconds that the control plane stays open after the program's end; without it, until the end was read",
        ..ROW
    },
    Setting {
        section: "notifications",
        name: "bell",
        kind: Kind::Choice(&Bell::NAMES),
        default: Cow::Borrowed("off"),
        used_by: "wh, wh space connect, the daemon",
        daemon: true,
        description: "When the terminal's bell rings: question, when one opens; all, also when the agents have finished",
        ..ROW
    },
];

static TABLE: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    let keys = ACTIONS.iter().map(|row| Setting {
        section: "keys",
        name: row.name,
        kind: Kind::Keys,
        default: Cow::Owned(row.keys.join(", ")),
        used_by: "wh, wh space connect, the daemon",
        daemon: true,
        description: row.description,
        ..ROW
    });
    FIXED.into_iter().chain(keys).collect()
});

/// Every setting, in the order in which they are shown.
pub fn table() -> &'static [Setting] {
    &TABLE
}

/// The setting with this key.
pub fn by_key(key: &str) -> Option<&'static Setting> {
    table().iter().find(|setting| setting.key() == key)
}

/// The tables that a file may have.
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

    /// The tables of docs/configuration.md.
    fn tables() -> (String, String) {
        let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
        let (mut settings, mut keys) = (String::new(), String::new());
        for setting in table() {
            let (key, default) = (code(&setting.key()), code(&setting.default));
            if setting.section == "keys" {
                keys += &format!("| {key} | {default} | {} |\n", setting.description);
                continue;
            }
            let kind = match setting.kind {
                Kind::Choice(words) => words.join(", "),
                Kind::Names { .. } => "name or list".to_owned(),
                Kind::Number { smallest, largest } => format!("{smallest} to {largest}"),
                Kind::Time => "time".to_owned(),
                Kind::Keys => "key or list".to_owned(),
            };
            let flag = setting.flag.map(|flag| code(&format!("--{flag}"))).unwrap_or_default();
            let variable = setting.variable.map(code).unwrap_or_default();
            let project = match setting.project {
                InProject::Always => "yes",
                InProject::Trusted => "trusted",
                InProject::Never => "no",
            };
            let (used_by, description) = (setting.used_by, setting.description);
            let row = [&key, &kind, &default, &flag, &variable, project, used_by, description];
            settings += &format!("| {} |\n", row.join(" | ").replace("  ", " "));
        }
        (settings, keys)
    }

    #[test]
    fn the_documentation_has_this_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (settings, keys) = tables();
        for (name, table) in [("settings", settings), ("keys", keys)] {
            assert!(page.contains(&table), "docs/configuration.md must have this table of {name}:\n{table}");
        }
    }

    #[test]
    fn each_setting_has_one_key_and_a_default_of_its_type() {
        let keys: HashSet<String> = table().iter().map(Setting::key).collect();
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
