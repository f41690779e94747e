//! HTTP client for tests, based on `wh-api`.

use std::io;
use std::path::PathBuf;

use wh_api::{Address, Error, blocking};

use super::{RawConnection, SOCKET_TIMEOUT, TestRequest, TestResponse};

/// HTTP client of a port on the loopback interface.
#[derive(Debug)]
pub struct TestClient {
    port: u16,
    client: blocking::Client,
}

impl TestClient {
    /// Creates a client that opens a connection for each request. If the `wh` process has ended, errors contain its
    /// exit status, which is read from its record in the directory `records`.
    pub fn new(port: u16, records: Option<PathBuf>) -> io::Result<Self> {
        let builder = wh_api::Client::builder(Address::local(port)).timeout(SOCKET_TIMEOUT).records(records);
        Ok(Self { port, client: builder.without_keep_alive().blocking().map_err(io::Error::other)? })
    }

    /// Creates a client that reuses its connection and sends a token.
    pub fn with_token(port: u16, token: &str) -> io::Result<Self> {
        let builder = wh_api::Client::builder(Address::local(port)).timeout(SOCKET_TIMEOUT).records(None);
        Ok(Self { port, client: builder.token(token).blocking().map_err(io::Error::other)? })
    }

    /// Sends a request. A request that `wh-api` cannot send is written to a [`RawConnection`].
    pub fn send(&self, request: &TestRequest) -> io::Result<TestResponse> {
        let Some(plain) = request.well_formed() else { return RawConnection::open(self.port)?.send(request) };
        match self.client.send(&plain) {
            Ok(answer) => Ok(TestResponse {
                status: answer.status,
                headers: answer.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
                body: answer.body.to_vec(),
            }),
            Err(Error::Invalid(_) | Error::RequestTooLarge { .. }) => RawConnection::open(self.port)?.send(request),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}
