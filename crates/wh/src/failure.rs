//! What is said when wh itself fails: what was wrong, what to do, and an exit code of its own.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use crate::print::clean;

/// Exit codes that are wh's own. All others are the program's.
pub mod code {
    /// The screen is not what it is compared with.
    pub const DIFFERENT: u8 = 1;
    /// The command line is wrong.
    pub const USAGE: u8 = 2;
    /// What was waited for did not happen in time.
    pub const TIMEOUT: u8 = 3;
    /// The run would not do it: its program has ended, or has no room for more.
    pub const REFUSED: u8 = 4;
    /// The run wants a token that was not given, or another one.
    pub const UNAUTHORISED: u8 = 5;
    /// There is no run to ask, or more than one, or it does not answer.
    pub const UNREACHABLE: u8 = 6;
    /// The daemon's runtime stalled, and its watchdog ended it.
    pub const STALLED: u8 = 7;
    /// wh could not do its part: a port in use, no terminal to be had.
    pub const FAILED: u8 = 125;
    /// The program was found and could not be executed.
    pub const NOT_EXECUTABLE: u8 = 126;
    /// There is no such program.
    pub const NOT_FOUND: u8 = 127;
}

/// The same for the help of the commands that ask a run.
const EXIT_CODES: &str = "\
Exit codes: 0 done or matched; 1 a picture that differs; 2 wrong usage, also a key,
condition, signal or size that does not exist; 3 timeout: it did not match in time;
4 refused, also a wait that the program's end cut short; 5 not authorised;
6 unreachable: no run, no answer, or several runs to choose from;
7 a daemon whose runtime stalled; 125 any other failure.";

/// The end of a command's help: its examples, and the exit codes.
pub fn with_exit_codes(examples: &str) -> String {
    format!("Examples:\n{examples}\n\n{EXIT_CODES}")
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

    /// What to do about it, in a line or more.
    pub fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// Reads what another process has reported by [`Failure::reported`].
    pub fn read(line: &str) -> Option<Self> {
        let said: serde_json::Value = serde_json::from_str(line).ok()?;
        let failed = said.get("failed")?;
        let code = failed["code"].as_u64().and_then(|code| u8::try_from(code).ok())?;
        let hint = failed["hint"].as_str().map(str::to_owned);
        Some(Self { code, message: failed["message"].as_str()?.to_owned(), hint })
    }

    /// The failure on one line, for the process that started this one.
    pub fn reported(&self) -> String {
        serde_json::json!({ "failed": { "code": self.code, "message": self.message, "hint": self.hint } }).to_string()
    }

    /// The same with another exit code.
    pub fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// What was wrong, and what to do, in a line.
    pub fn told(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {}", self.message, hint.lines().collect::<Vec<_>>().join(" ")),
            None => self.message.clone(),
        }
    }

    /// Says it on standard error.
    pub fn report(&self) -> ExitCode {
        say(&format!("wh: {}", clean(&self.message)));
        for line in self.hint.as_deref().unwrap_or_default().lines() {
            say(&format!("    {}", clean(line)));
        }
        ExitCode::from(self.code)
    }
}

/// One line on standard error. Nobody may be there to read it.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
