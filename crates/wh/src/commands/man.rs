//! Implements `wh man`, which prints or writes the man pages.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory};

use crate::Arguments;
use crate::failure::{CliFailure, code, with_exit_codes};
use crate::print::print;

/// Print the man page of wh, or write the man pages of all commands to a directory
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh man | man -l -\n  wh man ~/.local/share/man/man1", &[]))]
pub struct ManCommand {
    /// Write all man pages (wh.1, wh-run.1, …) to this directory, which is created if missing
    directory: Option<PathBuf>,
}

impl ManCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        match &self.directory {
            Some(directory) => {
                let write = || {
                    fs::create_dir_all(directory)?;
                    clap_mangen::generate_to(Arguments::command(), directory)
                };
                write().map_err(|error: io::Error| {
                    CliFailure::new(
                        code::FAILED,
                        format!("cannot write the man pages to {}: {error}", directory.display()),
                    )
                })?;
            }
            None => {
                let mut page = Vec::new();
                clap_mangen::Man::new(Arguments::command())
                    .render(&mut page)
                    .map_err(|error| CliFailure::new(code::FAILED, error))?;
                print(&String::from_utf8_lossy(&page))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
