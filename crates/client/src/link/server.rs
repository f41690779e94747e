//! Server end of a link: receives requests, forwards them to the space and returns the replies.

use std::io;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::mpsc;
use wh_core::space::ParticipantId;

use super::{CallLine, LinkCallReply, PendingReply, ServerLine, read_line, write_line};
use crate::space::Space;

/// Maximum number of requests of one client that are answered concurrently. Further requests wait.
const MAX_CONCURRENT_LINK_CALLS: usize = 64;

/// Maximum size of a line from a client in bytes. The longest line is a message in JSON.
const MAX_CALL_LINE_BYTES: u64 = 64 << 20;

/// Timeout for writing a line to the client.
const LINK_WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Reason sent to the client when the session has ended.
const GONE_REASON: &str = "the session has ended";

/// Serves requests as participant `me` until the client disconnects, the space ends, or `stop` resolves to a reason.
pub async fn serve<R, W>(
    space: &Space,
    me: &ParticipantId,
    reader: R,
    mut writer: W,
    stop: impl Future<Output = &'static str>,
) -> io::Result<()>
where
    R: AsyncBufRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin,
{
    let (tell, mut calls) = mpsc::channel(1);
    let reading = tokio::spawn(read(reader, tell));
    let over = answer(space, me, &mut calls, &mut writer, stop).await;
    reading.abort();
    match over? {
        Some(reason) => send(&mut writer, &ServerLine::Over(reason.to_owned())).await,
        None => Ok(()),
    }
}

/// Serves requests until the link ends. Returns the reason to send to the client, or `None` if the client has
/// disconnected.
async fn answer(
    space: &Space,
    me: &ParticipantId,
    calls: &mut mpsc::Receiver<io::Result<CallLine>>,
    writer: &mut (impl AsyncWrite + Unpin),
    stop: impl Future<Output = &'static str>,
) -> io::Result<Option<&'static str>> {
    let Ok(watched) = space.watch().await else { return Ok(Some(GONE_REASON)) };
    let mut changes = watched.changes;
    changes.mark_changed();
    let mut pending = FuturesUnordered::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            call = calls.recv(), if pending.len() < MAX_CONCURRENT_LINK_CALLS => match call.transpose()? {
                Some(CallLine { id, call }) => {
                    let (request, reply) = call.into_request(me.clone());
                    // Each request is forwarded before the next request is read, to preserve the order.
                    if space.pass(request).await.is_err() {
                        return Ok(Some(GONE_REASON));
                    }
                    pending.push(numbered(id, reply));
                }
                None => return Ok(None),
            },
            Some((id, reply)) = pending.next(), if !pending.is_empty() => {
                send(writer, &reply.map_or(ServerLine::Gone(id), |reply| ServerLine::Reply(id, reply))).await?;
            }
            changed = changes.changed() => {
                if changed.is_err() {
                    return Ok(Some(GONE_REASON));
                }
                let newest = *changes.borrow_and_update();
                send(writer, &ServerLine::Change(newest)).await?;
            }
            reason = &mut stop => return Ok(Some(reason)),
        }
    }
}

async fn numbered(id: u64, reply: PendingReply) -> (u64, Option<LinkCallReply>) {
    (id, reply.await)
}

/// Reads requests until the client disconnects.
async fn read<R: AsyncBufRead + Unpin>(mut reader: R, tell: mpsc::Sender<io::Result<CallLine>>) {
    loop {
        let call = read_line(&mut reader, MAX_CALL_LINE_BYTES).await;
        let over = call.is_err();
        let Some(call) = call.transpose() else { return };
        if tell.send(call).await.is_err() || over {
            return;
        }
    }
}

async fn send(writer: &mut (impl AsyncWrite + Unpin), line: &ServerLine) -> io::Result<()> {
    match tokio::time::timeout(LINK_WRITE_TIMEOUT, write_line(writer, line)).await {
        Ok(written) => written,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read the replies")),
    }
}
