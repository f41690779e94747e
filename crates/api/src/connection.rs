//! One HTTP/1.1 connection, driven by the call that uses it, and the pool of those that are idle. No task is spawned: a connection
//! costs nothing while nobody uses it, and a dropped call closes its own.

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

/// Time for which an idle connection is used again. A server closes one after 5 s; nobody watches for that while it is idle.
const MAX_IDLE: Duration = Duration::from_secs(2);

/// Idle connections that are kept; further ones are closed.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// A stream to the server, encrypted or not.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

type Driver = http1::Connection<TokioIo<Box<dyn Duplex>>, Full<Bytes>>;

/// A connection to the server.
pub(crate) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    /// `None` once it is over.
    driver: Option<Pin<Box<Driver>>>,
    /// True after the first answer.
    pub used: bool,
}

impl Connection {
    /// Connects, without TLS.
    pub async fn plain(address: &Address) -> io::Result<Box<dyn Duplex>> {
        let stream = TcpStream::connect((address.host(), address.port())).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }

    /// Begins HTTP on a stream.
    pub async fn over(stream: Box<dyn Duplex>) -> hyper::Result<Self> {
        let (sender, driver) = http1::Builder::new().handshake(TokioIo::new(stream)).await?;
        Ok(Self { sender, driver: Some(Box::pin(driver)), used: false })
    }

    /// Waits for a future that needs the connection to advance.
    pub async fn driving<F: Future>(&mut self, future: F) -> F::Output {
        Self::drive(&mut self.driver, future).await
    }

    async fn drive<F: Future>(driver: &mut Option<Pin<Box<Driver>>>, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            // An error of the connection reaches the future, too.
            if let Some(Poll::Ready(_)) = driver.as_mut().map(|driver| driver.as_mut().poll(context)) {
                *driver = None;
            }
            future.as_mut().poll(context)
        })
        .await
    }

    /// Sends a request, and returns the head of its answer. The request comes back if it was certainly not sent.
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

    /// True once another request can be sent.
    async fn ready(&mut self) -> bool {
        let sender = &mut self.sender;
        Self::drive(&mut self.driver, sender.ready()).await.is_ok() && self.driver.is_some()
    }
}

/// Connections that can be used again.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<(Connection, Instant)>>);

impl Pool {
    /// A connection that was used a moment ago, if there is one.
    pub async fn take(&self) -> Option<Connection> {
        loop {
            let (mut connection, since) = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if since.elapsed() < MAX_IDLE && connection.ready().await {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose answer was read to its end.
    pub fn put(&self, connection: Connection) {
        if connection.driver.is_none() || connection.sender.is_closed() {
            return;
        }
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(_, since)| since.elapsed() < MAX_IDLE);
        if idle.len() < MAX_IDLE_CONNECTIONS {
            idle.push((connection, Instant::now()));
        }
    }
}
