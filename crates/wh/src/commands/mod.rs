//! One file per command; its doc comment is its help.

mod demo;
mod ls;
mod run;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(run::Run),
    Ls(ls::Ls),
    Demo(demo::Demo),
}

impl Command {
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self {
            Self::Run(command) => command.run(),
            Self::Ls(command) => command.run(),
            Self::Demo(command) => command.run(),
        }
    }
}
