//! `wh-bench terminal-interrupts`: a correctness trial. Interrupts real terminal programs through the daemon's socket.

use std::io::{self, Write};

use clap::Args;
use clap::builder::PossibleValuesParser;
use wh_testkit::terminal_interrupts::{TerminalProgram, TerminalTrial, TerminalTrialRow};

use crate::{BenchConfig, BenchResult, print_progress};

/// Maximum number of failed rounds that are listed on stderr.
const MAX_LISTED: usize = 50;

/// Interrupt bash, dash, zsh, python3, node and vim, idle and busy, and count the texts that they executed
///
/// The programs run at the same time in sessions of a daemon with a temporary home, and receive messages through the
/// daemon's socket. There are three cases: (1) a message that interrupts the program and then types a text; (2) 12 kB
/// of input, then such a message; (3) 12 kB of input, then an interrupt, then a text. Each text appends a unique name
/// to a file, which shows whether the text was executed exactly once. A busy program can execute the text only after
/// the interrupt has ended the current command of the program.
///
/// A table goes to stdout. It also lists the programs that are not installed. The exit code is 1 if an interrupting
/// message was not acknowledged with `ok`, or if a text was lost, truncated or executed twice.
#[derive(Debug, Args)]
pub struct TerminalInterruptsCommand {
    /// Rounds for each program, each state (idle or busy) and each case
    #[arg(long, value_name = "N", default_value_t = 100)]
    rounds: usize,

    /// Run only this program; may be repeated
    #[arg(long = "program", value_name = "PROGRAM", value_parser = PossibleValuesParser::new(TerminalProgram::ALL.map(TerminalProgram::executable)))]
    programs: Vec<String>,
}

impl TerminalInterruptsCommand {
    pub fn run(&self, config: &BenchConfig) -> BenchResult<()> {
        let wanted = |one: &TerminalProgram| {
            self.programs.is_empty() || self.programs.iter().any(|name| name == one.executable())
        };
        let programs = TerminalProgram::ALL.into_iter().filter(wanted).collect();
        let trial = TerminalTrial { wh: config.wh.clone(), programs, rounds: self.rounds };
        let report = trial.run(|what| print_progress(&format!("terminal-interrupts: {what}")));
        io::stdout().write_all(report.table().as_bytes())?;
        for fault in report.faults.iter().take(MAX_LISTED) {
            print_progress(&format!("FAULT: {fault}"));
        }
        if report.rows.iter().all(TerminalTrialRow::is_whole) {
            Ok(())
        } else {
            Err("a message was not acknowledged with `ok`, or a text was not executed exactly once; see the table"
                .into())
        }
    }
}
