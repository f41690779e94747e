use std::time::Duration;

use wh_core::slash::{PaneName, UiCommand, Visibility};
use wh_core::space::harness::Report;
use wh_core::space::item::ItemBody;

use crate::stage::Stage;

/// No timer is due, so the clock can be advanced by an hour.
#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_nothing_happens() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("draft").await;
    assert!(stage.is_quiet_for(Duration::from_secs(3600)).await, "{}", stage.screen());
}

#[tokio::test]
async fn every_frame_is_one_synchronized_update() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("hello").await;
    stage.press(&["enter"]).await;
    let written = String::from_utf8_lossy(&stage.written).into_owned();
    let begun = written.matches("\x1b[?2026h").count();
    assert!(begun >= 3);
    assert_eq!(begun, written.matches("\x1b[?2026l").count());
    let after_entry = written.split("\x1b[?2026h").next().unwrap();
    assert!(after_entry.ends_with("\x1b[H"), "{after_entry:?}");
}

#[tokio::test]
async fn a_keystroke_costs_few_bytes() {
    let mut stage = Stage::new(200, 60).await;
    stage.text("hell").await;
    let before = stage.written.len();
    stage.text("o").await;
    assert!(stage.written.len() - before < 120, "{}", stage.written.len() - before);
}

#[tokio::test]
async fn escape_counts_as_drawn_once_it_is_known_to_be_alone() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("x").await;
    stage.bytes(b"\x1b").await;
    assert_eq!(stage.drawn.borrow().typed, 2);
    assert!(stage.screen().contains("Type a message"));
}

#[tokio::test]
async fn input_that_means_nothing_is_counted_too() {
    let mut stage = Stage::new(80, 24).await;
    stage.bytes(b"\x1b[I\x1b[O").await;
    assert_eq!(stage.drawn.borrow().typed, 6);
}

#[tokio::test]
async fn a_resized_screen_is_redrawn() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("hello").await;
    for (columns, rows) in [(60, 16), (300, 100), (30, 8), (10, 3), (2, 1), (120, 40)] {
        stage.resize(columns, rows).await;
        if columns >= 60 {
            let last = usize::from(rows) - 1;
            stage
                .until("the status bar", |stage| stage.lines().get(last).is_some_and(|line| line.contains("? keys")))
                .await;
            assert!(stage.screen().contains("❯ hello"));
        } else if columns == 10 {
            stage.sees("min 30x8").await;
        }
    }
}

#[tokio::test]
async fn streamed_text_is_shown_to_the_end() {
    let mut stage = Stage::new(80, 24).await;
    let turn = stage.begin("go").await;
    for number in 0..500 {
        stage.report(Report::Grew { key: "k".into(), text: format!("word{number} "), tokens: None }).await;
    }
    let body = ItemBody::Text { text: "the whole answer".into(), attachments: vec![] };
    stage.report(Report::Item { key: "k".into(), body, done: true }).await;
    stage.end(turn).await;
    stage.sees("the whole answer").await;
    stage.no_longer_sees("demo works").await;
}

#[tokio::test]
async fn a_ui_command_is_answered_after_it_is_drawn_and_the_facts_follow() {
    let mut stage = Stage::new(120, 40).await;
    assert!(!stage.ui.facts().board_expanded);
    let ui = stage.ui.clone();
    let asked = tokio::spawn(async move { ui.run(UiCommand::Pane(PaneName("board"), Some(Visibility::Open))).await });
    asked.await.unwrap().unwrap();
    assert!(stage.ui.facts().board_expanded);
    assert_eq!(stage.ui.facts().board_override, Some(Visibility::Open));
    stage.sees("Awaiting acknowledgement").await;
    stage.text("/verbose\r").await;
    assert!(stage.ui.facts().verbose);
    stage.text("/streams\r").await;
    assert!(stage.ui.facts().show_streams);
}
