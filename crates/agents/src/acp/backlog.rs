//! Messages that arrive during the handshake, at most 256 KiB of each class. Of settings only the newest is kept.

use serde_json::Value;
use wh_pipe::link::Inbound;

use crate::rpc::{Incoming, JsonRpc};

/// Bytes that are kept of the conversation, and of everything else. Messages beyond that are dropped.
const MAX_CLASS_BYTES: usize = 256 * 1024;

/// Kinds of updates that are part of the conversation.
pub(super) const CONVERSATION: [&str; 6] =
    ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"];

/// Buffered messages.
#[derive(Default)]
pub(crate) struct Backlog {
    pub kept: Vec<Inbound<JsonRpc>>,
    said: usize,
    rest: usize,
}

impl Backlog {
    /// Keeps a message, as far as there is room.
    pub fn take(&mut self, event: Inbound<JsonRpc>) {
        let weight = weight(&event);
        let kept = match update(&event) {
            Some(
                kind @ ("available_commands_update"
                | "config_option_update"
                | "current_mode_update"
                | "session_info_update"
                | "usage_update"),
            ) => {
                if weight <= MAX_CLASS_BYTES {
                    self.kept.retain(|older| update(older) != Some(kind));
                }
                weight <= MAX_CLASS_BYTES
            }
            Some(kind) if CONVERSATION.contains(&kind) => fits(&mut self.said, weight),
            _ => matches!(event, Inbound::Closed(_)) || fits(&mut self.rest, weight),
        };
        if kept {
            self.kept.push(event);
        } else {
            tracing::debug!(weight, "dropped during the handshake");
        }
    }
}

fn fits(sum: &mut usize, weight: usize) -> bool {
    let fits = *sum + weight <= MAX_CLASS_BYTES;
    *sum += if fits { weight } else { 0 };
    fits
}

/// The kind of update, if it is one.
pub(super) fn update(event: &Inbound<JsonRpc>) -> Option<&str> {
    match event {
        Inbound::Message(Incoming::Notification { method, params }) if method == "session/update" => {
            params["update"]["sessionUpdate"].as_str()
        }
        _ => None,
    }
}

/// Bytes that it takes, roughly.
fn weight(event: &Inbound<JsonRpc>) -> usize {
    match event {
        Inbound::Message(Incoming::Request { method, params, .. } | Incoming::Notification { method, params }) => {
            method.len() + size(params)
        }
        Inbound::Message(Incoming::Unreadable(words)) => size_of::<Incoming>() + words.len(),
        Inbound::Stderr(line) => size_of::<Incoming>() + line.len(),
        Inbound::Reply(..) | Inbound::Skipped { .. } | Inbound::Closed(_) => size_of::<Incoming>(),
    }
}

fn size(value: &Value) -> usize {
    let within = match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(size).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() + within
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn news(kind: &str, more: &str) -> Inbound<JsonRpc> {
        let params = json!({ "update": { "sessionUpdate": kind, "more": more } });
        Inbound::Message(Incoming::Notification { method: "session/update".to_owned(), params })
    }

    #[test]
    fn a_flood_is_kept_within_bounds_and_the_last_of_what_holds_is_there() {
        let mut heard = Backlog::default();
        let much = "x".repeat(10_000);
        for kind in ["agent_message_chunk", "tool_call", "plan", "future", "notice", "usage_update"] {
            for _ in 0..1000 {
                heard.take(news(kind, &much));
            }
        }
        for mode in ["a", "b", "c"] {
            heard.take(news("current_mode_update", mode));
        }
        let all: usize = heard.kept.iter().map(weight).sum();
        assert!(all < 3 * MAX_CLASS_BYTES, "{all}");
        assert!(all > MAX_CLASS_BYTES, "and what there is room for is kept");
        let mut modes = heard.kept.iter().filter(|one| update(one) == Some("current_mode_update"));
        let Some(Inbound::Message(Incoming::Notification { params, .. })) = modes.next_back() else {
            panic!("the last mode")
        };
        assert_eq!(params["update"]["more"], "c");
    }
}
