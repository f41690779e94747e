use super::*;
use wh_wire::codex::ChangeKind;

const COMMAND: &str = "item/commandExecution/requestApproval";

fn open(method: &str, params: Value, changes: &[Change]) -> Open {
    Open::new(json!(0), Ask::read(method, params), changes).expect("a question")
}

fn option(id: &str) -> Answer {
    Answer { option: Some(id.to_owned()), text: None }
}

fn ids(question: &Question) -> Vec<&str> {
    question.options.iter().map(|option| option.id.as_str()).collect()
}

#[test]
fn a_command_is_decided_by_what_is_really_offered() {
    let rule = json!({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["touch", "x"]}});
    let params = json!({
        "itemId": "c", "command": "/bin/bash -lc 'touch x'", "reason": "to see", "cwd": "/w",
        "availableDecisions": ["accept", rule, "cancel", {"brandNew": {}}],
    });
    let mut asked = open(COMMAND, params, &[]);
    let question = &asked.parts[0].0;
    let details =
        [Detail::Command("touch x".to_owned()), Detail::Text("to see".to_owned()), Detail::Path("/w".to_owned())];
    assert_eq!(question.details, details);
    assert_eq!(ids(question), ["accept", "accept-rule", "decline", "cancel", "other-4"]);
    assert_eq!(question.options[1].label, "Yes, and do not ask again for touch x");
    let reply = asked.answer(0, option("accept-rule")).unwrap();
    assert_eq!((&reply.result["decision"], reply.allows), (&rule, true));
    assert_eq!(asked.answer(0, option("other-4")).unwrap().result, json!({"decision": {"brandNew": {}}}));
    assert_eq!(asked.item(), Some("c"));
}

#[test]
fn a_no_may_say_why() {
    let mut asked = open(COMMAND, json!({"command": "rm x"}), &[]);
    let why = Answer { option: Some("decline".to_owned()), text: Some(" rather keep it ".to_owned()) };
    let reply = asked.answer(0, why).unwrap();
    let expected =
        Reply { result: json!({"decision": "decline"}), allows: false, reason: Some("rather keep it".to_owned()) };
    assert_eq!(reply, expected);
    let words = Answer { option: None, text: Some("keep it".to_owned()) };
    assert_eq!(asked.answer(0, words).unwrap().result, json!({"decision": "decline"}), "words alone are a no");
}

#[test]
fn a_host_is_allowed_or_never() {
    let host = |action: &str| json!({"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": "h.example", "action": action}}});
    let params = json!({
        "networkApprovalContext": {"host": "h.example"},
        "availableDecisions": ["accept", host("allow"), host("deny")],
    });
    let mut asked = open(COMMAND, params, &[]);
    let meanings: Vec<Meaning> = asked.parts[0].0.options.iter().map(|option| option.meaning).collect();
    assert_eq!(meanings, [Meaning::AllowOnce, Meaning::AllowAlways, Meaning::RejectAlways, Meaning::RejectOnce]);
    assert_eq!(asked.answer(0, option("deny-host-2")).unwrap().result["decision"], host("deny"));
}

#[test]
fn a_change_is_shown_in_the_question() {
    let change = Change { path: "a".to_owned(), kind: ChangeKind::Add, diff: "new\n".to_owned() };
    let mut asked = open("item/fileChange/requestApproval", json!({"itemId": "f", "grantRoot": "/other"}), &[change]);
    let question = &asked.parts[0].0;
    assert_eq!(question.details[0], Detail::Diff { path: "a".to_owned(), old: None, new: "new\n".to_owned() });
    assert_eq!(question.details[2], Detail::Path("/other".to_owned()));
    assert_eq!(ids(question), ["accept", "accept-for-session", "decline", "cancel"]);
    assert_eq!(asked.answer(0, option("accept-for-session")).unwrap().result, json!({"decision": "acceptForSession"}));
}

#[test]
fn permissions_are_granted_for_as_long_as_somebody_says() {
    let wanted = json!({"permissions": {"network": {"enabled": true}, "fileSystem": null}});
    let mut asked = open("item/permissions/requestApproval", wanted, &[]);
    let granted = json!({"permissions": {"network": {"enabled": true}}, "scope": "session"});
    assert_eq!(asked.answer(0, option("session")).unwrap().result, granted);
    assert_eq!(asked.answer(0, option("decline")).unwrap().result, json!({"permissions": {}, "scope": "turn"}));
}

#[test]
fn several_questions_are_answered_together() {
    let params = json!({"questions": [
        {"id": "a", "question": "Which?", "isOther": false, "options": [{"label": "Red", "description": "warm"}]},
        {"id": "b", "question": "Why?", "options": null},
    ]});
    let mut asked = open("item/tool/requestUserInput", params, &[]);
    assert_eq!(asked.parts[0].0.options[0].label, "Red: warm");
    assert_eq!((asked.parts[0].0.accepts_text, asked.parts[1].0.accepts_text), (false, true));
    assert_eq!(asked.answer(0, option("Red")), None);
    let reply = asked.answer(1, Answer { option: None, text: Some("so".to_owned()) }).unwrap();
    assert_eq!(reply.result, json!({"answers": {"a": {"answers": ["Red"]}, "b": {"answers": ["so"]}}}));
    assert_eq!(reply.reason, None);
}

#[test]
fn an_elicitation_is_a_permission_a_field_or_a_form() {
    let method = "mcpServer/elicitation/request";
    let may = json!({"serverName": "desk", "message": "May it?", "mode": "form", "_meta": {"persist": ["session"]},
        "requestedSchema": {"type": "object", "properties": {}}});
    let mut asked = open(method, may, &[]);
    assert_eq!(ids(&asked.parts[0].0), ["accept", "session", "decline"]);
    let yes = json!({"action": "accept", "content": {}, "_meta": {"persist": "session"}});
    assert_eq!(asked.answer(0, option("session")).unwrap().result, yes);
    assert_eq!(asked.answer(0, option("decline")).unwrap().result["action"], "decline");
    let field = json!({"message": "How many?", "requestedSchema": {"properties": {"n": {"type": "number"}}}});
    let mut asked = open(method, field, &[]);
    let three = Answer { option: None, text: Some("3".to_owned()) };
    assert_eq!(asked.answer(0, three).unwrap().result["content"], json!({"n": 3}));
}

#[test]
fn a_key_names_its_question_and_its_part() {
    assert_eq!(parse(&key(12, 3)), Some((12, 3)));
    for nonsense in ["", "q", "12/3", "q12", "qx/0"] {
        assert_eq!(parse(nonsense), None);
    }
    assert!(Open::new(json!(0), Ask::read("what/ever", json!({})), &[]).is_none());
    assert!(Open::new(json!(0), Ask::read("item/tool/requestUserInput", json!({})), &[]).is_none());
}

#[test]
fn a_secret_is_asked_as_one() {
    let params = json!({"questions": [
        {"id": "a", "question": "Password?", "isSecret": true, "options": null},
        {"id": "b", "question": "Which?", "isSecret": true, "isOther": true, "options": [{"label": "Red"}]},
    ]});
    let mut asked = open("item/tool/requestUserInput", params, &[]);
    assert!(asked.parts.iter().all(|(question, _)| question.kind == QuestionKind::Secret && question.accepts_text));
    asked.answer(0, Answer { option: None, text: Some("hunter2".to_owned()) });
    let reply = asked.answer(1, option("Red")).unwrap();
    assert_eq!(reply.result["answers"]["a"]["answers"], json!(["hunter2"]));
}
