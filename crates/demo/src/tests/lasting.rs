//! Tests of saved conversations.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use wh_agents::interface::{Agent, AgentStartError, ResumeSelector};

use super::*;

fn start(state: &Path) -> StartOptions {
    let mut start = StartOptions { may_store_state: true, ..StartOptions::new(".") };
    start.environment.insert("XDG_STATE_HOME".into(), Some(state.into()));
    start
}

fn going_on(state: &Path, name: &str) -> StartOptions {
    StartOptions { resume: Some(ResumeSelector::Named(name.to_owned())), ..start(state) }
}

fn rig(start: &StartOptions) -> Rig {
    let (harness, inside) = Harness::with_capacities(64, 256);
    Demo::new(timeless()).perform(start, inside).unwrap();
    Rig { harness, early: VecDeque::new(), turns: 0, calls: 0 }
}

async fn name(rig: &mut Rig) -> String {
    let said = rig.until(|report| matches!(report, Report::ResumeId(_))).await;
    match said.last() {
        Some(Report::ResumeId(Some(name))) => name.clone(),
        other => panic!("{other:?}"),
    }
}

async fn remembered(rig: &mut Rig) -> String {
    rig.call(Call::ReportStatus).await.1.unwrap()
}

/// Drops the agent at once, as if its process were killed.
fn kill(rig: Rig) {
    drop(rig);
}

fn files(state: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(state.path().join("wheelhouse/demo")).map(|all| all.collect::<Vec<_>>());
    let names = entries.unwrap_or_default().into_iter().map(|one| one.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_resumed_with_its_memory() {
    let state = tempfile::tempdir().unwrap();
    let mut first = rig(&start(state.path()));
    let own = name(&mut first).await;
    first.turn("hello there", agreeable).await;
    let last = first.turn("and again", agreeable).await;
    first.order(Order::SetModel("brief".to_owned())).await;
    let before = remembered(&mut first).await;
    assert!(before.contains("brief") && before.contains("4 entries"), "{before}");
    kill(first);
    let mut second = rig(&StartOptions { reports_history: false, ..going_on(state.path(), &own) });
    let said = second.until(|report| matches!(report, Report::ResumeId(_))).await;
    assert_eq!(said.last(), Some(&Report::ResumeId(Some(own.clone()))), "it has the same name");
    assert!(!said.iter().any(|report| matches!(report, Report::EarlierPrompt(_))));
    assert_eq!(remembered(&mut second).await, before);
    let next = second.turn("hello there", agreeable).await;
    let used = |all: &[Report]| match &all[all.len() - 2] {
        Report::Usage(usage) => *usage,
        other => panic!("{other:?}"),
    };
    assert!(used(&next).context_tokens > used(&last).context_tokens);
    kill(second);
    let mut third = rig(&going_on(state.path(), &own));
    let said = third.until(|report| matches!(report, Report::Ready(_))).await;
    let recalled = ["hello there", "and again", "hello there"].map(|text| Report::EarlierPrompt(text.to_owned()));
    assert_eq!(said[..3], recalled);
}

#[tokio::test(start_paused = true)]
async fn a_received_prompt_is_logged_at_once() {
    let state = tempfile::tempdir().unwrap();
    let mut one = rig(&start(state.path()));
    let own = name(&mut one).await;
    one.prompt("/demo ask").await;
    one.until(|report| matches!(report, Report::Delivered(_))).await;
    let log = fs::read_to_string(state.path().join(format!("wheelhouse/demo/{own}.prompts.jsonl"))).unwrap();
    let line: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(line["text"], "/demo ask");
    assert!(line["at"].as_u64().unwrap() > 1_600_000_000_000);
    assert_eq!(log.lines().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_restart_begins_another_conversation_and_clear_does_not() {
    let state = tempfile::tempdir().unwrap();
    let mut one = rig(&start(state.path()));
    let first = name(&mut one).await;
    one.turn("hello", agreeable).await;
    let (said, _) = one.call(Call::Restart).await;
    let told = said.iter().find_map(|report| match report {
        Report::ResumeId(name) => name.clone(),
        _ => None,
    });
    let second = told.expect("it has another name");
    assert_ne!(first, second);
    one.turn("hello", agreeable).await;
    let (said, _) = one.call(Call::Clear).await;
    assert!(!said.iter().any(|report| matches!(report, Report::ResumeId(_))));
    kill(one);
    let status = |name: &str| {
        let start = going_on(state.path(), name);
        async move { remembered(&mut rig(&start)).await }
    };
    assert!(status(&first).await.contains("2 entries"));
    assert!(status(&second).await.contains("0 entries"));
}

#[tokio::test(start_paused = true)]
async fn without_being_asked_it_saves_nothing() {
    let state = tempfile::tempdir().unwrap();
    let mut one = rig(&StartOptions { may_store_state: false, ..start(state.path()) });
    let all = one.turn("hello", agreeable).await;
    assert!(!all.iter().any(|report| matches!(report, Report::ResumeId(_))));
    one.order(Order::End).await;
    let said = one.until(|report| matches!(report, Report::Gone(_))).await;
    assert!(!said.iter().any(|report| matches!(report, Report::ResumeId(_))));
    assert_eq!(files(&state), [""; 0]);
}

#[tokio::test]
async fn a_conversation_that_is_not_saved_cannot_be_resumed() {
    let state = tempfile::tempdir().unwrap();
    let error = Demo::default().start(going_on(state.path(), "0f0f")).await.unwrap_err();
    assert!(
        matches!(&error, AgentStartError::Unknown { what: "conversation", given, .. } if given == "0f0f"),
        "{error}"
    );
    assert!(error.hint().is_some());
}
