//! Serving: the caller owns the listener and says when to stop.

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

use super::connections::{Connection, Connections, InRequest};
use super::patient::Patient;
use super::peer::Peer;
use crate::closing::{Closing, closed};
use crate::slots::Evicted;

/// Time limit for the headers of a request, and for an idle connection that is trusted. For others see [`Connections`].
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// How long a peer may take nothing of what it is sent before it is dropped.
const STALLED: Duration = Duration::from_secs(30);
/// How long answers that are on their way may take after the end.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// Out of descriptors, say: others will be freed, and a tight loop would not help.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// Connections that the system queues.
const LISTEN_BACKLOG: u32 = 1024;
/// Connections that are accepted before their owners are looked up together.
const LOOK_UP_BATCH: usize = 256;

/// Listens on this address, with a long queue: a connection for which it has no room is tried again by the peer only after a second.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(LISTEN_BACKLOG)
}

/// Serves until `closing` says so; then accepts no more and lets the answers that are on their way out go.
pub async fn serve(listener: TcpListener, router: Router, closing: Closing) {
    let connections = Connections::default();
    let (open, mut all_closed) = mpsc::channel::<()>(1);
    let start = |stream: TcpStream| {
        let peer = Peer::of(&stream);
        let (connection, evicted) = connections.enter(peer.ends());
        let serving = converse(stream, peer, connection, evicted, router.clone(), closing.clone());
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
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            },
            () = closed(&mut closes) => break,
        }
        if connections.must_check() {
            for _ in 0..LOOK_UP_BATCH {
                let Some(Ok((stream, _))) = listener.accept().now_or_never() else { break };
                start(stream);
            }
            tokio::select! {
                () = connections.check() => {}
                () = closed(&mut closes) => break,
            }
        }
    }
    drop((listener, open));
    if tokio::time::timeout(LAST_ANSWERS, all_closed.recv()).await.is_err() {
        debug!("some connections were still open");
    }
}

async fn converse(
    stream: TcpStream,
    peer: Peer,
    connection: Connection,
    evicted: Evicted,
    router: Router,
    mut closing: Closing,
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
        async move { answer.await.map(|answer| answer.map(|body| Body::new(Answering { body, _answering: answering }))) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .serve_connection(TokioIo::new(Patient::new(stream, STALLED)), service)
        .with_upgrades();
    let mut serving = pin!(serving);
    let ended = tokio::select! {
        // First: no request is begun on a connection that has to go.
        biased;
        _ = evicted => return debug!(?ends, "a connection was closed to make room"),
        ended = serving.as_mut() => ended,
        () = connection.expired() => return debug!(?ends, "a connection that said nothing was closed"),
        () = closed(&mut closing) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection broke");
    }
}

/// The body of an answer; its request ends with it.
struct Answering {
    body: Body,
    _answering: InRequest,
}

impl HttpBody for Answering {
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
