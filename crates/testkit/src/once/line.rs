//! A connection to a daemon's socket, as a simple client has it: one request, one answer.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// One connection. After an error it is of no use: an answer may still be on its way.
#[derive(Debug)]
pub struct Line {
    stream: BufReader<UnixStream>,
}

impl Line {
    /// Connects; an answer that takes longer than this is an error.
    pub fn open(socket: &Path, patience: Duration) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Asks for something; the payload of the answer. A refusal of the socket itself is an error too.
    pub fn ask(&mut self, command: &str, token: Option<&str>, payload: &Value) -> io::Result<Value> {
        let mut request = json!({ "version": 1, "request_id": "ask", "command": command, "payload": payload });
        if let Some(token) = token {
            request["token"] = json!(token);
        }
        self.send(&request)?;
        let mut answer = self.hear()?;
        if answer["status"] != "ok" {
            return Err(io::Error::other(answer.to_string()));
        }
        Ok(answer["payload"].take())
    }

    fn send(&mut self, request: &Value) -> io::Result<()> {
        self.stream.get_mut().write_all(format!("{request}\n").as_bytes())
    }

    fn hear(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the daemon hung up"));
        }
        serde_json::from_str(&line).map_err(io::Error::other)
    }
}
