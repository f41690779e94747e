//! Receipts of a session's commands, wherever they are known: to its conversation, to its terminal, or to the store alone.

use wh_client::{Conversation, Gone, Session, Surface};
use wh_core::receipt::Receipt;
use wh_core::request::RequestId;

/// The receipt that a running session knows.
pub(crate) async fn known(
    conversation: Option<&Conversation>,
    surface: &Surface,
    id: RequestId,
) -> Result<Option<Receipt>, Gone> {
    if let Some(conversation) = conversation
        && let Some(receipt) = conversation.space.receipt(id.clone()).await?
    {
        return Ok(Some(receipt));
    }
    surface.receipt(id).await
}

/// The receipt of any session of a daemon, also of one that was lost.
pub(crate) async fn of_session(daemon: &dyn wh_client::Daemon, session: &Session, id: RequestId) -> Option<Receipt> {
    let here = match &session.surface {
        Some(surface) => known(session.conversation.as_ref(), surface, id.clone()).await.ok().flatten(),
        None => None,
    };
    match here {
        None => daemon.receipt(session, id).await,
        known => known,
    }
}
