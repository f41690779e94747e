//! Tests of scrolling and selection.

use wh_core::space::item::{ToolCall, ToolKind, ToolResultPart, ToolStatus};

use super::*;

fn long(count: usize) -> Bench {
    let mut bench = Bench::new(60, 12);
    bench.chat(count);
    bench
}

fn tool(lines: usize) -> ItemBody {
    let written = (1..=lines).map(|line| format!("line {line}\n")).collect();
    ItemBody::Tool(ToolCall {
        name: "shell".to_owned(),
        title: "Run".to_owned(),
        kind: ToolKind::Execute,
        input: serde_json::Value::Null,
        status: ToolStatus::Completed,
        output: vec![ToolResultPart::Text(written)],
    })
}

#[test]
fn the_end_is_followed() {
    let mut bench = long(50);
    assert_eq!(bench.frame().last().expect("rows"), "   message 49");
    assert!(bench.transcript.following());
    bench.chat(1);
    assert_eq!(bench.frame().last().expect("rows"), "   message 50");
    assert_eq!(bench.transcript.below(), 0);
}

#[test]
fn the_window_stays_when_items_are_added() {
    let mut bench = long(50);
    bench.put("demo", 50, text("grows"), ItemProgress::Growing);
    bench.frame();
    assert!(bench.press("pageup"));
    assert!(bench.press("pageup"));
    let before = bench.frame();
    assert!(!bench.transcript.following());
    assert_eq!(bench.transcript.below(), 20);
    bench.chat(3);
    bench.put("demo", 50, text("grows\n\nand\n\ngrows"), ItemProgress::Growing);
    assert_eq!(bench.frame(), before);
    assert_eq!(bench.transcript.below(), 20 + 3 * 3 + 4);
}

#[test]
fn the_window_stays_when_an_item_above_grows() {
    let mut bench = long(5);
    bench.put("demo", 5, text("grows"), ItemProgress::Growing);
    for number in 6..40 {
        bench.put("demo", number, text(&format!("message {number}")), ItemProgress::Done);
    }
    bench.frame();
    bench.press("pageup");
    let before = bench.frame();
    bench.put("demo", 5, text("grows\nand\ngrows"), ItemProgress::Growing);
    assert_eq!(bench.frame(), before);
}

#[test]
fn coming_down_to_the_end_follows_it_again() {
    let mut bench = long(50);
    bench.frame();
    for _ in 0..3 {
        assert!(bench.mouse(MouseAction::WheelUp, 1, 1));
    }
    bench.frame();
    assert_eq!(bench.transcript.below(), 9);
    bench.mouse(MouseAction::WheelDown, 1, 1);
    bench.frame();
    assert_eq!(bench.transcript.below(), 6);
    bench.press("pagedown");
    bench.frame();
    assert!(bench.transcript.following());
}

#[test]
fn home_and_end_go_there() {
    let mut bench = long(50);
    bench.frame();
    assert!(!bench.press("home"), "that is the composer's");
    assert!(bench.press("ctrl+home"));
    assert!(bench.frame()[1].contains("message 0"));
    assert_eq!(bench.transcript.below(), 50 * 3 - 1 - 12);
    assert!(bench.press("end"));
    assert!(bench.frame()[11].contains("message 49"));
    assert!(!bench.press("end"), "that is the composer's");
}

#[test]
fn another_width_keeps_what_is_read() {
    let mut bench = long(10);
    let words: String = (0..200).map(|word| format!("word{word} ")).collect();
    bench.say("demo", &words);
    bench.chat(20);
    bench.frame();
    bench.press("ctrl+home");
    for _ in 0..14 {
        bench.mouse(MouseAction::WheelDown, 1, 1);
    }
    let seen = bench.frame()[0].clone();
    let word = seen.split_whitespace().next().expect("a word").to_owned();
    bench.size = (30, 12);
    let narrow = bench.frame().join(" ");
    let number: usize = word.trim_start_matches("word").parse().expect("a number");
    let near = (number.saturating_sub(6)..number + 6).any(|near| narrow.contains(&format!("word{near} ")));
    assert!(near, "{word} was read, and now {narrow}");
}

#[test]
fn messages_are_selected_one_by_one() {
    let mut bench = long(50);
    bench.frame();
    assert!(bench.press("alt+up"));
    assert!(bench.transcript.navigating());
    assert_eq!(bench.frame()[10].chars().next(), Some('▶'));
    assert_eq!(bench.frame()[11].chars().next(), Some('▎'));
    for _ in 0..5 {
        bench.press("alt+up");
    }
    let rows = bench.frame();
    assert!(rows[0].starts_with("▶◆ demo") || rows[1].starts_with("▶◆ demo"), "{rows:?}");
    assert!(rows.iter().any(|row| row == "▎  message 44"), "{rows:?}");
    bench.press("home");
    assert!(bench.frame()[1].starts_with("▎  message 0"));
    bench.press("end");
    assert!(bench.frame()[11].starts_with("▎  message 49"));
    assert!(!bench.transcript.following());
    assert!(bench.press("escape"));
    assert!(!bench.transcript.navigating());
    bench.frame();
    assert!(bench.transcript.following());
    assert!(!bench.press("escape"));
}

#[test]
fn a_selected_message_stays_in_view_when_something_is_added() {
    let mut bench = long(50);
    bench.press("alt+up");
    let before = bench.frame();
    bench.chat(5);
    assert_eq!(bench.frame(), before);
    assert_eq!(bench.transcript.below(), 15);
}

#[test]
fn typing_ends_navigation_and_is_not_for_the_transcript() {
    let mut bench = long(5);
    bench.press("alt+up");
    bench.frame();
    assert!(!bench.transcript.handle(&Gesture::Text("x".to_owned())));
    assert!(!bench.transcript.navigating());
    bench.press("alt+up");
    assert!(!bench.press("x"));
    assert!(!bench.transcript.navigating());
}

#[test]
fn without_messages_there_is_nothing_to_select() {
    let mut bench = Bench::new(60, 12);
    bench.press("alt+up");
    bench.frame();
    assert!(!bench.transcript.navigating());
    assert!(bench.transcript.following());
}

#[test]
fn a_click_on_a_card_unfolds_it_where_it_is() {
    let mut bench = long(50);
    bench.put("demo", 50, tool(30), ItemProgress::Done);
    let rows = bench.frame();
    let header = rows.iter().position(|row| row.contains("✓ Run")).expect("the card is in view");
    let y = u16::try_from(header).expect("a row");
    assert!(!bench.mouse(MouseAction::Press, 3, y - 2), "a message does not fold");
    assert!(bench.mouse(MouseAction::Press, 3, y));
    let rows = bench.frame();
    assert!(rows[header].contains("✓ Run"), "{rows:?}");
    assert!(rows[11].contains("line"), "{rows:?}");
    assert!(!bench.transcript.following());
    assert!(bench.mouse(MouseAction::Press, 3, y));
    let rows = bench.frame();
    assert!(rows[11].contains("27 more lines"), "{rows:?}");
    assert!(bench.transcript.following());
    assert!(!bench.mouse(MouseAction::Press, 3, 12), "outside");
}

#[test]
fn enter_expands_the_selected_item() {
    let mut bench = long(3);
    bench.put("demo", 3, tool(5), ItemProgress::Done);
    bench.press("alt+up");
    assert!(bench.press("enter"));
    assert!(bench.frame().iter().any(|row| row.contains("line 5")));
    assert!(bench.transcript.handle(&Gesture::Text(" ".to_owned())));
    assert!(!bench.frame().iter().any(|row| row.contains("line 5")));
    assert!(bench.press("ctrl+o"));
    assert!(bench.frame().iter().any(|row| row.contains("line 5")));
}

#[test]
fn a_cleared_view_starts_empty() {
    let mut bench = long(50);
    bench.frame();
    bench.press("pageup");
    let Bench { transcript, state, .. } = &mut bench;
    transcript.clear_view(state);
    assert_eq!(bench.frame().concat(), "");
    bench.chat(1);
    assert_eq!(bench.frame()[1], "   message 50");
    assert!(bench.transcript.following());
}

#[test]
fn the_window_stays_after_the_state_was_reset() {
    let mut bench = long(50);
    bench.frame();
    bench.press("pageup");
    let before = bench.frame();
    let mut anew = Bench::new(60, 12);
    for number in 20..60 {
        anew.put("demo", number, text(&format!("message {number}")), ItemProgress::Done);
    }
    bench.state = anew.state;
    bench.transcript.sync(&bench.state, &MirrorChange { reset: true, ..MirrorChange::default() });
    assert_eq!(bench.frame(), before);
}

#[test]
fn details_that_come_and_go_do_not_lose_the_place() {
    let mut bench = long(50);
    bench.frame();
    bench.press("pageup");
    let before = bench.frame();
    bench.verbose = true;
    bench.frame();
    bench.verbose = false;
    assert_eq!(bench.frame(), before);
}

/// Number of items drawn by each of several frames, in a conversation of `count` messages.
fn drawn(count: usize) -> Vec<usize> {
    let mut bench = Bench::new(80, 40);
    bench.chat(count);
    let mut drawn = Vec::new();
    let mut last = 0;
    let mut frame = |bench: &mut Bench| {
        bench.frame();
        drawn.push(bench.transcript.cache.drawn - last);
        last = bench.transcript.cache.drawn;
    };
    frame(&mut bench);
    frame(&mut bench);
    bench.chat(1);
    frame(&mut bench);
    for key in ["pageup", "ctrl+home", "pagedown", "alt+up", "escape", "ctrl+end"] {
        bench.press(key);
        frame(&mut bench);
    }
    bench.size = (100, 30);
    frame(&mut bench);
    bench.press("ctrl+o");
    frame(&mut bench);
    bench.verbose = true;
    frame(&mut bench);
    drawn
}

#[test]
fn a_frame_costs_what_it_shows() {
    let (short, long) = (drawn(100), drawn(100_000));
    assert_eq!(short[1], 0, "nothing has changed");
    assert_eq!(short[2], 1, "one is new");
    for (short, long) in short.iter().zip(&long) {
        assert!(*long <= short + 66, "{long} are drawn of many, {short} of few");
    }
    assert!(long.iter().all(|count| *count <= 100), "{long:?}");
}

#[test]
fn hidden_items_cost_nothing() {
    let mut bench = long(1);
    for number in 1..50_000 {
        let body =
            ItemBody::Act { kind: "chat/acknowledge".to_owned(), payload: serde_json::Value::Null, about: vec![] };
        bench.put("demo", number, body, ItemProgress::Done);
    }
    assert_eq!(bench.frame()[1], "   message 0");
    assert_eq!(bench.transcript.shown.len(), 1);
    bench.verbose = true;
    bench.frame();
    assert_eq!(bench.transcript.shown.len(), 50_000);
    assert!(bench.transcript.cache.drawn < 20);
}

#[test]
fn the_lines_below_are_known_before_drawing() {
    let mut bench = long(50);
    bench.frame();
    bench.press("pageup");
    assert!(bench.transcript.following(), "no frame has shown it yet");
    let look = TranscriptView { theme: &bench.theme, verbose: false, show_streams: false, now: at(60), me: &bench.me };
    bench.transcript.arrange(Rect::new(0, 0, 60, 12), &bench.state, &look);
    assert!(!bench.transcript.following());
    assert_eq!(bench.transcript.below(), 10);
}

#[test]
fn the_cache_is_bounded() {
    let mut bench = Bench::new(80, 40);
    bench.chat(20_000);
    bench.frame();
    for _ in 0..600 {
        bench.press("pageup");
        bench.frame();
    }
    assert!(bench.transcript.cache.len() <= 2_200, "{}", bench.transcript.cache.len());
}

#[test]
fn an_item_that_grows_is_drawn_alone_and_once_a_frame() {
    let mut bench = long(50);
    bench.frame();
    let before = bench.transcript.cache.drawn;
    for words in ["one", "one two", "one two three"] {
        bench.put("demo", 50, text(words), ItemProgress::Growing);
    }
    bench.frame();
    assert_eq!(bench.transcript.cache.drawn, before + 1);
}
