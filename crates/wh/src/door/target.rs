//! The run, the daemon or the session that is meant, with its token.

use std::path::Path;
use std::time::Duration;

use wh_api::{Address, Client, Error, Routes, blocking};
use wh_wire::control::{SessionSummary, SessionsBody};

use super::ask::Daemon;
use super::peer::{NOTICE_AFTER, Peer};
use super::table::{only, several};
use super::{DoorArguments, RunArguments};
use crate::control::{TOKEN_VARIABLE, token};
use crate::daemon::Place;
use crate::failure::{Failure, code};
use crate::runtime;

const URL_VARIABLE: &str = "WH_CONTROL_URL";
const PORT_VARIABLE: &str = "WH_CONTROL_PORT";

/// A run, a daemon, or a session of a daemon.
#[derive(Debug)]
pub(super) struct Target {
    pub address: Address,
    pub token: Option<String>,
}

impl Target {
    /// The target at an address that was found in `source`.
    pub fn at(url: &str, source: &str) -> Result<Self, Failure> {
        match Address::parse(url) {
            // wh serves no TLS.
            Ok(address) if !address.is_tls() => Ok(Self { address, token: None }),
            _ => Err(Failure::new(code::USAGE, format!("{source}: {url:?} is not the address of a run"))
                .hint("write it as http://HOST:PORT, for example http://127.0.0.1:9090")),
        }
    }

    /// The same with the token in a file, or else in the variable.
    fn with_token(mut self, file: Option<&Path>) -> Result<Self, Failure> {
        self.token = token(file)?.map(|(text, _)| text);
        Ok(self)
    }

    /// A client of it that tells the person when it has to wait.
    pub fn client(&self, timeout: Duration) -> Result<blocking::Client, Failure> {
        let address = self.address.clone();
        let mut builder = Client::builder(self.address.clone())
            .user_agent(concat!("wh/", env!("CARGO_PKG_VERSION")))
            .without_keep_alive()
            .timeout(timeout)
            .notice(NOTICE_AFTER, move || Peer::at(&address).say_waiting());
        if let Some(token) = &self.token {
            builder = builder.token(token);
        }
        builder.blocking().map_err(|error| self.failure(error))
    }

    /// An error of a call as it is told to a person.
    pub fn failure(&self, error: Error) -> Failure {
        let strange = |message: String| Failure::new(code::FAILED, message).hint("is that a run of wh?");
        match error {
            Error::Unreachable { .. } | Error::Ended(_) => {
                Failure::new(code::UNREACHABLE, &error).hint(Peer::at(&self.address).look_for())
            }
            Error::Timeout { after, .. } => Peer::at(&self.address).silent(after),
            Error::Refused(refusal) => super::answer::refused(&refusal),
            Error::RequestTooLarge { bytes, limit } => Failure::new(
                code::REFUSED,
                format!("that is too much at once: {bytes} bytes, and a run takes at most {limit}"),
            )
            .hint("send it in parts"),
            Error::AnswerTooLarge { url, .. } => strange(format!("what answers at {url} does not stop")),
            Error::NotOurs { .. } => strange(error.to_string()),
            Error::TokenNeeded { .. } => {
                Failure::new(code::USAGE, error).hint(format!("give one with --token-file FILE or {TOKEN_VARIABLE}"))
            }
            Error::Token => Failure::new(code::USAGE, error),
            error => Failure::new(code::FAILED, format!("cannot ask {}: {error}", self.address.url())),
        }
    }
}

impl DoorArguments {
    /// Whether a session of the daemon that lives is called so, and no other door is named.
    pub fn names_session(&self, word: &str) -> Result<bool, Failure> {
        let elsewhere = self.run.url.is_some() || self.run.port.is_some() || self.run.session.is_some();
        if elsewhere || !Place::here().is_ok_and(|place| place.living().is_some()) {
            return Ok(false);
        }
        Ok(self.sessions()?.iter().any(|one| one.status.live && one.name == word))
    }

    /// Refuses a single word that is what a session is called: whoever forgot the rest would have it typed somewhere.
    pub fn nothing_for(&self, word: &str, command: &str, what: &str) -> Result<(), Failure> {
        if !self.names_session(word)? {
            return Ok(());
        }
        Err(Failure::new(code::USAGE, format!("{word} is a session, and there is nothing for it"))
            .hint(format!("{command} {word} {what}")))
    }

    /// Every session of the daemon, and those that are about to be.
    pub fn listed(&self) -> Result<SessionsBody, Failure> {
        self.daemon()?.sessions()
    }

    /// Every session of the daemon.
    pub fn sessions(&self) -> Result<Vec<SessionSummary>, Failure> {
        Ok(self.listed()?.sessions)
    }

    /// The session of the daemon that is meant; nothing if it is a run. Which one a name means is the daemon's to say.
    pub fn summary(&self) -> Result<Option<SessionSummary>, Failure> {
        let Some(session) = &self.run.session else {
            if self.given()?.is_some() {
                return Ok(None);
            }
            let (runs, mut living) = self.living()?;
            return Ok(living.pop().filter(|_| runs.is_empty() && living.is_empty()));
        };
        self.daemon()?.session(session).map(Some)
    }

    /// The daemon itself.
    pub fn daemon(&self) -> Result<Daemon, Failure> {
        Daemon::new(self.daemon_target()?, self.answer.timeout)
    }

    fn daemon_target(&self) -> Result<Target, Failure> {
        if self.run.url.is_some() || self.run.port.is_some() {
            let target = self.given()?.ok_or_else(|| Failure::new(code::USAGE, "no address is given"))?;
            return target.with_token(self.run.token_file.as_deref());
        }
        let place = Place::here()?;
        let file = self.run.token_file.clone().unwrap_or_else(|| place.token());
        Target::at(&place.needed()?.url, "the daemon's file")?.with_token(Some(&file))
    }

    /// The run or the session that is meant; `None` if none is named and nothing runs.
    pub(super) fn target(&self) -> Result<Option<Target>, Failure> {
        if let Some(session) = &self.run.session {
            let daemon = self.daemon_target()?;
            return Ok(Some(Target { address: daemon.address.session(session), token: daemon.token }));
        }
        let target = match self.given()? {
            Some(target) => target,
            None => {
                let (runs, living) = self.living()?;
                let living: Vec<&SessionSummary> = living.iter().collect();
                match (runs.as_slice(), living.as_slice()) {
                    ([], [only]) => {
                        return Self::for_daemon(self.answer.timeout).onto(Some(only.session_id.clone()))?.target();
                    }
                    ([], []) => return Ok(None),
                    (_, []) => only(runs)?,
                    (runs, living) => return Err(several(runs, living)),
                }
            }
        };
        target.with_token(self.run.token_file.as_deref()).map(Some)
    }

    /// The runs and the sessions of the daemon that live.
    fn living(&self) -> Result<(Vec<wh_api::ended::RunFile>, Vec<SessionSummary>), Failure> {
        let runs = runtime::live().map_err(|error| Failure::new(code::FAILED, error))?;
        let mut sessions = match Place::here().ok().and_then(|place| place.living()) {
            Some(_) => Self::for_daemon(self.answer.timeout).sessions()?,
            None => Vec::new(),
        };
        sessions.retain(|one| one.status.live);
        Ok((runs, sessions))
    }

    /// The target that an option or a variable names.
    fn given(&self) -> Result<Option<Target>, Failure> {
        let RunArguments { url, port, .. } = &self.run;
        let local = |port: u16| Target { address: Address::local(port), token: None };
        if let Some(url) = url {
            return Target::at(url, "--url").map(Some);
        }
        if let Some(port) = port {
            return Ok(Some(local(*port)));
        }
        if let Some(url) = variable(URL_VARIABLE)? {
            return Target::at(&url, URL_VARIABLE).map(Some);
        }
        let Some(text) = variable(PORT_VARIABLE)? else { return Ok(None) };
        text.trim().parse().map(local).map(Some).map_err(|_| {
            Failure::new(code::USAGE, format!("{PORT_VARIABLE} is {text:?}")).hint("give a port, for example 9090")
        })
    }
}

/// A variable that is set to something.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(error) => Err(Failure::new(code::USAGE, format!("{name}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_encrypted_is_not_that_of_a_run() {
        assert!(Target::at("http://127.0.0.1:9090", "--url").is_ok());
        for wrong in ["https://127.0.0.1:9090", "127.0.0.1:9090", "http://127.0.0.1:9090/control"] {
            assert_eq!(Target::at(wrong, "--url").unwrap_err().code(), code::USAGE, "{wrong}");
        }
    }
}
