use wh_core::space::harness::{PauseReport, Report};
use wh_tui::theme::Theme;

use crate::stage::{Stage, permission};

const SPINNER: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

#[tokio::test]
async fn the_reasoning_bar_has_eight_lines_in_cyan() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("think").await;
    stage.think("t", "First I look. Then I leap.", Some("Using tool read_file")).await;
    stage.sees("demo is thinking ─").await;
    let top = stage.row("demo is thinking ─");
    let bottom = stage.lines().iter().rposition(|line| line.starts_with('╰')).unwrap() as u16;
    assert_eq!(bottom - top + 1, 8, "{}", stage.screen());
    let screen = stage.screen();
    for text in ["1,234 tokens", "Using tool read_file", "Then I leap.", "Esc to interrupt, or /cancel"] {
        assert!(screen.contains(text), "{text}\n{screen}");
    }
    assert!(screen.contains(|character| SPINNER.contains(character)));
    let frame = stage.vt.frame();
    let corner = &frame.rows[usize::from(top)][0];
    assert_eq!(corner.style.foreground, wh_screen::frame::Color::Indexed(6));
}

#[tokio::test]
async fn a_small_screen_has_a_small_reasoning_bar() {
    let mut stage = Stage::new(60, 16).await;
    stage.begin("think").await;
    stage.think("t", "A thought.", None).await;
    stage.sees("demo is thinking").await;
    stage.sees("A thought.").await;
    assert!(stage.screen().contains("Esc to interrupt"));
}

#[tokio::test]
async fn the_spinner_turns_and_the_seconds_count() {
    let mut stage = Stage::new(80, 24).await;
    stage.begin("think").await;
    stage.think("t", "", None).await;
    stage.sees("demo is thinking").await;
    let first = stage.screen();
    stage.until("another picture", |stage| stage.screen() != first).await;
    stage.sees("1s").await;
}

#[tokio::test]
async fn the_board_docks_from_110_columns_on() {
    let mut stage = Stage::new(109, 30).await;
    stage.text("/ui board open\r").await;
    stage.sees("Signal Board").await;
    let stacked = stage.row("Signal Board");
    assert!(stage.lines()[usize::from(stacked)].starts_with("╭─ Signal Board"), "{}", stage.screen());
    stage.resize(110, 30).await;
    let divided = |stage: &Stage| {
        let docked = stage.lines().iter().position(|line| line.contains("│ Signal Board"));
        docked
            .is_some_and(|row| stage.lines()[row].chars().position(|character| character == '│') == Some(110 - 42 - 1))
    };
    stage.until("a docked board", divided).await;
    let lines = stage.lines();
    assert!(lines[..10].iter().all(|line| line.chars().nth(67) == Some('│')), "{}", stage.screen());
    stage.text("/ui board close\r").await;
    stage.no_longer_sees("Signal Board").await;
}

#[tokio::test]
async fn the_board_opens_by_itself_when_there_is_something_to_show() {
    let mut stage = Stage::new(120, 30).await;
    stage.report(Report::Status { status: "busy".into(), summary: Some("counting".into()) }).await;
    stage.sees("busy: counting").await;
    assert!(stage.ui.facts().board_expanded);
    assert_eq!(stage.ui.facts().board_override, None);
}

#[tokio::test]
async fn chips_replace_a_closed_board() {
    let mut stage = Stage::new(100, 40).await;
    stage.report(Report::StreamOpened("s".into())).await;
    stage.report(Report::Paused(Some(PauseReport { timeout: None, reason: Some("tired".into()) }))).await;
    stage.sees("─ 1 stream · demo paused ─").await;
    stage.text("/ui board open\r").await;
    stage.sees("demo paused: tired").await;
    stage.report(Report::StreamFrame("s".into(), serde_json::json!({ "token": "abc" }))).await;
    stage.sees("{\"token\":\"abc\"}").await;
}

#[tokio::test]
async fn without_colours_no_colour_is_written() {
    let mut stage = Stage::with(120, 40, |options| options.theme = Theme::colourless()).await;
    stage.begin("go").await;
    stage.think("t", "A thought.", None).await;
    stage.ask("q", permission("Sure?", vec![])).await;
    stage.sees("Sure?").await;
    let written = String::from_utf8_lossy(&stage.written).into_owned();
    for sequence in written.split("\x1b[").skip(1) {
        if let Some((numbers, _)) = sequence
            .split_once('m')
            .filter(|(numbers, _)| numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
        {
            assert!(numbers.split(';').all(|number| matches!(number, "0" | "1" | "2" | "4" | "7")), "{numbers}");
        }
    }
}

#[tokio::test]
async fn the_status_bar_has_the_essentials() {
    let mut stage = Stage::with(120, 30, |options| options.control_port = Some(9090)).await;
    stage.sees("◆ test").await;
    let bar = stage.lines().last().unwrap().clone();
    for text in ["human", "demo", "1 event", "HTTP :9090", "? keys · Ctrl+C quit"] {
        assert!(bar.contains(text), "{bar}");
    }
}

#[tokio::test]
async fn a_small_board_shows_what_needs_attention_and_the_number_of_hidden_rows() {
    let mut stage = Stage::new(80, 24).await;
    stage.text("/ui board open\r").await;
    for stream in ["one", "two", "three"] {
        stage.report(Report::StreamOpened(stream.into())).await;
    }
    let pause = PauseReport { timeout: None, reason: Some("lunch".into()) };
    stage.report(Report::Paused(Some(pause))).await;
    for row in ["│ Pause            demo paused: lunch", "│ Streams (3)      stream-1 demo", "│ Participants (2) "]
    {
        stage.sees(row).await;
    }
    assert!(!stage.screen().contains(" more "), "{}", stage.screen());
    stage.resize(60, 16).await;
    stage.sees("╰─ … 3 more ").await;
    for row in ["│ Pause  ", "│ Streams (3)  ", "│ Participants (2) "] {
        assert!(stage.screen().contains(row), "{row:?} is not in\n{}", stage.screen());
    }
    stage.resize(40, 10).await;
    stage.sees("│ Pause            demo paused: lunch").await;
    stage.sees("╰─ … 5 more ").await;
}
