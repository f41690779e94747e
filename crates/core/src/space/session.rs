//! State of an agent in a space: the running turn, the queued prompts, and the ids of items and streams by the keys of
//! the harness.

use std::collections::{HashMap, VecDeque};

use super::harness::{ActivityReport, HarnessKey, Order};
use super::item::Attachment;
use super::name::{ItemId, StreamId, TurnId};

/// Maximum number of prompts queued for an agent. When the queue is full, a message is refused.
const MAX_QUEUED_PROMPTS: usize = 32;

/// Maximum number of stored item keys. Above this number, all keys are dropped. Nearly all keys belong to turns that
/// have ended.
const MAX_ITEM_KEYS: usize = 50_000;

/// Prompt that will start a turn.
#[derive(Debug, Clone)]
pub(super) struct PendingPrompt {
    pub turn: TurnId,
    pub item: ItemId,
    pub text: String,
    pub attachments: Vec<Attachment>,
}

/// Life cycle of an agent's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lifecycle {
    Starting,
    Ready,
    Gone(Option<String>),
}

#[derive(Debug)]
pub(super) struct AgentState {
    pub lifecycle: Lifecycle,
    /// Turn that is running; `None` if the agent waits for a prompt.
    pub turn: Option<TurnId>,
    /// True if the agent started the running turn itself, without a prompt.
    pub self_started: bool,
    waiting: VecDeque<PendingPrompt>,
    /// Item ids by the keys of the harness. Keys of ended turns are retained, because a report may arrive late.
    pub items: HashMap<HarnessKey, ItemId>,
    pub streams: HashMap<HarnessKey, StreamId>,
    /// Keys of the harness by the ids of the open questions.
    pub questions: HashMap<ItemId, HarnessKey>,
    /// First characters of prompts that the agent interprets as commands instead of sending them to the model.
    pub interprets: &'static [char],
    /// Latest evidence for the activity; `None` if the agent's protocol reports the activity.
    pub evidence: Option<ActivityReport>,
}

impl AgentState {
    pub fn new(interprets: &'static [char]) -> Self {
        Self {
            lifecycle: Lifecycle::Starting,
            turn: None,
            self_started: false,
            waiting: VecDeque::new(),
            items: HashMap::new(),
            streams: HashMap::new(),
            questions: HashMap::new(),
            interprets,
            evidence: None,
        }
    }

    pub fn has_room(&self) -> bool {
        self.waiting.len() < MAX_QUEUED_PROMPTS
    }

    /// True if the agent would receive a prompt immediately.
    pub fn is_free(&self) -> bool {
        self.lifecycle == Lifecycle::Ready && self.turn.is_none() && self.waiting.is_empty()
    }

    /// Queues a prompt; with `first`, before all other prompts.
    pub fn queue(&mut self, prompt: PendingPrompt, first: bool) {
        if first {
            self.waiting.push_front(prompt);
        } else {
            self.waiting.push_back(prompt);
        }
    }

    /// True if the prompt of this turn is queued.
    pub fn is_waiting(&self, turn: &TurnId) -> bool {
        self.waiting.iter().any(|prompt| prompt.turn == *turn)
    }

    /// True if the queue contains a prompt for the message in this item.
    pub fn waits_for(&self, item: &ItemId) -> bool {
        self.waiting.iter().any(|prompt| prompt.item == *item)
    }

    /// Removes the next prompt from the queue if the agent can receive it, and starts the prompt's turn. Returns the
    /// prompt and the order to the harness.
    pub fn next(&mut self) -> Option<(PendingPrompt, Order)> {
        if self.lifecycle != Lifecycle::Ready || self.turn.is_some() {
            return None;
        }
        let prompt = self.waiting.pop_front()?;
        self.self_started = false;
        self.turn = Some(prompt.turn.clone());
        let order = Order::Prompt {
            turn: prompt.turn.clone(),
            item: prompt.item.clone(),
            text: prompt.text.clone(),
            attachments: prompt.attachments.clone(),
        };
        Some((prompt, order))
    }

    /// Marks the agent as exited. Returns the running turn and the queued prompts, which will not be executed.
    pub fn abandon(&mut self, reason: Option<String>) -> (Option<TurnId>, Vec<PendingPrompt>) {
        self.lifecycle = Lifecycle::Gone(reason);
        (self.turn.take(), self.waiting.drain(..).collect())
    }

    /// Stores the id of an item under a key of the harness.
    pub fn insert_key(&mut self, key: HarnessKey, id: ItemId) {
        if self.items.len() == MAX_ITEM_KEYS {
            self.items.clear();
        }
        self.items.insert(key, id);
    }
}
