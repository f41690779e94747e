//! One who sends control messages and insists: under the same name, until it is known what became of each.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::house::{ANSWERED, Target};
use super::http::HttpClient;
use super::line::Line;

/// How long a client waits before it asks again.
const PAUSE: Duration = Duration::from_millis(5);

/// The longest such wait; it doubles up to this.
const LONGEST_PAUSE: Duration = Duration::from_millis(160);

/// A message, the same in every try.
#[derive(Debug, Clone)]
pub struct Message {
    /// For whom.
    pub target: Target,
    /// Its name, which is the last word of its text.
    pub request_id: String,
    /// What comes before the name in the text.
    pub prefix: String,
    /// When it was sent first.
    pub sent_at: String,
    /// It is a line for a terminal program, and not a message for an agent.
    pub typed: bool,
}

impl Message {
    /// A message that is sent now.
    pub fn new(target: &Target, request_id: impl Into<String>) -> Self {
        let sent_at = jiff::Timestamp::now().to_string();
        Self { target: target.clone(), request_id: request_id.into(), prefix: "note".to_owned(), sent_at, typed: false }
    }

    /// The text, without the Enter of one that is typed.
    pub fn line(&self) -> String {
        format!("{} {}", self.prefix, self.request_id)
    }

    /// As it is sent.
    pub fn payload(&self, tries: u64) -> Value {
        json!({
            "type": "control.stdin.request", "v": 1,
            "request_id": self.request_id, "team": "default",
            "session_id": self.target.session_id, "agent_id": self.target.agent_id,
            "sender": "local", "sent_at": self.sent_at,
            "content": self.line() + if self.typed { "\n" } else { "" },
            "meta": { "retry_count": tries },
        })
    }
}

/// What the daemon said in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// `ok`: it is with the agent.
    Arrived {
        /// This message had been heard before.
        duplicate: bool,
    },
    /// It is not known whether it is; why.
    Unknown(String),
    /// Nothing was done; why.
    Nothing(String),
}

/// What was heard on the way to the claim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tries {
    /// Messages that were sent.
    pub sent: u64,
    /// Connections that broke, or could not be had.
    pub broken: u64,
    /// `busy`: later.
    pub busy: u64,
    /// `timeout`: it is on its way.
    pub timeout: u64,
    /// `internal_error` of a kind that may pass.
    pub troubled: u64,
}

impl Tries {
    /// All of both.
    pub fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.broken += other.broken;
        self.busy += other.busy;
        self.timeout += other.timeout;
        self.troubled += other.troubled;
    }
}

/// One who sends, through the socket or over HTTP.
pub struct Client<'a> {
    socket: &'a Path,
    token: &'a str,
    line: Option<Line>,
    http: Option<HttpClient>,
    /// What it has heard so far.
    pub tries: Tries,
}

impl<'a> Client<'a> {
    /// A client of the daemon at this socket.
    pub fn new(socket: &'a Path, token: &'a str) -> Self {
        Self { socket, token, line: None, http: None, tries: Tries::default() }
    }

    /// A client of the HTTP API of the same daemon.
    pub fn over_http(socket: &'a Path, token: &'a str) -> Self {
        let http = HttpClient::new(socket.parent().unwrap_or(socket));
        Self { http: Some(http), ..Self::new(socket, token) }
    }

    fn try_once(&mut self, message: &Message, tries: u64) -> io::Result<(Said, String)> {
        if let Some(http) = &mut self.http {
            return http.send(message).map(|said| (said, "over HTTP".to_owned()));
        }
        self.send(message, tries).map(|ack| (said(&ack), ack.to_string()))
    }

    /// Sends it once; the acknowledgement.
    pub fn send(&mut self, message: &Message, tries: u64) -> io::Result<Value> {
        let line = match &mut self.line {
            Some(line) => line,
            None => self.line.insert(Line::open(self.socket, ANSWERED)?),
        };
        let answer = line.ask("control", Some(self.token), &message.payload(tries));
        if answer.is_err() {
            self.line = None;
        }
        answer
    }

    /// Sends it until it is known what became of it, or `patience` is at its end.
    pub fn insist(&mut self, message: &Message, patience: Duration) -> Claim {
        let (start, mut pause) = (Instant::now(), PAUSE);
        let mut last = "nothing was ever answered".to_owned();
        for tries in 0.. {
            self.tries.sent += 1;
            match self.try_once(message, tries) {
                Ok((said, ack)) => match said {
                    Said::Last(claim) => return claim,
                    Said::Again(how) => {
                        match how {
                            "busy" => self.tries.busy += 1,
                            "timeout" => self.tries.timeout += 1,
                            _ => self.tries.troubled += 1,
                        }
                        last = format!("the last was {ack}");
                    }
                },
                Err(error) => {
                    self.tries.broken += 1;
                    last = format!("the last was {error}");
                }
            }
            if start.elapsed() > patience {
                break;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Claim::Unknown(format!("no end within {patience:?}; {last}"))
    }
}

pub(super) enum Said {
    Last(Claim),
    Again(&'static str),
}

fn said(ack: &Value) -> Said {
    let (result, error) = (ack["result"].as_str().unwrap_or_default(), ack["error"].as_str().unwrap_or_default());
    let duplicate = ack["duplicate"] == true;
    match (result, error) {
        ("ok", _) => Said::Last(Claim::Arrived { duplicate }),
        // What became of a try that is over does not change any more.
        (_, "already_tried" | "cut_off" | "not_known") => Said::Last(Claim::Unknown(format!("{result}, {error}"))),
        ("busy", _) => Said::Again("busy"),
        ("timeout", _) => Said::Again("timeout"),
        ("internal_error", _) => Said::Again("internal_error"),
        _ => Said::Last(Claim::Nothing(format!("{result}, {error}"))),
    }
}
