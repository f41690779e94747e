//! A client of the daemon's HTTP API that finds the daemon again after each restart.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{Claim, Message, Said};
use crate::http::{Client, Request, Response};

/// One client. After an error the next request opens a new connection.
pub struct HttpClient {
    runtime: PathBuf,
    client: Option<Client>,
}

impl HttpClient {
    /// A client of the daemon with this runtime directory.
    pub fn new(runtime: &Path) -> Self {
        Self { runtime: runtime.to_owned(), client: None }
    }

    fn ask(&mut self, request: &Request) -> io::Result<Response> {
        let client = match self.client.take() {
            Some(client) => client,
            None => {
                let status: Value = serde_json::from_slice(&fs::read(self.runtime.join("daemon.json"))?)?;
                let url = status["url"].as_str().unwrap_or_default();
                let port = url.rsplit(':').next().and_then(|port| port.parse().ok());
                let token = fs::read_to_string(self.runtime.join("daemon.token"))?;
                Client::with_token(port.ok_or(io::ErrorKind::InvalidData)?, token.trim())?
            }
        };
        let answer = client.send(request)?;
        self.client = Some(client);
        Ok(answer)
    }

    /// Gets a path below a session.
    pub fn get(&mut self, session: &str, path: &str) -> io::Result<Response> {
        self.ask(&Request::get(&format!("/sessions/{session}/{path}")))
    }

    /// Sends a message to an agent, or types it to a program.
    pub(super) fn send(&mut self, message: &Message) -> io::Result<Said> {
        let (session, id) = (&message.target.session_id, &message.request_id);
        let (path, body) = match message.typed {
            true => ("control/send_input", json!({ "text": message.line(), "key": "enter", "request_id": id })),
            false => ("message", json!({ "message": message.line(), "request_id": id })),
        };
        let answer = self.ask(&Request::post_json(&format!("/sessions/{session}/{path}"), &body))?;
        let body = answer.json();
        let duplicate = body["duplicate"] == true;
        Ok(match (answer.status, body["code"].as_str().unwrap_or_default()) {
            // The program does not read yet: ask again.
            (200, _) if message.typed && body["delivered"] != true => Said::Again("timeout"),
            (200, _) => Said::Last(Claim::Arrived { duplicate }),
            (409, "cut_off") => Said::Last(Claim::Unknown("409, cut_off".to_owned())),
            (409, "ended") | (409, "") => self.receipt(message)?,
            (503, _) => Said::Again("busy"),
            (status, code) => Said::Last(Claim::Nothing(format!("{status}, {code}: {}", answer.text()))),
        })
    }

    /// The session is over: what it had is in the receipt.
    fn receipt(&mut self, message: &Message) -> io::Result<Said> {
        let path = format!("control/receipts/{}", message.request_id);
        let answer = self.get(&message.target.session_id, &path)?;
        let receipt = answer.json();
        Ok(Said::Last(match (answer.status, receipt["stage"].as_str(), receipt["code"].as_str()) {
            (200, Some("failed"), Some(code)) => Claim::Unknown(format!("receipt, {code}")),
            (200, Some("accepted"), _) => return Ok(Said::Again("busy")),
            (200, ..) => Claim::Arrived { duplicate: true },
            (404, ..) => Claim::Nothing("session ended, no receipt".to_owned()),
            (status, ..) => Claim::Nothing(format!("receipt: {status} {}", answer.text())),
        }))
    }
}
