//! Sends the events of a session as lines until the subscriber disconnects.

use std::io;

use tokio::io::AsyncReadExt;
use tokio::net::unix::OwnedWriteHalf;
use wh_client::SessionHandle;
use wh_core::event::{Cursor, Epoch};
use wh_wire::control::StreamBody;
use wh_wire::socket::{ErrorCode, SocketResponse, StreamLine, SubscribeRequest, SubscribeResponse};

use super::SocketState;
use super::connection::{SocketReader, send};
use crate::bodies::FrameFormat;
use crate::feed::EventFeed;

/// Frame rate that [`EventFeed::open`] requires. The rate has no effect, because these subscriptions have no frames.
const UNUSED_FRAME_RATE: u32 = 1;

pub(super) async fn stream(
    server: &SocketState,
    session: &SessionHandle,
    wanted: SubscribeRequest,
    id: &str,
    mut reader: SocketReader,
    mut writer: OwnedWriteHalf,
) -> io::Result<()> {
    let gone = || SocketResponse::failed(id, ErrorCode::SessionNotFound, "the session has ended");
    let Some(surface) = session.surface.clone() else { return send(&mut writer, &gone().encode()).await };
    let after = wanted.after.map(|cursor| Cursor { epoch: Epoch::new(&cursor.epoch), seq: cursor.seq });
    let options = (after, FrameFormat::None, UNUSED_FRAME_RATE);
    // No stream permit is needed, because the socket server limits the number of connections.
    let Ok(mut feed) =
        EventFeed::open(surface, session.conversation.clone(), server.closing.clone(), None, options).await
    else {
        return send(&mut writer, &gone().encode()).await;
    };
    let (epoch, seq) = feed.cursor();
    let subscribed = SubscribeResponse { streaming: true, session_id: session.id.clone(), epoch, seq };
    send(&mut writer, &SocketResponse::ok(id, &subscribed).encode()).await?;
    let mut reason = None;
    let mut nothing = [0; 256];
    loop {
        let body = tokio::select! {
            body = feed.next() => body,
            // Further input is ignored. The subscription ends with the connection.
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
                let reason = reason.take().unwrap_or_else(|| "the subscription has started".to_owned());
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
