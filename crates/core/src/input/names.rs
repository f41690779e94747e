//! Key names: parsing, display and suggestions for unknown names.

use std::fmt;
use std::str::FromStr;

use super::{KeyCode, KeyPress, Modifiers, closest};

/// Key names, with the canonical name of each key first. Function keys and single characters are not in the list.
const KEYS: [(&str, KeyCode); 28] = [
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("escape", KeyCode::Escape),
    ("esc", KeyCode::Escape),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("del", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("ins", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("page_up", KeyCode::PageUp),
    ("page-up", KeyCode::PageUp),
    ("pgup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("page_down", KeyCode::PageDown),
    ("page-down", KeyCode::PageDown),
    ("pgdown", KeyCode::PageDown),
    ("pgdn", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
    ("plus", KeyCode::Char('+')),
    ("minus", KeyCode::Char('-')),
];

/// Bytes that clients send by mistake in place of a key name, with the name that was probably meant.
const BYTES_FOR_NAMES: [(&str, &str); 6] = [
    ("\r", "enter"),
    ("\n", "enter"),
    ("\t", "tab"),
    ("\u{1b}", "escape"),
    ("\u{7f}", "backspace"),
    ("\u{8}", "backspace"),
];

const FUNCTION_KEYS: std::ops::RangeInclusive<u8> = 1..=12;

#[derive(Clone, Copy)]
enum Modifier {
    Ctrl,
    Alt,
    Shift,
}

const MODIFIERS: [(&str, Modifier); 6] = [
    ("ctrl", Modifier::Ctrl),
    ("control", Modifier::Ctrl),
    ("alt", Modifier::Alt),
    ("option", Modifier::Alt),
    ("meta", Modifier::Alt),
    ("shift", Modifier::Shift),
];

/// Error for a name that is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct UnknownKey {
    /// Name that the client gave. A long name is truncated with `…`, because logs and error messages repeat the name.
    pub name: String,
    /// Valid name that was probably meant, including the modifiers.
    pub closest: Option<String>,
}

impl UnknownKey {
    /// Maximum number of characters of the given name in an error. The longest valid name, `ctrl+alt+shift+backspace`,
    /// is shorter.
    const MAX_ECHOED_CHARS: usize = 40;

    fn new(name: &str) -> Self {
        let echoed: String = name.chars().take(Self::MAX_ECHOED_CHARS).collect();
        if echoed == name {
            return Self { closest: suggestion(name), name: echoed };
        }
        Self { name: echoed + "…", closest: None }
    }
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "unknown key {:?}; ", self.name)?;
        match &self.closest {
            Some(closest) => write!(formatter, "did you mean {closest:?}?"),
            None => formatter
                .write_str("give a name like \"enter\", \"ctrl+c\", \"shift+tab\" or \"f5\", or a single character"),
        }
    }
}

impl FromStr for KeyPress {
    type Err = UnknownKey;

    fn from_str(name: &str) -> Result<Self, UnknownKey> {
        read(name).ok_or_else(|| UnknownKey::new(name))
    }
}

impl fmt::Display for KeyPress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, modifiers } = Self::new(self.key, self.modifiers);
        for (held, name) in [(modifiers.ctrl, "ctrl+"), (modifiers.alt, "alt+"), (modifiers.shift, "shift+")] {
            if held {
                formatter.write_str(name)?;
            }
        }
        key.fmt(formatter)
    }
}

impl fmt::Display for KeyCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = KEYS.iter().find(|(_, key)| key == self) {
            return formatter.write_str(name);
        }
        match self {
            Self::Function(number) => write!(formatter, "f{number}"),
            Self::Char(character) => write!(formatter, "{character}"),
            // All other keys are in the table.
            _ => fmt::Debug::fmt(self, formatter),
        }
    }
}

fn read(name: &str) -> Option<KeyPress> {
    let (held, key) = split(name);
    let mut modifiers = Modifiers::NONE;
    for name in held.into_iter().flat_map(|names| names.split('+')) {
        match modifier(name)? {
            Modifier::Ctrl => modifiers.ctrl = true,
            Modifier::Alt => modifiers.alt = true,
            Modifier::Shift => modifiers.shift = true,
        }
    }
    Some(KeyPress::new(key_named(key)?, modifiers))
}

/// Splits a name into its modifiers, if any, and its key. A `+` separates names, unless the `+` itself is the key.
fn split(name: &str) -> (Option<&str>, &str) {
    if name == "+" {
        return (None, name);
    }
    match name.strip_suffix("++") {
        Some(modifiers) if !modifiers.is_empty() => (Some(modifiers), "+"),
        _ => match name.rsplit_once('+') {
            Some((modifiers, key)) => (Some(modifiers), key),
            None => (None, name),
        },
    }
}

fn modifier(name: &str) -> Option<Modifier> {
    let entry = MODIFIERS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    entry.map(|(_, modifier)| *modifier)
}

fn key_named(name: &str) -> Option<KeyCode> {
    let mut characters = name.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        return (!character.is_control()).then_some(KeyCode::Char(character));
    }
    let entry = KEYS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    entry.map(|(_, key)| *key).or_else(|| function_key(name))
}

fn function_key(name: &str) -> Option<KeyCode> {
    let number = name.strip_prefix(['f', 'F'])?;
    // The standard parser would also accept `+5` and `05`.
    if number.starts_with(['+', '0']) {
        return None;
    }
    let number = number.parse().ok()?;
    FUNCTION_KEYS.contains(&number).then_some(KeyCode::Function(number))
}

/// Suggests the valid name that was probably meant. Recognises blanks, other separators than `+`, typing mistakes, and
/// a control byte in place of a name.
fn suggestion(name: &str) -> Option<String> {
    if let Some((_, meant)) = BYTES_FOR_NAMES.iter().find(|(byte, _)| *byte == name) {
        return Some((*meant).to_owned());
    }
    let unspaced: String = name.split_whitespace().collect();
    let rejoined = unspaced.replace(['-', '_'], "+");
    if let Some(press) = read(&unspaced).or_else(|| read(&rejoined)) {
        return Some(press.to_string());
    }

    let (held, key) = split(&unspaced);
    let mut meant = String::new();
    for name in held.into_iter().flat_map(|names| names.split('+')) {
        meant.push_str(closest(name, MODIFIERS.iter().map(|(known, _)| *known))?);
        meant.push('+');
    }
    match key_named(key) {
        Some(key) => meant.push_str(&key.to_string()),
        None => meant.push_str(closest(key, KEYS.iter().map(|(known, _)| *known))?),
    }
    Some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn modifiers(ctrl: bool, alt: bool, shift: bool) -> Modifiers {
        Modifiers { ctrl, alt, shift }
    }

    fn plain(key: KeyCode) -> KeyPress {
        KeyPress::from(key)
    }

    fn unknown(name: &str) -> UnknownKey {
        name.parse::<KeyPress>().expect_err("the name is not a key's")
    }

    #[test]
    fn the_names_of_the_spec_are_known() {
        for (name, key) in [
            ("enter", KeyCode::Enter),
            ("escape", KeyCode::Escape),
            ("tab", KeyCode::Tab),
            ("up", KeyCode::Up),
            ("down", KeyCode::Down),
            ("left", KeyCode::Left),
            ("right", KeyCode::Right),
            ("backspace", KeyCode::Backspace),
            ("delete", KeyCode::Delete),
            ("home", KeyCode::Home),
            ("end", KeyCode::End),
            ("pageup", KeyCode::PageUp),
            ("pagedown", KeyCode::PageDown),
        ] {
            assert_eq!(name.parse(), Ok(plain(key)), "{name}");
        }
        assert_eq!("ctrl+c".parse(), Ok(KeyPress::new(KeyCode::Char('c'), modifiers(true, false, false))));
        assert_eq!("shift+enter".parse(), Ok(KeyPress::new(KeyCode::Enter, modifiers(false, false, true))));
    }

    #[test]
    fn other_names_and_cases_mean_the_same() {
        for (name, canonical) in [
            ("ESC", "escape"),
            ("Return", "enter"),
            ("del", "delete"),
            ("ins", "insert"),
            ("page_up", "pageup"),
            ("page-up", "pageup"),
            ("PgUp", "pageup"),
            ("page_down", "pagedown"),
            ("page-down", "pagedown"),
            ("pgdn", "pagedown"),
            ("pgdown", "pagedown"),
            (" ", "space"),
            ("SPACE", "space"),
            ("+", "plus"),
            ("-", "minus"),
            ("F12", "f12"),
            ("Control+X", "ctrl+x"),
            ("option+left", "alt+left"),
            ("META+b", "alt+b"),
            ("shift+ctrl+x", "ctrl+shift+x"),
            ("shift+alt+ctrl+f5", "ctrl+alt+shift+f5"),
            ("ctrl+ctrl+c", "ctrl+c"),
            ("ctrl++", "ctrl+plus"),
            ("ctrl+shift++", "ctrl+shift+plus"),
            ("ctrl+plus", "ctrl+plus"),
            ("ctrl+-", "ctrl+minus"),
            ("ctrl+ ", "ctrl+space"),
            ("ctrl+É", "ctrl+é"),
            ("alt+\"", "alt+\""),
        ] {
            let press: KeyPress = name.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(press.to_string(), canonical, "{name}");
        }
    }

    #[test]
    fn a_character_names_itself_as_typed() {
        for character in ['a', 'A', 'z', '0', '?', '"', 'é', 'É', 'ß', '日', '🙂'] {
            assert_eq!(character.to_string().parse(), Ok(plain(KeyCode::Char(character))));
        }
    }

    #[test]
    fn case_counts_only_for_a_letter_alone() {
        let read = |name: &str| name.parse::<KeyPress>().expect("known");
        assert_ne!(read("A"), read("a"));
        assert_eq!(read("Ctrl+A"), read("ctrl+a"));
        assert_eq!(read("alt+A"), read("alt+a"));
        assert_eq!(read("shift+A"), read("shift+a"));
        assert_ne!(read("ctrl+shift+a"), read("ctrl+a"));
    }

    #[test]
    fn names_that_are_no_keys_are_refused() {
        for name in [
            "",
            "ctrl",
            "ctrl+",
            "+a",
            "++",
            "+++",
            "ctrl+++",
            "a+b",
            "f0",
            "f13",
            "f01",
            "f+5",
            "f256",
            "ab",
            "super+c",
            "\u{0}",
            "ctrl+\u{1b}",
            "e\u{301}",
            "enter+ctrl",
            "ctrl++a",
        ] {
            assert!(name.parse::<KeyPress>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_slip_is_answered_with_the_name_that_was_meant() {
        for (slip, meant) in [
            ("entr", "enter"),
            ("Retrun", "return"),
            ("bakcspace", "backspace"),
            ("ctlr+c", "ctrl+c"),
            ("ctrl+entr", "ctrl+enter"),
            ("contrl+shfit+delte", "control+shift+delete"),
            ("ctrl + c", "ctrl+c"),
            (" enter\n", "enter"),
            ("ctrl-c", "ctrl+c"),
            ("Ctrl_Shift_X", "ctrl+shift+x"),
            ("\r", "enter"),
            ("\n", "enter"),
            ("\t", "tab"),
            ("\u{1b}", "escape"),
            ("\u{7f}", "backspace"),
        ] {
            assert_eq!(unknown(slip).closest.as_deref(), Some(meant), "{slip:?}");
        }
    }

    #[test]
    fn nothing_is_suggested_where_nothing_is_near() {
        let long = "ctrl+".repeat(50) + "entr";
        for name in ["", "hello", "ctrl", "ctrl+", "f13", "super+c", &long] {
            assert_eq!(unknown(name).closest, None, "{name:?}");
        }
    }

    #[test]
    fn the_error_says_what_to_do() {
        assert_eq!(unknown("entr").to_string(), r#"unknown key "entr"; did you mean "enter"?"#);
        assert_eq!(
            unknown("warp\u{7}").to_string(),
            r#"unknown key "warp\u{7}"; give a name like "enter", "ctrl+c", "shift+tab" or "f5", or a single character"#
        );
    }

    #[test]
    fn a_long_name_is_not_echoed_whole() {
        let error = unknown(&"日".repeat(100_000));
        assert_eq!(error.name, format!("{}…", "日".repeat(40)));
        assert!(error.to_string().len() < 300);
        assert_eq!(unknown(&"x".repeat(40)).name, "x".repeat(40));
    }

    fn any_key() -> impl Strategy<Value = KeyCode> {
        prop_oneof![
            proptest::sample::select(KEYS.to_vec()).prop_map(|(_, key)| key),
            FUNCTION_KEYS.prop_map(KeyCode::Function),
            any::<char>().prop_filter("printable", |character| !character.is_control()).prop_map(KeyCode::Char),
            "[ -~]".prop_map(|one| KeyCode::Char(one.chars().next().expect("one character"))),
        ]
    }

    proptest! {
        #[test]
        fn every_press_has_a_name_that_reads_back(
            key in any_key(), ctrl: bool, alt: bool, shift: bool,
        ) {
            let press = KeyPress::new(key, modifiers(ctrl, alt, shift));
            prop_assert_eq!(press.to_string().parse(), Ok(press));
            prop_assert_eq!(KeyPress { key, ..press }.to_string(), press.to_string());
        }

        #[test]
        fn reading_never_panics_and_its_error_stays_short(name in any::<String>()) {
            if let Err(error) = name.parse::<KeyPress>() {
                prop_assert!(error.to_string().chars().count() < 600);
            }
        }

        #[test]
        fn every_suggestion_is_a_key(
            name in "(ctrl|CTRL|alt|shfit|meta| |)[+-]{0,2}([a-z]{0,9}|page.?up|[+]|f[0-9]{1,2})",
        ) {
            if let Err(UnknownKey { closest: Some(closest), .. }) = name.parse::<KeyPress>() {
                prop_assert!(closest.parse::<KeyPress>().is_ok(), "{}", closest);
            }
        }
    }
}
