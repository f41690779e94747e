//! What the demo agent remembers of the conversation, counted only: so many entries of so many tokens. A word is a token.

use std::collections::VecDeque;

use wh_core::space::harness::Usage;

/// Tokens that fit, as it says.
const LIMIT: u64 = 8192;

/// Entries that are remembered. Beyond that the oldest go.
const MOST: usize = 1000;

/// What the demo agent remembers, and what it has used.
#[derive(Debug, Default)]
pub(super) struct Memory {
    entries: VecDeque<u64>,
    input: u64,
    output: u64,
}

/// How many tokens a text is.
pub(super) fn tokens(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

impl Memory {
    /// What was remembered before, and had been used by then.
    pub fn of(entries: impl Iterator<Item = u64>, input: u64, output: u64) -> Self {
        let mut memory = Self { entries: VecDeque::new(), input, output };
        // Somebody may have written the file by hand.
        entries.take(MOST).for_each(|tokens| memory.push(tokens.min(LIMIT)));
        memory
    }

    /// All of it, in order to be kept: the entries, what was read and what was written.
    pub fn parts(&self) -> (impl Iterator<Item = u64> + '_, u64, u64) {
        (self.entries.iter().copied(), self.input, self.output)
    }

    /// Takes in what was said to it; all that it remembers is read again with that.
    pub fn read(&mut self, tokens: u64) {
        self.push(tokens);
        self.input += self.tokens();
    }

    /// Takes in what it said itself.
    pub fn wrote(&mut self, tokens: u64) {
        self.push(tokens);
    }

    /// Counts what it says, when it says it.
    pub fn spend(&mut self, tokens: u64) {
        self.output += tokens;
    }

    fn push(&mut self, tokens: u64) {
        if self.entries.len() == MOST {
            self.entries.pop_front();
        }
        self.entries.push_back(tokens);
        while self.tokens() > LIMIT && self.entries.len() > 1 {
            self.entries.pop_front();
        }
    }

    /// How many entries it remembers.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it remembers nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many tokens those are.
    pub fn tokens(&self) -> u64 {
        self.entries.iter().sum()
    }

    /// What it has written so far.
    pub fn written(&self) -> u64 {
        self.output
    }

    /// Forgets as many entries, from the end or the beginning. How many there were to forget.
    pub fn forget(&mut self, newest: bool, count: u64) -> usize {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(self.entries.len());
        if newest {
            self.entries.truncate(self.entries.len() - count);
        } else {
            self.entries.drain(..count);
        }
        count
    }

    /// Makes one entry of all, of at most as many tokens; half of what it was without a number.
    pub fn compact(&mut self, tokens: Option<u64>) {
        let all = self.tokens();
        self.entries.clear();
        let kept = tokens.unwrap_or(all / 2).min(all);
        if kept > 0 {
            self.entries.push_back(kept);
        }
    }

    /// What has been used so far.
    pub fn usage(&self) -> Usage {
        Usage {
            context_tokens: Some(self.tokens()),
            context_limit: Some(LIMIT),
            input_tokens: self.input,
            output_tokens: self.output,
            cost: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[u64]) -> Memory {
        Memory::of(entries.iter().copied(), 0, 0)
    }

    #[test]
    fn it_forgets_from_either_end_and_no_more_than_there_is() {
        let mut memory = of(&[1, 2, 3, 4]);
        assert_eq!(memory.forget(true, 1), 1);
        assert_eq!(memory.forget(false, 2), 2);
        assert_eq!(memory.tokens(), 3);
        assert_eq!(memory.forget(true, u64::MAX), 1);
        assert_eq!(memory.len(), 0);
    }

    #[test]
    fn compacting_makes_one_entry_and_never_more_tokens() {
        let mut memory = of(&[10, 10, 10]);
        memory.compact(None);
        assert_eq!((memory.len(), memory.tokens()), (1, 15));
        memory.compact(Some(100));
        assert_eq!(memory.tokens(), 15);
        memory.compact(Some(0));
        assert_eq!(memory.len(), 0);
    }

    #[test]
    fn what_does_not_fit_goes_oldest_first() {
        let mut memory = of(&[]);
        memory.read(5000);
        memory.read(5000);
        assert_eq!((memory.len(), memory.tokens()), (1, 5000));
    }
}
