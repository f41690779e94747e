//! The session picker of `wh` without arguments: attach to a session of the daemon, or open a new space.

use std::ffi::OsStr;
use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use wh_api::deadline::ANSWER_TIMEOUT;
use wh_client::SESSION_VARIABLE;
use wh_wire::control::SessionSummary;

use super::attach::{DETACH_KEY, attach};
use super::{SpaceArguments, ago};
use crate::daemon::DaemonPaths;
use crate::failure::CliFailure;
use crate::print::{clean_line, print};
use crate::settings::LoadedSettings;
use crate::target::{OPTIONAL_ANSWER_TIMEOUT, TargetArguments};

#[derive(Debug, PartialEq, Eq)]
enum PickerChoice {
    /// Opens a new space.
    New,
    /// Attaches to the session with this index, from 0.
    Session(usize),
    /// Invalid input: ask again.
    None,
}

/// Opens a space, or attaches to the session of the daemon that the user picks. Asks the user only if `wh` has no
/// arguments, runs on a terminal, and the daemon has live sessions.
pub fn run(space: SpaceArguments, loaded: LoadedSettings) -> Result<ExitCode, CliFailure> {
    let interactive =
        std::env::args_os().count() == 1 && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let sessions = if interactive { sessions() } else { Vec::new() };
    if sessions.is_empty() {
        return space.run(loaded);
    }
    print(&listing(&sessions))?;
    loop {
        print("Enter a number to attach, or press Enter to open a new space: ")?;
        let _ = std::io::stdout().flush();
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => {
                print("\n")?;
                return Ok(ExitCode::SUCCESS);
            }
            Ok(_) => {}
        }
        match choice(&line, sessions.len()) {
            PickerChoice::New => return space.run(loaded),
            PickerChoice::Session(number) => {
                let timeout = loaded.settings.time("timeouts.answer").unwrap_or(ANSWER_TIMEOUT);
                return attach(&sessions[number].session_id, DETACH_KEY, timeout, space.theme(), &loaded.settings);
            }
            PickerChoice::None => {}
        }
    }
}

/// Returns the live sessions of the daemon except the session that this process runs in. If the daemon does not answer,
/// prints the failure and returns no sessions.
fn sessions() -> Vec<SessionSummary> {
    if !DaemonPaths::here().is_ok_and(|paths| paths.running_daemon().is_some()) {
        return Vec::new();
    }
    let own = std::env::var_os(SESSION_VARIABLE);
    let mut sessions = match TargetArguments::for_daemon(OPTIONAL_ANSWER_TIMEOUT).sessions() {
        Ok(sessions) => sessions,
        Err(failure) => {
            let _ = failure.report();
            return Vec::new();
        }
    };
    sessions.retain(|one| one.status.live && own.as_deref() != Some(OsStr::new(&one.session_id)));
    sessions
}

fn choice(line: &str, count: usize) -> PickerChoice {
    match line.trim() {
        "" => PickerChoice::New,
        words => match words.parse::<usize>() {
            Ok(number) if (1..=count).contains(&number) => PickerChoice::Session(number - 1),
            _ => PickerChoice::None,
        },
    }
}

fn listing(sessions: &[SessionSummary]) -> String {
    let mut out = "Running sessions:\n".to_owned();
    for (index, one) in sessions.iter().enumerate() {
        let (name, agent) = (clean_line(&one.name), clean_line(&one.agent));
        let question = if one.questions > 0 { ", has an open question" } else { "" };
        let since = ago(&one.status.since);
        out.push_str(&format!("{:>4}  {name:<16} {agent:<12} {} for {since}{question}\n", index + 1, one.status.state));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_session_and_nothing_is_a_new_space() {
        for (line, choice_of_two) in [
            ("\n", PickerChoice::New),
            ("1\n", PickerChoice::Session(0)),
            (" 2 \n", PickerChoice::Session(1)),
            ("3\n", PickerChoice::None),
            ("0\n", PickerChoice::None),
            ("a\n", PickerChoice::None),
        ] {
            assert_eq!(choice(line, 2), choice_of_two, "{line:?}");
        }
    }
}
