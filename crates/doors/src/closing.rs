//! The end of a server: everybody who serves for long watches for it.

use tokio::sync::watch;

/// Becomes true when the door is to close.
pub type Closing = watch::Receiver<bool>;

/// Waits for the moment to close. Also comes when nobody is left who could say so.
pub(crate) async fn closed(closing: &mut Closing) {
    let _ = closing.wait_for(|closing| *closing).await;
}
