//! Stores the user's messages that an agent replays when it loads a conversation. Beyond 1 MiB, the oldest are dropped.

use std::collections::VecDeque;

use wh_core::space::extent::boundary;

/// Maximum total size of the stored messages. The newest message alone may be twice as large.
const MAX_REPLAYED_BYTES: usize = 1 << 20;

/// Tag before the text that Gemini CLI hooks append to a prompt.
const HOOK_CONTEXT: &str = "<hook_context>";

/// Replayed user messages in order.
#[derive(Debug, Default)]
pub(super) struct ReplayedMessages {
    messages: VecDeque<ReplayedMessage>,
    bytes: usize,
    /// True if further chunks may belong to the last message.
    is_open: bool,
}

/// Message text, with the offsets at which its chunks end.
#[derive(Debug, Default)]
struct ReplayedMessage {
    text: String,
    ends: Vec<usize>,
}

impl ReplayedMessages {
    /// Appends a chunk to the current message, or starts a message.
    pub fn push(&mut self, text: &str) {
        if !std::mem::replace(&mut self.is_open, true) {
            self.messages.push_back(ReplayedMessage::default());
            self.bytes += size_of::<ReplayedMessage>();
        }
        let Some(last) = self.messages.back_mut() else { return };
        let before = last.bytes();
        last.push(text);
        self.bytes = self.bytes - before + last.bytes();
        while self.bytes > MAX_REPLAYED_BYTES
            && self.messages.len() > 1
            && let Some(oldest) = self.messages.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
    }

    /// Completes the current message. Called when another kind of update arrives.
    pub fn close(&mut self) {
        self.is_open = false;
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns true if a message contains the text `mark`.
    pub fn contains(&self, mark: &str) -> bool {
        self.messages.iter().any(|message| message.text.contains(mark))
    }

    /// Returns the number of `prompts` that are missing from the replayed messages. A prompt that was replayed out of
    /// order counts as missing.
    pub fn missing<'a>(&self, prompts: impl Iterator<Item = &'a str>) -> usize {
        let places: Vec<(&str, Vec<usize>)> = self.messages.iter().map(ReplayedMessage::prompt_ends).collect();
        // Index of the message, and offset in its text, up to which prompts were found.
        let (mut message, mut place) = (0, 0);
        let missing = prompts.filter(|prompt| {
            let mut from = place;
            for (at, (text, ends)) in places.iter().enumerate().skip(message) {
                let ends_prompt = |end: &&usize| **end > from && text[from..**end].trim_end().ends_with(prompt.trim());
                if let Some(end) = ends.iter().find(ends_prompt) {
                    (message, place) = (at, *end);
                    return false;
                }
                from = 0;
            }
            true
        });
        missing.count()
    }
}

impl ReplayedMessage {
    /// Appends text, and truncates the beginning if the message is too long.
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
        if self.bytes() > 2 * MAX_REPLAYED_BYTES {
            // Drops more than necessary. Otherwise, each further chunk would move the whole text.
            let dropped = boundary(&self.text, self.text.len().saturating_sub(MAX_REPLAYED_BYTES / 2));
            self.text.drain(..dropped);
            self.ends.retain(|end| *end > dropped);
            self.ends.iter_mut().for_each(|end| *end -= dropped);
            let excess = self.ends.len().saturating_sub(MAX_REPLAYED_BYTES / 2 / size_of::<usize>());
            self.ends.drain(..excess);
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.len() + self.ends.len() * size_of::<usize>()
    }

    /// Returns the message text and the offsets at which a prompt may end: at the end of a chunk, or before text that a
    /// hook has appended. The start of a prompt is unknown, because agents may prepend context to it.
    fn prompt_ends(&self) -> (&str, Vec<usize>) {
        let hooks = self.text.match_indices(HOOK_CONTEXT).map(|(at, _)| at);
        let mut places: Vec<usize> = self.ends.iter().copied().chain(hooks).collect();
        places.sort_unstable();
        (&self.text, places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(messages: &[&[&str]]) -> ReplayedMessages {
        let mut repeated = ReplayedMessages::default();
        for message in messages {
            message.iter().for_each(|chunk| repeated.push(chunk));
            repeated.close();
        }
        repeated
    }

    fn missing(repeated: &ReplayedMessages, prompts: &[&str]) -> usize {
        repeated.missing(prompts.iter().copied())
    }

    #[test]
    fn a_prompt_within_another_text_is_not_that_prompt() {
        let later = repeated(&[&["yes, and then go on"]]);
        assert_eq!(missing(&later, &["yes"]), 1);
        assert_eq!(missing(&repeated(&[&["yes"], &["yes, and then go on"]]), &["yes", "yes, and then go on"]), 0);
    }

    #[test]
    fn a_prompt_with_context_is_found() {
        for message in [&["<session_context>x</session_context>\n", "yes"][..], &["context: yes \n"], &["y", "es"]] {
            assert_eq!(missing(&repeated(&[message]), &["yes "]), 0, "{message:?}");
        }
        assert_eq!(missing(&repeated(&[&["yes", "<hook_context>be kind</hook_context>"]]), &["yes"]), 0);
        assert_eq!(missing(&repeated(&[&["yes\n<hook_context>be kind</hook_context>"]]), &["yes"]), 0);
        assert_eq!(missing(&repeated(&[&["one", "two"]]), &["one", "two"]), 0, "nothing was answered between them");
    }

    #[test]
    fn prompts_are_found_in_their_order() {
        let all = repeated(&[&["one"], &["two"], &["one"]]);
        assert_eq!(missing(&all, &["one", "two", "one"]), 0);
        assert_eq!(missing(&all, &["one", "one", "two"]), 1);
        assert_eq!(missing(&all, &["two", "two"]), 1);
    }

    #[test]
    fn the_newest_messages_are_kept() {
        let mut all = ReplayedMessages::default();
        for _ in 0..10 {
            all.push(&"ä".repeat(MAX_REPLAYED_BYTES));
            all.close();
        }
        all.push("last");
        assert!(all.bytes <= MAX_REPLAYED_BYTES, "{}", all.bytes);
        assert_eq!(missing(&all, &["last"]), 0);
        for _ in 0..MAX_REPLAYED_BYTES {
            all.push("ä");
        }
        assert!(all.bytes <= 3 * MAX_REPLAYED_BYTES, "{}", all.bytes);
        assert_eq!(missing(&all, &["ä"]), 0, "one message is bounded, too");
    }
}
