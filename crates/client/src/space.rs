//! The handle on a space in the same process, and a mirror of its state that follows it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use wh_core::event::{Cursor, FellOut, Numbered};
use wh_core::receipt::Receipt;
use wh_core::request::{Request, RequestId};
use wh_core::space::command::{Command, Done, Refusal};
use wh_core::space::event::{Event, StreamFrame};
use wh_core::space::extent::{NoPiece, Piece};
use wh_core::space::item::Item;
use wh_core::space::query::{EnvelopeFilter, Envelopes, ParticipantView, Query, QueryAnswer, Revision, Said};
use wh_core::space::roster::{AgentCard, Ask, ConversationCard, Told};
use wh_core::space::state::{Gauges, State};
use wh_core::space::{ItemId, ParticipantId};

use crate::surface::Gone;

/// Requests that may wait for a busy space. Beyond that the asker waits in turn.
const REQUESTS: usize = 64;

/// One question or command for whoever serves a space.
pub enum SpaceRequest {
    /// Do something.
    Command {
        /// Who asks.
        by: ParticipantId,
        /// The caller's id for it, and what it asks for.
        request: Option<Request>,
        /// What.
        command: Command,
        /// When it is answered.
        until: Until,
        /// The way back.
        reply: oneshot::Sender<Result<Done, Refusal>>,
    },
    /// The stage of a command.
    Receipt {
        /// Its id.
        id: RequestId,
        /// The way back.
        reply: oneshot::Sender<Option<Receipt>>,
    },
    /// The space is about to end, and a later one goes on with it: messages that wait are not given up.
    Suspend,
    /// A question about the state.
    Query {
        /// The question.
        query: Query,
        /// The way back.
        reply: oneshot::Sender<QueryAnswer>,
    },
    /// Watch: the state, where the journal stands, and how to hear of more.
    Watch(oneshot::Sender<SpaceWatch>),
    /// What happened after a cursor, and what has grown after a revision.
    Updates {
        /// Events that the asker has seen.
        after: Cursor,
        /// Growth that the asker has seen.
        revision: u64,
        /// The way back.
        reply: oneshot::Sender<Result<Updates, FellOut>>,
    },
    /// Something about the agents that could take part.
    Roster(RosterRequest),
    /// A part of an item as text, from this byte on.
    Piece {
        /// Which item.
        item: ItemId,
        /// From where on.
        offset: u64,
        /// The way back.
        reply: oneshot::Sender<Result<Piece, NoPiece>>,
    },
    /// End every agent.
    End {
        /// At once, and not in steps.
        now: bool,
        /// The way back.
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

/// When a command is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Until {
    /// Once it is accepted, and stored where commands are.
    #[default]
    Accepted,
    /// Once its agent has it, or it is known that it will not. A message that has to wait is answered when it is stored.
    Delivered,
}

/// Something about the agents that could take part. What it takes may be slow; the space goes on meanwhile.
#[derive(Debug)]
pub enum RosterRequest {
    /// Which agents there are.
    Agents(oneshot::Sender<Vec<AgentCard>>),
    /// Which conversations one of them keeps.
    Conversations {
        /// Which agent.
        agent: String,
        /// The way back.
        reply: oneshot::Sender<Result<Vec<ConversationCard>, Refusal>>,
    },
    /// Something about one of them, or about all.
    Manage {
        /// Which agent; `None` is all of them.
        agent: Option<String>,
        /// What.
        ask: Ask,
        /// The way back.
        reply: oneshot::Sender<Result<Told, Refusal>>,
    },
    /// Have one take part.
    Invite {
        /// Which agent.
        agent: String,
        /// Which conversation it goes on with; `None` is a new one.
        conversation: Option<String>,
        /// The way back.
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
}

/// The state of one moment, and the bell that rings when there is more.
#[derive(Debug)]
pub struct SpaceWatch {
    /// What is true.
    pub state: State,
    /// Where the journal ends.
    pub end: Cursor,
    /// How much has grown.
    pub revision: u64,
    /// [`Pulse::beat`] of this state.
    pub beat: u64,
    /// Rings with every change.
    pub pulse: watch::Receiver<Pulse>,
}

/// Rings with every change of a space. Only the newest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pulse {
    /// Another one each time.
    pub beat: u64,
    /// What waits depend on.
    pub gauges: Gauges,
}

/// What a watcher has missed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Updates {
    /// Events, in order.
    pub events: Vec<Arc<Numbered<Event>>>,
    /// Items that have grown, as they are now. To be put after the events.
    pub items: Vec<Arc<Item>>,
    /// What came through streams.
    pub frames: Vec<StreamFrame>,
    /// How much has grown by now. `None`: there are more events, and growth comes after them.
    pub revision: Option<u64>,
}

/// A conversation that can be taken part in.
#[derive(Debug, Clone)]
pub struct Space(mpsc::Sender<SpaceRequest>);

impl Space {
    /// A space, and the requests that its server must answer.
    pub fn new() -> (Self, mpsc::Receiver<SpaceRequest>) {
        let (sender, receiver) = mpsc::channel(REQUESTS);
        (Self(sender), receiver)
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> SpaceRequest) -> Result<T, Gone> {
        let (reply, answer) = oneshot::channel();
        self.0.send(request(reply)).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    /// Passes on a request with the way back for its answer. Requests are served in the order in which they are passed.
    pub async fn pass(&self, request: SpaceRequest) -> Result<(), Gone> {
        self.0.send(request).await.map_err(|_| Gone)
    }

    /// Asks for something, as this participant. The outer error: nobody is there to answer.
    pub async fn command(
        &self,
        by: ParticipantId,
        request: Option<Request>,
        command: Command,
    ) -> Result<Result<Done, Refusal>, Gone> {
        self.ask(|reply| SpaceRequest::Command { by, request, command, until: Until::Accepted, reply }).await
    }

    /// The same, answered once the agent has it; see [`Until::Delivered`].
    pub async fn deliver(
        &self,
        by: ParticipantId,
        request: Option<Request>,
        command: Command,
    ) -> Result<Result<Done, Refusal>, Gone> {
        self.ask(|reply| SpaceRequest::Command { by, request, command, until: Until::Delivered, reply }).await
    }

    /// The receipt of a command; `None` if it is not known.
    pub async fn receipt(&self, id: RequestId) -> Result<Option<Receipt>, Gone> {
        self.ask(|reply| SpaceRequest::Receipt { id, reply }).await
    }

    /// The space is about to end, and a later one goes on with it.
    pub async fn suspend(&self) {
        let _ = self.0.send(SpaceRequest::Suspend).await;
    }

    async fn query(&self, query: Query) -> Result<QueryAnswer, Gone> {
        self.ask(|reply| SpaceRequest::Query { query, reply }).await
    }

    /// The number of the state.
    pub async fn revision(&self) -> Result<Revision, Gone> {
        match self.query(Query::Revision).await? {
            QueryAnswer::Revision(revision) => Ok(revision),
            _ => Err(Gone),
        }
    }

    /// The status and the choices of a participant; `None` if nobody has this name.
    pub async fn participant(&self, id: ParticipantId) -> Result<Option<ParticipantView>, Gone> {
        match self.query(Query::Participant(id)).await? {
            QueryAnswer::Participant(view) => Ok(view),
            _ => Err(Gone),
        }
    }

    /// The open questions, oldest first.
    pub async fn questions(&self) -> Result<Vec<Arc<Item>>, Gone> {
        match self.query(Query::Questions).await? {
            QueryAnswer::Questions(questions) => Ok(questions),
            _ => Err(Gone),
        }
    }

    /// Envelopes, by a filter.
    pub async fn envelopes(&self, filter: EnvelopeFilter) -> Result<Envelopes, Gone> {
        match self.query(Query::Envelopes(filter)).await? {
            QueryAnswer::Envelopes(envelopes) => Ok(envelopes),
            _ => Err(Gone),
        }
    }

    /// The state without its history, and envelopes by a filter, of one moment.
    pub async fn outline(&self, filter: EnvelopeFilter) -> Result<(State, Envelopes), Gone> {
        match self.query(Query::Outline(filter)).await? {
            QueryAnswer::Outline(state, envelopes) => Ok((*state, envelopes)),
            _ => Err(Gone),
        }
    }

    /// The newest texts of people and agents, at most this many, oldest first.
    pub async fn history(&self, most: usize) -> Result<Vec<Said>, Gone> {
        match self.query(Query::History(most)).await? {
            QueryAnswer::History(said) => Ok(said),
            _ => Err(Gone),
        }
    }

    /// The state and its bell, of one moment.
    pub async fn watch(&self) -> Result<SpaceWatch, Gone> {
        self.ask(SpaceRequest::Watch).await
    }

    /// What a watcher has missed.
    pub async fn updates(&self, after: Cursor, revision: u64) -> Result<Result<Updates, FellOut>, Gone> {
        self.ask(|reply| SpaceRequest::Updates { after, revision, reply }).await
    }

    /// A part of an item as text, also of what is beyond what the item shows. The outer error: nobody is there to answer.
    pub async fn piece(&self, item: ItemId, offset: u64) -> Result<Result<Piece, NoPiece>, Gone> {
        self.ask(|reply| SpaceRequest::Piece { item, offset, reply }).await
    }

    /// A copy of the state that follows the original.
    pub async fn mirror(&self) -> Result<Mirror, Gone> {
        let SpaceWatch { state, end, revision, beat, pulse } = self.watch().await?;
        Ok(Mirror { space: self.clone(), state, cursor: end, revision, beat, pulse })
    }

    /// The agents that there are, and whether each can be used now. None when the space is gone. May take seconds: the
    /// agents themselves are asked.
    pub async fn agents(&self) -> Vec<AgentCard> {
        self.ask(|reply| SpaceRequest::Roster(RosterRequest::Agents(reply))).await.unwrap_or_default()
    }

    /// The conversations that an agent keeps of the space's directory, the newest first.
    pub async fn conversations(&self, agent: &str) -> Result<Vec<ConversationCard>, Refusal> {
        let agent = agent.to_owned();
        let asked = self.ask(|reply| SpaceRequest::Roster(RosterRequest::Conversations { agent, reply }));
        asked.await.map_err(|Gone| Refusal::NobodyThere)?
    }

    /// Asks something about an agent beside its conversation. May take seconds: the agent itself is asked.
    pub async fn manage(&self, agent: Option<&str>, ask: Ask) -> Result<Told, Refusal> {
        let agent = agent.map(str::to_owned);
        let asked = self.ask(|reply| SpaceRequest::Roster(RosterRequest::Manage { agent, ask, reply }));
        asked.await.map_err(|Gone| Refusal::NobodyThere)?
    }

    /// Has an agent take part, with a new conversation or one that it keeps. One that takes part already stays as it is;
    /// with a conversation it is ended, and started again with that one. Done once it takes part: whether it gets ready
    /// shows then.
    pub async fn invite(&self, agent: &str, conversation: Option<String>) -> Result<(), Refusal> {
        let agent = agent.to_owned();
        let asked = self.ask(|reply| SpaceRequest::Roster(RosterRequest::Invite { agent, conversation, reply }));
        asked.await.map_err(|Gone| Refusal::NobodyThere)?
    }

    /// Ends every agent, in steps or at once, and waits until they are gone. One that does not end in time is killed.
    pub async fn end(&self, now: bool) -> Result<(), Gone> {
        self.ask(|reply| SpaceRequest::End { now, reply }).await
    }
}

/// A copy of a space's state that follows the original.
#[derive(Debug)]
pub struct Mirror {
    space: Space,
    state: State,
    cursor: Cursor,
    revision: u64,
    beat: u64,
    pulse: watch::Receiver<Pulse>,
}

/// What is different since the last time.
#[derive(Debug, Default)]
pub struct Change {
    /// Items that are new or changed.
    pub items: BTreeSet<ItemId>,
    /// The mirror was too slow and began anew: everything may be different.
    pub reset: bool,
}

impl Mirror {
    /// What is true, as far as is known.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The space itself.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The newest [`Pulse::beat`] whose change is in the state.
    pub fn beat(&self) -> u64 {
        self.beat
    }

    /// Waits until something is different. Cancel safe.
    pub async fn changed(&mut self) -> Result<(), Gone> {
        self.pulse.changed().await.map_err(|_| Gone)
    }

    /// Catches up with the original. To be called after [`Mirror::changed`].
    pub async fn catch_up(&mut self) -> Result<Change, Gone> {
        // Marked as seen before it is asked for, so that what comes in between rings again.
        let beat = self.pulse.borrow_and_update().beat;
        let mut change = Change::default();
        loop {
            let Ok(updates) = self.space.updates(self.cursor.clone(), self.revision).await? else {
                let SpaceWatch { state, end, revision, .. } = self.space.watch().await?;
                (self.state, self.cursor, self.revision, self.beat) = (state, end, revision, beat);
                return Ok(Change { reset: true, ..change });
            };
            for numbered in &updates.events {
                if let Event::Item(item) = &numbered.event {
                    change.items.insert(item.id.clone());
                }
                if let Event::TurnEnded(turn, ..) = &numbered.event {
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
                (self.revision, self.beat) = (revision, beat);
                return Ok(change);
            }
        }
    }
}
