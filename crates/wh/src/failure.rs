//! What is said when wh itself fails: what was wrong, what to do, and an exit code of its own.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Exit codes that are wh's own. All others are the program's.
pub mod code {
    /// The command line is wrong.
    pub const USAGE: u8 = 2;
    /// wh could not do its part: a port in use, no terminal to be had.
    pub const FAILED: u8 = 125;
    /// The program was found and could not be executed.
    pub const NOT_EXECUTABLE: u8 = 126;
    /// There is no such program.
    pub const NOT_FOUND: u8 = 127;
}

/// A failure of wh itself.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub fn new(code: u8, message: impl Display) -> Self {
        Self { code, message: message.to_string(), hint: None }
    }

    /// What to do about it.
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// Says it on standard error.
    pub fn report(&self) -> ExitCode {
        say(&format!("wh: {}", self.message));
        if let Some(hint) = &self.hint {
            say(&format!("    {hint}"));
        }
        ExitCode::from(self.code)
    }
}

/// One line on standard error. Nobody may be there to read it.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
