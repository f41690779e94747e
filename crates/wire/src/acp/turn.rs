//! How a turn ends.

use serde::Deserialize;
use serde_json::Value;

use super::soft::{self, words};

words! {
    /// Why an agent stopped.
    StopReason {
        /// It was done.
        EndTurn = "end_turn",
        /// The model may not write more.
        MaxTokens = "max_tokens",
        /// The model may not be asked more.
        MaxTurnRequests = "max_turn_requests",
        /// It does not want to.
        Refusal = "refusal",
        /// It was told to stop.
        Cancelled = "cancelled",
    }
}

/// The answer to `session/prompt`, which comes when the turn is over.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptReply {
    /// Why it is over.
    #[serde(deserialize_with = "soft::field")]
    pub stop_reason: StopReason,
    /// What it took, where the agent says it here.
    pub usage: Value,
    /// What the agent adds of its own.
    #[serde(rename = "_meta")]
    pub meta: Value,
}

/// What a turn took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
}

impl PromptReply {
    /// What the turn took, wherever the agent says it.
    pub fn tokens(&self) -> Option<Tokens> {
        [&self.usage, &self.meta["quota"]["token_count"]].into_iter().find_map(|count| {
            let number = |names: [&str; 2]| names.iter().find_map(|name| count[*name].as_u64());
            let (input, output) = (number(["inputTokens", "input_tokens"]), number(["outputTokens", "output_tokens"]));
            let none = input.is_none() && output.is_none();
            (!none).then(|| Tokens { input: input.unwrap_or_default(), output: output.unwrap_or_default() })
        })
    }
}
