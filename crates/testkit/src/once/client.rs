//! Client that sends control messages and retries each under the same request id until its outcome is known.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::HttpClient;
use super::socket_client::SocketClient;
use super::trial_daemon::{RESPONSE_TIMEOUT, TrialTarget};

/// Initial delay before a retry.
const INITIAL_RETRY_DELAY: Duration = Duration::from_millis(5);

/// Maximum delay before a retry. The delay doubles up to this value.
const MAX_RETRY_DELAY: Duration = Duration::from_millis(160);

/// Control message to send. Every attempt sends the same message.
#[derive(Debug, Clone)]
pub struct TrialMessage {
    /// Session that receives the message.
    pub target: TrialTarget,
    /// Request id. Also the last word of the text.
    pub request_id: String,
    /// Text before the request id.
    pub prefix: String,
    /// Time at which the message was created, in RFC 3339 format.
    pub sent_at: String,
    /// True for a line to a terminal program, false for a message to an agent.
    pub typed: bool,
}

impl TrialMessage {
    /// Creates a message to the target, with the current time as `sent_at`.
    pub fn new(target: &TrialTarget, request_id: impl Into<String>) -> Self {
        let sent_at = jiff::Timestamp::now().to_string();
        Self { target: target.clone(), request_id: request_id.into(), prefix: "note".to_owned(), sent_at, typed: false }
    }

    /// Returns the text, without the Enter of a typed line.
    pub fn line(&self) -> String {
        format!("{} {}", self.prefix, self.request_id)
    }

    /// Builds the payload of a control message. `tries` is the number of earlier attempts.
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

/// Final outcome of a message, as the daemon reported it to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryClaim {
    /// Acknowledged with `ok`.
    Arrived {
        /// True if the daemon had received the message before.
        duplicate: bool,
    },
    /// Outcome is unknown for this reason.
    Unknown(String),
    /// Message was not executed for this reason.
    NotExecuted(String),
}

/// Counts of attempts and temporary errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetryCounts {
    /// Number of messages sent, including retries.
    pub sent: u64,
    /// Number of connections that broke or could not be opened.
    pub broken: u64,
    /// Number of `busy` responses.
    pub busy: u64,
    /// Number of `timeout` responses.
    pub timeout: u64,
    /// Number of temporary `internal_error` responses.
    pub internal_error: u64,
}

impl RetryCounts {
    /// Adds the counts of another client.
    pub fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.broken += other.broken;
        self.busy += other.busy;
        self.timeout += other.timeout;
        self.internal_error += other.internal_error;
    }
}

/// Client that sends control messages through the socket or over HTTP.
pub struct TrialClient<'a> {
    socket: &'a Path,
    token: &'a str,
    line: Option<SocketClient>,
    http: Option<HttpClient>,
    /// Counts of attempts and temporary errors so far.
    pub tries: RetryCounts,
}

impl<'a> TrialClient<'a> {
    /// Creates a client of the daemon's socket.
    pub fn new(socket: &'a Path, token: &'a str) -> Self {
        Self { socket, token, line: None, http: None, tries: RetryCounts::default() }
    }

    /// Creates a client of the HTTP API of the daemon with this socket.
    pub fn over_http(socket: &'a Path, token: &'a str) -> Self {
        let http = HttpClient::new(socket.parent().unwrap_or(socket));
        Self { http: Some(http), ..Self::new(socket, token) }
    }

    fn try_once(&mut self, message: &TrialMessage, tries: u64) -> io::Result<(AttemptResult, String)> {
        if let Some(http) = &mut self.http {
            return http.send(message).map(|result| (result, "sent over HTTP".to_owned()));
        }
        self.send(message, tries).map(|ack| (classify(&ack), ack.to_string()))
    }

    /// Sends a message without retrying and returns its acknowledgement. `tries` is the number of earlier attempts.
    pub fn send(&mut self, message: &TrialMessage, tries: u64) -> io::Result<Value> {
        let line = match &mut self.line {
            Some(line) => line,
            None => self.line.insert(SocketClient::open(self.socket, RESPONSE_TIMEOUT)?),
        };
        let answer = line.request("control", Some(self.token), &message.payload(tries));
        if answer.is_err() {
            self.line = None;
        }
        answer
    }

    /// Sends a message until its outcome is known or `timeout` has passed.
    pub fn send_until_settled(&mut self, message: &TrialMessage, timeout: Duration) -> DeliveryClaim {
        let (start, mut pause) = (Instant::now(), INITIAL_RETRY_DELAY);
        let mut last = "there was no response".to_owned();
        for tries in 0.. {
            self.tries.sent += 1;
            match self.try_once(message, tries) {
                Ok((result, ack)) => match result {
                    AttemptResult::Final(claim) => return claim,
                    AttemptResult::Retry(how) => {
                        match how {
                            "busy" => self.tries.busy += 1,
                            "timeout" => self.tries.timeout += 1,
                            _ => self.tries.internal_error += 1,
                        }
                        last = format!("the last response was {ack}");
                    }
                },
                Err(error) => {
                    self.tries.broken += 1;
                    last = format!("the last error was {error}");
                }
            }
            if start.elapsed() > timeout {
                break;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_RETRY_DELAY);
        }
        DeliveryClaim::Unknown(format!("no final outcome within {timeout:?}; {last}"))
    }
}

pub(super) enum AttemptResult {
    Final(DeliveryClaim),
    Retry(&'static str),
}

fn classify(ack: &Value) -> AttemptResult {
    let (result, error) = (ack["result"].as_str().unwrap_or_default(), ack["error"].as_str().unwrap_or_default());
    let duplicate = ack["duplicate"] == true;
    match (result, error) {
        ("ok", _) => AttemptResult::Final(DeliveryClaim::Arrived { duplicate }),
        // The outcome of an earlier attempt is final, so a retry is useless.
        (_, "already_tried" | "cut_off" | "not_known") => {
            AttemptResult::Final(DeliveryClaim::Unknown(format!("{result}, {error}")))
        }
        ("busy", _) => AttemptResult::Retry("busy"),
        ("timeout", _) => AttemptResult::Retry("timeout"),
        ("internal_error", _) => AttemptResult::Retry("internal_error"),
        _ => AttemptResult::Final(DeliveryClaim::NotExecuted(format!("{result}, {error}"))),
    }
}
