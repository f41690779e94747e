//! A conversation for a UI in the caller's process: requests of its [`Space`](wh_client::Space) come as lines, and are
//! answered here by the space itself.

use std::io;
use std::sync::Arc;

use tokio::net::unix::OwnedWriteHalf;
use wh_client::link::{self, LINK_VERSION};
use wh_client::{Conversation, Opener, Session};
use wh_core::caller::Act;
use wh_wire::socket::{ErrorCode, Failure, Join, Joined, Response};

use super::Door;
use super::attach::Seat;
use super::connection::{Reader, send};
use crate::bodies::summary;
use crate::closing::closed;

/// The conversation to join, unless the caller may not.
pub(super) fn may(
    door: &Door,
    session: &Arc<Session>,
    wanted: &Join,
    opener: &Opener,
) -> Result<Conversation, Failure> {
    let admitted = door.admission(session).admit(opener.origin(), Act::Attach);
    admitted.map_err(|refusal| Failure::new(ErrorCode::Unauthorized, refusal.to_string()))?;
    if wanted.link != LINK_VERSION {
        let message = format!("the daemon speaks {LINK_VERSION}, and the caller {}", wanted.link);
        return Err(Failure::new(ErrorCode::VersionMismatch, message));
    }
    session.conversation.clone().ok_or_else(|| {
        let message = format!("{} is a terminal program: attach to it", session.name());
        Failure::new(ErrorCode::InvalidRequest, message)
    })
}

pub(super) async fn serve(
    door: &Door,
    session: &Session,
    conversation: Conversation,
    id: &str,
    reader: Reader,
    mut writer: OwnedWriteHalf,
) -> io::Result<()> {
    // Each has a screen of its own: the size counts for nobody else.
    let seat = Seat { session, surface: None, number: session.audience.enter(None).0 };
    let joined = Joined {
        session: summary(session).await,
        participant: conversation.me.to_string(),
        title: conversation.title.clone(),
    };
    send(&mut writer, &Response::ok(id, &joined).encode()).await?;
    let mut closing = door.closing.clone();
    let stop = async {
        closed(&mut closing).await;
        "the daemon is stopping"
    };
    let served = link::serve(&conversation.space, &conversation.me, reader, writer, stop).await;
    drop(seat);
    served
}
