//! Minimal client of the daemon's socket that sends one request at a time.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// Connection to the socket. Unusable after an error, because a response may still be pending.
#[derive(Debug)]
pub struct SocketClient {
    stream: BufReader<UnixStream>,
}

impl SocketClient {
    /// Connects to the socket. A response that takes longer than `timeout` is an error.
    pub fn open(socket: &Path, timeout: Duration) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends a request and returns the payload of the response. An error response is returned as an error.
    pub fn request(&mut self, command: &str, token: Option<&str>, payload: &Value) -> io::Result<Value> {
        let mut message = json!({ "version": 1, "request_id": "ask", "command": command, "payload": payload });
        if let Some(token) = token {
            message["token"] = json!(token);
        }
        self.send(&message)?;
        let mut answer = self.receive()?;
        if answer["status"] != "ok" {
            return Err(io::Error::other(answer.to_string()));
        }
        Ok(answer["payload"].take())
    }

    fn send(&mut self, request: &Value) -> io::Result<()> {
        self.stream.get_mut().write_all(format!("{request}\n").as_bytes())
    }

    fn receive(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the daemon closed the connection"));
        }
        serde_json::from_str(&line).map_err(io::Error::other)
    }
}
