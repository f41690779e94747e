//! A connection to a daemon's socket: a request, and the answer to it.

use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use wh_wire::socket::{Credential, Failure, Request, Response, UNKNOWN_REQUEST};

/// A connection to a daemon's socket. One on which an answer is still due cannot be used any more.
#[derive(Debug)]
pub struct Line {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    asked: u64,
    shown: Vec<Credential>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Nobody listens there.
    #[error("the daemon does not answer: {0}")]
    Unreachable(#[source] io::Error),
    /// The line broke, or something else than an answer came. What was asked for may have been done.
    #[error("the daemon does not answer: {0}")]
    Broken(String),
    /// The daemon would not.
    #[error("{}", .0.message)]
    Refused(Failure),
}

impl Line {
    /// Connects to this socket.
    pub async fn open(socket: &Path) -> Result<Self, LineError> {
        let (reader, writer) = UnixStream::connect(socket).await.map_err(LineError::Unreachable)?.into_split();
        Ok(Self { reader: BufReader::new(reader), writer, asked: 0, shown: Vec::new() })
    }

    /// Shows these credentials with every request from now on, so that it may be about sessions of their teams.
    pub fn show(&mut self, credentials: Vec<Credential>) {
        self.shown = credentials;
    }

    /// Asks for something, and waits for the answer for as long as it takes.
    pub async fn ask<T: DeserializeOwned>(
        &mut self,
        command: &str,
        payload: Value,
        credential: Option<Credential>,
    ) -> Result<T, LineError> {
        let broken = |error: io::Error| LineError::Broken(error.to_string());
        self.asked += 1;
        let mut request = Request::new(self.asked.to_string(), command, payload);
        request.credential = credential;
        request.more_credentials.clone_from(&self.shown);
        self.writer.write_all(&request.encode()).await.map_err(broken)?;
        let mut line = Vec::new();
        if self.reader.read_until(b'\n', &mut line).await.map_err(broken)? == 0 {
            return Err(LineError::Broken("it hung up".to_owned()));
        }
        let response = Response::decode(&line).map_err(|error| LineError::Broken(error.to_string()))?;
        if response.request_id != request.request_id && response.request_id != UNKNOWN_REQUEST {
            return Err(LineError::Broken(format!("it answers something else, {:?}", response.request_id)));
        }
        response.into_answer().map_err(LineError::Refused)
    }

    /// The two halves, for what follows an answer to `subscribe` or `attach`.
    pub fn into_halves(self) -> (BufReader<OwnedReadHalf>, OwnedWriteHalf) {
        (self.reader, self.writer)
    }
}
