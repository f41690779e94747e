//! Translates requests of an ACP agent into questions, and answers into replies.

use serde_json::{Map, Value, json};
use wh_core::space::item::{ToolKind, ToolStatus};
use wh_core::space::question::{Answer, OptionMeaning, Question, QuestionDetail, QuestionKind, QuestionOption};
use wh_wire::acp::{PermissionKind, PermissionOption};

use super::tools::PartialToolCall;

/// Request of the agent that waits for an answer.
#[derive(Debug)]
pub(super) struct PendingAcpRequest {
    /// Request id that the agent assigned.
    pub id: Value,
    about: QuestionSubject,
}

#[derive(Debug)]
enum QuestionSubject {
    /// Permission for the tool call with this id.
    Permission(String),
    /// Form with one field, or without fields (`None`).
    Form(Option<(String, Value)>),
}

/// Builds the reply to a permission request that the user does not decide.
pub(super) fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

/// Builds the reply to a form that the user does not fill in.
pub(super) fn declined() -> Value {
    json!({ "action": "decline" })
}

impl PendingAcpRequest {
    /// Builds a permission question without the options whose ids are in `hidden`. Returns `None` if no option is left.
    pub fn permission(
        id: Value,
        agent: &str,
        call: (&str, &PartialToolCall),
        options: Vec<PermissionOption>,
        hidden: &[String],
    ) -> Option<(Self, Question)> {
        let (call, reported) = call;
        let options: Vec<QuestionOption> = options
            .into_iter()
            .filter(|option| !hidden.contains(&option.option_id))
            .map(|option| QuestionOption {
                label: option.name.filter(|name| !name.is_empty()).unwrap_or_else(|| option.option_id.clone()),
                id: option.option_id,
                meaning: meaning(&option.kind),
            })
            .collect();
        if options.is_empty() {
            return None;
        }
        let title = match reported.kind() {
            ToolKind::Execute => format!("May {agent} run this command?"),
            ToolKind::Edit => format!("May {agent} change this? {}", reported.title()),
            _ => format!("May {agent} do this? {}", reported.title()),
        };
        let kind = QuestionKind::Permission;
        let question =
            Question { kind, title, details: reported.details(), options, accepts_text: false, preselects: true };
        Some((Self { id, about: QuestionSubject::Permission(call.to_owned()) }, question))
    }

    /// Builds a question from a form. Returns `None` if the form has several fields or an unsupported mode.
    pub fn form(id: Value, agent: &str, params: &Value) -> Option<(Self, Question)> {
        if params["mode"].as_str().is_some_and(|mode| mode != "form") {
            return None;
        }
        let schema = &params["requestedSchema"]["properties"];
        let none = Map::new();
        let fields = schema.as_object().unwrap_or(&none);
        let field = match fields.iter().next() {
            _ if fields.len() > 1 => return None,
            Some((name, field)) => Some((name.clone(), field.clone())),
            None => None,
        };
        let mut options: Vec<QuestionOption> = match &field {
            Some((_, field)) => values(field)
                .into_iter()
                .map(|(id, label)| QuestionOption { id, label, meaning: OptionMeaning::Other })
                .collect(),
            None => {
                vec![QuestionOption { id: "accept".into(), label: "Yes".into(), meaning: OptionMeaning::AllowOnce }]
            }
        };
        let accepts_text = field.is_some() && options.is_empty();
        options.push(QuestionOption {
            id: "decline".into(),
            label: "Decline to answer".into(),
            meaning: OptionMeaning::RejectOnce,
        });
        let title = params["message"].as_str().filter(|message| !message.is_empty());
        let title = title.map_or_else(|| format!("{agent} asks for input"), str::to_owned);
        let words = field.as_ref().and_then(|(_, field)| field["description"].as_str());
        let question = Question {
            kind: if accepts_text { QuestionKind::Text } else { QuestionKind::Choice },
            title,
            details: words.map(|words| QuestionDetail::Text(words.to_owned())).into_iter().collect(),
            options,
            accepts_text,
            preselects: false,
        };
        Some((Self { id, about: QuestionSubject::Form(field) }, question))
    }

    /// Builds the reply to the agent. For a permission, also returns the id and the new status of the tool call.
    pub fn answer(&self, question: &Question, answer: &Answer) -> (Value, Option<(&str, ToolStatus)>) {
        let chosen = answer.option.as_deref().and_then(|id| question.option(id));
        match &self.about {
            QuestionSubject::Permission(call) => match chosen {
                Some(option) => {
                    let reply = json!({ "outcome": { "outcome": "selected", "optionId": option.id } });
                    let status = if option.meaning.rejects() { ToolStatus::Denied } else { ToolStatus::Running };
                    (reply, Some((call, status)))
                }
                None => (cancelled(), Some((call, ToolStatus::Denied))),
            },
            QuestionSubject::Form(_) if chosen.is_some_and(|option| option.meaning.rejects()) => (declined(), None),
            QuestionSubject::Form(field) => {
                let given = answer.option.clone().or_else(|| answer.text.clone()).unwrap_or_default();
                let content: Map<String, Value> =
                    field.iter().map(|(name, field)| (name.clone(), typed(field, &given))).collect();
                (json!({ "action": "accept", "content": content }), None)
            }
        }
    }

    /// Builds the reply to a question that the user does not answer.
    pub fn abandoned(&self) -> Value {
        match &self.about {
            QuestionSubject::Permission(_) => cancelled(),
            QuestionSubject::Form(_) => json!({ "action": "cancel" }),
        }
    }
}

fn meaning(kind: &PermissionKind) -> OptionMeaning {
    match kind {
        PermissionKind::AllowOnce => OptionMeaning::AllowOnce,
        PermissionKind::AllowAlways => OptionMeaning::AllowAlways,
        PermissionKind::RejectOnce => OptionMeaning::RejectOnce,
        PermissionKind::RejectAlways => OptionMeaning::RejectAlways,
        PermissionKind::Other(_) => OptionMeaning::Other,
    }
}

/// Returns the allowed values of a field with their labels. Empty if the user must type the value.
fn values(field: &Value) -> Vec<(String, String)> {
    let words = |list: &Value| -> Vec<Value> { list.as_array().cloned().unwrap_or_default() };
    if field["type"] == "boolean" {
        return vec![("true".into(), "Yes".into()), ("false".into(), "No".into())];
    }
    let titled = words(&field["oneOf"]).into_iter().filter_map(|one| {
        let value = one["const"].as_str()?.to_owned();
        Some((value.clone(), one["title"].as_str().map_or(value, str::to_owned)))
    });
    let plain = words(&field["enum"]).into_iter().filter_map(|one| one.as_str().map(|one| (one.into(), one.into())));
    titled.chain(plain).collect()
}

/// Converts an answer to the type of the field. Only the schema tells whether the field is a string, a number or a
/// boolean.
fn typed(field: &Value, given: &str) -> Value {
    let value = serde_json::from_str(given).ok().filter(|_| field["type"] != "string");
    value.unwrap_or_else(|| json!(given))
}

#[cfg(test)]
mod tests {
    use wh_wire::acp;

    use super::*;

    fn reported() -> PartialToolCall {
        let mut reported = PartialToolCall::default();
        reported.merge(acp::read(json!({"toolCallId": "t", "title": "touch x", "kind": "execute"})));
        reported
    }

    fn permission(hidden: &[&str]) -> Option<(PendingAcpRequest, Question)> {
        let options: acp::PermissionRequest = acp::read(json!({"options": [
            {"optionId": "all", "name": "All", "kind": "allow_always"},
            {"optionId": "once", "name": "Once", "kind": "allow_once"},
            {"optionId": "no", "kind": "reject_once"},
            {"optionId": "odd", "kind": "odd"},
        ]}));
        PendingAcpRequest::permission(
            json!(0),
            "Gemini",
            ("t", &reported()),
            options.options,
            &crate::program::owned(hidden),
        )
    }

    fn option(id: &str) -> Answer {
        Answer { option: Some(id.to_owned()), text: None }
    }

    #[test]
    fn a_permission_has_the_agents_own_options() {
        let (_, question) = permission(&["all"]).unwrap();
        let ids: Vec<(&str, OptionMeaning)> = question.options.iter().map(|it| (it.id.as_str(), it.meaning)).collect();
        assert_eq!(
            ids,
            [("once", OptionMeaning::AllowOnce), ("no", OptionMeaning::RejectOnce), ("odd", OptionMeaning::Other)]
        );
        assert_eq!(question.options[1].label, "no", "an option without a name is called by its id");
        assert_eq!(question.details, [QuestionDetail::Command("touch x".to_owned())]);
        assert!(permission(&["all", "once", "no", "odd"]).is_none());
    }

    #[test]
    fn an_answer_selects_an_option() {
        let (ask, question) = permission(&[]).unwrap();
        let (reply, decided) = ask.answer(&question, &option("once"));
        assert_eq!(reply, json!({"outcome": {"outcome": "selected", "optionId": "once"}}));
        assert_eq!(decided, Some(("t", ToolStatus::Running)));
        assert_eq!(ask.answer(&question, &option("no")).1, Some(("t", ToolStatus::Denied)));
        let (reply, decided) = ask.answer(&question, &option("nothing"));
        assert_eq!((reply, decided), (cancelled(), Some(("t", ToolStatus::Denied))));
    }

    #[test]
    fn a_form_of_one_field_is_a_question() {
        let form = |properties: Value| {
            let params = json!({"message": "Which?", "requestedSchema": {"properties": properties}});
            PendingAcpRequest::form(json!(1), "Gemini", &params)
        };
        let (ask, question) = form(json!({"colour": {"type": "string", "enum": ["red", "blue"]}})).unwrap();
        assert_eq!(
            ask.answer(&question, &option("blue")).0,
            json!({"action": "accept", "content": {"colour": "blue"}})
        );
        assert_eq!(ask.answer(&question, &option("decline")).0, declined());
        let (ask, question) = form(json!({"n": {"type": "integer"}})).unwrap();
        let seven = Answer { option: None, text: Some("7".to_owned()) };
        assert_eq!(ask.answer(&question, &seven).0, json!({"action": "accept", "content": {"n": 7}}));
        let (ask, question) = form(json!({"sure": {"type": "boolean"}})).unwrap();
        assert_eq!(ask.answer(&question, &option("true")).0, json!({"action": "accept", "content": {"sure": true}}));
        let (ask, question) = form(json!({})).unwrap();
        assert_eq!(ask.answer(&question, &option("accept")).0, json!({"action": "accept", "content": {}}));
        assert!(form(json!({"a": {}, "b": {}})).is_none());
        assert!(PendingAcpRequest::form(json!(1), "Gemini", &json!({"mode": "url", "url": "https://x"})).is_none());
    }
}
