//! Progress of one command, stage by stage. A receipt only moves forward.

use std::collections::{HashMap, VecDeque};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::reason::Reason;
use crate::request::RequestId;
use crate::space::{ItemId, TurnId};

/// Bound on stored receipts. Above it, the oldest receipt whose command has ended is dropped.
const MAX_RECEIPTS: usize = 10_000;

/// Stage that a command has reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The session has accepted it.
    Accepted,
    /// It was written to the agent's process or the program's terminal.
    Delivered,
    /// The agent took it as a prompt.
    Submitted,
    /// The agent is processing it.
    Started,
    /// The agent has finished it.
    Finished,
    Failed(Failure),
}

/// Failure of an accepted command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Failure {
    pub reason: Reason,
    /// Message for people; the agent's own message if it gave one.
    #[serde(rename = "words")]
    pub message: String,
}

impl Failure {
    /// Failure of a command whose turn was interrupted.
    pub fn cancelled() -> Self {
        Self::of(Reason::Cancelled)
    }

    /// Failure of a command that was running when `wh` ended.
    pub fn cut_off() -> Self {
        Self::of(Reason::CutOff)
    }

    /// Failure whose message is the code of its reason.
    pub fn of(reason: Reason) -> Self {
        Self { reason, message: reason.code().to_owned() }
    }
}

impl<T: Into<String>> From<T> for Failure {
    fn from(words: T) -> Self {
        Self { reason: Reason::Failed, message: words.into() }
    }
}

impl Stage {
    /// True if no further stage follows.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Finished | Self::Failed(_))
    }
}

/// Progress of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The caller's id, or a generated one if the caller gave none.
    pub request_id: RequestId,
    /// The item that the command became, if any.
    pub item: Option<ItemId>,
    /// The turn that the command started, if any.
    pub turn: Option<TurnId>,
    pub stage: Stage,
    /// Restriction under which the agent handles the command: for example, it does not have the whole conversation.
    pub warning: Option<String>,
    /// Time of each stage that was reached.
    pub reached: Vec<(Stage, SystemTime)>,
}

impl Receipt {
    /// Returns the receipt of a command that was just accepted.
    pub fn accepted(request_id: RequestId, at: SystemTime) -> Self {
        let (stage, reached) = (Stage::Accepted, vec![(Stage::Accepted, at)]);
        Self { request_id, item: None, turn: None, stage, warning: None, reached }
    }

    /// True if the command was written to the agent's process, whatever its outcome.
    pub fn was_delivered(&self) -> bool {
        self.reached.iter().any(|(stage, _)| !matches!(stage, Stage::Accepted | Stage::Failed(_)))
    }

    /// Moves the receipt forward and returns true. An earlier stage, or any stage after the last one, is ignored.
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
    by_id: HashMap<RequestId, Receipt>,
    order: VecDeque<RequestId>,
}

impl Receipts {
    /// Stores a receipt. A stored receipt of the same id is replaced unless it is at a later stage or finished.
    pub fn put(&mut self, receipt: Receipt) {
        match self.by_id.get_mut(&receipt.request_id) {
            Some(known) if known.stage.is_last() || known.stage > receipt.stage => {}
            Some(known) => *known = receipt,
            None => {
                // Only finished receipts are dropped: a running command must stay known.
                let is_over = |id: &RequestId| self.by_id.get(id).is_none_or(|receipt| receipt.stage.is_last());
                if self.order.len() >= MAX_RECEIPTS
                    && let Some(place) = self.order.iter().position(is_over)
                    && let Some(oldest) = self.order.remove(place)
                {
                    self.by_id.remove(&oldest);
                }
                self.order.push_back(receipt.request_id.clone());
                self.by_id.insert(receipt.request_id.clone(), receipt);
            }
        }
    }

    pub fn get(&self, id: &RequestId) -> Option<&Receipt> {
        self.by_id.get(id)
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
