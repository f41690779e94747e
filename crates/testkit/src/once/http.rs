//! Client of the daemon's HTTP API that reconnects after a restart of the daemon.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{AttemptResult, DeliveryClaim, TrialMessage};
use crate::http::{TestClient, TestRequest, TestResponse};

/// HTTP client of a daemon. After an error the next request opens a new connection.
pub struct HttpClient {
    runtime: PathBuf,
    client: Option<TestClient>,
}

impl HttpClient {
    /// Creates a client of the daemon with this runtime directory.
    pub fn new(runtime: &Path) -> Self {
        Self { runtime: runtime.to_owned(), client: None }
    }

    fn ask(&mut self, request: &TestRequest) -> io::Result<TestResponse> {
        let client = match self.client.take() {
            Some(client) => client,
            None => {
                let status: Value = serde_json::from_slice(&fs::read(self.runtime.join("daemon.json"))?)?;
                let url = status["url"].as_str().unwrap_or_default();
                let port = url.rsplit(':').next().and_then(|port| port.parse().ok());
                let token = fs::read_to_string(self.runtime.join("daemon.token"))?;
                TestClient::with_token(port.ok_or(io::ErrorKind::InvalidData)?, token.trim())?
            }
        };
        let answer = client.send(request)?;
        self.client = Some(client);
        Ok(answer)
    }

    /// Sends a GET request for `path` below the URL of the session.
    pub fn get(&mut self, session: &str, path: &str) -> io::Result<TestResponse> {
        self.ask(&TestRequest::get(&format!("/sessions/{session}/{path}")))
    }

    /// Sends a message to an agent, or types it into a terminal program.
    pub(super) fn send(&mut self, message: &TrialMessage) -> io::Result<AttemptResult> {
        let (session, id) = (&message.target.session_id, &message.request_id);
        let (path, body) = match message.typed {
            true => ("control/send_input", json!({ "text": message.line(), "key": "enter", "request_id": id })),
            false => ("message", json!({ "message": message.line(), "request_id": id })),
        };
        let answer = self.ask(&TestRequest::post_json(&format!("/sessions/{session}/{path}"), &body))?;
        let body = answer.json();
        let duplicate = body["duplicate"] == true;
        Ok(match (answer.status, body["code"].as_str().unwrap_or_default()) {
            // The program has not read the input yet, so the request is retried.
            (200, _) if message.typed && body["delivered"] != true => AttemptResult::Retry("timeout"),
            (200, _) => AttemptResult::Final(DeliveryClaim::Arrived { duplicate }),
            (409, "cut_off") => AttemptResult::Final(DeliveryClaim::Unknown("409, cut_off".to_owned())),
            (409, "ended") | (409, "") => self.receipt(message)?,
            (503, _) => AttemptResult::Retry("busy"),
            (status, code) => {
                AttemptResult::Final(DeliveryClaim::NotExecuted(format!("{status}, {code}: {}", answer.text())))
            }
        })
    }

    /// Determines the outcome from the receipt of the message. Used if the session has ended.
    fn receipt(&mut self, message: &TrialMessage) -> io::Result<AttemptResult> {
        let path = format!("control/receipts/{}", message.request_id);
        let answer = self.get(&message.target.session_id, &path)?;
        let receipt = answer.json();
        Ok(AttemptResult::Final(match (answer.status, receipt["stage"].as_str(), receipt["code"].as_str()) {
            (200, Some("failed"), Some(code)) => DeliveryClaim::Unknown(format!("receipt, {code}")),
            (200, Some("accepted"), _) => return Ok(AttemptResult::Retry("busy")),
            (200, ..) => DeliveryClaim::Arrived { duplicate: true },
            (404, ..) => DeliveryClaim::NotExecuted("session ended, no receipt".to_owned()),
            (status, ..) => DeliveryClaim::NotExecuted(format!("receipt: {status} {}", answer.text())),
        }))
    }
}
