//! Implements `wh messages`, which prints the messages of a conversation.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;
use wh_wire::control::{Message, MessagesBody};

use crate::failure::{API_CODES, CliFailure, print_to_stderr, with_exit_codes};
use crate::print::{clean, clean_line};
use crate::target::TargetArguments;

/// Print the messages of a conversation, oldest first
///
/// Terminal programs have no messages.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh messages --limit 5\n  wh messages --kind chat --since 2025-01-06T10:00:00Z --json | jq '.messages[].payload'", API_CODES
))]
pub struct MessagesCommand {
    /// Print at most N messages: the newest, or with --since the first ones after TIME [default: 100]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,

    /// Print only messages of this kind
    #[arg(long)]
    kind: Option<String>,

    /// Print only messages from this sender
    #[arg(long, value_name = "NAME")]
    from: Option<String>,

    /// Print only messages added after this time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    #[command(flatten)]
    target: TargetArguments,
}

impl MessagesCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let limit = self.limit.map(|limit| limit.to_string());
        let filters = [("limit", limit), ("kind", self.kind), ("from", self.from), ("since", self.since)];
        let query: Vec<(&str, &str)> =
            filters.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
        self.target.get("messages", &query)?.show(self.target.json, |body: MessagesBody| {
            if body.total == 0 {
                print_to_stderr("wh: no messages (terminal programs have none)");
            } else if body.messages.is_empty() {
                print_to_stderr(&format!("wh: none of the {} messages of the conversation matches", body.total));
            }
            body.messages.iter().map(line).collect()
        })
    }
}

/// Formats a message: a heading, then its text. A message without text shows its payload as JSON.
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
