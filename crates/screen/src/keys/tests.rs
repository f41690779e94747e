//! Exact bytes of each press in each mode.

mod kitty;
mod legacy;

use proptest::prelude::*;

use super::*;

const LEGACY: TerminalModes = modes(0, 0);

const fn modes(kitty_keyboard: u8, modify_other_keys: u8) -> TerminalModes {
    TerminalModes {
        application_cursor: false,
        application_keypad: false,
        bracketed_paste: false,
        focus_events: false,
        alternate_scroll: false,
        alternate_screen: false,
        mouse: crate::modes::MouseTracking::Off,
        mouse_encoding: crate::modes::MouseEncoding::Legacy,
        kitty_keyboard,
        modify_other_keys,
    }
}

fn sent(name: &str, modes: &TerminalModes) -> String {
    let press: KeyPress = name.parse().unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(encode(&press, modes)).expect("keys are sent as UTF-8")
}

#[track_caller]
fn check(modes: &TerminalModes, table: &[(&str, &str)]) {
    for (name, expected) in table {
        let sent = sent(name, modes);
        assert_eq!(sent, *expected, "{name} sends {sent:?}");
    }
}

/// Keys encoded as sequences, with the sequence of the key alone and with ctrl.
const FUNCTIONS: [(&str, &str, &str); 22] = [
    ("insert", "\x1b[2~", "\x1b[2;5~"),
    ("delete", "\x1b[3~", "\x1b[3;5~"),
    ("pageup", "\x1b[5~", "\x1b[5;5~"),
    ("pagedown", "\x1b[6~", "\x1b[6;5~"),
    ("up", "\x1b[A", "\x1b[1;5A"),
    ("down", "\x1b[B", "\x1b[1;5B"),
    ("right", "\x1b[C", "\x1b[1;5C"),
    ("left", "\x1b[D", "\x1b[1;5D"),
    ("home", "\x1b[H", "\x1b[1;5H"),
    ("end", "\x1b[F", "\x1b[1;5F"),
    ("f1", "\x1bOP", "\x1b[1;5P"),
    ("f2", "\x1bOQ", "\x1b[1;5Q"),
    ("f3", "\x1bOR", "\x1b[1;5R"),
    ("f4", "\x1bOS", "\x1b[1;5S"),
    ("f5", "\x1b[15~", "\x1b[15;5~"),
    ("f6", "\x1b[17~", "\x1b[17;5~"),
    ("f7", "\x1b[18~", "\x1b[18;5~"),
    ("f8", "\x1b[19~", "\x1b[19;5~"),
    ("f9", "\x1b[20~", "\x1b[20;5~"),
    ("f10", "\x1b[21~", "\x1b[21;5~"),
    ("f11", "\x1b[23~", "\x1b[23;5~"),
    ("f12", "\x1b[24~", "\x1b[24;5~"),
];

fn any_press() -> impl Strategy<Value = KeyPress> {
    let names = FUNCTIONS.map(|(name, ..)| name.to_owned()).to_vec();
    let key = prop_oneof![proptest::sample::select(names), "enter|tab|escape|backspace|[ -~]|[à-ÿ]|[а-я]|[一-龥]",];
    let key = key.prop_map(|name| name.parse::<KeyPress>().expect("known").key);
    (key, any::<[bool; 3]>()).prop_map(|(key, [ctrl, alt, shift])| KeyPress::new(key, Modifiers { ctrl, alt, shift }))
}

proptest! {
    #[test]
    fn every_press_sends_something(press in any_press(), kitty in 0u8..32, level in 0u8..3) {
        prop_assert!(!encode(&press, &modes(kitty, level)).is_empty());
    }

    #[test]
    fn text_is_sent_unless_all_keys_are_enabled(press in any_press(), kitty in 0u8..8) {
        if let Some(text) = press.text() {
            let sent = encode(&press, &modes(kitty, 0));
            prop_assert!(sent.starts_with(text.to_string().as_bytes()));
        }
    }

    #[test]
    fn with_all_keys_asked_for_everything_is_a_sequence(press in any_press(), kitty in 0u8..32) {
        let sent = encode(&press, &modes(kitty | 8, 0));
        prop_assert!(sent.starts_with(b"\x1b["));
        let sequences = sent.iter().filter(|byte| **byte == 0x1b).count();
        prop_assert_eq!(sequences, if kitty & 2 == 0 { 1 } else { 2 });
    }

    #[test]
    fn kitty_tells_every_press_from_every_other(
        first in any_press(), second in any_press(), kitty in 0u8..32,
    ) {
        let modes = modes(kitty | 1, 0);
        // A capital letter, and shift with its letter, are the same press.
        let alike = first.text().is_some() && first.text() == second.text();
        if first != second && !alike && encode(&first, &modes) == encode(&second, &modes) {
            let symbols = [first.key, second.key].map(|key| match key {
                KeyCode::Char(symbol) => wh_core::input::unshifted(symbol).unwrap_or(symbol),
                _ => '\0',
            });
            prop_assert!(symbols[0] != '\0' && symbols[0] == symbols[1], "{first} {second}");
        }
    }
}
