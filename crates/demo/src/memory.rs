//! Simulated context of the demo agent: the token count of each prompt and reply. Each word counts as one token.

use std::collections::VecDeque;

use wh_core::space::harness::Usage;

/// Size of the simulated context.
const CONTEXT_LIMIT_TOKENS: u64 = 8192;

/// Maximum number of entries in the context. If there are more, the oldest is removed.
const MAX_ENTRIES: usize = 1000;

/// Token counts of the prompts and replies in the context, and the total token usage.
#[derive(Debug, Default)]
pub(super) struct DemoContext {
    entries: VecDeque<u64>,
    input: u64,
    output: u64,
}

/// Returns the number of tokens in a text.
pub(super) fn tokens(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

impl DemoContext {
    /// Restores the entries and the usage from a saved conversation.
    pub fn of(entries: impl Iterator<Item = u64>, input: u64, output: u64) -> Self {
        let mut memory = Self { entries: VecDeque::new(), input, output };
        // The file may have been edited by hand.
        entries.take(MAX_ENTRIES).for_each(|tokens| memory.push(tokens.min(CONTEXT_LIMIT_TOKENS)));
        memory
    }

    /// Returns the entries, the input tokens and the output tokens, for saving.
    pub fn parts(&self) -> (impl Iterator<Item = u64> + '_, u64, u64) {
        (self.entries.iter().copied(), self.input, self.output)
    }

    /// Adds a prompt as an entry. All tokens in the context count as input tokens of the new turn.
    pub fn read(&mut self, tokens: u64) {
        self.push(tokens);
        self.input += self.tokens();
    }

    /// Adds a reply as an entry. Does not count output tokens; see [`DemoContext::spend`].
    pub fn wrote(&mut self, tokens: u64) {
        self.push(tokens);
    }

    /// Adds to the number of output tokens.
    pub fn spend(&mut self, tokens: u64) {
        self.output += tokens;
    }

    fn push(&mut self, tokens: u64) {
        if self.entries.len() == MAX_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(tokens);
        while self.tokens() > CONTEXT_LIMIT_TOKENS && self.entries.len() > 1 {
            self.entries.pop_front();
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of tokens in the context.
    pub fn tokens(&self) -> u64 {
        self.entries.iter().sum()
    }

    /// Returns the number of output tokens so far.
    pub fn written(&self) -> u64 {
        self.output
    }

    /// Removes up to `count` of the newest or of the oldest entries. Returns the number of removed entries.
    pub fn forget(&mut self, newest: bool, count: u64) -> usize {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(self.entries.len());
        if newest {
            self.entries.truncate(self.entries.len() - count);
        } else {
            self.entries.drain(..count);
        }
        count
    }

    /// Replaces all entries with a single entry of at most `tokens` tokens; `None` halves the number of tokens.
    pub fn compact(&mut self, tokens: Option<u64>) {
        let all = self.tokens();
        self.entries.clear();
        let kept = tokens.unwrap_or(all / 2).min(all);
        if kept > 0 {
            self.entries.push_back(kept);
        }
    }

    /// Returns the token usage so far, for a report.
    pub fn usage(&self) -> Usage {
        Usage {
            context_tokens: Some(self.tokens()),
            context_limit: Some(CONTEXT_LIMIT_TOKENS),
            input_tokens: self.input,
            output_tokens: self.output,
            cost: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[u64]) -> DemoContext {
        DemoContext::of(entries.iter().copied(), 0, 0)
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
    fn the_oldest_entries_are_dropped_if_the_context_is_full() {
        let mut memory = of(&[]);
        memory.read(5000);
        memory.read(5000);
        assert_eq!((memory.len(), memory.tokens()), (1, 5000));
    }
}
