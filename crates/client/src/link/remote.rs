//! Client end of a link: forwards requests of a local [`Space`] handle and passes each reply to its caller.

use std::collections::HashMap;

use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use wh_core::event::CursorExpired;
use wh_core::receipt::Receipt;
use wh_core::space::command::{CommandAccepted, SpaceRefusal};
use wh_core::space::extent::{PieceError, TextPiece};
use wh_core::space::query::QueryAnswer;
use wh_core::space::roster::{AgentCard, AgentReply, ConversationCard};

use super::{CallLine, LinkCall, LinkCallReply, ServerLine, SpaceSnapshot, read_line, write_line};
use crate::space::{ChangeNotice, RosterRequest, Space, SpaceRequest, SpaceUpdates, SpaceWatch};

/// Maximum size of a line from the server in bytes. The longest line is a complete state in JSON;
/// [`MAX_ITEM_BYTES`](wh_core::space::MAX_ITEM_BYTES) limits each of its items.
const MAX_SERVER_LINE_BYTES: u64 = 1 << 30;

/// Reply channel of a request that was sent.
enum UnansweredCall {
    Command(oneshot::Sender<Result<CommandAccepted, SpaceRefusal>>),
    Receipt(oneshot::Sender<Option<Receipt>>),
    Query(oneshot::Sender<QueryAnswer>),
    Watch(oneshot::Sender<SpaceWatch>),
    Updates(oneshot::Sender<Result<SpaceUpdates, CursorExpired>>),
    Agents(oneshot::Sender<Vec<AgentCard>>),
    Conversations(oneshot::Sender<Result<Vec<ConversationCard>, SpaceRefusal>>),
    Manage(oneshot::Sender<Result<AgentReply, SpaceRefusal>>),
    Invite(oneshot::Sender<Result<(), SpaceRefusal>>),
    Piece(oneshot::Sender<Result<TextPiece, PieceError>>),
}

/// Splits a request into its wire form and its reply channel. Returns `None` for a request that only the owner of a
/// space may send.
fn outgoing(request: SpaceRequest) -> Option<(LinkCall, UnansweredCall)> {
    Some(match request {
        SpaceRequest::Command { by: _, request, command, until, reply } => {
            (LinkCall::Command(request, command, until), UnansweredCall::Command(reply))
        }
        SpaceRequest::Receipt { id, reply } => (LinkCall::Receipt(id), UnansweredCall::Receipt(reply)),
        SpaceRequest::Query { query, reply } => (LinkCall::Query(query), UnansweredCall::Query(reply)),
        SpaceRequest::Watch(reply) => (LinkCall::Watch, UnansweredCall::Watch(reply)),
        SpaceRequest::Updates { after, revision, reply } => {
            (LinkCall::Updates(after, revision), UnansweredCall::Updates(reply))
        }
        SpaceRequest::Roster(RosterRequest::Agents(reply)) => (LinkCall::Agents, UnansweredCall::Agents(reply)),
        SpaceRequest::Roster(RosterRequest::Conversations { agent, reply }) => {
            (LinkCall::Conversations(agent), UnansweredCall::Conversations(reply))
        }
        SpaceRequest::Roster(RosterRequest::Manage { agent, ask, reply }) => {
            (LinkCall::Manage(agent, ask), UnansweredCall::Manage(reply))
        }
        SpaceRequest::Roster(RosterRequest::Invite { agent, conversation, reply }) => {
            (LinkCall::Invite(agent, conversation), UnansweredCall::Invite(reply))
        }
        SpaceRequest::Piece { item, offset, reply } => (LinkCall::Piece(item, offset), UnansweredCall::Piece(reply)),
        SpaceRequest::Suspend | SpaceRequest::End { .. } => return None,
    })
}

impl UnansweredCall {
    /// Sends the reply to the caller, if the caller still waits. A reply of the wrong kind is dropped.
    fn answer(self, reply: LinkCallReply, notices: &watch::Sender<ChangeNotice>) {
        match (self, reply) {
            (Self::Command(waiting), LinkCallReply::Command(done)) => drop(waiting.send(done)),
            (Self::Receipt(waiting), LinkCallReply::Receipt(receipt)) => drop(waiting.send(receipt)),
            (Self::Query(waiting), LinkCallReply::Query(answer)) => drop(waiting.send(*answer)),
            (Self::Watch(waiting), LinkCallReply::Watch(snapshot)) => {
                let SpaceSnapshot { state, end, revision, change_count } = *snapshot;
                drop(waiting.send(SpaceWatch { state, end, revision, change_count, changes: notices.subscribe() }));
            }
            (Self::Updates(waiting), LinkCallReply::Updates(updates)) => drop(waiting.send(updates)),
            (Self::Agents(waiting), LinkCallReply::Agents(agents)) => drop(waiting.send(agents)),
            (Self::Conversations(waiting), LinkCallReply::Conversations(found)) => drop(waiting.send(found)),
            (Self::Manage(waiting), LinkCallReply::Manage(told)) => drop(waiting.send(told)),
            (Self::Invite(waiting), LinkCallReply::Invite(done)) => drop(waiting.send(done)),
            (Self::Piece(waiting), LinkCallReply::Piece(piece)) => drop(waiting.send(piece)),
            _ => {}
        }
    }
}

/// Reason for the end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkEnd {
    /// The server ended the link and sent this reason.
    Over(String),
    /// The connection broke.
    Broken,
    /// All handles on the space were dropped.
    Unused,
}

/// Creates a space handle that sends its requests to the server at the other end. The returned future drives the
/// connection, and completes when the connection ends.
pub fn connect<R, W>(reader: R, writer: W) -> (Space, impl Future<Output = LinkEnd> + Send)
where
    R: AsyncBufRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send,
{
    let (space, requests) = Space::new();
    (space, drive(reader, writer, requests))
}

async fn drive<R, W>(reader: R, mut writer: W, mut requests: mpsc::Receiver<SpaceRequest>) -> LinkEnd
where
    R: AsyncBufRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send,
{
    // The channel holds one line, so that backpressure reaches the server.
    let (tell, mut lines) = mpsc::channel(1);
    let reading = tokio::spawn(read_lines(reader, tell));
    let _abort = AbortOnDrop(reading);
    let (notices, mut waiting, mut number) = (watch::Sender::new(ChangeNotice::default()), HashMap::new(), 0);
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(ServerLine::Reply(id, reply)) => {
                    if let Some(waiting) = waiting.remove(&id) {
                        UnansweredCall::answer(waiting, reply, &notices);
                    }
                }
                Some(ServerLine::Gone(id)) => drop(waiting.remove(&id)),
                Some(ServerLine::Change(newest)) => drop(notices.send_replace(newest)),
                Some(ServerLine::Over(reason)) => return LinkEnd::Over(reason),
                None => return LinkEnd::Broken,
            },
            request = requests.recv() => match request {
                Some(request) => {
                    let Some((call, reply)) = outgoing(request) else { continue };
                    number += 1;
                    waiting.insert(number, reply);
                    if write_line(&mut writer, &CallLine { id: number, call }).await.is_err() {
                        // The server may have sent a reason before it closed the connection.
                        return closing_reason(lines).await;
                    }
                }
                None => return LinkEnd::Unused,
            },
        }
    }
}

async fn closing_reason(mut lines: mpsc::Receiver<ServerLine>) -> LinkEnd {
    while let Some(line) = lines.recv().await {
        if let ServerLine::Over(reason) = line {
            return LinkEnd::Over(reason);
        }
    }
    LinkEnd::Broken
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn read_lines<R: AsyncBufRead + Unpin>(mut reader: R, tell: mpsc::Sender<ServerLine>) {
    while let Ok(Some(line)) = read_line(&mut reader, MAX_SERVER_LINE_BYTES).await {
        if tell.send(line).await.is_err() {
            return;
        }
    }
}
