//! Starting an agent: the options, and the reasons why it may not start.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::SystemTime;

/// Advice about a mode that may not be entered.
pub const ALLOW_SKIPPING: &str = "start wh with --allow-skipping-permissions";

/// Length below which the name of a conversation could be a part of any word.
const MIN_NAME_LENGTH: usize = 6;

/// How to start an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Where it works.
    pub directory: PathBuf,
    /// Which model it begins with; `None` is its own choice.
    pub model: Option<String>,
    /// Which mode it begins in; `None` is its own choice.
    pub mode: Option<String>,
    /// Which conversation it goes on with; `None` is a new one.
    pub resume: Option<Resume>,
    /// When the conversation began that it goes on with, or a little later, if that is known.
    pub begun: Option<SystemTime>,
    /// Modes that skip permissions may be entered, at the start or later. Whoever asks for one without this is refused.
    pub may_skip_permissions: bool,
    /// What its command line has beside what wh puts there.
    pub arguments: Vec<OsString>,
    /// What its environment has beside what wh leaves there. `None` takes a variable away.
    pub environment: BTreeMap<OsString, Option<OsString>>,
    /// Session of the daemon that it runs in; `None` outside a daemon.
    pub session: Option<String>,
    /// It may leave behind what it needs in order to be gone on with later, where only wh's word decides that.
    pub keeps: bool,
    /// One that goes on with a conversation tells what was said in it. Not wanted by those who know it already.
    pub recalls: bool,
}

/// A conversation to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// The newest in that directory.
    Latest,
    /// This one, by the name that the agent itself has for it.
    Named(String),
}

impl Start {
    /// A new conversation in this directory, with the agent's own choice of everything else.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            model: None,
            mode: None,
            resume: None,
            begun: None,
            may_skip_permissions: false,
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            session: None,
            keeps: false,
            recalls: true,
        }
    }

    /// A text without the names of the conversation that was asked for and of the one that it is in: they stay inside. One so
    /// short that it could be a part of any word is left.
    pub fn discreet(&self, text: &str, session: Option<&str>) -> String {
        let asked = match &self.resume {
            Some(Resume::Named(name)) => Some(name.as_str()),
            Some(Resume::Latest) | None => None,
        };
        let names = asked.into_iter().chain(session).filter(|name| name.len() >= MIN_NAME_LENGTH);
        names.fold(text.to_owned(), |text, name| text.replace(name, "it"))
    }
}

/// Why an agent was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Its program is not there.
    #[error("{agent} is not installed: there is no {}", sought(command))]
    NotInstalled {
        /// Which agent.
        agent: String,
        /// What was looked for.
        command: String,
        /// What to run.
        hint: String,
    },
    /// It wants a login first.
    #[error("{agent} is not logged in")]
    NotLoggedIn {
        /// Which agent.
        agent: String,
        /// What to run.
        hint: String,
    },
    /// It has no such model, mode, argument or conversation.
    #[error("{agent} has no {what} {given:?}")]
    Unknown {
        /// Which agent.
        agent: String,
        /// What it does not have: `model`, `mode`, `argument`, `conversation`.
        what: &'static str,
        /// What was asked for.
        given: String,
        /// What there is.
        hint: String,
    },
    /// The mode skips permissions, and wh was not started for that.
    #[error("{agent}'s mode {mode:?} skips permissions, and wh was not started for that")]
    SkipsPermissions {
        /// Which agent.
        agent: String,
        /// Which mode.
        mode: String,
        /// What to start wh with.
        hint: String,
    },
    /// It was started and did not come so far.
    #[error("{agent} could not be started: {reason}")]
    Failed {
        /// Which agent.
        agent: String,
        /// What it or the system said.
        reason: String,
        /// What to try, if anything.
        hint: Option<String>,
    },
}

/// What was looked for and where: a name on the path, or a place.
fn sought(command: &str) -> String {
    if command.contains('/') { format!("program {command:?}") } else { format!("{command:?} on the path") }
}

impl StartError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::NotInstalled { hint, .. }
            | Self::NotLoggedIn { hint, .. }
            | Self::Unknown { hint, .. }
            | Self::SkipsPermissions { hint, .. } => Some(hint),
            Self::Failed { hint, .. } => hint.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_was_wrong_and_what_to_do() {
        let error = StartError::NotInstalled {
            agent: "Codex".to_owned(),
            command: "codex".to_owned(),
            hint: "npm install -g @openai/codex".to_owned(),
        };
        assert_eq!(error.to_string(), "Codex is not installed: there is no \"codex\" on the path");
        assert_eq!(error.hint(), Some("npm install -g @openai/codex"));
        let error = StartError::Failed { agent: "Codex".to_owned(), reason: "it exited with 1".to_owned(), hint: None };
        assert_eq!(error.hint(), None);
    }
}
