//! HTTP requests for tests. Valid requests are sent through `wh-api`. Invalid or unusual requests are written to a
//! [`RawConnection`]: without `Host`, chunked, pipelined, or with a body that the server rejects early.

mod client;
mod request;
mod response;

use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

pub use client::TestClient;
pub use request::TestRequest;
pub use response::TestResponse;

use crate::CONDITION_TIMEOUT;

/// Read and write timeout of a socket. Longer than any wait that a test requests from the server.
const SOCKET_TIMEOUT: Duration = CONDITION_TIMEOUT.saturating_mul(2);

/// Grace period for writing the rest of a request body after the response was received.
const BODY_WRITE_GRACE: Duration = Duration::from_millis(500);

/// Raw connection to a port on loopback, for one request, or for several with [`TestRequest::keep_alive`].
pub struct RawConnection {
    port: u16,
    reader: BufReader<TcpStream>,
}

impl RawConnection {
    /// Connects to `127.0.0.1:port`.
    pub fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SOCKET_TIMEOUT))?;
        stream.set_write_timeout(Some(SOCKET_TIMEOUT))?;
        Ok(Self { port, reader: BufReader::new(stream) })
    }

    /// Sends a request and reads its response. The response may arrive before the request is completely written, and
    /// the server may then reset the connection.
    pub fn send(&mut self, request: &TestRequest) -> io::Result<TestResponse> {
        let [response] = self.pipeline([request])?;
        Ok(response)
    }

    /// Sends requests in one write and reads their responses. The server starts each request as soon as it has
    /// responded to the previous one. All requests except the last need [`TestRequest::keep_alive`].
    pub fn pipeline<const N: usize>(&mut self, requests: [&TestRequest; N]) -> io::Result<[TestResponse; N]> {
        let bytes = requests.map(|request| request.encode(self.port)).concat();
        let mut writer = self.reader.get_ref().try_clone()?;
        let (written, done) = mpsc::channel();
        std::thread::scope(|scope| {
            // The result of the write is ignored: the server may respond before it has read everything.
            scope.spawn(move || written.send(writer.write_all(&bytes)));
            let responses: io::Result<Vec<TestResponse>> =
                requests.iter().map(|request| TestResponse::read(&mut self.reader, request.method())).collect();
            if done.recv_timeout(BODY_WRITE_GRACE).is_err() {
                let _ = self.reader.get_ref().shutdown(Shutdown::Both);
            }
            Ok(responses?.try_into().expect("each request has one response"))
        })
    }
}
