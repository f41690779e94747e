//! Asking a run over its HTTP door: which run, with which token, the call itself, and what its answer means.

use std::fmt::Display;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tokio::net::TcpStream;
use wh_wire::control::{SessionSummary, SessionsBody};

use crate::commands::ago;
use crate::control::{TOKEN_VARIABLE, token};
use crate::daemon::Place;
use crate::failure::{Failure, code};
use crate::print::{clean_line, json_line, print};
use crate::runtime::{self, RunFile};

/// How long a run may take to be connected to.
const CONNECT: Duration = Duration::from_secs(10);
/// How long it may take to answer, beyond the time that it was given to wait.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest answer that is taken. A screen with every cell has some megabytes.
const LONGEST_ANSWER: usize = 64 << 20;
/// The largest request that a door takes. What is larger is not even sent: a door hangs up on it while it is on its way.
pub const LONGEST_REQUEST: usize = 256 << 10;

const URL_VARIABLE: &str = "WH_CONTROL_URL";
const PORT_VARIABLE: &str = "WH_CONTROL_PORT";

/// Which run is asked, and how its answer is shown.
#[derive(Debug, Args)]
pub struct DoorArguments {
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

    /// Print the run's answer as JSON on one line, an error too
    #[arg(long)]
    pub json: bool,
}

impl DoorArguments {
    /// The daemon's own door.
    pub fn for_daemon() -> Self {
        Self { url: None, port: None, session: None, token_file: None, json: false }
    }

    /// The same, onto this session if one is given in the place of an argument.
    pub fn onto(mut self, session: Option<String>) -> Result<Self, Failure> {
        match (&self.session, session) {
            (Some(given), Some(other)) if *given != other => {
                Err(Failure::new(code::USAGE, format!("two sessions are named, {given:?} and {other:?}")))
            }
            (_, Some(session)) => {
                self.session = Some(session);
                Ok(self)
            }
            (_, None) => Ok(self),
        }
    }

    /// Whether a session of the daemon that lives is called so, and no other door is named.
    pub fn names_session(&self, word: &str) -> bool {
        let elsewhere = self.url.is_some() || self.port.is_some() || self.session.is_some();
        if elsewhere || !Place::here().is_ok_and(|place| place.living().is_some()) {
            return false;
        }
        self.sessions().unwrap_or_default().iter().any(|one| one.status.live && one.name == word)
    }

    /// The session that is meant, if one is named.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Refuses a single word that is what a session is called: whoever forgot the rest would have it typed somewhere.
    pub fn nothing_for(&self, word: &str, command: &str, what: &str) -> Result<(), Failure> {
        if !self.names_session(word) {
            return Ok(());
        }
        Err(Failure::new(code::USAGE, format!("{word} is a session, and there is nothing for it"))
            .hint(format!("{command} {word} {what}")))
    }

    /// Every session of the daemon, and those that are about to be.
    pub fn listed(&self) -> Result<SessionsBody, Failure> {
        self.daemon_call(Method::GET, "/sessions", None, PATIENCE)?.read()
    }

    /// Every session of the daemon.
    pub fn sessions(&self) -> Result<Vec<SessionSummary>, Failure> {
        Ok(self.listed()?.sessions)
    }

    /// The session that is meant, if one is named: which one a name means is the daemon's to say.
    pub fn summary(&self) -> Result<Option<SessionSummary>, Failure> {
        let Some(session) = &self.session else { return Ok(None) };
        let path = format!("/sessions/{}", percent_encoded(session));
        self.daemon_call(Method::GET, &path, None, PATIENCE)?.read().map(Some)
    }

    /// Asks the daemon for something that is not one session's.
    pub fn daemon_call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<Answer, Failure> {
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let answer = self.daemon_door()?.call(method, path, body, patience)?;
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
        self.door()?.call(Method::GET, &target, Bytes::new(), PATIENCE)
    }

    /// Tells it to do something, which may take so long.
    pub fn post(&self, path: &str, body: &Value, duration: Duration) -> Result<Answer, Failure> {
        self.post_to(&format!("/control/{path}"), body, duration)
    }

    /// The same, by its whole path.
    pub fn post_to(&self, path: &str, body: &Value, duration: Duration) -> Result<Answer, Failure> {
        let body = Bytes::from(body.to_string());
        if body.len() > LONGEST_REQUEST {
            return Err(Failure::new(
                code::REFUSED,
                format!("that is too much at once: {} bytes, and a run takes at most {LONGEST_REQUEST}", body.len()),
            )
            .hint("send it in parts"));
        }
        self.door()?.call(Method::POST, path, body, duration.saturating_add(PATIENCE))
    }

    fn daemon_door(&self) -> Result<Door, Failure> {
        if self.url.is_some() || self.port.is_some() {
            let mut door = self.given()?.ok_or_else(|| Failure::new(code::USAGE, "no address is given"))?;
            door.authorization = token(self.token_file.as_deref())?.map(|(text, _)| bearer(&text)).transpose()?;
            return Ok(door);
        }
        let place = Place::here()?;
        let mut door = Door::at(&place.needed()?.url, "the daemon's file")?;
        let file = self.token_file.clone().unwrap_or_else(|| place.token());
        door.authorization = token(Some(&file))?.map(|(text, _)| bearer(&text)).transpose()?;
        Ok(door)
    }

    fn door(&self) -> Result<Door, Failure> {
        if let Some(session) = &self.session {
            let mut door = self.daemon_door()?;
            door.prefix = format!("/sessions/{}", percent_encoded(session));
            return Ok(door);
        }
        let token = token(self.token_file.as_deref())?.map(|(text, _)| text);
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
                let runs = runtime::live().map_err(|error| Failure::new(code::FAILED, error))?;
                let sessions = match Place::here().ok().and_then(|place| place.living()) {
                    Some(_) => Self::for_daemon().sessions()?,
                    None => Vec::new(),
                };
                let living: Vec<&SessionSummary> = sessions.iter().filter(|one| one.status.live).collect();
                match (runs.as_slice(), living.as_slice()) {
                    ([], [only]) => return Self::for_daemon().onto(Some(only.session_id.clone()))?.door(),
                    (_, []) => only(runs)?,
                    (runs, living) => return Err(several(runs, living)),
                }
            }
        };
        door.authorization = token.map(|text| bearer(&text)).transpose()?;
        Ok(door)
    }

    fn given(&self) -> Result<Option<Door>, Failure> {
        let parse_port = |text: String| {
            text.trim().parse().map(Door::on_port).map_err(|_| {
                Failure::new(code::USAGE, format!("{PORT_VARIABLE} is {text:?}")).hint("give a port, for example 9090")
            })
        };
        if let Some(url) = &self.url {
            return Door::at(url, "--url").map(Some);
        }
        if let Some(port) = self.port {
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

/// The one run that lives.
fn only(runs: Vec<RunFile>) -> Result<Door, Failure> {
    match runs.as_slice() {
        [run] => Door::at(&run.url, "the run's file"),
        [] => Err(Failure::new(code::UNREACHABLE, "no run has a control plane now")
            .hint("start one with: wh run --control-port 0 -- PROGRAM")),
        several => Err(Failure::new(
            code::UNREACHABLE,
            format!("{} runs have a control plane; choose one with --port", several.len()),
        )
        .hint(table(several).join("\n"))),
    }
}

fn several(runs: &[RunFile], sessions: &[&SessionSummary]) -> Failure {
    let mut lines = session_table(sessions);
    if !runs.is_empty() {
        lines.extend(table(runs));
    }
    let count = runs.len() + sessions.len();
    let choose = if runs.is_empty() { "--session" } else { "--session or --port" };
    Failure::new(code::UNREACHABLE, format!("{count} could be meant; choose one with {choose}")).hint(lines.join("\n"))
}

/// Sessions as a person reads them: a heading, and a line for each.
pub fn session_table(sessions: &[&SessionSummary]) -> Vec<String> {
    let rows: Vec<[String; 6]> = sessions
        .iter()
        .map(|one| {
            let what = one.command.as_ref().map_or_else(|| one.agent.clone(), |command| command.join(" "));
            let mut state = one.status.state.clone();
            if let (false, Some(reason)) = (one.status.live, &one.status.reason) {
                state = format!("{state}: {reason}");
            }
            let since = ago(&one.status.since);
            [one.name.clone(), one.session_id.clone(), state, since, one.cwd.clone(), what]
                .map(|cell| clean_line(&cell))
        })
        .collect();
    let heading = ["NAME", "ID", "STATE", "SINCE", "DIRECTORY", "WHAT"].map(str::to_owned);
    let width = |column: usize| rows.iter().chain([&heading]).map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let line = |row: &[String; 6]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = *width)).collect();
        cells.join("  ").trim_end().to_owned()
    };
    std::iter::once(line(&heading)).chain(rows.iter().map(line)).collect()
}

/// Runs as a person reads them: a heading, and a line for each.
pub fn table(runs: &[RunFile]) -> Vec<String> {
    let urls: Vec<String> = runs.iter().map(|run| clean_line(&run.url)).collect();
    let width = urls.iter().map(String::len).max().unwrap_or(0).max(3);
    let mut lines = vec![format!("{:<8} {:<width$} {:<20} COMMAND", "PID", "URL", "STARTED")];
    lines.extend(runs.iter().zip(urls).map(|(run, url)| {
        let started = match run.started_at.split_once('.') {
            Some((seconds, _)) => format!("{seconds}Z"),
            None => run.started_at.clone(),
        };
        let (started, command) = (clean_line(&started), clean_line(&run.command.join(" ")));
        format!("{:<8} {url:<width$} {started:<20} {command}", run.pid)
    }));
    lines
}

/// Where a run is asked.
#[derive(Debug)]
struct Door {
    /// A name or an address, without the brackets of an IPv6 one.
    host: String,
    port: u16,
    authorization: Option<HeaderValue>,
    /// What stands before every path: a session of a daemon.
    prefix: String,
}

impl Door {
    fn on_port(port: u16) -> Self {
        Self { host: "127.0.0.1".to_owned(), port, authorization: None, prefix: String::new() }
    }

    fn at(url: &str, source: &str) -> Result<Self, Failure> {
        let parse = || {
            let uri: Uri = url.trim().parse().ok()?;
            let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
            let bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
            // Not `authority.port()`, which takes a port that is too large for none.
            let port = match authority.as_str().strip_prefix(authority.host())? {
                "" => 80,
                port => port.strip_prefix(':')?.parse().ok()?,
            };
            let host = authority.host().trim_start_matches('[').trim_end_matches(']');
            (bare && uri.scheme_str() == Some("http") && !host.is_empty()).then(|| (host.to_owned(), port))
        };
        let Some((host, port)) = parse() else {
            return Err(Failure::new(code::USAGE, format!("{source}: {url:?} is not the address of a run"))
                .hint("write it as http://HOST:PORT, for example http://127.0.0.1:9090"));
        };
        // A run that listens everywhere listens here.
        let host = match host.parse() {
            Ok(IpAddr::V4(address)) if address.is_unspecified() => "127.0.0.1".to_owned(),
            Ok(IpAddr::V6(address)) if address.is_unspecified() => "::1".to_owned(),
            _ => host,
        };
        Ok(Self { host, port, authorization: None, prefix: String::new() })
    }

    fn is_local(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }

    fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.authority())
    }

    fn call(&self, method: Method, path: &str, body: Bytes, patience: Duration) -> Result<Answer, Failure> {
        let failed = |error: &dyn Display| Failure::new(code::FAILED, format!("cannot ask {}: {error}", self.url()));
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.prefix))
            .header(HOST, self.authority())
            .header(USER_AGENT, concat!("wh/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "application/json")
            .header(CONNECTION, "close");
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(body)).map_err(|error| failed(&error))?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
        let answer = runtime.block_on(async { tokio::time::timeout(patience, self.exchange(request)).await });
        // A look-up of a name may still be under way; nobody waits for it.
        runtime.shutdown_background();
        answer.unwrap_or_else(|_| Err(self.unreachable(format!("did not answer within {} s", patience.as_secs()))))
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Answer, Failure> {
        let stream = match tokio::time::timeout(CONNECT, TcpStream::connect((self.host.as_str(), self.port))).await {
            Ok(connected) => connected.map_err(|error| self.unreachable(format!("does not answer: {error}")))?,
            Err(_) => return Err(self.unreachable(format!("cannot be connected to within {} s", CONNECT.as_secs()))),
        };
        let broken = |error: hyper::Error| self.broken(&error);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // Ends with the answer. What goes wrong with it is heard there.
        tokio::spawn(connection);
        let response = sender.send_request(request).await.map_err(broken)?;
        self.read(response).await
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Answer, Failure> {
        let status = response.status().as_u16();
        let picture = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"image/"));
        let strange = |problem: &str| {
            Failure::new(code::FAILED, format!("what answers at {} {problem}", self.url())).hint("is that a run of wh?")
        };
        let collected = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await;
        let bytes = match collected {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Err(strange("does not stop")),
            Err(_) => return Err(self.unreachable("hung up in the middle of its answer".to_owned())),
        };
        if picture {
            return Ok(Answer { status, body: String::new(), picture: bytes.into() });
        }
        let body = String::from_utf8(bytes.into()).map_err(|_| strange("does not say text"))?;
        match serde_json::from_str::<IgnoredAny>(&body) {
            Ok(_) => Ok(Answer { status, body, picture: Vec::new() }),
            Err(_) => Err(strange(&format!("does not say JSON (status {status})"))),
        }
    }

    fn unreachable(&self, problem: String) -> Failure {
        Failure::new(code::UNREACHABLE, format!("{} {problem}", self.url()))
            .hint("wh ls lists the runs; start one with: wh run --control-port 0 -- PROGRAM")
    }

    fn broken(&self, error: &hyper::Error) -> Failure {
        if error.is_parse() {
            return Failure::new(code::FAILED, format!("what answers at {} does not speak HTTP: {error}", self.url()));
        }
        self.unreachable("hung up before it had answered".to_owned())
    }
}

/// What a run said, with a status: JSON, or a picture.
#[derive(Debug)]
pub struct Answer {
    status: u16,
    body: String,
    picture: Vec<u8>,
}

/// An answer that is not what was asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Objection {
    error: String,
    detail: Option<String>,
    /// Where in a condition something is wrong, in characters from 0.
    pub position: Option<usize>,
    /// What was on the screen when a wait ended in vain.
    pub screen: Vec<String>,
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
    fn code(&self) -> u8 {
        match self.status {
            200 | 201 => 0,
            400 => code::USAGE,
            401 | 403 => code::UNAUTHORISED,
            408 => code::TIMEOUT,
            409 | 410 | 413 | 503 => code::REFUSED,
            _ => code::FAILED,
        }
    }

    fn failure(&self) -> Failure {
        let Objection { error, detail, .. } = self.objection();
        let error = error.to_lowercase();
        if error == "no such session" {
            return Failure::new(code::UNREACHABLE, detail.unwrap_or(error)).hint("wh ls --all lists the sessions");
        }
        // What is not there is one thing; a path that nobody knows is another.
        let unknown = !error.starts_with("no such");
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
    fn an_address_is_a_host_and_a_port_and_nothing_else() {
        for (url, authority, local) in [
            ("http://127.0.0.1:9090", "127.0.0.1:9090", true),
            ("http://localhost:9090/", "localhost:9090", true),
            ("http://[::1]:9090", "[::1]:9090", true),
            ("http://0.0.0.0:9090", "127.0.0.1:9090", true),
            ("http://[::]:9090", "[::1]:9090", true),
            ("http://build.test", "build.test:80", false),
            ("http://localhost.evil.test:1", "localhost.evil.test:1", false),
        ] {
            let door = Door::at(url, "--url").unwrap();
            assert_eq!((door.authority().as_str(), door.is_local()), (authority, local), "{url}");
        }
        for wrong in [
            "",
            "9090",
            "127.0.0.1:9090",
            "https://127.0.0.1:9090",
            "http://",
            "http://:9090",
            "http://user@127.0.0.1:9090",
            "http://127.0.0.1:9090/control",
            "http://127.0.0.1:9090/?x",
            "http://127.0.0.1:99999",
        ] {
            assert!(Door::at(wrong, "--url").is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_query_keeps_every_character() {
        assert_eq!(percent_encoded("mcp/request é&x=1 +"), "mcp%2Frequest%20%C3%A9%26x%3D1%20%2B");
    }

    #[test]
    fn each_kind_of_answer_has_its_exit_code() {
        for (status, code) in
            [(200, 0), (400, 2), (408, 3), (409, 4), (413, 4), (503, 4), (401, 5), (403, 5), (404, 125)]
        {
            assert_eq!(Answer { status, body: String::new(), picture: Vec::new() }.code(), code, "{status}");
        }
    }
}
