//! Serving: the caller owns the listener and says when to stop.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tracing::debug;

/// Connections at once. Further ones wait in the system's queue.
const MOST_CONNECTIONS: usize = 256;
/// How long a connection may take to say what it wants. Also how long an idle one is kept.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// How long answers that are on their way may take after the end.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Serves until `shutdown` ends; then accepts no more and lets the answers that are on their way out go.
pub async fn serve(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    tokio::pin!(shutdown);
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, stream) = tokio::select! {
            (place, accepted) = accepted => match (place, accepted) {
                (Ok(place), Ok((stream, _))) => (place, stream),
                (_, Err(error)) => {
                    // Out of descriptors, say: others will be freed, and a tight loop would not help.
                    debug!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
                (Err(_), _) => break,
            },
            () = &mut shutdown => break,
        };
        let _ = stream.set_nodelay(true);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_PATIENCE)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                debug!(%error, "a connection broke");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(LAST_ANSWERS, graceful.shutdown()).await.is_err() {
        debug!("some connections were still open");
    }
}
