//! Snapshots of whole screens, with normalized times.

use serde_json::json;
use wh_core::space::harness::{Report, Usage};
use wh_core::space::item::{ItemBody, ToolCall, ToolKind, ToolResultPart, ToolStatus};
use wh_core::space::question::QuestionDetail;

use crate::stage::{Stage, permission};

/// The screen with all times replaced by constants.
pub fn timeless(stage: &Stage) -> String {
    let mut all: Vec<char> = stage.screen().chars().collect();
    for index in 0..all.len() {
        let digit = |place: usize| all.get(place).is_some_and(char::is_ascii_digit);
        let clock = [0, 1, 3, 4, 6, 7].iter().all(|place| digit(index + place))
            && [2, 5].iter().all(|place| all.get(index + place) == Some(&':'));
        let seconds = digit(index) && all.get(index + 1) == Some(&'s') && !digit(index.wrapping_sub(1));
        if clock {
            all.splice(index..index + 8, "hh:mm:ss".chars());
        } else if seconds {
            all[index] = '0';
        } else if "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".contains(all[index]) {
            all[index] = '⠋';
        }
    }
    all.into_iter().collect()
}

const ANSWER: &str = "I found it. The **last line** is lost when the file has no break at its end:

```rust
fn parse(input: &str) -> Vec<Line> {
    input.split('\\n').map(Line::new).collect() // 日本
}
```

1. read the rest
2. test it

| file | lines |
|---|---|
| parser.rs | 120 |
| main.rs | 7 |
";

/// A turn with reasoning, a tool call, an answer and two questions. Returns the screen at each step.
async fn scene(columns: u16, rows: u16) -> [String; 4] {
    let mut stage = Stage::with(columns, rows, |options| options.control_port = Some(9090)).await;
    let fresh = timeless(&stage);
    stage.begin("Please look at the parser and mend it").await;
    let (context_tokens, context_limit) = (Some(12_345), Some(200_000));
    stage.report(Report::Usage(Usage { context_tokens, context_limit, cost: Some(0.1234), ..Usage::default() })).await;
    let thought = "The parser reads a line at a time. I should look at how the end of the file is treated, because a \
                   last line without a break is lost. Let me read it first, and then write a test that shows it.";
    stage.think("t1", thought, Some("Reading src/parser.rs")).await;
    stage.sees("Esc to interrupt").await;
    let thinking = timeless(&stage);

    let done = ItemBody::Thought { text: thought.into(), action: None, tokens: Some(120) };
    stage.report(Report::Item { key: "t1".into(), body: done, done: true }).await;
    let call = ToolCall {
        name: "read_file".into(),
        title: "Read src/parser.rs".into(),
        kind: ToolKind::Read,
        input: json!({ "path": "src/parser.rs" }),
        status: ToolStatus::Completed,
        output: vec![ToolResultPart::Text("fn parse() {}\n".repeat(30))],
    };
    stage.report(Report::Item { key: "c1".into(), body: ItemBody::Tool(call), done: true }).await;
    let said = ItemBody::Text { text: ANSWER.into(), attachments: vec![] };
    stage.report(Report::Item { key: "m1".into(), body: said, done: true }).await;
    stage.report(Report::StreamOpened("s".into())).await;
    stage.report(Report::StreamFrame("s".into(), json!({ "token": "abc" }))).await;
    stage.report(Report::Status { status: "busy".into(), summary: Some("mending the parser".into()) }).await;
    stage.sees("busy").await;
    let working = timeless(&stage);

    let diff = QuestionDetail::Diff {
        path: "src/parser.rs".into(),
        old: Some("fn parse() {\n    one();\n    two();\n}\n".into()),
        new: "fn parse() {\n    one();\n    three();\n    four();\n}\n".into(),
    };
    stage.ask("q1", permission("Write src/parser.rs?", vec![diff])).await;
    stage.ask("q2", permission("Run this?", vec![QuestionDetail::Command("cargo test -p parser".into())])).await;
    stage.sees("1 of 2").await;
    [fresh, thinking, working, timeless(&stage)]
}

#[tokio::test]
async fn a_turn_on_the_smallest_screen() {
    insta::assert_snapshot!(scene(60, 16).await.join("\n\n"));
}

#[tokio::test]
async fn a_turn_on_the_usual_screen() {
    insta::assert_snapshot!(scene(80, 24).await.join("\n\n"));
}

#[tokio::test]
async fn a_turn_on_a_wide_screen() {
    insta::assert_snapshot!(scene(120, 40).await.join("\n\n"));
}

#[tokio::test]
async fn the_list_of_keys() {
    let mut stage = Stage::new(100, 56).await;
    stage.text("?").await;
    insta::assert_snapshot!(timeless(&stage));
}
