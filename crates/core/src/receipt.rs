//! What became of one command, stage by stage. A receipt only moves forward.

use std::collections::{HashMap, VecDeque};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::reason::Reason;
use crate::request::RequestId;
use crate::space::{ItemId, TurnId};

/// Receipts that are kept. Beyond that the oldest of those that are over go.
const MOST_KEPT: usize = 10_000;

/// How far a command is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The session has it.
    Accepted,
    /// The agent's process, or the program's terminal, was given it.
    Delivered,
    /// The agent took it as a prompt.
    Submitted,
    /// The agent works on it.
    Started,
    /// The agent is done with it.
    Finished,
    /// It came to nothing.
    Failed(Failure),
}

/// Failure of an accepted command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Failure {
    /// For programs.
    pub reason: Reason,
    /// For people: the agent's own, where it gave some.
    pub words: String,
}

impl Failure {
    /// Its turn was interrupted.
    pub fn cancelled() -> Self {
        Self::of(Reason::Cancelled)
    }

    /// wh ended before it was known what came of it.
    pub fn cut_off() -> Self {
        Self::of(Reason::CutOff)
    }

    /// A reason that needs no words.
    pub fn of(reason: Reason) -> Self {
        Self { reason, words: reason.code().to_owned() }
    }
}

impl<T: Into<String>> From<T> for Failure {
    fn from(words: T) -> Self {
        Self { reason: Reason::Failed, words: words.into() }
    }
}

impl Stage {
    /// Whether nothing more will come.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Finished | Self::Failed(_))
    }
}

/// What became of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The caller's id, or ours where the caller had none.
    pub request_id: RequestId,
    /// The item that it became, if it became one.
    pub item: Option<ItemId>,
    /// The turn that it started, if it did.
    pub turn: Option<TurnId>,
    /// How far it is.
    pub stage: Stage,
    /// Restriction under which the agent works on it, if there is one: it may not know the whole conversation.
    pub warning: Option<String>,
    /// When it came so far, stage by stage.
    pub reached: Vec<(Stage, SystemTime)>,
}

impl Receipt {
    /// A command that was just accepted.
    pub fn accepted(request_id: RequestId, at: SystemTime) -> Self {
        let (stage, reached) = (Stage::Accepted, vec![(Stage::Accepted, at)]);
        Self { request_id, item: None, turn: None, stage, warning: None, reached }
    }

    /// True if the agent's process was given it, whatever came of it then.
    pub fn was_delivered(&self) -> bool {
        self.reached.iter().any(|(stage, _)| !matches!(stage, Stage::Accepted | Stage::Failed(_)))
    }

    /// Moves it forward; what is behind it or after its last stage changes nothing.
    pub fn reach(&mut self, stage: Stage, at: SystemTime) -> bool {
        let moves = !self.stage.is_last() && stage > self.stage;
        if moves {
            self.stage = stage.clone();
            self.reached.push((stage, at));
        }
        moves
    }
}

/// The newest receipts, by request id.
#[derive(Debug, Clone, Default)]
pub struct Receipts {
    kept: HashMap<RequestId, Receipt>,
    order: VecDeque<RequestId>,
}

impl Receipts {
    /// Puts a receipt in the place of the one of the same id, unless that one is further.
    pub fn put(&mut self, receipt: Receipt) {
        match self.kept.get_mut(&receipt.request_id) {
            Some(known) if known.stage.is_last() || known.stage > receipt.stage => {}
            Some(known) => *known = receipt,
            None => {
                // Only what is over goes: a command that is open must be known until it is.
                let is_over = |id: &RequestId| self.kept.get(id).is_none_or(|receipt| receipt.stage.is_last());
                if self.order.len() >= MOST_KEPT
                    && let Some(place) = self.order.iter().position(is_over)
                    && let Some(oldest) = self.order.remove(place)
                {
                    self.kept.remove(&oldest);
                }
                self.order.push_back(receipt.request_id.clone());
                self.kept.insert(receipt.request_id.clone(), receipt);
            }
        }
    }

    /// The receipt of this command.
    pub fn get(&self, id: &RequestId) -> Option<&Receipt> {
        self.kept.get(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_only_moves_forward() {
        let at = SystemTime::UNIX_EPOCH;
        let mut receipt = Receipt::accepted(RequestId::new("r1").unwrap(), at);
        assert!(receipt.reach(Stage::Started, at));
        assert!(!receipt.reach(Stage::Delivered, at));
        assert!(receipt.reach(Stage::Finished, at));
        assert!(!receipt.reach(Stage::Failed("late".into()), at));
        assert_eq!(receipt.reached.len(), 3);
    }
}
