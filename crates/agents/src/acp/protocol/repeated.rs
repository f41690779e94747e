//! Messages of a person, as an agent repeats them when it loads a conversation. The newest are kept.

use std::collections::VecDeque;

use wh_core::space::extent::boundary;

/// Bytes that are kept.
const MAX_REPEATED_BYTES: usize = 1 << 20;

/// Mark of text that hooks of Gemini CLI append to a prompt.
const HOOK_CONTEXT: &str = "<hook_context>";

/// Repeated messages in their order.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    messages: VecDeque<Repetition>,
    bytes: usize,
    /// The last message may still grow.
    is_open: bool,
}

/// One message, and the places in it at which pieces of it end.
#[derive(Debug, Default)]
struct Repetition {
    text: String,
    ends: Vec<usize>,
}

impl Repeated {
    /// Adds a piece of a message.
    pub fn push(&mut self, text: &str) {
        if !std::mem::replace(&mut self.is_open, true) {
            self.messages.push_back(Repetition::default());
            self.bytes += size_of::<Repetition>();
        }
        let Some(last) = self.messages.back_mut() else { return };
        let before = last.bytes();
        last.push(text);
        self.bytes = self.bytes - before + last.bytes();
        while self.bytes > MAX_REPEATED_BYTES
            && self.messages.len() > 1
            && let Some(oldest) = self.messages.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
    }

    /// The message is complete: something else follows.
    pub fn close(&mut self) {
        self.is_open = false;
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// True if a message contains this mark.
    pub fn contains(&self, mark: &str) -> bool {
        self.messages.iter().any(|message| message.text.contains(mark))
    }

    /// The number of prompts that are not repeated in their order.
    pub fn missing<'a>(&self, prompts: impl Iterator<Item = &'a str>) -> usize {
        let places: Vec<(&str, Vec<usize>)> = self.messages.iter().map(Repetition::places).collect();
        // The message and the place in it up to which prompts were found.
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

impl Repetition {
    /// Adds text, and drops the beginning of what is too long.
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
        if self.bytes() > 2 * MAX_REPEATED_BYTES {
            // Half of it goes at once, so that a flood of small pieces is not moved with each of them.
            let dropped = boundary(&self.text, self.text.len().saturating_sub(MAX_REPEATED_BYTES / 2));
            self.text.drain(..dropped);
            self.ends.retain(|end| *end > dropped);
            self.ends.iter_mut().for_each(|end| *end -= dropped);
            let excess = self.ends.len().saturating_sub(MAX_REPEATED_BYTES / 2 / size_of::<usize>());
            self.ends.drain(..excess);
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.len() + self.ends.len() * size_of::<usize>()
    }

    /// The text, and the places at which a prompt may end. Agents put context before a prompt, in the same message or in
    /// one that is not told apart from it; hooks append text.
    fn places(&self) -> (&str, Vec<usize>) {
        let hooks = self.text.match_indices(HOOK_CONTEXT).map(|(at, _)| at);
        let mut places: Vec<usize> = self.ends.iter().copied().chain(hooks).collect();
        places.sort_unstable();
        (&self.text, places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(messages: &[&[&str]]) -> Repeated {
        let mut repeated = Repeated::default();
        for message in messages {
            message.iter().for_each(|chunk| repeated.push(chunk));
            repeated.close();
        }
        repeated
    }

    fn missing(repeated: &Repeated, prompts: &[&str]) -> usize {
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
        let mut all = Repeated::default();
        for _ in 0..10 {
            all.push(&"ä".repeat(MAX_REPEATED_BYTES));
            all.close();
        }
        all.push("last");
        assert!(all.bytes <= MAX_REPEATED_BYTES, "{}", all.bytes);
        assert_eq!(missing(&all, &["last"]), 0);
        for _ in 0..MAX_REPEATED_BYTES {
            all.push("ä");
        }
        assert!(all.bytes <= 3 * MAX_REPEATED_BYTES, "{}", all.bytes);
        assert_eq!(missing(&all, &["ä"]), 0, "one message is bounded, too");
    }
}
