//! Failures of wh itself: a message, a hint and an exit code.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use crate::print::clean;

/// Exit codes of wh itself. All other exit codes of `wh run` are those of its program.
pub mod code {
    /// The screen differs from the expected screenshot.
    pub const DIFFERENT: u8 = 1;
    /// The command line or a settings file is invalid.
    pub const USAGE: u8 = 2;
    /// A wait timed out.
    pub const TIMEOUT: u8 = 3;
    /// The run or session refused the request. For example, its program has ended or its input queue is full.
    pub const REFUSED: u8 = 4;
    /// The token is missing or invalid, or the sender lacks permission.
    pub const UNAUTHORISED: u8 = 5;
    /// No run or session was found, several match, or there was no answer.
    pub const UNREACHABLE: u8 = 6;
    /// The watchdog ended the daemon because its runtime stalled.
    pub const STALLED: u8 = 7;
    /// Any other failure, for example a port in use.
    pub const FAILED: u8 = 125;
    /// The program exists but cannot be executed.
    pub const NOT_EXECUTABLE: u8 = 126;
    /// The program was not found.
    pub const NOT_FOUND: u8 = 127;
}

/// Exit codes of every command that calls a run or the daemon, besides 0, 2 and 125.
pub const API_CODES: &[u8] = &[code::REFUSED, code::UNAUTHORISED, code::UNREACHABLE];

/// Returns the last part of a command's help: examples and exit codes. Every command has the codes 0, 2 and 125;
/// `codes` lists the other codes.
pub fn with_exit_codes(examples: &str, codes: &[u8]) -> String {
    let mut all = [&[0, code::USAGE], codes, &[code::FAILED]].concat();
    all.sort_unstable();
    let lines: Vec<String> = all.iter().map(|code| format!("  {code:<4} {}", exit_code_meaning(*code))).collect();
    format!("Examples:\n{examples}\n\nExit codes:\n{}", lines.join("\n"))
}

fn exit_code_meaning(code: u8) -> &'static str {
    match code {
        0 => "success",
        code::DIFFERENT => "the screen differs from the screenshot",
        code::USAGE => "usage error or invalid value",
        code::TIMEOUT => "timed out",
        code::REFUSED => "refused; the message says why",
        code::UNAUTHORISED => "not authorised",
        code::UNREACHABLE => "no run or session found, several found, or no answer",
        code::STALLED => "the daemon's runtime stalled",
        _ => "any other failure",
    }
}

/// Failure of wh itself: its message, an optional hint and the exit code.
#[derive(Debug)]
pub struct CliFailure {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl CliFailure {
    pub fn new(code: u8, message: impl Display) -> Self {
        Self { code, message: message.to_string(), hint: None }
    }

    /// Adds a hint on how to solve the problem, in one or more lines.
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// Parses a line that another process wrote with [`CliFailure::reported`].
    pub fn read(line: &str) -> Option<Self> {
        let report: serde_json::Value = serde_json::from_str(line).ok()?;
        let failed = report.get("failed")?;
        let code = failed["code"].as_u64().and_then(|code| u8::try_from(code).ok())?;
        let hint = failed["hint"].as_str().map(str::to_owned);
        Some(Self { code, message: failed["message"].as_str()?.to_owned(), hint })
    }

    /// Returns the failure as one line of JSON, for the process that started this process.
    pub fn reported(&self) -> String {
        serde_json::json!({ "failed": { "code": self.code, "message": self.message, "hint": self.hint } }).to_string()
    }

    /// Replaces the exit code.
    pub fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    pub fn code(&self) -> u8 {
        self.code
    }

    /// Returns the message and the hint on one line.
    pub fn one_line(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {}", self.message, hint.lines().collect::<Vec<_>>().join(" ")),
            None => self.message.clone(),
        }
    }

    /// Prints the failure to standard error and returns its exit code.
    pub fn report(&self) -> ExitCode {
        print_to_stderr(&format!("wh: {}", clean(&self.message)));
        for line in self.hint.as_deref().unwrap_or_default().lines() {
            print_to_stderr(&format!("    {}", clean(line)));
        }
        ExitCode::from(self.code)
    }
}

/// Prints one line to standard error. Write errors are ignored.
pub fn print_to_stderr(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
