//! Decodes fixed input and the output of the encoders, split anywhere.

use proptest::prelude::*;
use proptest::sample::select;
use wh_core::input::{KeyCode, KeyPress, Modifiers, Mouse, MouseAction, MouseButton};

use super::*;
use crate::modes::{MouseEncoding, MouseTracking, TerminalModes};
use crate::{keys, mouse, paste};

fn key(name: &str) -> Gesture {
    Gesture::Key(name.parse().unwrap_or_else(|error| panic!("{error}")))
}

fn text(text: &str) -> Gesture {
    Gesture::Text(text.to_owned())
}

fn pasted(text: &str) -> Gesture {
    Gesture::Paste(text.to_owned())
}

fn gestures(decoded: Vec<DecodedGesture>) -> Vec<Gesture> {
    decoded.into_iter().map(|decoded| decoded.gesture).collect()
}

/// Decodes all bytes at once, followed by a timeout.
fn decode(bytes: &[u8]) -> Vec<Gesture> {
    let mut decoder = InputDecoder::new();
    let mut decoded = decoder.feed(bytes);
    decoded.extend(decoder.timeout());
    assert!(!decoder.pending(), "{bytes:?}");
    gestures(decoded)
}

/// Decodes each byte separately, and merges characters.
fn decode_bytewise(bytes: &[u8]) -> Vec<Gesture> {
    let mut decoder = InputDecoder::new();
    let mut decoded: Vec<DecodedGesture> = bytes.iter().flat_map(|byte| decoder.feed(&[*byte])).collect();
    decoded.extend(decoder.timeout());
    joined(gestures(decoded))
}

fn joined(gestures: Vec<Gesture>) -> Vec<Gesture> {
    let mut all: Vec<Gesture> = Vec::new();
    for gesture in gestures {
        match (all.last_mut(), gesture) {
            (Some(Gesture::Text(before)), Gesture::Text(after)) => before.push_str(&after),
            (_, gesture) => all.push(gesture),
        }
    }
    all
}

#[track_caller]
fn check(table: &[(&str, &str)]) {
    for (bytes, name) in table {
        assert_eq!(decode(bytes.as_bytes()), [key(name)], "{bytes:?}");
        assert_eq!(decode_bytewise(bytes.as_bytes()), [key(name)], "{bytes:?}");
    }
}

#[test]
fn controls_are_keys() {
    check(&[
        ("\r", "enter"),
        ("\n", "shift+enter"),
        ("\t", "tab"),
        ("\x7f", "backspace"),
        ("\x08", "ctrl+backspace"),
        ("\x1b", "escape"),
        ("\0", "ctrl+space"),
        ("\x01", "ctrl+a"),
        ("\x03", "ctrl+c"),
        ("\x1a", "ctrl+z"),
        ("\x1c", "ctrl+\\"),
        ("\x1f", "ctrl+_"),
    ]);
}

#[test]
fn escape_before_a_key_is_alt() {
    check(&[
        ("\x1ba", "alt+a"),
        ("\x1bA", "alt+shift+a"),
        ("\x1b#", "alt+#"),
        ("\x1bé", "alt+é"),
        ("\x1b\r", "alt+enter"),
        ("\x1b\x7f", "alt+backspace"),
        ("\x1b\x01", "ctrl+alt+a"),
        ("\x1b\x1b", "alt+escape"),
        ("\x1b\x1b[Z", "alt+shift+tab"),
        ("\x1b[", "alt+["),
        ("\x1bO", "alt+shift+o"),
        ("\x1b]", "alt+]"),
        ("\x1bP", "alt+shift+p"),
        ("\x1b_", "alt+_"),
    ]);
}

#[test]
fn sequences_of_the_old_kind_are_keys() {
    check(&[
        ("\x1b[A", "up"),
        ("\x1bOA", "up"),
        ("\x1b[1;5C", "ctrl+right"),
        ("\x1b[1;8D", "ctrl+alt+shift+left"),
        ("\x1b[3~", "delete"),
        ("\x1b[3;5~", "ctrl+delete"),
        ("\x1b[1~", "home"),
        ("\x1b[7~", "home"),
        ("\x1b[4~", "end"),
        ("\x1b[F", "end"),
        ("\x1b[6;2~", "shift+pagedown"),
        ("\x1bOP", "f1"),
        ("\x1b[P", "f1"),
        ("\x1b[[B", "f2"),
        ("\x1b[1;5R", "ctrl+f3"),
        ("\x1b[13~", "f3"),
        ("\x1b[15~", "f5"),
        ("\x1b[24;3~", "alt+f12"),
        ("\x1b[Z", "shift+tab"),
        ("\x1b[1;5Z", "ctrl+shift+tab"),
        ("\x1bOM", "enter"),
    ]);
}

#[test]
fn keys_of_the_newer_protocols_are_read() {
    check(&[
        ("\x1b[27u", "escape"),
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[99;5u", "ctrl+c"),
        ("\x1b[99;6u", "ctrl+shift+c"),
        ("\x1b[45;6u", "ctrl+_"),
        ("\x1b[45:95;6u", "ctrl+_"),
        ("\x1b[1089::99;5u", "ctrl+c"),
        ("\x1b[97::113;5u", "ctrl+a"),
        ("\x1b[99;69u", "ctrl+c"),
        ("\x1b[97;33u", "alt+a"),
        ("\x1b[57414;5u", "ctrl+enter"),
        ("\x1b[57417u", "left"),
        ("\x1b[1;1:2A", "up"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[27;5;9~", "ctrl+tab"),
        ("\x1b[27;6;65~", "ctrl+shift+a"),
        ("\x1b[27;6;32~", "ctrl+shift+space"),
    ]);
}

#[test]
fn presses_that_type_are_text() {
    for (bytes, typed) in [
        ("a", "a"),
        ("Hi, 日本 🙂", "Hi, 日本 🙂"),
        ("\x1b[97u", "a"),
        ("\x1b[97;2u", "A"),
        ("\x1b[97;65u", "A"),
        ("\x1b[97;66u", "a"),
        ("\x1b[38:49;2u", "1"),
        ("\x1b[97:65;2;65u", "A"),
        ("\x1b[0;;228u", "ä"),
        ("\x1b[57400u", "1"),
        ("\x1b[27;2;49~", "1"),
        ("\x1bOk", "+"),
        ("a\x1b[98ub\x1b[97;1:3u", "abb"),
    ] {
        assert_eq!(decode(bytes.as_bytes()), [text(typed)], "{bytes:?}");
        assert_eq!(decode_bytewise(bytes.as_bytes()), [text(typed)], "{bytes:?}");
    }
}

#[test]
fn terminal_reports_and_replies_are_dropped() {
    for bytes in [
        "\x1b[I",
        "\x1b[O",
        "\x1b[?62;4c",
        "\x1b[>1;10;0c",
        "\x1b[24;80R",
        "\x1b[0n",
        "\x1b[?1u",
        "\x1b[?2026;2$y",
        "\x1b[8;24;80t",
        "\x1b[97;1:3u",
        "\x1b[3;1:3~",
        "\x1b[57441;2u",
        "\x1b[97;9u",
        "\x1b[201~",
        "\x1b]11;rgb:0000/0000/0000\x07",
        "\x1b]11;rgb:0000/0000/0000\x1b\\",
        "\x1bP>|XTerm(390)\x1b\\",
        "\x1bP1+r544e=787465726d\x1b\\",
        "\x1b_Gi=1;OK\x1b\\",
    ] {
        let around = format!("a{bytes}b");
        assert_eq!(decode(around.as_bytes()), [text("ab")], "{bytes:?}");
        assert_eq!(decode_bytewise(around.as_bytes()), [text("ab")], "{bytes:?}");
    }
}

#[test]
fn escape_waits_until_nothing_follows() {
    let mut decoder = InputDecoder::new();
    assert_eq!(decoder.feed(b"\x1b"), []);
    assert!(decoder.pending());
    assert_eq!(gestures(decoder.feed(b"[A")), [key("up")]);
    assert!(!decoder.pending());
    assert_eq!(decoder.feed(b"\x1b"), []);
    assert_eq!(gestures(decoder.timeout()), [key("escape")]);
    assert!(!decoder.pending());
    assert_eq!(gestures(decoder.feed(b"[A")), [text("[A")]);
}

#[test]
fn escape_before_a_sequence_is_the_key() {
    assert_eq!(decode(b"\x1b\x1b[A"), [key("escape"), key("up")]);
    assert_eq!(decode(b"\x1b\x1bOP"), [key("escape"), key("f1")]);
    assert_eq!(decode(b"\x1b\x1b[27;1:3u"), [key("escape")]);
    assert_eq!(decode(b"\x1b\x1b[200~x\x1b[201~"), [key("escape"), pasted("x")]);
}

#[test]
fn partial_characters_and_sequences_stay_incomplete() {
    for (first, second, whole) in
        [(&b"\xf0\x9f"[..], &b"\x99\x82"[..], text("🙂")), (b"\x1b[1;", b"5C", key("ctrl+right"))]
    {
        let mut decoder = InputDecoder::new();
        assert_eq!(decoder.feed(first), []);
        assert!(!decoder.pending());
        assert_eq!(decoder.timeout(), []);
        assert_eq!(gestures(decoder.feed(second)), [whole]);
    }
}

#[test]
fn an_unterminated_reply_does_not_swallow_typed_input() {
    assert_eq!(decode(b"\x1b]11;rgb\rls"), [key("enter"), text("ls")]);
    assert_eq!(decode(b"\x1b]11;rgb\x1b[A"), [key("up")]);
    let mut decoder = InputDecoder::new();
    assert_eq!(decoder.feed(b"\x1b]1"), []);
    assert!(decoder.pending());
    assert_eq!(decoder.timeout(), []);
    assert_eq!(gestures(decoder.feed(b"ls")), [text("ls")]);
}

#[test]
fn an_endless_sequence_is_skipped() {
    let long = [b"\x1b[", "1;".repeat(5000).as_bytes(), b"Aok"].concat();
    assert_eq!(decode(&long), [text("ok")]);
    assert_eq!(decode_bytewise(&long), [text("ok")]);
    assert_eq!(decode(b"\x1b[12\x03"), [key("ctrl+c")]);
    assert_eq!(decode(b"\x1b[12\x1b[A"), [key("up")]);
}

#[test]
fn invalid_bytes_are_skipped() {
    assert_eq!(decode(b"a\xffb\xc3(\x80\xe6\x97c"), [text("ab(c")]);
    assert_eq!(decode(b"\x1b\xffa"), [key("escape"), text("a")]);
    assert_eq!(decode("a\u{85}b".as_bytes()), [text("ab")]);
}

#[test]
fn a_paste_is_one_gesture() {
    let bytes = b"x\x1b[200~ls\r\n\x1b[A\x03\x1b[201y\x1b[201~\r";
    let expected = [text("x"), pasted("ls\r\n\x1b[A\x03\x1b[201y"), key("enter")];
    assert_eq!(decode(bytes), expected);
    assert_eq!(decode_bytewise(bytes), expected);
}

#[test]
fn a_paste_is_bounded() {
    let mut decoder = InputDecoder::new();
    assert_eq!(decoder.feed(b"\x1b[200~a"), []);
    for _ in 0..10 {
        assert_eq!(decoder.feed("é".repeat(1 << 19).as_bytes()), []);
    }
    let DecoderState::Paste(paste) = &decoder.state else { panic!("the paste is open") };
    assert!(paste.bytes.len() <= MAX_PASTE_BYTES + PASTE_END.len());
    assert_eq!(decoder.feed(b"\x1b[20"), []);
    let decoded = gestures(decoder.feed(b"1~b"));
    let [Gesture::Paste(pasted), after] = &decoded[..] else { panic!("a paste and a character") };
    assert_eq!(pasted.len(), MAX_PASTE_BYTES - 1);
    assert!(pasted.ends_with('é'));
    assert_eq!(*after, text("b"));
}

#[test]
fn each_gesture_has_its_end_offset() {
    let mut decoder = InputDecoder::new();
    let ends = |decoded: Vec<DecodedGesture>| decoded.iter().map(|decoded| decoded.end).collect::<Vec<_>>();
    assert_eq!(ends(decoder.feed(b"ab\x1b[Ac\x1b[I")), [2, 5, 6]);
    assert_eq!(ends(decoder.feed(b"\x1b[200~x\x1b[2")), [] as [u64; 0]);
    assert_eq!(ends(decoder.feed(b"01~\r\x1b")), [22, 23]);
    assert_eq!(ends(decoder.timeout()), [24]);
}

#[test]
fn the_old_mouse_is_understood() {
    let at = |action, button| Gesture::Mouse(Mouse { action, button, x: 9, y: 4, modifiers: Modifiers::NONE });
    assert_eq!(decode(b"\x1b[M *%"), [at(MouseAction::Press, MouseButton::Left)]);
    assert_eq!(decode(b"\x1b[M#*%"), [at(MouseAction::Release, MouseButton::None)]);
    assert_eq!(decode(b"\x1b[Ma*%"), [at(MouseAction::WheelDown, MouseButton::None)]);
}

fn any_modifiers() -> impl Strategy<Value = Modifiers> {
    any::<(bool, bool, bool)>().prop_map(|(ctrl, alt, shift)| Modifiers { ctrl, alt, shift })
}

/// False in the private use area, whose codes kitty assigned to keys.
fn typeable(character: &char) -> bool {
    !character.is_control() && !('\u{e000}'..='\u{f8ff}').contains(character)
}

fn any_press() -> impl Strategy<Value = KeyPress> {
    use KeyCode::{Backspace, Delete, Down, End, Enter, Escape, Home, Insert, Left, PageDown, PageUp, Right, Tab, Up};
    let named = [Enter, Escape, Tab, Backspace, Delete, Insert, Up, Down, Left, Right, Home, End, PageUp, PageDown];
    let key = prop_oneof![
        select(named.to_vec()),
        (1u8..=12).prop_map(KeyCode::Function),
        any::<char>().prop_filter("typeable", typeable).prop_map(KeyCode::Char),
        (b' '..=b'~').prop_map(|byte| KeyCode::Char(byte.into())),
    ];
    (key, any_modifiers()).prop_map(|(key, modifiers)| KeyPress::new(key, modifiers))
}

fn any_modes() -> impl Strategy<Value = TerminalModes> {
    (0u8..32, 0u8..3, any::<bool>()).prop_map(|(kitty_keyboard, modify_other_keys, application_cursor)| TerminalModes {
        kitty_keyboard,
        modify_other_keys,
        application_cursor,
        bracketed_paste: true,
        mouse: MouseTracking::Motion,
        mouse_encoding: MouseEncoding::Sgr,
        ..TerminalModes::default()
    })
}

fn any_mouse() -> impl Strategy<Value = Mouse> {
    use MouseAction::{Move, Press, Release, WheelDown, WheelLeft, WheelRight, WheelUp};
    use MouseButton::{Left, Middle, None, Right};
    let action = select(vec![Press, Release, Move, WheelUp, WheelDown, WheelLeft, WheelRight]);
    let button = select(vec![None, Left, Middle, Right]);
    (action, button, any::<u16>(), any::<u16>(), any_modifiers()).prop_map(|(action, button, x, y, modifiers)| Mouse {
        action,
        button,
        x,
        y,
        modifiers,
    })
}

/// Decodes a single gesture in chunks, followed by a timeout.
fn decode_cut(bytes: &[u8], cuts: &[usize]) -> Vec<Gesture> {
    let mut decoder = InputDecoder::new();
    let mut decoded = Vec::new();
    let mut from = 0;
    for cut in cuts.iter().map(|cut| cut % (bytes.len() + 1)) {
        let to = cut.max(from);
        decoded.extend(decoder.feed(&bytes[from..to]));
        from = to;
    }
    decoded.extend(decoder.feed(&bytes[from..]));
    decoded.extend(decoder.timeout());
    assert!(decoded.iter().all(|decoded| decoded.end <= bytes.len() as u64));
    joined(gestures(decoded))
}

fn any_cuts() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0usize..64, 0..6).prop_map(|mut cuts| {
        cuts.sort_unstable();
        cuts
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn encoded_keys_decode_to_the_same_press(press in any_press(), modes in any_modes(), cuts in any_cuts()) {
        let sent = keys::encode(&press, &modes);
        let decoded = decode_cut(&sent, &cuts);
        // If an encoding is lossy, the decoded press must be one that is encoded alike.
        let silent = match modes.kitty_keyboard & 2 {
            0 => modes,
            _ => TerminalModes { kitty_keyboard: modes.kitty_keyboard & !2, modify_other_keys: 0, ..modes },
        };
        match (&decoded[..], press.text()) {
            ([Gesture::Text(typed)], Some(expected)) => prop_assert_eq!(typed, &expected.to_string()),
            ([Gesture::Text(typed)], None) => prop_assert_eq!(typed.as_bytes(), keys::encode(&press, &silent)),
            // Two presses encode to it, in modes with another code for one of them; either inserts a new line.
            ([Gesture::Key(_)], None) if sent == b"\n" => prop_assert_eq!(&decoded, &[key("shift+enter")]),
            ([Gesture::Key(decoded)], None) => {
                prop_assert_eq!(keys::encode(decoded, &silent), keys::encode(&press, &silent), "{}", decoded);
            }
            _ => prop_assert!(false, "{:?}", decoded),
        }
    }

    #[test]
    fn the_kitty_protocol_loses_nothing(press in any_press(), flags in 0u8..32, cuts in any_cuts()) {
        let modes = TerminalModes { kitty_keyboard: flags | 1, ..TerminalModes::default() };
        let everything = TerminalModes { kitty_keyboard: 1 | 4 | 8 | 16, ..TerminalModes::default() };
        let decoded = decode_cut(&keys::encode(&press, &modes), &cuts);
        if let [Gesture::Key(decoded)] = &decoded[..] {
            prop_assert_eq!(keys::encode(decoded, &everything), keys::encode(&press, &everything));
        } else {
            prop_assert_eq!(decoded, [Gesture::Text(press.text().into_iter().collect())]);
        }
    }

    #[test]
    fn encoded_mouse_events_decode_to_the_same_event(event in any_mouse(), modes in any_modes(), cuts in any_cuts()) {
        let wheel = !matches!(event.action, MouseAction::Press | MouseAction::Release | MouseAction::Move);
        let button = if wheel { MouseButton::None } else { event.button };
        if let Some(bytes) = mouse::encode(&event, &modes) {
            prop_assert_eq!(decode_cut(&bytes, &cuts), [Gesture::Mouse(Mouse { button, ..event })]);
        }
    }

    #[test]
    fn encoded_pastes_decode_to_the_same_text(
        text in prop_oneof![any::<String>(), "[a~\x1b\\[2015]*", "(\x1b?\\[20[01]~?|\n|x)*"], modes in any_modes(), cuts in any_cuts(),
    ) {
        let bytes = paste::encode(&text, &modes);
        let harmless = String::from_utf8(bytes[6..bytes.len() - 6].to_vec()).unwrap();
        prop_assert_eq!(decode_cut(&bytes, &cuts), [Gesture::Paste(harmless)]);
    }

    #[test]
    fn text_decodes_to_itself(text in "\\PC*", cuts in any_cuts()) {
        let expected: Vec<Gesture> = if text.is_empty() { vec![] } else { vec![Gesture::Text(text.clone())] };
        prop_assert_eq!(decode_cut(text.as_bytes(), &cuts), expected);
    }

    #[test]
    fn splits_change_nothing_and_typing_works_after_any_input(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..64),
            proptest::collection::vec(select(b"\x1b[]OP<;:0123456789~uMmAZ\\\x07a\r\xc3\xa9".to_vec()), 0..64),
        ],
        cuts in any_cuts(),
    ) {
        prop_assert_eq!(decode_cut(&bytes, &cuts), decode_cut(&bytes, &[]));
        let mut decoder = InputDecoder::new();
        let _ = decoder.feed(&bytes);
        let _ = decoder.timeout();
        let _ = decoder.feed(b"\x1b[201~\x03");
        prop_assert_eq!(gestures(decoder.feed(b"ok")), [text("ok")]);
    }
}
