//! Turns, questions, the agent's own work and its modes.

use serde_json::json;
use wh_core::space::harness::Call;
use wh_core::space::item::Attachment;

use super::*;

#[tokio::test]
async fn a_turn_is_reported_from_its_delivery_to_its_end() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("think hm; say one two; tool look; say three").await;
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    let [delivered, submitted, started] = [
        run.position(|report| *report == Report::Delivered(turn.clone())),
        run.position(|report| *report == Report::Submitted(turn.clone())),
        run.position(|report| *report == Report::Started(turn.clone())),
    ];
    assert!(delivered < submitted && submitted < started);
    assert_eq!(run.text(), "onetwothree");
    assert_eq!(run.count(|report| matches!(report, Report::Item { body: ItemBody::Thought { .. }, .. })), 1);
    assert_eq!(run.statuses(), [ToolStatus::Running, ToolStatus::Completed]);
    assert_eq!(run.count(|report| matches!(report, Report::Finished(_))), 3, "two texts and a thought");
    run.end().await;
}

#[tokio::test]
async fn a_permission_is_granted_or_denied() {
    let mut run = Run::new(&[]).await;
    for (answer, last) in [("yes", ToolStatus::Completed), ("no", ToolStatus::Denied)] {
        let turn = run.prompt("may touch").await;
        let key = run.asked().await;
        run.answer(&key, Some(answer), None).await;
        assert_eq!(run.did(AckedOrder::Answer(key)).await, Ok(()));
        assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
        assert_eq!(run.statuses().last(), Some(&last));
    }
    run.end().await;
}

#[tokio::test]
async fn the_parts_of_a_question_are_answered_together() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("ask first second").await;
    let (first, second) = (run.asked().await, run.asked().await);
    run.answer(&second, None, Some("2")).await;
    assert_eq!(run.did(AckedOrder::Answer(second)).await, Ok(()));
    run.answer(&first, None, Some("1")).await;
    assert_eq!(run.did(AckedOrder::Answer(first)).await, Ok(()));
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    assert_eq!(run.text(), "12");
    run.end().await;
}

#[tokio::test]
async fn a_withdrawn_question_cannot_be_answered() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("question why; withdraw; wait go").await;
    let key = run.asked().await;
    run.wait(|report| (*report == Report::Withdrew(key.clone())).then_some(())).await;
    run.answer(&key, None, Some("because")).await;
    assert_eq!(run.did(AckedOrder::Answer(key)).await, Err("the question is no longer open".to_owned()));
    run.touch("go");
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    assert_eq!(run.heard().iter().filter(|line| line["op"] == "answer").count(), 0);
    run.end().await;
}

#[tokio::test]
async fn work_without_a_prompt_begins_rests_and_can_be_interrupted() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("own say mine").await;
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    run.wait(|report| (*report == Report::SelfEnded(TurnOutcome::Completed)).then_some(())).await;
    assert_eq!((run.text().as_str(), run.count(|report| *report == Report::SelfStarted)), ("mine", 1));
    run.prompt("own stream").await;
    run.says().await;
    run.order(Order::Interrupt).await;
    assert_eq!(run.did(AckedOrder::Interrupt).await, Ok(()));
    run.wait(|report| (*report == Report::SelfEnded(TurnOutcome::Cancelled)).then_some(())).await;
    run.end().await;
}

#[tokio::test]
async fn a_prompt_waits_for_work_without_a_prompt() {
    let mut run = Run::new(&[]).await;
    run.prompt("own say mine, wait go").await;
    run.says().await;
    let turn = run.prompt("say yours").await;
    run.touch("go");
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    let rested = run.position(|report| matches!(report, Report::SelfEnded(_)));
    assert!(rested < run.position(|report| *report == Report::Delivered(turn.clone())));
    run.end().await;
}

#[tokio::test]
async fn attachments_are_warned_about() {
    let mut run = Run::new(&[]).await;
    let attachment = Attachment { name: "a.txt".to_owned(), media_type: "text/plain".to_owned(), size: 1 };
    let (turn, item, text) = (TurnId::from("turn"), "item".into(), "say seen".to_owned());
    run.order(Order::Prompt { turn: turn.clone(), item, text, attachments: vec![attachment] }).await;
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    let [warning] = run.notices(NoticeLevel::Warning)[..] else { panic!("one warning: {:?}", run.reports) };
    assert!(warning.starts_with("Line does not support attachments"), "{warning}");
    run.end().await;
}

#[tokio::test]
async fn a_mode_that_skips_permissions_is_left_unless_it_is_allowed() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("mode wild; wait go").await;
    run.wait(|report| matches!(report, Report::Ready(now) if now.mode.as_deref() == Some("wild")).then_some(())).await;
    assert_eq!(run.ready().await.mode.as_deref(), Some("ask"));
    let [warning] = run.notices(NoticeLevel::Warning)[..] else { panic!("one warning: {:?}", run.reports) };
    assert!(warning.contains("is in mode \"wild\", which skips permissions"), "{warning}");
    run.touch("go");
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    run.order(Order::SetMode("wild".to_owned())).await;
    let refused = run.did(AckedOrder::Mode("wild".to_owned())).await.unwrap_err();
    assert!(refused.contains("skips permissions") && refused.contains("--allow-skipping-permissions"), "{refused}");
    let heard = run.heard();
    let sets: Vec<_> = heard.iter().filter(|line| line["op"] == "set").map(|line| &line["value"]).collect();
    assert_eq!(sets, [&json!("ask")]);
    run.end().await;

    let mut run = Run::new(&["mode=wild"]).await;
    assert_eq!(run.ready().await.mode.as_deref(), Some("wild"));
    assert_eq!(run.ready().await.mode.as_deref(), Some("ask"), "also one that it starts in");
    run.end().await;

    let mut run = Run::with(&["mode=wild"], |start| start.may_skip_permissions = true).await;
    let turn = run.prompt("mode ask; mode wild; say on").await;
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    assert!(run.notices(NoticeLevel::Warning).is_empty() && run.heard().iter().all(|line| line["op"] != "set"));
    run.end().await;
}

#[tokio::test]
async fn choices_and_calls_have_an_outcome() {
    let mut run = Run::new(&[]).await;
    run.order(Order::SetMode("plan".to_owned())).await;
    assert_eq!(run.did(AckedOrder::Mode("plan".to_owned())).await, Ok(()));
    run.order(Order::SetModel("none".to_owned())).await;
    assert_eq!(run.did(AckedOrder::Model("none".to_owned())).await, Err("there is none".to_owned()));
    for (id, call, outcome) in [
        (1, Call::ReportStatus, Ok(json!("plan"))),
        (2, Call::Other { name: "echo".to_owned(), parameters: json!({}) }, Ok(json!("echo"))),
        (3, Call::Clear, Err("Line does not support clear".to_owned())),
        (4, Call::Restart, Ok(Value::Null)),
    ] {
        run.order(Order::Call { id, call }).await;
        let called = |report: &Report| match report {
            Report::Called(called, outcome) if *called == id => Some(outcome.clone()),
            _ => None,
        };
        assert_eq!(run.wait(called).await, outcome);
    }
    assert_eq!(run.processes().len(), 2, "a new conversation is a new process");
    run.end().await;
}
