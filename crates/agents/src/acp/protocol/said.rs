//! The conversation as wh knows it, to compare with what an agent has after a load: prompts that were answered, and the
//! answers. The texts are bounded; the oldest go first.

use std::collections::VecDeque;

use super::repeated::Repeated;

/// Bytes of prompts and answers that are kept.
const MAX_BYTES: usize = 256 * 1024;

/// Bytes of a conversation that a new one is told as context.
const MAX_CONTEXT_BYTES: usize = 64 * 1024;

/// Mark of a summary in the place of earlier messages, with Gemini CLI.
const SUMMARY: &str = "<state_snapshot>";

#[derive(Debug, Default)]
pub(super) struct Said {
    exchanges: VecDeque<(String, String)>,
    bytes: usize,
    prompt: Option<String>,
    answer: String,
}

impl Said {
    /// A prompt is sent.
    pub fn prompt(&mut self, text: &str) {
        (self.prompt, self.answer) = (Some(text.to_owned()), String::new());
    }

    /// The agent says something.
    pub fn answer(&mut self, text: &str) {
        if self.answer.len() + text.len() <= MAX_CONTEXT_BYTES {
            self.answer.push_str(text);
        }
    }

    /// The turn has ended. Agents take prompts back that failed or were cancelled.
    pub fn ended(&mut self, completed: bool) {
        let (prompt, answer) = (self.prompt.take(), std::mem::take(&mut self.answer));
        let Some(prompt) = prompt.filter(|_| completed) else { return };
        self.bytes += prompt.len() + answer.len();
        self.exchanges.push_back((prompt, answer));
        while self.bytes > MAX_BYTES {
            let Some((prompt, answer)) = self.exchanges.pop_front() else { return };
            self.bytes -= prompt.len() + answer.len();
        }
    }

    /// The number of prompts that are kept, and of those that a repeated conversation does not have in their order.
    pub fn missing_in(&self, repeated: &Repeated) -> (usize, usize) {
        // A conversation that was made shorter begins with a summary.
        if repeated.contains(SUMMARY) {
            return (self.exchanges.len(), 0);
        }
        let prompts = self.exchanges.iter().map(|(prompt, _)| prompt.trim());
        // Commands are not repeated by all agents.
        let prompts = prompts.filter(|prompt| !prompt.starts_with(['/', '?']));
        (self.exchanges.len(), repeated.missing(prompts))
    }

    /// The conversation as text, the newest part of it, for a new one.
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

    /// Nothing is known of the conversation any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The end of a text that is too long, marked as cut.
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

    fn said(exchanges: &[(&str, &str)]) -> Said {
        let mut said = Said::default();
        for (prompt, answer) in exchanges {
            said.prompt(prompt);
            said.answer(answer);
            said.ended(true);
        }
        said
    }

    fn repeated(messages: &[&str]) -> Repeated {
        let mut repeated = Repeated::default();
        for message in messages {
            repeated.push(message);
            repeated.close();
        }
        repeated
    }

    #[test]
    fn prompts_that_are_not_repeated_in_their_order_are_missing() {
        let said = said(&[("one", "1"), ("/about", "me"), ("two", "2"), ("one", "3")]);
        assert_eq!(said.missing_in(&repeated(&["<context>one", "two", "one"])), (4, 0));
        assert_eq!(said.missing_in(&repeated(&["two", "one"])), (4, 2), "the first is found last");
        assert_eq!(said.missing_in(&repeated(&[])), (4, 3));
        assert_eq!(said.missing_in(&repeated(&["<state_snapshot>of it all"])), (4, 0));
        assert_eq!(Said::default().missing_in(&repeated(&["anything"])), (0, 0));
    }

    #[test]
    fn prompts_that_came_to_nothing_do_not_count_and_old_ones_go() {
        let mut said = said(&[("one", "1")]);
        said.prompt("cancelled");
        said.ended(false);
        assert_eq!(said.missing_in(&repeated(&["one"])), (1, 0));
        assert!(said.context().ends_with("User: one\n\nYou: 1"));
        for _ in 0..10 {
            said.prompt(&"x".repeat(MAX_BYTES / 4));
            said.ended(true);
        }
        assert_eq!(said.missing_in(&repeated(&[])).0, 4);
    }

    #[test]
    fn of_an_exchange_that_is_too_long_the_end_is_context() {
        let long = "ä".repeat(MAX_CONTEXT_BYTES);
        let context = said(&[("old", "1"), (&long, "the answer")]).context();
        assert!(context.contains("[cut off] … ä") && context.ends_with("ä\n\nYou: the answer"), "the newest is there");
        assert!(!context.contains("old"));
        assert!(context.len() < MAX_CONTEXT_BYTES + 256, "{}", context.len());
        let context = said(&[(&long, "1"), ("new", "2")]).context();
        assert!(context.contains("[cut off] … ä") && context.ends_with("User: new\n\nYou: 2"));
    }
}
