//! `wh` puts any terminal program under control: see its screen, type to it, wait for it.

mod agents;
mod commands;
mod control;
mod daemon;
mod demo;
mod door;
mod ending;
mod failure;
mod files;
mod finished;
mod log;
mod opened;
mod person;
mod places;
mod print;
mod project;
mod protect;
mod record;
mod runtime;
mod sender;
mod settings;
mod shown;
mod signals;
mod trust;
mod waiting;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use wh_pipe::supervisor::{self, SupervisorKind};
use wh_screen::pty;

use commands::{Command, SpaceArguments};

#[cfg(not(target_os = "linux"))]
compile_error!(
    "wh needs Linux: the supervisor that keeps programs from outliving it rests on child subreapers and /proc"
);

/// Puts any coding-agent CLI or terminal program under control: see its screen, type to it, answer it, wait for it.
///
/// Without a command it opens a space with an agent in the terminal UI.
#[derive(Debug, Parser)]
#[command(name = "wh", version, propagate_version = true, max_term_width = 100, args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Start with:  wh --control-port 9090        (the built-in agent; nothing else is needed)
Then, in another terminal:
  wh send hello --key enter
  wh wait 'screen_contains \"“hello”\"'
  wh screen
Any other program:  wh run --control-port 9090 -- PROGRAM

Exit codes of wh alone: 0 you left, 2 wrong usage, 125 wh failed.

The --help of each command has examples and its exit codes.")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

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
            None => commands::offer::run(space, loaded),
        }
    });
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
