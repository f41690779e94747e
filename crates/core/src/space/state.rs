//! State of a space, computed from its events by the engine and by each mirror (a copy in another process). The state
//! remains valid even if an event arrives late or twice, or refers to an unknown id ([`SpaceState::check`]).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::envelope;
use super::event::{
    Acknowledgement, Activity, AgentStatus, ParticipantRole, Pause, SpaceEvent, StreamFrame, TargetScope, TurnStats,
};
use super::harness::{ReportedCapabilities, Tool, TurnOutcome, Usage};
use super::item::{Item, ItemBody, ItemProgress};
use super::items::Items;
use super::name::{ItemId, ParticipantId, StreamId, TurnId};
use crate::receipt::Receipts;

/// Maximum number of stored stream frames of all streams together.
pub const MAX_STREAM_FRAMES: usize = 50;

/// Maximum number of messages that wait for an acknowledgement. Above this number, the oldest request for an
/// acknowledgement is dropped.
const MAX_PENDING_ACKNOWLEDGEMENTS: usize = 1000;

/// Maximum number of open streams. Above this number, the oldest stream is treated as closed.
const MAX_OPEN_STREAMS: usize = 256;

/// Maximum number of turns in the state. Above this number, the oldest turn is dropped.
const MAX_STORED_TURNS: usize = 10_000;

/// Participant of a space, with its latest reported state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Participant {
    pub role: ParticipantRole,
    /// True if the participant has not left the space.
    pub present: bool,
    /// Status of the participant's session; `None` for a user and the system.
    pub session: Option<AgentStatus>,
    pub capabilities: Arc<ReportedCapabilities>,
    pub tools: Arc<[Tool]>,
    pub usage: Option<Usage>,
    /// Status that the participant reported itself: status, longer description and time.
    #[serde(rename = "said")]
    pub reported_status: Option<(String, Option<String>, SystemTime)>,
    /// Current pause; `None` if the participant is not paused.
    pub paused: Option<Pause>,
}

impl Participant {
    /// True if the participant is an agent that cannot start a new turn now.
    pub fn is_busy(&self) -> bool {
        let activity = self.session.as_ref().map(|status| &status.activity);
        activity.is_some_and(|activity| !matches!(activity, Activity::Idle | Activity::Gone(_)))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub by: ParticipantId,
    /// Message that the turn answers.
    pub prompt: ItemId,
    /// Start time of the turn.
    pub at: SystemTime,
    /// Outcome and end time; `None` while the turn is running.
    pub end: Option<(TurnOutcome, SystemTime)>,
    /// Statistics; `None` while the turn is running.
    #[serde(rename = "tally")]
    pub stats: Option<TurnStats>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    pub id: StreamId,
    /// Participant that opened the stream.
    pub by: ParticipantId,
    pub at: SystemTime,
    /// Time of the latest frame, or of the opening.
    pub last: SystemTime,
}

/// Targets of chat messages, by scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetsByScope {
    /// Targets that the user has chosen with `/target`.
    pub chosen: Option<Vec<ParticipantId>>,
    /// Default targets of the user.
    pub participant: Option<Vec<ParticipantId>>,
    /// Default targets of the space.
    pub global: Option<Vec<ParticipantId>>,
}

impl TargetsByScope {
    /// Returns the targets of the first scope that is set; `None` if chat goes to all participants.
    pub fn effective(&self) -> Option<&[ParticipantId]> {
        [&self.chosen, &self.participant, &self.global]
            .into_iter()
            .flatten()
            .find(|list| !list.is_empty())
            .map(Vec::as_slice)
    }
}

/// State of a space, computed from its events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SpaceState {
    pub name: String,
    /// User to whom this space is shown.
    pub me: ParticipantId,
    /// Present and former participants.
    pub participants: BTreeMap<ParticipantId, Participant>,
    pub items: Items,
    /// Turns of the conversation, by id.
    pub turns: BTreeMap<TurnId, Turn>,
    turn_order: VecDeque<TurnId>,
    /// Messages that wait for an acknowledgement, oldest first.
    pub acknowledgements: Vec<Acknowledgement>,
    /// Open streams, oldest first.
    pub streams: Vec<Stream>,
    /// Newest stream frames, oldest first.
    pub frames: VecDeque<StreamFrame>,
    pub targets: TargetsByScope,
    /// Receipts of commands. They are not serialised: a copy of the state in another process has none.
    #[serde(skip)]
    pub receipts: Receipts,
    /// Number of envelopes that were listed so far.
    pub envelopes: u64,
    /// Number that increases with every change of the state.
    pub revision: u64,
}

/// Values of a space from which wait conditions are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SpaceGauges {
    /// Number of envelopes that were listed so far.
    pub messages: u64,
    /// True if a participant is reasoning.
    pub reasoning: bool,
    /// Number of questions that wait for an answer.
    pub pending: u64,
    /// True if an agent is neither idle nor gone: it is starting, working, paused or waiting for an answer, or its
    /// activity is unknown.
    pub busy: bool,
    /// True if an agent is starting.
    #[serde(default)]
    pub starting: bool,
}

impl SpaceState {
    /// Creates the state of an empty space for the user `me`.
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
            targets: TargetsByScope::default(),
            receipts: Receipts::default(),
            envelopes: 0,
            revision: 0,
        }
    }

    /// Applies an event that occurred at this time.
    pub fn apply(&mut self, event: &SpaceEvent, at: SystemTime) {
        self.revision += 1;
        match event {
            SpaceEvent::Joined(id, role) => self.join(id, *role),
            SpaceEvent::Left(id) => self.with(id, |participant| participant.present = false),
            SpaceEvent::Item(item) => self.put_at(Arc::clone(item), at, 0),
            SpaceEvent::TurnStarted { turn, by, prompt } => self.start_turn(turn, by, prompt, at),
            SpaceEvent::TurnEnded(turn, outcome, tally) => self.end_turn(turn, outcome, tally, at),
            SpaceEvent::Session(id, status) => self.with(id, |participant| participant.session = Some(status.clone())),
            SpaceEvent::Capabilities(id, capabilities) => {
                self.with(id, |participant| participant.capabilities = Arc::clone(capabilities));
            }
            SpaceEvent::Tools(id, tools) => self.with(id, |participant| participant.tools = Arc::clone(tools)),
            SpaceEvent::Usage(id, usage) => self.with(id, |participant| participant.usage = Some(*usage)),
            SpaceEvent::StatusReported { by, status, summary } => {
                self.with(by, |participant| participant.reported_status = Some((status.clone(), summary.clone(), at)));
            }
            SpaceEvent::AcknowledgementWanted(wanted) => {
                if !self.acknowledgements.iter().any(|known| known.item == wanted.item && known.to == wanted.to) {
                    if self.acknowledgements.len() == MAX_PENDING_ACKNOWLEDGEMENTS {
                        self.acknowledgements.remove(0);
                    }
                    self.acknowledgements.push(wanted.clone());
                }
            }
            SpaceEvent::Acknowledged { item, by, .. } => {
                self.acknowledgements.retain(|known| known.item != *item || known.to != *by);
            }
            SpaceEvent::AcknowledgementDropped(item) => self.acknowledgements.retain(|known| known.item != *item),
            SpaceEvent::StreamOpened(id, by) => {
                if !self.streams.iter().any(|stream| stream.id == *id) {
                    if self.streams.len() == MAX_OPEN_STREAMS {
                        self.streams.remove(0);
                    }
                    self.streams.push(Stream { id: id.clone(), by: by.clone(), at, last: at });
                }
            }
            SpaceEvent::StreamClosed(id) => self.streams.retain(|stream| stream.id != *id),
            SpaceEvent::Paused(id, pause) => self.with(id, |participant| participant.paused = pause.clone()),
            SpaceEvent::Targets(scope, targets) => {
                let place = match scope {
                    TargetScope::Override => &mut self.targets.chosen,
                    TargetScope::Participant => &mut self.targets.participant,
                    TargetScope::Global => &mut self.targets.global,
                };
                *place = targets.clone();
            }
            SpaceEvent::Receipt(receipt) => self.receipts.put(receipt.clone()),
        }
    }

    /// Stores a new item, or a new version of a growing item. Replaces the stored item with the same id, unless the
    /// stored item has progressed further.
    pub fn put(&mut self, item: Arc<Item>) {
        let at = item.at;
        self.put_at(item, at, 0);
    }

    /// Stores an item. Lists its due envelopes, but at least its first `least` envelopes, with the time `at`.
    pub(super) fn put_at(&mut self, item: Arc<Item>, at: SystemTime, least: usize) {
        self.revision += 1;
        let over = item.turn.as_ref().and_then(|turn| self.turns.get(turn)).is_some_and(|turn| turn.end.is_some());
        let item = if over && item.progress == ItemProgress::Growing { Arc::new(cut((*item).clone())) } else { item };
        let id = item.id.clone();
        if let Some(change) = self.items.put(item, at, least) {
            let before = change.map_or(0, |old| envelope::listed_count(&old));
            let after = self.items.get(&id).map_or(0, |item| envelope::listed_count(item));
            self.envelopes = (self.envelopes + after as u64).saturating_sub(before as u64);
        }
    }

    /// Stores a frame of a stream. Above [`MAX_STREAM_FRAMES`], the oldest frame is dropped. A frame is stored even if
    /// its stream is already closed.
    pub fn frame(&mut self, frame: StreamFrame) {
        self.revision += 1;
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.id == frame.stream) {
            stream.last = stream.last.max(frame.at);
        }
        if self.frames.len() == MAX_STREAM_FRAMES {
            self.frames.pop_front();
        }
        self.frames.push_back(frame);
    }

    fn join(&mut self, id: &ParticipantId, role: ParticipantRole) {
        let fresh = Participant {
            role,
            present: true,
            session: None,
            capabilities: Arc::default(),
            tools: Arc::from([]),
            usage: None,
            reported_status: None,
            paused: None,
        };
        // A participant that returns starts with a new state. A repeated join of a present participant is ignored.
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
        if self.turn_order.len() == MAX_STORED_TURNS
            && let Some(oldest) = self.turn_order.pop_front()
        {
            self.turns.remove(&oldest);
        }
        self.turn_order.push_back(turn.clone());
        self.turns.insert(turn.clone(), Turn { by: by.clone(), prompt: prompt.clone(), at, end: None, stats: None });
    }

    fn end_turn(&mut self, id: &TurnId, outcome: &TurnOutcome, tally: &TurnStats, at: SystemTime) {
        let Some(turn) = self.turns.get_mut(id) else { return };
        if turn.end.is_some() {
            return;
        }
        (turn.end, turn.stats) = (Some((outcome.clone(), at)), Some(tally.clone()));
        let open: Vec<Arc<Item>> =
            self.items.growing().filter(|item| item.turn.as_ref() == Some(id)).cloned().collect();
        for item in open {
            self.put_at(Arc::new(cut((*item).clone())), at, 0);
        }
    }

    pub(super) fn copy_turns(&mut self, turns: impl Iterator<Item = (TurnId, Turn)>) {
        for (id, turn) in turns {
            if self.turns.insert(id.clone(), turn).is_none() {
                self.turn_order.push_back(id);
            }
        }
    }

    /// Returns the statistics of a turn up to the time `now`.
    pub fn turn_stats(&self, id: &TurnId, now: SystemTime) -> TurnStats {
        let Some(turn) = self.turns.get(id) else { return TurnStats::default() };
        let of_it = self.items.iter().filter(|item| item.turn.as_ref() == Some(id));
        TurnStats {
            duration: now.duration_since(turn.at).unwrap_or_default(),
            tool_calls: of_it.filter(|item| matches!(item.body, ItemBody::Tool(_))).count() as u64,
            model: self.participants.get(&turn.by).and_then(|one| one.capabilities.model.clone()),
        }
    }

    /// Returns the participant's turn that ended last.
    pub fn last_turn(&self, of: &ParticipantId) -> Option<(&TurnId, &Turn)> {
        let ended = self.turns.iter().filter(|(_, turn)| turn.by == *of && turn.end.is_some());
        ended.max_by_key(|(_, turn)| turn.end.as_ref().map(|(_, at)| *at))
    }

    pub fn turn(&self, id: &TurnId) -> Option<&Turn> {
        self.turns.get(id)
    }

    pub fn present(&self) -> impl Iterator<Item = (&ParticipantId, &Participant)> {
        self.participants.iter().filter(|(_, participant)| participant.present)
    }

    /// Returns the open questions, oldest first.
    pub fn questions(&self) -> impl Iterator<Item = &Arc<Item>> {
        self.items.growing().filter(|item| item.open_question().is_some())
    }

    /// Returns the newest thought that is in progress.
    pub fn reasoning(&self) -> Option<&Arc<Item>> {
        self.items.growing().rfind(|item| item.is_reasoning())
    }

    /// Returns the values from which wait conditions are evaluated.
    pub fn gauges(&self) -> SpaceGauges {
        SpaceGauges {
            messages: self.envelopes,
            reasoning: self.reasoning().is_some(),
            pending: self.questions().count() as u64,
            busy: self.participants.values().any(Participant::is_busy),
            starting: self.participants.keys().any(|id| self.activity(id) == Some(&Activity::Starting)),
        }
    }

    /// Returns the first paused participant and its pause.
    pub fn pause(&self) -> Option<(&ParticipantId, &Pause)> {
        self.participants.iter().find_map(|(id, participant)| participant.paused.as_ref().map(|pause| (id, pause)))
    }

    /// Returns the paused participant if exactly one is paused.
    pub fn only_paused(&self) -> Option<&ParticipantId> {
        let mut paused = self.participants.iter().filter(|(_, one)| one.paused.is_some()).map(|(id, _)| id);
        paused.next().filter(|_| paused.next().is_none())
    }

    /// Returns the activity of a participant's session.
    pub fn activity(&self, id: &ParticipantId) -> Option<&Activity> {
        self.participants.get(id)?.session.as_ref().map(|status| &status.activity)
    }

    /// Checks the invariants of the state. Returns a description of the first violation.
    pub fn check(&self) -> Result<(), String> {
        for item in self.items.growing() {
            let over = item.turn.as_ref().and_then(|turn| self.turns.get(turn)).is_some_and(|turn| turn.end.is_some());
            if over {
                return Err(format!("item {} grows after its turn ended", item.id));
            }
        }
        let (frames, turns, ordered) = (self.frames.len(), self.turns.len(), self.turn_order.len());
        if frames > MAX_STREAM_FRAMES {
            return Err(format!("{frames} stream frames are stored; the maximum is {MAX_STREAM_FRAMES}"));
        }
        if turns != ordered {
            return Err(format!("{turns} turns are stored, but `turn_order` lists {ordered}"));
        }
        let counted: usize = self.items.iter().map(|item| envelope::listed_count(item)).sum();
        if self.items.dropped() == 0 && counted as u64 != self.envelopes {
            return Err(format!("the items have {counted} envelopes, but the stored count is {}", self.envelopes));
        }
        self.items.check()
    }
}

/// Closes an item whose turn has ended before the item was complete.
pub(super) fn cut(mut item: Item) -> Item {
    use super::item::{ItemBody, ToolStatus};
    use super::question::QuestionCloseReason;

    item.progress = item.progress.max(ItemProgress::Cut);
    match &mut item.body {
        ItemBody::Tool(call) if !call.status.is_over() => call.status = ToolStatus::Cancelled,
        ItemBody::Question { closing: closing @ None, .. } => *closing = Some(QuestionCloseReason::Cancelled),
        _ => {}
    }
    item
}
