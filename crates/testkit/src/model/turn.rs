//! Vendor-independent form of a request to the model and of the model's reply.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::script::{ModelBehaviour, echo};

/// Delay after each word of `slow:`.
const SLOW_WORD_DELAY: Duration = Duration::from_millis(100);

/// Request of an agent, decoded from the format of its vendor.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ModelTurn {
    /// Last text of the user.
    pub(super) text: String,
    /// Names of the tools that the agent offers.
    pub(super) tools: Vec<String>,
    /// True if the request contains a tool result, so that the user's text was already answered.
    pub(super) tool_done: bool,
}

#[derive(Debug, PartialEq)]
pub(super) struct ModelToolCall {
    pub(super) tool: String,
    pub(super) arguments: Value,
}

/// Text reply of the model, streamed in chunks.
#[derive(Debug, PartialEq)]
pub(super) struct TextReply {
    /// Reasoning before the answer, streamed by the vendors whose agents show it.
    pub(super) thought: Option<String>,
    /// Chunks of the answer in streaming order.
    pub(super) chunks: Vec<String>,
    /// Delay after each chunk.
    pub(super) delay: Duration,
}

/// HTTP error status that the model sends instead of a reply.
#[derive(Debug, PartialEq)]
pub(super) struct ScriptedFailure(pub(super) u16);

#[derive(Debug, PartialEq)]
pub(super) enum ModelReply {
    Call(ModelToolCall),
    Say(TextReply),
}

impl ModelTurn {
    /// Selects the reply. `tool_for` maps a behaviour to the vendor's tool call. A tool that the agent does not offer
    /// is not called.
    pub(super) fn reply(
        &self,
        tool_for: impl FnOnce(&ModelBehaviour) -> Option<ModelToolCall>,
    ) -> Result<ModelReply, ScriptedFailure> {
        if self.tool_done {
            return Ok(say(["tool ".to_owned(), "done".to_owned()]));
        }
        let behaviour = ModelBehaviour::of(&self.text);
        if let Some(call) = tool_for(&behaviour).filter(|call| self.tools.contains(&call.tool)) {
            return Ok(ModelReply::Call(call));
        }
        Ok(match behaviour {
            ModelBehaviour::Fail(status) => return Err(ScriptedFailure(status)),
            ModelBehaviour::Slow(count) => {
                let words = (0..count).map(|word| format!("word{word} ")).collect();
                ModelReply::Say(TextReply { thought: None, chunks: words, delay: SLOW_WORD_DELAY })
            }
            ModelBehaviour::Fast(count) => say((0..count).map(|word| format!("word{word} "))),
            ModelBehaviour::Big(kib) => say(std::iter::repeat_n(format!("{}\n", "x".repeat(1_023)), kib)),
            ModelBehaviour::Think(thought) => ModelReply::Say(TextReply {
                thought: Some(thought),
                chunks: echo(&self.text).into(),
                delay: Duration::ZERO,
            }),
            _ => say(echo(&self.text)),
        })
    }

    /// Returns the user's text if this request starts a turn. Agents also send internal requests that contain the
    /// user's text, for example for a title. Internal requests offer no tools.
    pub(super) fn prompt(&self) -> Option<String> {
        (!self.tool_done && !self.tools.is_empty()).then(|| self.text.clone())
    }
}

fn say(words: impl IntoIterator<Item = String>) -> ModelReply {
    ModelReply::Say(TextReply { thought: None, chunks: words.into_iter().collect(), delay: Duration::ZERO })
}

/// Returns a unique id. A resumed conversation may contain ids of an earlier model, so the id includes the time.
pub(super) fn fresh_id(prefix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{prefix}_{}{count:04}", now.as_nanos())
}

/// Returns the strings under `key` in a list of objects. Objects without that key are skipped.
pub(super) fn strings<'a>(list: &'a Value, key: &'a str) -> impl Iterator<Item = &'a str> {
    list.as_array().into_iter().flatten().filter_map(move |object| object[key].as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn turn(text: &str) -> ModelTurn {
        ModelTurn { text: text.into(), tools: vec!["sh".into()], tool_done: false }
    }

    fn sh(behaviour: &ModelBehaviour) -> Option<ModelToolCall> {
        match behaviour {
            ModelBehaviour::Shell(command) => Some(ModelToolCall { tool: "sh".into(), arguments: json!([command]) }),
            ModelBehaviour::Ask(_) => Some(ModelToolCall { tool: "question".into(), arguments: json!({}) }),
            _ => None,
        }
    }

    #[test]
    fn a_tool_is_called_if_it_is_offered() {
        let call = ModelToolCall { tool: "sh".into(), arguments: json!(["ls"]) };
        assert_eq!(turn("tool: ls").reply(sh), Ok(ModelReply::Call(call)));
        assert_eq!(turn("ask: what?").reply(sh), Ok(say(["echo: ".into(), "ask: what?".into()])));
    }

    #[test]
    fn the_result_of_a_tool_ends_the_turn() {
        let turn = ModelTurn { tool_done: true, ..turn("tool: ls") };
        assert_eq!(turn.reply(sh), Ok(say(["tool ".into(), "done".into()])));
        assert_eq!(turn.prompt(), None);
    }

    #[test]
    fn a_prompt_comes_with_tools() {
        assert_eq!(turn("hello").prompt(), Some("hello".into()));
        let aside = ModelTurn { tools: vec![], ..turn("a title for: hello") };
        assert_eq!(aside.prompt(), None);
    }

    #[test]
    fn slow_words_have_a_pace_and_big_ones_do_not() {
        let Ok(ModelReply::Say(slow)) = turn("slow: 2").reply(sh) else { panic!("speech") };
        assert_eq!((slow.chunks, slow.delay), (vec!["word0 ".into(), "word1 ".into()], SLOW_WORD_DELAY));
        let Ok(ModelReply::Say(fast)) = turn("fast: 2").reply(sh) else { panic!("speech") };
        assert_eq!((fast.chunks, fast.delay), (vec!["word0 ".into(), "word1 ".into()], Duration::ZERO));
        let Ok(ModelReply::Say(big)) = turn("big: 3").reply(sh) else { panic!("speech") };
        assert_eq!((big.chunks.concat().len(), big.delay), (3 * 1_024, Duration::ZERO));
    }

    #[test]
    fn a_failure_is_returned_as_an_error() {
        assert_eq!(turn("fail: 429").reply(sh), Err(ScriptedFailure(429)));
    }
}
