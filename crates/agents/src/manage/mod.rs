//! Agents asked without a conversation: their own commands are run, and what they print is read. How each of them says
//! things has a file of its own; `run` runs a command, and [`login`] one that takes as long as a person does.

pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod cursor;
pub(crate) mod gemini;
pub mod login;
pub(crate) mod opencode;
pub(crate) mod run;

use std::ffi::OsStr;
use std::path::PathBuf;

use wh_core::space::roster::{LoginMethod, LogoutDone};
pub use wh_pipe::Launch;

use crate::port::{LoginState, ManageError, StartError};

/// How somebody logs in with an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginWay {
    /// By a command of its own.
    Command {
        /// The command.
        launch: Launch,
        /// How that goes.
        method: LoginMethod,
    },
    /// By hand.
    ByHand {
        /// What the person does.
        instructions: String,
        /// How that goes.
        method: LoginMethod,
    },
    /// Not at all: it needs no login.
    NotNeeded,
}

impl LoginWay {
    /// By a program with these arguments.
    pub(crate) fn command(mut launch: Launch, arguments: &[impl AsRef<OsStr>], method: LoginMethod) -> Self {
        launch.arguments = arguments.iter().map(|argument| argument.as_ref().to_owned()).collect();
        Self::Command { launch, method }
    }
}

/// A logout that an agent does not have.
pub(crate) fn no_logout(agent: &str, instead: &str) -> LogoutDone {
    let message = format!("{agent} has no logout: {instead}");
    LogoutDone { success: false, supported: false, message }
}

/// Models that an agent does not list.
pub(crate) fn no_models(agent: &str) -> ManageError {
    ManageError::NotSupported(format!(
        "{agent} does not list its models; begin with one by --model MODEL, or see /model once it takes part"
    ))
}

/// MCP servers that an agent does not list.
pub(crate) fn no_mcp(agent: &str) -> ManageError {
    ManageError::NotSupported(format!("MCP servers are not available with {agent}"))
}

/// MCP servers that an agent does not switch.
pub(crate) fn no_switch(agent: &str) -> ManageError {
    ManageError::NotSupported(format!("{agent} has no command that switches an MCP server on or off"))
}

/// What a logout came to, by what the agent said of it.
pub(crate) fn logout(said: &run::Said, still: Option<&str>) -> LogoutDone {
    let text = said.text();
    let mut message = if text.is_empty() { "It said nothing.".to_owned() } else { text };
    if let Some(variable) = still {
        message.push_str(&format!("\n{variable} is set, and still logs in."));
    }
    LogoutDone { success: said.success, supported: true, message }
}

/// A program that could not be found, as a refusal to manage.
pub(crate) fn missing(error: StartError) -> ManageError {
    match error {
        StartError::NotInstalled { agent, hint, .. } => ManageError::NotInstalled { agent, hint },
        other => ManageError::Failed(other.to_string()),
    }
}

/// A time as ISO 8601 says it, with `Z` or with an offset: `2026-11-16T06:32:09.186Z`.
pub(crate) fn time(text: &str) -> Option<std::time::SystemTime> {
    text.parse::<jiff::Timestamp>().ok().map(Into::into)
}

/// The first line of a text that is worth showing, as a title.
pub(crate) fn title(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = wh_pipe::tail::clean(line);
    Some(if line.chars().count() > 100 { line.chars().take(97).collect::<String>() + "…" } else { line })
}

/// A file that is there.
pub(crate) fn is_there(path: Option<PathBuf>) -> bool {
    path.is_some_and(|path| path.metadata().is_ok_and(|facts| facts.len() > 0))
}

/// A login that shows by the file it is kept in.
pub(crate) fn logged_in_by(file: Option<PathBuf>) -> LoginState {
    if is_there(file) { LoginState::Yes { account: None } } else { LoginState::Unknown }
}

/// A login state in words; `hint` says what to do in order to log in.
pub(crate) fn login_words(login: &LoginState, hint: &str) -> String {
    match login {
        LoginState::Yes { .. } => login.words(),
        LoginState::No => format!("{}: {hint}", login.words()),
        LoginState::NotNeeded => "no login is needed for its provider".to_owned(),
        LoginState::Unknown => "whether somebody is logged in is not known".to_owned(),
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
        let said = run::Said { out: "Logged out.".to_owned(), err: String::new(), success: true };
        assert_eq!(logout(&said, None).message, "Logged out.");
        assert_eq!(logout(&said, Some("KEY")).message, "Logged out.\nKEY is set, and still logs in.");
        let silent = run::Said { out: String::new(), err: String::new(), success: false };
        assert_eq!(
            logout(&silent, None),
            LogoutDone { success: false, supported: true, message: "It said nothing.".into() }
        );
        assert!(!no_logout("Gemini", "unset KEY").supported);
    }
}
