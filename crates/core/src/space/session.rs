//! One agent's session within a space: which turn is under way, what waits for the next, and how the harness's own keys
//! are called outside.

use std::collections::{HashMap, VecDeque};

use super::harness::{Key, Order};
use super::item::Attachment;
use super::name::{ItemId, StreamId, TurnId};

/// Prompts that may wait for an agent that is busy. Beyond that a message is refused.
const MOST_WAITING: usize = 32;

/// Keys of items that are remembered. Beyond that all are forgotten: they are of turns long over.
const MOST_KEYS: usize = 50_000;

/// A prompt that is to become a turn.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub turn: TurnId,
    pub item: ItemId,
    pub text: String,
    pub attachments: Vec<Attachment>,
}

/// How far the agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Life {
    Starting,
    Ready,
    Gone(Option<String>),
}

#[derive(Debug)]
pub(super) struct Session {
    pub life: Life,
    /// The turn that is under way.
    pub turn: Option<TurnId>,
    /// Whether it began that turn by itself.
    pub own: bool,
    waiting: VecDeque<Prompt>,
    /// What the harness calls its items. Those of ended turns stay: reports may come late.
    pub items: HashMap<Key, ItemId>,
    pub streams: HashMap<Key, StreamId>,
    /// The questions that are open.
    pub questions: HashMap<ItemId, Key>,
    /// First characters of a prompt that the agent interprets itself: such a text does not reach the model as it is.
    pub interprets: &'static [char],
}

impl Session {
    pub fn new(interprets: &'static [char]) -> Self {
        Self {
            life: Life::Starting,
            turn: None,
            own: false,
            waiting: VecDeque::new(),
            items: HashMap::new(),
            streams: HashMap::new(),
            questions: HashMap::new(),
            interprets,
        }
    }

    pub fn has_room(&self) -> bool {
        self.waiting.len() < MOST_WAITING
    }

    /// Whether a prompt would be given to the agent at once.
    pub fn is_free(&self) -> bool {
        self.life == Life::Ready && self.turn.is_none() && self.waiting.is_empty()
    }

    /// Has a prompt wait for the agent, `first` before all others.
    pub fn queue(&mut self, prompt: Prompt, first: bool) {
        if first {
            self.waiting.push_front(prompt);
        } else {
            self.waiting.push_back(prompt);
        }
    }

    /// True if the prompt of this turn waits.
    pub fn is_waiting(&self, turn: &TurnId) -> bool {
        self.waiting.iter().any(|prompt| prompt.turn == *turn)
    }

    /// True if a prompt of this item waits.
    pub fn waits_for(&self, item: &ItemId) -> bool {
        self.waiting.iter().any(|prompt| prompt.item == *item)
    }

    /// The next prompt, if the agent can take one: its turn has begun.
    pub fn next(&mut self) -> Option<(Prompt, Order)> {
        if self.life != Life::Ready || self.turn.is_some() {
            return None;
        }
        let prompt = self.waiting.pop_front()?;
        self.own = false;
        self.turn = Some(prompt.turn.clone());
        let order = Order::Prompt {
            turn: prompt.turn.clone(),
            item: prompt.item.clone(),
            text: prompt.text.clone(),
            attachments: prompt.attachments.clone(),
        };
        Some((prompt, order))
    }

    /// The agent is gone: what waited, and the turn that was under way.
    pub fn abandon(&mut self, reason: Option<String>) -> (Option<TurnId>, Vec<Prompt>) {
        self.life = Life::Gone(reason);
        (self.turn.take(), self.waiting.drain(..).collect())
    }

    /// Remembers what the harness calls an item.
    pub fn learn(&mut self, key: Key, id: ItemId) {
        if self.items.len() == MOST_KEYS {
            self.items.clear();
        }
        self.items.insert(key, id);
    }
}
