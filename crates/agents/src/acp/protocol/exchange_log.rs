//! Records completed prompts and their answers, to detect messages that are missing after a resume. The size is
//! bounded; the oldest exchanges are dropped first.

use std::collections::VecDeque;

use super::replayed_messages::ReplayedMessages;

/// Maximum size of the recorded prompts and answers.
const MAX_EXCHANGES_BYTES: usize = 256 * 1024;

/// Maximum size of the text that is sent as context to a new conversation, and of each recorded answer.
const MAX_CONTEXT_BYTES: usize = 64 * 1024;

/// Tag that marks the summary with which Gemini CLI replaces earlier messages in a compacted conversation.
const SUMMARY: &str = "<state_snapshot>";

#[derive(Debug, Default)]
pub(super) struct ExchangeLog {
    exchanges: VecDeque<(String, String)>,
    bytes: usize,
    prompt: Option<String>,
    answer: String,
}

impl ExchangeLog {
    /// Records the prompt of a new exchange.
    pub fn prompt(&mut self, text: &str) {
        (self.prompt, self.answer) = (Some(text.to_owned()), String::new());
    }

    /// Appends text to the answer of the current exchange. Drops text that would exceed [`MAX_CONTEXT_BYTES`].
    pub fn answer(&mut self, text: &str) {
        if self.answer.len() + text.len() <= MAX_CONTEXT_BYTES {
            self.answer.push_str(text);
        }
    }

    /// Ends the current exchange. Discards the exchange if the turn failed or was cancelled, because agents also
    /// discard such exchanges.
    pub fn ended(&mut self, completed: bool) {
        let (prompt, answer) = (self.prompt.take(), std::mem::take(&mut self.answer));
        let Some(prompt) = prompt.filter(|_| completed) else { return };
        self.bytes += prompt.len() + answer.len();
        self.exchanges.push_back((prompt, answer));
        while self.bytes > MAX_EXCHANGES_BYTES {
            let Some((prompt, answer)) = self.exchanges.pop_front() else { return };
            self.bytes -= prompt.len() + answer.len();
        }
    }

    /// Returns the number of recorded prompts, and the number of recorded prompts that are missing from the replay. A
    /// prompt that was replayed out of order counts as missing. Commands never count as missing, and no prompt does if
    /// the conversation was compacted.
    pub fn missing_in(&self, replayed: &ReplayedMessages) -> (usize, usize) {
        // In a compacted conversation, a summary replaces the earlier messages.
        if replayed.contains(SUMMARY) {
            return (self.exchanges.len(), 0);
        }
        let prompts = self.exchanges.iter().map(|(prompt, _)| prompt.trim());
        // Some agents do not replay commands.
        let prompts = prompts.filter(|prompt| !prompt.starts_with(['/', '?']));
        (self.exchanges.len(), replayed.missing(prompts))
    }

    /// Formats the newest exchanges as context for a new conversation.
    pub fn context(&self) -> String {
        let mut parts = Vec::new();
        let mut room = MAX_CONTEXT_BYTES;
        for (prompt, answer) in self.exchanges.iter().rev() {
            let part = format!("User: {prompt}\n\nYou: {answer}");
            let Some(rest) = room.checked_sub(part.len()) else {
                parts.push(end_of(&part, room));
                break;
            };
            room = rest;
            parts.push(part);
        }
        parts.reverse();
        format!("The record of this conversation was lost. This was said before:\n\n{}", parts.join("\n\n"))
    }

    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// Forgets the recorded exchanges.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Returns the last `bytes` bytes of a longer text, with a truncation mark.
fn end_of(text: &str, bytes: usize) -> String {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    format!("[cut off] … {}", &text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(exchanges: &[(&str, &str)]) -> ExchangeLog {
        let mut log = ExchangeLog::default();
        for (prompt, answer) in exchanges {
            log.prompt(prompt);
            log.answer(answer);
            log.ended(true);
        }
        log
    }

    fn repeated(messages: &[&str]) -> ReplayedMessages {
        let mut repeated = ReplayedMessages::default();
        for message in messages {
            repeated.push(message);
            repeated.close();
        }
        repeated
    }

    #[test]
    fn prompts_that_are_not_repeated_in_their_order_are_missing() {
        let log = log(&[("one", "1"), ("/about", "me"), ("two", "2"), ("one", "3")]);
        assert_eq!(log.missing_in(&repeated(&["<context>one", "two", "one"])), (4, 0));
        assert_eq!(log.missing_in(&repeated(&["two", "one"])), (4, 2), "the first is found last");
        assert_eq!(log.missing_in(&repeated(&[])), (4, 3));
        assert_eq!(log.missing_in(&repeated(&["<state_snapshot>of it all"])), (4, 0));
        assert_eq!(ExchangeLog::default().missing_in(&repeated(&["anything"])), (0, 0));
    }

    #[test]
    fn prompts_that_came_to_nothing_do_not_count_and_old_ones_go() {
        let mut log = log(&[("one", "1")]);
        log.prompt("cancelled");
        log.ended(false);
        assert_eq!(log.missing_in(&repeated(&["one"])), (1, 0));
        assert!(log.context().ends_with("User: one\n\nYou: 1"));
        for _ in 0..10 {
            log.prompt(&"x".repeat(MAX_EXCHANGES_BYTES / 4));
            log.ended(true);
        }
        assert_eq!(log.missing_in(&repeated(&[])).0, 4);
    }

    #[test]
    fn of_an_exchange_that_is_too_long_the_end_is_context() {
        let long = "ä".repeat(MAX_CONTEXT_BYTES);
        let context = log(&[("old", "1"), (&long, "the answer")]).context();
        assert!(context.contains("[cut off] … ä") && context.ends_with("ä\n\nYou: the answer"), "the newest is there");
        assert!(!context.contains("old"));
        assert!(context.len() < MAX_CONTEXT_BYTES + 256, "{}", context.len());
        let context = log(&[(&long, "1"), ("new", "2")]).context();
        assert!(context.contains("[cut off] … ä") && context.ends_with("User: new\n\nYou: 2"));
    }
}
