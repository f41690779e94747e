//! What is true of a space: the fold of its events, kept by the engine and by everybody who mirrors it. Events may come
//! late, twice, or about things that nobody knows; the state stays valid, see [`State::check`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::envelope;
use super::event::{Acknowledgement, Activity, Event, Pause, Role, Scope, Status, StreamFrame, Tally};
use super::harness::{Capabilities, Outcome, Tool, Usage};
use super::item::{Body, Item, Progress};
use super::items::Items;
use super::name::{ItemId, ParticipantId, StreamId, TurnId};
use crate::receipt::Receipts;

/// Frames of streams that are kept, of all streams together.
pub const MOST_FRAMES: usize = 50;

/// Messages that may wait for an acknowledgement. Beyond that the oldest no longer do.
const MOST_ACKNOWLEDGEMENTS: usize = 1000;

/// Streams that may be open. Beyond that the oldest is taken to be closed.
const MOST_STREAMS: usize = 256;

/// Turns that are remembered after their end.
const MOST_TURNS: usize = 10_000;

/// A participant and what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Participant {
    /// What it is.
    pub role: Role,
    /// Whether it still takes part.
    pub present: bool,
    /// How its session fares, if it has one.
    pub session: Option<Status>,
    /// What it can do.
    pub capabilities: Arc<Capabilities>,
    /// Its tools.
    pub tools: Arc<[Tool]>,
    /// What it has cost.
    pub usage: Option<Usage>,
    /// What it said of itself: a word, a sentence, when.
    pub said: Option<(String, Option<String>, SystemTime)>,
    /// Whether it is paused.
    pub paused: Option<Pause>,
}

impl Participant {
    /// Whether it is an agent that is not ready for the next prompt.
    pub fn is_busy(&self) -> bool {
        let activity = self.session.as_ref().map(|status| &status.activity);
        activity.is_some_and(|activity| !matches!(activity, Activity::Idle | Activity::Gone(_)))
    }
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Whose.
    pub by: ParticipantId,
    /// What it is about.
    pub prompt: ItemId,
    /// When it began.
    pub at: SystemTime,
    /// How it ended, and when.
    pub end: Option<(Outcome, SystemTime)>,
    /// What it came to, once it is over.
    pub tally: Option<Tally>,
}

/// An open stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// Its id.
    pub id: StreamId,
    /// Who opened it.
    pub by: ParticipantId,
    /// When.
    pub at: SystemTime,
    /// When something last came through it.
    pub last: SystemTime,
}

/// Whom chat goes to, by scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Targets {
    /// Chosen for now.
    pub chosen: Option<Vec<ParticipantId>>,
    /// The participant's own default.
    pub participant: Option<Vec<ParticipantId>>,
    /// The space's default.
    pub global: Option<Vec<ParticipantId>>,
}

impl Targets {
    /// What holds; `None` is everybody.
    pub fn effective(&self) -> Option<&[ParticipantId]> {
        [&self.chosen, &self.participant, &self.global]
            .into_iter()
            .flatten()
            .find(|list| !list.is_empty())
            .map(Vec::as_slice)
    }
}

/// What is true of a space.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    /// Its name.
    pub name: String,
    /// The person whom this space is shown to.
    pub me: ParticipantId,
    /// Who takes part, or did.
    pub participants: BTreeMap<ParticipantId, Participant>,
    /// The conversation.
    pub items: Items,
    /// Its turns, the newest last.
    pub turns: BTreeMap<TurnId, Turn>,
    turn_order: VecDeque<TurnId>,
    /// Messages that wait for an acknowledgement, oldest first.
    pub acknowledgements: Vec<Acknowledgement>,
    /// Open streams, oldest first.
    pub streams: Vec<Stream>,
    /// What came through streams last, oldest first.
    pub frames: VecDeque<StreamFrame>,
    /// Whom chat goes to.
    pub targets: Targets,
    /// What became of commands. Not serialised: a copy in another process begins without them.
    #[serde(skip)]
    pub receipts: Receipts,
    /// Envelopes so far.
    pub envelopes: u64,
    /// Another number after every change.
    pub revision: u64,
}

/// The few numbers of a space that others wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Gauges {
    /// Envelopes so far.
    pub messages: u64,
    /// Somebody reasons.
    pub reasoning: bool,
    /// Operations that wait for an answer.
    pub pending: u64,
    /// An agent is starting, at work or waiting, or a prompt waits for one.
    pub busy: bool,
}

impl State {
    /// An empty space, shown to this person.
    pub fn new(name: &str, me: ParticipantId) -> Self {
        Self {
            name: name.to_owned(),
            me,
            participants: BTreeMap::new(),
            items: Items::default(),
            turns: BTreeMap::new(),
            turn_order: VecDeque::new(),
            acknowledgements: Vec::new(),
            streams: Vec::new(),
            frames: VecDeque::new(),
            targets: Targets::default(),
            receipts: Receipts::default(),
            envelopes: 0,
            revision: 0,
        }
    }

    /// Takes note of what happened at this time.
    pub fn apply(&mut self, event: &Event, at: SystemTime) {
        self.revision += 1;
        match event {
            Event::Joined(id, role) => self.join(id, *role),
            Event::Left(id) => self.with(id, |participant| participant.present = false),
            Event::Item(item) => self.put_at(Arc::clone(item), at, 0),
            Event::TurnStarted { turn, by, prompt } => self.start_turn(turn, by, prompt, at),
            Event::TurnEnded(turn, outcome, tally) => self.end_turn(turn, outcome, tally, at),
            Event::Session(id, status) => self.with(id, |participant| participant.session = Some(status.clone())),
            Event::Capabilities(id, capabilities) => {
                self.with(id, |participant| participant.capabilities = Arc::clone(capabilities));
            }
            Event::Tools(id, tools) => self.with(id, |participant| participant.tools = Arc::clone(tools)),
            Event::Usage(id, usage) => self.with(id, |participant| participant.usage = Some(*usage)),
            Event::Said { by, status, summary } => {
                self.with(by, |participant| participant.said = Some((status.clone(), summary.clone(), at)));
            }
            Event::AcknowledgementWanted(wanted) => {
                if !self.acknowledgements.iter().any(|known| known.item == wanted.item && known.to == wanted.to) {
                    if self.acknowledgements.len() == MOST_ACKNOWLEDGEMENTS {
                        self.acknowledgements.remove(0);
                    }
                    self.acknowledgements.push(wanted.clone());
                }
            }
            Event::Acknowledged { item, by, .. } => {
                self.acknowledgements.retain(|known| known.item != *item || known.to != *by);
            }
            Event::AcknowledgementDropped(item) => self.acknowledgements.retain(|known| known.item != *item),
            Event::StreamOpened(id, by) => {
                if !self.streams.iter().any(|stream| stream.id == *id) {
                    if self.streams.len() == MOST_STREAMS {
                        self.streams.remove(0);
                    }
                    self.streams.push(Stream { id: id.clone(), by: by.clone(), at, last: at });
                }
            }
            Event::StreamClosed(id) => self.streams.retain(|stream| stream.id != *id),
            Event::Paused(id, pause) => self.with(id, |participant| participant.paused = pause.clone()),
            Event::Targets(scope, targets) => {
                let place = match scope {
                    Scope::Override => &mut self.targets.chosen,
                    Scope::Participant => &mut self.targets.participant,
                    Scope::Global => &mut self.targets.global,
                };
                *place = targets.clone();
            }
            Event::Receipt(receipt) => self.receipts.put(receipt.clone()),
        }
    }

    /// Puts an item in the place of the one of the same id, unless that one is further. Also how growth is told.
    pub fn put(&mut self, item: Arc<Item>) {
        let at = item.at;
        self.put_at(item, at, 0);
    }

    /// The same at this time: at least `least` of its envelopes are listed, and all that are due.
    pub(super) fn put_at(&mut self, item: Arc<Item>, at: SystemTime, least: usize) {
        self.revision += 1;
        let over = item.turn.as_ref().and_then(|turn| self.turns.get(turn)).is_some_and(|turn| turn.end.is_some());
        let item = if over && item.progress == Progress::Growing { Arc::new(cut((*item).clone())) } else { item };
        let id = item.id.clone();
        if let Some(change) = self.items.put(item, at, least) {
            let before = change.map_or(0, |old| envelope::count(&old));
            let after = self.items.get(&id).map_or(0, |item| envelope::count(item));
            self.envelopes = (self.envelopes + after as u64).saturating_sub(before as u64);
        }
    }

    /// Takes note of what came through a stream; only the newest are kept. The last frames of a stream may come after its
    /// end.
    pub fn frame(&mut self, frame: StreamFrame) {
        self.revision += 1;
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.id == frame.stream) {
            stream.last = stream.last.max(frame.at);
        }
        if self.frames.len() == MOST_FRAMES {
            self.frames.pop_front();
        }
        self.frames.push_back(frame);
    }

    fn join(&mut self, id: &ParticipantId, role: Role) {
        let fresh = Participant {
            role,
            present: true,
            session: None,
            capabilities: Arc::default(),
            tools: Arc::from([]),
            usage: None,
            said: None,
            paused: None,
        };
        // Who comes back begins anew; that somebody joined may be told twice.
        let known = self.participants.get(id).is_some_and(|known| known.present);
        if !known {
            self.participants.insert(id.clone(), fresh);
        }
    }

    fn with(&mut self, id: &ParticipantId, change: impl FnOnce(&mut Participant)) {
        if let Some(participant) = self.participants.get_mut(id) {
            change(participant);
        }
    }

    fn start_turn(&mut self, turn: &TurnId, by: &ParticipantId, prompt: &ItemId, at: SystemTime) {
        if self.turns.contains_key(turn) {
            return;
        }
        if self.turn_order.len() == MOST_TURNS
            && let Some(oldest) = self.turn_order.pop_front()
        {
            self.turns.remove(&oldest);
        }
        self.turn_order.push_back(turn.clone());
        self.turns.insert(turn.clone(), Turn { by: by.clone(), prompt: prompt.clone(), at, end: None, tally: None });
    }

    fn end_turn(&mut self, id: &TurnId, outcome: &Outcome, tally: &Tally, at: SystemTime) {
        let Some(turn) = self.turns.get_mut(id) else { return };
        if turn.end.is_some() {
            return;
        }
        (turn.end, turn.tally) = (Some((outcome.clone(), at)), Some(tally.clone()));
        let open: Vec<Arc<Item>> =
            self.items.growing().filter(|item| item.turn.as_ref() == Some(id)).cloned().collect();
        for item in open {
            self.put_at(Arc::new(cut((*item).clone())), at, 0);
        }
    }

    /// Takes over turns as they are.
    pub(super) fn keep_turns(&mut self, turns: impl Iterator<Item = (TurnId, Turn)>) {
        for (id, turn) in turns {
            if self.turns.insert(id.clone(), turn).is_none() {
                self.turn_order.push_back(id);
            }
        }
    }

    /// What a turn comes to if it ends now.
    pub fn tally(&self, id: &TurnId, now: SystemTime) -> Tally {
        let Some(turn) = self.turns.get(id) else { return Tally::default() };
        let of_it = self.items.iter().filter(|item| item.turn.as_ref() == Some(id));
        Tally {
            duration: now.duration_since(turn.at).unwrap_or_default(),
            tool_calls: of_it.filter(|item| matches!(item.body, Body::Tool(_))).count() as u64,
            model: self.participants.get(&turn.by).and_then(|one| one.capabilities.model.clone()),
        }
    }

    /// The turn of this participant that ended last.
    pub fn last_turn(&self, of: &ParticipantId) -> Option<(&TurnId, &Turn)> {
        let ended = self.turns.iter().filter(|(_, turn)| turn.by == *of && turn.end.is_some());
        ended.max_by_key(|(_, turn)| turn.end.as_ref().map(|(_, at)| *at))
    }

    /// The turn of this id.
    pub fn turn(&self, id: &TurnId) -> Option<&Turn> {
        self.turns.get(id)
    }

    /// Who takes part now.
    pub fn present(&self) -> impl Iterator<Item = (&ParticipantId, &Participant)> {
        self.participants.iter().filter(|(_, participant)| participant.present)
    }

    /// Questions that are open, oldest first.
    pub fn questions(&self) -> impl Iterator<Item = &Arc<Item>> {
        self.items.growing().filter(|item| item.open_question().is_some())
    }

    /// The thought that is being thought, the newest if there are several.
    pub fn reasoning(&self) -> Option<&Arc<Item>> {
        self.items.growing().rfind(|item| item.is_reasoning())
    }

    /// What others wait for.
    pub fn gauges(&self) -> Gauges {
        Gauges {
            messages: self.envelopes,
            reasoning: self.reasoning().is_some(),
            pending: self.questions().count() as u64,
            busy: self.participants.values().any(Participant::is_busy),
        }
    }

    /// Somebody who is paused.
    pub fn pause(&self) -> Option<(&ParticipantId, &Pause)> {
        self.participants.iter().find_map(|(id, participant)| participant.paused.as_ref().map(|pause| (id, pause)))
    }

    /// The participant that is paused, if it is the only one.
    pub fn only_paused(&self) -> Option<&ParticipantId> {
        let mut paused = self.participants.iter().filter(|(_, one)| one.paused.is_some()).map(|(id, _)| id);
        paused.next().filter(|_| paused.next().is_none())
    }

    /// How somebody's session fares.
    pub fn activity(&self, id: &ParticipantId) -> Option<&Activity> {
        self.participants.get(id)?.session.as_ref().map(|status| &status.activity)
    }

    /// What must hold after any events: the first thing that does not.
    pub fn check(&self) -> Result<(), String> {
        for item in self.items.growing() {
            let over = item.turn.as_ref().and_then(|turn| self.turns.get(turn)).is_some_and(|turn| turn.end.is_some());
            if over {
                return Err(format!("item {} grows after its turn ended", item.id));
            }
        }
        if self.frames.len() > MOST_FRAMES || self.turns.len() != self.turn_order.len() {
            return Err("a bound is exceeded".to_owned());
        }
        let counted: usize = self.items.iter().map(|item| envelope::count(item)).sum();
        if self.items.dropped() == 0 && counted as u64 != self.envelopes {
            return Err(format!("{counted} envelopes, but {} were counted", self.envelopes));
        }
        self.items.check()
    }
}

/// An item whose turn has ended before it was complete.
pub(super) fn cut(mut item: Item) -> Item {
    use super::item::{Body, ToolStatus};
    use super::question::Closing;

    item.progress = item.progress.max(Progress::Cut);
    match &mut item.body {
        Body::Tool(call) if !call.status.is_over() => call.status = ToolStatus::Cancelled,
        Body::Question { closing: closing @ None, .. } => *closing = Some(Closing::Cancelled),
        _ => {}
    }
    item
}
