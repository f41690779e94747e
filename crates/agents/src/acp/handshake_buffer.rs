//! Buffers messages that arrive during the handshake: at most 256 KiB of conversation updates, and 256 KiB of other
//! messages. For each kind of settings update, only the newest is retained.

use serde_json::Value;
use wh_pipe::link::LinkEvent;

use crate::rpc::{JsonRpc, RpcIncoming};

/// Maximum size of all buffered conversation updates, of each buffered settings update, and of all other buffered
/// messages. Messages beyond the limit are dropped.
const MAX_CLASS_BYTES: usize = 256 * 1024;

/// Kinds of `session/update` that are part of the conversation.
pub(super) const CONVERSATION: [&str; 6] =
    ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"];

/// Bounded buffer for messages that arrive during the handshake.
#[derive(Default)]
pub(crate) struct HandshakeBuffer {
    pub messages: Vec<LinkEvent<JsonRpc>>,
    conversation_bytes: usize,
    other_bytes: usize,
}

impl HandshakeBuffer {
    /// Buffers a message, or drops the message if it would exceed [`MAX_CLASS_BYTES`].
    pub fn push(&mut self, event: LinkEvent<JsonRpc>) {
        let weight = weight(&event);
        let fits = match update(&event) {
            Some(
                kind @ ("available_commands_update"
                | "config_option_update"
                | "current_mode_update"
                | "session_info_update"
                | "usage_update"),
            ) => {
                if weight <= MAX_CLASS_BYTES {
                    self.messages.retain(|older| update(older) != Some(kind));
                }
                weight <= MAX_CLASS_BYTES
            }
            Some(kind) if CONVERSATION.contains(&kind) => fits(&mut self.conversation_bytes, weight),
            _ => matches!(event, LinkEvent::Closed(_)) || fits(&mut self.other_bytes, weight),
        };
        if fits {
            self.messages.push(event);
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

/// Returns the kind of a `session/update`; `None` for any other event.
pub(super) fn update(event: &LinkEvent<JsonRpc>) -> Option<&str> {
    match event {
        LinkEvent::Message(RpcIncoming::Notification { method, params }) if method == "session/update" => {
            params["update"]["sessionUpdate"].as_str()
        }
        _ => None,
    }
}

/// Returns the approximate size of an event in bytes.
fn weight(event: &LinkEvent<JsonRpc>) -> usize {
    match event {
        LinkEvent::Message(
            RpcIncoming::Request { method, params, .. } | RpcIncoming::Notification { method, params },
        ) => method.len() + size(params),
        LinkEvent::Message(RpcIncoming::Unreadable(words)) => size_of::<RpcIncoming>() + words.len(),
        LinkEvent::Stderr(line) => size_of::<RpcIncoming>() + line.len(),
        LinkEvent::Reply(..) | LinkEvent::Skipped { .. } | LinkEvent::Closed(_) => size_of::<RpcIncoming>(),
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

    fn news(kind: &str, more: &str) -> LinkEvent<JsonRpc> {
        let params = json!({ "update": { "sessionUpdate": kind, "more": more } });
        LinkEvent::Message(RpcIncoming::Notification { method: "session/update".to_owned(), params })
    }

    #[test]
    fn a_flood_is_bounded_and_the_newest_settings_are_retained() {
        let mut buffer = HandshakeBuffer::default();
        let much = "x".repeat(10_000);
        for kind in ["agent_message_chunk", "tool_call", "plan", "future", "notice", "usage_update"] {
            for _ in 0..1000 {
                buffer.push(news(kind, &much));
            }
        }
        for mode in ["a", "b", "c"] {
            buffer.push(news("current_mode_update", mode));
        }
        let all: usize = buffer.messages.iter().map(weight).sum();
        assert!(all < 3 * MAX_CLASS_BYTES, "{all}");
        assert!(all > MAX_CLASS_BYTES, "as much as fits is buffered");
        let mut modes = buffer.messages.iter().filter(|one| update(one) == Some("current_mode_update"));
        let Some(LinkEvent::Message(RpcIncoming::Notification { params, .. })) = modes.next_back() else {
            panic!("the last mode")
        };
        assert_eq!(params["update"]["more"], "c");
    }
}
