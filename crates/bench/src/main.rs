//! `wh-bench`: how fast wh is, beside tmux in control mode, beside what the system itself can do, and beside the terminal
//! UIs of real agents. Every row measures all of them in turns within one run, so that a busy machine is busy for all. See
//! `docs/performance.md`.
#![allow(clippy::disallowed_methods, reason = "it is no child subreaper, and ends what it starts")]

mod against;
mod bare;
mod client;
mod contenders;
mod content;
mod interrupts;
mod lab;
mod once;
mod process;
mod rows;
mod spaces;
mod table;
mod talks;
mod terminal_interrupts;
mod tmux;
mod tuis;

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use table::{Comparison, Row};

/// Rows that `--against` measures unless others are named.
const AGAINST_ROWS: [u8; 6] = [1, 2, 3, 4, 5, 14];

/// What a measurement comes to; whoever runs a benchmark reads the error, nobody matches on it.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measure wh against tmux -C and against the limit that the system sets
///
/// Progress goes to stderr, Markdown tables to stdout. Rows: 1 key to visible, 2 snapshots per second, 3 a flood of
/// output, 4 resident memory, 5 CPU time while idle. Of the terminal UI: 6 a frame in a long conversation, 7 key to frame,
/// 8 CPU time while idle, 9 memory of messages, 10 start to first frame; 7, 8 and 10 beside Codex, Gemini and Claude Code,
/// offline, where they are installed. Of the daemon's store: 11 requests that are durable, beside bare SQLite. Of the same
/// agents in a space, beside their own protocol: 12 prompt to first event, 13 a long turn, for each of its events. Of the
/// daemon: 14 control messages acknowledged, beside bare SQLite, 15 two hundred idle sessions, beside tmux.
#[derive(Debug, Parser)]
#[command(name = "wh-bench", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    /// Measure only this row; may be repeated
    #[arg(long = "row", value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    rows: Vec<u8>,

    /// Few and short rounds: whether it works, not how fast
    #[arg(long)]
    quick: bool,

    /// The wh to measure [default: the one beside this binary]
    #[arg(long, value_name = "FILE", global = true)]
    wh: Option<PathBuf>,

    /// Measure another build of wh beside this one, in turns, and print the ratios; above 1 this one is better. Without
    /// --row it measures rows 1 to 5 and 14
    #[arg(long, value_name = "FILE", conflicts_with = "in_lab")]
    against: Option<PathBuf>,

    /// Measure within the lab, and print the samples
    #[arg(long, hide = true)]
    in_lab: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Once(once::Once),
    Interrupts(interrupts::Interrupts),
    TerminalInterrupts(terminal_interrupts::TerminalInterrupts),
}

impl Arguments {
    fn wants(&self, row: u8) -> bool {
        self.rows.is_empty() || self.rows.contains(&row)
    }
}

/// What every row needs to know.
struct Setting {
    wh: PathBuf,
    quick: bool,
}

impl Setting {
    /// A number for a run that counts, or for one that only shows that it works.
    fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("wh-bench: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Outcome<()> {
    let setting = Setting { wh: wh(arguments.wh.clone())?, quick: arguments.quick };
    match &arguments.command {
        Some(Command::Once(once)) => return once.run(&setting),
        Some(Command::Interrupts(interrupts)) => return interrupts.run(&setting),
        Some(Command::TerminalInterrupts(interrupts)) => return interrupts.run(&setting),
        None => {}
    }
    if let Some(old) = &arguments.against {
        let wanted = if arguments.rows.is_empty() { AGAINST_ROWS.to_vec() } else { arguments.rows.clone() };
        let table = against::run(&setting, wh(Some(old.clone()))?, &wanted)?;
        return Ok(io::stdout().write_all(table.as_bytes())?);
    }
    if arguments.in_lab {
        return lab::inside(&setting, &arguments.rows);
    }
    let mut measured: Vec<Row> = Vec::new();
    for (number, row) in rows::ALL {
        if arguments.wants(number) {
            measured.extend(row(&setting)?);
        }
    }
    let mut compared: Vec<Comparison> = Vec::new();
    for (number, row) in rows::OF_THE_UI {
        if arguments.wants(number) {
            compared.extend(row(&setting)?);
        }
    }
    let wanted: Vec<u8> = rows::IN_THE_LAB.into_iter().filter(|row| arguments.wants(*row)).collect();
    if !wanted.is_empty() {
        compared.extend(lab::compare(&setting, &wanted)?);
    }
    compared.sort_by_key(|row| row.number);
    let mut stored: Vec<Comparison> = Vec::new();
    for (number, row) in rows::OF_THE_STORE {
        if arguments.wants(number) {
            stored.extend(row(&setting)?);
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

fn wh(named: Option<PathBuf>) -> Outcome<PathBuf> {
    let wh = match named {
        Some(wh) => wh,
        None => std::env::current_exe()?.with_file_name("wh"),
    };
    if !wh.is_file() {
        let wh = wh.display();
        return Err(format!(
            "there is no {wh}; build it with the same profile (cargo build -p wh), or name one with --wh"
        )
        .into());
    }
    Ok(wh)
}

/// Says something to whoever waits.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
