//! Tests of the tool sidebar.

use std::time::Duration;

use serde_json::json;
use wh_core::space::harness::Report;
use wh_core::space::item::{ItemBody, ToolCall, ToolKind, ToolStatus};
use wh_tui::theme::Theme;

use crate::screens::timeless;
use crate::stage::{Stage, permission};

async fn call(stage: &mut Stage, key: &str, name: &str, input: serde_json::Value, status: ToolStatus) {
    let title = format!("{name} something");
    let call = ToolCall { name: name.into(), title, kind: ToolKind::Other, input, status, output: vec![] };
    stage.report(Report::Item { key: key.into(), body: ItemBody::Tool(call), done: status.is_over() }).await;
}

/// Two turns with tool calls of every status.
async fn scene(columns: u16, rows: u16) -> Stage {
    let mut stage = Stage::with(columns, rows, |options| options.directory = "/home/me/project".into()).await;
    let turn = stage.begin("first").await;
    call(&mut stage, "1", "Read", json!({ "file_path": "/home/me/project/src/old.rs" }), ToolStatus::Completed).await;
    stage.end(turn).await;
    stage.begin("second").await;
    let path = "/home/me/project/crates/parser/src/grammar/tokens/identifiers.rs";
    call(&mut stage, "2", "Read", json!({ "file_path": path }), ToolStatus::Completed).await;
    call(&mut stage, "3", "mcp__issues__search", json!({ "query": "lost lines" }), ToolStatus::Failed).await;
    call(&mut stage, "4", "Edit", json!({ "path": "src/parser.rs", "new": "x" }), ToolStatus::Denied).await;
    call(&mut stage, "5", "Bash", json!({ "command": "cargo test -p parser" }), ToolStatus::Running).await;
    stage.sees("cargo test").await;
    stage
}

#[tokio::test]
async fn it_opens_by_itself_if_there_is_room() {
    let stage = scene(120, 30).await;
    insta::assert_snapshot!(timeless(&stage));
}

#[tokio::test]
async fn on_the_usual_screen_it_opens_on_request() {
    let mut stage = scene(80, 24).await;
    assert!(!stage.screen().contains("F5 closes"), "{}", stage.screen());
    stage.press(&["f5"]).await;
    stage.sees("F5 closes").await;
    insta::assert_snapshot!(timeless(&stage));
    stage.press(&["f5"]).await;
    stage.no_longer_sees("F5 closes").await;
}

#[tokio::test]
async fn the_command_takes_open_close_or_auto() {
    let mut stage = scene(120, 30).await;
    stage.sees("F5 closes").await;
    stage.text("/tools close\r").await;
    stage.no_longer_sees("F5 closes").await;
    stage.text("/tools auto\r").await;
    stage.sees("F5 closes").await;
    stage.resize(100, 30).await;
    stage.no_longer_sees("F5 closes").await;
    stage.text("/tools open\r").await;
    stage.sees("F5 closes").await;
    stage.text("/tools wrong\r").await;
    stage.sees("the visibility must be open, close or auto").await;
}

#[tokio::test]
async fn it_shares_its_column_with_the_signal_board() {
    let mut stage = scene(120, 40).await;
    stage.text("/ui board open\r").await;
    stage.sees("Signal Board").await;
    assert!(stage.row("F5 closes") < stage.row("Signal Board"), "{}", stage.screen());
    assert!(stage.row("cargo test -p parser") < stage.row("Signal Board"), "{}", stage.screen());
}

#[tokio::test]
async fn open_questions_are_counted_and_stop_the_spinner() {
    let mut stage = scene(120, 40).await;
    stage.ask("q1", permission("Sure?", vec![])).await;
    stage.ask("q2", permission("Really?", vec![])).await;
    stage
        .until("both", |stage| stage.lines().iter().any(|line| line.contains('│') && line.contains("2 questions")))
        .await;
    let turns = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
    stage.until("a rest", |stage| !stage.screen().contains(|character| turns.contains(character))).await;
    assert!(stage.is_quiet_for(Duration::from_millis(1500)).await);
}

#[tokio::test]
async fn without_colours_it_is_readable() {
    let mut stage = Stage::with(130, 30, |options| options.theme = Theme::colourless()).await;
    stage.begin("go").await;
    call(&mut stage, "1", "Bash", json!({ "command": "false" }), ToolStatus::Failed).await;
    stage.sees("✗ Bash false").await;
}
