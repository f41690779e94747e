//! What `wh` alone offers where a daemon keeps sessions: to go on with one of them, before a new space is opened.

use std::ffi::OsStr;
use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use wh_api::deadline::ANSWER_TIMEOUT;
use wh_client::SESSION_VARIABLE;
use wh_wire::control::SessionSummary;

use super::attach::{DETACH_KEY, attach};
use super::{SpaceArguments, ago};
use crate::daemon::Place;
use crate::door::{DoorArguments, OPTIONAL_ANSWER_TIMEOUT};
use crate::failure::Failure;
use crate::print::{clean_line, print};
use crate::settings::Loaded;

/// What a person chose.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    /// A new space here.
    New,
    /// The session of this number, the first being 0.
    Session(usize),
    /// What was said is none of the choices.
    None,
}

/// Opens a space, or shows one of the daemon's sessions if the person would rather have that. Whoever has said anything on the command
/// line is not asked, nor is anybody who cannot answer.
pub fn run(space: SpaceArguments, loaded: Loaded) -> Result<ExitCode, Failure> {
    let asked = std::env::args_os().count() == 1 && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let sessions = if asked { sessions() } else { Vec::new() };
    if sessions.is_empty() {
        return space.run(loaded);
    }
    print(&listing(&sessions))?;
    loop {
        print("A number attaches to that session, Enter opens a new space here: ")?;
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
            Choice::New => return space.run(loaded),
            Choice::Session(number) => {
                let timeout = loaded.settings.time("timeouts.answer").unwrap_or(ANSWER_TIMEOUT);
                return attach(&sessions[number].session_id, DETACH_KEY, timeout, space.theme(), &loaded.settings);
            }
            Choice::None => {}
        }
    }
}

/// The sessions that can be attached to from here. A daemon that does not answer has none, and that is said.
fn sessions() -> Vec<SessionSummary> {
    if !Place::here().is_ok_and(|place| place.living().is_some()) {
        return Vec::new();
    }
    let own = std::env::var_os(SESSION_VARIABLE);
    let mut sessions = match DoorArguments::for_daemon(OPTIONAL_ANSWER_TIMEOUT).sessions() {
        Ok(sessions) => sessions,
        Err(failure) => {
            let _ = failure.report();
            return Vec::new();
        }
    };
    sessions.retain(|one| one.status.live && own.as_deref() != Some(OsStr::new(&one.session_id)));
    sessions
}

fn choice(line: &str, count: usize) -> Choice {
    match line.trim() {
        "" => Choice::New,
        words => match words.parse::<usize>() {
            Ok(number) if (1..=count).contains(&number) => Choice::Session(number - 1),
            _ => Choice::None,
        },
    }
}

fn listing(sessions: &[SessionSummary]) -> String {
    let mut out = "The daemon keeps these sessions:\n".to_owned();
    for (index, one) in sessions.iter().enumerate() {
        let (name, agent) = (clean_line(&one.name), clean_line(&one.agent));
        let question = if one.questions > 0 { ", a question waits" } else { "" };
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
            ("\n", Choice::New),
            ("1\n", Choice::Session(0)),
            (" 2 \n", Choice::Session(1)),
            ("3\n", Choice::None),
            ("0\n", Choice::None),
            ("a\n", Choice::None),
        ] {
            assert_eq!(choice(line, 2), choice_of_two, "{line:?}");
        }
    }
}
