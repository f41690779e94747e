//! Encodes a control message with the fields of both message forms (`type` and `action`), for receivers that support
//! only one form.

use serde_json::{Map, Value, json};

use super::{CONTROL_VERSION, ControlAction, ControlContent, ControlMeta, ControlRequest};

impl ControlRequest {
    /// Encodes the message as the payload of the `control` command.
    pub fn encode(&self) -> Value {
        let kind = self.action.kind().as_str();
        let mut fields = Map::new();
        let mut put = |field: &str, value: Value| {
            fields.insert(field.to_owned(), value);
        };
        put("type", json!(format!("control.{kind}.request")));
        put("action", json!(kind));
        put("v", json!(CONTROL_VERSION));
        put("request_id", json!(self.key.request_id));
        put("team", json!(self.key.team));
        put("session_id", json!(self.key.session_id));
        put("agent_id", json!(self.key.agent_id));
        put("sender", json!(self.sender));
        put("sent_at", json!(self.sent_at));
        match &self.action {
            ControlAction::Stdin(stdin) => {
                match &stdin.content {
                    ControlContent::Inline(text) => put("content", json!(text)),
                    ControlContent::Reference(reference) => put("content_ref", json!(reference)),
                }
                put("content_encoding", json!("utf-8"));
                put("interrupt", json!(stdin.interrupt));
                if let Some(preview) = &stdin.preview {
                    put("content_preview", json!(preview));
                }
            }
            ControlAction::Interrupt => put("signal", json!("interrupt")),
            ControlAction::Answer(answer) => {
                put("question_id", json!(answer.question_id));
                let parts = [
                    ("option", answer.option.as_ref().map(|option| json!(option))),
                    ("decision", answer.decision.map(|decision| json!(decision))),
                    ("text", answer.text.as_ref().map(|text| json!(text))),
                ];
                for (field, value) in parts {
                    if let Some(value) = value {
                        put(field, value);
                    }
                }
            }
        }
        if self.meta != ControlMeta::default() {
            put("meta", meta(&self.meta));
        }
        Value::Object(fields)
    }
}

fn meta(meta: &ControlMeta) -> Value {
    let mut fields = meta.rest.clone();
    if let Some(count) = meta.retry_count {
        fields.insert("retry_count".to_owned(), json!(count));
    }
    let texts =
        [("ui_source", &meta.ui_source), ("oversize_strategy", &meta.oversize_strategy), ("retry_of", &meta.retry_of)];
    for (field, text) in texts {
        if let Some(text) = text {
            fields.insert(field.to_owned(), json!(text));
        }
    }
    Value::Object(fields)
}
