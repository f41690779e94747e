//! The answer of a run: JSON or a picture, with an exit code for each status.

use std::process::ExitCode;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use wh_core::reason::Reason;

use crate::control::TOKEN_VARIABLE;
use crate::failure::{Failure, code};
use crate::print::{json_line, print};

/// Codes of answers to a path or method that the server does not know.
const UNKNOWN_TO_SERVER: [&str; 2] = ["not_found", "method_not_allowed"];

/// What a run said, with a status: JSON, or a picture.
#[derive(Debug)]
pub struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
    pub(super) picture: Vec<u8>,
}

/// An answer that is not what was asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Objection {
    error: String,
    code: Option<String>,
    detail: Option<String>,
    /// Where in a condition something is wrong, in characters from 0.
    pub position: Option<usize>,
    /// What was on the screen when a wait ended in vain.
    pub screen: Vec<String>,
}

impl Objection {
    fn is(&self, reason: Reason) -> bool {
        self.code.as_deref() == Some(reason.code())
    }
}

impl Answer {
    /// Shows it: the JSON as it is, or else what `words` make of it.
    pub fn show<T: DeserializeOwned>(&self, json: bool, words: impl FnOnce(T) -> String) -> Result<ExitCode, Failure> {
        if json {
            print(&json_line(&self.body))?;
            return Ok(ExitCode::from(self.code()));
        }
        if self.code() != 0 {
            return Err(self.failure());
        }
        print(&words(self.read()?))?;
        Ok(ExitCode::SUCCESS)
    }

    /// What it says, where it is what was asked for.
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        if self.code() == 0 { self.read() } else { Err(self.failure()) }
    }

    /// The picture that was asked for.
    pub fn picture(self) -> Result<Vec<u8>, Failure> {
        if self.code() == 0 { Ok(self.picture) } else { Err(self.failure()) }
    }

    /// True if a terminal program was asked for what only a conversation has.
    pub fn has_no_conversation(&self) -> bool {
        self.objection().is(Reason::PlainProgram)
    }

    /// What it objects to.
    pub fn objection(&self) -> Objection {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// What it says.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.body).map_err(|error| {
            Failure::new(code::FAILED, format!("the answer is not understood: {error}"))
                .hint("is the run of another version? --json prints the answer as it is")
        })
    }

    /// The exit code that goes with its status.
    pub(super) fn code(&self) -> u8 {
        match self.status {
            200 | 201 => 0,
            400 => code::USAGE,
            401 | 403 => code::UNAUTHORISED,
            408 => code::TIMEOUT,
            409 | 410 | 413 | 503 => code::REFUSED,
            _ => code::FAILED,
        }
    }

    pub(super) fn failure(&self) -> Failure {
        let objection = self.objection();
        let (plain, no_session) = (objection.is(Reason::PlainProgram), objection.is(Reason::NoSession));
        // Something that is not there is one thing; a path that a server does not know is another.
        let unknown = objection.code.as_deref().is_none_or(|code| UNKNOWN_TO_SERVER.contains(&code));
        let Objection { error, detail, .. } = objection;
        if let (true, Some(detail)) = (plain, &detail) {
            return Failure::new(self.code(), detail);
        }
        let error = error.to_lowercase();
        if no_session {
            return Failure::new(code::UNREACHABLE, detail.unwrap_or(error)).hint("wh ls --all lists the sessions");
        }
        let message = match detail {
            Some(detail) if error.is_empty() || detail.to_lowercase().contains(&error) => detail,
            Some(detail) => format!("{error}: {detail}"),
            None if error.is_empty() => format!("the run answered with status {}", self.status),
            None => error,
        };
        let failure = Failure::new(self.code(), message);
        match self.status {
            401 => failure.hint(format!("give the run's token with --token-file FILE or {TOKEN_VARIABLE}")),
            404 | 405 if unknown => failure.hint("is that a run of wh, and of this version?"),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_answer_has_its_exit_code() {
        for (status, code) in
            [(200, 0), (400, 2), (408, 3), (409, 4), (413, 4), (503, 4), (401, 5), (403, 5), (404, 125)]
        {
            assert_eq!(Answer { status, body: String::new(), picture: Vec::new() }.code(), code, "{status}");
        }
    }
}
