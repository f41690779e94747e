//! The answer of a run: JSON or a picture, with an exit code for each status.

use std::process::ExitCode;

use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use wh_api::{Error, Refusal};
use wh_core::reason::Reason;

use crate::control::TOKEN_VARIABLE;
use crate::failure::{Failure, code};
use crate::print::{json_line, print};

/// An answer of a run or a session, with a status: JSON, or a picture.
#[derive(Debug)]
pub struct Answer {
    status: u16,
    body: String,
    picture: Bytes,
}

impl Answer {
    /// The answer to a call, which must be JSON or a picture.
    pub(super) fn of(answer: wh_api::Answer) -> Result<Self, Error> {
        if answer.is_picture() {
            return Ok(Self { status: answer.status, body: String::new(), picture: answer.body });
        }
        let _: IgnoredAny = answer.read()?;
        Ok(Self::text(answer.status, answer.text()))
    }

    /// An answer in JSON.
    pub(super) fn text(status: u16, body: String) -> Self {
        Self { status, body, picture: Bytes::new() }
    }

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
    pub fn picture(self) -> Result<Bytes, Failure> {
        if self.code() == 0 { Ok(self.picture) } else { Err(self.failure()) }
    }

    /// True if a terminal program was asked for what only a conversation has.
    pub fn has_no_conversation(&self) -> bool {
        self.refusal().code() == Some(Reason::PlainProgram.code())
    }

    /// What it objects to.
    pub fn refusal(&self) -> Refusal {
        Refusal::read(self.status, self.body.as_bytes())
    }

    /// What it says.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.body).map_err(|error| {
            Failure::new(code::FAILED, format!("the answer is not understood: {error}"))
                .hint("is the run of another version? --json prints the answer as it is")
        })
    }

    /// The exit code that goes with its status.
    fn code(&self) -> u8 {
        exit_code(self.status)
    }

    fn failure(&self) -> Failure {
        refused(&self.refusal())
    }
}

/// The exit code that goes with a status.
fn exit_code(status: u16) -> u8 {
    match status {
        200 | 201 => 0,
        400 => code::USAGE,
        401 | 403 => code::UNAUTHORISED,
        408 => code::TIMEOUT,
        409 | 410 | 413 | 503 => code::REFUSED,
        _ => code::FAILED,
    }
}

/// An error answer as it is told to a person.
pub(super) fn refused(refusal: &Refusal) -> Failure {
    let is = |reason: Reason| refusal.code() == Some(reason.code());
    let detail = refusal.body.detail.as_deref();
    let code = exit_code(refusal.status);
    if let (true, Some(detail)) = (is(Reason::PlainProgram), detail) {
        return Failure::new(code, detail);
    }
    if is(Reason::NoSession) {
        let message = detail.map_or_else(|| refusal.message(), str::to_owned);
        return Failure::new(code::UNREACHABLE, message).hint("wh ls --all lists the sessions");
    }
    let failure = Failure::new(code, refusal.message());
    match refusal.status {
        401 => failure.hint(format!("give the run's token with --token-file FILE or {TOKEN_VARIABLE}")),
        404 | 405 if refusal.hint().is_some() => failure.hint("is that a run of wh, and of this version?"),
        _ => failure,
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
            assert_eq!(exit_code(status), code, "{status}");
        }
    }
}
