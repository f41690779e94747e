//! Asking a run or the daemon over its HTTP API: which one, and with which token.

mod answer;
mod call;
mod finished;
mod patience;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use hyper::Method;
use hyper::header::HeaderValue;
use serde_json::Value;
use wh_wire::control::{SessionSummary, SessionsBody};

use crate::commands::duration;
use crate::control::{TOKEN_VARIABLE, token};
use crate::daemon::Place;
use crate::failure::{Failure, code};
use crate::runtime;

pub use answer::Answer;
pub use patience::{ANSWER_TIMEOUT, NOTICE_AFTER, OPTIONAL_ANSWER_TIMEOUT, Patience, Peer, answered};
pub use table::{session_table, table};

use call::Door;
use table::{no_run, only, several};

/// The largest request that a door takes. What is larger is not even sent: a door hangs up on it while it is on its way.
pub const LONGEST_REQUEST: usize = 256 << 10;

const URL_VARIABLE: &str = "WH_CONTROL_URL";
const PORT_VARIABLE: &str = "WH_CONTROL_PORT";

/// Options that name the run to ask.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Ask the run at this address, as http://127.0.0.1:9090. The first of these says which run: --url, --port, the
    /// variables WH_CONTROL_URL and WH_CONTROL_PORT; without any it is the only one that there is
    #[arg(long, value_name = "URL", help_heading = "Which run")]
    url: Option<String>,

    /// Ask the run with this port on this machine; `wh ls` lists them
    #[arg(long, value_name = "PORT", help_heading = "Which run")]
    port: Option<u16>,

    /// Ask this session of the daemon, by its name or id; `wh ls` lists them
    #[arg(short = 's', long, value_name = "SESSION", help_heading = "Which run")]
    session: Option<String>,

    /// Send the token in this file, which only you may be able to read. The variable WH_CONTROL_TOKEN does the same
    #[arg(long, value_name = "FILE", help_heading = "Which run")]
    token_file: Option<PathBuf>,
}

/// The option that limits the time for an answer.
#[derive(Debug, Clone, Copy, Args)]
pub struct AnswerTimeout {
    /// Fail if the daemon or the run does not answer within this time: 500ms, 10s, 2m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
}

/// Which run is asked, and how its answer is shown.
#[derive(Debug, Args)]
pub struct DoorArguments {
    #[command(flatten)]
    run: RunArguments,

    #[command(flatten)]
    patience: AnswerTimeout,

    /// Print the run's answer as JSON on one line, an error too
    #[arg(long)]
    pub json: bool,
}

impl DoorArguments {
    /// Asks this run.
    pub fn new(run: RunArguments, json: bool) -> Self {
        Self { run, patience: AnswerTimeout { timeout: ANSWER_TIMEOUT }, json }
    }

    /// Asks the daemon itself, which has this long to answer.
    pub fn for_daemon(timeout: Duration) -> Self {
        let run = RunArguments { url: None, port: None, session: None, token_file: None };
        Self { run, patience: AnswerTimeout { timeout }, json: false }
    }

    /// The same, onto this session if one is given in the place of an argument.
    pub fn onto(mut self, session: Option<String>) -> Result<Self, Failure> {
        match (&self.run.session, session) {
            (Some(given), Some(other)) if *given != other => {
                Err(Failure::new(code::USAGE, format!("two sessions are named, {given:?} and {other:?}")))
            }
            (_, Some(session)) => {
                self.run.session = Some(session);
                Ok(self)
            }
            (_, None) => Ok(self),
        }
    }

    fn patience(&self) -> Patience {
        Patience::of(self.patience.timeout)
    }

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
        self.daemon_call(Method::GET, "/sessions", None, Duration::ZERO)?.read()
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
        let path = format!("/sessions/{}", percent_encoded(session));
        self.daemon_call(Method::GET, &path, None, Duration::ZERO)?.read().map(Some)
    }

    /// Waits until the daemon answers at all. For what is asked next it may need longer.
    pub fn daemon_answers(&self) -> Result<(), Failure> {
        self.daemon_call(Method::GET, "/health", None, Duration::ZERO).map(drop)
    }

    /// Asks the daemon for something that is not one session's, which may take this long.
    pub fn daemon_call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        duration: Duration,
    ) -> Result<Answer, Failure> {
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let answer = self.daemon_door()?.call(method, path, body, self.patience().after(duration))?;
        if answer.code() == 0 { Ok(answer) } else { Err(answer.failure()) }
    }

    /// Asks for something.
    pub fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Answer, Failure> {
        self.ask(&format!("/control/{path}"), query)
    }

    /// Asks for something by its whole path.
    pub fn ask(&self, path: &str, query: &[(&str, &str)]) -> Result<Answer, Failure> {
        let mut target = path.to_owned();
        for (index, (name, value)) in query.iter().enumerate() {
            target.push(if index == 0 { '?' } else { '&' });
            target.push_str(&format!("{name}={}", percent_encoded(value)));
        }
        self.call(Method::GET, &target, None, self.patience())
    }

    /// Tells it to do something, which may take so long.
    pub fn post(&self, path: &str, body: &Value, duration: Duration) -> Result<Answer, Failure> {
        self.post_to(&format!("/control/{path}"), body, duration)
    }

    /// The same, by its whole path.
    pub fn post_to(&self, path: &str, body: &Value, duration: Duration) -> Result<Answer, Failure> {
        self.call(Method::POST, path, Some(body), self.patience().after(duration))
    }

    /// Asks the run or the session. A run that has ended a moment ago is asked through the record that it has left.
    fn call(&self, method: Method, path: &str, body: Option<&Value>, patience: Patience) -> Result<Answer, Failure> {
        let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        if bytes.len() > LONGEST_REQUEST {
            return Err(Failure::new(
                code::REFUSED,
                format!("that is too much at once: {} bytes, and a run takes at most {LONGEST_REQUEST}", bytes.len()),
            )
            .hint("send it in parts"));
        }
        let (answer, record) = match self.find()? {
            Some(door) => match door.call(method, path, bytes, patience) {
                Err(failure) if failure.is_unreachable() => {
                    (Err(failure), door.local_port().and_then(crate::finished::on_port))
                }
                answer => return answer,
            },
            None => (Err(no_run()), crate::finished::last()),
        };
        record.and_then(|record| finished::answer(&record, path, body)).map_or(answer, Ok)
    }

    fn daemon_door(&self) -> Result<Door, Failure> {
        if self.run.url.is_some() || self.run.port.is_some() {
            let mut door = self.given()?.ok_or_else(|| Failure::new(code::USAGE, "no address is given"))?;
            door.authorization = token(self.run.token_file.as_deref())?.map(|(text, _)| bearer(&text)).transpose()?;
            return Ok(door);
        }
        let place = Place::here()?;
        let mut door = Door::at(&place.needed()?.url, "the daemon's file")?;
        let file = self.run.token_file.clone().unwrap_or_else(|| place.token());
        door.authorization = token(Some(&file))?.map(|(text, _)| bearer(&text)).transpose()?;
        Ok(door)
    }

    /// The run or the session that is meant; nothing if none is named and nothing runs.
    fn find(&self) -> Result<Option<Door>, Failure> {
        if let Some(session) = &self.run.session {
            let mut door = self.daemon_door()?;
            door.prefix = format!("/sessions/{}", percent_encoded(session));
            return Ok(Some(door));
        }
        let token = token(self.run.token_file.as_deref())?.map(|(text, _)| text);
        let mut door = match self.given()? {
            Some(door) if door.is_local() || token.is_some() => door,
            Some(door) => {
                return Err(Failure::new(
                    code::USAGE,
                    format!("{} is another machine: asking it needs a token", door.url()),
                )
                .hint(format!("give one with --token-file FILE or {TOKEN_VARIABLE}")));
            }
            None => {
                let (runs, living) = self.living()?;
                let living: Vec<&SessionSummary> = living.iter().collect();
                match (runs.as_slice(), living.as_slice()) {
                    ([], [only]) => {
                        return Self::for_daemon(self.patience.timeout).onto(Some(only.session_id.clone()))?.find();
                    }
                    ([], []) => return Ok(None),
                    (_, []) => only(runs)?,
                    (runs, living) => return Err(several(runs, living)),
                }
            }
        };
        door.authorization = token.map(|text| bearer(&text)).transpose()?;
        Ok(Some(door))
    }

    /// The runs and the sessions of the daemon that live.
    fn living(&self) -> Result<(Vec<runtime::RunFile>, Vec<SessionSummary>), Failure> {
        let runs = runtime::live().map_err(|error| Failure::new(code::FAILED, error))?;
        let mut sessions = match Place::here().ok().and_then(|place| place.living()) {
            Some(_) => Self::for_daemon(self.patience.timeout).sessions()?,
            None => Vec::new(),
        };
        sessions.retain(|one| one.status.live);
        Ok((runs, sessions))
    }

    fn given(&self) -> Result<Option<Door>, Failure> {
        let parse_port = |text: String| {
            text.trim().parse().map(Door::on_port).map_err(|_| {
                Failure::new(code::USAGE, format!("{PORT_VARIABLE} is {text:?}")).hint("give a port, for example 9090")
            })
        };
        if let Some(url) = &self.run.url {
            return Door::at(url, "--url").map(Some);
        }
        if let Some(port) = self.run.port {
            return Ok(Some(Door::on_port(port)));
        }
        if let Some(url) = variable(URL_VARIABLE)? {
            return Door::at(&url, URL_VARIABLE).map(Some);
        }
        variable(PORT_VARIABLE)?.map(parse_port).transpose()
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

fn bearer(token: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
        .map_err(|_| Failure::new(code::USAGE, "the token has characters that cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Text as it can stand in a path or a query.
pub fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_keeps_every_character() {
        assert_eq!(percent_encoded("mcp/request é&x=1 +"), "mcp%2Frequest%20%C3%A9%26x%3D1%20%2B");
    }
}
