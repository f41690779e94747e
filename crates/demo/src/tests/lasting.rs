//! What is left when it goes, and that it goes on with that.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use wh_agents::port::{Agent, Resume, StartError};

use super::*;

fn start(state: &Path) -> Start {
    let mut start = Start { keeps: true, ..Start::new(".") };
    start.environment.insert("XDG_STATE_HOME".into(), Some(state.into()));
    start
}

fn going_on(state: &Path, name: &str) -> Start {
    Start { resume: Some(Resume::Named(name.to_owned())), ..start(state) }
}

fn rig(start: &Start) -> Rig {
    let (harness, inside) = Harness::with_depths(64, 256);
    Demo::new(timeless()).perform(start, inside).unwrap();
    Rig { harness, early: VecDeque::new(), turns: 0, calls: 0 }
}

async fn name(rig: &mut Rig) -> String {
    let said = rig.until(|report| matches!(report, Report::Kept(_))).await;
    match said.last() {
        Some(Report::Kept(Some(name))) => name.clone(),
        other => panic!("{other:?}"),
    }
}

async fn remembered(rig: &mut Rig) -> String {
    rig.call(Call::ReportStatus).await.1.unwrap()
}

/// Gone as with the process: without a word, at whatever it does.
fn kill(rig: Rig) {
    drop(rig);
}

fn files(state: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(state.path().join("wheelhouse/demo")).map(|all| all.collect::<Vec<_>>());
    let names = entries.unwrap_or_default().into_iter().map(|one| one.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[tokio::test(start_paused = true)]
async fn it_goes_on_with_what_it_remembered() {
    let state = tempfile::tempdir().unwrap();
    let mut first = rig(&start(state.path()));
    let own = name(&mut first).await;
    first.turn("hello there", agreeable).await;
    let last = first.turn("and again", agreeable).await;
    first.order(Order::SetModel("brief".to_owned())).await;
    let before = remembered(&mut first).await;
    assert!(before.contains("brief") && before.contains("4 entries"), "{before}");
    kill(first);
    let mut second = rig(&Start { recalls: false, ..going_on(state.path(), &own) });
    let said = second.until(|report| matches!(report, Report::Kept(_))).await;
    assert_eq!(said.last(), Some(&Report::Kept(Some(own.clone()))), "it has the same name");
    assert!(!said.iter().any(|report| matches!(report, Report::Recalled(_))));
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
    let recalled = ["hello there", "and again", "hello there"].map(|text| Report::Recalled(text.to_owned()));
    assert_eq!(said[..3], recalled);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_has_arrived_is_known_whatever_becomes_of_it() {
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
async fn who_begins_anew_is_in_another_conversation_and_who_clears_is_not() {
    let state = tempfile::tempdir().unwrap();
    let mut one = rig(&start(state.path()));
    let first = name(&mut one).await;
    one.turn("hello", agreeable).await;
    let (said, _) = one.call(Call::Restart).await;
    let told = said.iter().find_map(|report| match report {
        Report::Kept(name) => name.clone(),
        _ => None,
    });
    let second = told.expect("it has another name");
    assert_ne!(first, second);
    one.turn("hello", agreeable).await;
    let (said, _) = one.call(Call::Clear).await;
    assert!(!said.iter().any(|report| matches!(report, Report::Kept(_))));
    kill(one);
    let status = |name: &str| {
        let start = going_on(state.path(), name);
        async move { remembered(&mut rig(&start)).await }
    };
    assert!(status(&first).await.contains("2 entries"));
    assert!(status(&second).await.contains("0 entries"));
}

#[tokio::test(start_paused = true)]
async fn without_being_asked_to_it_leaves_nothing_behind() {
    let state = tempfile::tempdir().unwrap();
    let mut one = rig(&Start { keeps: false, ..start(state.path()) });
    let all = one.turn("hello", agreeable).await;
    assert!(!all.iter().any(|report| matches!(report, Report::Kept(_))));
    one.order(Order::End).await;
    let said = one.until(|report| matches!(report, Report::Gone(_))).await;
    assert!(!said.iter().any(|report| matches!(report, Report::Kept(_))));
    assert_eq!(files(&state), [""; 0]);
}

#[tokio::test]
async fn what_is_not_kept_is_not_gone_on_with() {
    let state = tempfile::tempdir().unwrap();
    let error = Demo::default().start(going_on(state.path(), "0f0f")).await.unwrap_err();
    assert!(matches!(&error, StartError::Unknown { what: "conversation", given, .. } if given == "0f0f"), "{error}");
    assert!(error.hint().is_some());
}
