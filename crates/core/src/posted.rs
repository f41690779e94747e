//! Envelopes of the MEW protocol that a user writes, and the [`ConversationCommand`] for each kind. An envelope of a
//! kind without a command is refused, so that the conversation contains only executed envelopes.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::slash::MAX_PAUSE_SECONDS;
use crate::space::ParticipantId;
use crate::space::command::{ConversationCommand, MessageSelector};
use crate::space::harness::Call;

/// Kinds that have a command. The error for an unknown kind lists them.
const POSTABLE_KINDS: &str = "chat, chat/acknowledge, chat/cancel, reasoning/cancel, mcp/request, stream/request, stream/close, \
                        participant/status, participant/request-status, participant/pause, participant/resume, \
                        participant/forget, participant/clear, participant/compact, participant/restart, \
                        participant/shutdown";

/// Prefixes of the kinds that the MEW protocol defines. A kind with such a prefix but without a command is not reported
/// as an unknown kind.
const UNPOSTABLE_PREFIXES: &[&str] =
    &["mcp/", "reasoning/", "capability/", "space/", "participant/", "stream/", "system/", "chat/"];

/// Error for an envelope that has no command or is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {problem}")]
pub struct EnvelopeRefusal {
    pub kind: String,
    /// Human-readable description of the error.
    pub problem: String,
}

/// Fields of an envelope that a user may set. `wh` generates the other fields.
#[derive(Debug, Clone, PartialEq)]
pub struct PostedEnvelope {
    kind: String,
    to: Option<Vec<ParticipantId>>,
    payload: Value,
    correlation_id: Option<String>,
}

impl PostedEnvelope {
    /// Parses an envelope: a JSON object with a `kind`. Returns `None` if the text is not such an object.
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

    /// Creates an envelope that calls a tool of this participant.
    pub fn tool_call(participant: ParticipantId, name: &str, arguments: Value) -> Self {
        let payload = serde_json::json!({ "method": "tools/call", "params": { "name": name, "arguments": arguments } });
        Self { kind: "mcp/request".to_owned(), to: Some(vec![participant]), payload, correlation_id: None }
    }

    /// Converts the envelope to its command.
    pub fn command(self) -> Result<ConversationCommand, EnvelopeRefusal> {
        let refused = |problem: &str| EnvelopeRefusal { kind: self.kind.clone(), problem: problem.to_owned() };
        let text = |field: &str| self.payload[field].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let reason = || text("reason");
        let participant = || match self.to.as_deref() {
            Some([one]) => Ok(one.clone()),
            _ => Err(refused("`to` must name one participant")),
        };
        let call = |call: Call| participant().map(|participant| ConversationCommand::Call(Some(participant), call));
        let number = |field: &str| match &self.payload[field] {
            Value::Null => Ok(None),
            value => {
                value.as_u64().map(Some).ok_or_else(|| refused(&format!("payload.{field} must be a whole number")))
            }
        };
        match self.kind.as_str() {
            "chat" => {
                let text = text("text").ok_or_else(|| refused("payload.text is missing"))?;
                Ok(ConversationCommand::say(text, self.to))
            }
            "chat/acknowledge" => {
                let selector = self.correlation_id.clone().map_or(MessageSelector::All, MessageSelector::Named);
                Ok(ConversationCommand::Acknowledge { selector, status: text("status") })
            }
            "chat/cancel" => {
                let id = self.correlation_id.clone().ok_or_else(|| refused("correlation_id is missing"))?;
                Ok(ConversationCommand::Cancel { selector: MessageSelector::Named(id), reason: reason() })
            }
            "reasoning/cancel" => match self.to.as_deref() {
                None => Ok(ConversationCommand::Interrupt(None)),
                Some(_) => Ok(ConversationCommand::Interrupt(Some(participant()?))),
            },
            "mcp/request" if self.correlation_id.is_some() => {
                Err(refused("answer the proposal in its dialog, or with POST /control/answer"))
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
                    let to = Some(vec![participant()?]);
                    Ok(ConversationCommand::Post { kind: self.kind.clone(), payload: self.payload.clone(), to })
                }
                Some(_) => Err(refused("payload.method must be tools/call or tools/list")),
                None => Err(refused("payload.method is missing")),
            },
            "participant/pause" => {
                let timeout = number("timeout_seconds")?;
                if timeout.is_some_and(|seconds| seconds > MAX_PAUSE_SECONDS) {
                    return Err(refused("a pause can last at most one year"));
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
            "participant/shutdown" => Ok(ConversationCommand::Shutdown(participant()?, reason())),
            "participant/status" => {
                text("status").ok_or_else(|| refused("payload.status is missing"))?;
                Ok(ConversationCommand::Post {
                    kind: self.kind.clone(),
                    payload: self.payload.clone(),
                    to: self.to.clone(),
                })
            }
            "stream/request" => call(Call::OpenStream { description: text("description") }),
            "stream/close" => {
                let id = text("stream_id").ok_or_else(|| refused("payload.stream_id is missing"))?;
                Ok(ConversationCommand::CloseStream(id.as_str().into()))
            }
            "mcp/response" | "mcp/reject" => {
                Err(refused("answer the proposal in its dialog, or with POST /control/answer"))
            }
            kind if UNPOSTABLE_PREFIXES.iter().any(|prefix| kind.starts_with(prefix)) => {
                Err(refused(&format!("messages of this kind cannot be posted; use one of {POSTABLE_KINDS}")))
            }
            _ => Err(refused(&format!("unknown kind; use one of {POSTABLE_KINDS}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn command(envelope: &Value) -> Result<ConversationCommand, String> {
        PostedEnvelope::read(&envelope.to_string()).unwrap().command().map_err(|refused| refused.to_string())
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
            assert_eq!(of(kind, payload), ConversationCommand::Call(Some(demo()), call), "{kind}");
        }
        assert_eq!(of("participant/shutdown", json!({})), ConversationCommand::Shutdown(demo(), None));
        assert_eq!(of("reasoning/cancel", json!({})), ConversationCommand::Interrupt(Some(demo())));
        assert_eq!(
            of("stream/close", json!({ "stream_id": "stream-1" })),
            ConversationCommand::CloseStream("stream-1".into())
        );
        let expected = ConversationCommand::say("hi".to_owned(), Some(vec![demo()]));
        assert_eq!(of("chat", json!({ "text": "hi" })), expected);
        let acknowledged = command(&json!({ "kind": "chat/acknowledge", "correlation_id": "i4" })).unwrap();
        assert_eq!(
            acknowledged,
            ConversationCommand::Acknowledge { selector: MessageSelector::Named("i4".to_owned()), status: None }
        );
        assert!(matches!(of("mcp/request", json!({ "method": "tools/list" })), ConversationCommand::Post { .. }));
        assert!(matches!(of("participant/status", json!({ "status": "away" })), ConversationCommand::Post { .. }));
    }

    #[test]
    fn a_refused_envelope_has_its_kind_and_a_reason() {
        let cases = [
            (json!({ "kind": "bogus/x" }), "bogus/x: unknown kind"),
            (json!({ "kind": "capability/grant" }), "capability/grant: messages of this kind cannot be posted"),
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
            assert_eq!(PostedEnvelope::read(written), None, "{written}");
        }
    }
}
