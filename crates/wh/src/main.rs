//! `wh` puts any terminal program under control: see its screen, type to it, wait for it.

mod commands;
mod control;
mod demo;
mod door;
mod failure;
mod person;
mod print;
mod record;
mod runtime;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;

#[cfg(not(target_os = "linux"))]
compile_error!("wh needs Linux: the guard that keeps programs from outliving it rests on child subreapers and /proc");

/// Puts any coding-agent CLI or terminal program under control: see its screen, type to it, wait for it.
#[derive(Debug, Parser)]
#[command(name = "wh", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "\
Start with:  wh run --demo --control-port 9090
Then, in another terminal:
  wh send hello --key enter
  wh wait 'screen_contains \"echo: hello\"'
  wh screen

The --help of each command has examples and its exit codes.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if wh_screen::pty::is_guard(arguments.next().as_deref()) {
        return match wh_screen::pty::guard::run(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    match Arguments::parse().command.run() {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
