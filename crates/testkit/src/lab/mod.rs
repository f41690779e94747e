//! Lab with the real agent CLIs, offline. Each test runs in a network namespace with loopback only, with the scripted
//! model and a temporary home directory in which the CLIs show no onboarding, trust or key dialogs. Nothing of the
//! user's environment is visible.

mod clis;
mod home;
mod namespace;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::{ScriptedModel, process};

/// Environment of a test inside the lab: a network namespace in which real agents can reach only the scripted model.
pub struct Lab {
    /// Temporary home directory.
    pub home: PathBuf,
    /// Empty directory that the CLIs trust; their working directory.
    pub project: PathBuf,
    /// Directory of the installed CLIs; their commands are in `node_modules/.bin`.
    pub clis: PathBuf,
    /// Model that all CLIs connect to.
    pub model: ScriptedModel,
}

impl Lab {
    /// Returns the directory of the installed CLIs, or the reason why they are unusable.
    pub fn clis() -> Result<PathBuf, String> {
        clis::installed()
    }

    /// Checks that the lab is available, or returns the reason why tests are skipped.
    pub fn available() -> Result<(), String> {
        clis::installed().and_then(|_| namespace::probe())
    }

    /// Runs `body` in a lab. `test_name` is the full path of the calling test in its binary, as shown by `cargo test --
    /// --list`. The binary is started again in the namespace to run this test.
    ///
    /// If the CLIs or the namespace are not available, the test is skipped with a line on the uncaptured stderr. If the
    /// environment variable `CI` is set, missing CLIs are a failure unless `WHEELHOUSE_SKIP_REAL_CLIS` is set too.
    #[track_caller]
    pub fn inside(test_name: &str, body: impl FnOnce(&Self)) {
        match namespace::root() {
            Some(root) => {
                let clis = Self::clis().unwrap_or_else(|reason| panic!("{reason}"));
                body(&Self::open(&root, clis));
                namespace::finished(&root);
            }
            None => namespace::enter(test_name),
        }
    }

    /// Starts the calling program again in a lab, with these arguments. The new process can call [`Lab::here`]. Each
    /// line of its stdout is passed to `on_line`, and its stderr is forwarded. Tests use [`Lab::inside`] instead. Fails
    /// if the lab is not available or if the program fails.
    pub fn reenter(
        arguments: &[&str],
        limit: Duration,
        on_line: impl FnMut(&str) + Send + 'static,
    ) -> Result<(), String> {
        namespace::run(arguments, limit, on_line)
    }

    /// Returns the lab in which [`Lab::reenter`] started this program; `None` outside of a lab.
    pub fn here() -> Option<Self> {
        let root = namespace::root()?;
        let clis = Self::clis().unwrap_or_else(|reason| panic!("{reason}"));
        Some(Self::open(&root, clis))
    }

    /// Returns the complete environment of a CLI.
    pub fn env(&self) -> Vec<(String, String)> {
        home::environment(&self.home, &self.clis, &self.model.url())
    }

    /// Creates a command with the lab's environment, in the project directory, without stdin.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env()).current_dir(&self.project).stdin(Stdio::null());
        process::with_default_signals(&mut command);
        command
    }

    fn open(root: &Path, clis: PathBuf) -> Self {
        namespace::loopback_up();
        let (home, project) = (root.join("home"), root.join("project"));
        let model = ScriptedModel::start_on(0, &project);
        home::prepare(&home, &project, &model.url());
        Self { home, project, clis, model }
    }
}
