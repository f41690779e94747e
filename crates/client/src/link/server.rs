//! The end of a link at which the space is: requests come in, and are answered by the space.

use std::io;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::mpsc;
use wh_core::space::ParticipantId;

use super::{CallLine, PendingReply, Reply, ServerLine, read_line, write_line};
use crate::space::Space;

/// Requests of one caller that are answered at once. Beyond that the next one waits.
const MAX_CALLS: usize = 64;

/// Longest line of a caller: a message with its escapes.
const LONGEST_CALL: u64 = 64 << 20;

/// Limit for a caller to take a line.
const STALLED: Duration = Duration::from_secs(30);

/// Reason of an end for which the caller is told that the session is gone.
const GONE: &str = "the session is gone";

/// Answers requests as this participant until the caller leaves, the space is gone, or `stop` gives a reason to.
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

/// Answers until it is over; why, if the caller is still there to hear it.
async fn answer(
    space: &Space,
    me: &ParticipantId,
    calls: &mut mpsc::Receiver<io::Result<CallLine>>,
    writer: &mut (impl AsyncWrite + Unpin),
    stop: impl Future<Output = &'static str>,
) -> io::Result<Option<&'static str>> {
    let Ok(watched) = space.watch().await else { return Ok(Some(GONE)) };
    let mut pulse = watched.pulse;
    pulse.mark_changed();
    let mut pending = FuturesUnordered::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            call = calls.recv(), if pending.len() < MAX_CALLS => match call.transpose()? {
                Some(CallLine { id, call }) => {
                    let (request, reply) = call.into_request(me.clone());
                    // Passed on before the next is read, so that they come in their order.
                    if space.pass(request).await.is_err() {
                        return Ok(Some(GONE));
                    }
                    pending.push(numbered(id, reply));
                }
                None => return Ok(None),
            },
            Some((id, reply)) = pending.next(), if !pending.is_empty() => {
                send(writer, &reply.map_or(ServerLine::Gone(id), |reply| ServerLine::Reply(id, reply))).await?;
            }
            changed = pulse.changed() => {
                if changed.is_err() {
                    return Ok(Some(GONE));
                }
                let newest = *pulse.borrow_and_update();
                send(writer, &ServerLine::Pulse(newest)).await?;
            }
            reason = &mut stop => return Ok(Some(reason)),
        }
    }
}

async fn numbered(id: u64, reply: PendingReply) -> (u64, Option<Reply>) {
    (id, reply.await)
}

/// Reads requests until the caller leaves.
async fn read<R: AsyncBufRead + Unpin>(mut reader: R, tell: mpsc::Sender<io::Result<CallLine>>) {
    loop {
        let call = read_line(&mut reader, LONGEST_CALL).await;
        let over = call.is_err();
        let Some(call) = call.transpose() else { return };
        if tell.send(call).await.is_err() || over {
            return;
        }
    }
}

async fn send(writer: &mut (impl AsyncWrite + Unpin), line: &ServerLine) -> io::Result<()> {
    match tokio::time::timeout(STALLED, write_line(writer, line)).await {
        Ok(written) => written,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the peer takes nothing")),
    }
}
