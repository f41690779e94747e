//! The real agent CLIs, offline: each test in a network namespace that has only loopback, with the scripted model, a
//! throwaway home in which no onboarding, trust or key dialog comes up, and nothing of the user's own environment.

mod clis;
mod home;
mod namespace;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::{Model, process};

/// What a test has at hand inside.
pub struct Lab {
    /// The throwaway home.
    pub home: PathBuf,
    /// An empty directory that the CLIs trust; what they are started in.
    pub project: PathBuf,
    /// Where the CLIs are installed; their commands are in `node_modules/.bin`.
    pub clis: PathBuf,
    /// The model that they all talk to.
    pub model: Model,
}

impl Lab {
    /// The directory of the installed CLIs, or why it is of no use.
    pub fn clis() -> Result<PathBuf, String> {
        clis::installed()
    }

    /// Whether tests run here, or why they are skipped.
    pub fn available() -> Result<(), String> {
        clis::installed().and_then(|_| namespace::probe())
    }

    /// Runs `body` in a lab. `test_name` is the whole path of the calling test within its binary, as
    /// `cargo test -- --list` has it: the test starts once more, by this name, in the namespace.
    ///
    /// Where the CLIs or the namespace cannot be had, the test is skipped with a line on stderr that nothing captures;
    /// under `CI` missing CLIs are a failure, unless `WHEELHOUSE_SKIP_REAL_CLIS` is set.
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

    /// Starts the calling program, which is no test, once more in a lab, with these arguments; there it has
    /// [`Lab::here`]. Each line that it prints goes to `said`, and what it says on stderr to stderr. The error: why there
    /// is no lab, or that it failed.
    pub fn reenter(arguments: &[&str], limit: Duration, said: impl FnMut(&str) + Send + 'static) -> Result<(), String> {
        namespace::run(arguments, limit, said)
    }

    /// The lab that [`Lab::reenter`] started this program in.
    pub fn here() -> Option<Self> {
        let root = namespace::root()?;
        let clis = Self::clis().unwrap_or_else(|reason| panic!("{reason}"));
        Some(Self::open(&root, clis))
    }

    /// The whole environment of a CLI.
    pub fn env(&self) -> Vec<(String, String)> {
        home::environment(&self.home, &self.clis, &self.model.url())
    }

    /// A command with the lab's environment, in the project, with nothing on stdin.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env()).current_dir(&self.project).stdin(Stdio::null());
        process::with_default_signals(&mut command);
        command
    }

    fn open(root: &Path, clis: PathBuf) -> Self {
        namespace::loopback_up();
        let (home, project) = (root.join("home"), root.join("project"));
        let model = Model::start_on(0, &project);
        home::prepare(&home, &project, &model.url());
        Self { home, project, clis, model }
    }
}
