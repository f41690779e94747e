//! Splits terminal input into characters, controls and escape sequences.

use wh_core::input::{Gesture, KeyCode, KeyPress, Modifiers, unshifted};

use super::control;

const ESCAPE: u8 = 0x1b;

/// Maximum length of a control sequence. Terminals send only shorter sequences. If a sequence is longer, its end was
/// lost.
const MAX_SEQUENCE_BYTES: usize = 256;

/// Next token of the input, and its length in bytes.
#[derive(Debug)]
pub(super) struct InputToken {
    pub(super) taken: usize,
    pub(super) found: InputTokenKind,
}

#[derive(Debug)]
pub(super) enum InputTokenKind {
    /// Input that is not a gesture.
    Nothing,
    /// Characters typed by the user.
    Text(String),
    /// Any other gesture.
    Gesture(Gesture),
    /// Start of a paste.
    PasteBegins,
    /// Start of a string that the terminal sent as a reply.
    AnswerBegins,
    /// Start of a control sequence that exceeds the limit.
    Overlong,
}

impl InputTokenKind {
    pub(super) fn key(key: KeyCode, modifiers: Modifiers) -> Self {
        match (key, KeyPress { key, modifiers }.text()) {
            (_, Some(typed)) => Self::Text(typed.to_string()),
            _ => Self::Gesture(Gesture::Key(canonical(key, modifiers))),
        }
    }
}

/// Normalises a press. A letter is in lower case, with shift as a modifier; any other character is as typed, without
/// shift.
fn canonical(key: KeyCode, modifiers: Modifiers) -> KeyPress {
    let KeyCode::Char(character) = key else {
        return KeyPress::new(key, modifiers);
    };
    let alone = Modifiers { ctrl: false, alt: false, ..modifiers };
    let typed = KeyPress { key, modifiers: alone }.text().unwrap_or(character);
    let shift = match unshifted(typed) {
        Some(_) => typed.is_alphabetic(),
        None => modifiers.shift,
    };
    KeyPress::new(KeyCode::Char(typed), Modifiers { shift, ..modifiers })
}

const ALT: Modifiers = Modifiers { alt: true, ..Modifiers::NONE };

/// Returns the next token of `input`, which must not be empty; `None` if the token is incomplete.
pub(super) fn step(input: &[u8]) -> Option<InputToken> {
    match input[0] {
        ESCAPE => escape(input),
        byte if byte < 0x20 || byte == 0x7f => {
            let (key, modifiers) = code(byte, Modifiers::NONE);
            Some(InputToken { taken: 1, found: InputTokenKind::key(key, modifiers) })
        }
        _ => match character(input)? {
            (taken, Some(typed)) => Some(InputToken { taken, found: InputTokenKind::Text(typed.to_string()) }),
            (taken, None) => Some(InputToken { taken, found: InputTokenKind::Nothing }),
        },
    }
}

/// Decodes incomplete input that may be complete because nothing followed: ESC, or alt with a key that also begins a
/// longer sequence.
pub(super) fn after_timeout(waiting: &[u8]) -> Option<InputToken> {
    let alone = |taken, key, modifiers| Some(InputToken { taken, found: InputTokenKind::key(key, modifiers) });
    match *waiting {
        [ESCAPE] | [ESCAPE, ESCAPE, b'['] => alone(1, KeyCode::Escape, Modifiers::NONE),
        [ESCAPE, ESCAPE] => alone(2, KeyCode::Escape, ALT),
        [ESCAPE, byte] if byte.is_ascii() => alone(2, KeyCode::Char(byte.into()), ALT),
        _ => None,
    }
}

fn escape(input: &[u8]) -> Option<InputToken> {
    let follows = *input.get(1)?;
    let third = input.get(2).copied();
    match follows {
        // Another sequence follows at once, so these two bytes are alt and `[`.
        b'[' if third == Some(ESCAPE) => {
            Some(InputToken { taken: 2, found: InputTokenKind::key(KeyCode::Char('['), ALT) })
        }
        b'[' => sequence(input),
        b'O' => Some(match control::after_ss3(third?) {
            Some(key) => InputToken { taken: 3, found: InputTokenKind::key(key, Modifiers::NONE) },
            None => InputToken { taken: 2, found: InputTokenKind::key(KeyCode::Char('O'), ALT) },
        }),
        // A reply of the terminal begins with the same two bytes as a key with alt. In a reply, one of these characters
        // follows.
        b']' if third?.is_ascii_digit() => Some(InputToken { taken: 2, found: InputTokenKind::AnswerBegins }),
        b'P' if third?.is_ascii_digit() || b">!$+".contains(&third?) => {
            Some(InputToken { taken: 2, found: InputTokenKind::AnswerBegins })
        }
        b'_' if third? == b'G' => Some(InputToken { taken: 2, found: InputTokenKind::AnswerBegins }),
        // Only alt+shift+tab is encoded as ESC before a sequence. Before any other sequence, ESC is the escape key.
        ESCAPE => Some(match third? {
            b'[' if *input.get(3)? == b'Z' => {
                InputToken { taken: 4, found: InputTokenKind::key(KeyCode::Tab, Modifiers { shift: true, ..ALT }) }
            }
            b'[' | b'O' => InputToken { taken: 1, found: InputTokenKind::key(KeyCode::Escape, Modifiers::NONE) },
            _ => InputToken { taken: 2, found: InputTokenKind::key(KeyCode::Escape, ALT) },
        }),
        byte if byte < 0x20 || byte == 0x7f => {
            let (key, modifiers) = code(byte, ALT);
            Some(InputToken { taken: 2, found: InputTokenKind::key(key, modifiers) })
        }
        _ => Some(match character(&input[1..])? {
            (taken, Some(typed)) => {
                InputToken { taken: 1 + taken, found: InputTokenKind::key(KeyCode::Char(typed), ALT) }
            }
            (taken, None) => {
                InputToken { taken: 1 + taken, found: InputTokenKind::key(KeyCode::Escape, Modifiers::NONE) }
            }
        }),
    }
}

/// Returns the key and the modifiers of a control character that was typed with the modifiers `held`.
fn code(byte: u8, held: Modifiers) -> (KeyCode, Modifiers) {
    let ctrl = Modifiers { ctrl: true, ..held };
    match byte {
        b'\r' => (KeyCode::Enter, held),
        // The `keys` module sends this byte for shift+enter if no keyboard protocol is enabled.
        b'\n' if !held.alt => (KeyCode::Enter, Modifiers { shift: true, ..held }),
        b'\t' => (KeyCode::Tab, held),
        0x7f => (KeyCode::Backspace, held),
        0x08 => (KeyCode::Backspace, ctrl),
        0x00 => (KeyCode::Char(' '), ctrl),
        0x01..=0x1a => (KeyCode::Char(char::from(byte - 1 + b'a')), ctrl),
        _ => (KeyCode::Char(char::from(byte + b'@')), ctrl),
    }
}

/// Returns the length of the first character, and the character unless it is invalid or a control.
fn character(input: &[u8]) -> Option<(usize, Option<char>)> {
    let front = &input[..input.len().min(4)];
    let valid = match std::str::from_utf8(front) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() == 0 => return error.error_len().map(|length| (length, None)),
        Err(error) => std::str::from_utf8(&front[..error.valid_up_to()]).unwrap_or_default(),
    };
    let typed = valid.chars().next()?;
    Some((typed.len_utf8(), Some(typed).filter(|typed| !typed.is_control())))
}

/// Decodes a control sequence: `ESC [`, parameters, intermediates and a final byte. A control character aborts the
/// sequence.
fn sequence(input: &[u8]) -> Option<InputToken> {
    match input[2..] {
        // F1 to F5 of the Linux console, and the old mouse encoding with coordinates up to 223.
        [b'[', letter, ..] => return Some(InputToken { taken: 4, found: control::console(letter) }),
        [b'[', ..] => return None,
        [b'M', button, column, row, ..] => {
            return Some(InputToken { taken: 6, found: control::old_mouse(button, column, row) });
        }
        [b'M', ..] => return None,
        _ => {}
    }
    let body = &input[2..];
    let Some(length) = body.iter().position(|byte| !matches!(byte, 0x20..=0x3f)) else {
        return (body.len() > MAX_SEQUENCE_BYTES)
            .then_some(InputToken { taken: input.len(), found: InputTokenKind::Overlong });
    };
    let found = match body[length] {
        0x40..=0x7e if length > MAX_SEQUENCE_BYTES => InputTokenKind::Nothing,
        last @ 0x40..=0x7e => control::sequence(&body[..length], last),
        _ => return Some(InputToken { taken: 2 + length, found: InputTokenKind::Nothing }),
    };
    Some(InputToken { taken: 2 + length + 1, found })
}

/// Returns the number of bytes of `input` that belong to a skipped control sequence, and whether the sequence has
/// ended.
pub(super) fn rest_of_sequence(input: &[u8]) -> (usize, bool) {
    match input.iter().position(|byte| !matches!(byte, 0x20..=0x3f)) {
        Some(end) => (end + usize::from(matches!(input[end], 0x40..=0x7e)), true),
        None => (input.len(), false),
    }
}

/// Returns the number of bytes of `input` that belong to a string from the terminal, and whether the string has ended.
/// It ends with BEL or `ESC \`, or when a control character shows that the user is typing. `None` if the next byte is
/// needed to decide.
pub(super) fn rest_of_answer(input: &[u8]) -> Option<(usize, bool)> {
    let Some(end) = input.iter().position(|byte| *byte < 0x20) else {
        return Some((input.len(), false));
    };
    match (input[end], input.get(end + 1)) {
        (0x07, _) => Some((end + 1, true)),
        (ESCAPE, Some(b'\\')) => Some((end + 2, true)),
        (ESCAPE, None) if end == 0 => None,
        (ESCAPE, None) => Some((end, false)),
        _ => Some((end, true)),
    }
}
