//! Resolves the run, daemon or session of a command, with its token.

use std::path::Path;
use std::time::Duration;

use wh_api::{Address, Client, Error, Routes, blocking};
use wh_wire::control::{SessionSummary, SessionsBody};

use super::requests::DaemonClient;
use super::server_process::{NOTICE_DELAY, ServerProcess};
use super::table::{only, several};
use super::{RunSelector, TargetArguments};
use crate::daemon::DaemonPaths;
use crate::failure::{CliFailure, code};
use crate::http_options::{TOKEN_VARIABLE, token};
use crate::runtime;

const URL_VARIABLE: &str = "WH_CONTROL_URL";
const PORT_VARIABLE: &str = "WH_CONTROL_PORT";

/// Address of a run, a daemon, or a session of the daemon.
#[derive(Debug)]
pub(super) struct ApiTarget {
    pub address: Address,
    pub token: Option<String>,
}

impl ApiTarget {
    /// Parses a URL. `source` names the origin of the URL in error messages.
    pub fn at(url: &str, source: &str) -> Result<Self, CliFailure> {
        match Address::parse(url) {
            // Runs and daemons do not serve TLS.
            Ok(address) if !address.is_tls() => Ok(Self { address, token: None }),
            _ => Err(CliFailure::new(code::USAGE, format!("{source}: {url:?} is not a valid run URL"))
                .hint("expected http://HOST:PORT, for example http://127.0.0.1:9090")),
        }
    }

    /// Adds the token from a file, else from the environment variable.
    fn with_token(mut self, file: Option<&Path>) -> Result<Self, CliFailure> {
        self.token = token(file)?.map(|(text, _)| text);
        Ok(self)
    }

    /// Creates a client that prints a notice if a response is slow.
    pub fn client(&self, timeout: Duration) -> Result<blocking::Client, CliFailure> {
        let address = self.address.clone();
        let mut builder = Client::builder(self.address.clone())
            .user_agent(concat!("wh/", env!("CARGO_PKG_VERSION")))
            .without_keep_alive()
            .timeout(timeout)
            .notice(NOTICE_DELAY, move || ServerProcess::at(&address).print_waiting_notice());
        if let Some(token) = &self.token {
            builder = builder.token(token);
        }
        builder.blocking().map_err(|error| self.failure(error))
    }

    /// Converts an API error to a failure for the user.
    pub fn failure(&self, error: Error) -> CliFailure {
        let strange = |message: String| {
            CliFailure::new(code::FAILED, message).hint("check that the URL belongs to a run or daemon of wh")
        };
        match error {
            Error::Unreachable { .. } | Error::Ended(_) => {
                CliFailure::new(code::UNREACHABLE, &error).hint(ServerProcess::at(&self.address).unreachable_hint())
            }
            Error::Timeout { after, .. } => ServerProcess::at(&self.address).timeout_failure(after),
            Error::Refused(refusal) => super::response::refused(&refusal),
            Error::RequestTooLarge { bytes, limit } => CliFailure::new(
                code::REFUSED,
                format!("the request has {bytes} bytes, more than the maximum of {limit}"),
            )
            .hint("send the text in parts"),
            Error::ResponseTooLarge { url, .. } => strange(format!("the response from {url} is too large")),
            Error::UnexpectedServer { .. } => strange(error.to_string()),
            Error::TokenNeeded { .. } => CliFailure::new(code::USAGE, error)
                .hint(format!("pass the token with --token-file FILE or {TOKEN_VARIABLE}")),
            Error::Token => CliFailure::new(code::USAGE, error),
            error => CliFailure::new(code::FAILED, format!("request to {} failed: {error}", self.address.url())),
        }
    }
}

impl TargetArguments {
    /// True if a live session of the daemon has this name and no other target is selected.
    pub fn is_live_session(&self, word: &str) -> Result<bool, CliFailure> {
        let elsewhere = self.run.url.is_some() || self.run.port.is_some() || self.run.session.is_some();
        if elsewhere || !DaemonPaths::here().is_ok_and(|paths| paths.running_daemon().is_some()) {
            return Ok(false);
        }
        Ok(self.sessions()?.iter().any(|one| one.status.live && one.name == word))
    }

    /// Refuses a single argument that is the name of a session, because the user probably forgot the second argument.
    pub fn check_not_session(&self, word: &str, command: &str, what: &str) -> Result<(), CliFailure> {
        if !self.is_live_session(word)? {
            return Ok(());
        }
        Err(CliFailure::new(code::USAGE, format!("{word} is the name of a session, and {what} is missing"))
            .hint(format!("usage: {command} {word} {what}")))
    }

    /// Lists the daemon's sessions, including the names of those still being restored.
    pub fn listed(&self) -> Result<SessionsBody, CliFailure> {
        self.daemon()?.sessions()
    }

    /// Lists the daemon's sessions.
    pub fn sessions(&self) -> Result<Vec<SessionSummary>, CliFailure> {
        Ok(self.listed()?.sessions)
    }

    /// Returns the selected session, or the only live session if no target is selected. `None` if the target is a run
    /// or not unique. The daemon resolves names.
    pub fn summary(&self) -> Result<Option<SessionSummary>, CliFailure> {
        let Some(session) = &self.run.session else {
            if self.explicit_target()?.is_some() {
                return Ok(None);
            }
            let (runs, mut live) = self.live()?;
            return Ok(live.pop().filter(|_| runs.is_empty() && live.is_empty()));
        };
        self.daemon()?.session(session).map(Some)
    }

    /// Returns a client of the daemon.
    pub fn daemon(&self) -> Result<DaemonClient, CliFailure> {
        DaemonClient::new(self.daemon_target()?, self.answer.timeout)
    }

    fn daemon_target(&self) -> Result<ApiTarget, CliFailure> {
        if self.run.url.is_some() || self.run.port.is_some() {
            let target = self.explicit_target()?.ok_or_else(|| CliFailure::new(code::USAGE, "no URL given"))?;
            return target.with_token(self.run.token_file.as_deref());
        }
        let paths = DaemonPaths::here()?;
        let file = self.run.token_file.clone().unwrap_or_else(|| paths.token());
        ApiTarget::at(&paths.require_daemon()?.url, "the daemon's file")?.with_token(Some(&file))
    }

    /// Returns the selected run or session. Without a selection, returns the only live run or session; `None` if
    /// nothing is live.
    pub(super) fn target(&self) -> Result<Option<ApiTarget>, CliFailure> {
        if let Some(session) = &self.run.session {
            let daemon = self.daemon_target()?;
            return Ok(Some(ApiTarget { address: daemon.address.session(session), token: daemon.token }));
        }
        let target = match self.explicit_target()? {
            Some(target) => target,
            None => {
                let (runs, live) = self.live()?;
                let live: Vec<&SessionSummary> = live.iter().collect();
                match (runs.as_slice(), live.as_slice()) {
                    ([], [only]) => {
                        return Self::for_daemon(self.answer.timeout)
                            .with_session(Some(only.session_id.clone()))?
                            .target();
                    }
                    ([], []) => return Ok(None),
                    (_, []) => only(runs)?,
                    (runs, live) => return Err(several(runs, live)),
                }
            }
        };
        target.with_token(self.run.token_file.as_deref()).map(Some)
    }

    /// Lists live runs and live sessions.
    fn live(&self) -> Result<(Vec<wh_api::ended::RegisteredRun>, Vec<SessionSummary>), CliFailure> {
        let runs = runtime::live().map_err(|error| CliFailure::new(code::FAILED, error))?;
        let mut sessions = match DaemonPaths::here().ok().and_then(|paths| paths.running_daemon()) {
            Some(_) => Self::for_daemon(self.answer.timeout).sessions()?,
            None => Vec::new(),
        };
        sessions.retain(|one| one.status.live);
        Ok((runs, sessions))
    }

    /// Returns the target that is selected by a URL or port, from an option or an environment variable.
    fn explicit_target(&self) -> Result<Option<ApiTarget>, CliFailure> {
        let RunSelector { url, port, .. } = &self.run;
        let local = |port: u16| ApiTarget { address: Address::local(port), token: None };
        if let Some(url) = url {
            return ApiTarget::at(url, "--url").map(Some);
        }
        if let Some(port) = port {
            return Ok(Some(local(*port)));
        }
        if let Some(url) = variable(URL_VARIABLE)? {
            return ApiTarget::at(&url, URL_VARIABLE).map(Some);
        }
        let Some(text) = variable(PORT_VARIABLE)? else { return Ok(None) };
        text.trim().parse().map(local).map(Some).map_err(|_| {
            CliFailure::new(code::USAGE, format!("{PORT_VARIABLE} is {text:?}, which is not a port"))
                .hint("set the variable to a port, for example 9090")
        })
    }
}

/// Reads an environment variable. An empty variable counts as not set.
fn variable(name: &str) -> Result<Option<String>, CliFailure> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(error) => Err(CliFailure::new(code::USAGE, format!("{name}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_encrypted_is_not_that_of_a_run() {
        assert!(ApiTarget::at("http://127.0.0.1:9090", "--url").is_ok());
        for wrong in ["https://127.0.0.1:9090", "127.0.0.1:9090", "http://127.0.0.1:9090/control"] {
            assert_eq!(ApiTarget::at(wrong, "--url").unwrap_err().code(), code::USAGE, "{wrong}");
        }
    }
}
