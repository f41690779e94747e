//! Names of calls in the capabilities of agents, and the envelopes that show calls in the conversation.

use serde_json::{Value, json};

use crate::space::harness::Call;

/// Returns the name under which an agent lists the call in its capabilities.
pub fn call_name(call: &Call) -> &str {
    match call {
        Call::Pause { .. } => "pause",
        Call::Resume => "resume",
        Call::ReportStatus => "status",
        Call::Forget { .. } => "forget",
        Call::Clear => "clear",
        Call::Compact { .. } => "compact",
        Call::Restart => "restart",
        Call::OpenStream { .. } => "stream",
        Call::CloseStream(_) => "close",
        Call::UseTool { .. } => "tool",
        Call::Other { name, .. } => name,
    }
}

/// Returns the kind and payload of the envelope that shows the call in the conversation; `None` if the call has no
/// envelope.
pub fn envelope_of(call: &Call) -> Option<(&'static str, Value)> {
    Some(match call {
        Call::Pause { timeout, reason } => {
            let seconds = timeout.map(|timeout| timeout.as_secs());
            ("participant/pause", json!({ "timeout_seconds": seconds, "reason": reason }))
        }
        Call::Resume => ("participant/resume", json!({})),
        Call::ReportStatus => ("participant/request-status", json!({})),
        Call::Forget { newest, count } => {
            let direction = if *newest { "newest" } else { "oldest" };
            ("participant/forget", json!({ "direction": direction, "entries": count }))
        }
        Call::Clear => ("participant/clear", json!({})),
        Call::Compact { tokens } => ("participant/compact", json!({ "target_tokens": tokens })),
        Call::Restart => ("participant/restart", json!({})),
        Call::OpenStream { description } => ("stream/request", json!({ "description": description })),
        Call::UseTool { name, arguments } => {
            ("mcp/request", json!({ "method": "tools/call", "params": { "name": name, "arguments": arguments } }))
        }
        // The envelope `stream/close` is added when the stream has been closed.
        Call::CloseStream(_) | Call::Other { .. } => return None,
    })
}
