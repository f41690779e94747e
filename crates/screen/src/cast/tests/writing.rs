use proptest::prelude::*;

use super::*;

fn everything() -> Vec<(Duration, CastEvent<'static>)> {
    vec![
        (seconds(0.248_848), CastEvent::Output(b"\x1b[1;31mHello\x1b[0m \"\\\" \xe6\x97\xa5\r\n\x7f\xc2\x9b")),
        (seconds(1.5), CastEvent::Input(b"\r")),
        (seconds(1.5), CastEvent::Mark("half")),
        (seconds(3.0), CastEvent::Resize(size(90, 30))),
        (seconds(63.000_000_6), CastEvent::Mark("")),
        (seconds(64.0), CastEvent::Exit(0)),
    ]
}

#[test]
fn version_3_is_written_byte_for_byte() {
    assert_eq!(
        write(CastFormat::V3, full(), &everything()),
        r##"{"version":3,"term":{"cols":120,"rows":40,"type":"xterm-256color","version":"wh 0.1.0"},"timestamp":1504467315,"idle_time_limit":2.5,"command":"sh -c \"ls\"","title":"Demo \u009b1m é","env":{"SHELL":"/bin/zsh"},"tags":["demo","日本"]}
[0.248848, "o", "\u001b[1;31mHello\u001b[0m \"\\\" 日\r\n\u007f\u009b"]
[1.251152, "i", "\r"]
[0.000000, "m", "half"]
[1.500000, "r", "90x30"]
[60.000001, "m", ""]
[0.999999, "x", "0"]
"##
    );
}

#[test]
fn version_2_is_written_byte_for_byte() {
    assert_eq!(
        write(CastFormat::V2, full(), &everything()),
        r##"{"version":2,"width":120,"height":40,"timestamp":1504467315,"idle_time_limit":2.5,"command":"sh -c \"ls\"","title":"Demo \u009b1m é","env":{"SHELL":"/bin/zsh","TERM":"xterm-256color"}}
[0.248848, "o", "\u001b[1;31mHello\u001b[0m \"\\\" 日\r\n\u007f\u009b"]
[1.500000, "i", "\r"]
[1.500000, "m", "half"]
[3.000000, "r", "90x30"]
[63.000001, "m", ""]
"##
    );
}

#[test]
fn a_header_omits_unknown_fields() {
    assert_eq!(write(CastFormat::V3, small(), &[]), "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n");
    assert_eq!(write(CastFormat::V2, small(), &[]), "{\"version\":2,\"width\":80,\"height\":24}\n");
}

#[test]
fn a_cut_character_makes_no_line_until_it_is_whole() {
    let mut writer = CastWriter::new(CastFormat::V3, small());
    assert_eq!(writer.event(seconds(1.0), CastEvent::Output(b"\xf0\x9f")), b"");
    assert_eq!(writer.event(seconds(2.0), CastEvent::Resize(size(90, 30))), b"[2.000000, \"r\", \"90x30\"]\n");
    assert_eq!(writer.event(seconds(2.5), CastEvent::Input(b"\x98\x80")), "[0.500000, \"i\", \"��\"]\n".as_bytes());
    assert_eq!(writer.event(seconds(3.0), CastEvent::Output(b"\x98\x80!")), "[0.500000, \"o\", \"😀!\"]\n".as_bytes());
    assert_eq!(writer.finish(seconds(4.0)), b"");
}

#[test]
fn a_character_that_stays_cut_is_replaced_at_the_end() {
    let mut writer = CastWriter::new(CastFormat::V2, small());
    assert_eq!(writer.event(seconds(1.0), CastEvent::Output(b"\xe6\x97")), b"");
    assert_eq!(writer.finish(seconds(4.0)), "[4.000000, \"o\", \"\u{fffd}\"]\n".as_bytes());
    assert_eq!(writer.finish(seconds(5.0)), b"");
}

#[test]
fn the_exit_comes_after_text_that_was_held_back() {
    let events = [(seconds(1.0), CastEvent::Output(b"\xe6")), (seconds(2.0), CastEvent::Exit(130))];
    let lines = |format| write(format, small(), &events).lines().skip(1).collect::<Vec<_>>().join("\n");
    assert_eq!(lines(CastFormat::V3), "[2.000000, \"o\", \"\u{fffd}\"]\n[0.000000, \"x\", \"130\"]");
    assert_eq!(lines(CastFormat::V2), "[2.000000, \"o\", \"\u{fffd}\"]");
}

#[test]
fn a_recording_does_not_go_backwards() {
    let events = [
        (seconds(2.0), CastEvent::Mark("a")),
        (seconds(1.0), CastEvent::Mark("b")),
        (seconds(2.5), CastEvent::Mark("c")),
    ];
    for format in [CastFormat::V2, CastFormat::V3] {
        let cast = read(&write(format, small(), &events));
        assert_eq!(cast.events.iter().map(|event| event.at).collect::<Vec<_>>(), [2.0, 2.0, 2.5].map(seconds));
    }
}

#[test]
fn no_event_makes_a_line_longer_than_readers_take() {
    let long = "\u{1}é".repeat(12 << 20);
    let text = write(CastFormat::V3, small(), &[(seconds(1.0), CastEvent::Output(long.as_bytes()))]);
    assert!(text.lines().all(|line| line.len() < MAX_CAST_LINE_BYTES / 8));
    let read: Vec<TimedEvent> = read(&text).events;
    assert!(read.iter().all(|event| event.at == seconds(1.0)));
    assert!(texts(&read).0 == long);
}

#[test]
fn intervals_do_not_drift() {
    let third = Duration::from_nanos(333_333);
    let events: Vec<_> = (1..=100_000).map(|count| (third * count, CastEvent::Mark("tick"))).collect();
    let text = write(CastFormat::V3, small(), &events);
    let mut sum = 0;
    for ((at, _), line) in events.iter().zip(text.lines().skip(1)) {
        let interval = line[1..].split_once(',').expect("an event").0.replace('.', "");
        sum += interval.parse::<u128>().expect("digits") * 1000;
        assert!(sum.abs_diff(at.as_nanos()) <= 500, "{line}: {sum} instead of {at:?}");
    }
}

/// Returns the joined text of all output events, and of all input events.
fn texts(events: &[TimedEvent]) -> (String, String) {
    let (mut output, mut input) = (String::new(), String::new());
    for event in events {
        match &event.content {
            EventContent::Output(text) => output.push_str(text),
            EventContent::Input(text) => input.push_str(text),
            _ => {}
        }
    }
    (output, input)
}

#[derive(Debug, Clone)]
enum Thing {
    Output(Vec<u8>),
    Input(Vec<u8>),
    Resize(Size),
    Mark(String),
}

impl Thing {
    fn event(&self) -> CastEvent<'_> {
        match self {
            Self::Output(bytes) => CastEvent::Output(bytes),
            Self::Input(bytes) => CastEvent::Input(bytes),
            Self::Resize(size) => CastEvent::Resize(*size),
            Self::Mark(label) => CastEvent::Mark(label),
        }
    }
}

fn thing() -> impl Strategy<Value = Thing> {
    let byte = prop_oneof![any::<u8>(), prop::sample::select(b"\xf0\x9f\x98\x80\xe6\x97\xa5\x1b[m\"\\".to_vec())];
    let bytes = prop::collection::vec(byte, 0..12);
    prop_oneof![
        4 => bytes.clone().prop_map(Thing::Output),
        2 => bytes.prop_map(Thing::Input),
        1 => (2..=1000_u16, 1..=500_u16).prop_map(|(columns, rows)| Thing::Resize(size(columns, rows))),
        1 => any::<String>().prop_map(Thing::Mark),
    ]
}

fn header() -> impl Strategy<Value = CastHeader> {
    let words = || prop::option::of(any::<String>());
    let environment = prop::collection::btree_map("[A-SU-Z]{1,8}", any::<String>(), 0..3);
    let tags = prop::collection::vec(any::<String>(), 0..3);
    let numbers = (2..=1000_u16, 1..=500_u16, prop::option::of(0..1_u64 << 50), prop::option::of(0..100_000_u64));
    (numbers, words(), words(), words(), words(), environment, tags).prop_map(
        |(numbers, command, title, terminal_type, terminal_version, environment, tags)| {
            let (columns, rows, timestamp, idle_limit) = numbers;
            let idle_limit = idle_limit.map(Duration::from_millis);
            let size = size(columns, rows);
            CastHeader {
                size,
                timestamp,
                idle_limit,
                command,
                title,
                terminal_type,
                terminal_version,
                environment,
                tags,
            }
        },
    )
}

proptest! {
    #[test]
    fn written_events_are_read_back(
        format in prop::sample::select(vec![CastFormat::V2, CastFormat::V3]),
        header in header(),
        things in prop::collection::vec((0..400_000_000_000_u64, thing()), 0..40),
        status in any::<i32>(),
    ) {
        let mut now = Duration::ZERO;
        let things: Vec<(Duration, Thing)> = things
            .into_iter()
            .map(|(pause, thing)| {
                now += Duration::from_nanos(pause);
                (now, thing)
            })
            .collect();
        let mut events: Vec<(Duration, CastEvent<'_>)> = things.iter().map(|(at, thing)| (*at, thing.event())).collect();
        events.push((now, CastEvent::Exit(status)));
        let text = write(format, header.clone(), &events);
        let cast = read(&text);

        let mut expected = header;
        if format == CastFormat::V2 {
            expected.terminal_version = None;
            expected.tags = Vec::new();
        }
        prop_assert_eq!(&cast.header, &expected);
        prop_assert_eq!((cast.format, cast.truncated), (format, None));

        let joined = |pick: fn(&Thing) -> Option<&Vec<u8>>| {
            let bytes: Vec<u8> = things.iter().filter_map(|(_, thing)| pick(thing)).flatten().copied().collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let output = joined(|thing| if let Thing::Output(bytes) = thing { Some(bytes) } else { None });
        let input = joined(|thing| if let Thing::Input(bytes) = thing { Some(bytes) } else { None });
        prop_assert_eq!(texts(&cast.events), (output, input));

        let mut others = cast.events.iter().filter(|e| !matches!(e.content, EventContent::Output(_) | EventContent::Input(_)));
        for (at, thing) in &things {
            let what = match thing {
                Thing::Resize(size) => EventContent::Resize(*size),
                Thing::Mark(label) => EventContent::Mark(label.clone()),
                Thing::Output(_) | Thing::Input(_) => continue,
            };
            let event = others.next().expect("every resize and mark");
            prop_assert_eq!(&event.content, &what);
            prop_assert!(event.at.abs_diff(*at) <= TIME_ROUNDING_INTERVAL / 2, "{:?} instead of {at:?}", event.at);
        }
        let exit = others.next().map(|event| event.content.clone());
        prop_assert_eq!(exit, (format == CastFormat::V3).then_some(EventContent::Exit(status)));
    }
}
