//! `wh-bench terminal-interrupts`: a trial, not a measurement. Interrupts real terminal programs through the daemon's socket.

use std::io::{self, Write};

use clap::Args;
use clap::builder::PossibleValuesParser;
use wh_testkit::terminal_interrupts::{TerminalProgram, TerminalRow, TerminalTrial};

use crate::{Outcome, Setting, say};

/// Faults that are listed on stderr.
const MAX_LISTED: usize = 50;

/// Interrupt bash, dash, zsh, python3, node and vim, idle and busy, and count the texts that they carried out
///
/// The programs run at the same time in sessions of a daemon in a home of its own, and get their messages through its
/// socket. Three cases: a text that interrupts first; 12 kB of input and then such a text; 12 kB of input, an interrupt,
/// and then a text. Each text appends a name of its own to a file, so that it can be seen whether it was carried out
/// exactly once; a busy program can do that only if the interrupt has ended what it was doing. A table goes to stdout;
/// programs that are not installed are named in it. The exit code is 1 if a message that interrupts was not
/// acknowledged with `ok`, or a text was lost, cut or carried out twice.
#[derive(Debug, Args)]
pub struct TerminalInterrupts {
    /// Rounds for each program, state and case
    #[arg(long, value_name = "N", default_value_t = 100)]
    rounds: usize,

    /// Run only this program; may be repeated
    #[arg(long = "program", value_name = "PROGRAM", value_parser = PossibleValuesParser::new(TerminalProgram::ALL.map(TerminalProgram::executable)))]
    programs: Vec<String>,
}

impl TerminalInterrupts {
    pub fn run(&self, setting: &Setting) -> Outcome<()> {
        let wanted = |one: &TerminalProgram| {
            self.programs.is_empty() || self.programs.iter().any(|name| name == one.executable())
        };
        let programs = TerminalProgram::ALL.into_iter().filter(wanted).collect();
        let trial = TerminalTrial { wh: setting.wh.clone(), programs, rounds: self.rounds };
        let report = trial.run(|what| say(&format!("terminal-interrupts: {what}")));
        io::stdout().write_all(report.table().as_bytes())?;
        for fault in report.faults.iter().take(MAX_LISTED) {
            say(&format!("FAULT: {fault}"));
        }
        if report.rows.iter().all(TerminalRow::is_whole) {
            Ok(())
        } else {
            Err("not every text was carried out".into())
        }
    }
}
