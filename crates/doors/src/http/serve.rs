//! Serving: the caller owns the listener and says when to stop.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tracing::debug;

use super::patient::Patient;
use super::peer::Peer;

/// Connections at once. Further ones wait in the system's queue.
const MOST_CONNECTIONS: u32 = 256;
/// How long a connection may take to say what it wants. Also how long an idle one is kept.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// How long a peer may take nothing of what it is sent before it is dropped.
const STALLED: Duration = Duration::from_secs(30);
/// How long answers that are on their way may take after the end.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// Out of descriptors, say: others will be freed, and a tight loop would not help.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Becomes true when the door is to close.
pub type Closing = watch::Receiver<bool>;

/// Waits for the moment to close. Also comes when nobody is left who could say so.
pub(crate) async fn closed(closing: &mut Closing) {
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Serves until `closing` says so; then accepts no more and lets the answers that are on their way out go.
pub async fn serve(listener: TcpListener, router: Router, mut closing: Closing) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS as usize));
    loop {
        tokio::select! {
            (place, accepted) = accept(&listener, &places) => match accepted {
                Ok(stream) => drop(tokio::spawn(converse(stream, router.clone(), closing.clone(), place))),
                Err(error) => {
                    debug!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            },
            () = closed(&mut closing) => break,
        }
    }
    drop(listener);
    if tokio::time::timeout(LAST_ANSWERS, places.acquire_many(MOST_CONNECTIONS)).await.is_err() {
        debug!("some connections were still open");
    }
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (Option<OwnedSemaphorePermit>, io::Result<TcpStream>) {
    let place = Arc::clone(places).acquire_owned().await.ok();
    (place, listener.accept().await.map(|(stream, _)| stream))
}

async fn converse(stream: TcpStream, router: Router, mut closing: Closing, place: Option<OwnedSemaphorePermit>) {
    let _ = stream.set_nodelay(true);
    let peer = Peer::of(&stream);
    let inner = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        inner.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .serve_connection(TokioIo::new(Patient::new(stream, STALLED)), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closed(&mut closing) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection broke");
    }
    drop(place);
}
