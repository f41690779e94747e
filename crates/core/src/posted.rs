//! MEW envelopes that a person writes: what a kind asks for, as a [`Command`]. A kind that nothing is done about is refused,
//! so that no envelope stands in the conversation without having had its effect.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::slash::LONGEST_PAUSE;
use crate::space::ParticipantId;
use crate::space::command::{Command, Selector};
use crate::space::harness::Call;

/// Kinds that can be posted.
const POSTABLE: &str = "chat, chat/acknowledge, chat/cancel, reasoning/cancel, mcp/request, stream/request, stream/close, \
                        participant/status, request-status, pause, resume, forget, clear, compact, restart, shutdown";

/// Kinds of the protocol, or their prefixes, that can not.
const OTHERS: &[&str] = &["mcp/", "reasoning/", "capability/", "space/", "participant/", "stream/", "system/", "chat/"];

/// Reason for which an envelope is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {problem}")]
pub struct Refused {
    /// The envelope's kind.
    pub kind: String,
    /// What is wrong, and what can be done.
    pub problem: String,
}

/// One envelope, as far as a person writes it: the rest is filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Posted {
    kind: String,
    to: Option<Vec<ParticipantId>>,
    payload: Value,
    correlation_id: Option<String>,
}

impl Posted {
    /// Reads a text that is an envelope: a JSON object with a `kind`. `None`: it is something else.
    pub fn read(text: &str) -> Option<Self> {
        let Value::Object(object) = serde_json::from_str(text.trim()).ok()? else { return None };
        let kind = object.get("kind")?.as_str()?.to_owned();
        let names = |value: &Value| -> Vec<String> {
            match value {
                Value::String(one) => vec![one.clone()],
                Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                _ => Vec::new(),
            }
        };
        let list = |field: &str| object.get(field).map(names).filter(|list| !list.is_empty());
        let to = list("to").map(|list| list.into_iter().map(ParticipantId::from).collect());
        let correlation_id = list("correlation_id").and_then(|list| list.into_iter().next());
        let payload = object.get("payload").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        Some(Self { kind, to, payload, correlation_id })
    }

    /// A request for a tool of this participant.
    pub fn tool_call(whom: ParticipantId, name: &str, arguments: Value) -> Self {
        let payload = serde_json::json!({ "method": "tools/call", "params": { "name": name, "arguments": arguments } });
        Self { kind: "mcp/request".to_owned(), to: Some(vec![whom]), payload, correlation_id: None }
    }

    /// The command that has the effect of this envelope.
    pub fn command(self) -> Result<Command, Refused> {
        let refused = |problem: &str| Refused { kind: self.kind.clone(), problem: problem.to_owned() };
        let text = |field: &str| self.payload[field].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let reason = || text("reason");
        let whom = || match self.to.as_deref() {
            Some([one]) => Ok(one.clone()),
            _ => Err(refused("`to` must name one participant")),
        };
        let call = |call: Call| whom().map(|whom| Command::Call(Some(whom), call));
        let number = |field: &str| match &self.payload[field] {
            Value::Null => Ok(None),
            value => {
                value.as_u64().map(Some).ok_or_else(|| refused(&format!("payload.{field} must be a whole number")))
            }
        };
        match self.kind.as_str() {
            "chat" => {
                let text = text("text").ok_or_else(|| refused("payload.text is missing"))?;
                Ok(Command::say(text, self.to))
            }
            "chat/acknowledge" => {
                let selector = self.correlation_id.clone().map_or(Selector::All, Selector::Named);
                Ok(Command::Acknowledge { selector, status: text("status") })
            }
            "chat/cancel" => {
                let id = self.correlation_id.clone().ok_or_else(|| refused("correlation_id must name a message"))?;
                Ok(Command::Cancel { selector: Selector::Named(id), reason: reason() })
            }
            "reasoning/cancel" => match self.to.as_deref() {
                None => Ok(Command::Interrupt(None)),
                Some(_) => Ok(Command::Interrupt(Some(whom()?))),
            },
            "mcp/request" if self.correlation_id.is_some() => {
                Err(refused("a proposal is answered in its dialog, or with POST /control/answer"))
            }
            "mcp/request" => match self.payload["method"].as_str() {
                Some("tools/call") => {
                    let params = &self.payload["params"];
                    let name = params["name"].as_str().ok_or_else(|| refused("payload.params.name is missing"))?;
                    let arguments = match &params["arguments"] {
                        Value::Null => Value::Object(Map::new()),
                        given => given.clone(),
                    };
                    call(Call::UseTool { name: name.to_owned(), arguments })
                }
                Some("tools/list") => {
                    let to = Some(vec![whom()?]);
                    Ok(Command::Post { kind: self.kind.clone(), payload: self.payload.clone(), to })
                }
                Some(_) => Err(refused("payload.method must be tools/call or tools/list")),
                None => Err(refused("payload.method is missing")),
            },
            "participant/pause" => {
                let timeout = number("timeout_seconds")?;
                if timeout.is_some_and(|seconds| seconds > LONGEST_PAUSE) {
                    return Err(refused("a pause takes a year at most"));
                }
                call(Call::Pause { timeout: timeout.map(Duration::from_secs), reason: reason() })
            }
            "participant/resume" => call(Call::Resume),
            "participant/request-status" => call(Call::ReportStatus),
            "participant/forget" => {
                let newest = match self.payload["direction"].as_str() {
                    None | Some("oldest") => false,
                    Some("newest") => true,
                    Some(_) => return Err(refused("payload.direction must be oldest or newest")),
                };
                call(Call::Forget { newest, count: number("entries")? })
            }
            "participant/clear" => call(Call::Clear),
            "participant/compact" => call(Call::Compact { tokens: number("target_tokens")? }),
            "participant/restart" => call(Call::Restart),
            "participant/shutdown" => Ok(Command::Shutdown(whom()?, reason())),
            "participant/status" => {
                text("status").ok_or_else(|| refused("payload.status is missing"))?;
                Ok(Command::Post { kind: self.kind.clone(), payload: self.payload.clone(), to: self.to.clone() })
            }
            "stream/request" => call(Call::OpenStream { description: text("description") }),
            "stream/close" => {
                let id = text("stream_id").ok_or_else(|| refused("payload.stream_id is missing"))?;
                Ok(Command::CloseStream(id.as_str().into()))
            }
            "mcp/response" | "mcp/reject" => {
                Err(refused("a proposal is answered in its dialog, or with POST /control/answer"))
            }
            kind if OTHERS.iter().any(|prefix| kind.starts_with(prefix)) => {
                Err(refused(&format!("wh has no command for this kind; it has {POSTABLE}")))
            }
            _ => Err(refused(&format!("there is no such kind; wh has {POSTABLE}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn command(envelope: &Value) -> Result<Command, String> {
        Posted::read(&envelope.to_string()).unwrap().command().map_err(|refused| refused.to_string())
    }

    #[test]
    fn every_kind_that_can_be_posted_has_its_command() {
        let demo = || ParticipantId::from("demo");
        let of =
            |kind: &str, payload: Value| command(&json!({ "kind": kind, "to": ["demo"], "payload": payload })).unwrap();
        let calls = [
            (
                "participant/pause",
                json!({ "timeout_seconds": 30, "reason": "lunch" }),
                Call::Pause { timeout: Some(Duration::from_secs(30)), reason: Some("lunch".to_owned()) },
            ),
            ("participant/resume", json!({}), Call::Resume),
            ("participant/request-status", json!({}), Call::ReportStatus),
            (
                "participant/forget",
                json!({ "direction": "newest", "entries": 2 }),
                Call::Forget { newest: true, count: Some(2) },
            ),
            ("participant/clear", json!({}), Call::Clear),
            ("participant/compact", json!({ "target_tokens": 9 }), Call::Compact { tokens: Some(9) }),
            ("participant/restart", json!({}), Call::Restart),
            ("stream/request", json!({ "direction": "upload" }), Call::OpenStream { description: None }),
            (
                "mcp/request",
                json!({ "method": "tools/call", "params": { "name": "read" } }),
                Call::UseTool { name: "read".to_owned(), arguments: json!({}) },
            ),
        ];
        for (kind, payload, call) in calls {
            assert_eq!(of(kind, payload), Command::Call(Some(demo()), call), "{kind}");
        }
        assert_eq!(of("participant/shutdown", json!({})), Command::Shutdown(demo(), None));
        assert_eq!(of("reasoning/cancel", json!({})), Command::Interrupt(Some(demo())));
        assert_eq!(of("stream/close", json!({ "stream_id": "stream-1" })), Command::CloseStream("stream-1".into()));
        let said = Command::say("hi".to_owned(), Some(vec![demo()]));
        assert_eq!(of("chat", json!({ "text": "hi" })), said);
        let acknowledged = command(&json!({ "kind": "chat/acknowledge", "correlation_id": "i4" })).unwrap();
        assert_eq!(acknowledged, Command::Acknowledge { selector: Selector::Named("i4".to_owned()), status: None });
        assert!(matches!(of("mcp/request", json!({ "method": "tools/list" })), Command::Post { .. }));
        assert!(matches!(of("participant/status", json!({ "status": "away" })), Command::Post { .. }));
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_its_kind_and_with_a_reason() {
        let cases = [
            (json!({ "kind": "bogus/x" }), "bogus/x: there is no such kind"),
            (json!({ "kind": "capability/grant" }), "capability/grant: wh has no command"),
            (json!({ "kind": "participant/pause" }), "`to` must name one participant"),
            (json!({ "kind": "participant/pause", "to": ["a", "b"] }), "`to` must name one participant"),
            (json!({ "kind": "chat", "payload": { "text": " " } }), "payload.text is missing"),
            (json!({ "kind": "chat/cancel" }), "correlation_id"),
            (json!({ "kind": "mcp/request", "to": "demo" }), "payload.method is missing"),
            (json!({ "kind": "mcp/request", "to": "demo", "correlation_id": ["q4"] }), "POST /control/answer"),
            (json!({ "kind": "mcp/reject", "correlation_id": ["q4"] }), "POST /control/answer"),
            (
                json!({ "kind": "participant/compact", "to": "demo", "payload": { "target_tokens": "x" } }),
                "whole number",
            ),
        ];
        for (envelope, part) in cases {
            let refused = command(&envelope).unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
    }

    #[test]
    fn other_json_is_no_envelope() {
        for written in [r#"{"a":1}"#, "[1,2]", "17", r#""kind""#, r#"{"kind":7}"#, "{kind"] {
            assert_eq!(Posted::read(written), None, "{written}");
        }
    }
}
