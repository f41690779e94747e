//! The program of an agent: what it is called, where it is, and what it is always started with. wh knows this of the
//! agents that are built in; a person's `agents.toml` may say otherwise.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use wh_pipe::Launch;

use crate::port::{Start, StartError, Surroundings};

/// Variables to set, and with `None` those to take away.
pub type Environment = BTreeMap<OsString, Option<OsString>>;

/// What an agent is started by and with.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// The commands that it may be installed as: names on the path, or places. The first that is there is used.
    pub commands: Vec<String>,
    /// What stands on its command line in front of what a [`Start`] has for it.
    pub arguments: Vec<String>,
    /// What its environment has beside ours; a [`Start`] has the last word.
    pub environment: Environment,
    /// What to run in order to have it.
    pub install: Option<String>,
    /// The file that names its command, if that is a person's choice.
    pub file: Option<PathBuf>,
}

impl Program {
    /// One that wh knows by itself.
    pub fn built_in(commands: &[&str], arguments: &[&str], install: &str) -> Self {
        Self {
            commands: owned(commands),
            arguments: owned(arguments),
            environment: Environment::new(),
            install: Some(install.to_owned()),
            file: None,
        }
    }

    /// A start with what is always there.
    pub(crate) fn complete(&self, mut start: Start) -> Start {
        let arguments = self.arguments.iter().map(OsString::from);
        start.arguments = arguments.chain(start.arguments).collect();
        let mut environment = self.environment.clone();
        environment.extend(start.environment);
        start.environment = environment;
        start
    }

    /// Where it is, for somebody with this environment.
    pub fn find(&self, environment: &Environment) -> Option<PathBuf> {
        let path = match environment.get(OsStr::new("PATH")).or_else(|| self.environment.get(OsStr::new("PATH"))) {
            Some(changed) => changed.clone(),
            None => std::env::var_os("PATH"),
        };
        let path = path.unwrap_or_default();
        self.commands.iter().find_map(|command| wh_pipe::find(command.as_ref(), &path)).and_then(resolved)
    }

    /// The same, and what to do if it is nowhere.
    pub(crate) fn locate(&self, agent: &str, environment: &Environment) -> Result<PathBuf, StartError> {
        self.find(environment).ok_or_else(|| StartError::NotInstalled {
            agent: agent.to_owned(),
            command: self.commands.first().cloned().unwrap_or_default(),
            hint: self.hint(),
        })
    }

    /// It, with its environment and nothing on its command line: for a small question beside a conversation.
    pub(crate) fn aside(&self, environment: &Environment) -> Option<Launch> {
        let mut launch = Launch::new(self.find(environment)?);
        launch.environment = self.environment.clone();
        launch.environment.extend(environment.clone());
        Some(launch)
    }

    /// The same, where it is asked.
    pub(crate) fn within(&self, here: &Surroundings) -> Option<Launch> {
        let mut launch = self.aside(&here.environment)?;
        launch.directory = Some(here.directory.clone());
        Some(launch)
    }

    /// The same, under a supervisor.
    pub(crate) fn beside(
        &self,
        agent: &str,
        here: &Surroundings,
        supervisor: Option<&Vec<OsString>>,
    ) -> Result<Launch, StartError> {
        let mut launch = Launch::new(self.locate(agent, &here.environment)?);
        launch.environment = self.around(here).environment;
        launch.directory = Some(here.directory.clone());
        launch.supervisor = supervisor.cloned();
        Ok(launch)
    }

    /// What it finds around it: what it is always started with, and what is there.
    pub(crate) fn around(&self, here: &Surroundings) -> Surroundings {
        let mut environment = self.environment.clone();
        environment.extend(here.environment.clone());
        Surroundings { directory: here.directory.clone(), environment }
    }

    /// What to do in order to have it.
    pub(crate) fn hint(&self) -> String {
        match (&self.install, &self.file) {
            (Some(install), _) => format!("run `{install}`"),
            (None, Some(file)) => format!("install it, or correct its command in {}", file.display()),
            (None, None) => "install it".to_owned(),
        }
    }
}

/// Values of the environment may be secrets: only names are shown.
impl fmt::Debug for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Program")
            .field("commands", &self.commands)
            .field("arguments", &self.arguments)
            .field("environment", &self.environment.keys().collect::<Vec<_>>())
            .field("install", &self.install)
            .field("file", &self.file)
            .finish()
    }
}

pub(crate) fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The place without links and detours. Its last name stays: there are programs that are many, and look at how they are
/// called.
fn resolved(place: PathBuf) -> Option<PathBuf> {
    let (directory, name) = (place.parent()?, place.file_name()?);
    let directory = if directory == Path::new("") { Path::new(".") } else { directory };
    Some(directory.canonicalize().ok()?.join(name))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn program(commands: &[&str]) -> Program {
        Program::built_in(commands, &["--first"], "get it")
    }

    #[test]
    fn a_start_has_the_last_word() {
        let mut program = program(&["sh"]);
        program.environment = [("A".into(), Some("1".into())), ("B".into(), Some("1".into()))].into();
        let mut start = Start::new("/");
        start.arguments = vec!["--second".into()];
        start.environment = [("B".into(), None)].into();
        let start = program.complete(start);
        assert_eq!(start.arguments, ["--first", "--second"]);
        assert_eq!(start.environment, [("A".into(), Some("1".into())), ("B".into(), None)].into());
    }

    #[test]
    fn a_place_is_used_without_detours_and_keeps_its_own_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/many"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(root.join("real/many"), Permissions::from_mode(0o755)).unwrap();
        symlink("many", root.join("real/one")).unwrap();
        symlink("real", root.join("link")).unwrap();
        let detour = root.join("link/../real/one").display().to_string();
        let found = program(&["/nowhere/at/all", &detour]).find(&Environment::new());
        assert_eq!(found, Some(root.join("real/one")));
        let missing = program(&["/nowhere/at/all"]).locate("It", &Environment::new()).unwrap_err();
        assert_eq!(missing.to_string(), "It is not installed: there is no program \"/nowhere/at/all\"");
        assert_eq!(missing.hint(), Some("run `get it`"));
    }

    #[test]
    fn the_path_may_be_its_own() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tool-of-its-own"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(folder.path().join("tool-of-its-own"), Permissions::from_mode(0o755)).unwrap();
        let mut program = program(&["tool-of-its-own"]);
        assert_eq!(program.find(&Environment::new()), None);
        program.environment.insert("PATH".into(), Some(folder.path().into()));
        assert!(program.find(&Environment::new()).is_some());
        assert_eq!(program.find(&[("PATH".into(), None)].into()), None, "a start has the last word");
    }

    #[test]
    fn values_of_the_environment_are_not_shown() {
        let mut program = program(&["sh"]);
        program.environment.insert("KEY".into(), Some("s3cret".into()));
        let shown = format!("{program:?}");
        assert!(shown.contains("KEY") && !shown.contains("s3cret"), "{shown}");
    }
}
