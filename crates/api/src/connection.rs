//! HTTP/1.1 connections and the pool of idle connections. A connection is polled by the call that uses it; no task is
//! spawned. Dropping the future of a call closes the connection.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::address::Address;

/// Idle time after which a connection is not reused. Must be shorter than the server's idle timeout of 5 s: idle
/// connections are not polled and do not detect that the server closed them.
const MAX_IDLE_AGE: Duration = Duration::from_secs(2);

/// Maximum number of idle connections. Further connections are closed after use.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// Byte stream to the server, with or without TLS.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

type ConnectionDriver = http1::Connection<TokioIo<Box<dyn ByteStream>>, Full<Bytes>>;

/// HTTP/1.1 connection to the server.
pub(crate) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    /// Future that performs the IO of the connection; `None` after it has completed.
    driver: Option<Pin<Box<ConnectionDriver>>>,
    /// True after the first request.
    pub used: bool,
}

impl Connection {
    /// Opens a TCP connection without TLS.
    pub async fn connect_tcp(address: &Address) -> io::Result<Box<dyn ByteStream>> {
        let stream = TcpStream::connect((address.host(), address.port())).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }

    /// Performs the HTTP/1.1 handshake on a stream.
    pub async fn handshake(stream: Box<dyn ByteStream>) -> hyper::Result<Self> {
        let (sender, driver) = http1::Builder::new().handshake(TokioIo::new(stream)).await?;
        Ok(Self { sender, driver: Some(Box::pin(driver)), used: false })
    }

    /// Awaits a future that depends on this connection, and polls the connection meanwhile.
    pub async fn drive_until<F: Future>(&mut self, future: F) -> F::Output {
        Self::drive(&mut self.driver, future).await
    }

    async fn drive<F: Future>(driver: &mut Option<Pin<Box<ConnectionDriver>>>, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            // The result of the driver is ignored: an error of the connection also reaches the future.
            if let Some(Poll::Ready(_)) = driver.as_mut().map(|driver| driver.as_mut().poll(context)) {
                *driver = None;
            }
            future.as_mut().poll(context)
        })
        .await
    }

    /// Sends a request and returns the head of the response. If no part of the request was sent, the error contains the
    /// request.
    pub async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, (hyper::Error, Option<Request<Full<Bytes>>>)> {
        let sent = self.sender.try_send_request(request);
        let answer = Self::drive(&mut self.driver, sent).await;
        self.used = true;
        answer.map_err(|mut error| {
            let unsent = error.take_message();
            (error.into_error(), unsent)
        })
    }

    /// Waits until the connection can send another request. Returns false if the connection is closed.
    async fn ready(&mut self) -> bool {
        let sender = &mut self.sender;
        Self::drive(&mut self.driver, sender.ready()).await.is_ok() && self.driver.is_some()
    }
}

/// Pool of reusable connections.
#[derive(Default)]
pub(crate) struct ConnectionPool(Mutex<Vec<(Connection, Instant)>>);

impl ConnectionPool {
    /// Takes a recently used connection out of the pool, if there is one.
    pub async fn take(&self) -> Option<Connection> {
        loop {
            let (mut connection, since) = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if since.elapsed() < MAX_IDLE_AGE && connection.ready().await {
                return Some(connection);
            }
        }
    }

    /// Returns a connection to the pool. The last response must have been read completely.
    pub fn put(&self, connection: Connection) {
        if connection.driver.is_none() || connection.sender.is_closed() {
            return;
        }
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(_, since)| since.elapsed() < MAX_IDLE_AGE);
        if idle.len() < MAX_IDLE_CONNECTIONS {
            idle.push((connection, Instant::now()));
        }
    }
}
