//! One HTTP request to a run or the daemon, and its answer.

use std::fmt::Display;
use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use serde::de::IgnoredAny;
use tokio::net::TcpStream;

use super::answer::Answer;
use super::patience::{self, Patience, Peer};
use crate::failure::{Failure, code};

/// The largest answer that is taken. A screen with every cell has some megabytes.
const LONGEST_ANSWER: usize = 64 << 20;

/// Where a run is asked.
#[derive(Debug)]
pub(super) struct Door {
    /// A name or an address, without the brackets of an IPv6 one.
    host: String,
    port: u16,
    pub authorization: Option<HeaderValue>,
    /// What stands before every path: a session of a daemon.
    pub prefix: String,
}

impl Door {
    pub fn on_port(port: u16) -> Self {
        Self { host: "127.0.0.1".to_owned(), port, authorization: None, prefix: String::new() }
    }

    pub fn at(url: &str, source: &str) -> Result<Self, Failure> {
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

    pub fn is_local(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }

    /// The port of a run on this machine; nothing if this is a session of the daemon, or elsewhere.
    pub fn local_port(&self) -> Option<u16> {
        (self.is_local() && self.prefix.is_empty()).then_some(self.port)
    }

    fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.authority())
    }

    /// Asks, and waits for the answer as `patience` says.
    pub fn call(&self, method: Method, path: &str, body: Bytes, patience: Patience) -> Result<Answer, Failure> {
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
        let peer = || Peer::at(&self.host, self.port);
        let answer = runtime.block_on(patience::answered(peer, patience, async {
            // A request may take longer; a connection may not.
            let connected = tokio::time::timeout(patience.timeout, self.connect()).await;
            self.exchange(connected.unwrap_or_else(|_| Err(peer().silent(patience.timeout)))?, request).await
        }));
        // A look-up of a name may still be under way; nobody waits for it.
        runtime.shutdown_background();
        answer
    }

    async fn connect(&self) -> Result<TcpStream, Failure> {
        let connected = TcpStream::connect((self.host.as_str(), self.port)).await;
        connected.map_err(|error| self.unreachable(format!("does not answer: {error}")))
    }

    async fn exchange(&self, stream: TcpStream, request: Request<Full<Bytes>>) -> Result<Answer, Failure> {
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
        let hint = match Peer::at(&self.host, self.port) {
            Peer::Daemon(_) => "wh daemon status tells more",
            Peer::Run { .. } => "wh ls lists the runs; start one with: wh run --control-port 0 -- PROGRAM",
        };
        Failure::new(code::UNREACHABLE, format!("{} {problem}", self.url())).hint(hint)
    }

    fn broken(&self, error: &hyper::Error) -> Failure {
        if error.is_parse() {
            return Failure::new(code::FAILED, format!("what answers at {} does not speak HTTP: {error}", self.url()));
        }
        self.unreachable("hung up before it had answered".to_owned())
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
}
