//! Handle on a space in the same process, and a mirror of the space's state.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use wh_core::event::{Cursor, CursorExpired, NumberedEvent};
use wh_core::receipt::Receipt;
use wh_core::request::{FingerprintedId, RequestId};
use wh_core::space::command::{CommandAccepted, ConversationCommand, SpaceRefusal};
use wh_core::space::event::{SpaceEvent, StreamFrame};
use wh_core::space::extent::{PieceError, TextPiece};
use wh_core::space::item::Item;
use wh_core::space::query::{EnvelopeFilter, Envelopes, HistoryMessage, ParticipantView, Query, QueryAnswer, Revision};
use wh_core::space::roster::{AgentCard, AgentReply, AgentRequest, ConversationCard};
use wh_core::space::state::{SpaceGauges, SpaceState};
use wh_core::space::{ItemId, ParticipantId};

use crate::surface::SessionGone;

/// Maximum number of requests queued for a busy space. Further callers wait.
const MAX_QUEUED_SPACE_REQUESTS: usize = 64;

/// Request to the task that serves a space.
pub enum SpaceRequest {
    /// Execute a command.
    Command {
        /// Participant that sends the command.
        by: ParticipantId,
        /// Request id and content fingerprint, if the caller gave an id.
        request: Option<FingerprintedId>,
        command: ConversationCommand,
        /// Stage at which the caller receives the reply.
        until: ReplyStage,
        reply: oneshot::Sender<Result<CommandAccepted, SpaceRefusal>>,
    },
    /// Return the receipt of a command.
    Receipt { id: RequestId, reply: oneshot::Sender<Option<Receipt>> },
    /// Prepare for shutdown: retain the queued messages for the space that is restored later.
    Suspend,
    /// Query the state.
    Query { query: Query, reply: oneshot::Sender<QueryAnswer> },
    /// Return the state, the cursor of the newest event, and change notifications.
    Watch(oneshot::Sender<SpaceWatch>),
    /// Return the events after a cursor, and the grown items and stream frames since a revision.
    Updates {
        /// Last event that the caller has seen.
        after: Cursor,
        /// Revision of the last grown item or stream frame that the caller has seen.
        revision: u64,
        reply: oneshot::Sender<Result<SpaceUpdates, CursorExpired>>,
    },
    /// Query or change the agents of the space.
    Roster(RosterRequest),
    /// Return a part of an item as text.
    Piece { item: ItemId, offset: u64, reply: oneshot::Sender<Result<TextPiece, PieceError>> },
    /// End every agent of the space.
    End {
        /// True to kill the agents at once; false to ask them to exit first.
        now: bool,
        reply: oneshot::Sender<()>,
    },
}

impl fmt::Debug for SpaceRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Command { .. } => "Command",
            Self::Receipt { .. } => "Receipt",
            Self::Suspend => "Suspend",
            Self::Query { .. } => "Query",
            Self::Watch(_) => "Watch",
            Self::Updates { .. } => "Updates",
            Self::Roster(_) => "Roster",
            Self::Piece { .. } => "Piece",
            Self::End { .. } => "End",
        })
    }
}

/// Stage at which the caller of a command receives the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ReplyStage {
    /// The command is accepted. If the space stores its commands, the command is also stored.
    #[default]
    Accepted,
    /// The command is delivered to the agent, or cannot be delivered. If a message remains in the agent's queue, the
    /// reply is sent as soon as the message is stored.
    Delivered,
}

/// Request about the agents of a space. May take seconds; the space serves other requests meanwhile.
#[derive(Debug)]
pub enum RosterRequest {
    /// List the agents.
    Agents(oneshot::Sender<Vec<AgentCard>>),
    /// List the saved conversations of an agent.
    Conversations {
        /// Id of the agent.
        agent: String,
        reply: oneshot::Sender<Result<Vec<ConversationCard>, SpaceRefusal>>,
    },
    /// Query or manage one agent, or all of them.
    Manage {
        /// Id of the agent; `None` for all.
        agent: Option<String>,
        /// Query or action to run on the agent.
        ask: AgentRequest,
        reply: oneshot::Sender<Result<AgentReply, SpaceRefusal>>,
    },
    /// Add an agent to the space.
    Invite {
        /// Id of the agent.
        agent: String,
        /// Conversation to resume; `None` for a new one.
        conversation: Option<String>,
        reply: oneshot::Sender<Result<(), SpaceRefusal>>,
    },
}

/// Current state of a space, its position in the journal, and change notifications.
#[derive(Debug)]
pub struct SpaceWatch {
    pub state: SpaceState,
    /// Cursor of the newest event.
    pub end: Cursor,
    /// Number of the newest change that is not in the journal: growth of an item, or a stream frame.
    pub revision: u64,
    /// [`ChangeNotice::change_count`] of this state.
    pub change_count: u64,
    /// Receives a notice after every change of the space.
    pub changes: watch::Receiver<ChangeNotice>,
}

/// Change notification of a space. Only the newest value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChangeNotice {
    /// Incremented with every change.
    #[serde(rename = "beat")]
    pub change_count: u64,
    /// Values that wait conditions depend on.
    pub gauges: SpaceGauges,
}

/// Changes since a watcher's last position.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SpaceUpdates {
    /// Events in order.
    pub events: Vec<Arc<NumberedEvent<SpaceEvent>>>,
    /// Items that have grown, in their current form. Apply them after the events.
    pub items: Vec<Arc<Item>>,
    pub frames: Vec<StreamFrame>,
    /// Number of the newest change in `items` and `frames`. `None` if `events` is incomplete; `items` and `frames` are
    /// then empty, and the caller must read the remaining events first.
    pub revision: Option<u64>,
}

/// Handle on a space: sends requests to the task that serves the space.
#[derive(Debug, Clone)]
pub struct Space(mpsc::Sender<SpaceRequest>);

impl Space {
    /// Creates a space handle, and the receiver of its requests for the task that serves the space.
    pub fn new() -> (Self, mpsc::Receiver<SpaceRequest>) {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED_SPACE_REQUESTS);
        (Self(sender), receiver)
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> SpaceRequest) -> Result<T, SessionGone> {
        let (reply, answer) = oneshot::channel();
        self.0.send(request(reply)).await.map_err(|_| SessionGone)?;
        answer.await.map_err(|_| SessionGone)
    }

    /// Forwards a request with its reply channel. Requests are served in order.
    pub async fn pass(&self, request: SpaceRequest) -> Result<(), SessionGone> {
        self.0.send(request).await.map_err(|_| SessionGone)
    }

    /// Executes a command as this participant. The outer error means that the space has ended.
    pub async fn command(
        &self,
        by: ParticipantId,
        request: Option<FingerprintedId>,
        command: ConversationCommand,
    ) -> Result<Result<CommandAccepted, SpaceRefusal>, SessionGone> {
        self.ask(|reply| SpaceRequest::Command { by, request, command, until: ReplyStage::Accepted, reply }).await
    }

    /// Executes a command. Returns once the command is delivered to the agent; see [`ReplyStage::Delivered`].
    pub async fn deliver(
        &self,
        by: ParticipantId,
        request: Option<FingerprintedId>,
        command: ConversationCommand,
    ) -> Result<Result<CommandAccepted, SpaceRefusal>, SessionGone> {
        self.ask(|reply| SpaceRequest::Command { by, request, command, until: ReplyStage::Delivered, reply }).await
    }

    /// Returns the receipt of a command; `None` if the command is unknown.
    pub async fn receipt(&self, id: RequestId) -> Result<Option<Receipt>, SessionGone> {
        self.ask(|reply| SpaceRequest::Receipt { id, reply }).await
    }

    /// Prepares the space for shutdown; see [`SpaceRequest::Suspend`].
    pub async fn suspend(&self) {
        let _ = self.0.send(SpaceRequest::Suspend).await;
    }

    async fn query(&self, query: Query) -> Result<QueryAnswer, SessionGone> {
        self.ask(|reply| SpaceRequest::Query { query, reply }).await
    }

    /// Returns the revision of the state.
    pub async fn revision(&self) -> Result<Revision, SessionGone> {
        match self.query(Query::Revision).await? {
            QueryAnswer::Revision(revision) => Ok(revision),
            _ => Err(SessionGone),
        }
    }

    /// Returns a participant's status and options; `None` if the participant does not exist.
    pub async fn participant(&self, id: ParticipantId) -> Result<Option<ParticipantView>, SessionGone> {
        match self.query(Query::Participant(id)).await? {
            QueryAnswer::Participant(view) => Ok(view),
            _ => Err(SessionGone),
        }
    }

    /// Returns the open questions, oldest first.
    pub async fn questions(&self) -> Result<Vec<Arc<Item>>, SessionGone> {
        match self.query(Query::Questions).await? {
            QueryAnswer::Questions(questions) => Ok(questions),
            _ => Err(SessionGone),
        }
    }

    /// Returns the envelopes that match a filter.
    pub async fn envelopes(&self, filter: EnvelopeFilter) -> Result<Envelopes, SessionGone> {
        match self.query(Query::Envelopes(filter)).await? {
            QueryAnswer::Envelopes(envelopes) => Ok(envelopes),
            _ => Err(SessionGone),
        }
    }

    /// Returns the state without its history, together with the envelopes that match a filter.
    pub async fn outline(&self, filter: EnvelopeFilter) -> Result<(SpaceState, Envelopes), SessionGone> {
        match self.query(Query::Outline(filter)).await? {
            QueryAnswer::Outline(state, envelopes) => Ok((*state, envelopes)),
            _ => Err(SessionGone),
        }
    }

    /// Returns the newest texts of users and agents, at most `most`, oldest first.
    pub async fn history(&self, most: usize) -> Result<Vec<HistoryMessage>, SessionGone> {
        match self.query(Query::History(most)).await? {
            QueryAnswer::History(said) => Ok(said),
            _ => Err(SessionGone),
        }
    }

    /// Returns the state with change notifications.
    pub async fn watch(&self) -> Result<SpaceWatch, SessionGone> {
        self.ask(SpaceRequest::Watch).await
    }

    /// Returns the changes since a watcher's position.
    pub async fn updates(
        &self,
        after: Cursor,
        revision: u64,
    ) -> Result<Result<SpaceUpdates, CursorExpired>, SessionGone> {
        self.ask(|reply| SpaceRequest::Updates { after, revision, reply }).await
    }

    /// Returns a part of an item as text, including text that is truncated in the item. The outer error means that the
    /// space has ended.
    pub async fn piece(&self, item: ItemId, offset: u64) -> Result<Result<TextPiece, PieceError>, SessionGone> {
        self.ask(|reply| SpaceRequest::Piece { item, offset, reply }).await
    }

    /// Creates a [`Mirror`], a copy of the state that follows its changes.
    pub async fn mirror(&self) -> Result<Mirror, SessionGone> {
        let SpaceWatch { state, end, revision, change_count, changes } = self.watch().await?;
        Ok(Mirror { space: self.clone(), state, cursor: end, revision, change_count, changes })
    }

    /// Lists the agents and their readiness; empty if the space has ended. May take seconds, because the agents are
    /// queried.
    pub async fn agents(&self) -> Vec<AgentCard> {
        self.ask(|reply| SpaceRequest::Roster(RosterRequest::Agents(reply))).await.unwrap_or_default()
    }

    /// Lists the saved conversations of an agent in the space's directory, newest first.
    pub async fn conversations(&self, agent: &str) -> Result<Vec<ConversationCard>, SpaceRefusal> {
        let agent = agent.to_owned();
        let asked = self.ask(|reply| SpaceRequest::Roster(RosterRequest::Conversations { agent, reply }));
        asked.await.map_err(|SessionGone| SpaceRefusal::NoAgentPresent)?
    }

    /// Queries or manages one agent, or all agents if `agent` is `None`. May take seconds, because the agents are
    /// queried.
    pub async fn manage(&self, agent: Option<&str>, ask: AgentRequest) -> Result<AgentReply, SpaceRefusal> {
        let agent = agent.map(str::to_owned);
        let asked = self.ask(|reply| SpaceRequest::Roster(RosterRequest::Manage { agent, ask, reply }));
        asked.await.map_err(|SessionGone| SpaceRefusal::NoAgentPresent)?
    }

    /// Adds an agent, with a new conversation or a saved one. An agent that is already in the space is restarted if
    /// `conversation` is given, and left unchanged otherwise. Returns once the agent is added, which is before the
    /// agent is ready.
    pub async fn invite(&self, agent: &str, conversation: Option<String>) -> Result<(), SpaceRefusal> {
        let agent = agent.to_owned();
        let asked = self.ask(|reply| SpaceRequest::Roster(RosterRequest::Invite { agent, conversation, reply }));
        asked.await.map_err(|SessionGone| SpaceRefusal::NoAgentPresent)?
    }

    /// Ends every agent and waits until all agents have exited. If `now` is true, kills them at once; otherwise asks
    /// them to exit, and kills an agent that does not exit in time.
    pub async fn end(&self, now: bool) -> Result<(), SessionGone> {
        self.ask(|reply| SpaceRequest::End { now, reply }).await
    }
}

/// Copy of a space's state that follows the original.
#[derive(Debug)]
pub struct Mirror {
    space: Space,
    state: SpaceState,
    cursor: Cursor,
    revision: u64,
    change_count: u64,
    changes: watch::Receiver<ChangeNotice>,
}

/// Changes that one call of [`Mirror::catch_up`] has applied.
#[derive(Debug, Default)]
pub struct MirrorChange {
    /// New or changed items.
    pub items: BTreeSet<ItemId>,
    /// True if the mirror was too slow and was reset: any part of the state may have changed.
    pub reset: bool,
}

impl Mirror {
    /// Returns the state as of the last call of [`Mirror::catch_up`].
    pub fn state(&self) -> &SpaceState {
        &self.state
    }

    /// Returns the handle on the mirrored space.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Returns the [`ChangeNotice::change_count`] of the newest change in the copy.
    pub fn change_count(&self) -> u64 {
        self.change_count
    }

    /// Waits until the original changes. Cancel safe.
    pub async fn changed(&mut self) -> Result<(), SessionGone> {
        self.changes.changed().await.map_err(|_| SessionGone)
    }

    /// Applies the changes of the original to the copy. Call this after [`Mirror::changed`].
    pub async fn catch_up(&mut self) -> Result<MirrorChange, SessionGone> {
        // The notification is marked as seen before the query, so that a change during the query notifies again.
        let change_count = self.changes.borrow_and_update().change_count;
        let mut change = MirrorChange::default();
        loop {
            let Ok(updates) = self.space.updates(self.cursor.clone(), self.revision).await? else {
                let SpaceWatch { state, end, revision, .. } = self.space.watch().await?;
                (self.state, self.cursor, self.revision, self.change_count) = (state, end, revision, change_count);
                return Ok(MirrorChange { reset: true, ..change });
            };
            for numbered in &updates.events {
                if let SpaceEvent::Item(item) = &numbered.event {
                    change.items.insert(item.id.clone());
                }
                if let SpaceEvent::TurnEnded(turn, ..) = &numbered.event {
                    let cut = self.state.items.growing().filter(|item| item.turn.as_ref() == Some(turn));
                    change.items.extend(cut.map(|item| item.id.clone()));
                }
                self.state.apply(&numbered.event, numbered.at);
                self.cursor.seq = numbered.seq;
            }
            for item in updates.items {
                change.items.insert(item.id.clone());
                self.state.put(item);
            }
            updates.frames.into_iter().for_each(|frame| self.state.frame(frame));
            if let Some(revision) = updates.revision {
                (self.revision, self.change_count) = (revision, change_count);
                return Ok(change);
            }
        }
    }
}
