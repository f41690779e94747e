//! The way of a request through `wh-api`.

use std::io;
use std::path::PathBuf;

use wh_api::{Address, Error, blocking};

use super::{Connection, Request, Response, SILENCE};

/// A client of one port on loopback.
#[derive(Debug)]
pub struct Client {
    port: u16,
    client: blocking::Client,
}

impl Client {
    /// A client that makes a connection for each request. If the run has ended, its errors tell how, by its record in `records`.
    pub fn new(port: u16, records: Option<PathBuf>) -> io::Result<Self> {
        let builder = wh_api::Client::builder(Address::local(port)).timeout(SILENCE).records(records);
        Ok(Self { port, client: builder.without_keep_alive().blocking().map_err(io::Error::other)? })
    }

    /// A client that keeps its connection, and sends a token.
    pub fn with_token(port: u16, token: &str) -> io::Result<Self> {
        let builder = wh_api::Client::builder(Address::local(port)).timeout(SILENCE).records(None);
        Ok(Self { port, client: builder.token(token).blocking().map_err(io::Error::other)? })
    }

    /// Sends a request. What `wh-api` does not send goes out byte by byte.
    pub fn send(&self, request: &Request) -> io::Result<Response> {
        let Some(plain) = request.well_formed() else { return Connection::open(self.port)?.send(request) };
        match self.client.send(&plain) {
            Ok(answer) => Ok(Response {
                status: answer.status,
                headers: answer.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
                body: answer.body.to_vec(),
            }),
            Err(Error::Invalid(_) | Error::RequestTooLarge { .. }) => Connection::open(self.port)?.send(request),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}
