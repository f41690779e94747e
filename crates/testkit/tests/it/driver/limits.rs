//! Limits on buffers and times when the agent or the reader of its reports does not respond.

use std::time::Instant;

use super::*;

/// Maximum bytes of events that are buffered during a handshake.
const MAX_BUFFERED_BYTES: usize = 256 * 1024;

/// Maximum number of frames waiting to be written.
const MAX_WAITING_FRAMES: usize = 64;

/// Maximum number of reports waiting to be read.
const MAX_WAITING_REPORTS: usize = 256;

#[tokio::test]
async fn an_answer_that_is_not_read_fails_after_the_timeout() {
    let mut run = Run::new(&[]).await;
    let turn = run.prompt("question why; deaf go").await;
    let key = run.asked().await;
    let begin = Instant::now();
    run.answer(&key, None, Some(&"x".repeat(MORE_THAN_A_PIPE))).await;
    let why = "the agent does not read its input; the answer will be sent when the agent reads again";
    assert_eq!(run.did(AckedOrder::Answer(key)).await, Err(why.to_owned()));
    assert!(begin.elapsed() >= DRIVER_GRACE, "{:?}", begin.elapsed());
    assert_eq!(run.notices(NoticeLevel::Error), [format!("the answer was not delivered: {why}")]);
    run.touch("go");
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    run.end().await;
}

#[tokio::test]
async fn dropping_the_reports_ends_the_process_while_it_connects() {
    let run = Run::new(&["mute"]).await;
    let pid = run.starts().await;
    let Harness { orders, reports, .. } = run.harness;
    drop(reports);
    condition("the process is gone", move || (!is_running(pid)).then_some(())).await;
    orders.closed().await;
}

#[tokio::test]
async fn an_end_is_handled_while_reports_are_not_read() {
    let mut run = Run::new(&[]).await;
    run.prompt("flood 100000").await;
    let pid = run.starts().await;
    while run.harness.reports.len() < MAX_WAITING_REPORTS {
        tokio::task::yield_now().await;
    }
    run.order(Order::End).await;
    condition("the process is gone", move || (!is_running(pid)).then_some(())).await;
    assert_eq!(run.gone().await, None);
}

#[tokio::test]
async fn an_end_is_handled_while_nothing_can_be_written() {
    let mut run = Run::new(&["deaf=never"]).await;
    run.prompt(&" ".repeat(MORE_THAN_A_PIPE)).await;
    for number in 0..MAX_WAITING_FRAMES + 8 {
        run.order(Order::SetModel(format!("model-{number}"))).await;
    }
    run.order(Order::End).await;
    assert_eq!(run.gone().await, None);
}

#[tokio::test]
async fn an_end_while_it_connects_leaves_no_process() {
    let mut run = Run::new(&["stubborn"]).await;
    let pid = run.starts().await;
    run.order(Order::End).await;
    assert_eq!(run.gone().await, None);
    assert!(!is_running(pid), "nothing of the agent is left when its reports end");
}

#[tokio::test]
async fn a_flood_before_the_handshake_is_bounded() {
    let mut run = Run::new(&["flood=50000"]).await;
    let turn = run.prompt("say end").await;
    assert_eq!(run.ended(&turn).await, TurnOutcome::Completed);
    let text = run.text();
    assert!(text.ends_with("end") && text.len() > "end".len(), "{} bytes", text.len());
    assert!(text.len() <= MAX_BUFFERED_BYTES, "{} bytes", text.len());
    run.end().await;
}
