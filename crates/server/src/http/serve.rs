//! Accept loop and connection handling. The caller owns the listener and the shutdown signal.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use futures_util::FutureExt;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tracing::{Instrument, debug, info_span};

use super::connections::{Connections, RequestGuard, TcpConnection};
use super::peer::Peer;
use super::stall_timeout::StallTimeout;
use crate::closing::{ShutdownWatch, closed};
use crate::slots::EvictionSignal;

/// Timeout for receiving the headers of a request. Also the idle timeout of a trusted connection; for other connections
/// see [`Connections`].
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout after which a connection is closed if its client accepts no data.
const HTTP_STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for responses in progress to finish at shutdown.
const RESPONSE_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Delay after a failed accept, for example when file descriptors are exhausted.
const HTTP_ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// Length of the kernel's accept queue.
const LISTEN_BACKLOG: u32 = 1024;
/// Maximum number of queued connections to accept before one owner lookup for all of them.
const MAX_LOOKUP_BATCH: usize = 256;

/// Listens on an address with a long accept queue, because a client retries only after a second if the queue is full.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(LISTEN_BACKLOG)
}

/// Serves connections until `closing` is true, then stops accepting and lets responses in progress finish.
pub async fn serve(listener: TcpListener, router: Router, closing: ShutdownWatch) {
    let connections = Connections::default();
    let (open, mut all_closed) = mpsc::channel::<()>(1);
    let start = |stream: TcpStream| {
        let peer = Peer::of(&stream);
        let (connection, evicted) = connections.enter(peer.ends());
        let serving = serve_connection(stream, peer, connection, evicted, router.clone(), closing.clone());
        let open = open.clone();
        let served = async move {
            serving.await;
            drop(open);
        };
        tokio::spawn(served.instrument(info_span!("http_connection")));
    };
    let mut closes = closing.clone();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => start(stream),
                Err(error) => {
                    debug!(%error, "cannot accept a connection");
                    tokio::time::sleep(HTTP_ACCEPT_RETRY_DELAY).await;
                }
            },
            () = closed(&mut closes) => break,
        }
        if connections.needs_owner_lookup() {
            for _ in 0..MAX_LOOKUP_BATCH {
                let Some(Ok((stream, _))) = listener.accept().now_or_never() else { break };
                start(stream);
            }
            tokio::select! {
                () = connections.look_up_owners() => {}
                () = closed(&mut closes) => break,
            }
        }
    }
    drop((listener, open));
    if tokio::time::timeout(RESPONSE_DRAIN_TIMEOUT, all_closed.recv()).await.is_err() {
        debug!("some connections were still open");
    }
}

async fn serve_connection(
    stream: TcpStream,
    peer: Peer,
    connection: TcpConnection,
    evicted: EvictionSignal,
    router: Router,
    mut closing: ShutdownWatch,
) {
    let _ = stream.set_nodelay(true);
    let ends = peer.ends();
    let inner = TowerToHyperService::new(router);
    let own = connection.clone();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let answering = own.request();
        request.extensions_mut().insert(peer.clone());
        request.extensions_mut().insert(own.clone());
        let answer = inner.call(request);
        async move { answer.await.map(|answer| answer.map(|body| Body::new(TrackedBody { body, _answering: answering }))) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(StallTimeout::new(stream, HTTP_STALL_TIMEOUT)), service)
        .with_upgrades();
    let mut serving = pin!(serving);
    let ended = tokio::select! {
        // The eviction is checked first, so that an evicted connection starts no request.
        biased;
        _ = evicted => return debug!(?ends, "a connection was closed to make room"),
        ended = serving.as_mut() => ended,
        () = connection.expired() => return debug!(?ends, "an idle connection was closed"),
        () = closed(&mut closing) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection broke");
    }
}

/// Response body. Its request counts as in progress until the body is dropped.
struct TrackedBody {
    body: Body,
    _answering: RequestGuard,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
