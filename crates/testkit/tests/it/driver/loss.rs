//! Processes that end by themselves, and the handling of prompts, calls and late orders.

use serde_json::json;
use wh_core::space::harness::Call;

use super::*;

#[tokio::test]
async fn everything_open_is_settled_when_the_process_is_gone() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("tool dig open; question why; wait die; exit 3").await;
    let key = run.asked().await;
    run.order(Order::Call { id: 7, call: Call::Other { name: "hang".to_owned(), parameters: json!({}) } }).await;
    run.touch("die");
    let gone = "Line is gone: it exited with 3: no more";
    assert_eq!(run.ended(&turn).await, TurnOutcome::Failed(format!("cut_off: {gone}")));
    assert_eq!(run.count(|report| *report == Report::Called(7, Err(gone.to_owned()))), 1);
    run.position(|report| *report == Report::Withdrew(key.clone()));
    assert_eq!(run.statuses(), [ToolStatus::Running, ToolStatus::Cancelled]);
    run.wait(|report| matches!(report, Report::Notice(NoticeLevel::Error, _)).then_some(())).await;
    let again = format!("{gone}; the next message restarts the agent, in the same conversation");
    assert_eq!(run.notices(NoticeLevel::Error), [again]);
    run.end().await;
}

#[tokio::test]
async fn prompts_that_wait_are_delivered_after_a_restart_and_one_handed_over_is_not() {
    let mut run = Run::new(&[]).await;
    let first = run.prompt("say one; wait die; kill").await;
    run.says().await;
    let (second, third) = (run.prompt("say two").await, run.prompt("say three").await);
    run.touch("die");
    let TurnOutcome::Failed(why) = run.ended(&first).await else { panic!("{:?}", run.reports) };
    assert_eq!(why, "cut_off: Line is gone: it was killed by SIGKILL");
    assert_eq!(run.ended(&second).await, TurnOutcome::Completed);
    assert_eq!(run.ended(&third).await, TurnOutcome::Completed);
    assert_eq!(run.prompts(), ["say one; wait die; kill", "say two", "say three"]);
    assert_eq!((run.text().as_str(), run.processes().len()), ("onetwothree", 2));
    let hellos: Vec<_> = run.heard().into_iter().filter(|line| line["op"] == "hello").collect();
    assert!(hellos[0]["conversation"].is_null() && hellos[1]["conversation"].is_string(), "it is resumed");
    run.end().await;
}

#[tokio::test]
async fn a_prompt_that_was_not_read_is_delivered_after_a_restart() {
    let mut run = Run::new(&["first:deaf=die", "first:kill"]).await;
    let turn = run.prompt(&format!("say one{}", " ".repeat(MORE_THAN_A_PIPE))).await;
    let next = run.prompt("say two").await;
    run.ready().await;
    run.touch("die");
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    assert_eq!(run.ended(&next).await, TurnOutcome::Completed);
    assert_eq!(run.count(|report| *report == Report::Delivered(turn.clone())), 1);
    assert_eq!((run.prompts(), run.text().as_str()), (vec!["say one".to_owned(), "say two".to_owned()], "onetwo"));
    assert_eq!(run.processes().len(), 2);
    run.end().await;
}

#[tokio::test]
async fn an_interrupt_of_a_prompt_that_was_not_read_is_not_lost_with_the_process() {
    let mut run = Run::new(&["first:deaf=die", "first:kill"]).await;
    let turn = run.prompt(&format!("say one{}", " ".repeat(MORE_THAN_A_PIPE))).await;
    run.ready().await;
    run.order(Order::Interrupt).await;
    run.touch("die");
    assert_eq!(run.did(AckedOrder::Interrupt).await, Ok(()));
    assert_eq!(run.ended(&turn).await, TurnOutcome::Cancelled);
    assert!(run.prompts().is_empty(), "it is not sent again");
    run.end().await;
}

#[tokio::test]
async fn late_interrupts_and_answers_do_not_start_the_program() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("question why; wait die; kill").await;
    let key = run.asked().await;
    run.touch("die");
    assert!(matches!(run.ended(&turn).await, TurnOutcome::Failed(_)));
    run.wait(|report| matches!(report, Report::Notice(NoticeLevel::Error, _)).then_some(())).await;
    run.order(Order::Interrupt).await;
    run.answer(&key, None, Some("because")).await;
    assert_eq!(run.did(AckedOrder::Interrupt).await, Ok(()));
    assert_eq!(run.did(AckedOrder::Answer(key)).await, Err("Line is gone".to_owned()));
    run.order(Order::End).await;
    assert_eq!(run.gone().await, None);
    assert_eq!(run.processes().len(), 1);
}

#[tokio::test]
async fn the_next_prompt_starts_the_program_again() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("exit 1").await;
    assert!(matches!(run.ended(&turn).await, TurnOutcome::Failed(why) if why.starts_with("cut_off: ")));
    let turn = run.prompt("say again").await;
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    assert_eq!((run.text().as_str(), run.processes().len()), ("again", 2));
    run.end().await;
}

#[tokio::test]
async fn processes_that_die_before_anything_is_handed_over_are_not_restarted_for_ever() {
    let mut run = Run::new(&["deaf=die", "kill"]).await;
    run.touch("die");
    run.prompt(&format!("say one{}", " ".repeat(MORE_THAN_A_PIPE))).await;
    assert_eq!(run.gone().await, Some("it was killed by SIGKILL".to_owned()));
    assert_eq!(run.processes().len(), 3);
}
