//! The `wh` binary: parses arguments, merges settings and runs one command.

mod agents;
mod async_runtime;
mod child_cleanup;
mod commands;
mod daemon;
mod demo;
mod directories;
mod ended_runs;
mod failure;
mod http_options;
mod local_terminal;
mod log;
mod open_file;
mod print;
mod project;
mod protect;
mod record;
mod running_api;
mod runtime;
mod sender;
mod settings;
mod signals;
mod target;
mod terminal_agent;
mod terminal_ui;
mod trust;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use wh_pipe::supervisor::{self, SupervisorKind};
use wh_screen::pty;

use commands::{CliCommand, SpaceArguments};

#[cfg(not(target_os = "linux"))]
compile_error!("wh needs Linux: its supervisor ends leftover processes with child subreapers and /proc");

/// Script, test and supervise coding agents and other terminal programs.
///
/// Without a command, `wh` opens a space with an agent in the terminal UI. A space is a conversation between you and
/// one or more agents.
#[derive(Debug, Parser)]
#[command(name = "wh", version, propagate_version = true, max_term_width = 100, args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Start the UI with the built-in demo agent and an HTTP API:
  wh --control-port 9090
Control it from another terminal:
  wh send hello --key enter
  wh wait 'screen_contains \"“hello”\"'
  wh screen
Run any other program:
  wh run --control-port 9090 -- PROGRAM

Exit codes of `wh` without a command: 0 quit; 2 usage error; 125 internal error.

Run `wh COMMAND --help` for examples and exit codes of a command.")]
struct Arguments {
    #[command(subcommand)]
    command: Option<CliCommand>,

    #[command(flatten)]
    space: SpaceArguments,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    let supervised = match SupervisorKind::from_argument(first.as_deref()) {
        Some(SupervisorKind::Pipes) => Some(supervisor::pipes::run(arguments)),
        Some(SupervisorKind::Terminal) => Some(pty::front_end::run(arguments)),
        None => None,
    };
    if let Some(code) = supervised {
        return code.unwrap_or(ExitCode::FAILURE);
    }
    let outcome = settings::arguments::parse(Arguments::command).and_then(|(arguments, loaded)| {
        let Arguments { command, space } = arguments;
        match command {
            Some(command) => command.run(loaded),
            None => commands::session_picker::run(space, loaded),
        }
    });
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
