//! What happens in a session, line by line, until the subscriber leaves.

use std::io;

use tokio::io::AsyncReadExt;
use tokio::net::unix::OwnedWriteHalf;
use wh_client::Session;
use wh_core::event::{Cursor, Epoch};
use wh_wire::control::StreamBody;
use wh_wire::socket::{ErrorCode, Response, StreamLine, Subscribe, Subscribed};

use super::Door;
use super::connection::{Reader, send};
use crate::bodies::Frames;
use crate::feed::Feed;

/// Nothing is drawn here; the feed wants to know all the same.
const RATE: u32 = 1;

pub(super) async fn stream(
    door: &Door,
    session: &Session,
    wanted: Subscribe,
    id: &str,
    mut reader: Reader,
    mut writer: OwnedWriteHalf,
) -> io::Result<()> {
    let gone = || Response::failed(id, ErrorCode::SessionNotFound, "the session is gone, and nothing happens in it");
    let Some(surface) = session.surface.clone() else { return send(&mut writer, &gone().encode()).await };
    let after = wanted.after.map(|cursor| Cursor { epoch: Epoch::new(&cursor.epoch), seq: cursor.seq });
    let options = (after, Frames::None, RATE);
    // The connection itself has a place already.
    let Ok(mut feed) = Feed::open(surface, session.conversation.clone(), door.closing.clone(), None, options).await
    else {
        return send(&mut writer, &gone().encode()).await;
    };
    let (epoch, seq) = feed.cursor();
    let subscribed = Subscribed { streaming: true, session_id: session.id.clone(), epoch, seq };
    send(&mut writer, &Response::ok(id, &subscribed).encode()).await?;
    let mut reason = None;
    let mut nothing = [0; 256];
    loop {
        let body = tokio::select! {
            body = feed.next() => body,
            // A subscriber has nothing more to say; when it is gone, so are we.
            read = reader.read(&mut nothing) => match read {
                Ok(0) | Err(_) => return Ok(()),
                Ok(_) => continue,
            },
        };
        let Some(body) = body else { return Ok(()) };
        let session_id = session.id.clone();
        let line = match body {
            StreamBody::Reset { reason: why } => {
                reason = Some(why);
                continue;
            }
            StreamBody::Snapshot { epoch, seq, state, .. } => {
                let reason = reason.take().unwrap_or_else(|| "this is where it begins".to_owned());
                StreamLine::Reset { epoch, seq, session_id, reason, state: Some(state) }
            }
            StreamBody::Event { epoch, seq, at, event } => {
                StreamLine::Event { epoch, seq, session_id, at, event: Box::new(event) }
            }
            StreamBody::Heartbeat { epoch, seq } => StreamLine::Heartbeat { epoch, seq },
            StreamBody::Dropped { reason } => StreamLine::End { reason },
            StreamBody::Frame(_) => continue,
        };
        send(&mut writer, &line.encode()).await?;
    }
}
