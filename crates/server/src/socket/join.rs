//! Serves a conversation to a UI in the client's process. The client sends the requests of its
//! [`Space`](wh_client::Space) handle as lines, and the server forwards the requests to the session's space.

use std::io;
use std::sync::Arc;

use tokio::net::unix::OwnedWriteHalf;
use wh_client::link::{self, LINK_VERSION};
use wh_client::{ConnectionOpener, Conversation, SessionHandle};
use wh_core::caller::GuardedAction;
use wh_wire::socket::{ErrorCode, Failure, JoinRequest, JoinResponse, SocketResponse};

use super::SocketState;
use super::attach::AudienceGuard;
use super::connection::{SocketReader, send};
use crate::bodies::summary;
use crate::closing::closed;

/// Checks that the caller may join the session's conversation, and returns the conversation.
pub(super) fn authorize(
    server: &SocketState,
    session: &Arc<SessionHandle>,
    wanted: &JoinRequest,
    opener: &ConnectionOpener,
) -> Result<Conversation, Failure> {
    let admitted = server.admission(session).admit(opener.origin(), GuardedAction::Attach);
    admitted.map_err(|refusal| Failure::new(ErrorCode::Unauthorized, refusal.to_string()))?;
    if wanted.link != LINK_VERSION {
        let message = format!("protocol version mismatch: the daemon has {LINK_VERSION}, the client {}", wanted.link);
        return Err(Failure::new(ErrorCode::VersionMismatch, message));
    }
    session.conversation.clone().ok_or_else(|| {
        let message = format!("{} is a terminal program; use attach", session.name());
        Failure::new(ErrorCode::InvalidRequest, message)
    })
}

pub(super) async fn serve(
    server: &SocketState,
    session: &SessionHandle,
    conversation: Conversation,
    id: &str,
    reader: SocketReader,
    mut writer: OwnedWriteHalf,
) -> io::Result<()> {
    // Each UI has its own screen, so the size of a UI does not affect other clients.
    let guard = AudienceGuard { session, surface: None, number: session.audience.enter(None).0 };
    let joined = JoinResponse {
        session: summary(session).await,
        participant: conversation.me.to_string(),
        title: conversation.title.clone(),
    };
    send(&mut writer, &SocketResponse::ok(id, &joined).encode()).await?;
    let mut closing = server.closing.clone();
    let stop = async {
        closed(&mut closing).await;
        "the daemon is stopping"
    };
    let served = link::serve(&conversation.space, &conversation.me, reader, writer, stop).await;
    drop(guard);
    served
}
