//! Handle on a space in the same process, and a mirror that follows its state.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use wh_core::event::{Cursor, CursorExpired, NumberedEvent};
use wh_core::receipt::Receipt;
use wh_core::request::{Request, RequestId};
use wh_core::space::command::{CommandAccepted, ConversationCommand, SpaceRefusal};
use wh_core::space::event::{SpaceEvent, StreamFrame};
use wh_core::space::extent::{PieceError, TextPiece};
use wh_core::space::item::Item;
use wh_core::space::query::{EnvelopeFilter, Envelopes, HistoryMessage, ParticipantView, Query, QueryAnswer, Revision};
use wh_core::space::roster::{AgentCard, AgentReply, AgentRequest, ConversationCard};
use wh_core::space::state::{Gauges, State};
use wh_core::space::{ItemId, ParticipantId};

use crate::surface::Gone;

/// Requests that may be queued for a busy space; further callers wait.
const MAX_QUEUED_SPACE_REQUESTS: usize = 64;

/// Request to the task that serves a space.
pub enum SpaceRequest {
    /// Execute a command.
    Command {
        /// Participant that sends the command.
        by: ParticipantId,
        /// Request id and content fingerprint, if the caller gave an id.
        request: Option<Request>,
        /// Command to execute.
        command: ConversationCommand,
        /// Stage at which the command is answered.
        until: ReplyStage,
        reply: oneshot::Sender<Result<CommandAccepted, SpaceRefusal>>,
    },
    /// Return the receipt of a command.
    Receipt { id: RequestId, reply: oneshot::Sender<Option<Receipt>> },
    /// The space is about to end and a later one will resume it: queued messages are retained.
    Suspend,
    /// Query the state.
    Query {
        /// Query to answer.
        query: Query,
        reply: oneshot::Sender<QueryAnswer>,
    },
    /// Return the state, the end of the journal, and change notifications.
    Watch(oneshot::Sender<SpaceWatch>),
    /// Return the events after a cursor, and the growth after a revision.
    Updates {
        /// Last event that the caller has seen.
        after: Cursor,
        /// Last growth that the caller has seen.
        revision: u64,
        reply: oneshot::Sender<Result<SpaceUpdates, CursorExpired>>,
    },
    /// Query or change the agents of the space.
    Roster(RosterRequest),
    /// Return a part of an item as text.
    Piece {
        /// Item to read.
        item: ItemId,
        offset: u64,
        reply: oneshot::Sender<Result<TextPiece, PieceError>>,
    },
    /// End every agent.
    End {
        /// True to end at once instead of in steps.
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

/// Stage at which a command is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ReplyStage {
    /// Accepted, and stored where commands are stored.
    #[default]
    Accepted,
    /// Delivered to the agent, or known to be undeliverable. A message that is queued is answered when it is stored.
    Delivered,
}

/// Request about the agents of a space. May be slow; the space continues meanwhile.
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
        /// Query or action.
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

/// Current state with change notifications.
#[derive(Debug)]
pub struct SpaceWatch {
    /// State of the space.
    pub state: State,
    /// End of the journal.
    pub end: Cursor,
    /// Revision of growth.
    pub revision: u64,
    /// [`ChangeNotice::change_count`] of this state.
    pub change_count: u64,
    /// Changes with every change of the space.
    pub changes: watch::Receiver<ChangeNotice>,
}

/// Change notification of a space. Only the newest value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChangeNotice {
    /// Incremented with every change.
    #[serde(rename = "beat")]
    pub change_count: u64,
    /// Values that wait conditions depend on.
    pub gauges: Gauges,
}

/// Changes since a watcher's last position.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SpaceUpdates {
    /// Events in order.
    pub events: Vec<Arc<NumberedEvent<SpaceEvent>>>,
    /// Grown items in their current form, to be applied after the events.
    pub items: Vec<Arc<Item>>,
    pub frames: Vec<StreamFrame>,
    /// Current revision of growth. `None` if there are more events, which come before growth.
    pub revision: Option<u64>,
}

/// Handle on a conversation.
#[derive(Debug, Clone)]
pub struct Space(mpsc::Sender<SpaceRequest>);

impl Space {
    /// Creates a handle and the channel of requests that its server must answer.
    pub fn new() -> (Self, mpsc::Receiver<SpaceRequest>) {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED_SPACE_REQUESTS);
        (Self(sender), receiver)
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> SpaceRequest) -> Result<T, Gone> {
        let (reply, answer) = oneshot::channel();
        self.0.send(request(reply)).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    /// Forwards a request with its reply channel. Requests are served in order.
    pub async fn pass(&self, request: SpaceRequest) -> Result<(), Gone> {
        self.0.send(request).await.map_err(|_| Gone)
    }

    /// Executes a command as this participant. The outer error means that the space has ended.
    pub async fn command(
        &self,
        by: ParticipantId,
        request: Option<Request>,
        command: ConversationCommand,
    ) -> Result<Result<CommandAccepted, SpaceRefusal>, Gone> {
        self.ask(|reply| SpaceRequest::Command { by, request, command, until: ReplyStage::Accepted, reply }).await
    }

    /// Executes a command; returns once it was delivered to the agent. See [`ReplyStage::Delivered`].
    pub async fn deliver(
        &self,
        by: ParticipantId,
        request: Option<Request>,
        command: ConversationCommand,
    ) -> Result<Result<CommandAccepted, SpaceRefusal>, Gone> {
        self.ask(|reply| SpaceRequest::Command { by, request, command, until: ReplyStage::Delivered, reply }).await
    }

    /// Returns the receipt of a command; `None` if it is unknown.
    pub async fn receipt(&self, id: RequestId) -> Result<Option<Receipt>, Gone> {
        self.ask(|reply| SpaceRequest::Receipt { id, reply }).await
    }

    /// Suspends the space: it is about to end, and a later one will resume it.
    pub async fn suspend(&self) {
        let _ = self.0.send(SpaceRequest::Suspend).await;
    }

    async fn query(&self, query: Query) -> Result<QueryAnswer, Gone> {
        self.ask(|reply| SpaceRequest::Query { query, reply }).await
    }

    /// Returns the revision of the state.
    pub async fn revision(&self) -> Result<Revision, Gone> {
        match self.query(Query::Revision).await? {
            QueryAnswer::Revision(revision) => Ok(revision),
            _ => Err(Gone),
        }
    }

    /// Returns a participant's status and options; `None` if it does not exist.
    pub async fn participant(&self, id: ParticipantId) -> Result<Option<ParticipantView>, Gone> {
        match self.query(Query::Participant(id)).await? {
            QueryAnswer::Participant(view) => Ok(view),
            _ => Err(Gone),
        }
    }

    /// Returns the open questions, oldest first.
    pub async fn questions(&self) -> Result<Vec<Arc<Item>>, Gone> {
        match self.query(Query::Questions).await? {
            QueryAnswer::Questions(questions) => Ok(questions),
            _ => Err(Gone),
        }
    }

    /// Returns the envelopes that match a filter.
    pub async fn envelopes(&self, filter: EnvelopeFilter) -> Result<Envelopes, Gone> {
        match self.query(Query::Envelopes(filter)).await? {
            QueryAnswer::Envelopes(envelopes) => Ok(envelopes),
            _ => Err(Gone),
        }
    }

    /// Returns the state without its history, together with the envelopes that match a filter.
    pub async fn outline(&self, filter: EnvelopeFilter) -> Result<(State, Envelopes), Gone> {
        match self.query(Query::Outline(filter)).await? {
            QueryAnswer::Outline(state, envelopes) => Ok((*state, envelopes)),
            _ => Err(Gone),
        }
    }

    /// Returns the newest texts of users and agents, at most `most`, oldest first.
    pub async fn history(&self, most: usize) -> Result<Vec<HistoryMessage>, Gone> {
        match self.query(Query::History(most)).await? {
            QueryAnswer::History(said) => Ok(said),
            _ => Err(Gone),
        }
    }

    /// Returns the state with change notifications.
    pub async fn watch(&self) -> Result<SpaceWatch, Gone> {
        self.ask(SpaceRequest::Watch).await
    }

    /// Returns the changes since a watcher's position.
    pub async fn updates(&self, after: Cursor, revision: u64) -> Result<Result<SpaceUpdates, CursorExpired>, Gone> {
        self.ask(|reply| SpaceRequest::Updates { after, revision, reply }).await
    }

    /// Returns a part of an item as text, including text that the item truncates. The outer error means that the space
    /// has ended.
    pub async fn piece(&self, item: ItemId, offset: u64) -> Result<Result<TextPiece, PieceError>, Gone> {
        self.ask(|reply| SpaceRequest::Piece { item, offset, reply }).await
    }

    /// Creates a copy of the state that follows the original.
    pub async fn mirror(&self) -> Result<Mirror, Gone> {
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
        asked.await.map_err(|Gone| SpaceRefusal::NoAgentPresent)?
    }

    /// Queries or manages an agent. May take seconds, because the agent is queried.
    pub async fn manage(&self, agent: Option<&str>, ask: AgentRequest) -> Result<AgentReply, SpaceRefusal> {
        let agent = agent.map(str::to_owned);
        let asked = self.ask(|reply| SpaceRequest::Roster(RosterRequest::Manage { agent, ask, reply }));
        asked.await.map_err(|Gone| SpaceRefusal::NoAgentPresent)?
    }

    /// Adds an agent, with a new conversation or a saved one. An agent that is present already is unchanged; with a
    /// conversation it is ended and started again. Returns once it is added, before it is ready.
    pub async fn invite(&self, agent: &str, conversation: Option<String>) -> Result<(), SpaceRefusal> {
        let agent = agent.to_owned();
        let asked = self.ask(|reply| SpaceRequest::Roster(RosterRequest::Invite { agent, conversation, reply }));
        asked.await.map_err(|Gone| SpaceRefusal::NoAgentPresent)?
    }

    /// Ends every agent, in steps or at once, and waits until all have ended. An agent that does not end in time is
    /// killed.
    pub async fn end(&self, now: bool) -> Result<(), Gone> {
        self.ask(|reply| SpaceRequest::End { now, reply }).await
    }
}

/// Copy of a space's state that follows the original.
#[derive(Debug)]
pub struct Mirror {
    space: Space,
    state: State,
    cursor: Cursor,
    revision: u64,
    change_count: u64,
    changes: watch::Receiver<ChangeNotice>,
}

/// Changes since the last call.
#[derive(Debug, Default)]
pub struct MirrorChange {
    /// New or changed items.
    pub items: BTreeSet<ItemId>,
    /// The mirror was too slow and was reset: everything may have changed.
    pub reset: bool,
}

impl Mirror {
    /// Current copy of the state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Handle on the space.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// [`ChangeNotice::change_count`] of the newest change in the state.
    pub fn change_count(&self) -> u64 {
        self.change_count
    }

    /// Waits for a change. Cancel safe.
    pub async fn changed(&mut self) -> Result<(), Gone> {
        self.changes.changed().await.map_err(|_| Gone)
    }

    /// Applies the changes of the original. To be called after [`Mirror::changed`].
    pub async fn catch_up(&mut self) -> Result<MirrorChange, Gone> {
        // Marked as seen before the query, so that changes in between notify again.
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
