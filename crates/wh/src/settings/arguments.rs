//! Makes the values in settings files the defaults of command-line flags. The commands themselves only read flags.

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, FromArgMatches};

use super::files;
use super::merge::Settings;
use super::table::{SettingRow, table};
use crate::failure::CliFailure;

/// Subcommand paths of the commands that show the terminal UI. These commands also use the settings that have no flag.
const SHOWS_UI: [&[&str]; 5] = [&[], &["space", "connect"], &["daemon", "start"], &["attach"], &["new"]];

/// Settings of this process.
#[derive(Debug)]
pub struct LoadedSettings {
    pub settings: Settings,
    /// Notices about a project file that wh ignores, or about ignored settings in a project file.
    pub notices: Vec<String>,
    /// Settings whose value comes from a file instead of a flag.
    from_files: Vec<&'static SettingRow>,
}

impl LoadedSettings {
    /// True if the value of the setting comes from a file: neither a flag nor an environment variable overrides it.
    pub fn is_from_file(&self, key: &str) -> bool {
        self.from_files.iter().any(|setting| setting.key() == key)
    }

    fn none() -> Self {
        Self { settings: Settings::defaults(), notices: Vec::new(), from_files: Vec::new() }
    }
}

/// Parses the command line of this process. Files are read only for a command that uses settings.
pub fn parse<T: FromArgMatches>(command: impl Fn() -> Command) -> Result<(T, LoadedSettings), CliFailure> {
    let mut parsed = command();
    let matches = parsed.get_matches_mut();
    let (path, leaf) = leaf(&matches);
    let used = used(&parsed, &path);
    let shows_ui = SHOWS_UI.contains(&path.as_slice());
    if used.is_empty() && !shows_ui {
        return Ok((read(&matches), LoadedSettings::none()));
    }
    let cwd = leaf.try_get_one::<PathBuf>("cwd").ok().flatten().map_or(Path::new("."), PathBuf::as_path);
    // The daemon serves all projects, so it uses no project file.
    let directory = (path.first() != Some(&"daemon")).then_some(cwd);
    let found = files::find(directory)?;
    let settings = files::merge(&found.files)?;
    let given = |id: &str| !matches!(leaf.value_source(id), None | Some(ValueSource::DefaultValue));
    let from_files = used
        .iter()
        .filter(|(setting, id)| is_from_file(&settings, setting) && !given(id))
        .map(|(setting, _)| *setting)
        .collect();
    let is_used = |setting: &SettingRow| shows_ui || used.iter().any(|(one, _)| std::ptr::eq(*one, setting));
    let loaded = LoadedSettings { notices: found.notices(is_used), settings, from_files };
    if loaded.from_files.is_empty() {
        return Ok((read(&matches), loaded));
    }
    let matches = within(command(), &path, &loaded.settings).get_matches();
    Ok((read(&matches), loaded))
}

fn read<T: FromArgMatches>(matches: &ArgMatches) -> T {
    T::from_arg_matches(matches).unwrap_or_else(|error| error.exit())
}

/// Returns the names of the given subcommands, outermost first, and the arguments of the last subcommand.
fn leaf(matches: &ArgMatches) -> (Vec<&str>, &ArgMatches) {
    let (mut path, mut leaf) = (Vec::new(), matches);
    while let Some((name, inner)) = leaf.subcommand() {
        path.push(name);
        leaf = inner;
    }
    (path, leaf)
}

/// Returns the settings that have a flag in the command at `path`, each with the clap id of the flag.
fn used(command: &Command, path: &[&str]) -> Vec<(&'static SettingRow, String)> {
    let mut command = command;
    for name in path {
        match command.find_subcommand(name) {
            Some(inner) => command = inner,
            None => return Vec::new(),
        }
    }
    let mut used = Vec::new();
    for setting in table().iter().filter(|setting| setting.flag.is_some()) {
        let id = setting.arguments.iter().copied().find(|id| {
            command.get_arguments().any(|one| one.get_id().as_str() == *id && one.get_long() == setting.flag)
        });
        used.extend(id.map(|id| (setting, id.to_owned())));
    }
    used
}

fn is_from_file(settings: &Settings, setting: &SettingRow) -> bool {
    settings.get(setting).is_some_and(|resolved| resolved.source.is_file())
}

fn within(command: Command, path: &[&str], settings: &Settings) -> Command {
    match path.split_first() {
        None => with_files(command, settings),
        Some((name, rest)) => command.mut_subcommand(*name, |inner| within(inner, rest, settings)),
    }
}

/// Makes the values in settings files the defaults of a command's flags. Skips a value that an environment variable
/// overrides.
pub fn with_files(mut command: Command, settings: &Settings) -> Command {
    for (setting, id) in used(&command, &[]) {
        let value = settings.get(setting).filter(|resolved| resolved.source.is_file());
        let Some(value) = value.and_then(|resolved| resolved.value.as_ref()) else { continue };
        let arguments = value.to_arguments();
        // A flag that takes a single value gets no default if the file has several values.
        let single = command
            .get_arguments()
            .any(|one| one.get_id().as_str() == id && matches!(one.get_action(), clap::ArgAction::Set));
        if arguments.is_empty() || single && arguments.len() > 1 {
            command = command.mut_arg(&id, |argument| argument.default_value(None::<&str>));
            continue;
        }
        command = command.mut_arg(&id, |argument| argument.default_values(arguments));
    }
    command
}
