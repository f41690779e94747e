use proptest::prelude::*;

use super::*;
use crate::frame::ScreenCursor;
use crate::modes::TerminalModes;
use crate::render;
use crate::vt::{SYNCHRONIZED_UPDATE_TIMEOUT, Vt};

fn text_at(cast: &Cast, at: f64) -> String {
    render::plain(&screen_at(cast, seconds(at), 100).frame()).trim_end().to_owned()
}

#[test]
fn the_screen_at_a_time_includes_all_events_up_to_it() {
    let events = [
        (seconds(1.0), CastEvent::Output(b"one ")),
        (seconds(2.000_000_3), CastEvent::Output(b"two ")),
        (seconds(2.000_000_3), CastEvent::Output(b"more ")),
        (seconds(3.0), CastEvent::Output(b"three")),
    ];
    for format in [CastFormat::V2, CastFormat::V3] {
        let cast = read(&write(format, small(), &events));
        let shown = [0.0, 0.999_999, 1.0, 1.999_999, 2.000_000_3, 3.0, 1e9].map(|at| text_at(&cast, at));
        assert_eq!(shown, ["", "", "one", "one", "one two more", "one two more three", "one two more three"]);
        assert_eq!(screen_at(&cast, Duration::MAX, 0).size(), size(80, 24));
    }
}

#[test]
fn the_screen_at_a_time_has_the_size_of_that_time() {
    let events = [
        (seconds(1.0), CastEvent::Output(b"shown")),
        (seconds(2.0), CastEvent::Resize(size(10, 5))),
        (seconds(3.0), CastEvent::Input(b"not shown")),
        (seconds(3.0), CastEvent::Exit(0)),
    ];
    let cast = read(&write(CastFormat::V3, small(), &events));
    let sizes = [1.999_999, 2.0, 3.0].map(|at| screen_at(&cast, seconds(at), 0).size());
    assert_eq!(sizes, [size(80, 24), size(10, 5), size(10, 5)]);
    assert_eq!(text_at(&cast, 3.0), "shown");
}

#[test]
fn a_synchronized_update_is_shown_when_it_ends_or_times_out() {
    let events = [
        (seconds(1.0), CastEvent::Output(b"\x1b[?2026ha")),
        (seconds(1.1), CastEvent::Output(b"b")),
        (seconds(2.0), CastEvent::Output(b"c\x1b[?2026hd")),
        (seconds(2.1), CastEvent::Output(b"e\x1b[?2026l")),
    ];
    let cast = read(&write(CastFormat::V3, small(), &events));
    let shown = [1.0, 1.149_999, 1.15, 1.9, 2.0, 2.099_999, 2.1].map(|at| text_at(&cast, at));
    assert_eq!(shown, ["", "", "ab", "ab", "abc", "abc", "abcde"]);
}

#[derive(Debug, Clone)]
enum Act {
    /// Output, of which the last few bytes are delayed until the next output.
    Output(Vec<u8>, usize),
    Resize(Size),
    Snapshot,
}

/// Returns everything visible of a screen. Excludes the title: the emulator drops invalid bytes in it, a recording has
/// U+FFFD.
fn visible_state(vt: &Vt) -> (Size, String, ScreenCursor, TerminalModes) {
    let frame = vt.frame();
    (frame.size, render::ansi(&frame), frame.cursor, frame.modes)
}

fn act() -> impl Strategy<Value = Act> {
    let sequences = [
        "\x1b[?2026h",
        "\x1b[?2026l",
        "\x1b[31;1m",
        "\x1b[H",
        "\x1b[5;3H",
        "\x1b[J",
        "\x1b[K",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\r\n",
        "\t",
        "\x1b]0;title\x07",
        "\x1b[3L",
        "\x1b(0",
        "\x1bc",
        "\x1bP+q",
        "\x1b\\",
        "\x1b[",
        "\x18",
        "\u{9b}1m",
        "é",
        "e\u{301}",
        "日本",
        "😀",
    ];
    let broken = prop::sample::select(vec![&b"\xff"[..], b"\xa5", b"\xc3x", b"\xe6\x97x", b"\xf0\x9f\x98\x1b[m"]);
    // Only ASCII and bytes that never occur in UTF-8: the emulator obeys a single byte from 0x80 to 0x9f as a control.
    // In a recording, as in most terminals, it is U+FFFD.
    let byte = prop_oneof![0..0x80_u8, 0xf5..=0xff_u8];
    let piece = prop_oneof![
        4 => prop::sample::select(sequences.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        2 => "[a-z ]{1,30}".prop_map(String::into_bytes),
        1 => broken.prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(byte, 0..4),
    ];
    let output = (prop::collection::vec(piece, 1..6), 0..6_usize);
    prop_oneof![
        6 => output.prop_map(|(pieces, late)| Act::Output(pieces.concat(), late)),
        1 => (2..40_u16, 1..12_u16).prop_map(|(columns, rows)| Act::Resize(size(columns, rows))),
        3 => Just(Act::Snapshot),
    ]
}

proptest! {
    #[test]
    fn the_screen_at_a_time_is_the_live_screen_of_that_time(
        format in prop::sample::select(vec![CastFormat::V2, CastFormat::V3]),
        acts in prop::collection::vec((0..120_000_u64, act()), 1..40),
    ) {
        let start = size(20, 6);
        let mut writer = CastWriter::new(format, CastHeader::new(start));
        let mut recording = writer.header();
        let (mut live, mut updating_since, mut now) = (Vt::new(start, 50), None, Duration::ZERO);
        let (mut unwritten, mut snapshots) = (Vec::new(), Vec::new());
        for (pause, act) in acts {
            now += Duration::from_micros(pause);
            if updating_since.is_some_and(|since| now >= since + SYNCHRONIZED_UPDATE_TIMEOUT) {
                live.end_update();
                updating_since = None;
            }
            match act {
                Act::Output(bytes, late) => {
                    unwritten.extend(bytes);
                    let late = unwritten.split_off(unwritten.len().saturating_sub(late));
                    live.feed(&unwritten);
                    updating_since = live.updating().then(|| updating_since.unwrap_or(now));
                    recording.extend(writer.event(now, CastEvent::Output(&unwritten)));
                    unwritten = late;
                }
                Act::Resize(size) => {
                    live.resize(size);
                    recording.extend(writer.event(now, CastEvent::Resize(size)));
                }
                Act::Snapshot => {
                    recording.extend(writer.event(now, CastEvent::Mark("snapshot")));
                    snapshots.push(visible_state(&live));
                    // Otherwise events at the same time would be included.
                    now += TIME_ROUNDING_INTERVAL;
                }
            }
        }
        recording.extend(writer.finish(now));
        let cast = Cast::parse(&recording[..]).expect("a recording");
        let marks = cast.events.iter().filter(|event| matches!(event.content, EventContent::Mark(_)));
        for (mark, snapshot) in marks.zip(snapshots) {
            let replayed = visible_state(&screen_at(&cast, mark.at, 50));
            prop_assert_eq!(replayed, snapshot, "{}", String::from_utf8_lossy(&recording));
        }
    }
}

fn steps(cast: &Cast, speed: f64, idle_limit: Option<f64>) -> Vec<(f64, f64, String)> {
    Playback::new(cast, PlaybackSpeed::new(speed).expect("a speed"), idle_limit.map(seconds))
        .map(|step| {
            let text = String::from_utf8(step.bytes.to_vec()).expect("text");
            (step.delay.as_secs_f64(), step.at.as_secs_f64(), text)
        })
        .collect()
}

fn paused() -> Vec<(Duration, CastEvent<'static>)> {
    vec![
        (seconds(1.0), CastEvent::Output(b"a")),
        (seconds(2.0), CastEvent::Mark("in between")),
        (seconds(5.0), CastEvent::Output(b"b")),
        (seconds(5.5), CastEvent::Output(b"c")),
        (seconds(9.5), CastEvent::Exit(0)),
    ]
}

fn step(delay: f64, at: f64, text: &str) -> (f64, f64, String) {
    (delay, at, text.to_owned())
}

#[test]
fn a_recording_is_played_as_it_happened() {
    let cast = read(&write(CastFormat::V3, small(), &paused()));
    assert_eq!(
        steps(&cast, 1.0, None),
        [step(1.0, 1.0, "a"), step(4.0, 5.0, "b"), step(0.5, 5.5, "c"), step(4.0, 9.5, "")]
    );
}

#[test]
fn speed_and_idle_limit_shorten_it() {
    let cast = read(&write(CastFormat::V3, small(), &paused()));
    let expected = [step(0.5, 0.5, "a"), step(1.0, 1.5, "b"), step(0.25, 1.75, "c"), step(1.0, 2.75, "")];
    assert_eq!(steps(&cast, 2.0, Some(2.0)), expected);
}

#[test]
fn the_recordings_own_idle_limit_holds_unless_another_is_given() {
    let header = CastHeader { idle_limit: Some(seconds(2.0)), ..small() };
    let cast = read(&write(CastFormat::V3, header, &paused()));
    let delays = |limit| steps(&cast, 1.0, limit).into_iter().map(|step| step.0).collect::<Vec<_>>();
    assert_eq!(delays(None), [1.0, 2.0, 0.5, 2.0]);
    assert_eq!(delays(Some(3.0)), [1.0, 3.0, 0.5, 3.0]);
}

#[test]
fn a_recording_that_ends_with_output_has_no_empty_step() {
    let cast = read(&write(CastFormat::V2, small(), &paused()));
    assert_eq!(steps(&cast, 1.0, None).last(), Some(&step(0.5, 5.5, "c")));
    assert_eq!(steps(&read(&write(CastFormat::V2, small(), &[])), 1.0, None), []);
}

#[test]
fn a_speed_is_a_number_above_zero() {
    assert_eq!("2.5".parse(), Ok(PlaybackSpeed::new(2.5).expect("a speed")));
    assert_eq!("1".parse(), Ok(PlaybackSpeed::NORMAL));
    for wrong in ["0", "-1", "nan", "inf", "fast", ""] {
        let error = wrong.parse::<PlaybackSpeed>().expect_err("not a speed");
        assert_eq!(error.to_string(), format!("invalid speed {wrong:?}; give a number above 0, such as 2 or 0.5"));
    }
}

#[test]
fn the_slowest_speed_does_not_overflow() {
    let cast = read(&write(CastFormat::V3, small(), &paused()));
    assert_eq!(
        Playback::new(&cast, PlaybackSpeed::new(f64::MIN_POSITIVE).expect("a speed"), None).last().map(|step| step.at),
        Some(Duration::MAX)
    );
}
