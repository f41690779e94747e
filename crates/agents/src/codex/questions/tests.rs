use super::*;
use wh_wire::codex::ChangeKind;

const COMMAND: &str = "item/commandExecution/requestApproval";

fn open(method: &str, params: Value, changes: &[CodexFileChange]) -> PendingCodexRequest {
    PendingCodexRequest::new(json!(0), ServerRequest::read(method, params), changes).expect("a question")
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
    let asked = open(COMMAND, params, &[]);
    let question = &asked.questions[0];
    let details = [
        QuestionDetail::Command("touch x".to_owned()),
        QuestionDetail::Text("to see".to_owned()),
        QuestionDetail::Path("/w".to_owned()),
    ];
    assert_eq!(question.details, details);
    assert_eq!(ids(question), ["accept", "accept-rule", "decline", "cancel", "other-4"]);
    assert_eq!(question.options[1].label, "Yes, and do not ask again for touch x");
    let reply = asked.answer(&[option("accept-rule")]);
    assert_eq!((&reply.result["decision"], reply.allows), (&rule, true));
    assert_eq!(asked.answer(&[option("other-4")]).result, json!({"decision": {"brandNew": {}}}));
    assert_eq!(asked.item(), Some("c"));
}

#[test]
fn a_no_may_say_why() {
    let asked = open(COMMAND, json!({"command": "rm x"}), &[]);
    let why = Answer { option: Some("decline".to_owned()), text: Some(" rather keep it ".to_owned()) };
    let reply = asked.answer(&[why]);
    let expected = CodexAnswer {
        result: json!({"decision": "decline"}),
        allows: false,
        reason: Some("rather keep it".to_owned()),
    };
    assert_eq!(reply, expected);
    let words = Answer { option: None, text: Some("keep it".to_owned()) };
    assert_eq!(asked.answer(&[words]).result, json!({"decision": "decline"}), "words alone are a no");
}

#[test]
fn a_host_is_allowed_or_never() {
    let host = |action: &str| json!({"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": "h.example", "action": action}}});
    let params = json!({
        "networkApprovalContext": {"host": "h.example"},
        "availableDecisions": ["accept", host("allow"), host("deny")],
    });
    let asked = open(COMMAND, params, &[]);
    let meanings: Vec<OptionMeaning> = asked.questions[0].options.iter().map(|option| option.meaning).collect();
    assert_eq!(
        meanings,
        [OptionMeaning::AllowOnce, OptionMeaning::AllowAlways, OptionMeaning::RejectAlways, OptionMeaning::RejectOnce]
    );
    assert_eq!(asked.answer(&[option("deny-host-2")]).result["decision"], host("deny"));
}

#[test]
fn a_change_is_shown_in_the_question() {
    let change = CodexFileChange { path: "a".to_owned(), kind: ChangeKind::Add, diff: "new\n".to_owned() };
    let asked = open("item/fileChange/requestApproval", json!({"itemId": "f", "grantRoot": "/other"}), &[change]);
    let question = &asked.questions[0];
    assert_eq!(question.details[0], QuestionDetail::Diff { path: "a".to_owned(), old: None, new: "new\n".to_owned() });
    assert_eq!(question.details[2], QuestionDetail::Path("/other".to_owned()));
    assert_eq!(ids(question), ["accept", "accept-for-session", "decline", "cancel"]);
    assert_eq!(asked.answer(&[option("accept-for-session")]).result, json!({"decision": "acceptForSession"}));
}

#[test]
fn permissions_are_granted_for_as_long_as_somebody_says() {
    let wanted = json!({"permissions": {"network": {"enabled": true}, "fileSystem": null}});
    let asked = open("item/permissions/requestApproval", wanted, &[]);
    let granted = json!({"permissions": {"network": {"enabled": true}}, "scope": "session"});
    assert_eq!(asked.answer(&[option("session")]).result, granted);
    assert_eq!(asked.answer(&[option("decline")]).result, json!({"permissions": {}, "scope": "turn"}));
}

#[test]
fn several_questions_are_answered_together() {
    let params = json!({"questions": [
        {"id": "a", "question": "Which?", "isOther": false, "options": [{"label": "Red", "description": "warm"}]},
        {"id": "b", "question": "Why?", "options": null},
    ]});
    let asked = open("item/tool/requestUserInput", params, &[]);
    assert_eq!(asked.questions[0].options[0].label, "Red: warm");
    assert_eq!((asked.questions[0].accepts_text, asked.questions[1].accepts_text), (false, true));
    let reply = asked.answer(&[option("Red"), Answer { option: None, text: Some("so".to_owned()) }]);
    assert_eq!(reply.result, json!({"answers": {"a": {"answers": ["Red"]}, "b": {"answers": ["so"]}}}));
    assert_eq!(reply.reason, None);
}

#[test]
fn an_elicitation_is_a_permission_a_field_or_a_form() {
    let method = "mcpServer/elicitation/request";
    let may = json!({"serverName": "desk", "message": "May it?", "mode": "form", "_meta": {"persist": ["session"]},
        "requestedSchema": {"type": "object", "properties": {}}});
    let asked = open(method, may, &[]);
    assert_eq!(ids(&asked.questions[0]), ["accept", "session", "decline"]);
    let yes = json!({"action": "accept", "content": {}, "_meta": {"persist": "session"}});
    assert_eq!(asked.answer(&[option("session")]).result, yes);
    assert_eq!(asked.answer(&[option("decline")]).result["action"], "decline");
    let field = json!({"message": "How many?", "requestedSchema": {"properties": {"n": {"type": "number"}}}});
    let asked = open(method, field, &[]);
    let three = Answer { option: None, text: Some("3".to_owned()) };
    assert_eq!(asked.answer(&[three]).result["content"], json!({"n": 3}));
}

#[test]
fn a_secret_is_asked_as_one() {
    let params = json!({"questions": [
        {"id": "a", "question": "Password?", "isSecret": true, "options": null},
        {"id": "b", "question": "Which?", "isSecret": true, "isOther": true, "options": [{"label": "Red"}]},
    ]});
    let asked = open("item/tool/requestUserInput", params, &[]);
    assert!(asked.questions.iter().all(|question| question.kind == QuestionKind::Secret && question.accepts_text));
    let reply = asked.answer(&[Answer { option: None, text: Some("hunter2".to_owned()) }, option("Red")]);
    assert_eq!(reply.result["answers"]["a"]["answers"], json!(["hunter2"]));
}
