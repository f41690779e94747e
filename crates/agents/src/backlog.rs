//! What an agent says before it can be used: little of it matters, and it may not take more room than so much.

use serde_json::Value;

use crate::rpc::{Events, Incoming};

/// How much is kept of what is said, and of everything else, in bytes. What comes when it is full is dropped.
const MOST: usize = 256 * 1024;

/// What was heard, as far as it is kept.
#[derive(Default)]
pub(crate) struct Backlog {
    pub kept: Vec<Incoming>,
    said: usize,
    rest: usize,
}

impl Backlog {
    /// Keeps it, as far as there is room. What the Agent Client Protocol has words for is told apart.
    pub fn take(&mut self, incoming: Incoming) {
        let weight = weight(&incoming);
        let kept = match update(&incoming) {
            // Only how it is now matters.
            Some(
                kind @ ("available_commands_update"
                | "config_option_update"
                | "current_mode_update"
                | "session_info_update"
                | "usage_update"),
            ) => {
                if weight <= MOST {
                    self.kept.retain(|older| update(older) != Some(kind));
                }
                weight <= MOST
            }
            // An old conversation that is told again, however long; it is passed over later. Of a new one this is little.
            Some(
                "user_message_chunk"
                | "agent_message_chunk"
                | "agent_thought_chunk"
                | "tool_call"
                | "tool_call_update"
                | "plan",
            ) => fits(&mut self.said, weight),
            _ => matches!(incoming, Incoming::Closed(_)) || fits(&mut self.rest, weight),
        };
        if kept {
            self.kept.push(incoming);
        } else {
            tracing::debug!(weight, "dropped before it can be used");
        }
    }
}

impl Backlog {
    /// Does something, and hears what is said meanwhile.
    pub async fn meanwhile<T>(&mut self, events: &mut Events, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                event = events.next() => match event {
                    Some(event) => self.take(event),
                    None => return work.await,
                },
            }
        }
    }
}

fn fits(sum: &mut usize, weight: usize) -> bool {
    let fits = *sum + weight <= MOST;
    *sum += if fits { weight } else { 0 };
    fits
}

/// Which update it is, if it is one.
fn update(incoming: &Incoming) -> Option<&str> {
    match incoming {
        Incoming::Notification { method, params } if method == "session/update" => {
            params["update"]["sessionUpdate"].as_str()
        }
        _ => None,
    }
}

/// How much room it takes, roughly.
fn weight(incoming: &Incoming) -> usize {
    match incoming {
        Incoming::Request { method, params, .. } | Incoming::Notification { method, params } => {
            method.len() + size(params)
        }
        Incoming::Unreadable(words) => size_of::<Incoming>() + words.len(),
        Incoming::Skipped { .. } | Incoming::Closed(_) => size_of::<Incoming>(),
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

    fn news(kind: &str, more: &str) -> Incoming {
        let update = json!({ "sessionUpdate": kind, "more": more });
        Incoming::Notification { method: "session/update".to_owned(), params: json!({ "update": update }) }
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
        assert!(all < 3 * MOST, "{all}");
        assert!(all > MOST, "and what there is room for is kept");
        let mut modes = heard.kept.iter().filter(|one| update(one) == Some("current_mode_update"));
        let Some(Incoming::Notification { params, .. }) = modes.next_back() else { panic!("the last mode") };
        assert_eq!(params["update"]["more"], "c");
    }
}
