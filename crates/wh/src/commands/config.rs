//! Implements `wh config`, which shows and changes settings.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::agents::quoted;
use crate::daemon::DaemonPaths;
use crate::failure::{CliFailure, code, print_to_stderr};
use crate::print::{clean_line, json_line, print};
use crate::settings::Settings;
use crate::settings::document::{self, ConfigFile, SettingsFileOwner};
use crate::settings::files::{self, FoundSettingsFiles};
use crate::settings::merge::{ResolvedSetting, SettingSource};
use crate::settings::table::{ProjectRule, SettingRow, by_key, table};

/// Show and change settings
///
/// Settings are read from config.toml in $XDG_CONFIG_HOME/wheelhouse (~/.config/wheelhouse), and from
/// .wheelhouse/config.toml of the project. Precedence, highest first: flag, environment variable, project file, user
/// file, default. From a project file, only the theme is used until you trust the file with `wh trust`.
///
/// Without a command, lists every setting with its value and source.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  wh config
  wh config get theme
  wh config set theme light
  wh config set --project theme dark
  wh config set agent claude,codex
  wh config set keys.undo ctrl+x
  wh config unset theme
  wh config --json | jq -r 'select(.source != \"default\") | .key'

Exit codes:
  0    success
  2    usage error, an error in a settings file, or an unknown key
  125  any other failure")]
pub struct ConfigCommand {
    #[command(subcommand)]
    command: Option<ConfigSubcommand>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ConfigSubcommand {
    /// Print the value of a setting
    Get {
        #[arg(value_name = "KEY", value_parser = known_key(), hide_possible_values = true)]
        key: String,

        /// Print the value and its source as JSON on one line
        #[arg(long)]
        json: bool,
    },
    /// Set a value in your settings file; comments and formatting are preserved
    Set {
        #[arg(value_name = "KEY", value_parser = known_key(), hide_possible_values = true)]
        key: String,

        /// Value; separate the items of a list with commas
        #[arg(allow_hyphen_values = true)]
        value: String,

        /// Change the project's settings file instead of yours
        #[arg(long)]
        project: bool,
    },
    /// Remove a key from your settings file
    Unset {
        /// Key of a setting, or any other key in the file
        #[arg(value_name = "KEY", value_parser = any_key(), hide_possible_values = true)]
        key: String,

        /// Change the project's settings file instead of yours
        #[arg(long)]
        project: bool,
    },
    /// Print the path of your settings file
    Path {
        /// Print the path of the project's settings file instead
        #[arg(long)]
        project: bool,
    },
}

fn keys() -> impl Iterator<Item = PossibleValue> {
    table().iter().map(|setting| PossibleValue::new(setting.key()).help(setting.description))
}

fn known_key() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(keys())
}

/// Parses any text as a key. Shell completion offers the known keys.
#[derive(Debug, Clone)]
struct AnyKeyParser;

impl TypedValueParser for AnyKeyParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(keys()))
    }
}

fn any_key() -> AnyKeyParser {
    AnyKeyParser
}

impl ConfigCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        match self.command {
            None => list(self.json)?,
            Some(ConfigSubcommand::Get { key, json }) => get(&key, json)?,
            Some(ConfigSubcommand::Set { key, value, project }) => set(&key, &value, project)?,
            Some(ConfigSubcommand::Unset { key, project }) => unset(&key, project)?,
            Some(ConfigSubcommand::Path { project }) => print(&format!("{}\n", path(project)?.display()))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn path(project: bool) -> Result<PathBuf, CliFailure> {
    if project { Ok(files::project_path(Path::new("."))) } else { files::user_path() }
}

fn found() -> Result<FoundSettingsFiles, CliFailure> {
    files::find(Some(Path::new(".")))
}

/// Merges the settings of this directory. An environment variable with an invalid value is an error.
fn merged(found: &FoundSettingsFiles) -> Result<Settings, CliFailure> {
    let settings = files::merge(&found.files)?;
    match settings.wrong_variables() {
        [] => Ok(settings),
        wrong => Err(CliFailure::new(code::USAGE, wrong.join("\n"))),
    }
}

fn list(json: bool) -> Result<(), CliFailure> {
    let found = found()?;
    let settings = merged(&found)?;
    let mut lines = String::new();
    let width = table().iter().map(|setting| setting.key().len()).max().unwrap_or_default();
    for (setting, resolved) in settings.all() {
        if json {
            lines += &json_line(&object(setting, resolved).to_string());
            continue;
        }
        let value = text(resolved);
        let shown = if value.is_empty() { "-" } else { &value };
        lines += &clean_line(&format!("{:<width$}  {shown:<20}  {}", setting.key(), origin(&resolved.source)));
        lines += "\n";
    }
    print(&lines)?;
    print_notices(&found);
    Ok(())
}

fn get(key: &str, json: bool) -> Result<(), CliFailure> {
    let settings = merged(&found()?)?;
    let Some((setting, resolved)) = by_key(key).and_then(|setting| Some((setting, settings.get(setting)?))) else {
        return Err(CliFailure::new(code::USAGE, document::unknown(key)));
    };
    if json {
        return print(&json_line(&object(setting, resolved).to_string()));
    }
    print(&(clean_line(&text(resolved)) + "\n"))
}

fn set(key: &str, value: &str, project: bool) -> Result<(), CliFailure> {
    let Some(setting) = by_key(key) else { return Err(CliFailure::new(code::USAGE, document::unknown(key))) };
    if project && setting.project == ProjectRule::Never {
        return Err(CliFailure::new(
            code::USAGE,
            format!("a project cannot set {key}: the daemon uses it for all projects"),
        )
        .hint(format!("set the key in your own settings file: wh config set {key} {value}")));
    }
    let wrong = |wrong: crate::settings::value::InvalidSettingValue| {
        CliFailure::new(code::USAGE, format!("{key} {}", wrong.message))
    };
    let value = setting.kind.parse_text(value).map_err(wrong)?;
    let path = path(project)?;
    let owner = if project { SettingsFileOwner::Project } else { SettingsFileOwner::User };
    let remaining_error = files::change(&path, |text| {
        let changed = document::set(&path, text, setting, &value)?;
        // The change is written even if the file has another error.
        let remaining_error = ConfigFile::read(&path, &changed, owner).err();
        Ok((Some(changed), remaining_error))
    })?;
    print(&format!(
        "{} = {} in {}\n",
        key,
        value.to_toml().to_string().trim(),
        clean_line(&path.display().to_string())
    ))?;
    if let Some(mistake) = remaining_error {
        print_to_stderr(&format!("wh: the file has an error and is not used: {}", clean_line(&mistake.to_string())));
    }
    if setting.variable.is_some_and(|name| std::env::var_os(name).is_some()) {
        print_to_stderr(&format!(
            "wh: the environment variable {} overrides this value",
            setting.variable.unwrap_or_default()
        ));
    }
    if setting.daemon && !project && DaemonPaths::here().is_ok_and(|paths| paths.running_daemon().is_some()) {
        print_to_stderr("wh: to apply the change, restart the daemon: wh daemon restart");
    }
    if project && setting.project == ProjectRule::Trusted {
        let directory = path.parent().and_then(Path::parent).unwrap_or(&path);
        print_to_stderr(&format!(
            "wh: the setting is not used until you trust the file with: wh trust {}",
            quoted(directory)
        ));
    }
    Ok(())
}

fn unset(key: &str, project: bool) -> Result<(), CliFailure> {
    let path = path(project)?;
    let removed = files::change(&path, |text| {
        let changed = document::unset(&path, text, key)?;
        let removed = changed.is_some();
        Ok((changed, removed))
    })?;
    if !removed {
        return Err(CliFailure::new(code::USAGE, format!("{} does not contain {key:?}", path.display()))
            .hint("`wh config` shows the source of each value"));
    }
    print(&format!("removed {} from {}\n", clean_line(key), clean_line(&path.display().to_string())))
}

/// Prints notices about project settings that are not used.
fn print_notices(found: &FoundSettingsFiles) {
    for notice in found.notices(|_| true) {
        print_to_stderr(&format!("wh: {}", clean_line(&notice)));
    }
}

fn text(resolved: &ResolvedSetting) -> String {
    resolved.value.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn origin(source: &SettingSource) -> String {
    match source {
        SettingSource::Default => "default".to_owned(),
        SettingSource::Environment(name) => format!("environment {name}"),
        SettingSource::User { path, line, .. } | SettingSource::Project { path, line, .. } => {
            format!("{} {}:{line}", source.name(), path.display())
        }
    }
}

fn object(setting: &SettingRow, resolved: &ResolvedSetting) -> Json {
    let value = |value: &Option<crate::settings::value::SettingValue>| value.as_ref().map(|value| value.to_json());
    let (file, line) = match &resolved.source {
        SettingSource::User { path, line, .. } | SettingSource::Project { path, line, .. } => {
            (Some(path.to_string_lossy().into_owned()), Some(*line))
        }
        SettingSource::Default | SettingSource::Environment(_) => (None, None),
    };
    json!({
        "key": setting.key(),
        "value": value(&resolved.value),
        "source": resolved.source.name(),
        "file": file,
        "line": line,
        "default": value(&setting.default_value()),
        "flag": setting.flag.map(|flag| format!("--{flag}")),
        "variable": setting.variable,
        "used_by": setting.used_by,
        "description": setting.description,
    })
}
