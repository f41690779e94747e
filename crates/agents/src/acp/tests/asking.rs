//! Tests questions that are answered, withdrawn or abandoned.

use serde_json::json;
use wh_core::space::harness::HarnessKey;
use wh_core::space::item::ToolStatus;
use wh_core::space::question::{Answer, OptionMeaning, Question, QuestionDetail};

use super::*;

async fn asked(run: &mut Run) -> (Vec<Report>, HarnessKey, Question) {
    let reports = run.until(|report| matches!(report, Report::Asked { .. })).await;
    match reports.last() {
        Some(Report::Asked { key, question }) => (reports.clone(), key.clone(), question.clone()),
        other => panic!("{other:?}"),
    }
}

fn answer(key: &HarnessKey, option: &str) -> Order {
    Order::Answer { question: key.clone(), answer: Answer { option: Some(option.to_owned()), text: None } }
}

fn cards(reports: &[Report]) -> Vec<ToolStatus> {
    let cards = reports.iter().filter_map(|report| match report {
        Report::Item { body: ItemBody::Tool(call), .. } => Some(call.status),
        _ => None,
    });
    cards.collect()
}

#[tokio::test]
async fn a_call_that_is_only_in_its_permission_request_is_a_card() {
    let script = r#"
        hello; next; prompt=$id; may 0 c; next
        update '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}'
        id=$prompt; reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    let (before, key, question) = asked(&mut run).await;
    assert!(before.iter().any(|report| matches!(report, Report::Started(_))), "a question is a sign of life");
    assert_eq!(cards(&before), [ToolStatus::Pending]);
    assert_eq!(question.details, [QuestionDetail::Command("touch x".to_owned())]);
    assert_eq!(question.options[0].meaning, OptionMeaning::AllowOnce);
    run.order(answer(&key, "yes")).await;
    let (reports, outcome) = run.ended().await;
    assert_eq!((cards(&reports), outcome), (vec![ToolStatus::Running, ToolStatus::Completed], TurnOutcome::Completed));
    assert_eq!(run.heard()[3]["result"], json!({"outcome": {"outcome": "selected", "optionId": "yes"}}));
    run.end().await;
}

#[tokio::test]
async fn two_permissions_are_answered_in_any_order() {
    let script = r#"
        hello; next; prompt=$id; may 0 a; may 1 b; next; next
        id=$prompt; reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    let (_, first, _) = asked(&mut run).await;
    let (_, second, _) = asked(&mut run).await;
    run.order(answer(&second, "no")).await;
    run.order(answer(&first, "yes")).await;
    run.order(answer(&first, "no")).await;
    let (reports, _) = run.ended().await;
    assert_eq!(cards(&reports), [ToolStatus::Denied, ToolStatus::Running, ToolStatus::Cancelled]);
    let heard = run.heard();
    assert_eq!((&heard[3]["id"], &heard[3]["result"]["outcome"]["optionId"]), (&json!(1), &json!("no")));
    assert_eq!((&heard[4]["id"], &heard[4]["result"]["outcome"]["optionId"]), (&json!(0), &json!("yes")));
    run.end().await;
}

#[tokio::test]
async fn an_interrupt_cancels_every_open_permission() {
    let script = r#"
        hello; next; prompt=$id; may 0 a; may 1 b; next; next; next; may 2 c; next
        id=$prompt; reply '{"stopReason":"cancelled"}'; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    asked(&mut run).await;
    asked(&mut run).await;
    run.order(Order::Interrupt).await;
    let (reports, outcome) = run.ended().await;
    assert_eq!(outcome, TurnOutcome::Cancelled);
    assert_eq!(reports.iter().filter(|report| matches!(report, Report::Withdrew(_))).count(), 2);
    assert!(!reports.iter().any(|report| matches!(report, Report::Asked { .. })), "a late one is not asked");
    let heard = run.heard();
    assert_eq!(heard[3]["method"], "session/cancel");
    for line in &heard[4..7] {
        assert_eq!(line["result"], json!({"outcome": {"outcome": "cancelled"}}));
    }
    run.end().await;
}

#[tokio::test]
async fn a_question_that_the_agent_withdraws_is_closed() {
    let script = r#"
        hello; next; prompt=$id; may 0 a
        echo '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}'; next
        id=$prompt; reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    let (_, key, _) = asked(&mut run).await;
    let reports = run.ended().await.0;
    assert!(reports.contains(&Report::Withdrew(key)), "{reports:?}");
    assert_eq!(run.heard()[3]["error"]["code"], -32800);
    run.end().await;
}

#[tokio::test]
async fn a_form_of_one_field_is_asked() {
    let script = r#"
        hello; next; prompt=$id
        echo '{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"sessionId":"s","mode":"form","message":"Which?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}}}}}'
        next; id=$prompt; reply '{"stopReason":"end_turn"}'; rest"#;
    let mut run = Run::new(script).await;
    run.prompt("go").await;
    let (_, key, question) = asked(&mut run).await;
    assert_eq!((question.title.as_str(), question.accepts_text), ("Which?", true));
    let said = Answer { option: None, text: Some("blue".to_owned()) };
    run.order(Order::Answer { question: key, answer: said }).await;
    run.ended().await;
    assert_eq!(run.heard()[3]["result"], json!({"action": "accept", "content": {"colour": "blue"}}));
    run.end().await;
}
