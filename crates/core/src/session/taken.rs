//! How far what was typed has come: the terminal has it, or not yet, or never will.

use std::collections::VecDeque;
use std::time::Instant;

use crate::request::{Ledger, RequestId};

/// What became of one command. What a program makes of it, no terminal can tell: that is on its screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// When it was accepted.
    pub accepted: Instant,
    /// How far it has come.
    pub fate: Fate,
}

/// How far a command has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Some of its bytes wait for a program that does not read.
    Waits,
    /// Every byte is with the terminal, since then.
    Delivered(Instant),
    /// The program ended before it had read all of it.
    Lost,
}

/// What became of which command.
#[derive(Debug, Default)]
pub(super) struct Receipts {
    known: Ledger<Taken>,
    /// Bytes that were ever queued.
    written: u64,
    /// Commands whose bytes wait, with how many must have gone before they are delivered.
    waiting: VecDeque<(u64, RequestId)>,
}

impl Receipts {
    /// Bytes are queued.
    pub fn queue(&mut self, bytes: usize) {
        self.written += bytes as u64;
    }

    /// A command was carried out; or the last of the bytes that are queued now is its own, and waits.
    pub fn enter(&mut self, id: RequestId, delivered: bool, now: Instant) {
        if !delivered {
            self.waiting.push_back((self.written, id.clone()));
        }
        let fate = if delivered { Fate::Delivered(now) } else { Fate::Waits };
        self.known.enter(id, Taken { accepted: now, fate }, now);
    }

    /// So many bytes still wait.
    pub fn left(&mut self, left: usize, now: Instant) {
        let gone = self.written.saturating_sub(left as u64);
        self.settle(Fate::Delivered(now), |end| end <= gone);
    }

    /// What waits now will never be read.
    pub fn lost(&mut self) {
        self.settle(Fate::Lost, |_| true);
    }

    fn settle(&mut self, fate: Fate, ready: impl Fn(u64) -> bool) {
        while self.waiting.front().is_some_and(|(end, _)| ready(*end)) {
            let Some((_, id)) = self.waiting.pop_front() else { return };
            if let Some(taken) = self.known.get_mut(&id) {
                taken.fate = fate;
            }
        }
    }

    /// What became of this one.
    pub fn find(&mut self, id: &RequestId, now: Instant) -> Option<Taken> {
        self.known.find(id, now).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_delivered_when_its_last_byte_is_gone_and_lost_when_nobody_reads_any_more() {
        let (mut receipts, now) = (Receipts::default(), Instant::now());
        let id = |name: &str| RequestId::new(name).unwrap();
        receipts.enter(id("at-once"), true, now);
        for name in ["first", "second", "third"] {
            receipts.queue(10);
            receipts.enter(id(name), false, now);
        }
        let mut fates = |left: Option<usize>| {
            match left {
                Some(left) => receipts.left(left, now),
                None => receipts.lost(),
            }
            ["at-once", "first", "second", "third"].map(|name| receipts.find(&id(name), now).unwrap().fate)
        };
        let there = Fate::Delivered(now);
        assert_eq!(fates(Some(21)), [there, Fate::Waits, Fate::Waits, Fate::Waits]);
        assert_eq!(fates(Some(9)), [there, there, there, Fate::Waits]);
        assert_eq!(fates(None), [there, there, there, Fate::Lost]);
    }
}
