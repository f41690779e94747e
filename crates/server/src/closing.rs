//! Shutdown signal of the servers.

use tokio::sync::watch;

/// Watch channel whose value becomes true when the server must shut down.
pub type ShutdownWatch = watch::Receiver<bool>;

/// Waits for the shutdown. Also completes when the sender is dropped.
pub(crate) async fn closed(closing: &mut ShutdownWatch) {
    let _ = closing.wait_for(|closing| *closing).await;
}
