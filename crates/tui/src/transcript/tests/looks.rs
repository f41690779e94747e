//! Snapshots of each kind of item at 40, 80 and 120 columns.

use serde_json::{Value, json};
use wh_core::slash;
use wh_core::space::event::StreamFrame;
use wh_core::space::extent::Extent;
use wh_core::space::item::{Attachment, NoticeLevel, ToolCall, ToolKind, ToolResultPart, ToolStatus};
use wh_core::space::question::{
    Answer, OptionMeaning, Question, QuestionCloseReason, QuestionDetail, QuestionKind, QuestionOption,
};
use wh_core::space::{ItemId, StreamId};

use super::*;

/// Renders the same content at 40, 80 and 120 columns.
fn pictures(fill: impl Fn(&mut Bench)) -> String {
    let mut pictures = String::new();
    for width in [40, 80, 120] {
        let mut bench = Bench::new(width, 10);
        fill(&mut bench);
        pictures.push_str(&format!("{}\n{}\n", "─".repeat(usize::from(width)), bench.whole().join("\n")));
        for row in bench.whole() {
            assert!(text::width(&row) <= usize::from(width), "{row:?}");
        }
    }
    pictures
}

const PROSE: &str = "A wheelhouse is where the wheel of a ship is, and where whoever steers it stands. From there one \
                     sees all that matters.\n\nSecond paragraph.";

#[test]
fn messages() {
    insta::assert_snapshot!(pictures(|bench| {
        bench.say("human", "hello");
        bench.say("demo", PROSE);
        bench.put_to("human", Some("demo"), 2, text(&format!("{PROSE}\n  indented")), ItemProgress::Done);
        bench.put("demo", 3, text("And then I was"), ItemProgress::Cut);
    }));
}

#[test]
fn markdown() {
    insta::assert_snapshot!(pictures(|bench| {
        bench.say(
            "demo",
            "# Title\n\nSome **bold** words and `code`:\n\n- one\n- two, which is longer than the others and goes on \
             for a while\n\n| name | size |\n|---|---|\n| a | 1 |\n| b | 22 |\n\n```rust\nfn main() {}\n```",
        );
        bench.put("demo", 1, text("half of a **bold word"), ItemProgress::Growing);
    }));
}

#[test]
fn a_message_of_one_line_is_on_the_row_of_its_mark() {
    let mut bench = Bench::new(80, 10);
    bench.say("human", "hello");
    let rows = bench.frame();
    assert!(rows[0].starts_with("▎◆ you ❯ hello"), "{rows:?}");
    assert!(rows[0].ends_with("12:34:56"), "{rows:?}");
}

#[test]
fn wide_characters_and_marks() {
    insta::assert_snapshot!(pictures(|bench| {
        bench.say("human", "日本語のテキストはどこでも改行できますが、英語 words は空白でだけ改行されます。");
        bench.say("demo", "e\u{301}te\u{301} 👩‍👩‍👧 👍🏽 flags 🇫🇷 and \u{1b}[2J escapes\u{7} and\ttabs\r\nnext");
    }));
}

#[test]
fn attachments() {
    insta::assert_snapshot!(pictures(|bench| {
        let file = |name: &str, size| Attachment { name: name.to_owned(), media_type: "text/plain".to_owned(), size };
        let attachments =
            vec![file("notes.txt", 812), file("picture.png", 1_536_000), file("a-rather-long-name.tar", 9)];
        bench.put("human", 0, ItemBody::Text { text: "look".to_owned(), attachments }, ItemProgress::Done);
    }));
}

#[test]
fn notices() {
    insta::assert_snapshot!(pictures(|bench| {
        let notice = |level, topic: &str, lines: &[&str]| ItemBody::Notice {
            level,
            topic: topic.to_owned(),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        bench.put("system", 0, notice(NoticeLevel::Info, "info", &["Signal Board expanded."]), ItemProgress::Done);
        let long = "demo is gone: it ended with exit code 3 before it could say why, and nobody knows";
        bench.put("system", 1, notice(NoticeLevel::Error, "error", &[long]), ItemProgress::Done);
        bench.put("system", 2, notice(NoticeLevel::Warning, "warning", &["slow"]), ItemProgress::Done);
        let table = ["Participants", "  human  you", "  demo   idle, since 12 s", ""];
        bench.put("system", 3, notice(NoticeLevel::Info, "participants", &table), ItemProgress::Done);
    }));
}

#[test]
fn help() {
    insta::assert_snapshot!(pictures(|bench| {
        let body = ItemBody::Notice { level: NoticeLevel::Info, topic: "help".to_owned(), lines: slash::help(&[]) };
        bench.put("system", 0, body, ItemProgress::Done);
    }));
}

fn events(bench: &mut Bench) {
    let act = |kind: &str, payload: Value| ItemBody::Act { kind: kind.to_owned(), payload, about: Vec::new() };
    let join = json!({ "event": "join", "participant": { "id": "demo" } });
    bench.put("system", 0, act("system/presence", join), ItemProgress::Done);
    bench.put("demo", 1, act("chat/acknowledge", json!({ "status": "received" })), ItemProgress::Done);
    bench.put(
        "demo",
        2,
        act("participant/status", json!({ "status": "active", "summary": "fine" })),
        ItemProgress::Done,
    );
    let pause = json!({ "reason": "rate_limit", "timeout_seconds": 60 });
    bench.put("demo", 3, act("participant/pause", pause), ItemProgress::Done);
    bench.put(
        "demo",
        4,
        act("stream/open", json!({ "stream_id": "stream-1", "encoding": "json" })),
        ItemProgress::Done,
    );
    bench.put("demo", 5, act("stream/close", json!({ "stream_id": "stream-1" })), ItemProgress::Done);
}

#[test]
fn event_lines() {
    insta::assert_snapshot!(pictures(events));
}

#[test]
fn every_detail() {
    insta::assert_snapshot!(pictures(|bench| {
        bench.verbose = true;
        events(bench);
        let thought =
            ItemBody::Thought { text: "Which file is it?".to_owned(), action: Some("read".to_owned()), tokens: None };
        bench.put("demo", 6, thought, ItemProgress::Done);
        bench.say("human", "hello");
    }));
}

#[test]
fn thoughts() {
    insta::assert_snapshot!(pictures(|bench| {
        let thought = |tokens| ItemBody::Thought { text: "Let me see.\nYes.".to_owned(), action: None, tokens };
        bench.say("human", "think");
        bench.put("demo", 1, thought(Some(12_345)), ItemProgress::Done);
        bench.put("demo", 64, thought(None), ItemProgress::Cut);
        bench.put("demo", 65, thought(Some(3)), ItemProgress::Growing);
    }));
}

#[test]
fn the_duration_of_an_interrupted_thought_is_fixed() {
    let mut bench = Bench::new(80, 20);
    let turn = TurnId::from("turn-1");
    let started = SpaceEvent::TurnStarted { turn: turn.clone(), by: "demo".into(), prompt: "i0".into() };
    bench.state.apply(&started, at(0));
    let thought = ItemBody::Thought { text: "Let me see.".to_owned(), action: None, tokens: None };
    bench.put("demo", 1, thought, ItemProgress::Growing);
    bench.state.apply(&SpaceEvent::TurnEnded(turn, TurnOutcome::Cancelled, TurnStats::default()), at(3));
    let expected = " ◇ demo thought for 2s (interrupted)";
    assert_eq!(bench.whole(), [expected]);
    bench.put("demo", 40, text("much later"), ItemProgress::Done);
    assert_eq!(bench.whole()[0], expected);
}

fn call(status: ToolStatus, title: &str, input: Value, output: Vec<ToolResultPart>) -> ItemBody {
    let (name, title) = ("shell".to_owned(), title.to_owned());
    ItemBody::Tool(ToolCall { name, title, kind: ToolKind::Execute, input, status, output })
}

fn tools(bench: &mut Bench) {
    let lines = |count: usize| (1..=count).map(|line| format!("line {line}\n")).collect::<String>();
    let command = json!({ "command": "cargo test --workspace --all-features -- --nocapture --test-threads 2" });
    let output = vec![ToolResultPart::Text(lines(9))];
    bench.put("demo", 0, call(ToolStatus::Pending, "Run the tests", command.clone(), vec![]), ItemProgress::Growing);
    let running = call(ToolStatus::Running, "Run the tests", command.clone(), output.clone());
    bench.put("demo", 1, running, ItemProgress::Growing);
    let coloured = vec![ToolResultPart::Text("\u{1b}[32mok\u{1b}[0m\r\n50%\r100%\n".to_owned())];
    bench.put("demo", 2, call(ToolStatus::Completed, "", Value::Null, coloured), ItemProgress::Done);
    bench.put("demo", 3, call(ToolStatus::Completed, "Run the tests", json!({}), output.clone()), ItemProgress::Done);
    bench.put(
        "demo",
        4,
        call(ToolStatus::Failed, "Run the tests", json!({ "n": 1, "m": 2 }), output),
        ItemProgress::Done,
    );
    bench.put("demo", 5, call(ToolStatus::Denied, "Run the tests", command.clone(), vec![]), ItemProgress::Done);
    bench.put("demo", 6, call(ToolStatus::Cancelled, "Run the tests", command, vec![]), ItemProgress::Cut);
    let diff = |path: &str, old: Option<&str>, new: &str| {
        vec![ToolResultPart::Diff { path: path.to_owned(), old: old.map(str::to_owned), new: new.to_owned() }]
    };
    let edit = diff("src/main.rs", Some("fn main() {\n    old();\n}\n"), "fn main() {\n    new();\n}\n");
    bench.put("demo", 7, call(ToolStatus::Completed, "Edit src/main.rs", Value::Null, edit), ItemProgress::Done);
    let write = diff("notes.txt", None, &lines(20));
    bench.put(
        "demo",
        8,
        call(ToolStatus::Completed, "Write", json!({ "path": "notes.txt" }), write),
        ItemProgress::Done,
    );
}

#[test]
fn tool_cards() {
    insta::assert_snapshot!(pictures(tools));
}

#[test]
fn a_partly_shown_item_says_where_the_rest_is() {
    let mut bench = Bench::new(60, 9);
    let output = vec![ToolResultPart::Text("first line\n".repeat(2))];
    bench.put("demo", 7, call(ToolStatus::Completed, "Run the tests", Value::Null, output), ItemProgress::Done);
    let item = Arc::clone(bench.state.items.at(0).unwrap());
    assert!(!bench.frame().concat().contains("shown"));
    let mut bench = Bench::new(60, 9);
    let extent = Some(Extent { shown: 50_000, whole: 3_240_000 });
    bench.state.put(Arc::new(Item { extent, ..(*item).clone() }));
    let frame = bench.frame();
    assert!(frame.contains(&"     … 50 KB of 3.2 MB shown; full text: wh output i7".to_owned()), "{frame:#?}");
}

#[test]
fn tool_cards_unfolded() {
    insta::assert_snapshot!(pictures(|bench| {
        tools(bench);
        assert!(bench.press("ctrl+o"));
    }));
}

fn questions(bench: &mut Bench) {
    let choice =
        |id: &str, label: &str, meaning| QuestionOption { id: id.to_owned(), label: label.to_owned(), meaning };
    let question = Question {
        kind: QuestionKind::Permission,
        title: "May I run the tests of the whole workspace, which takes a while?".to_owned(),
        details: vec![
            QuestionDetail::Command("cargo test".to_owned()),
            QuestionDetail::Text("It only reads.".to_owned()),
        ],
        options: vec![
            choice("yes", "Allow once", OptionMeaning::AllowOnce),
            choice("no", "Reject", OptionMeaning::RejectOnce),
        ],
        accepts_text: true,
        preselects: true,
    };
    let answered = |option: Option<&str>, text: Option<&str>| {
        let answer = Answer { option: option.map(str::to_owned), text: text.map(str::to_owned) };
        Some(QuestionCloseReason::Answered { by: ParticipantId::from("human"), answer })
    };
    let closings = [
        (None, ItemProgress::Growing),
        (answered(Some("yes"), None), ItemProgress::Done),
        (answered(Some("no"), Some("not now")), ItemProgress::Done),
        (answered(None, Some("later")), ItemProgress::Done),
        (Some(QuestionCloseReason::Withdrawn), ItemProgress::Done),
        (Some(QuestionCloseReason::Cancelled), ItemProgress::Cut),
    ];
    for (number, (closing, progress)) in closings.into_iter().enumerate() {
        bench.put("demo", number, ItemBody::Question { question: question.clone(), closing }, progress);
    }
}

#[test]
fn asked() {
    insta::assert_snapshot!(pictures(questions));
}

#[test]
fn asked_unfolded() {
    insta::assert_snapshot!(pictures(|bench| {
        questions(bench);
        bench.press("ctrl+o");
    }));
}

#[test]
fn stream_data_is_shown_on_request() {
    let mut bench = Bench::new(60, 10);
    events(&mut bench);
    let stream = StreamId::from("stream-1");
    bench.state.apply(&SpaceEvent::StreamOpened(stream.clone(), ParticipantId::from("demo")), at(1));
    for count in 0..5 {
        bench.state.frame(StreamFrame { stream: stream.clone(), payload: json!({ "tokens": count }), at: at(2) });
    }
    assert!(!bench.frame().iter().any(|row| row.contains('≋')));
    bench.streams = true;
    let rows = bench.whole();
    assert_eq!(
        rows[rows.len() - 5..],
        [
            " ◇ demo → stream/close · stream-1",
            "",
            " ≋ stream-1 {\"tokens\":2}",
            " ≋ stream-1 {\"tokens\":3}",
            " ≋ stream-1 {\"tokens\":4}",
        ]
    );
}

#[test]
fn retracted_items_are_hidden() {
    let mut bench = Bench::new(60, 10);
    bench.say("human", "one");
    bench.put("demo", 1, text("two"), ItemProgress::Growing);
    bench.say("human", "three");
    bench.put("demo", 1, text("two"), ItemProgress::Retracted);
    let rows = bench.whole();
    assert_eq!(rows.iter().filter(|row| row.contains('◆')).count(), 2, "{rows:?}");
    assert_eq!(bench.state.items.get(&ItemId::from("i1")).expect("it is stored").progress, ItemProgress::Retracted);
}

#[test]
fn another_day_is_named() {
    let mut bench = Bench::new(60, 10);
    bench.put("demo", 200_000, text("tomorrow"), ItemProgress::Done);
    assert!(bench.frame()[0].ends_with("Jan 4 20:08"), "{:?}", bench.frame());
}

#[test]
fn failures_have_the_colour_of_danger() {
    let mut bench = Bench::new(60, 10);
    let body =
        ItemBody::Notice { level: NoticeLevel::Error, topic: "error".to_owned(), lines: vec!["broken".to_owned()] };
    bench.put("system", 0, body, ItemProgress::Done);
    let buffer = bench.buffer();
    assert_eq!(Some(buffer[(3, 0)].fg), bench.theme.danger.fg);
}

#[test]
fn no_size_is_too_small() {
    for width in 0..30 {
        for height in 0..4 {
            let mut bench = Bench::new(width, height);
            tools(&mut bench);
            questions(&mut bench);
            bench.say("human", PROSE);
            bench.say("demo", "日本語 🇫🇷");
            bench.verbose = width % 2 == 0;
            bench.streams = true;
            bench.press("alt+up");
            bench.frame();
            bench.press("enter");
            bench.frame();
        }
    }
}
