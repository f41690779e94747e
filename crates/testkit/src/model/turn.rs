//! What a request comes down to, whichever vendor's it is, and what is said to it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::script::{Behaviour, echo};

/// The pause after each word of `slow:`.
const SLOWLY: Duration = Duration::from_millis(100);

/// One request, read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Turn {
    /// The last thing that the user said.
    pub(super) text: String,
    /// The names of the tools that the agent offers.
    pub(super) tools: Vec<String>,
    /// True when the request brings the result of a tool, and the text is one that was answered before.
    pub(super) tool_done: bool,
}

/// A tool that the model wants called.
#[derive(Debug, PartialEq)]
pub(super) struct ToolCall {
    pub(super) tool: String,
    pub(super) arguments: Value,
}

/// What the model says.
#[derive(Debug, PartialEq)]
pub(super) struct Speech {
    /// What goes before the answer, for vendors that show it.
    pub(super) thought: Option<String>,
    /// The answer, in the pieces that it is streamed in.
    pub(super) words: Vec<String>,
    /// The pause after each piece.
    pub(super) pace: Duration,
}

/// An HTTP status instead of a reply.
#[derive(Debug, PartialEq)]
pub(super) struct Failure(pub(super) u16);

#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    Call(ToolCall),
    Say(Speech),
}

impl Turn {
    /// Picks the reply. `tool_for` is the vendor's word for a behaviour that needs a tool; what the agent does not offer
    /// is not called.
    pub(super) fn reply(&self, tool_for: impl FnOnce(&Behaviour) -> Option<ToolCall>) -> Result<Reply, Failure> {
        if self.tool_done {
            return Ok(say(["tool ".to_owned(), "done".to_owned()]));
        }
        let behaviour = Behaviour::of(&self.text);
        if let Some(call) = tool_for(&behaviour).filter(|call| self.tools.contains(&call.tool)) {
            return Ok(Reply::Call(call));
        }
        Ok(match behaviour {
            Behaviour::Fail(status) => return Err(Failure(status)),
            Behaviour::Slow(count) => {
                let words = (0..count).map(|word| format!("word{word} ")).collect();
                Reply::Say(Speech { thought: None, words, pace: SLOWLY })
            }
            Behaviour::Fast(count) => say((0..count).map(|word| format!("word{word} "))),
            Behaviour::Big(kib) => say(std::iter::repeat_n(format!("{}\n", "x".repeat(1_023)), kib)),
            Behaviour::Think(thought) => {
                Reply::Say(Speech { thought: Some(thought), words: echo(&self.text).into(), pace: Duration::ZERO })
            }
            _ => say(echo(&self.text)),
        })
    }

    /// The text, when this request opens a turn with it. Agents also ask for titles and the like on their own account, with
    /// the user's text somewhere inside; for that they offer no tools.
    pub(super) fn prompt(&self) -> Option<String> {
        (!self.tool_done && !self.tools.is_empty()).then(|| self.text.clone())
    }
}

fn say(words: impl IntoIterator<Item = String>) -> Reply {
    Reply::Say(Speech { thought: None, words: words.into_iter().collect(), pace: Duration::ZERO })
}

/// An id that no other answer has, also not one of an earlier model that the same session has seen.
pub(super) fn fresh_id(prefix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{prefix}_{}{count:04}", now.as_nanos())
}

/// The strings under `key` in a list of objects; an object without one is passed over.
pub(super) fn strings<'a>(list: &'a Value, key: &'a str) -> impl Iterator<Item = &'a str> {
    list.as_array().into_iter().flatten().filter_map(move |object| object[key].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn turn(text: &str) -> Turn {
        Turn { text: text.into(), tools: vec!["sh".into()], tool_done: false }
    }

    fn sh(behaviour: &Behaviour) -> Option<ToolCall> {
        match behaviour {
            Behaviour::Shell(command) => Some(ToolCall { tool: "sh".into(), arguments: json!([command]) }),
            Behaviour::Ask(_) => Some(ToolCall { tool: "question".into(), arguments: json!({}) }),
            _ => None,
        }
    }

    #[test]
    fn a_tool_is_called_where_it_is_offered() {
        let call = ToolCall { tool: "sh".into(), arguments: json!(["ls"]) };
        assert_eq!(turn("tool: ls").reply(sh), Ok(Reply::Call(call)));
        assert_eq!(turn("ask: what?").reply(sh), Ok(say(["echo: ".into(), "ask: what?".into()])));
    }

    #[test]
    fn the_result_of_a_tool_ends_the_turn() {
        let turn = Turn { tool_done: true, ..turn("tool: ls") };
        assert_eq!(turn.reply(sh), Ok(say(["tool ".into(), "done".into()])));
        assert_eq!(turn.prompt(), None);
    }

    #[test]
    fn a_prompt_comes_with_tools() {
        assert_eq!(turn("hello").prompt(), Some("hello".into()));
        let aside = Turn { tools: vec![], ..turn("a title for: hello") };
        assert_eq!(aside.prompt(), None);
    }

    #[test]
    fn slow_words_have_a_pace_and_big_ones_do_not() {
        let Ok(Reply::Say(slow)) = turn("slow: 2").reply(sh) else { panic!("speech") };
        assert_eq!((slow.words, slow.pace), (vec!["word0 ".into(), "word1 ".into()], SLOWLY));
        let Ok(Reply::Say(fast)) = turn("fast: 2").reply(sh) else { panic!("speech") };
        assert_eq!((fast.words, fast.pace), (vec!["word0 ".into(), "word1 ".into()], Duration::ZERO));
        let Ok(Reply::Say(big)) = turn("big: 3").reply(sh) else { panic!("speech") };
        assert_eq!((big.words.concat().len(), big.pace), (3 * 1_024, Duration::ZERO));
    }

    #[test]
    fn a_failure_is_one() {
        assert_eq!(turn("fail: 429").reply(sh), Err(Failure(429)));
    }
}
