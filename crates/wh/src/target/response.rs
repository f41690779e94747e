//! HTTP responses of a run or session: JSON or an image, with an exit code for each status.

use std::process::ExitCode;

use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use wh_api::{Error, ErrorResponse};
use wh_core::reason::Reason;

use crate::failure::{CliFailure, code};
use crate::http_options::TOKEN_VARIABLE;
use crate::print::{json_line, print};

/// Response of a run or a session: a status with JSON or an image.
#[derive(Debug)]
pub struct ApiResponse {
    status: u16,
    body: String,
    picture: Bytes,
}

impl ApiResponse {
    /// Converts a response of the client. Fails unless the body is JSON or an image.
    pub(super) fn of(answer: wh_api::HttpResponse) -> Result<Self, Error> {
        if answer.is_image() {
            return Ok(Self { status: answer.status, body: String::new(), picture: answer.body });
        }
        let _: IgnoredAny = answer.read()?;
        Ok(Self::text(answer.status, answer.text()))
    }

    /// Creates a JSON response.
    pub(super) fn text(status: u16, body: String) -> Self {
        Self { status, body, picture: Bytes::new() }
    }

    /// Prints the response: the JSON itself if `json` is true, else the text that `words` returns for the parsed body.
    pub fn show<T: DeserializeOwned>(
        &self,
        json: bool,
        words: impl FnOnce(T) -> String,
    ) -> Result<ExitCode, CliFailure> {
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

    /// Returns the parsed body of a successful response.
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, CliFailure> {
        if self.code() == 0 { self.read() } else { Err(self.failure()) }
    }

    /// Returns the image of a successful response.
    pub fn picture(self) -> Result<Bytes, CliFailure> {
        if self.code() == 0 { Ok(self.picture) } else { Err(self.failure()) }
    }

    /// True if the request was refused because it needs a conversation and the target is a terminal program.
    pub fn has_no_conversation(&self) -> bool {
        self.refusal().code() == Some(Reason::PlainProgram.code())
    }

    /// Parses an error response.
    pub fn refusal(&self) -> ErrorResponse {
        ErrorResponse::read(self.status, self.body.as_bytes())
    }

    /// Parses the body of a response with any status.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, CliFailure> {
        serde_json::from_str(&self.body).map_err(|error| {
            CliFailure::new(code::FAILED, format!("unexpected response: {error}"))
                .hint("the run may have another version of wh; use --json to print the response unchanged")
        })
    }

    fn code(&self) -> u8 {
        exit_code(self.status)
    }

    fn failure(&self) -> CliFailure {
        refused(&self.refusal())
    }
}

/// Maps an HTTP status to an exit code.
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

/// Converts an error response to a failure for the user.
pub(super) fn refused(refusal: &ErrorResponse) -> CliFailure {
    let is = |reason: Reason| refusal.code() == Some(reason.code());
    let detail = refusal.body.detail.as_deref();
    let code = exit_code(refusal.status);
    if let (true, Some(detail)) = (is(Reason::PlainProgram), detail) {
        return CliFailure::new(code, detail);
    }
    if is(Reason::NoSession) {
        let message = detail.map_or_else(|| refusal.message(), str::to_owned);
        return CliFailure::new(code::UNREACHABLE, message).hint("`wh ls --all` lists the sessions");
    }
    let failure = CliFailure::new(code, refusal.message());
    match refusal.status {
        401 => failure.hint(format!("pass the run's token with --token-file FILE or {TOKEN_VARIABLE}")),
        404 | 405 if refusal.hint().is_some() => {
            failure.hint("check that the server is wh and has the same version as this command")
        }
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
