//! Program of an agent: its commands, arguments, environment and location. `agents.toml` may override built-in values.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use wh_pipe::LaunchSpec;

use crate::interface::{AgentStartError, QueryContext, StartOptions};

/// Changes to the environment; `None` removes a variable.
pub type Environment = BTreeMap<OsString, Option<OsString>>;

/// Command of an agent with its default arguments and environment.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// Alternative commands: names on the PATH or absolute paths. The first installed command is used.
    pub commands: Vec<String>,
    /// Default arguments, placed before the arguments of a [`StartOptions`].
    pub arguments: Vec<String>,
    /// Default changes to the environment. Changes of a [`StartOptions`] take precedence.
    pub environment: Environment,
    /// Shell command that installs the program.
    pub install: Option<String>,
    /// `agents.toml` file that sets the command; `None` for a built-in command.
    pub file: Option<PathBuf>,
}

impl Program {
    pub fn built_in(commands: &[&str], arguments: &[&str], install: &str) -> Self {
        Self {
            commands: owned(commands),
            arguments: owned(arguments),
            environment: Environment::new(),
            install: Some(install.to_owned()),
            file: None,
        }
    }

    /// Adds the default arguments and environment to the start options.
    pub(crate) fn with_defaults(&self, mut start: StartOptions) -> StartOptions {
        let arguments = self.arguments.iter().map(OsString::from);
        start.arguments = arguments.chain(start.arguments).collect();
        let mut environment = self.environment.clone();
        environment.extend(start.environment);
        start.environment = environment;
        start
    }

    /// Finds the program on the PATH of the environment.
    pub fn find(&self, environment: &Environment) -> Option<PathBuf> {
        let path = match environment.get(OsStr::new("PATH")).or_else(|| self.environment.get(OsStr::new("PATH"))) {
            Some(changed) => changed.clone(),
            None => std::env::var_os("PATH"),
        };
        let path = path.unwrap_or_default();
        self.commands.iter().find_map(|command| wh_pipe::find_executable(command.as_ref(), &path)).and_then(resolved)
    }

    /// Finds the program, or returns an error with installation instructions.
    pub(crate) fn locate(&self, agent: &str, environment: &Environment) -> Result<PathBuf, AgentStartError> {
        self.find(environment).ok_or_else(|| AgentStartError::NotInstalled {
            agent: agent.to_owned(),
            command: self.commands.first().cloned().unwrap_or_default(),
            hint: self.hint(),
        })
    }

    /// Builds a launch without arguments, for a short query outside of a conversation.
    pub(crate) fn query_launch(&self, environment: &Environment) -> Option<LaunchSpec> {
        let mut launch = LaunchSpec::new(self.find(environment)?);
        launch.environment = self.environment.clone();
        launch.environment.extend(environment.clone());
        Some(launch)
    }

    /// Builds a launch like [`query_launch`](Self::query_launch), with the directory of the query.
    pub(crate) fn query_launch_in(&self, here: &QueryContext) -> Option<LaunchSpec> {
        let mut launch = self.query_launch(&here.environment)?;
        launch.directory = Some(here.directory.clone());
        Some(launch)
    }

    /// Builds a launch like [`query_launch_in`](Self::query_launch_in), under a supervisor.
    pub(crate) fn supervised_query_launch(
        &self,
        agent: &str,
        here: &QueryContext,
        supervisor: Option<&Vec<OsString>>,
    ) -> Result<LaunchSpec, AgentStartError> {
        let mut launch = LaunchSpec::new(self.locate(agent, &here.environment)?);
        launch.environment = self.query_context(here).environment;
        launch.directory = Some(here.directory.clone());
        launch.supervisor = supervisor.cloned();
        Ok(launch)
    }

    /// Adds the default environment to the query context.
    pub(crate) fn query_context(&self, here: &QueryContext) -> QueryContext {
        let mut environment = self.environment.clone();
        environment.extend(here.environment.clone());
        QueryContext { directory: here.directory.clone(), environment }
    }

    /// Returns instructions for installing the program.
    pub(crate) fn hint(&self) -> String {
        match (&self.install, &self.file) {
            (Some(install), _) => format!("run `{install}`"),
            (None, Some(file)) => format!("install the program, or correct `command` in {}", file.display()),
            (None, None) => "install the program".to_owned(),
        }
    }
}

/// Formats only the names of environment variables, because the values may be secrets.
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

/// Resolves symbolic links in the directory of a path but not the file name, because some programs behave differently
/// depending on the file name.
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
    fn a_start_takes_precedence() {
        let mut program = program(&["sh"]);
        program.environment = [("A".into(), Some("1".into())), ("B".into(), Some("1".into()))].into();
        let mut start = StartOptions::new("/");
        start.arguments = vec!["--second".into()];
        start.environment = [("B".into(), None)].into();
        let start = program.with_defaults(start);
        assert_eq!(start.arguments, ["--first", "--second"]);
        assert_eq!(start.environment, [("A".into(), Some("1".into())), ("B".into(), None)].into());
    }

    #[test]
    fn a_path_is_canonical_except_for_its_file_name() {
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
        assert_eq!(missing.to_string(), "It is not installed: the program \"/nowhere/at/all\" does not exist");
        assert_eq!(missing.hint(), Some("run `get it`"));
    }

    #[test]
    fn an_agent_may_have_its_own_path() {
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
