//! Result of a turn: outcome, token usage and cost.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{
    json::{Json, lax, or_default},
    message::TokenUsage,
};

/// End of a turn. The agent may then start another turn without input. The session is idle only after a
/// [`SessionStateChanged`](super::SessionStateChanged) with the idle state.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TurnResult {
    /// Kind of result: `success`, `error_during_execution`, `error_max_turns`, …
    pub subtype: String,
    /// True if the turn failed. A failed model request is reported with subtype `success` and this flag.
    #[serde(default, deserialize_with = "or_default")]
    pub is_error: bool,
    /// Final answer of the model, or an error message.
    pub result: Option<String>,
    /// Error messages of the turn.
    #[serde(default, deserialize_with = "or_default")]
    pub errors: Vec<String>,
    /// Reason for the end: `completed`, `aborted_streaming`, `aborted_tools`, `max_turns`, …
    pub terminal_reason: Option<String>,
    /// Stop reason of the model.
    pub stop_reason: Option<String>,
    /// HTTP status of a failed model request.
    #[serde(default, deserialize_with = "lax")]
    pub api_error_status: Option<u16>,
    /// Tool calls that were denied.
    #[serde(default, deserialize_with = "lax")]
    pub permission_denials: Vec<PermissionDenial>,
    /// Answer in the requested JSON schema.
    pub structured_output: Option<Json>,
    /// Ids of client messages that the turn answered.
    #[serde(default, deserialize_with = "or_default")]
    pub user_message_uuids: Vec<String>,
    /// Number of client messages that are still queued.
    #[serde(default, deserialize_with = "lax")]
    pub queued_turn_count: u64,
    /// Number of model requests.
    #[serde(default, deserialize_with = "lax")]
    pub num_turns: u64,
    /// Duration of the turn in milliseconds.
    #[serde(default, deserialize_with = "lax")]
    pub duration_ms: f64,
    /// Cost in US dollars since the process started.
    #[serde(default, deserialize_with = "lax")]
    pub total_cost_usd: f64,
    /// Token usage of this turn, excluding subagents.
    #[serde(default, deserialize_with = "lax")]
    pub usage: Option<TokenUsage>,
    /// Token usage and cost since the process started, by model name.
    #[serde(default, rename = "modelUsage", deserialize_with = "lax")]
    pub model_usage: BTreeMap<String, ModelUsage>,
    /// Id of the session.
    pub session_id: Option<String>,
    /// Id of the frame.
    pub uuid: Option<String>,
}

impl TurnResult {
    /// Returns true if the turn was interrupted. Such a turn counts as cancelled, not as failed.
    pub fn is_aborted(&self) -> bool {
        self.terminal_reason.as_ref().is_some_and(|reason| reason.starts_with("aborted_"))
    }
}

/// Tool call that was denied.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PermissionDenial {
    /// Name of the tool.
    pub tool_name: String,
    /// Id of the call.
    pub tool_use_id: String,
    /// Input of the call.
    #[serde(default)]
    pub tool_input: Value,
}

/// Token usage and cost of one model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ModelUsage {
    /// Input tokens that were neither read from the cache nor written to it.
    pub input_tokens: u64,
    /// Output tokens in total.
    pub output_tokens: u64,
    /// Input tokens read from the cache.
    pub cache_read_input_tokens: u64,
    /// Input tokens written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Cost in US dollars.
    #[serde(rename = "costUSD")]
    pub cost_usd: f64,
    /// Size of the model's context window in tokens.
    pub context_window: u64,
}
