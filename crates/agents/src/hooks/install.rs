//! Builds the changes to a launch that make an agent call its hooks: arguments, environment, and files in a private
//! directory. No file of the user is changed, and the user's own hooks and notify program keep working.

mod claude;
mod codex;
pub(super) mod gemini;

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wh_wire::hook::{HOOK_SOCKET_VARIABLE, HookAgent};

use crate::interface::QueryContext;

/// Maximum size of a settings file that is merged.
const MAX_SETTINGS_BYTES: u64 = 4 << 20;

/// Program that agents call as their hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram(Vec<String>);

/// Use of Codex's hooks. Codex runs only hooks that the user has reviewed, and asks at its start if there are others.
/// Its notify program needs no review and is always set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CodexHooks {
    /// Never sets hooks.
    NotifyOnly,
    /// Sets hooks if the user has reviewed them in Codex before.
    #[default]
    IfReviewed,
    /// Sets hooks. Codex asks the user to review them if they are new or changed.
    Offer,
}

/// Launch of an agent that is to call its hooks.
#[derive(Debug)]
pub struct HookInstallation<'a> {
    /// Agent that is launched.
    pub agent: HookAgent,
    /// Program that the agent is to call.
    pub program: &'a HookProgram,
    /// Socket of the listener.
    pub socket: &'a Path,
    /// Private directory for files that the agent reads. Must exist until the agent has exited.
    pub directory: &'a Path,
    /// Working directory and environment of the launch.
    pub context: &'a QueryContext,
    /// Arguments of the agent, without the name of its program.
    pub arguments: &'a [OsString],
    /// Use of Codex's hooks.
    pub codex_hooks: CodexHooks,
}

/// Changed launch of an agent that calls its hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookedLaunch {
    /// All arguments of the agent, without the name of its program.
    pub arguments: Vec<OsString>,
    /// Additional environment variables.
    pub environment: Vec<(String, OsString)>,
    /// False if the agent calls no hooks: those of Codex are not reviewed, so that it calls only its notify program, or
    /// Gemini CLI would not read the file with the hooks.
    pub calls_hooks: bool,
}

/// Error while the changes to a launch are built. The agent can still be launched without hooks.
#[derive(Debug, thiserror::Error)]
pub enum HookInstallError {
    /// A settings file of the user cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Settings of the user cannot be merged.
    #[error("cannot merge hooks into {origin}: {problem}")]
    Settings { origin: String, problem: String },
    /// A file in the private directory cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A path is not valid UTF-8, which settings files need.
    #[error("{} is not valid UTF-8", .0.display())]
    Path(PathBuf),
}

impl HookProgram {
    /// Returns the program to call for the binary `wh`: `wh-hook` in the same directory, which starts faster, or the
    /// subcommand `wh hook`.
    pub fn beside(wh: &Path) -> Result<Self, HookInstallError> {
        let small = wh.with_file_name("wh-hook");
        let words = if small.is_file() { vec![utf8(&small)?] } else { vec![utf8(wh)?, "hook".to_owned()] };
        Ok(Self(words))
    }

    /// Returns the program and its arguments for this agent.
    fn words(&self, agent: HookAgent) -> Vec<String> {
        let arguments = ["--agent".to_owned(), agent.id().to_owned()];
        self.0.iter().cloned().chain(arguments).collect()
    }

    /// Returns the shell command for this agent.
    fn shell_command(&self, agent: HookAgent) -> String {
        let words: Vec<String> = self.words(agent).iter().map(|word| shell_word(word)).collect();
        words.join(" ")
    }
}

impl HookInstallation<'_> {
    /// Builds the changes and writes files into the private directory. Blocks.
    pub fn install(&self) -> Result<HookedLaunch, HookInstallError> {
        let mut launch = match self.agent {
            HookAgent::Claude => claude::install(self)?,
            HookAgent::Codex => codex::install(self)?,
            HookAgent::Gemini => gemini::install(self)?,
        };
        launch.environment.push((HOOK_SOCKET_VARIABLE.to_owned(), self.socket.into()));
        Ok(launch)
    }

    /// Adds a hook for each event to the `hooks` table of settings, behind the hooks that are there. Claude Code and
    /// Gemini CLI have the same structure.
    fn add_hooks(
        &self,
        settings: &mut Value,
        origin: &str,
        events: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Result<(), HookInstallError> {
        let failed =
            |problem: &str| HookInstallError::Settings { origin: origin.to_owned(), problem: problem.to_owned() };
        let settings = settings.as_object_mut().ok_or_else(|| failed("it is not a JSON object"))?;
        let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
        let hooks = hooks.as_object_mut().ok_or_else(|| failed("hooks is not an object"))?;
        for (event, hook) in events {
            let groups = hooks.entry(event).or_insert_with(|| json!([]));
            let groups = groups.as_array_mut().ok_or_else(|| failed("the hooks of an event are not a list"))?;
            groups.push(json!({ "hooks": [hook] }));
        }
        Ok(())
    }

    /// Writes a file that only this user can read.
    fn write(&self, name: &str, content: &Value) -> Result<PathBuf, HookInstallError> {
        let path = self.directory.join(name);
        let write = || {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            file.write_all(content.to_string().as_bytes())
        };
        match write() {
            Ok(()) => Ok(path),
            Err(source) => Err(HookInstallError::Write { path, source }),
        }
    }
}

/// Reads a settings file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<String>, HookInstallError> {
    let read = || {
        if path.metadata()?.len() > MAX_SETTINGS_BYTES {
            return Err(io::Error::other(format!("it is larger than {MAX_SETTINGS_BYTES} bytes")));
        }
        std::fs::read_to_string(path)
    };
    match read() {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(HookInstallError::Read { path: path.to_owned(), source }),
    }
}

fn utf8(path: &Path) -> Result<String, HookInstallError> {
    path.to_str().map(str::to_owned).ok_or_else(|| HookInstallError::Path(path.to_owned()))
}

/// Quotes a word for a POSIX shell, unless it needs no quotes.
fn shell_word(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+=:@".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
