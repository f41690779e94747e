//! The end of a link at which the space is not: requests go out, and answers come back.

use std::collections::HashMap;

use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use wh_core::event::FellOut;
use wh_core::receipt::Receipt;
use wh_core::space::command::{Done, Refusal};
use wh_core::space::extent::{NoPiece, Piece};
use wh_core::space::query::QueryAnswer;
use wh_core::space::roster::{AgentCard, ConversationCard, Told};

use super::{Call, CallLine, Reply, ServerLine, Snapshot, read_line, write_line};
use crate::space::{Pulse, RosterRequest, Space, SpaceRequest, SpaceWatch, Updates};

/// Longest line of a server: a whole state, which [`MOST_BYTES`](wh_core::space::MOST_BYTES) bounds, with its escapes.
const LONGEST_LINE: u64 = 1 << 30;

/// The way back of a request that was sent.
enum Waiting {
    Command(oneshot::Sender<Result<Done, Refusal>>),
    Receipt(oneshot::Sender<Option<Receipt>>),
    Query(oneshot::Sender<QueryAnswer>),
    Watch(oneshot::Sender<SpaceWatch>),
    Updates(oneshot::Sender<Result<Updates, FellOut>>),
    Agents(oneshot::Sender<Vec<AgentCard>>),
    Conversations(oneshot::Sender<Result<Vec<ConversationCard>, Refusal>>),
    Manage(oneshot::Sender<Result<Told, Refusal>>),
    Invite(oneshot::Sender<Result<(), Refusal>>),
    Piece(oneshot::Sender<Result<Piece, NoPiece>>),
}

/// The request as it is sent, and its way back; `None` for what only the owner of a space may ask.
fn outgoing(request: SpaceRequest) -> Option<(Call, Waiting)> {
    Some(match request {
        SpaceRequest::Command { by: _, request, command, until, reply } => {
            (Call::Command(request, command, until), Waiting::Command(reply))
        }
        SpaceRequest::Receipt { id, reply } => (Call::Receipt(id), Waiting::Receipt(reply)),
        SpaceRequest::Query { query, reply } => (Call::Query(query), Waiting::Query(reply)),
        SpaceRequest::Watch(reply) => (Call::Watch, Waiting::Watch(reply)),
        SpaceRequest::Updates { after, revision, reply } => (Call::Updates(after, revision), Waiting::Updates(reply)),
        SpaceRequest::Roster(RosterRequest::Agents(reply)) => (Call::Agents, Waiting::Agents(reply)),
        SpaceRequest::Roster(RosterRequest::Conversations { agent, reply }) => {
            (Call::Conversations(agent), Waiting::Conversations(reply))
        }
        SpaceRequest::Roster(RosterRequest::Manage { agent, ask, reply }) => {
            (Call::Manage(agent, ask), Waiting::Manage(reply))
        }
        SpaceRequest::Roster(RosterRequest::Invite { agent, conversation, reply }) => {
            (Call::Invite(agent, conversation), Waiting::Invite(reply))
        }
        SpaceRequest::Piece { item, offset, reply } => (Call::Piece(item, offset), Waiting::Piece(reply)),
        SpaceRequest::Suspend | SpaceRequest::End { .. } => return None,
    })
}

impl Waiting {
    /// Answers the asker, who may have gone. An answer of another kind answers nobody.
    fn answer(self, reply: Reply, pulse: &watch::Sender<Pulse>) {
        match (self, reply) {
            (Self::Command(waiting), Reply::Command(done)) => drop(waiting.send(done)),
            (Self::Receipt(waiting), Reply::Receipt(receipt)) => drop(waiting.send(receipt)),
            (Self::Query(waiting), Reply::Query(answer)) => drop(waiting.send(*answer)),
            (Self::Watch(waiting), Reply::Watch(snapshot)) => {
                let Snapshot { state, end, revision, beat } = *snapshot;
                drop(waiting.send(SpaceWatch { state, end, revision, beat, pulse: pulse.subscribe() }));
            }
            (Self::Updates(waiting), Reply::Updates(updates)) => drop(waiting.send(updates)),
            (Self::Agents(waiting), Reply::Agents(agents)) => drop(waiting.send(agents)),
            (Self::Conversations(waiting), Reply::Conversations(found)) => drop(waiting.send(found)),
            (Self::Manage(waiting), Reply::Manage(told)) => drop(waiting.send(told)),
            (Self::Invite(waiting), Reply::Invite(done)) => drop(waiting.send(done)),
            (Self::Piece(waiting), Reply::Piece(piece)) => drop(waiting.send(piece)),
            _ => {}
        }
    }
}

/// The reason for the end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkEnd {
    /// The server said why.
    Over(String),
    /// The connection broke.
    Broken,
    /// Nobody holds the space any more.
    Unused,
}

/// A space at the other end of a connection. The future drives the connection, and ends with it.
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
    // One line at a time: the server waits while the askers do.
    let (tell, mut lines) = mpsc::channel(1);
    let reading = tokio::spawn(read_lines(reader, tell));
    let _abort = AbortOnDrop(reading);
    let (pulse, mut waiting, mut number) = (watch::Sender::new(Pulse::default()), HashMap::new(), 0);
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(ServerLine::Reply(id, reply)) => {
                    if let Some(waiting) = waiting.remove(&id) {
                        Waiting::answer(waiting, reply, &pulse);
                    }
                }
                Some(ServerLine::Gone(id)) => drop(waiting.remove(&id)),
                Some(ServerLine::Pulse(newest)) => drop(pulse.send_replace(newest)),
                Some(ServerLine::Over(reason)) => return LinkEnd::Over(reason),
                None => return LinkEnd::Broken,
            },
            request = requests.recv() => match request {
                Some(request) => {
                    let Some((call, reply)) = outgoing(request) else { continue };
                    number += 1;
                    waiting.insert(number, reply);
                    if write_line(&mut writer, &CallLine { id: number, call }).await.is_err() {
                        // The server may have said why before it hung up.
                        return last_word(lines).await;
                    }
                }
                None => return LinkEnd::Unused,
            },
        }
    }
}

async fn last_word(mut lines: mpsc::Receiver<ServerLine>) -> LinkEnd {
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
    while let Ok(Some(line)) = read_line(&mut reader, LONGEST_LINE).await {
        if tell.send(line).await.is_err() {
            return;
        }
    }
}
