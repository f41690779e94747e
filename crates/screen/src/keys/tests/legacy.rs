//! Encoding of keys without a keyboard protocol, or with xterm's modifyOtherKeys.

use super::*;

#[test]
fn characters_are_sent_as_typed() {
    check(
        &LEGACY,
        &[
            ("a", "a"),
            ("A", "A"),
            ("shift+a", "A"),
            ("shift+1", "!"),
            ("shift+!", "!"),
            ("é", "é"),
            ("shift+é", "É"),
            ("日", "日"),
            ("space", " "),
            ("shift+space", " "),
            ("plus", "+"),
        ],
    );
}

#[test]
fn ctrl_makes_control_characters() {
    for (index, letter) in ('a'..='z').enumerate() {
        let byte = char::from(u8::try_from(index).expect("26 letters") + 1);
        for name in [format!("ctrl+{letter}"), format!("ctrl+shift+{letter}")] {
            assert_eq!(sent(&name, &LEGACY), byte.to_string(), "{name}");
        }
        let name = format!("ctrl+alt+{letter}");
        assert_eq!(sent(&name, &LEGACY), format!("\x1b{byte}"), "{name}");
    }
    check(
        &LEGACY,
        &[
            ("ctrl+space", "\0"),
            ("ctrl+shift+space", "\0"),
            ("ctrl+@", "\0"),
            ("ctrl+`", "\0"),
            ("ctrl+2", "\0"),
            ("ctrl+shift+2", "\0"),
            ("ctrl+3", "\x1b"),
            ("ctrl+[", "\x1b"),
            ("ctrl+{", "\x1b"),
            ("ctrl+4", "\x1c"),
            ("ctrl+\\", "\x1c"),
            ("ctrl+5", "\x1d"),
            ("ctrl+]", "\x1d"),
            ("ctrl+6", "\x1e"),
            ("ctrl+^", "\x1e"),
            ("ctrl+~", "\x1e"),
            ("ctrl+7", "\x1f"),
            ("ctrl+_", "\x1f"),
            ("ctrl+shift+-", "\x1f"),
            ("ctrl+/", "\x1f"),
            ("ctrl+8", "\x7f"),
            ("ctrl+?", "\x7f"),
            ("ctrl+shift+/", "\x7f"),
        ],
    );
}

#[test]
fn ctrl_does_not_change_characters_without_a_code() {
    check(
        &LEGACY,
        &[
            ("ctrl+1", "1"),
            ("ctrl+9", "9"),
            ("ctrl+0", "0"),
            ("ctrl+;", ";"),
            ("ctrl++", "+"),
            ("ctrl+minus", "-"),
            ("ctrl+é", "é"),
            ("ctrl+alt+.", "\x1b."),
        ],
    );
}

#[test]
fn alt_is_an_escape_before_the_key() {
    check(
        &LEGACY,
        &[
            ("alt+a", "\x1ba"),
            ("alt+shift+a", "\x1bA"),
            ("alt+3", "\x1b3"),
            ("alt+shift+3", "\x1b#"),
            ("alt+space", "\x1b "),
            ("alt+é", "\x1bé"),
            ("alt+enter", "\x1b\r"),
            ("alt+escape", "\x1b\x1b"),
            ("alt+tab", "\x1b\t"),
            ("alt+shift+tab", "\x1b\x1b[Z"),
            ("alt+backspace", "\x1b\x7f"),
            ("ctrl+alt+backspace", "\x1b\x08"),
        ],
    );
}

#[test]
fn enter_tab_escape_and_backspace_are_control_characters() {
    check(
        &LEGACY,
        &[
            ("enter", "\r"),
            ("ctrl+enter", "\r"),
            ("alt+shift+enter", "\x1b\r"),
            ("escape", "\x1b"),
            ("shift+escape", "\x1b"),
            ("tab", "\t"),
            ("ctrl+tab", "\t"),
            ("shift+tab", "\x1b[Z"),
            ("ctrl+shift+tab", "\x1b[Z"),
            ("backspace", "\x7f"),
            ("shift+backspace", "\x7f"),
            ("ctrl+backspace", "\x08"),
        ],
    );
}

#[test]
fn shift_enter_asks_for_a_new_line_where_it_has_no_code() {
    check(&LEGACY, &[("shift+enter", "\n")]);
}

#[test]
fn cursor_editing_and_function_keys_carry_their_modifiers() {
    for level in 0..=2 {
        for (name, plain, with_ctrl) in FUNCTIONS {
            assert_eq!(sent(name, &modes(0, level)), plain, "{name}");
            let name = format!("ctrl+{name}");
            assert_eq!(sent(&name, &modes(0, level)), with_ctrl, "{name}");
        }
    }
    check(
        &LEGACY,
        &[
            ("shift+up", "\x1b[1;2A"),
            ("alt+up", "\x1b[1;3A"),
            ("alt+shift+up", "\x1b[1;4A"),
            ("ctrl+shift+up", "\x1b[1;6A"),
            ("ctrl+alt+up", "\x1b[1;7A"),
            ("ctrl+alt+shift+up", "\x1b[1;8A"),
            ("shift+delete", "\x1b[3;2~"),
        ],
    );
}

#[test]
fn application_mode_is_for_unmodified_cursor_keys() {
    let application = TerminalModes { application_cursor: true, ..LEGACY };
    check(
        &application,
        &[
            ("up", "\x1bOA"),
            ("down", "\x1bOB"),
            ("right", "\x1bOC"),
            ("left", "\x1bOD"),
            ("home", "\x1bOH"),
            ("end", "\x1bOF"),
            ("ctrl+up", "\x1b[1;5A"),
            ("delete", "\x1b[3~"),
            ("f1", "\x1bOP"),
            ("f5", "\x1b[15~"),
        ],
    );
    for kitty in [1, 2, 8] {
        let both = TerminalModes { kitty_keyboard: kitty, ..application };
        assert!(sent("up", &both).starts_with("\x1b[A"), "{kitty}");
    }
}

#[test]
fn a_function_key_that_does_not_exist_sends_nothing() {
    for number in [0, 13, 255] {
        for modes in [LEGACY, modes(31, 0)] {
            let press = KeyPress::from(KeyCode::Function(number));
            assert_eq!(encode(&press, &modes), b"", "f{number}");
        }
    }
}

#[test]
fn modify_other_keys_1_takes_what_had_no_code() {
    check(
        &modes(0, 1),
        &[
            ("a", "a"),
            ("shift+a", "A"),
            ("shift+space", " "),
            ("alt+a", "\x1ba"),
            ("alt+1", "\x1b1"),
            ("ctrl+a", "\x01"),
            ("ctrl+shift+a", "\x01"),
            ("ctrl+alt+a", "\x1b\x01"),
            ("ctrl+space", "\0"),
            ("ctrl+2", "\0"),
            ("ctrl+/", "\x1f"),
            ("ctrl+?", "\x7f"),
            ("ctrl+1", "\x1b[27;5;49~"),
            ("ctrl+;", "\x1b[27;5;59~"),
            ("ctrl+shift+;", "\x1b[27;6;58~"),
            ("ctrl++", "\x1b[27;6;43~"),
            ("ctrl+=", "\x1b[27;5;61~"),
            ("ctrl+alt+1", "\x1b[27;7;49~"),
            ("ctrl+é", "\x1b[27;5;233~"),
            ("enter", "\r"),
            ("shift+enter", "\x1b[27;2;13~"),
            ("ctrl+enter", "\x1b[27;5;13~"),
            ("ctrl+shift+enter", "\x1b[27;6;13~"),
            ("alt+enter", "\x1b\r"),
            ("ctrl+alt+enter", "\x1b\r"),
            ("alt+shift+enter", "\x1b[27;4;13~"),
            ("tab", "\t"),
            ("shift+tab", "\x1b[Z"),
            ("ctrl+tab", "\x1b[27;5;9~"),
            ("ctrl+shift+tab", "\x1b[27;6;9~"),
            ("alt+tab", "\x1b\t"),
            ("ctrl+escape", "\x1b"),
            ("alt+escape", "\x1b\x1b"),
            ("shift+backspace", "\x7f"),
            ("ctrl+backspace", "\x08"),
            ("alt+backspace", "\x1b\x7f"),
        ],
    );
}

#[test]
fn modify_other_keys_2_takes_nearly_all_that_is_modified() {
    check(
        &modes(0, 2),
        &[
            ("a", "a"),
            ("A", "A"),
            ("?", "?"),
            ("shift+a", "\x1b[27;2;65~"),
            ("shift+2", "\x1b[27;2;64~"),
            ("shift+space", "\x1b[27;2;32~"),
            ("shift+1", "!"),
            ("shift+/", "?"),
            ("alt+a", "\x1b[27;3;97~"),
            ("alt+shift+a", "\x1b[27;4;65~"),
            ("alt+?", "\x1b[27;4;63~"),
            ("ctrl+a", "\x1b[27;5;97~"),
            ("ctrl+c", "\x1b[27;5;99~"),
            ("ctrl+shift+a", "\x1b[27;6;65~"),
            ("ctrl+alt+a", "\x1b[27;7;97~"),
            ("ctrl+space", "\x1b[27;5;32~"),
            ("ctrl+/", "\x1b[27;5;47~"),
            ("ctrl+?", "\x1b[27;6;63~"),
            ("ctrl+_", "\x1b[27;6;95~"),
            ("ctrl+日", "\x1b[27;5;26085~"),
            ("enter", "\r"),
            ("shift+enter", "\x1b[27;2;13~"),
            ("alt+enter", "\x1b[27;3;13~"),
            ("ctrl+enter", "\x1b[27;5;13~"),
            ("escape", "\x1b"),
            ("shift+escape", "\x1b[27;2;27~"),
            ("alt+escape", "\x1b[27;3;27~"),
            ("tab", "\t"),
            ("shift+tab", "\x1b[Z"),
            ("ctrl+tab", "\x1b[27;5;9~"),
            ("alt+shift+tab", "\x1b[27;4;9~"),
            ("backspace", "\x7f"),
            ("ctrl+backspace", "\x08"),
            ("shift+backspace", "\x1b[27;2;127~"),
            ("alt+backspace", "\x1b[27;3;127~"),
            ("ctrl+shift+backspace", "\x1b[27;6;8~"),
        ],
    );
}
