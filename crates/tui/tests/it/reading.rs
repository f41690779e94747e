//! Granting answers are rejected until the end of the question has been shown.

use wh_core::space::harness::Report;
use wh_core::space::item::{ItemBody, ToolCall, ToolKind, ToolStatus};
use wh_core::space::question::{Question, QuestionDetail};

use crate::stage::{Stage, answered, permission};

const LOCKED: &str = "1 Yes, this once (read to the end first)";

fn long(lines: usize) -> Vec<QuestionDetail> {
    vec![QuestionDetail::Command((0..lines).map(|number| format!("line {number}\n")).collect())]
}

async fn asked(columns: u16, rows: u16, question: Question) -> Stage {
    let mut stage = Stage::new(columns, rows).await;
    stage.begin("go").await;
    stage.ask("q1", question).await;
    stage.sees("demo asks").await;
    stage
}

/// No order has reached the agent.
#[track_caller]
fn nothing_was_answered(stage: &mut Stage) {
    let order = stage.agent.orders.try_recv();
    assert!(order.is_err(), "{order:?}");
}

#[tokio::test]
async fn only_quitting_works_while_the_terminal_is_too_small() {
    let mut stage = asked(80, 24, permission("Run it?", long(2))).await;
    for (columns, rows, notice) in
        [(24, 5, "The terminal is too small: 24x5. At least 30x8"), (10, 3, "min 30x8"), (5, 1, "30x8")]
    {
        stage.resize(columns, rows).await;
        let words = |stage: &Stage| stage.screen().split_whitespace().collect::<Vec<_>>().join(" ");
        stage.until(notice, |stage| words(stage).starts_with(notice)).await;
        stage.text("1").await;
        stage.press(&["enter", "escape", "f1", "f7", "shift+tab"]).await;
        stage.text("\x1b[200~1\x1b[201~hello\r").await;
        stage.click(4, 2).await;
        nothing_was_answered(&mut stage);
    }
    stage.resize(80, 24).await;
    stage.sees("❯ 1 Yes, this once").await;
    let screen = stage.screen();
    assert!(!screen.contains("hello") && !screen.contains("Keys of wh"), "nothing was queued:\n{screen}");
    stage.text("1").await;
    assert_eq!(answered(stage.order().await).1, Some("once".into()));
    // Quitting needs two keys here, too, and does not interrupt the agent.
    stage.resize(24, 5).await;
    stage.sees("twice").await;
    stage.press(&["ctrl+c"]).await;
    assert!(stage.screen().contains("again"), "{}", stage.screen());
    nothing_was_answered(&mut stage);
    stage.press(&["ctrl+c"]).await;
    assert_eq!(stage.rest().await.2, wh_tui::TuiExit::UserQuit);
}

#[tokio::test]
async fn granting_requires_that_the_last_line_was_shown() {
    let mut stage = asked(60, 16, permission("Run it?", long(40))).await;
    stage.sees(LOCKED).await;
    assert!(stage.screen().contains("End: read to the end ·"), "{}", stage.screen());
    assert!(!stage.screen().contains("❯ 1"), "nothing is preselected:\n{}", stage.screen());
    stage.text("1").await;
    stage.text("2").await;
    stage.press(&["enter"]).await;
    let (first, second) = (stage.row("1 Yes"), stage.row("2 Yes"));
    stage.click(8, first).await;
    stage.click(8, second).await;
    nothing_was_answered(&mut stage);
    // Tab goes to the only option that can be selected.
    stage.press(&["tab", "enter"]).await;
    assert_eq!(answered(stage.order().await).1, Some("no".into()));
    nothing_was_answered(&mut stage);
}

#[tokio::test]
async fn each_way_to_the_end_enables_granting_and_it_stays_so_at_that_size() {
    for way in ["end", "pagedown", "down", "wheel"] {
        let mut stage = asked(60, 16, permission("Run it?", long(20))).await;
        stage.sees(LOCKED).await;
        for _ in 0..40 {
            if !stage.screen().contains(LOCKED) {
                break;
            }
            match way {
                "wheel" => {
                    let row = stage.row("line ");
                    stage.text(&format!("\x1b[<65;5;{}M", row + 1)).await;
                }
                key => stage.press(&[key]).await,
            }
        }
        assert!(stage.screen().contains("line 19"), "{way}:\n{}", stage.screen());
        assert!(!stage.screen().contains("first)"), "{way}:\n{}", stage.screen());
        stage.press(&["home"]).await;
        assert!(stage.screen().contains("line 0"), "{way}:\n{}", stage.screen());
        stage.text("2").await;
        assert_eq!(answered(stage.order().await).1, Some("always".into()), "{way}");
    }
}

#[tokio::test]
async fn the_end_has_to_be_shown_again_at_another_size() {
    let mut stage = asked(120, 40, permission("Run it?", long(20))).await;
    stage.sees("❯ 1 Yes, this once").await;
    stage.resize(60, 16).await;
    stage.sees(LOCKED).await;
    assert!(!stage.screen().contains("❯ 1"), "it is no longer selected:\n{}", stage.screen());
    stage.press(&["enter"]).await;
    stage.text("1").await;
    let row = stage.row("2 Yes");
    stage.click(8, row).await;
    nothing_was_answered(&mut stage);
    stage.press(&["end"]).await;
    assert!(!stage.screen().contains("first)"), "{}", stage.screen());
    // A difference of one column is another size.
    stage.resize(59, 16).await;
    stage.press(&["home"]).await;
    stage.sees(LOCKED).await;
    stage.text("1").await;
    nothing_was_answered(&mut stage);
    // If everything fits, the end is visible at once.
    stage.resize(120, 40).await;
    stage.no_longer_sees("first)").await;
    stage.text("1").await;
    assert_eq!(answered(stage.order().await).1, Some("once".into()));
}

#[tokio::test]
async fn the_selection_survives_a_resize_that_leaves_everything_on_the_screen() {
    let mut stage = asked(120, 40, permission("Run it?", long(2))).await;
    stage.sees("❯ 1 Yes, this once").await;
    stage.press(&["down"]).await;
    let written = stage.written.len();
    stage.resize(100, 30).await;
    stage.until("a frame", |stage| stage.written.len() > written).await;
    stage.sees("❯ 2 Yes, from now on").await;
    stage.press(&["enter"]).await;
    assert_eq!(answered(stage.order().await).1, Some("always".into()));
}

#[tokio::test]
async fn nothing_typed_between_a_resize_and_the_next_frame_grants() {
    for (columns, rows) in [(60, 16), (110, 38)] {
        for typed in ["1", "2", "\r"] {
            let mut stage = asked(120, 40, permission("Run it?", long(20))).await;
            stage.sees("❯ 1 Yes, this once").await;
            // The event loop reads the input before it draws at the new size.
            stage.resize(columns, rows).await;
            stage.text(typed).await;
            nothing_was_answered(&mut stage);
            stage.press(&["end"]).await;
            stage.text("1").await;
            assert_eq!(answered(stage.order().await).1, Some("once".into()), "{columns}x{rows} {typed:?}");
        }
    }
}

#[tokio::test]
async fn a_changed_question_must_be_read_again() {
    let mut stage = asked(60, 16, permission("Run it?", long(1))).await;
    stage.sees("❯ 1 Yes, this once").await;
    let body = ItemBody::Question { question: permission("Run it?", long(30)), closing: None };
    stage.report(Report::Item { key: "q1".into(), body, done: false }).await;
    stage.sees(LOCKED).await;
    stage.press(&["enter"]).await;
    stage.text("1").await;
    nothing_was_answered(&mut stage);
    stage.press(&["end"]).await;
    stage.text("1").await;
    assert_eq!(answered(stage.order().await).1, Some("once".into()));
}

#[tokio::test]
async fn a_title_and_labels_that_are_cut_can_be_read_in_full() {
    let mut question = permission(&format!("Run {} TITLE-END?", "many words ".repeat(30)), vec![]);
    question.options[1].label = format!("Yes, and always {} LABEL-END", "more and more ".repeat(8));
    let mut stage = asked(60, 16, question).await;
    stage.sees(LOCKED).await;
    let mut read = String::new();
    for _ in 0..20 {
        read.push_str(&stage.screen());
        stage.press(&["down"]).await;
    }
    assert!(read.contains("TITLE-END?") && read.contains("LABEL-END"), "{read}");
    assert!(!stage.screen().contains("first)"), "{}", stage.screen());
}

#[tokio::test]
async fn no_line_of_the_title_is_granted_unread() {
    let title = format!("Run {}TITLE-END?", "many words ".repeat(11));
    for (columns, rows, details) in [(60, 12, vec![]), (60, 13, vec![]), (60, 12, long(1)), (60, 14, long(3))] {
        let has_details = !details.is_empty();
        let mut stage = asked(columns, rows, permission(&title, details)).await;
        stage.sees(LOCKED).await;
        assert!(stage.screen().contains("Run many words"), "{}", stage.screen());
        stage.press(&["enter"]).await;
        stage.text("1").await;
        nothing_was_answered(&mut stage);
        let mut read = String::new();
        for _ in 0..10 {
            read.push_str(&stage.screen());
            stage.press(&["down"]).await;
            if !stage.screen().contains("first)") {
                break;
            }
        }
        read.push_str(&stage.screen());
        assert!(read.contains("TITLE-END?"), "{columns}x{rows}: {read}");
        assert!(!has_details || read.contains("line 0"), "{columns}x{rows}: {read}");
        assert!(!stage.screen().contains("first)"), "{columns}x{rows}: {}", stage.screen());
        stage.text("1").await;
        assert_eq!(answered(stage.order().await).1, Some("once".into()));
    }
}

#[tokio::test]
async fn the_text_field_leaves_room_for_the_question() {
    let mut question = permission(&format!("Run {}TITLE-END?", "many words ".repeat(11)), vec![]);
    question.accepts_text = true;
    let mut stage = asked(60, 13, question).await;
    stage.sees(LOCKED).await;
    stage.text(&"because ".repeat(43)).await;
    for option in ["Run many words", "1 Yes", "2 Yes", "3 No", "because"] {
        assert!(stage.screen().contains(option), "{option}:\n{}", stage.screen());
    }
    stage.press(&["enter"]).await;
    assert!(answered(stage.order().await).2.is_some_and(|text| text.starts_with("because")));
}

/// A question about a command of which the dialog shows 50 KB.
async fn cut() -> Stage {
    let command = format!("{}THE-END", "echo 0123456789012345678901234567890\n".repeat(3_000));
    let mut stage = asked(80, 24, permission("Run it?", vec![QuestionDetail::Command(command)])).await;
    stage.sees(LOCKED).await;
    stage.press(&["end"]).await;
    assert!(stage.screen().contains("50 KB of 111 KB shown"), "{}", stage.screen());
    stage
}

#[tokio::test]
async fn granting_a_truncated_question_needs_a_second_confirmation() {
    let mut stage = cut().await;
    stage.text("1").await;
    nothing_was_answered(&mut stage);
    assert!(stage.screen().contains("61,009 bytes of the question have not been shown"), "{}", stage.screen());
    // The same key pressed again at once confirms nothing. Enter has no selection to confirm. Esc goes back.
    stage.text("3").await;
    stage.no_longer_sees("until you stop typing").await;
    stage.press(&["enter"]).await;
    nothing_was_answered(&mut stage);
    assert!(stage.screen().contains("Enter; Esc goes back"), "{}", stage.screen());
    stage.press(&["escape"]).await;
    assert!(stage.screen().contains("1 Yes, this once"), "{}", stage.screen());
    stage.text("2").await;
    stage.no_longer_sees("until you stop typing").await;
    stage.text("3").await;
    assert_eq!(answered(stage.order().await).1, Some("always".into()));
}

#[tokio::test]
async fn opening_the_full_text_closes_the_second_confirmation() {
    let mut stage = cut().await;
    stage.text("1").await;
    stage.no_longer_sees("until you stop typing").await;
    stage.press(&["ctrl+o"]).await;
    stage.sees("of 111,009").await;
    stage.press(&["escape"]).await;
    assert!(stage.screen().contains("1 Yes, this once"), "{}", stage.screen());
    stage.text("3").await;
    assert_eq!(answered(stage.order().await).1, Some("no".into()));
}

#[tokio::test]
async fn a_resize_closes_the_second_confirmation() {
    let mut stage = cut().await;
    stage.text("1").await;
    stage.no_longer_sees("until you stop typing").await;
    stage.resize(60, 16).await;
    stage.text("3").await;
    nothing_was_answered(&mut stage);
    stage.sees(LOCKED).await;
    stage.no_longer_sees("until you stop typing").await;
    stage.text("1").await;
    nothing_was_answered(&mut stage);
    stage.press(&["end"]).await;
    stage.text("1").await;
    stage.sees("have not been shown").await;
    stage.no_longer_sees("until you stop typing").await;
    stage.text("3").await;
    assert_eq!(answered(stage.order().await).1, Some("once".into()));
}

#[tokio::test]
async fn the_full_text_can_be_opened_and_read_to_its_end() {
    let mut stage = cut().await;
    stage.press(&["ctrl+o"]).await;
    stage.sees("of 111,009").await;
    stage.press(&["pagedown"]).await;
    stage.text("1").await;
    nothing_was_answered(&mut stage);
    stage.press(&["end"]).await;
    stage.sees("THE-END").await;
    stage.press(&["escape"]).await;
    stage.sees("1 Yes, this once").await;
    stage.text("1").await;
    assert_eq!(answered(stage.order().await).1, Some("once".into()), "no confirmation is needed");
}

#[tokio::test]
async fn a_small_question_on_a_small_screen_can_be_denied_at_once() {
    let mut stage = asked(60, 16, permission("Run it?", long(40))).await;
    stage.sees(LOCKED).await;
    stage.text("3").await;
    assert_eq!(answered(stage.order().await).1, Some("no".into()));
}

#[tokio::test]
async fn hidden_characters_are_shown_as_escapes_everywhere() {
    const HIDDEN: &str = "\u{202e}\u{2066}\u{200b}\u{e0041}\u{feff}";
    const SHOWN: &str = "\\u{202e}\\u{2066}\\u{200b}\\u{e0041}\\u{feff}";
    let mut question = permission(&format!("title{HIDDEN}"), vec![QuestionDetail::Command(format!("command{HIDDEN}"))]);
    question.options[0].label = format!("label{HIDDEN}");
    let mut stage = Stage::new(120, 40).await;
    stage.begin("go").await;
    let text = ItemBody::Text { text: format!("text{HIDDEN} `code{HIDDEN}` &#x202e;"), attachments: Vec::new() };
    stage.report(Report::Item { key: "t".into(), body: text, done: true }).await;
    let call = ToolCall {
        name: "t".into(),
        title: format!("tool{HIDDEN}"),
        kind: ToolKind::Other,
        input: serde_json::Value::Null,
        status: ToolStatus::Completed,
        output: Vec::new(),
    };
    stage.report(Report::Item { key: "c".into(), body: ItemBody::Tool(call), done: true }).await;
    stage.text(&format!("draft{HIDDEN}")).await;
    stage.ask("q1", question).await;
    for word in ["text", "code", "tool", "title", "command", "label", "draft"] {
        stage.sees(&format!("{word}{SHOWN}")).await;
    }
    let written = String::from_utf8_lossy(&stage.written).into_owned();
    assert!(!written.contains(|character| HIDDEN.contains(character)));
}
