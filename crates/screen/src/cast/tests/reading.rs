use std::io::{BufReader, Read as _};

use proptest::prelude::*;

use super::*;

const V3: &str = "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n";
const V2: &str = "{\"version\":2,\"width\":80,\"height\":24}\n";

fn error(text: &str) -> String {
    Cast::parse(text.as_bytes()).expect_err("not a recording").to_string()
}

#[test]
fn the_example_of_version_3_is_read() {
    let cast = read(
        r##"{"version": 3, "term": {"cols": 80, "rows": 24, "type": "xterm-256color", "theme": {"fg": "#d0d0d0"}}, "timestamp": 1504467315, "title": "Demo", "env": {"SHELL": "/bin/zsh"}}
# event stream follows the header
[0.248, "o", "\u001b[1;31mHello \u001b[32mWorld!\u001b[0m\n"]
[1.001, "o", "That was ok\rThis is better."]
[3.500, "m", ""]

# terminal window resized to 90 cols and 30 rows
[2.050, "r", "90x30"]
[0.887, "x", "0"]
"##,
    );
    assert_eq!(cast.format, CastFormat::V3);
    assert_eq!(
        cast.header,
        CastHeader {
            timestamp: Some(1_504_467_315),
            title: Some("Demo".to_owned()),
            terminal_type: Some("xterm-256color".to_owned()),
            environment: [("SHELL".to_owned(), "/bin/zsh".to_owned())].into(),
            ..small()
        }
    );
    assert_eq!(
        cast.events,
        [
            output(0.248, "\x1b[1;31mHello \x1b[32mWorld!\x1b[0m\n"),
            output(1.249, "That was ok\rThis is better."),
            TimedEvent { at: seconds(4.749), content: EventContent::Mark(String::new()) },
            TimedEvent { at: seconds(6.799), content: EventContent::Resize(size(90, 30)) },
            TimedEvent { at: seconds(7.686), content: EventContent::Exit(0) },
        ]
    );
    assert_eq!((cast.duration(), cast.truncated), (seconds(7.686), None));
}

#[test]
fn what_asciinema_2_writes_is_read() {
    let cast = read(concat!(
        r#"{"version": 2, "width": 80, "height": 24, "timestamp": 1504467315.75, "command": null, "title": null, "#,
        r#""duration": 2, "idle_time_limit": 1, "env": {"SHELL": null, "TERM": "xterm"}}"#,
        "\r\n[0.25, \"o\", \"a\"]\r\n[1, \"i\", \"b\"]\r\n\r\n[2.5e0, \"r\", \"100x50\"]\r\n"
    ));
    assert_eq!(cast.format, CastFormat::V2);
    assert_eq!(
        cast.header,
        CastHeader {
            timestamp: Some(1_504_467_315),
            idle_limit: Some(seconds(1.0)),
            terminal_type: Some("xterm".to_owned()),
            ..small()
        }
    );
    assert_eq!(
        cast.events,
        [
            output(0.25, "a"),
            TimedEvent { at: seconds(1.0), content: EventContent::Input("b".to_owned()) },
            TimedEvent { at: seconds(2.5), content: EventContent::Resize(size(100, 50)) },
        ]
    );
}

#[test]
fn unknown_events_are_skipped_but_their_time_counts() {
    let cast = read(&format!("{V3}[1.0, \"subtitle\", {{\"a\": [1]}}]\n[1.0, \"o\", \"x\"]\n[1.0, \"z\", \"\"]\n"));
    assert_eq!(cast.events, [output(2.0, "x")]);
    assert_eq!(cast.duration(), seconds(3.0));
}

#[test]
fn times_that_go_backwards_stay() {
    let cast = read(&format!("{V2}[2.0, \"o\", \"a\"]\n[1.0, \"o\", \"b\"]\n"));
    assert_eq!(cast.events, [output(2.0, "a"), output(2.0, "b")]);
}

#[test]
fn intervals_below_the_precision_add_up() {
    let cast = read(&format!("{V3}{}[0.0, \"o\", \"x\"]\n", "[0.0000003, \"z\", \"\"]\n".repeat(1_000_000)));
    assert_eq!(cast.events, [output(0.3, "x")]);
}

#[test]
fn sizes_of_other_recorders_are_clamped() {
    let cast = read("{\"version\":2,\"width\":4000000000,\"height\":0}\n[0, \"r\", \"1x99999\"]\n");
    assert_eq!(cast.header.size, size(1000, 1));
    assert_eq!(cast.events[0].content, EventContent::Resize(size(2, 500)));
}

#[test]
fn a_truncated_last_line_is_dropped_and_reported() {
    let cut = format!("{V3}[1.0, \"o\", \"whole\"]\n[1.0, \"o\", \"ha]");
    let cast = read(&cut);
    assert_eq!(cast.events, [output(1.0, "whole")]);
    assert_eq!(cast.truncated, Some(TruncatedLine { line: 3, bytes: 15 }));
    assert_eq!(cast.truncated.expect("dropped").to_string(), "line 3 is truncated after 15 bytes and was skipped");

    let zeroed = format!("{V3}[1.0, \"o\", \"whole\"]\n[1.0, \"o\", \"ha\0\0\0\0");
    assert_eq!(read(&zeroed).events, [output(1.0, "whole")]);
}

#[test]
fn a_last_line_needs_no_end() {
    let cast = read(&format!("{V3}[1.0, \"o\", \"whole\"]"));
    assert_eq!((cast.events, cast.truncated), (vec![output(1.0, "whole")], None));
}

#[test]
fn a_recording_may_be_cut_anywhere_after_its_header() {
    let events = [
        (seconds(0.5), CastEvent::Output("日本 \x1b[1m".as_bytes())),
        (seconds(1.5), CastEvent::Resize(size(100, 50))),
        (seconds(2.5), CastEvent::Mark("]\"")),
        (seconds(3.5), CastEvent::Exit(1)),
    ];
    let whole = write(CastFormat::V3, small(), &events).into_bytes();
    let all = Cast::parse(&whole[..]).expect("a recording");
    let header = whole.iter().position(|byte| *byte == b'\n').expect("a header") + 1;
    for end in header..=whole.len() {
        let cast = Cast::parse(&whole[..end]).expect("a recording with a cut");
        assert_eq!(cast.events, all.events[..cast.events.len()]);
        let lines = whole[header..end].iter().filter(|byte| **byte == b'\n').count();
        let whole_without_its_end = cast.events.len() == lines + 1;
        let inside = whole[end - 1] != b'\n' && !whole_without_its_end;
        assert_eq!(cast.truncated.is_some(), inside, "cut after {end} bytes");
    }
    assert!((1..header - 1).all(|end| Cast::parse(&whole[..end]).is_err()));
}

#[test]
fn errors_name_the_line_and_what_is_wrong() {
    assert_eq!(error(""), "the recording is empty: its first line must be a header");
    assert_eq!(error("hello\n"), "line 1 is not an asciicast header: expected value at column 1");
    assert_eq!(error("{}\n"), "line 1 is not an asciicast header: missing field `version` at column 2");
    assert_eq!(
        error("{\"version\":1,\"width\":80}\n"),
        "asciicast version 1 is not supported; convert it to version 3 with `asciinema convert`"
    );
    assert!(error("{\"version\":2,\"width\":80}\n").contains("missing field `height`"));
    assert!(error("{\"version\":3,\"width\":80}\n").contains("missing field `term`"));
    let wrong = |line: &str| error(&format!("{V3}# a comment\n{line}\n[0, \"o\", \"\"]\n"));
    assert_eq!(wrong("[1.0, \"o\", \"a"), "line 3 is not an event: EOF while parsing a string at column 13");
    assert!(wrong("[-1, \"o\", \"a\"]").starts_with("line 3 is not an event: invalid time -1: "));
    assert_eq!(wrong("[1, \"o\", 7]"), "line 3 is not an event: the data is 7, not a string");
    assert_eq!(wrong("[1, \"r\", \"80\\u001bx\"]"), "line 3 is not an event: \"80\\u{1b}x\" is not a size like 80x24");
    assert_eq!(wrong("[1, \"x\", \"\"]"), "line 3 is not an event: \"\" is not an exit status");
    assert!(wrong("[1, \"o\"]").starts_with("line 3 is not an event: "));
    assert!(wrong("{}").starts_with("line 3 is not an event: "));
    assert!(wrong("[1e300, \"o\", \"\"]").starts_with("line 3 is not an event: invalid time 1"));
    assert!(error(&format!("{V2}# no comments here\n[0, \"o\", \"\"]\n")).starts_with("line 2 is not an event: "));
    assert!(error(&format!("{V3}[1, \"r\", \"80x\"]")).starts_with("line 2 is not an event: "));
    let long = wrong(&format!("[\"{}\", \"o\", \"\"]", "x".repeat(10_000)));
    assert!(long.len() < 300 && long.ends_with('…'), "{long}");
}

#[test]
fn a_line_without_end_does_not_fill_the_memory() {
    let endless = V3.as_bytes().chain(std::io::repeat(b'a'));
    let error = Cast::parse(BufReader::new(endless)).expect_err("too long");
    assert_eq!(error.to_string(), "line 2 is longer than 67108864 bytes");
}

proptest! {
    #[test]
    fn nothing_makes_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Cast::parse(&bytes[..]);
        for header in [V2, V3] {
            let _ = Cast::parse(&[header.as_bytes(), &bytes].concat()[..]);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(
        header in "\\{\"version\": ?[123],\"(width|term)\":(80|\\{\"cols\":[-0-9e.]{1,30},\"rows\":2\\}),\"height\":[0-9]{1,22}\\}",
        lines in prop::collection::vec("\\[[-0-9.e]{1,30}, \"[oirmxz]\", (\"[0-9x\\\\u\"]{0,8}\"|null)\\]|\\PC*|#.*", 0..5),
    ) {
        if let Ok(cast) = Cast::parse(format!("{header}\n{}", lines.join("\n")).as_bytes()) {
            prop_assert!(cast.events.is_sorted_by_key(|event| event.at));
            prop_assert!(Playback::new(&cast, PlaybackSpeed::NORMAL, None).count() <= cast.events.len() + 1);
            screen_at(&cast, Duration::MAX, 10);
        }
    }
}
