//! Decodes a control message in the `type` form, the `action` form or both. The kind and version are checked first,
//! because they determine the required fields.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::problem::{ControlProblem, ControlReason};
use super::{
    AnswerDecision, CONTROL_VERSION, ContentRef, ControlAction, ControlAnswer, ControlContent, ControlKey, ControlKind,
    ControlMeta, ControlRequest, ControlStdin,
};

type Fields = Map<String, Value>;

const KNOWN_TYPES: &str = "control.stdin.request, control.interrupt.request, control.answer.request";
const KNOWN_ACTIONS: &str = "stdin, interrupt, answer";

impl ControlRequest {
    /// Decodes a payload in the `type` form, the `action` form or both at once. Unknown fields are ignored.
    pub fn decode(payload: &Value) -> Result<Self, Box<ControlProblem>> {
        Self::decode_as(payload, None)
    }

    /// Decodes a payload. `implied` is the kind of message that the socket command implies, if any.
    pub(in crate::socket) fn decode_as(
        payload: &Value,
        implied: Option<ControlKind>,
    ) -> Result<Self, Box<ControlProblem>> {
        let empty = Fields::new();
        let fields = payload.as_object().unwrap_or(&empty);
        let mut kind = implied;
        let decoded = if payload.is_object() { read(fields, &mut kind) } else { Err(ControlReason::NotAnObject) };
        decoded.map_err(|reason| {
            let lenient = |field| text(fields, field).ok().flatten().unwrap_or_default();
            let key = ControlKey {
                team: lenient("team"),
                session_id: lenient("session_id"),
                agent_id: lenient("agent_id"),
                request_id: lenient("request_id"),
            };
            Box::new(ControlProblem { kind, key, sender: text(fields, "sender").ok().flatten(), reason })
        })
    }
}

fn read(fields: &Fields, kind: &mut Option<ControlKind>) -> Result<ControlRequest, ControlReason> {
    let known = determine_kind(fields, kind)?;
    match fields.get("v") {
        None | Some(Value::Null) => return Err(ControlReason::Missing("v")),
        Some(v) if v.as_u64() == Some(CONTROL_VERSION) => {}
        Some(Value::Number(v)) => return Err(ControlReason::Version(v.to_string())),
        Some(_) => return Err(ControlReason::WrongType { field: "v", wanted: "a number" }),
    }
    let key = ControlKey {
        team: required(fields, "team")?,
        session_id: required(fields, "session_id")?,
        agent_id: required(fields, "agent_id")?,
        request_id: required(fields, "request_id")?,
    };
    let (sender, sent_at) = (required(fields, "sender")?, required(fields, "sent_at")?);
    let action = match known {
        ControlKind::Stdin => ControlAction::Stdin(stdin(fields)?),
        ControlKind::Interrupt => interrupt(fields)?,
        ControlKind::Answer => ControlAction::Answer(answer(fields)?),
    };
    Ok(ControlRequest { key, sender, sent_at, action, meta: meta(fields)? })
}

/// Determines the kind of the message. Sets `kind` before a check can fail, because the acknowledgement of an error
/// contains the kind.
fn determine_kind(fields: &Fields, kind: &mut Option<ControlKind>) -> Result<ControlKind, ControlReason> {
    let (name, action) = (text(fields, "type"), text(fields, "action"));
    let by_type = name.as_ref().ok().and_then(Option::as_deref).map(ControlKind::of_type);
    let by_action = action.as_ref().ok().and_then(Option::as_deref).map(ControlKind::of_action);
    let implied = *kind;
    *kind = implied.or(by_type.flatten()).or(by_action.flatten());
    let (name, action) = (name?, action?);
    if let (Some(given), Some(None)) = (&name, by_type) {
        return Err(ControlReason::UnknownKind { field: "type", given: given.clone(), known: KNOWN_TYPES });
    }
    if let (Some(given), Some(None)) = (&action, by_action) {
        return Err(ControlReason::UnknownKind { field: "action", given: given.clone(), known: KNOWN_ACTIONS });
    }
    match (implied, by_type.flatten(), by_action.flatten()) {
        (_, Some(one), Some(other)) if one != other => {
            Err(ControlReason::Contradiction { one: "type", other: "action" })
        }
        (Some(implied), Some(said), _) if implied != said => {
            Err(ControlReason::Contradiction { one: "command", other: "type" })
        }
        (Some(implied), _, Some(said)) if implied != said => {
            Err(ControlReason::Contradiction { one: "command", other: "action" })
        }
        (implied, one, other) => implied.or(one).or(other).ok_or(ControlReason::NoKind),
    }
}

fn stdin(fields: &Fields) -> Result<ControlStdin, ControlReason> {
    if let Some(encoding) = text(fields, "content_encoding")?
        && !["utf-8", "utf8"].contains(&encoding.to_ascii_lowercase().as_str())
    {
        return Err(ControlReason::Encoding(encoding));
    }
    let reference = match fields.get("content_ref") {
        None | Some(Value::Null) => None,
        Some(reference) => Some(content_ref(reference)?),
    };
    let content = match (content_text(fields)?, reference) {
        (Some(text), None) => ControlContent::Inline(text),
        (None, Some(reference)) => ControlContent::Reference(reference),
        (None, None) => return Err(ControlReason::Missing("content (or content_ref)")),
        (Some(_), Some(_)) => return Err(ControlReason::Contradiction { one: "content", other: "content_ref" }),
    };
    let interrupt = match fields.get("interrupt") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(interrupt)) => *interrupt,
        Some(_) => return Err(ControlReason::WrongType { field: "interrupt", wanted: "true or false" }),
    };
    Ok(ControlStdin { content, interrupt, preview: text(fields, "content_preview")? })
}

/// Returns the text of a message from `content`, or from `payload` in the action form.
fn content_text(fields: &Fields) -> Result<Option<String>, ControlReason> {
    match (text(fields, "content")?, text(fields, "payload")?) {
        (Some(one), Some(other)) if one != other => {
            Err(ControlReason::Contradiction { one: "content", other: "payload" })
        }
        (one, other) => Ok(one.or(other)),
    }
}

fn content_ref(value: &Value) -> Result<ContentRef, ControlReason> {
    let wanted = "an object with path, size_bytes, sha256 and mime";
    let wrong = || ControlReason::WrongType { field: "content_ref", wanted };
    // Serde would also accept an array with the values of the fields in order.
    let fields = value.is_object().then_some(value).ok_or_else(wrong)?;
    ContentRef::deserialize(fields).map_err(|_| wrong())
}

fn interrupt(fields: &Fields) -> Result<ControlAction, ControlReason> {
    match text(fields, "signal")? {
        Some(signal) if signal != "interrupt" => return Err(ControlReason::Signal(signal)),
        // The action form has no `signal` field. There, the action is sufficient.
        None if fields.get("action").is_none_or(Value::is_null) => return Err(ControlReason::Missing("signal")),
        _ => {}
    }
    for field in ["content", "payload"] {
        if text(fields, field)?.is_some_and(|text| !text.is_empty()) {
            return Err(ControlReason::InterruptWithText(field));
        }
    }
    if fields.get("content_ref").is_some_and(|reference| !reference.is_null()) {
        return Err(ControlReason::InterruptWithText("content_ref"));
    }
    Ok(ControlAction::Interrupt)
}

fn answer(fields: &Fields) -> Result<ControlAnswer, ControlReason> {
    let question_id = match (text(fields, "question_id")?, text(fields, "elicitation_id")?) {
        (Some(one), Some(other)) if one != other => {
            return Err(ControlReason::Contradiction { one: "question_id", other: "elicitation_id" });
        }
        (one, other) => one.or(other).filter(|id| !id.is_empty()).ok_or(ControlReason::Missing("question_id"))?,
    };
    let decision = match text(fields, "decision")?.as_deref() {
        None => None,
        Some("approve") => Some(AnswerDecision::Approve),
        Some("reject") => Some(AnswerDecision::Reject),
        Some(_) => return Err(ControlReason::WrongType { field: "decision", wanted: "approve or reject" }),
    };
    let option = text(fields, "option")?;
    let text = match (text(fields, "text")?, content_text(fields)?) {
        (Some(one), Some(other)) if one != other => {
            return Err(ControlReason::Contradiction { one: "text", other: "content" });
        }
        (one, other) => one.or(other).filter(|text| !text.is_empty()),
    };
    if option.is_some() && decision.is_some() {
        return Err(ControlReason::Contradiction { one: "option", other: "decision" });
    }
    if option.is_none() && decision.is_none() && text.is_none() {
        return Err(ControlReason::EmptyAnswer);
    }
    Ok(ControlAnswer { question_id, option, decision, text })
}

fn meta(fields: &Fields) -> Result<ControlMeta, ControlReason> {
    let mut rest = match fields.get("meta") {
        None | Some(Value::Null) => return Ok(ControlMeta::default()),
        Some(Value::Object(meta)) => meta.clone(),
        Some(_) => return Err(ControlReason::WrongType { field: "meta", wanted: "an object" }),
    };
    let retry_count = rest.get("retry_count").and_then(Value::as_u64);
    if retry_count.is_some() {
        rest.remove("retry_count");
    }
    let mut take = |field| {
        let text = rest.get(field).and_then(Value::as_str).map(str::to_owned)?;
        rest.remove(field);
        Some(text)
    };
    let (ui_source, oversize_strategy, retry_of) = (take("ui_source"), take("oversize_strategy"), take("retry_of"));
    Ok(ControlMeta { retry_count, ui_source, oversize_strategy, retry_of, rest })
}

fn text(fields: &Fields, field: &'static str) -> Result<Option<String>, ControlReason> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(ControlReason::WrongType { field, wanted: "a string" }),
    }
}

fn required(fields: &Fields, field: &'static str) -> Result<String, ControlReason> {
    text(fields, field)?.filter(|text| !text.is_empty()).ok_or(ControlReason::Missing(field))
}
