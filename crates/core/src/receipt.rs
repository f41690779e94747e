//! Receipts: the progress of each command, stage by stage. A receipt never returns to an earlier stage.

use std::collections::{HashMap, VecDeque};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::reason::Reason;
use crate::request::RequestId;
use crate::space::{ItemId, TurnId};

/// Maximum number of stored receipts. Above this number, the oldest receipt whose command has ended is dropped.
const MAX_RECEIPTS: usize = 10_000;

/// Stage that a command has reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptStage {
    /// The session has accepted the command.
    Accepted,
    /// The command was written to the agent's process or the program's terminal.
    Delivered,
    /// The agent accepted the command as a prompt.
    Submitted,
    /// The agent is processing the command.
    Started,
    /// The agent has finished the command.
    Finished,
    Failed(CommandFailure),
}

/// Failure of an accepted command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommandFailure {
    pub reason: Reason,
    /// Human-readable message: the agent's own message if the agent reported one.
    #[serde(rename = "words")]
    pub message: String,
}

impl CommandFailure {
    /// Returns the failure of a command whose turn was interrupted.
    pub fn cancelled() -> Self {
        Self::of(Reason::Cancelled)
    }

    /// Returns the failure of a command that was running when `wh` exited.
    pub fn cut_off() -> Self {
        Self::of(Reason::CutOff)
    }

    /// Returns a failure whose message is the code of the reason.
    pub fn of(reason: Reason) -> Self {
        Self { reason, message: reason.code().to_owned() }
    }
}

impl<T: Into<String>> From<T> for CommandFailure {
    fn from(words: T) -> Self {
        Self { reason: Reason::Failed, message: words.into() }
    }
}

impl ReceiptStage {
    /// True if the stage is final: finished or failed.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Finished | Self::Failed(_))
    }
}

/// Record of the stages that a command has reached, and of the item and the turn that the command created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Request id given by the caller, or a generated id.
    pub request_id: RequestId,
    /// Item that shows the command in the conversation, if any.
    pub item: Option<ItemId>,
    /// First of the turns that the command started, if any. A message to several agents starts a turn for each.
    pub turn: Option<TurnId>,
    pub stage: ReceiptStage,
    /// Restriction under which the agent executes the command: for example, the agent does not have the complete
    /// conversation.
    pub warning: Option<String>,
    /// Reached stages, each with its time.
    pub reached: Vec<(ReceiptStage, SystemTime)>,
}

impl Receipt {
    /// Returns the receipt of a command that was just accepted.
    pub fn accepted(request_id: RequestId, at: SystemTime) -> Self {
        let (stage, reached) = (ReceiptStage::Accepted, vec![(ReceiptStage::Accepted, at)]);
        Self { request_id, item: None, turn: None, stage, warning: None, reached }
    }

    /// True if the command was written to the agent's process, even if it failed later.
    pub fn was_delivered(&self) -> bool {
        self.reached.iter().any(|(stage, _)| !matches!(stage, ReceiptStage::Accepted | ReceiptStage::Failed(_)))
    }

    /// Moves the receipt to this stage and returns true. Returns false if the receipt is already at this stage or a
    /// later one, or has ended.
    pub fn reach(&mut self, stage: ReceiptStage, at: SystemTime) -> bool {
        let moves = !self.stage.is_last() && stage > self.stage;
        if moves {
            self.stage = stage.clone();
            self.reached.push((stage, at));
        }
        moves
    }
}

/// Store of the newest receipts, by request id.
#[derive(Debug, Clone, Default)]
pub struct Receipts {
    by_id: HashMap<RequestId, Receipt>,
    order: VecDeque<RequestId>,
}

impl Receipts {
    /// Stores a receipt. Replaces the stored receipt with the same id, unless the stored one is at a later stage or has
    /// ended.
    pub fn put(&mut self, receipt: Receipt) {
        match self.by_id.get_mut(&receipt.request_id) {
            Some(known) if known.stage.is_last() || known.stage > receipt.stage => {}
            Some(known) => *known = receipt,
            None => {
                // Only receipts of ended commands are dropped, because a running command still updates its receipt.
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
        assert!(receipt.reach(ReceiptStage::Started, at));
        assert!(!receipt.reach(ReceiptStage::Delivered, at));
        assert!(receipt.reach(ReceiptStage::Finished, at));
        assert!(!receipt.reach(ReceiptStage::Failed("late".into()), at));
        assert_eq!(receipt.reached.len(), 3);
    }
}
