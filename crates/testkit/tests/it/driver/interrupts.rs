//! Interrupts that are accepted, rejected, ignored, or sent directly after a prompt.

use std::time::Instant;

use wh_core::space::harness::Call;

use super::*;

#[tokio::test]
async fn an_interrupted_turn_is_cancelled() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("stream").await;
    run.says().await;
    run.order(Order::Interrupt).await;
    assert_eq!(run.did(AckedOrder::Interrupt).await, Ok(()));
    assert_eq!(run.ended(&turn).await, TurnOutcome::Cancelled);
    run.order(Order::Interrupt).await;
    assert_eq!(run.did(AckedOrder::Interrupt).await, Ok(()), "there is nothing left to stop");
    run.end().await;
}

#[tokio::test]
async fn an_interrupt_closes_open_questions() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("may touch").await;
    let key = run.asked().await;
    run.order(Order::Interrupt).await;
    assert_eq!(run.ended(&turn).await, TurnOutcome::Cancelled);
    run.position(|report| *report == Report::Withdrew(key.clone()));
    assert_eq!(run.statuses().last(), Some(&ToolStatus::Cancelled));
    run.end().await;
}

/// Interrupts an agent that does not stop because of its policy. The turn is abandoned after the grace period, and
/// later messages of that turn do not affect the next one.
async fn does_not_stop(policy: &str) -> Result<(), String> {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt(&format!("on-interrupt {policy}; stream go")).await;
    run.says().await;
    let begin = Instant::now();
    run.order(Order::Interrupt).await;
    let did = run.did(AckedOrder::Interrupt).await;
    assert_eq!(run.ended(&turn).await, TurnOutcome::Cancelled);
    assert!(begin.elapsed() >= DRIVER_GRACE, "{:?}", begin.elapsed());
    let [warning] = run.notices(NoticeLevel::Warning)[..] else { panic!("one warning: {:?}", run.reports) };
    assert_eq!(warning, "Line has not stopped within 5s of the interrupt");
    let next = run.prompt("say next").await;
    run.wait(|report| (*report == Report::Delivered(next.clone())).then_some(())).await;
    run.touch("go");
    assert_eq!(run.ended(&next).await, TurnOutcome::Completed);
    assert!(run.text().ends_with("next"));
    assert_eq!(run.count(|report| matches!(report, Report::Ended(..))), 2);
    run.end().await;
    did
}

#[tokio::test]
async fn an_acknowledged_interrupt_without_an_end_is_done_after_the_grace_period() {
    assert_eq!(does_not_stop("acknowledge").await, Ok(()));
}

#[tokio::test]
async fn an_ignored_interrupt_fails_after_the_grace_period() {
    assert_eq!(does_not_stop("ignore").await, Err("the agent has not acknowledged the interrupt".to_owned()));
}

#[tokio::test]
async fn a_refused_interrupt_whose_turn_ends_anyway_is_done() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("on-interrupt refuse-end; stream").await;
    run.says().await;
    run.order(Order::Interrupt).await;
    assert_eq!(run.did(AckedOrder::Interrupt).await, Ok(()));
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    assert!(run.notices(NoticeLevel::Warning).is_empty(), "{:?}", run.reports);
    run.end().await;
}

#[tokio::test]
async fn a_refused_interrupt_whose_turn_continues_fails() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("on-interrupt refuse; stream go").await;
    run.says().await;
    run.order(Order::Interrupt).await;
    assert_eq!(run.did(AckedOrder::Interrupt).await, Err("not now".to_owned()));
    assert_eq!(run.notices(NoticeLevel::Warning), ["the agent was not interrupted: not now"]);
    run.wait(|report| matches!(report, Report::Grew { .. }).then_some(())).await;
    run.touch("go");
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    run.end().await;
}

#[tokio::test]
async fn an_interrupt_directly_after_a_prompt_is_written_after_it() {
    let mut run = Run::new(&[]).await;
    run.ready().await;
    for _ in 0..100 {
        let turn = run.prompt("stream").await;
        run.order(Order::Interrupt).await;
        assert_eq!(run.did(AckedOrder::Interrupt).await, Ok(()));
        assert_eq!(run.ended(&turn).await, TurnOutcome::Cancelled);
    }
    let heard = run.heard();
    for number in 1..=100 {
        let place = |op: &str| heard.iter().position(|line| line["op"] == op && line["prompt"] == number);
        let (prompt, interrupt) = (place("prompt").expect("it is read"), place("interrupt").expect("it is read"));
        assert!(prompt < interrupt, "prompt {number}");
    }
    assert_eq!(run.count(|report| matches!(report, Report::Acked(AckedOrder::Interrupt, _))), 100);
    run.end().await;
}

#[tokio::test]
async fn an_interrupt_while_it_connects_cancels_the_prompts_that_wait() {
    let mut run = Run::new(&["mute"]).await;
    let turn = run.prompt("say never").await;
    run.starts().await;
    run.order(Order::Interrupt).await;
    assert_eq!(run.ended(&turn).await, TurnOutcome::Cancelled);
    assert_eq!(run.did(AckedOrder::Interrupt).await, Ok(()));
    run.end().await;
}

#[tokio::test]
async fn every_order_to_interrupt_has_an_outcome() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("on-interrupt acknowledge; stream go").await;
    run.says().await;
    run.order(Order::Interrupt).await;
    run.order(Order::Interrupt).await;
    let folder = run.folder.path().to_owned();
    let interrupts = move || fs::read_to_string(folder.join("heard")).unwrap().matches("interrupt\"").count();
    condition("both are read", move || (interrupts() == 2).then_some(())).await;
    run.touch("go");
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    assert_eq!(run.count(|report| *report == Report::Acked(AckedOrder::Interrupt, Ok(()))), 2);
    run.end().await;
}

#[tokio::test]
async fn an_interrupted_prompt_that_is_read_too_late_does_not_run() {
    let mut run = Run::new(&["deaf=go"]).await;
    let turn = run.prompt(&format!("stream{}", " ".repeat(MORE_THAN_A_PIPE))).await;
    run.ready().await;
    run.order(Order::Interrupt).await;
    assert_eq!(run.did(AckedOrder::Interrupt).await, Err("the agent does not read its input".to_owned()));
    assert_eq!(run.ended(&turn).await, TurnOutcome::Cancelled);
    let next = run.prompt("say next").await;
    run.touch("go");
    assert_eq!(run.ended(&next).await, TurnOutcome::Completed);
    assert_eq!(run.prompts(), ["stream", "say next"]);
    assert_eq!(run.count(|report| matches!(report, Report::Started(_))), 1);
    run.end().await;
}

#[tokio::test]
async fn a_turn_under_way_is_interrupted_before_the_end() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("stream").await;
    run.says().await;
    run.order(Order::End).await;
    assert_eq!(run.ended(&turn).await, TurnOutcome::Cancelled);
    assert_eq!(run.gone().await, None);
    assert_eq!(run.heard().last().map(|line| line["op"].clone()), Some("interrupt".into()));
}

#[tokio::test]
async fn a_new_conversation_interrupts_the_turn_of_the_old_one() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("stream").await;
    run.says().await;
    run.order(Order::Call { id: 1, call: Call::Restart }).await;
    assert!(matches!(run.ended(&turn).await, TurnOutcome::Failed(why) if why == "a new conversation was started"));
    run.wait(|report| matches!(report, Report::Called(1, Ok(_))).then_some(())).await;
    assert_eq!(run.heard().iter().filter(|line| line["op"] == "interrupt").count(), 1);
    run.end().await;
}
