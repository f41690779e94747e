//! The space machine: what happens goes in, what must be done comes out. It routes chat to sessions, keeps their turns and
//! questions, and says what became of every command.

mod acknowledging;
mod addressing;
mod calling;
mod calls;
mod commands;
mod deeds;
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

use super::command::{Command, Done, Refusal};
use super::event::{Activity, Event, Evidence, Role, Scope, Status, StreamFrame};
use super::harness::{Key, Order, Report};
use super::item::{Body, Item, Level, Progress};
use super::name::{ItemId, ParticipantId, StreamId, TurnId};
use super::roster::{Ask, Told};
use super::session::{Life, Session};
use super::state::State;
use crate::receipt::{Receipt, Stage};
use crate::request::{Fingerprint, Ledger, Request, RequestId};
use calls::Calls;
use deeds::Deeds;
use listing::Running;
pub use messages::QueuedMessage;
pub use restored::Left;

/// Bytes of a message that the conversation shows. The agent gets all of it.
pub const LONGEST_TEXT: usize = 1 << 20;

/// Bytes of one message.
pub const LONGEST_MESSAGE: usize = 16 << 20;

/// How long an agent may take to answer a call.
const CALL_PATIENCE: Duration = Duration::from_secs(30);

/// Names whom an answer is for. The engine gives them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// The time, by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The steady one.
    pub steady: Instant,
    /// The one on the wall.
    pub time: SystemTime,
}

/// What happens.
#[derive(Debug)]
pub enum Input {
    /// An agent takes part, for the first time or again; its harness is being started.
    /// It interprets prompts that begin with these characters itself.
    Enrol(ParticipantId, &'static [char]),
    /// A door asks for something.
    Command {
        /// Whom the answer is for.
        ticket: Ticket,
        /// Who asks.
        by: ParticipantId,
        /// The caller's id for it, and what it asks for.
        request: Option<Request>,
        /// What.
        command: Command,
    },
    /// A harness has something to say.
    Report(ParticipantId, Report),
    /// What was asked about an agent by this number came to that.
    Managed(u64, Result<Told, Refusal>),
    /// There is something to tell about an agent, long after it was asked for.
    Announced(Level, Told),
    /// The space ends, and the next one goes on with it: messages that wait are not given up.
    Suspend,
    /// The time that [`Space::wake_at`] named has come.
    Tick,
}

/// What must be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Number it and tell everybody.
    Publish(Event),
    /// Tell everybody; only the newest counts.
    Signal(Signal),
    /// Tell a harness.
    Tell(ParticipantId, Order),
    /// Ask something about an agent beside its conversation; [`Input::Managed`] answers by this number.
    Manage {
        /// The number.
        number: u64,
        /// The agent; `None` is all of them.
        agent: Option<String>,
        /// What.
        ask: Ask,
    },
    /// Answer a command.
    Answer(Ticket, Result<Done, Refusal>),
}

/// What changes so often that only the newest counts.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// An item has grown.
    Item(Arc<Item>),
    /// Something came through a stream.
    Frame(StreamFrame),
}

/// The machine.
#[derive(Debug)]
pub struct Space {
    state: State,
    sessions: BTreeMap<ParticipantId, Session>,
    /// What was asked by which id, and what was answered.
    ledger: Ledger<(Fingerprint, Result<Done, Refusal>)>,
    /// The turns of a command that are not over, and how the first of them failed that did.
    commands: HashMap<RequestId, (Vec<TurnId>, Option<Stage>)>,
    calls: Calls,
    running: Running,
    deeds: Deeds,
    /// Messages of an earlier life whose agents do not take part yet.
    requeued: Vec<QueuedMessage>,
    /// The next space goes on with this one.
    suspended: bool,
    /// Prefix of ids that the space gives to commands without one.
    own_ids: String,
    counters: Counters,
    now: Now,
    effects: Vec<Effect>,
}

#[derive(Debug, Default)]
struct Counters {
    items: u64,
    turns: u64,
    streams: u64,
    requests: u64,
}

impl Space {
    /// An empty space of this name, shown to this person; what happened with that.
    pub fn new(name: &str, me: ParticipantId, now: Now) -> (Self, Vec<Effect>) {
        let mut space = Self {
            state: State::new(name, me.clone()),
            sessions: BTreeMap::new(),
            ledger: Ledger::default(),
            commands: HashMap::new(),
            calls: Calls::default(),
            running: Running::default(),
            deeds: Deeds::default(),
            requeued: Vec::new(),
            suspended: false,
            own_ids: "wh-".to_owned(),
            counters: Counters::default(),
            now,
            effects: Vec::new(),
        };
        space.publish(Event::Joined(system(), Role::System));
        space.publish(Event::Joined(me, Role::Human));
        let effects = std::mem::take(&mut space.effects);
        (space, effects)
    }

    /// Sets whom chat goes to by default: the person's own choice, and that of the space. What happened with that.
    pub fn default_targets(
        &mut self,
        participant: Option<Vec<ParticipantId>>,
        global: Option<Vec<ParticipantId>>,
    ) -> Vec<Effect> {
        for (scope, targets) in [(Scope::Participant, participant), (Scope::Global, global)] {
            if targets.is_some() {
                self.publish(Event::Targets(scope, targets));
            }
        }
        std::mem::take(&mut self.effects)
    }

    /// What is true.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// True if this id is that of a command of this life that is still remembered.
    pub fn knows(&mut self, id: &RequestId, now: Now) -> bool {
        self.ledger.find(id, now.steady).is_some()
    }

    /// What the harness of this item's owner calls it.
    pub fn key_of(&self, item: &Item) -> Option<&Key> {
        let session = self.sessions.get(&item.from)?;
        session.items.iter().find(|(_, id)| **id == item.id).map(|(key, _)| key)
    }

    /// When [`Input::Tick`] must come if nothing else happens before, by the wall clock.
    pub fn wake_at(&self) -> Option<SystemTime> {
        let pauses = self.state.participants.values().filter_map(|one| one.paused.as_ref()?.until);
        pauses.chain(self.calls.deadline()).chain(self.deeds.deadline()).chain(self.listing_deadline()).min()
    }

    /// Takes note of what happened and says what to do about it, in order.
    pub fn handle(&mut self, input: Input, now: Now) -> Vec<Effect> {
        self.now = now;
        match input {
            Input::Enrol(id, interprets) => self.enrol(id, interprets),
            Input::Command { ticket, by, request, command } => self.command(ticket, &by, request, command),
            Input::Report(id, report) => self.report(&id, report),
            Input::Managed(number, told) => self.managed(number, told),
            Input::Announced(level, told) => self.notice(level, "agents", told.lines()),
            Input::Suspend => self.suspended = true,
            Input::Tick => self.tick(),
        }
        self.dispatch();
        std::mem::take(&mut self.effects)
    }

    fn publish(&mut self, event: Event) {
        self.state.apply(&event, self.now.time);
        self.effects.push(Effect::Publish(event));
    }

    /// Puts an item and tells everybody what it is then; unless nothing changes by it.
    fn put(&mut self, item: Item) {
        self.note_running(&item);
        self.publish_item(item, 0);
    }

    /// The same, with at least so many of its envelopes listed.
    fn publish_item(&mut self, item: Item, least: usize) {
        let id = item.id.clone();
        let before = self.state.items.get(&id).cloned();
        self.state.put_at(Arc::new(item), self.now.time, least);
        let after = self.state.items.get(&id).cloned();
        if let Some(after) = after.filter(|after| before.is_none_or(|before| !Arc::ptr_eq(&before, after))) {
            self.effects.push(Effect::Publish(Event::Item(after)));
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

    /// An id for a command without one.
    pub fn request_id(&mut self) -> RequestId {
        loop {
            self.counters.requests += 1;
            // Ours have a letter and a number and so are always ids; a caller's may look the same.
            if let Ok(id) = RequestId::new(format!("{}{}", self.own_ids, self.counters.requests))
                && self.state.receipts.get(&id).is_none()
            {
                return id;
            }
        }
    }

    /// Something that is complete at once.
    fn whole(&mut self, letter: char, from: ParticipantId, to: Option<Vec<ParticipantId>>, body: Body) -> ItemId {
        let id = self.item_id(letter);
        let turn = self.sessions.get(&from).and_then(|session| session.turn.clone());
        self.put(Item { to, turn, ..Item::complete(id.clone(), from, self.now.time, body) });
        id
    }

    fn act(&mut self, from: ParticipantId, kind: &str, payload: serde_json::Value, about: Vec<ItemId>) {
        self.whole('a', from, None, Body::Act { kind: kind.to_owned(), payload, about });
    }

    fn notice(&mut self, level: Level, topic: &str, lines: Vec<String>) {
        self.whole('n', system(), None, Body::Notice { level, topic: topic.to_owned(), lines });
    }

    fn enrol(&mut self, id: ParticipantId, interprets: &'static [char]) {
        if self.sessions.get(&id).is_some_and(|session| !matches!(session.life, Life::Gone(_))) {
            return;
        }
        self.publish(Event::Joined(id.clone(), Role::Agent));
        self.act(system(), "system/presence", json!({ "event": "join", "participant": { "id": id.as_str() } }), vec![]);
        self.sessions.insert(id.clone(), Session::new(interprets));
        self.requeue(&id);
        self.settle(&id);
    }

    /// Gives every agent that can take one its next prompt, and says how each fares.
    fn dispatch(&mut self) {
        let ids: Vec<ParticipantId> = self.sessions.keys().cloned().collect();
        for id in ids {
            // What is not handed over before the space ends is handed over by the next one.
            let takes = !self.suspended && self.state.participants.get(&id).is_some_and(|one| one.paused.is_none());
            if takes && let Some((prompt, order)) = self.sessions.get_mut(&id).and_then(Session::next) {
                self.publish(Event::TurnStarted { turn: prompt.turn, by: id.clone(), prompt: prompt.item });
                self.effects.push(Effect::Tell(id.clone(), order));
            }
            self.settle(&id);
        }
    }

    /// Publishes how a session fares, if that has changed.
    fn settle(&mut self, id: &ParticipantId) {
        let Some(session) = self.sessions.get(id) else { return };
        let paused = self.state.participants.get(id).is_some_and(|one| one.paused.is_some());
        let question = self.state.questions().find(|item| item.from == *id).map(|item| item.id.clone());
        let activity = match (&session.life, question, &session.turn) {
            (Life::Gone(reason), _, _) => Activity::Gone(reason.clone()),
            (Life::Starting, _, _) => Activity::Starting,
            (Life::Ready, Some(question), _) => Activity::Waiting(question),
            (Life::Ready, None, _) if paused => Activity::Paused,
            (Life::Ready, None, Some(turn)) => Activity::Working(turn.clone()),
            (Life::Ready, None, None) => Activity::Idle,
        };
        if self.state.activity(id) != Some(&activity) {
            let evidence = match activity {
                Activity::Starting | Activity::Gone(_) => Evidence::Process,
                _ => Evidence::Protocol,
            };
            self.publish(Event::Session(id.clone(), Status { activity, evidence, since: self.now.time }));
        }
    }

    /// Moves the receipt of a command forward.
    fn reach(&mut self, request_id: &RequestId, stage: Stage) {
        if let Some(known) = self.state.receipts.get(request_id) {
            let mut receipt = known.clone();
            if receipt.reach(stage, self.now.time) {
                self.publish(Event::Receipt(receipt));
            }
        }
    }

    /// Puts a warning on the receipt of the command that this turn is of.
    fn turn_warned(&mut self, turn: &TurnId, warning: String) {
        let of = self.commands.iter().find(|(_, (turns, _))| turns.contains(turn));
        let known = of.and_then(|(request_id, _)| self.state.receipts.get(request_id));
        if let Some(mut receipt) = known.cloned() {
            receipt.warning = Some(warning);
            self.publish(Event::Receipt(receipt));
        }
    }

    /// Moves forward the receipt of the command that this turn is of.
    fn turn_reached(&mut self, turn: &TurnId, stage: Stage) {
        let of = self.commands.iter_mut().find(|(_, (turns, _))| turns.contains(turn));
        let Some((request_id, (open, failed))) = of else { return };
        let request_id = request_id.clone();
        if !stage.is_last() {
            self.handed_over(turn, Progress::Done);
            return self.reach(&request_id, stage);
        }
        open.retain(|open| open != turn);
        let progress = if let Stage::Failed(_) = stage { Progress::Cut } else { Progress::Done };
        if matches!(stage, Stage::Failed(_)) {
            failed.get_or_insert_with(|| stage.clone());
        }
        if open.is_empty() {
            // One agent that failed is a command that failed, whoever was last.
            let stage = failed.take().unwrap_or(stage);
            self.commands.remove(&request_id);
            self.reach(&request_id, stage);
        }
        self.handed_over(turn, progress);
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
            self.publish(Event::Paused(id.clone(), None));
            self.act(id, "participant/resume", json!({ "reason": "timeout" }), vec![]);
        }
        for (ticket, request_id) in self.calls.overdue(self.now.time) {
            self.fail(ticket, &request_id, "the agent did not answer in time".to_owned());
        }
        self.overdue_deeds();
        self.list_running();
    }

    fn fail(&mut self, ticket: Ticket, request_id: &RequestId, reason: String) {
        self.reach(request_id, Stage::Failed(reason.as_str().into()));
        self.remember(request_id, Err(Refusal::Failed(reason.clone())));
        self.effects.push(Effect::Answer(ticket, Err(Refusal::Failed(reason))));
    }

    /// What a retry of this command is answered from now on, if its caller gave it an id.
    fn remember(&mut self, id: &RequestId, answer: Result<Done, Refusal>) {
        if let Some((fingerprint, _)) = self.ledger.find(id, self.now.steady) {
            let fingerprint = fingerprint.clone();
            self.ledger.enter(id.clone(), (fingerprint, answer), self.now.steady);
        }
    }
}

/// wh itself, as a participant.
pub fn system() -> ParticipantId {
    ParticipantId::from("system")
}
