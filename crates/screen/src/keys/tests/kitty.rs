//! Encoding of keys with the kitty keyboard protocol.

use super::*;

#[test]
fn disambiguates_commands_and_leaves_text_alone() {
    check(
        &modes(1, 2),
        &[
            ("a", "a"),
            ("A", "A"),
            ("shift+a", "A"),
            ("?", "?"),
            ("日", "日"),
            ("space", " "),
            ("shift+space", " "),
            ("escape", "\x1b[27u"),
            ("shift+escape", "\x1b[27;2u"),
            ("ctrl+c", "\x1b[99;5u"),
            ("ctrl+shift+c", "\x1b[99;6u"),
            ("ctrl+i", "\x1b[105;5u"),
            ("ctrl+space", "\x1b[32;5u"),
            ("alt+a", "\x1b[97;3u"),
            ("alt+[", "\x1b[91;3u"),
            ("alt+shift+a", "\x1b[97;4u"),
            ("ctrl+alt+a", "\x1b[97;7u"),
            ("ctrl+?", "\x1b[47;6u"),
            ("ctrl+_", "\x1b[45;6u"),
            ("ctrl++", "\x1b[61;6u"),
            ("ctrl+é", "\x1b[233;5u"),
            ("enter", "\r"),
            ("tab", "\t"),
            ("backspace", "\x7f"),
            ("shift+enter", "\x1b[13;2u"),
            ("ctrl+enter", "\x1b[13;5u"),
            ("alt+enter", "\x1b[13;3u"),
            ("shift+tab", "\x1b[9;2u"),
            ("ctrl+backspace", "\x1b[127;5u"),
        ],
    );
}

#[test]
fn keeps_the_forms_of_functional_keys() {
    for flags in [1, 8, 1 | 8, 1 | 4 | 8 | 16] {
        for (name, plain, with_ctrl) in FUNCTIONS {
            let (plain, with_ctrl) = match name {
                "f1" => ("\x1b[P", with_ctrl),
                "f2" => ("\x1b[Q", with_ctrl),
                "f3" => ("\x1b[13~", "\x1b[13;5~"),
                "f4" => ("\x1b[S", with_ctrl),
                _ => (plain, with_ctrl),
            };
            assert_eq!(sent(name, &modes(flags, 0)), plain, "{name}");
            let name = format!("ctrl+{name}");
            assert_eq!(sent(&name, &modes(flags, 0)), with_ctrl, "{name}");
        }
    }
}

#[test]
fn reports_the_release_after_the_press() {
    check(
        &modes(1 | 2, 0),
        &[
            ("a", "a\x1b[97;1:3u"),
            ("A", "A\x1b[97;2:3u"),
            ("ctrl+c", "\x1b[99;5u\x1b[99;5:3u"),
            ("escape", "\x1b[27u\x1b[27;1:3u"),
            ("up", "\x1b[A\x1b[1;1:3A"),
            ("ctrl+up", "\x1b[1;5A\x1b[1;5:3A"),
            ("delete", "\x1b[3~\x1b[3;1:3~"),
            ("f1", "\x1b[P\x1b[1;1:3P"),
            ("f3", "\x1b[13~\x1b[13;1:3~"),
            ("enter", "\r"),
            ("tab", "\t"),
            ("backspace", "\x7f"),
            ("shift+enter", "\x1b[13;2u"),
        ],
    );
    check(&modes(1 | 2 | 8, 0), &[("enter", "\x1b[13u\x1b[13;1:3u"), ("shift+enter", "\x1b[13;2u\x1b[13;2:3u")]);
}

#[test]
fn events_alone_leave_commands_in_the_old_encoding() {
    check(
        &modes(2, 0),
        &[
            ("ctrl+c", "\x03\x1b[99;5:3u"),
            ("alt+a", "\x1ba\x1b[97;3:3u"),
            ("ctrl+alt+a", "\x1b\x01\x1b[97;7:3u"),
            ("ctrl+shift+a", "\x1b[97;6u\x1b[97;6:3u"),
            ("ctrl+é", "\x1b[233;5u\x1b[233;5:3u"),
            ("escape", "\x1b\x1b[27;1:3u"),
            ("up", "\x1b[A\x1b[1;1:3A"),
            ("enter", "\r"),
            ("shift+enter", "\x1b[13;2u"),
        ],
    );
}

#[test]
fn reports_all_keys_as_sequences() {
    check(
        &modes(8, 0),
        &[
            ("a", "\x1b[97u"),
            ("A", "\x1b[97;2u"),
            ("shift+a", "\x1b[97;2u"),
            ("?", "\x1b[47;2u"),
            ("É", "\x1b[233;2u"),
            ("日", "\x1b[26085u"),
            ("space", "\x1b[32u"),
            ("ctrl+c", "\x1b[99;5u"),
            ("enter", "\x1b[13u"),
            ("tab", "\x1b[9u"),
            ("backspace", "\x1b[127u"),
            ("escape", "\x1b[27u"),
        ],
    );
}

#[test]
fn adds_the_shifted_key_and_the_text() {
    check(
        &modes(1 | 4, 0),
        &[
            ("A", "A"),
            ("ctrl+a", "\x1b[97;5u"),
            ("ctrl+shift+a", "\x1b[97:65;6u"),
            ("ctrl+?", "\x1b[47:63;6u"),
            ("ctrl+shift+space", "\x1b[32;6u"),
            ("shift+enter", "\x1b[13;2u"),
        ],
    );
    check(
        &modes(8 | 16, 0),
        &[
            ("a", "\x1b[97;;97u"),
            ("A", "\x1b[97;2;65u"),
            ("space", "\x1b[32;;32u"),
            ("日", "\x1b[26085;;26085u"),
            ("ctrl+a", "\x1b[97;5u"),
            ("alt+a", "\x1b[97;3u"),
            ("enter", "\x1b[13u"),
            ("up", "\x1b[A"),
        ],
    );
    check(
        &modes(31, 0),
        &[
            ("a", "\x1b[97;;97u\x1b[97;1:3u"),
            ("A", "\x1b[97:65;2;65u\x1b[97:65;2:3u"),
            ("!", "\x1b[49:33;2;33u\x1b[49:33;2:3u"),
        ],
    );
}

#[test]
fn alternate_keys_and_text_alone_change_nothing() {
    for flags in [4, 16, 4 | 16] {
        for name in ["a", "A", "ctrl+shift+a", "escape", "up", "f1", "alt+a"] {
            assert_eq!(sent(name, &modes(flags, 0)), sent(name, &LEGACY), "{name}");
        }
        check(&modes(flags, 2), &[("shift+enter", "\x1b[27;2;13~")]);
    }
}
