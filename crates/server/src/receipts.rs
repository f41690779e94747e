//! Finds command receipts of a session: in the session's conversation, in its terminal, or in the store.

use wh_client::{Conversation, SessionGone, SessionHandle, Surface};
use wh_core::receipt::Receipt;
use wh_core::request::RequestId;

/// Finds a receipt in a running session.
pub(crate) async fn known(
    conversation: Option<&Conversation>,
    surface: &Surface,
    id: RequestId,
) -> Result<Option<Receipt>, SessionGone> {
    if let Some(conversation) = conversation
        && let Some(receipt) = conversation.space.receipt(id.clone()).await?
    {
        return Ok(Some(receipt));
    }
    surface.receipt(id).await
}

/// Finds a receipt of any session of a daemon, including lost sessions.
pub(crate) async fn of_session(
    daemon: &dyn wh_client::SessionManager,
    session: &SessionHandle,
    id: RequestId,
) -> Option<Receipt> {
    let here = match &session.surface {
        Some(surface) => known(session.conversation.as_ref(), surface, id.clone()).await.ok().flatten(),
        None => None,
    };
    match here {
        None => daemon.receipt(session, id).await,
        known => known,
    }
}
