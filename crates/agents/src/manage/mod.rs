//! Queries and manages agents outside of a conversation by running their commands. One module per agent parses the
//! output; `run` runs short commands and [`login`] runs the interactive login.

pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod cursor;
pub(crate) mod gemini;
pub mod login;
pub(crate) mod opencode;
pub(crate) mod run;

use std::ffi::OsStr;
use std::path::PathBuf;

use wh_core::space::roster::{LoginMethod, LogoutResult};
pub use wh_pipe::LaunchSpec;

use crate::interface::{AgentStartError, LoginState, ManageError};

/// Action by which a user logs in to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginAction {
    /// Run a command of the agent.
    Command {
        launch: LaunchSpec,
        /// Kind of login, for display.
        method: LoginMethod,
    },
    /// Show instructions that the user must follow.
    ByHand {
        instructions: String,
        /// Kind of login, for display.
        method: LoginMethod,
    },
    /// No login is required.
    NotNeeded,
}

impl LoginAction {
    /// Creates a login that runs the program with these arguments.
    pub(crate) fn command(mut launch: LaunchSpec, arguments: &[impl AsRef<OsStr>], method: LoginMethod) -> Self {
        launch.arguments = arguments.iter().map(|argument| argument.as_ref().to_owned()).collect();
        Self::Command { launch, method }
    }
}

/// Builds the result for an agent without a logout command. `instead` tells the user how to log out.
pub(crate) fn no_logout(agent: &str, instead: &str) -> LogoutResult {
    let message = format!("{agent} has no logout command: {instead}");
    LogoutResult { success: false, supported: false, message }
}

/// Builds the error for an agent that does not list its models.
pub(crate) fn no_models(agent: &str) -> ManageError {
    ManageError::NotSupported(format!(
        "{agent} does not list its models; select one with --model MODEL, or use /model once the agent is running"
    ))
}

/// Builds the error for an agent that does not list MCP servers.
pub(crate) fn no_mcp(agent: &str) -> ManageError {
    ManageError::NotSupported(format!("MCP servers are not available with {agent}"))
}

/// Builds the error for an agent that cannot enable or disable MCP servers.
pub(crate) fn no_switch(agent: &str) -> ManageError {
    ManageError::NotSupported(format!("{agent} has no command that enables or disables an MCP server"))
}

/// Builds the result of a logout command. `still` is the name of an environment variable that is set and keeps the user
/// logged in.
pub(crate) fn logout(output: &run::CommandOutput, still: Option<&str>) -> LogoutResult {
    let text = output.text();
    let mut message = if text.is_empty() { "No output.".to_owned() } else { text };
    if let Some(variable) = still {
        message.push_str(&format!("\n{variable} is still set and keeps you logged in."));
    }
    LogoutResult { success: output.success, supported: true, message }
}

/// Converts the error for a missing program to a management error.
pub(crate) fn missing(error: AgentStartError) -> ManageError {
    match error {
        AgentStartError::NotInstalled { agent, hint, .. } => ManageError::NotInstalled { agent, hint },
        other => ManageError::Failed(other.to_string()),
    }
}

/// Parses an ISO 8601 time with `Z` or an offset, such as `2026-11-16T06:32:09.186Z`.
pub(crate) fn time(text: &str) -> Option<std::time::SystemTime> {
    text.parse::<jiff::Timestamp>().ok().map(Into::into)
}

/// Returns the first non-empty line of a text, truncated to about 100 characters.
pub(crate) fn title(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = wh_pipe::tail::clean(line);
    Some(if line.chars().count() > 100 { line.chars().take(97).collect::<String>() + "…" } else { line })
}

/// Returns true if the file exists and is not empty.
pub(crate) fn is_non_empty_file(path: Option<PathBuf>) -> bool {
    path.is_some_and(|path| path.metadata().is_ok_and(|facts| facts.len() > 0))
}

/// Returns the login state according to a credentials file: logged in if the file exists and is not empty, otherwise
/// unknown.
pub(crate) fn logged_in_by(file: Option<PathBuf>) -> LoginState {
    if is_non_empty_file(file) { LoginState::Yes { account: None } } else { LoginState::Unknown }
}

/// Describes a login state for display. `hint` contains the login instructions.
pub(crate) fn describe_login(login: &LoginState, hint: &str) -> String {
    match login {
        LoginState::Yes { .. } => login.description(),
        LoginState::No => format!("{}: {hint}", login.description()),
        LoginState::NotNeeded => "no login is needed for the model provider".to_owned(),
        LoginState::Unknown => "login state unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read() {
        let seconds =
            |text: &str| time(text)?.duration_since(std::time::SystemTime::UNIX_EPOCH).ok().map(|at| at.as_secs());
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2026-11-16T06:32:09.186Z"), Some(1_794_810_729));
        assert_eq!(seconds("2024-02-29T23:59:59Z"), Some(1_709_251_199));
        assert_eq!(seconds("2026-11-16T06:32:09+02:00"), Some(1_794_803_529), "an offset counts");
        for nonsense in ["", "now", "2026-11-16", "2026-11-16T", "2026-x-16T06:32:09Z", "2026-11-16T06:32:09"] {
            assert_eq!(seconds(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_title_is_the_first_line_with_something_in_it() {
        assert_eq!(title("\n  fix the \x1b[1mthing\nand more"), Some("fix the thing".to_owned()));
        assert_eq!(title(" \n"), None);
        assert_eq!(title(&"x".repeat(200)).unwrap().chars().count(), 98);
    }

    #[test]
    fn a_logout_says_what_still_logs_in() {
        let output = run::CommandOutput { out: "Logged out.".to_owned(), err: String::new(), success: true };
        assert_eq!(logout(&output, None).message, "Logged out.");
        assert_eq!(logout(&output, Some("KEY")).message, "Logged out.\nKEY is still set and keeps you logged in.");
        let silent = run::CommandOutput { out: String::new(), err: String::new(), success: false };
        assert_eq!(
            logout(&silent, None),
            LogoutResult { success: false, supported: true, message: "No output.".into() }
        );
        assert!(!no_logout("Gemini", "unset KEY").supported);
    }
}
