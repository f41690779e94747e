//! Request-response connection to a daemon's socket.

use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use wh_wire::socket::{Credential, Failure, SocketRequest, SocketResponse, UNKNOWN_REQUEST};

/// Connection to a daemon's socket. Do not reuse the connection after a request if its response was not read.
#[derive(Debug)]
pub struct DaemonConnection {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    asked: u64,
    shown: Vec<Credential>,
}

/// Reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// No process listens on the socket.
    #[error("cannot connect to the daemon: {0}")]
    Unreachable(#[source] io::Error),
    /// The connection broke, or the response was invalid. The request may have been executed.
    #[error("the connection to the daemon failed: {0}")]
    Broken(String),
    /// The daemon refused the request.
    #[error("{}", .0.message)]
    Refused(Failure),
}

impl DaemonConnection {
    /// Connects to the daemon's socket at this path.
    pub async fn open(socket: &Path) -> Result<Self, ConnectionError> {
        let (reader, writer) = UnixStream::connect(socket).await.map_err(ConnectionError::Unreachable)?.into_split();
        Ok(Self { reader: BufReader::new(reader), writer, asked: 0, shown: Vec::new() })
    }

    /// Sets the credentials to send with every later request. They give access to the sessions of their teams.
    pub fn show(&mut self, credentials: Vec<Credential>) {
        self.shown = credentials;
    }

    /// Sends a request and waits for the response without a timeout.
    pub async fn ask<T: DeserializeOwned>(
        &mut self,
        command: &str,
        payload: Value,
        credential: Option<Credential>,
    ) -> Result<T, ConnectionError> {
        let broken = |error: io::Error| ConnectionError::Broken(error.to_string());
        self.asked += 1;
        let mut request = SocketRequest::new(self.asked.to_string(), command, payload);
        request.credential = credential;
        request.more_credentials.clone_from(&self.shown);
        self.writer.write_all(&request.encode()).await.map_err(broken)?;
        let mut line = Vec::new();
        if self.reader.read_until(b'\n', &mut line).await.map_err(broken)? == 0 {
            return Err(ConnectionError::Broken("the connection was closed".to_owned()));
        }
        let response = SocketResponse::decode(&line).map_err(|error| ConnectionError::Broken(error.to_string()))?;
        if response.request_id != request.request_id && response.request_id != UNKNOWN_REQUEST {
            return Err(ConnectionError::Broken(format!(
                "the response is for another request, {:?}",
                response.request_id
            )));
        }
        response.into_answer().map_err(ConnectionError::Refused)
    }

    /// Splits the connection, for the events that follow a response to `subscribe` or `attach`.
    pub fn into_halves(self) -> (BufReader<OwnedReadHalf>, OwnedWriteHalf) {
        (self.reader, self.writer)
    }
}
