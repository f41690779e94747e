//! Options for starting an agent, and errors if the start fails.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::SystemTime;

/// Hint for users who select a mode that skips permissions.
pub const ALLOW_SKIPPING: &str = "start wh with --allow-skipping-permissions";

/// Minimum length of a conversation id that is removed from texts. A shorter id could be part of any word.
const MIN_REDACTED_ID_BYTES: usize = 6;

/// Options for starting an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartOptions {
    pub directory: PathBuf,
    /// Initial model; `None` selects the agent's default.
    pub model: Option<String>,
    /// Initial mode; `None` selects the agent's default.
    pub mode: Option<String>,
    /// Conversation to resume; `None` starts a new one.
    pub resume: Option<ResumeSelector>,
    /// Creation time of the conversation to resume, or a slightly later time; `None` if unknown.
    pub conversation_created_at: Option<SystemTime>,
    /// Allows modes that skip permissions. If false, such modes are refused, initially and later.
    pub may_skip_permissions: bool,
    /// Additional command-line arguments.
    pub arguments: Vec<OsString>,
    /// Changes to the environment; `None` removes a variable.
    pub environment: BTreeMap<OsString, Option<OsString>>,
    /// Id of the daemon session in which the agent runs; `None` outside of a daemon.
    pub session: Option<String>,
    /// Allows the agent to store data that it needs to resume the conversation later. Only some agents have an option
    /// for this.
    pub may_store_state: bool,
    /// True to report the history of a resumed conversation. False if the owner of the harness already has the history.
    pub reports_history: bool,
}

/// Selects the conversation to resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResumeSelector {
    /// Newest conversation of the working directory.
    Latest,
    /// Conversation with this id, which the agent assigned.
    Named(String),
}

impl StartOptions {
    /// Creates options for a new conversation in a directory, with the agent's defaults.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            model: None,
            mode: None,
            resume: None,
            conversation_created_at: None,
            may_skip_permissions: false,
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            session: None,
            may_store_state: false,
            reports_history: true,
        }
    }

    /// Replaces internal conversation ids in a text by the word "it": the id of the conversation to resume, and the id
    /// `session`. Very short ids stay, because they could be part of any word.
    pub fn redact_ids(&self, text: &str, session: Option<&str>) -> String {
        let asked = match &self.resume {
            Some(ResumeSelector::Named(name)) => Some(name.as_str()),
            Some(ResumeSelector::Latest) | None => None,
        };
        let names = asked.into_iter().chain(session).filter(|name| name.len() >= MIN_REDACTED_ID_BYTES);
        names.fold(text.to_owned(), |text, name| text.replace(name, "it"))
    }
}

/// Error if an agent cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentStartError {
    #[error("{agent} is not installed: {}", describe_command(command))]
    NotInstalled {
        agent: String,
        /// Command that was not found.
        command: String,
        /// Instructions for installing the program.
        hint: String,
    },
    /// The agent requires a login.
    #[error("{agent} is not logged in")]
    NotLoggedIn {
        agent: String,
        /// Instructions for logging in.
        hint: String,
    },
    /// The agent does not know the given model, mode, argument or conversation.
    #[error("{agent} has no {what} {given:?}")]
    Unknown {
        agent: String,
        /// Kind of the unknown value: `model`, `mode`, `argument` or `conversation`.
        what: &'static str,
        given: String,
        hint: String,
    },
    /// The agent knows the argument, but its value is invalid or missing.
    #[error("{agent}'s argument {argument:?} does not accept the value {given:?}")]
    InvalidValue {
        agent: String,
        argument: String,
        /// Value of the argument. Empty if the value is missing.
        given: String,
        hint: String,
    },
    /// The mode skips permissions, and modes that skip permissions are not allowed.
    #[error("{agent}'s mode {mode:?} skips permissions, which is not allowed")]
    SkipsPermissions {
        agent: String,
        mode: String,
        /// Instruction to start wh with the option that allows such modes.
        hint: String,
    },
    /// The program was started but did not become ready.
    #[error("{agent} could not be started: {reason}")]
    Failed {
        agent: String,
        /// Message from the agent or the operating system.
        reason: String,
        /// Suggested fix, if any.
        hint: Option<String>,
    },
}

/// Describes the problem with a command that was not found. A command with a slash is a path.
fn describe_command(command: &str) -> String {
    if command.contains('/') {
        format!("the program {command:?} does not exist")
    } else {
        format!("{command:?} is not on the PATH")
    }
}

impl AgentStartError {
    /// Returns the suggested fix, if any.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::NotInstalled { hint, .. }
            | Self::NotLoggedIn { hint, .. }
            | Self::Unknown { hint, .. }
            | Self::InvalidValue { hint, .. }
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
        let error = AgentStartError::NotInstalled {
            agent: "Codex".to_owned(),
            command: "codex".to_owned(),
            hint: "npm install -g @openai/codex".to_owned(),
        };
        assert_eq!(error.to_string(), "Codex is not installed: \"codex\" is not on the PATH");
        assert_eq!(error.hint(), Some("npm install -g @openai/codex"));
        let error =
            AgentStartError::Failed { agent: "Codex".to_owned(), reason: "it exited with 1".to_owned(), hint: None };
        assert_eq!(error.hint(), None);
    }
}
