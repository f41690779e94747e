//! State machine of a space. It takes inputs and returns effects, which the engine executes. It sends messages to
//! agents, tracks their turns and questions, and reports the progress of every command.

mod acknowledging;
mod acks;
mod addressing;
mod calling;
mod calls;
mod commands;
mod listing;
mod managing;
mod messages;
mod posting;
mod reports;
mod restored;
mod settings;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;

use super::command::{CommandAccepted, ConversationCommand, SpaceRefusal};
use super::event::{Activity, AgentStatus, Evidence, ParticipantRole, SpaceEvent, StreamFrame, TargetScope};
use super::harness::{HarnessKey, Order, Report};
use super::item::{Item, ItemBody, ItemProgress, NoticeLevel};
use super::name::{ItemId, ParticipantId, StreamId, TurnId};
use super::roster::{AgentReply, AgentRequest};
use super::session::{AgentState, Lifecycle};
use super::state::SpaceState;
use crate::receipt::{Receipt, ReceiptStage};
use crate::request::{Fingerprint, FingerprintedId, Ledger, RequestId};
use acks::PendingAcks;
use calls::PendingCalls;
use listing::RunningCalls;
pub use messages::QueuedMessage;
pub use restored::RestoredSpace;

/// Maximum size of a message as the conversation shows it. The agent receives the complete message.
pub const MAX_SHOWN_MESSAGE_BYTES: usize = 1 << 20;

/// Maximum size of a message that is accepted.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Maximum time for an agent to answer a call or to acknowledge an order.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Number by which the engine finds the caller that an answer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Current time of the monotonic clock and of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    pub steady: Instant,
    /// Time of the wall clock.
    pub time: SystemTime,
}

/// Input of the space's state machine.
#[derive(Debug)]
pub enum SpaceInput {
    /// An agent joins the space and its harness is being started. The agent interprets prompts that begin with one of
    /// these characters.
    Enrol(ParticipantId, &'static [char]),
    Command {
        /// Ticket for the answer to the client.
        ticket: Ticket,
        /// Participant that sends the command.
        by: ParticipantId,
        /// Request id and fingerprint, if the client gave a request id.
        request: Option<FingerprintedId>,
        command: ConversationCommand,
    },
    /// The harness of this agent sent a report.
    Report(ParticipantId, Report),
    /// Result of the request in [`SpaceEffect::Manage`] with this number.
    Managed(u64, Result<AgentReply, SpaceRefusal>),
    /// Result that arrives after a request about an agent was answered, such as the end of a login.
    Announced(NoticeLevel, AgentReply),
    /// The space ends and will be restored later. Queued messages are retained for the restored space.
    Suspend,
    /// The time returned by [`SpaceMachine::wake_at`] was reached.
    Tick,
}

/// Effect of the space's state machine, which the engine must execute.
#[derive(Debug, Clone, PartialEq)]
pub enum SpaceEffect {
    /// Publish a numbered event to all subscribers.
    Publish(SpaceEvent),
    /// Publish a signal. A newer signal replaces one that a subscriber has not received.
    Signal(TransientChange),
    /// Send an order to the harness of this agent.
    SendOrder(ParticipantId, Order),
    /// Execute a request about agents, then send [`SpaceInput::Managed`] with the same number.
    Manage {
        number: u64,
        /// Id of the agent; `None` for all agents.
        agent: Option<String>,
        ask: AgentRequest,
    },
    Answer(Ticket, Result<CommandAccepted, SpaceRefusal>),
}

/// Frequent change that is not an event. Only the newest state matters to a subscriber.
#[derive(Debug, Clone, PartialEq)]
pub enum TransientChange {
    Item(Arc<Item>),
    /// Data was received through a stream.
    Frame(StreamFrame),
}

/// State machine of a space.
#[derive(Debug)]
pub struct SpaceMachine {
    state: SpaceState,
    sessions: BTreeMap<ParticipantId, AgentState>,
    /// Stored answers by request id, with the fingerprint of the command.
    ledger: Ledger<(Fingerprint, Result<CommandAccepted, SpaceRefusal>)>,
    /// Running commands. Each has its unfinished turns, and the first failure among its ended turns.
    commands: HashMap<RequestId, (Vec<TurnId>, Option<ReceiptStage>)>,
    calls: PendingCalls,
    running: RunningCalls,
    acks: PendingAcks,
    /// Messages of an earlier run whose agents have not joined yet.
    requeued: Vec<QueuedMessage>,
    /// True if the space ends and will be restored later.
    suspended: bool,
    /// Prefix of the request ids that the space assigns to commands without one.
    own_ids: String,
    counters: IdCounters,
    now: Now,
    effects: Vec<SpaceEffect>,
}

#[derive(Debug, Default)]
struct IdCounters {
    items: u64,
    turns: u64,
    streams: u64,
    requests: u64,
}

impl SpaceMachine {
    /// Creates an empty space with this name and user. Returns the space and the effects of its creation.
    pub fn new(name: &str, me: ParticipantId, now: Now) -> (Self, Vec<SpaceEffect>) {
        let mut space = Self {
            state: SpaceState::new(name, me.clone()),
            sessions: BTreeMap::new(),
            ledger: Ledger::default(),
            commands: HashMap::new(),
            calls: PendingCalls::default(),
            running: RunningCalls::default(),
            acks: PendingAcks::default(),
            requeued: Vec::new(),
            suspended: false,
            own_ids: "wh-".to_owned(),
            counters: IdCounters::default(),
            now,
            effects: Vec::new(),
        };
        space.publish(SpaceEvent::Joined(system(), ParticipantRole::System));
        space.publish(SpaceEvent::Joined(me, ParticipantRole::Human));
        let effects = std::mem::take(&mut space.effects);
        (space, effects)
    }

    /// Sets the default chat targets of the user and of the space; `None` leaves a default unchanged. Returns the
    /// effects.
    pub fn default_targets(
        &mut self,
        participant: Option<Vec<ParticipantId>>,
        global: Option<Vec<ParticipantId>>,
    ) -> Vec<SpaceEffect> {
        for (scope, targets) in [(TargetScope::Participant, participant), (TargetScope::Global, global)] {
            if targets.is_some() {
                self.publish(SpaceEvent::Targets(scope, targets));
            }
        }
        std::mem::take(&mut self.effects)
    }

    pub fn state(&self) -> &SpaceState {
        &self.state
    }

    /// True if the answer to the command with this request id is stored.
    pub fn has_answer(&mut self, id: &RequestId, now: Now) -> bool {
        self.ledger.find(id, now.steady).is_some()
    }

    /// Returns the key of the item in the harness of its author.
    pub fn key_of(&self, item: &Item) -> Option<&HarnessKey> {
        let session = self.sessions.get(&item.from)?;
        session.items.iter().find(|(_, id)| **id == item.id).map(|(key, _)| key)
    }

    /// Returns the wall-clock time at which the engine must send [`SpaceInput::Tick`] if it sends no other input
    /// before.
    pub fn wake_at(&self) -> Option<SystemTime> {
        let pauses = self.state.participants.values().filter_map(|one| one.paused.as_ref()?.until);
        pauses.chain(self.calls.deadline()).chain(self.acks.deadline()).chain(self.listing_deadline()).min()
    }

    /// Handles an input and returns the effects in the order of execution.
    pub fn handle(&mut self, input: SpaceInput, now: Now) -> Vec<SpaceEffect> {
        self.now = now;
        match input {
            SpaceInput::Enrol(id, interprets) => self.enrol(id, interprets),
            SpaceInput::Command { ticket, by, request, command } => self.command(ticket, &by, request, command),
            SpaceInput::Report(id, report) => self.report(&id, report),
            SpaceInput::Managed(number, reply) => self.managed(number, reply),
            SpaceInput::Announced(level, reply) => self.notice(level, "agents", reply.lines()),
            SpaceInput::Suspend => self.suspended = true,
            SpaceInput::Tick => self.tick(),
        }
        self.dispatch();
        std::mem::take(&mut self.effects)
    }

    fn publish(&mut self, event: SpaceEvent) {
        self.state.apply(&event, self.now.time);
        self.effects.push(SpaceEffect::Publish(event));
    }

    /// Stores an item and publishes it if it has changed.
    fn put(&mut self, item: Item) {
        self.note_running(&item);
        self.publish_item(item, 0);
    }

    /// Stores an item with at least `least` listed envelopes, and publishes it if it has changed.
    fn publish_item(&mut self, item: Item, least: usize) {
        let id = item.id.clone();
        let before = self.state.items.get(&id).cloned();
        self.state.put_at(Arc::new(item), self.now.time, least);
        let after = self.state.items.get(&id).cloned();
        if let Some(after) = after.filter(|after| before.is_none_or(|before| !Arc::ptr_eq(&before, after))) {
            self.effects.push(SpaceEffect::Publish(SpaceEvent::Item(after)));
        }
    }

    fn item_id(&mut self, letter: char) -> ItemId {
        self.counters.items += 1;
        ItemId::from(format!("{letter}{}", self.counters.items))
    }

    fn stream_id(&mut self) -> StreamId {
        self.counters.streams += 1;
        StreamId::from(format!("stream-{}", self.counters.streams))
    }

    fn turn_id(&mut self) -> TurnId {
        self.counters.turns += 1;
        TurnId::from(format!("turn-{}", self.counters.turns))
    }

    /// Returns a new request id for a command whose caller gave none.
    pub fn request_id(&mut self) -> RequestId {
        loop {
            self.counters.requests += 1;
            // A generated id is always valid, but a caller may already have used the same id.
            if let Ok(id) = RequestId::new(format!("{}{}", self.own_ids, self.counters.requests))
                && self.state.receipts.get(&id).is_none()
            {
                return id;
            }
        }
    }

    /// Creates and stores a complete item, and returns its id.
    fn put_complete(
        &mut self,
        letter: char,
        from: ParticipantId,
        to: Option<Vec<ParticipantId>>,
        body: ItemBody,
    ) -> ItemId {
        let id = self.item_id(letter);
        let turn = self.sessions.get(&from).and_then(|session| session.turn.clone());
        self.put(Item { to, turn, ..Item::complete(id.clone(), from, self.now.time, body) });
        id
    }

    fn act(&mut self, from: ParticipantId, kind: &str, payload: serde_json::Value, about: Vec<ItemId>) {
        self.put_complete('a', from, None, ItemBody::Act { kind: kind.to_owned(), payload, about });
    }

    fn notice(&mut self, level: NoticeLevel, topic: &str, lines: Vec<String>) {
        self.put_complete('n', system(), None, ItemBody::Notice { level, topic: topic.to_owned(), lines });
    }

    fn enrol(&mut self, id: ParticipantId, interprets: &'static [char]) {
        if self.sessions.get(&id).is_some_and(|session| !matches!(session.lifecycle, Lifecycle::Gone(_))) {
            return;
        }
        self.publish(SpaceEvent::Joined(id.clone(), ParticipantRole::Agent));
        self.act(system(), "system/presence", json!({ "event": "join", "participant": { "id": id.as_str() } }), vec![]);
        self.sessions.insert(id.clone(), AgentState::new(interprets));
        self.requeue(&id);
        self.publish_status(&id);
    }

    /// Sends the next prompt to each agent that can receive one, and publishes changes of the agents' status.
    fn dispatch(&mut self) {
        let ids: Vec<ParticipantId> = self.sessions.keys().cloned().collect();
        for id in ids {
            // After a suspension, prompts stay queued for the restored space.
            let takes = !self.suspended && self.state.participants.get(&id).is_some_and(|one| one.paused.is_none());
            if takes && let Some((prompt, order)) = self.sessions.get_mut(&id).and_then(AgentState::next) {
                self.publish(SpaceEvent::TurnStarted { turn: prompt.turn, by: id.clone(), prompt: prompt.item });
                self.effects.push(SpaceEffect::SendOrder(id.clone(), order));
            }
            self.publish_status(&id);
        }
    }

    /// Publishes the status of an agent if its activity has changed.
    fn publish_status(&mut self, id: &ParticipantId) {
        let Some(session) = self.sessions.get(id) else { return };
        let paused = self.state.participants.get(id).is_some_and(|one| one.paused.is_some());
        let question = self.state.questions().find(|item| item.from == *id).map(|item| item.id.clone());
        let known = session.evidence.as_ref().is_none_or(|report| report.known);
        let activity = match (&session.lifecycle, question, &session.turn) {
            (Lifecycle::Gone(reason), _, _) => Activity::Gone(reason.clone()),
            (Lifecycle::Starting, _, _) => Activity::Starting,
            (Lifecycle::Ready, Some(question), _) => Activity::Waiting(question),
            (Lifecycle::Ready, None, _) if paused => Activity::Paused,
            (Lifecycle::Ready, None, _) if !known => Activity::Unknown,
            (Lifecycle::Ready, None, Some(turn)) => Activity::Working(turn.clone()),
            (Lifecycle::Ready, None, None) => Activity::Idle,
        };
        let reported = match activity {
            Activity::Gone(_) => None,
            _ => session.evidence.clone(),
        };
        let process = matches!(activity, Activity::Starting | Activity::Gone(_));
        let source = if process { Evidence::Process } else { Evidence::Protocol };
        let (evidence, observation, waits_for) = match reported {
            Some(report) => (report.source, Some(report.observation), report.waits_for),
            None => (source, None, None),
        };
        let current = self.state.participants.get(id).and_then(|one| one.session.as_ref());
        let since = current.filter(|status| status.activity == activity).map_or(self.now.time, |status| status.since);
        let status = AgentStatus { activity, evidence, since, observation, waits_for };
        if current != Some(&status) {
            self.publish(SpaceEvent::Session(id.clone(), status));
        }
    }

    /// Moves the receipt of a command to this stage and publishes it.
    fn reach(&mut self, request_id: &RequestId, stage: ReceiptStage) {
        if let Some(known) = self.state.receipts.get(request_id) {
            let mut receipt = known.clone();
            if receipt.reach(stage, self.now.time) {
                self.publish(SpaceEvent::Receipt(receipt));
            }
        }
    }

    /// Sets the warning in the receipt of the command that started this turn.
    fn turn_warned(&mut self, turn: &TurnId, warning: String) {
        let of = self.commands.iter().find(|(_, (turns, _))| turns.contains(turn));
        let known = of.and_then(|(request_id, _)| self.state.receipts.get(request_id));
        if let Some(mut receipt) = known.cloned() {
            receipt.warning = Some(warning);
            self.publish(SpaceEvent::Receipt(receipt));
        }
    }

    /// Moves the receipt of the command that started this turn to this stage. The command ends when its last turn has
    /// ended.
    fn turn_reached(&mut self, turn: &TurnId, stage: ReceiptStage) {
        let of = self.commands.iter_mut().find(|(_, (turns, _))| turns.contains(turn));
        let Some((request_id, (open, failed))) = of else { return };
        let request_id = request_id.clone();
        if !stage.is_last() {
            self.update_queued(turn, ItemProgress::Done);
            return self.reach(&request_id, stage);
        }
        open.retain(|open| open != turn);
        let progress = if let ReceiptStage::Failed(_) = stage { ItemProgress::Cut } else { ItemProgress::Done };
        if matches!(stage, ReceiptStage::Failed(_)) {
            failed.get_or_insert_with(|| stage.clone());
        }
        if open.is_empty() {
            // A command has failed if any of its agents has failed.
            let stage = failed.take().unwrap_or(stage);
            self.commands.remove(&request_id);
            self.reach(&request_id, stage);
        }
        self.update_queued(turn, progress);
    }

    fn receipt(&self, id: &RequestId) -> Receipt {
        let unknown = || Receipt::accepted(id.clone(), self.now.time);
        self.state.receipts.get(id).cloned().unwrap_or_else(unknown)
    }

    fn tick(&mut self) {
        let over = |until: Option<SystemTime>| until.is_some_and(|until| until <= self.now.time);
        let ended: Vec<ParticipantId> = self
            .state
            .participants
            .iter()
            .filter(|(_, one)| one.paused.as_ref().is_some_and(|pause| over(pause.until)))
            .map(|(id, _)| id.clone())
            .collect();
        for id in ended {
            self.publish(SpaceEvent::Paused(id.clone(), None));
            self.act(id, "participant/resume", json!({ "reason": "timeout" }), vec![]);
        }
        for (ticket, request_id) in self.calls.overdue(self.now.time) {
            self.fail(ticket, &request_id, "the agent did not answer in time".to_owned());
        }
        self.fail_overdue_acks();
        self.list_running();
    }

    fn fail(&mut self, ticket: Ticket, request_id: &RequestId, reason: String) {
        self.reach(request_id, ReceiptStage::Failed(reason.as_str().into()));
        self.remember(request_id, Err(SpaceRefusal::Failed(reason.clone())));
        self.effects.push(SpaceEffect::Answer(ticket, Err(SpaceRefusal::Failed(reason))));
    }

    /// Replaces the stored answer of a command, if the caller gave the command a request id.
    fn remember(&mut self, id: &RequestId, answer: Result<CommandAccepted, SpaceRefusal>) {
        if let Some((fingerprint, _)) = self.ledger.find(id, self.now.steady) {
            let fingerprint = fingerprint.clone();
            self.ledger.enter(id.clone(), (fingerprint, answer), self.now.steady);
        }
    }
}

/// Returns the participant id of the `wh` program.
pub fn system() -> ParticipantId {
    ParticipantId::from("system")
}
