//! Reply at the end of a turn, with the stop reason and the token usage.

use serde::Deserialize;
use serde_json::Value;

use super::lenient::{self, string_enum};

string_enum! {
    /// Reason for the end of a turn.
    StopReason {
        /// The agent completed the turn.
        EndTurn = "end_turn",
        /// The token limit was reached.
        MaxTokens = "max_tokens",
        /// The limit of model requests was reached.
        MaxTurnRequests = "max_turn_requests",
        /// The agent refused to continue.
        Refusal = "refusal",
        /// The client cancelled the turn.
        Cancelled = "cancelled",
    }
}

/// Reply to `session/prompt`, sent at the end of the turn.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptReply {
    /// Reason for the end of the turn.
    #[serde(deserialize_with = "lenient::field")]
    pub stop_reason: StopReason,
    /// Token usage. Some agents report the usage in `meta` instead.
    pub usage: Value,
    /// Metadata specific to the agent.
    #[serde(rename = "_meta")]
    pub meta: Value,
}

/// Token usage of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TurnTokenUsage {
    /// Input tokens in total.
    pub input: u64,
    /// Output tokens in total.
    pub output: u64,
}

impl PromptReply {
    /// Returns the token usage from `usage`, or from the agent-specific metadata if `usage` contains no token counts.
    pub fn tokens(&self) -> Option<TurnTokenUsage> {
        [&self.usage, &self.meta["quota"]["token_count"]].into_iter().find_map(|count| {
            let number = |names: [&str; 2]| names.iter().find_map(|name| count[*name].as_u64());
            let (input, output) = (number(["inputTokens", "input_tokens"]), number(["outputTokens", "output_tokens"]));
            let none = input.is_none() && output.is_none();
            (!none).then(|| TurnTokenUsage { input: input.unwrap_or_default(), output: output.unwrap_or_default() })
        })
    }
}
