//! Tests of the files that the demo agent writes and deletes.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::folder::GREETING;

fn rig() -> (TempDir, Rig) {
    let place = tempfile::tempdir().unwrap();
    let options = DemoOptions { parent: Some(place.path().to_owned()), ..timeless() };
    (place, Rig::new(options))
}

fn greeting(place: &TempDir) -> String {
    fs::read_to_string(folder_in(place.path()).expect("the folder is there").join(GREETING)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_allowed_edit_is_in_the_file_and_on_the_card() {
    let (place, mut rig) = rig();
    for _ in 0..4 {
        let all = rig.turn("/demo edit", agreeable).await;
        let [ToolResultPart::Diff { path, old: Some(old), new }] = &cards(&all).last().unwrap().output[..] else {
            panic!("the card shows a diff")
        };
        assert_eq!(path, GREETING);
        assert_ne!(old, new);
        assert_eq!(greeting(&place), *new);
    }
}

#[tokio::test(start_paused = true)]
async fn a_rejected_edit_changes_nothing() {
    let (place, mut rig) = rig();
    rig.turn("/demo tool", agreeable).await;
    let before = greeting(&place);
    rig.turn("/demo edit", |_| option("reject")).await;
    assert_eq!(greeting(&place), before);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_the_question_is_open() {
    let (place, mut rig) = rig();
    rig.turn("/demo tool", agreeable).await;
    let before = greeting(&place);
    rig.prompt("/demo edit").await;
    rig.until(|report| matches!(report, Report::Asked { .. })).await;
    rig.order(Order::Interrupt).await;
    rig.until(|report| matches!(report, Report::Ended(_, TurnOutcome::Cancelled))).await;
    assert_eq!(greeting(&place), before);
}

#[tokio::test(start_paused = true)]
async fn the_directory_is_deleted_with_the_agent() {
    let (place, mut rig) = rig();
    rig.turn("/demo edit", agreeable).await;
    assert!(folder_in(place.path()).is_some());
    rig.order(Order::End).await;
    let last = rig.until(|report| matches!(report, Report::Gone(_))).await;
    assert_eq!(last, [Report::Gone(None)]);
    assert_eq!(folder_in(place.path()), None);
    assert_eq!(rig.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_orders_ends_it_in_the_middle_of_a_turn() {
    let (place, mut rig) = rig();
    rig.prompt("/demo edit").await;
    rig.until(|report| matches!(report, Report::Asked { .. })).await;
    assert!(folder_in(place.path()).is_some());
    let Harness { orders, mut reports, .. } = rig.harness;
    drop(orders);
    assert_eq!(reports.recv().await, Some(Report::Gone(None)));
    assert_eq!(folder_in(place.path()), None);
    assert_eq!(reports.recv().await, None);
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_its_reports_are_dropped() {
    let (place, mut rig) = rig();
    rig.turn("/demo edit", agreeable).await;
    let Harness { orders, reports, .. } = rig.harness;
    drop(reports);
    tokio::time::timeout(HANG_TIMEOUT, orders.closed()).await.expect("the agent hangs");
    assert_eq!(folder_in(place.path()), None);
}
