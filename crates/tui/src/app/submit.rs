//! What is written becomes what is asked for: a slash command, an envelope in JSON, or a message.

use std::time::SystemTime;

use serde_json::Value;
use wh_core::slash::{self, Pick, Slash};
use wh_core::space::ParticipantId;
use wh_core::space::command::Command;
use wh_core::space::harness::Call;
use wh_core::space::state::State;

use super::{Act, App, Request};

impl App {
    pub(super) fn submit(&mut self, text: String, state: &State, now: SystemTime) -> Vec<Act> {
        self.transcript.follow();
        self.notice = None;
        if is_slash(&text) {
            // What is brought in is more than the space itself can do.
            if let ["/agent", agent] = text.split_whitespace().collect::<Vec<_>>()[..] {
                return self.bring(agent.to_owned(), state);
            }
            return match slash::parse(&text) {
                Ok(Slash::Space(Command::Model(None, None))) if self.offers(Pick::Model, state) => {
                    self.pick(Pick::Model, state, now)
                }
                Ok(Slash::Space(Command::Mode(None, None))) if self.offers(Pick::Mode, state) => {
                    self.pick(Pick::Mode, state, now)
                }
                // Nobody, or more than one, is paused: a conversation may be meant.
                Ok(Slash::Space(Command::Call(None, Call::Resume))) if state.only_paused().is_none() => {
                    self.pick(Pick::Conversation, state, now)
                }
                Ok(Slash::Ui(command)) => self.ui(command, state, now),
                Ok(Slash::Space(command)) => vec![Act::Ask(Request { command, written: Some(text) })],
                Err(mistake) => vec![refused(text, mistake.to_string())],
            };
        }
        let command =
            envelope(&text).unwrap_or_else(|| Command::Say { text: text.clone(), to: None, attachments: vec![] });
        vec![Act::Ask(Request { command, written: Some(text) })]
    }
}

/// Records a refused slash command in the conversation. The composer stays empty; Up brings the line back.
pub(super) fn refused(line: String, reason: String) -> Act {
    Act::Ask(Request { command: Command::Refused { line, reason }, written: None })
}

/// True for a line that is a slash command.
pub(super) fn is_slash(text: &str) -> bool {
    text.trim_start().starts_with('/')
}

/// An envelope written in JSON: an object with a `kind`.
fn envelope(text: &str) -> Option<Command> {
    let Value::Object(mut object) = serde_json::from_str(text.trim()).ok()? else { return None };
    let kind = object.get("kind")?.as_str()?.to_owned();
    let payload = object.remove("payload").unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let to = match object.get("to") {
        Some(Value::String(one)) => Some(vec![ParticipantId::from(one.as_str())]),
        Some(Value::Array(all)) => Some(all.iter().filter_map(Value::as_str).map(ParticipantId::from).collect()),
        _ => None,
    };
    Some(Command::Post { kind, payload, to: to.filter(|to: &Vec<ParticipantId>| !to.is_empty()) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_with_a_kind_is_an_envelope() {
        let written = r#" {"kind": "chat", "to": ["demo"], "payload": {"text": "hi"}} "#;
        let to = Some(vec!["demo".into()]);
        assert_eq!(
            envelope(written),
            Some(Command::Post { kind: "chat".into(), payload: json!({ "text": "hi" }), to })
        );
        let bare = Command::Post { kind: "x".into(), payload: json!({}), to: None };
        assert_eq!(envelope(r#"{"kind":"x"}"#), Some(bare));
    }

    #[test]
    fn other_json_is_a_message() {
        for written in [r#"{"a":1}"#, "[1,2]", "17", r#""kind""#, r#"{"kind":7}"#, "{kind"] {
            assert_eq!(envelope(written), None, "{written}");
        }
    }
}
