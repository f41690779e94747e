//! Implements `wh completions`, which prints a shell completion script.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Arguments;
use crate::failure::{CliFailure, with_exit_codes};
use crate::print::print;

/// Print a shell completion script
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh completions bash > ~/.local/share/bash-completion/completions/wh\n  wh completions zsh > ~/.zfunc/_wh\n  wh completions fish > ~/.config/fish/completions/wh.fish", &[]
))]
pub struct CompletionsCommand {
    /// Name of the shell
    shell: Shell,
}

impl CompletionsCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "wh", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}
