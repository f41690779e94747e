//! `wh messages`.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;
use wh_wire::control::{Message, MessagesBody};

use crate::door::DoorArguments;
use crate::failure::{Failure, say, with_exit_codes};
use crate::print::{clean, clean_line};

/// Print the messages of a run's conversation, oldest first
///
/// A plain terminal program has none.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh messages --limit 5\n  wh messages --kind chat --since 2025-01-06T10:00:00Z --json | jq '.messages[].payload'"
))]
pub struct Messages {
    /// At most so many: the newest, or with --since the first after it; 100 if not said
    #[arg(long, value_name = "N")]
    limit: Option<u32>,

    /// Only of this kind
    #[arg(long)]
    kind: Option<String>,

    /// Only from this sender
    #[arg(long, value_name = "NAME")]
    from: Option<String>,

    /// Only those added after this time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    #[command(flatten)]
    door: DoorArguments,
}

impl Messages {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let limit = self.limit.map(|limit| limit.to_string());
        let filters = [("limit", limit), ("kind", self.kind), ("from", self.from), ("since", self.since)];
        let query: Vec<(&str, &str)> =
            filters.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
        self.door.get("messages", &query)?.show(self.door.json, |body: MessagesBody| {
            if body.total == 0 {
                say("wh: no messages; a plain terminal program never has any");
            } else if body.messages.is_empty() {
                say(&format!("wh: no such messages; the conversation has {}", body.total));
            }
            body.messages.iter().map(line).collect()
        })
    }
}

/// A message's heading, and what it says below it or, if it is no text, as JSON.
fn line(message: &Message) -> String {
    let from = message.from.as_deref().unwrap_or("-");
    let to = message.to.as_ref().map(|to| format!(" to {}", to.join(", "))).unwrap_or_default();
    let heading = clean_line(&format!("{} {} from {from}{to}", message.received_at, message.kind));
    let text = match message.payload.get("text") {
        Some(Value::String(text)) => clean(text),
        _ => clean(&message.payload.to_string()),
    };
    let text: String = text.lines().map(|line| format!("    {line}\n")).collect();
    format!("{heading}\n{text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_is_a_heading_and_its_words_and_cannot_forge_either() {
        let mut message = Message {
            id: "m1".to_owned(),
            kind: "chat".to_owned(),
            from: Some("agent\n".to_owned()),
            to: Some(vec!["human".to_owned(), "other".to_owned()]),
            payload: json!({"text": "one\ntwo \u{1b}[2J"}),
            sent: false,
            received_at: "2025-01-06T10:00:00.000Z".to_owned(),
            protocol: "mew/v0.4".to_owned(),
            ts: "2025-01-06T10:00:00.000Z".to_owned(),
            correlation_id: Vec::new(),
            context: None,
        };
        let heading = "2025-01-06T10:00:00.000Z chat from agent␊ to human, other\n";
        assert_eq!(line(&message), format!("{heading}    one\n    two ␛[2J\n"));
        message.payload = json!({"tool": "x"});
        assert_eq!(line(&message), format!("{heading}    {{\"tool\":\"x\"}}\n"));
    }
}
