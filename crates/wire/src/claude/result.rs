//! How a turn ended.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{
    json::{Json, lax, or_default},
    message::Usage,
};

/// A turn is over. Another may begin by itself: the session rests when it says that it is idle.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TurnResult {
    /// `success`, `error_during_execution`, `error_max_turns`, …
    pub subtype: String,
    /// Whether it failed. A failed request to the model comes as a `success` that is an error.
    #[serde(default, deserialize_with = "or_default")]
    pub is_error: bool,
    /// The last words, or what went wrong.
    pub result: Option<String>,
    /// What went wrong.
    #[serde(default, deserialize_with = "or_default")]
    pub errors: Vec<String>,
    /// Why it ended: `completed`, `aborted_streaming`, `aborted_tools`, `max_turns`, …
    pub terminal_reason: Option<String>,
    /// Why the model stopped.
    pub stop_reason: Option<String>,
    /// The HTTP status of the failed request to the model.
    #[serde(default, deserialize_with = "lax")]
    pub api_error_status: Option<u16>,
    /// What was not allowed.
    #[serde(default, deserialize_with = "lax")]
    pub permission_denials: Vec<PermissionDenial>,
    /// The answer by the schema that was asked for.
    pub structured_output: Option<Json>,
    /// Messages of ours that were answered.
    #[serde(default, deserialize_with = "or_default")]
    pub user_message_uuids: Vec<String>,
    /// Messages of ours that still wait.
    #[serde(default, deserialize_with = "lax")]
    pub queued_turn_count: u64,
    /// Rounds with the model.
    #[serde(default, deserialize_with = "lax")]
    pub num_turns: u64,
    /// How long it took.
    #[serde(default, deserialize_with = "lax")]
    pub duration_ms: f64,
    /// US dollars since the process began.
    #[serde(default, deserialize_with = "lax")]
    pub total_cost_usd: f64,
    /// Tokens of this turn, without those of subagents.
    #[serde(default, deserialize_with = "lax")]
    pub usage: Option<Usage>,
    /// Tokens and cost for each model since the process began.
    #[serde(default, rename = "modelUsage", deserialize_with = "lax")]
    pub model_usage: BTreeMap<String, ModelUsage>,
    /// The session.
    pub session_id: Option<String>,
    /// The frame's id.
    pub uuid: Option<String>,
}

impl TurnResult {
    /// An interrupt ended it: it is cancelled rather than failed.
    pub fn is_aborted(&self) -> bool {
        self.terminal_reason.as_ref().is_some_and(|reason| reason.starts_with("aborted_"))
    }
}

/// A tool that was not allowed to run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PermissionDenial {
    /// The tool.
    pub tool_name: String,
    /// The call.
    pub tool_use_id: String,
    /// What it was called with.
    #[serde(default)]
    pub tool_input: Value,
}

/// Tokens and cost of one model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ModelUsage {
    /// Read, and not from the cache.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
    /// Read from the cache.
    pub cache_read_input_tokens: u64,
    /// Read and put into the cache.
    pub cache_creation_input_tokens: u64,
    /// US dollars.
    #[serde(rename = "costUSD")]
    pub cost_usd: f64,
    /// How many tokens a conversation can have.
    pub context_window: u64,
}
