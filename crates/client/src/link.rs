//! A space in another process: requests of a [`Space`](crate::Space) as lines of JSON on a connection, and the answers to them. Both
//! ends must be of the same version of wh; the server checks that before the first line.

mod remote;
mod server;

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::oneshot;
use wh_core::event::{Cursor, FellOut};
use wh_core::receipt::Receipt;
use wh_core::request::{Request, RequestId};
use wh_core::space::command::{Command, Done, Refusal};
use wh_core::space::extent::{NoPiece, Piece};
use wh_core::space::query::{Query, QueryAnswer};
use wh_core::space::roster::{AgentCard, Ask, ConversationCard, Told};
use wh_core::space::state::State;
use wh_core::space::{ItemId, ParticipantId};

use crate::space::{Pulse, RosterRequest, SpaceRequest, SpaceWatch, Until, Updates};
pub use remote::{LinkEnd, connect};
pub use server::serve;

/// Version of the lines. Both ends must have the same: change it with every change of a type that is sent.
pub const LINK_VERSION: &str = concat!("wh-", env!("CARGO_PKG_VERSION"), "-link-1");

/// A request, as it is sent.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallLine {
    /// Number of the request on this connection.
    pub id: u64,
    /// The request.
    pub call: Call,
}

/// A request of a [`Space`](crate::Space) without its way back. The server knows who asks.
#[derive(Debug, Serialize, Deserialize)]
pub enum Call {
    /// See [`SpaceRequest::Command`].
    Command(Option<Request>, Command, Until),
    /// See [`SpaceRequest::Receipt`].
    Receipt(RequestId),
    /// See [`SpaceRequest::Query`].
    Query(Query),
    /// See [`SpaceRequest::Watch`].
    Watch,
    /// See [`SpaceRequest::Updates`].
    Updates(Cursor, u64),
    /// See [`RosterRequest::Agents`].
    Agents,
    /// See [`RosterRequest::Conversations`].
    Conversations(String),
    /// See [`RosterRequest::Manage`].
    Manage(Option<String>, Ask),
    /// See [`RosterRequest::Invite`].
    Invite(String, Option<String>),
    /// See [`SpaceRequest::Piece`].
    Piece(ItemId, u64),
}

/// A line of the server.
#[derive(Debug, Serialize, Deserialize)]
pub enum ServerLine {
    /// The answer to the request of this number.
    Reply(u64, Reply),
    /// The request of this number has no answer: the space is gone.
    Gone(u64),
    /// The space has changed. Only the newest counts.
    Pulse(Pulse),
    /// The last line, with the reason.
    Over(String),
}

/// The answer to a [`Call`], by the same name.
#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    /// See [`Call::Command`].
    Command(Result<Done, Refusal>),
    /// See [`Call::Receipt`].
    Receipt(Option<Receipt>),
    /// See [`Call::Query`].
    Query(Box<QueryAnswer>),
    /// See [`Call::Watch`].
    Watch(Box<Snapshot>),
    /// See [`Call::Updates`].
    Updates(Result<Updates, FellOut>),
    /// See [`Call::Agents`].
    Agents(Vec<AgentCard>),
    /// See [`Call::Conversations`].
    Conversations(Result<Vec<ConversationCard>, Refusal>),
    /// See [`Call::Manage`].
    Manage(Result<Told, Refusal>),
    /// See [`Call::Invite`].
    Invite(Result<(), Refusal>),
    /// See [`Call::Piece`].
    Piece(Result<Piece, NoPiece>),
}

/// A [`SpaceWatch`] without its bell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// The state.
    pub state: State,
    /// End of the journal.
    pub end: Cursor,
    /// Revision of what grows.
    pub revision: u64,
    /// [`Pulse::beat`] of the state.
    pub beat: u64,
}

/// An answer that is to come.
pub type PendingReply = std::pin::Pin<Box<dyn Future<Output = Option<Reply>> + Send>>;

impl Call {
    /// The request for a space in this process, as this participant, and the answer to come; `None`: the space is gone.
    pub fn into_request(self, by: ParticipantId) -> (SpaceRequest, PendingReply) {
        fn pending<T: Send + 'static>(
            request: impl FnOnce(oneshot::Sender<T>) -> SpaceRequest,
            reply: impl FnOnce(T) -> Reply + Send + 'static,
        ) -> (SpaceRequest, PendingReply) {
            let (sender, receiver) = oneshot::channel();
            (request(sender), Box::pin(async move { receiver.await.ok().map(reply) }))
        }
        match self {
            Self::Command(request, command, until) => {
                pending(|reply| SpaceRequest::Command { by, request, command, until, reply }, Reply::Command)
            }
            Self::Receipt(id) => pending(|reply| SpaceRequest::Receipt { id, reply }, Reply::Receipt),
            Self::Query(query) => {
                pending(|reply| SpaceRequest::Query { query, reply }, |answer| Reply::Query(Box::new(answer)))
            }
            Self::Watch => pending(SpaceRequest::Watch, |watch: SpaceWatch| {
                let SpaceWatch { state, end, revision, beat, .. } = watch;
                Reply::Watch(Box::new(Snapshot { state, end, revision, beat }))
            }),
            Self::Updates(after, revision) => {
                pending(|reply| SpaceRequest::Updates { after, revision, reply }, Reply::Updates)
            }
            Self::Agents => pending(|reply| SpaceRequest::Roster(RosterRequest::Agents(reply)), Reply::Agents),
            Self::Conversations(agent) => pending(
                |reply| SpaceRequest::Roster(RosterRequest::Conversations { agent, reply }),
                Reply::Conversations,
            ),
            Self::Manage(agent, ask) => {
                pending(|reply| SpaceRequest::Roster(RosterRequest::Manage { agent, ask, reply }), Reply::Manage)
            }
            Self::Invite(agent, conversation) => pending(
                |reply| SpaceRequest::Roster(RosterRequest::Invite { agent, conversation, reply }),
                Reply::Invite,
            ),
            Self::Piece(item, offset) => pending(|reply| SpaceRequest::Piece { item, offset, reply }, Reply::Piece),
        }
    }
}

/// Reads a line of at most this many bytes; `None` at the end.
async fn read_line<T: DeserializeOwned>(
    reader: &mut (impl AsyncBufRead + Unpin),
    longest: u64,
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    if reader.take(longest).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line that does not end, or is too long"));
    }
    serde_json::from_slice(&line).map(Some).map_err(Into::into)
}

/// Writes a line.
async fn write_line(writer: &mut (impl AsyncWrite + Unpin), line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    writer.write_all(&bytes).await
}
