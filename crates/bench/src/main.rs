//! `wh-bench`: benchmarks of wh, compared with tmux in control mode, with system limits, and with the terminal UIs of
//! real agents. Each row measures wh and the other programs alternately, so that load on the machine affects all
//! results equally. See `docs/performance.md`.
#![allow(clippy::disallowed_methods, reason = "wh-bench is not a child subreaper and ends its own children")]

mod against;
mod agents;
mod bare;
mod client;
mod contenders;
mod content;
mod hook;
mod interrupts;
mod lab;
mod once;
mod process;
mod rows;
mod spaces;
mod table;
mod terminal_interrupts;
mod tmux;
mod truth;
mod tuis;

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use table::{ComparisonRow, TmuxRow};

/// Default rows of `--against`.
const AGAINST_ROWS: [u8; 6] = [1, 2, 3, 4, 5, 14];

/// Result of a measurement. Errors are only printed, so a specific error type is not needed.
type BenchResult<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Benchmark wh against tmux -C and against system limits
///
/// Progress goes to stderr, Markdown tables to stdout.
///
/// Terminal, compared with tmux: 1 key press to screen update, 2 snapshots per second, 3 time to show a large output, 4
/// resident memory, 5 CPU time while idle.
///
/// Terminal UI: 6 frame time in a long conversation, 7 key press to frame, 8 CPU time while idle, 9 memory per 10,000
/// messages, 10 start to first frame. Rows 7, 8 and 10 compare the UI of wh with those of Codex, Gemini CLI and Claude
/// Code, offline, if they are installed.
///
/// Daemon: 11 durable requests per second, compared with bare SQLite; 14 acknowledged control messages per second,
/// compared with bare SQLite; 15 memory and CPU time of 200 idle sessions, compared with tmux.
///
/// Agents in a space, compared with direct use of their protocol: 12 prompt to first event, 13 time per event in a long
/// turn.
#[derive(Debug, Parser)]
#[command(name = "wh-bench", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<BenchCommand>,

    /// Measure only this row; may be repeated
    #[arg(long = "row", value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    rows: Vec<u8>,

    /// Run few and short rounds, to check that everything works
    #[arg(long)]
    quick: bool,

    /// wh binary to measure [default: wh in the directory of this binary]
    #[arg(long, value_name = "FILE", global = true)]
    wh: Option<PathBuf>,

    /// Compare with another build of wh. Both builds are measured alternately. The table shows their ratios; above 1,
    /// this build is better. Without --row, measures rows 1 to 5 and 14
    #[arg(long, value_name = "FILE", conflicts_with = "in_lab")]
    against: Option<PathBuf>,

    /// For internal use: measure in this process, which runs in the network namespace of the lab, and print the samples
    #[arg(long, hide = true)]
    in_lab: bool,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    Once(once::ExactlyOnceCommand),
    Interrupts(interrupts::InterruptsCommand),
    TerminalInterrupts(terminal_interrupts::TerminalInterruptsCommand),
    Hook(hook::HookBenchCommand),
    Truth(truth::TruthCommand),
}

impl Arguments {
    fn wants(&self, row: u8) -> bool {
        self.rows.is_empty() || self.rows.contains(&row)
    }
}

/// Configuration of a run, passed to every row.
struct BenchConfig {
    wh: PathBuf,
    quick: bool,
}

impl BenchConfig {
    /// Returns `full`, or `quick` for a quick run.
    fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_progress(&format!("wh-bench: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> BenchResult<()> {
    let config = BenchConfig { wh: wh(arguments.wh.clone())?, quick: arguments.quick };
    match &arguments.command {
        Some(BenchCommand::Once(once)) => return once.run(&config),
        Some(BenchCommand::Interrupts(interrupts)) => return interrupts.run(&config),
        Some(BenchCommand::TerminalInterrupts(interrupts)) => return interrupts.run(&config),
        Some(BenchCommand::Hook(hook)) => return hook.run(&config),
        Some(BenchCommand::Truth(truth)) => return truth.run(&config),
        None => {}
    }
    if let Some(old) = &arguments.against {
        let wanted = if arguments.rows.is_empty() { AGAINST_ROWS.to_vec() } else { arguments.rows.clone() };
        let table = against::run(&config, wh(Some(old.clone()))?, &wanted)?;
        return Ok(io::stdout().write_all(table.as_bytes())?);
    }
    if arguments.in_lab {
        return lab::inside(&config, &arguments.rows);
    }
    let mut measured: Vec<TmuxRow> = Vec::new();
    for (number, row) in rows::TMUX_ROWS {
        if arguments.wants(number) {
            measured.extend(row(&config)?);
        }
    }
    let mut compared: Vec<ComparisonRow> = Vec::new();
    for (number, row) in rows::UI_ROWS {
        if arguments.wants(number) {
            compared.extend(row(&config)?);
        }
    }
    let wanted: Vec<u8> = rows::LAB_ROWS.into_iter().filter(|row| arguments.wants(*row)).collect();
    if !wanted.is_empty() {
        compared.extend(lab::compare(&config, &wanted)?);
    }
    compared.sort_by_key(|row| row.number);
    let mut stored: Vec<ComparisonRow> = Vec::new();
    for (number, row) in rows::DAEMON_ROWS {
        if arguments.wants(number) {
            stored.extend(row(&config)?);
        }
    }
    let mut tables = Vec::new();
    if !measured.is_empty() {
        tables.push(table::markdown(&measured));
    }
    if !compared.is_empty() {
        tables.push(table::comparisons(&compared));
    }
    if !stored.is_empty() {
        tables.push(table::comparisons(&stored));
    }
    io::stdout().write_all(tables.join("\n").as_bytes())?;
    Ok(())
}

fn wh(named: Option<PathBuf>) -> BenchResult<PathBuf> {
    let wh = match named {
        Some(wh) => wh,
        None => std::env::current_exe()?.with_file_name("wh"),
    };
    if !wh.is_file() {
        let wh = wh.display();
        return Err(format!(
            "{wh} does not exist; build it with `cargo build -p wh` and the same profile, or choose a binary with --wh"
        )
        .into());
    }
    Ok(wh)
}

/// Prints a line of progress to stderr.
fn print_progress(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
