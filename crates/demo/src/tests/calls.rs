//! Tests of the demo agent's calls.

use serde_json::json;
use tokio::time::Instant;
use wh_core::space::harness::PauseReport;
use wh_core::space::item::ToolStatus;

use super::*;

fn pause(timeout: Option<Duration>) -> Call {
    Call::Pause { timeout, reason: Some("tea".to_owned()) }
}

#[tokio::test(start_paused = true)]
async fn while_paused_it_reports_nothing_until_it_is_resumed() {
    let mut rig = Rig::new(timeless());
    let (reports, result) = rig.call(pause(None)).await;
    assert_eq!(
        reports.last(),
        Some(&Report::Paused(Some(PauseReport { timeout: None, reason: Some("tea".to_owned()) })))
    );
    assert!(result.is_ok());
    rig.prompt("hello").await;
    let taken = rig.until(|report| matches!(report, Report::Acknowledged(..))).await;
    assert_eq!(taken.len(), 3);
    let (reports, result) = rig.call(Call::Resume).await;
    assert_eq!((reports, result), (vec![Report::Paused(None)], Ok("Resumed.".to_owned())));
    let all = rig.until(|report| matches!(report, Report::Ended(..))).await;
    assert_eq!(*outcome(&all), TurnOutcome::Completed);
    assert_eq!(rig.call(Call::Resume).await.1, Ok("The agent is not paused.".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_pause_in_mid_sentence_ends_when_its_time_is_over() {
    let mut rig = Rig::new(timeless());
    rig.until(|report| matches!(report, Report::Tools(_))).await;
    rig.call(pause(Some(Duration::from_secs(90)))).await.1.unwrap();
    let start = Instant::now();
    let all = rig.turn("hello", agreeable).await;
    assert!(start.elapsed() >= Duration::from_secs(90));
    assert!(all.contains(&Report::Paused(None)));
    // Too long to represent, so it only ends when resumed.
    rig.call(pause(Some(Duration::MAX))).await.1.unwrap();
    rig.call(Call::Resume).await.1.unwrap();
    assert_eq!(*outcome(&rig.turn("hello", agreeable).await), TurnOutcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_paused_turn_can_be_interrupted() {
    let mut rig = Rig::new(timeless());
    rig.call(pause(None)).await.1.unwrap();
    rig.prompt("hello").await;
    rig.order(Order::Interrupt).await;
    let all = rig.until(|report| matches!(report, Report::Ended(..))).await;
    assert_eq!(*outcome(&all), TurnOutcome::Cancelled);
    assert!(!all.contains(&Report::Paused(None)), "a requested pause outlasts the turn");
}

#[tokio::test(start_paused = true)]
async fn it_reports_its_status() {
    let mut rig = Rig::new(timeless());
    let (reports, _) = rig.call(Call::ReportStatus).await;
    assert!(matches!(reports.last(), Some(Report::Status { status, .. }) if status == "idle"));
    let all = rig.turn("/demo status", agreeable).await;
    let said: Vec<&str> = all
        .iter()
        .filter_map(|report| match report {
            Report::Status { status, .. } => Some(status.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["working", "idle"]);
}

#[tokio::test(start_paused = true)]
async fn it_forgets_and_compacts() {
    let mut rig = Rig::new(timeless());
    for _ in 0..3 {
        rig.turn("hello", agreeable).await;
    }
    let call = Call::Forget { newest: false, count: Some(2) };
    assert_eq!(rig.call(call).await.1, Ok("Forgot 2 of the oldest entries; 4 left.".to_owned()));
    let (reports, result) = rig.call(Call::Compact { tokens: Some(7) }).await;
    assert!(result.unwrap().ends_with("to 7 tokens."));
    assert!(matches!(reports[..], [Report::Usage(usage)] if usage.context_tokens == Some(7)));
    assert_eq!(rig.call(Call::Clear).await.1, Ok("Forgot all entries (1).".to_owned()));
    assert!(!texts(&rig.turn("hello", agreeable).await).contains("My context has"));
    assert!(texts(&rig.turn("hello", agreeable).await).contains("My context has 2 earlier entries."));
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_the_turn_and_forgets_everything() {
    let mut rig = Rig::new(DemoOptions::default());
    rig.order(Order::SetModel("steady".to_owned())).await;
    rig.call(Call::OpenStream { description: None }).await.1.unwrap();
    rig.prompt("/demo slow").await;
    rig.until(|report| matches!(report, Report::Grew { .. })).await;
    let (reports, _) = rig.call(Call::Restart).await;
    assert_eq!(ready(&reports).model.as_deref(), Some("swift"));
    assert!(reports.iter().any(|report| matches!(report, Report::StreamClosed(_))));
    let all = rig.until(|report| matches!(report, Report::Ended(..))).await;
    assert_eq!(*outcome(&all), TurnOutcome::Cancelled);
    assert!(!texts(&rig.turn("hello", agreeable).await).contains("My context has"));
}

#[tokio::test(start_paused = true)]
async fn a_requested_stream_reports_turns_until_it_is_closed() {
    let mut rig = Rig::new(timeless());
    let (reports, result) = rig.call(Call::OpenStream { description: Some("progress".to_owned()) }).await;
    assert!(result.is_ok());
    let key = reports
        .iter()
        .find_map(|report| match report {
            Report::StreamOpened(key) => Some(key.clone()),
            _ => None,
        })
        .unwrap();
    rig.prompt("hello").await;
    let all = rig.until(|report| matches!(report, Report::Ended(..))).await;
    assert!(all.contains(&Report::StreamFrame(key.clone(), json!({ "turn": 1, "event": "completed" }))));
    assert_eq!(rig.call(Call::CloseStream(key.clone())).await.0, [Report::StreamClosed(key.clone())]);
    assert!(rig.call(Call::CloseStream(key)).await.1.is_err());
    for _ in 0..16 {
        assert!(rig.call(Call::OpenStream { description: None }).await.1.is_ok());
    }
    assert!(rig.call(Call::OpenStream { description: None }).await.1.is_err());
}

#[tokio::test(start_paused = true)]
async fn its_tools_can_be_used_by_others() {
    let mut rig = Rig::new(timeless());
    let edit = |content: &str| Call::UseTool {
        name: "demo/edit".to_owned(),
        arguments: json!({ "path": "new.txt", "content": content }),
    };
    let (reports, result) = rig.call(edit("one\n")).await;
    assert_eq!(result, Ok("Wrote new.txt, 4 bytes.".to_owned()));
    assert_eq!(cards(&reports)[0].status, ToolStatus::Completed);
    let read = Call::UseTool { name: "demo/read".to_owned(), arguments: json!({ "path": "new.txt" }) };
    assert_eq!(rig.call(read).await.1, Ok("one\n".to_owned()));
    let unknown = Call::UseTool { name: "demo/fly".to_owned(), arguments: json!({}) };
    assert!(rig.call(unknown).await.1.unwrap_err().contains("demo/search"));
    rig.order(Order::SetMode("plan".to_owned())).await;
    assert!(rig.call(edit("two\n")).await.1.is_err());
}

#[tokio::test(start_paused = true)]
async fn unknown_calls_models_and_modes_are_refused_with_a_reason() {
    let mut rig = Rig::new(timeless());
    let other = Call::Other { name: "rewind".to_owned(), parameters: json!({}) };
    assert!(rig.call(other).await.1.unwrap_err().contains("pause, resume"));
    rig.order(Order::SetModel("huge".to_owned())).await;
    rig.order(Order::SetMode("yolo".to_owned())).await;
    for word in ["model", "mode"] {
        let Some(Report::Notice(_, text)) = rig.next().await else { panic!("it says so") };
        assert!(text.contains(&format!("no {word}")), "{text}");
        let Some(Report::Acked(_, Err(why))) = rig.next().await else { panic!("it was not done") };
        assert_eq!(why, text);
    }
}

#[tokio::test(start_paused = true)]
async fn an_acknowledgement_is_requested_for_an_existing_message() {
    let mut rig = Rig::new(timeless());
    let all = rig.turn("/demo ack", agreeable).await;
    let wanted = all.iter().find_map(|report| match report {
        Report::WantsAcknowledgement(key) => Some(key),
        _ => None,
    });
    let there = |report: &Report| matches!(report, Report::Item { key, done: true, .. } if Some(key) == wanted);
    assert!(all.iter().any(there));
}
