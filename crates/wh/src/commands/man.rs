//! `wh man`.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory};

use crate::Arguments;
use crate::failure::{Failure, code, with_exit_codes};
use crate::print::print;

/// Print wh's manual page, or write those of all commands into a directory
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh man | man -l -\n  wh man ~/.local/share/man/man1"))]
pub struct Man {
    /// Write all pages here: wh.1, wh-run.1, …; made if need be
    directory: Option<PathBuf>,
}

impl Man {
    pub fn run(self) -> Result<ExitCode, Failure> {
        match &self.directory {
            Some(directory) => {
                let write = || {
                    fs::create_dir_all(directory)?;
                    clap_mangen::generate_to(Arguments::command(), directory)
                };
                write().map_err(|error: io::Error| {
                    Failure::new(code::FAILED, format!("cannot write the pages to {}: {error}", directory.display()))
                })?;
            }
            None => {
                let mut page = Vec::new();
                clap_mangen::Man::new(Arguments::command())
                    .render(&mut page)
                    .map_err(|error| Failure::new(code::FAILED, error))?;
                print(&String::from_utf8_lossy(&page))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
