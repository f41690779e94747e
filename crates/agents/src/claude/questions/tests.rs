use wh_wire::claude::{Incoming, decode};

use super::*;

fn ask(request: Value) -> IncomingRequest {
    let frame = json!({"type": "control_request", "request_id": "r", "request": request});
    match decode(frame.to_string().as_bytes()) {
        Ok(Incoming::Ask(ask)) => ask,
        other => panic!("{other:?}"),
    }
}

fn tool(name: &str, input: Value, more: Value) -> IncomingRequest {
    let mut request = json!({"subtype": "can_use_tool", "tool_name": name, "input": input, "tool_use_id": "t"});
    for (name, value) in more.as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    ask(request)
}

fn suggestions() -> Value {
    json!([
        {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch x"}], "behavior": "allow", "destination": "localSettings"},
        {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    ])
}

fn ids(question: &Question) -> Vec<&str> {
    question.options.iter().map(|option| option.id.as_str()).collect()
}

fn option(id: &str) -> Answer {
    Answer { option: Some(id.to_owned()), text: None }
}

fn sent(open: &PendingClaudeRequest, answers: &[Answer]) -> Value {
    let answers: Vec<_> = open.questions.iter().cloned().zip(answers.iter().cloned()).collect();
    serde_json::to_value(open.answer(&answers)).unwrap()
}

#[test]
fn a_permission_offers_yes_its_suggestions_and_no() {
    let more = json!({"permission_suggestions": suggestions(), "decision_reason": "\u{1b}[31mred\u{1b}[0m rule"});
    let open = PendingClaudeRequest::new(tool("Bash", json!({"command": "touch x"}), more)).unwrap();
    let question = &open.questions[0];
    assert_eq!(
        ids(question),
        ["allow", "always-0", "always-2", "deny", DENY_AND_STOP],
        "no way around permissions is offered"
    );
    assert!(question.options[1].label.contains("touch x"));
    assert_eq!(
        question.details,
        [QuestionDetail::Command("touch x".to_owned()), QuestionDetail::Text("red rule".to_owned())]
    );
    assert!(question.preselects);
}

#[test]
fn always_is_hidden_and_nothing_is_preselected_where_the_request_says_so() {
    let more =
        json!({"permission_suggestions": suggestions(), "suppress_always_allow_rule": true, "default_to_no": true});
    let open = PendingClaudeRequest::new(tool("Bash", json!({"command": "touch x"}), more)).unwrap();
    assert_eq!(ids(&open.questions[0]), ["allow", "deny", DENY_AND_STOP]);
    assert!(!open.questions[0].preselects);
}

#[test]
fn an_answer_is_what_the_agent_wants_to_hear() {
    let fresh = || {
        let more = json!({"permission_suggestions": suggestions()});
        PendingClaudeRequest::new(tool("Bash", json!({"command": "touch x"}), more)).unwrap()
    };
    let yes = sent(&fresh(), &[option("allow")]);
    assert_eq!((&yes["behavior"], &yes["updatedInput"]["command"]), (&json!("allow"), &json!("touch x")));
    assert!(yes.get("updatedPermissions").is_none());
    let always = sent(&fresh(), &[option("always-0")]);
    assert_eq!(always["updatedPermissions"], json!([suggestions()[0]]));
    let no = sent(&fresh(), &[option("deny")]);
    assert_eq!((&no["behavior"], &no["message"]), (&json!("deny"), &json!(DENY_MESSAGE)));
    assert!(no.get("interrupt").is_none(), "the turn goes on, as with other agents");
    let stop = sent(&fresh(), &[option(DENY_AND_STOP)]);
    assert_eq!((&stop["message"], &stop["interrupt"]), (&json!(DENY_AND_STOP_MESSAGE), &json!(true)));
    let reason = Answer { option: Some("deny".to_owned()), text: Some("use y".to_owned()) };
    assert_eq!(sent(&fresh(), &[reason])["message"], "use y");
    let words = Answer { option: None, text: Some("rather not".to_owned()) };
    let words = sent(&fresh(), &[words]);
    assert_eq!((&words["behavior"], &words["message"]), (&json!("deny"), &json!("rather not")));
}

#[test]
fn several_questions_are_answered_together() {
    let input = json!({"questions": [
        {"question": "Which?", "header": "h", "multiSelect": false, "options": [{"label": "A", "description": "first"}, {"label": "B"}]},
        {"question": "And?", "options": []},
    ]});
    let open =
        PendingClaudeRequest::new(tool("AskUserQuestion", input, json!({"requires_user_interaction": true}))).unwrap();
    assert_eq!(open.questions[0].options[0].label, "A: first");
    assert!(!open.questions[0].preselects);
    let answer = sent(&open, &[option("B"), Answer { option: None, text: Some("more".to_owned()) }]);
    assert_eq!(answer["behavior"], "allow");
    assert_eq!(answer["updatedInput"]["answers"], json!({"Which?": "B", "And?": "more"}));
    assert_eq!(answer["updatedInput"]["questions"][0]["question"], "Which?");
}

#[test]
fn a_plan_is_a_question_of_its_own() {
    let fresh = || PendingClaudeRequest::new(tool("ExitPlanMode", json!({"plan": "# Do it"}), json!({}))).unwrap();
    assert_eq!(fresh().questions[0].details, [QuestionDetail::Text("# Do it".to_owned())]);
    let yes = sent(&fresh(), &[option("accept-edits")]);
    assert_eq!(yes["updatedPermissions"][0]["mode"], "acceptEdits");
    assert_eq!(sent(&fresh(), &[option("deny")])["behavior"], "deny");
}

#[test]
fn a_server_may_ask_for_one_thing_or_for_a_form() {
    let form = |schema: Value| {
        ask(
            json!({"subtype": "elicitation", "mcp_server_name": "desk", "message": "Which colour?", "requested_schema": schema}),
        )
    };
    let one = json!({"type": "object", "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}}});
    let open = PendingClaudeRequest::new(form(one.clone())).unwrap();
    assert_eq!(ids(&open.questions[0]), ["red", "blue", "decline"]);
    let answer = sent(&open, &[option("blue")]);
    assert_eq!(answer, json!({"action": "accept", "content": {"colour": "blue"}}));
    assert_eq!(
        sent(&PendingClaudeRequest::new(form(one)).unwrap(), &[option("decline")]),
        json!({"action": "decline"})
    );
    let two = json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "string"}}});
    let open = PendingClaudeRequest::new(form(two)).unwrap();
    let answer = Answer { option: None, text: Some(r#"{"a": 1, "b": "x"}"#.to_owned()) };
    assert_eq!(sent(&open, &[answer]), json!({"action": "accept", "content": {"a": 1, "b": "x"}}));
    let number = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let answer = Answer { option: None, text: Some("7".to_owned()) };
    let sent = sent(&PendingClaudeRequest::new(form(number)).unwrap(), &[answer]);
    assert_eq!(sent, json!({"action": "accept", "content": {"n": 7}}));
}

#[test]
fn what_is_no_question_for_a_person_is_none() {
    assert!(PendingClaudeRequest::new(ask(json!({"subtype": "hook_callback", "callback_id": "h"}))).is_none());
    assert!(PendingClaudeRequest::new(tool("AskUserQuestion", json!({"questions": []}), json!({}))).is_none());
}
