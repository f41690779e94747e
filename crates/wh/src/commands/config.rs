//! `wh config`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::agents::quoted;
use crate::daemon::Place;
use crate::failure::{Failure, code, say};
use crate::print::{clean_line, json_line, print};
use crate::settings::Settings;
use crate::settings::document::{self, ConfigFile, Owner};
use crate::settings::files::{self, Found};
use crate::settings::merge::{Resolved, Source};
use crate::settings::table::{InProject, Setting, by_key, table};

/// Show and change settings
///
/// Settings are in config.toml: yours in $XDG_CONFIG_HOME/wheelhouse (~/.config/wheelhouse), a project's in its .wheelhouse directory. A flag
/// counts before an environment variable, that before the project's file, that before yours, and yours before the default. A project's
/// file may set the theme; its other settings are used once you have trusted the file with `wh trust`.
///
/// Without a command: every setting with its value and where that comes from.
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

Exit codes: 0 done; 2 wrong usage, a mistake in a file, or no such key in it; 125 any other failure.")]
pub struct Config {
    #[command(subcommand)]
    command: Option<ConfigCommand>,

    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the value of a setting
    Get {
        #[arg(value_name = "KEY", value_parser = known_key(), hide_possible_values = true)]
        key: String,

        /// Print it as JSON on one line, with where it comes from
        #[arg(long)]
        json: bool,
    },
    /// Set a setting in your file; comments and formatting stay
    Set {
        #[arg(value_name = "KEY", value_parser = known_key(), hide_possible_values = true)]
        key: String,

        /// The value; names and keys of a list are joined by commas
        #[arg(allow_hyphen_values = true)]
        value: String,

        /// In the project's file
        #[arg(long)]
        project: bool,
    },
    /// Remove a key from your file
    Unset {
        /// A setting, or any other key that the file has
        #[arg(value_name = "KEY", value_parser = any_key(), hide_possible_values = true)]
        key: String,

        /// From the project's file
        #[arg(long)]
        project: bool,
    },
    /// Print where your file is, or the project's
    Path {
        /// The project's file
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

/// Any text, completed with the keys that there are.
#[derive(Debug, Clone)]
struct AnyKey;

impl TypedValueParser for AnyKey {
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

fn any_key() -> AnyKey {
    AnyKey
}

impl Config {
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            None => list(self.json)?,
            Some(ConfigCommand::Get { key, json }) => get(&key, json)?,
            Some(ConfigCommand::Set { key, value, project }) => set(&key, &value, project)?,
            Some(ConfigCommand::Unset { key, project }) => unset(&key, project)?,
            Some(ConfigCommand::Path { project }) => print(&format!("{}\n", path(project)?.display()))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn path(project: bool) -> Result<PathBuf, Failure> {
    if project { Ok(files::project_path(Path::new("."))) } else { files::user_path() }
}

fn found() -> Result<Found, Failure> {
    files::find(Some(Path::new(".")))
}

/// Settings of this directory; a variable with a wrong value is an error.
fn merged(found: &Found) -> Result<Settings, Failure> {
    let settings = files::merge(&found.files)?;
    match settings.wrong_variables() {
        [] => Ok(settings),
        wrong => Err(Failure::new(code::USAGE, wrong.join("\n"))),
    }
}

fn list(json: bool) -> Result<(), Failure> {
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
    tell(&found);
    Ok(())
}

fn get(key: &str, json: bool) -> Result<(), Failure> {
    let settings = merged(&found()?)?;
    let Some((setting, resolved)) = by_key(key).and_then(|setting| Some((setting, settings.get(setting)?))) else {
        return Err(Failure::new(code::USAGE, document::unknown(key)));
    };
    if json {
        return print(&json_line(&object(setting, resolved).to_string()));
    }
    print(&(clean_line(&text(resolved)) + "\n"))
}

fn set(key: &str, value: &str, project: bool) -> Result<(), Failure> {
    let Some(setting) = by_key(key) else { return Err(Failure::new(code::USAGE, document::unknown(key))) };
    if project && setting.project == InProject::Never {
        return Err(Failure::new(code::USAGE, format!("{key} is not for a project: the daemon serves all projects"))
            .hint(format!("set it in your own file: wh config set {key} {value}")));
    }
    let wrong =
        |wrong: crate::settings::value::WrongValue| Failure::new(code::USAGE, format!("{key} {}", wrong.message));
    let value = setting.kind.parse_text(value).map_err(wrong)?;
    let path = path(project)?;
    let owner = if project { Owner::Project } else { Owner::User };
    let left = files::change(&path, |text| {
        let changed = document::set(&path, text, setting, &value)?;
        // Another mistake in the file does not keep this one from being put right.
        let left = ConfigFile::read(&path, &changed, owner).err();
        Ok((Some(changed), left))
    })?;
    print(&format!(
        "{} = {} in {}\n",
        key,
        value.to_toml().to_string().trim(),
        clean_line(&path.display().to_string())
    ))?;
    if let Some(mistake) = left {
        say(&format!("wh: the file is not used yet: {}", clean_line(&mistake.to_string())));
    }
    if setting.variable.is_some_and(|name| std::env::var_os(name).is_some()) {
        say(&format!("wh: {} is set and counts before it", setting.variable.unwrap_or_default()));
    }
    if setting.daemon && !project && Place::here().is_ok_and(|place| place.living().is_some()) {
        say("wh: the daemon uses it after: wh daemon restart");
    }
    if project && setting.project == InProject::Trusted {
        let directory = path.parent().and_then(Path::parent).unwrap_or(&path);
        say(&format!("wh: it is used once you have trusted the file with: wh trust {}", quoted(directory)));
    }
    Ok(())
}

fn unset(key: &str, project: bool) -> Result<(), Failure> {
    let path = path(project)?;
    let removed = files::change(&path, |text| {
        let changed = document::unset(&path, text, key)?;
        let removed = changed.is_some();
        Ok((changed, removed))
    })?;
    if !removed {
        return Err(Failure::new(code::USAGE, format!("{} does not have {key:?}", path.display()))
            .hint("wh config shows where each value comes from"));
    }
    print(&format!("{} is removed from {}\n", clean_line(key), clean_line(&path.display().to_string())))
}

/// Says what a project's file sets in vain.
fn tell(found: &Found) {
    for notice in found.notices(|_| true) {
        say(&format!("wh: {}", clean_line(&notice)));
    }
}

fn text(resolved: &Resolved) -> String {
    resolved.value.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn origin(source: &Source) -> String {
    match source {
        Source::Default => "default".to_owned(),
        Source::Environment(name) => format!("environment {name}"),
        Source::User { path, line, .. } | Source::Project { path, line, .. } => {
            format!("{} {}:{line}", source.name(), path.display())
        }
    }
}

fn object(setting: &Setting, resolved: &Resolved) -> Json {
    let value = |value: &Option<crate::settings::value::Value>| value.as_ref().map(|value| value.to_json());
    let (file, line) = match &resolved.source {
        Source::User { path, line, .. } | Source::Project { path, line, .. } => {
            (Some(path.to_string_lossy().into_owned()), Some(*line))
        }
        Source::Default | Source::Environment(_) => (None, None),
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
