//! `wh-bench`: how fast wh is, beside tmux in control mode and beside what the system itself can do. Every row measures
//! the three in turns within one run, so that a busy machine is busy for all of them. See `docs/performance.md`.

mod bare;
mod contenders;
mod content;
mod http;
mod process;
mod rows;
mod table;
mod tmux;

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use table::Row;

/// What a measurement comes to; whoever runs a benchmark reads the error, nobody matches on it.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measure wh against tmux -C and against the limit that the system sets
///
/// Progress goes to stderr, one Markdown table to stdout. Rows: 1 key to visible, 2 snapshots per second, 3 a flood of
/// output, 4 resident memory, 5 CPU time while idle.
#[derive(Debug, Parser)]
#[command(name = "wh-bench", version)]
struct Arguments {
    /// Measure only this row; may be repeated
    #[arg(long = "row", value_name = "N", value_parser = clap::value_parser!(u8).range(1..=5))]
    rows: Vec<u8>,

    /// Few and short rounds: whether it works, not how fast
    #[arg(long)]
    quick: bool,

    /// The wh to measure [default: the one beside this binary]
    #[arg(long, value_name = "FILE")]
    wh: Option<PathBuf>,
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
    let mut measured: Vec<Row> = Vec::new();
    for (number, row) in rows::ALL {
        if arguments.rows.is_empty() || arguments.rows.contains(&number) {
            measured.extend(row(&setting)?);
        }
    }
    io::stdout().write_all(table::markdown(&measured).as_bytes())?;
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
