//! Implements `wh state`, which shows the process and the terminal of a run.

use std::process::ExitCode;

use clap::Args;
use wh_wire::control::{ClientState, SessionFacts, TerminalFacts};

use crate::failure::{API_CODES, CliFailure, with_exit_codes};
use crate::print::clean_line;
use crate::target::TargetArguments;

/// Show a run's status: process and terminal
///
/// Prints a summary. --json prints the complete state.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh state\n  wh state --json | jq -r .session.status", API_CODES))]
pub struct StateCommand {
    #[command(flatten)]
    target: TargetArguments,
}

impl StateCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        self.target.get("state", &[])?.show(self.target.json, |state: ClientState| {
            let mut facts = Vec::new();
            if let Some(session) = &state.session {
                facts.extend(of_session(session));
            }
            if let Some(terminal) = &state.terminal {
                facts.extend(of_terminal(terminal));
            }
            facts.push(("messages", state.messages.len().to_string()));
            facts.iter().map(|(name, value)| format!("{name:<13} {}\n", clean_line(value))).collect()
        })
    }
}

fn of_session(session: &SessionFacts) -> Vec<(&'static str, String)> {
    let mut status = format!("{} since {}", session.status, session.since);
    if let Some(exit) = &session.exit {
        status.push_str(&match exit.signal {
            Some(signal) => format!(", ended by signal {signal}"),
            None => format!(", exit code {}", exit.code),
        });
    }
    let mut facts = vec![("command", session.command.join(" ")), ("status", status)];
    facts.extend(session.pid.map(|pid| ("pid", pid.to_string())));
    if session.open_waits > 0 {
        facts.push(("waits", format!("{} open", session.open_waits)));
    }
    if session.queued_input > 0 {
        facts.push(("input", format!("{} bytes queued", session.queued_input)));
    }
    facts
}

fn of_terminal(terminal: &TerminalFacts) -> Vec<(&'static str, String)> {
    let mut size = format!("{}x{}", terminal.width, terminal.height);
    if terminal.alternate_screen {
        size.push_str(", alternate screen");
    }
    if terminal.attached {
        size.push_str(", a user is attached");
    }
    let reports = [
        ("title", &terminal.title),
        ("directory", &terminal.directory),
        ("notification", &terminal.notification),
        ("progress", &terminal.progress),
        ("OSC 133 mark", &terminal.shell_mark),
    ];
    let mut facts = vec![("terminal", size)];
    facts.extend(reports.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
    facts.push((
        "output",
        format!("{} bytes, {} frames, {} bells", terminal.output_bytes, terminal.frames_rendered, terminal.bells),
    ));
    facts
}
