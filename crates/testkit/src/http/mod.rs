//! Requests of tests. Those that a well-behaved client can send go through `wh-api`. The others go out byte by byte over a
//! [`Connection`]: without `Host`, in chunks, with a body that the server refuses while it is on its way, several in one write.

mod client;
mod request;
mod response;

use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

pub use client::Client;
pub use request::Request;
pub use response::Response;

use crate::PATIENCE;

/// How long a socket may be silent. Longer than any wait that a test asks of the server.
const SILENCE: Duration = PATIENCE.saturating_mul(2);

/// How long a body may go on being written once its answer is here, before the connection is given up.
const GRACE: Duration = Duration::from_millis(500);

/// A raw connection to a port on loopback, for one request or, with [`Request::keep_alive`], for more.
pub struct Connection {
    port: u16,
    reader: BufReader<TcpStream>,
}

impl Connection {
    /// Connects to `127.0.0.1:port`.
    pub fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        Ok(Self { port, reader: BufReader::new(stream) })
    }

    /// Sends a request and reads its answer, also one that comes before the request is written to its end, and one that
    /// stands before a reset.
    pub fn send(&mut self, request: &Request) -> io::Result<Response> {
        let [response] = self.pipeline([request])?;
        Ok(response)
    }

    /// Sends requests in one write and reads their answers. The server takes each request as soon as it has answered the
    /// one before. All but the last need [`Request::keep_alive`].
    pub fn pipeline<const N: usize>(&mut self, requests: [&Request; N]) -> io::Result<[Response; N]> {
        let bytes = requests.map(|request| request.encode(self.port)).concat();
        let mut writer = self.reader.get_ref().try_clone()?;
        let (written, done) = mpsc::channel();
        std::thread::scope(|scope| {
            // What became of the writing is told by the answer: a server may well refuse before it has read everything.
            scope.spawn(move || written.send(writer.write_all(&bytes)));
            let responses: io::Result<Vec<Response>> =
                requests.iter().map(|request| Response::read(&mut self.reader, request.method())).collect();
            if done.recv_timeout(GRACE).is_err() {
                let _ = self.reader.get_ref().shutdown(Shutdown::Both);
            }
            Ok(responses?.try_into().expect("each request has one answer"))
        })
    }
}
