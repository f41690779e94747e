//! Access to a space in another process. Requests of a [`Space`](crate::Space) handle and the replies are JSON lines on
//! a connection. Both ends must run the same version of wh; the server checks the version before the first line.

mod remote;
mod server;

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::oneshot;
use wh_core::event::{Cursor, CursorExpired};
use wh_core::receipt::Receipt;
use wh_core::request::{FingerprintedId, RequestId};
use wh_core::space::command::{CommandAccepted, ConversationCommand, SpaceRefusal};
use wh_core::space::extent::{PieceError, TextPiece};
use wh_core::space::query::{Query, QueryAnswer};
use wh_core::space::roster::{AgentCard, AgentReply, AgentRequest, ConversationCard};
use wh_core::space::state::SpaceState;
use wh_core::space::{ItemId, ParticipantId};

use crate::space::{ChangeNotice, ReplyStage, RosterRequest, SpaceRequest, SpaceUpdates, SpaceWatch};
pub use remote::{LinkEnd, connect};
pub use server::serve;

/// Version of the link protocol, which must be equal at both ends. Increment the last number whenever a transmitted
/// type changes.
pub const LINK_VERSION: &str = concat!("wh-", env!("CARGO_PKG_VERSION"), "-link-1");

/// Line from the client: a numbered request.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallLine {
    /// Number of the request on this connection.
    pub id: u64,
    pub call: LinkCall,
}

/// Request from a [`Space`](crate::Space) handle, without its reply channel. The server adds the participant that sends
/// the request.
#[derive(Debug, Serialize, Deserialize)]
pub enum LinkCall {
    Command(Option<FingerprintedId>, ConversationCommand, ReplyStage),
    Receipt(RequestId),
    Query(Query),
    Watch,
    Updates(Cursor, u64),
    Agents,
    Conversations(String),
    Manage(Option<String>, AgentRequest),
    Invite(String, Option<String>),
    Piece(ItemId, u64),
}

/// Line from the server: a reply, a change notification, or the end of the link.
#[derive(Debug, Serialize, Deserialize)]
pub enum ServerLine {
    /// Reply to the request with this number.
    Reply(u64, LinkCallReply),
    /// The request with this number gets no reply, because the space has ended.
    Gone(u64),
    /// Change notification; only the newest value counts.
    #[serde(rename = "Pulse")]
    Change(ChangeNotice),
    /// Last line of the link, with the reason for the end.
    Over(String),
}

/// Reply to a [`LinkCall`], with the same variant name.
#[derive(Debug, Serialize, Deserialize)]
pub enum LinkCallReply {
    Command(Result<CommandAccepted, SpaceRefusal>),
    Receipt(Option<Receipt>),
    Query(Box<QueryAnswer>),
    Watch(Box<SpaceSnapshot>),
    Updates(Result<SpaceUpdates, CursorExpired>),
    Agents(Vec<AgentCard>),
    Conversations(Result<Vec<ConversationCard>, SpaceRefusal>),
    Manage(Result<AgentReply, SpaceRefusal>),
    Invite(Result<(), SpaceRefusal>),
    Piece(Result<TextPiece, PieceError>),
}

/// A [`SpaceWatch`] without its change notifications.
#[derive(Debug, Serialize, Deserialize)]
pub struct SpaceSnapshot {
    pub state: SpaceState,
    /// Cursor of the newest event.
    pub end: Cursor,
    /// Number of the newest change that is not in the journal: growth of an item, or a stream frame.
    pub revision: u64,
    /// [`ChangeNotice::change_count`](crate::ChangeNotice::change_count) at the time of the snapshot.
    #[serde(rename = "beat")]
    pub change_count: u64,
}

/// Future that resolves to a reply, or to `None` if the space has ended.
pub type PendingReply = std::pin::Pin<Box<dyn Future<Output = Option<LinkCallReply>> + Send>>;

impl LinkCall {
    /// Converts the call to a request that participant `by` sends to a local space. Also returns a future that resolves
    /// to the reply.
    pub fn into_request(self, by: ParticipantId) -> (SpaceRequest, PendingReply) {
        fn pending<T: Send + 'static>(
            request: impl FnOnce(oneshot::Sender<T>) -> SpaceRequest,
            reply: impl FnOnce(T) -> LinkCallReply + Send + 'static,
        ) -> (SpaceRequest, PendingReply) {
            let (sender, receiver) = oneshot::channel();
            (request(sender), Box::pin(async move { receiver.await.ok().map(reply) }))
        }
        match self {
            Self::Command(request, command, until) => {
                pending(|reply| SpaceRequest::Command { by, request, command, until, reply }, LinkCallReply::Command)
            }
            Self::Receipt(id) => pending(|reply| SpaceRequest::Receipt { id, reply }, LinkCallReply::Receipt),
            Self::Query(query) => {
                pending(|reply| SpaceRequest::Query { query, reply }, |answer| LinkCallReply::Query(Box::new(answer)))
            }
            Self::Watch => pending(SpaceRequest::Watch, |watch: SpaceWatch| {
                let SpaceWatch { state, end, revision, change_count, .. } = watch;
                LinkCallReply::Watch(Box::new(SpaceSnapshot { state, end, revision, change_count }))
            }),
            Self::Updates(after, revision) => {
                pending(|reply| SpaceRequest::Updates { after, revision, reply }, LinkCallReply::Updates)
            }
            Self::Agents => pending(|reply| SpaceRequest::Roster(RosterRequest::Agents(reply)), LinkCallReply::Agents),
            Self::Conversations(agent) => pending(
                |reply| SpaceRequest::Roster(RosterRequest::Conversations { agent, reply }),
                LinkCallReply::Conversations,
            ),
            Self::Manage(agent, ask) => pending(
                |reply| SpaceRequest::Roster(RosterRequest::Manage { agent, ask, reply }),
                LinkCallReply::Manage,
            ),
            Self::Invite(agent, conversation) => pending(
                |reply| SpaceRequest::Roster(RosterRequest::Invite { agent, conversation, reply }),
                LinkCallReply::Invite,
            ),
            Self::Piece(item, offset) => {
                pending(|reply| SpaceRequest::Piece { item, offset, reply }, LinkCallReply::Piece)
            }
        }
    }
}

/// Reads a line of at most `max_bytes` bytes; `None` at the end of the stream.
async fn read_line<T: DeserializeOwned>(
    reader: &mut (impl AsyncBufRead + Unpin),
    max_bytes: u64,
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    if reader.take(max_bytes).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is incomplete or too long"));
    }
    serde_json::from_slice(&line).map(Some).map_err(Into::into)
}

/// Serialises and writes a line.
async fn write_line(writer: &mut (impl AsyncWrite + Unpin), line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    writer.write_all(&bytes).await
}
