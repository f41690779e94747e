//! Where one thing ends and the next begins in a terminal's input: characters, controls, and ESC with what follows it.

use wh_core::input::{Gesture, Key, KeyPress, Modifiers, unshifted};

use super::control;

const ESCAPE: u8 = 0x1b;

/// No control sequence that a terminal sends is as long; one that is has lost its end.
const LONGEST_SEQUENCE: usize = 256;

/// The next thing, and how many bytes it took.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) taken: usize,
    pub(super) found: Found,
}

#[derive(Debug)]
pub(super) enum Found {
    /// Nothing that anybody did.
    Nothing,
    /// Characters typed.
    Text(String),
    /// Anything else that was done.
    Gesture(Gesture),
    /// A paste follows, up to its end marker.
    PasteBegins,
    /// A string of the terminal follows.
    AnswerBegins,
    /// A control sequence without an end in sight.
    Overlong,
}

impl Found {
    pub(super) fn key(key: Key, modifiers: Modifiers) -> Self {
        match (key, KeyPress { key, modifiers }.text()) {
            (_, Some(typed)) => Self::Text(typed.to_string()),
            _ => Self::Gesture(Gesture::Key(canonical(key, modifiers))),
        }
    }
}

/// One form for each press: a letter is its key, with shift beside it; of other characters shift is a part.
fn canonical(key: Key, modifiers: Modifiers) -> KeyPress {
    let Key::Char(character) = key else {
        return KeyPress::new(key, modifiers);
    };
    let alone = Modifiers { ctrl: false, alt: false, ..modifiers };
    let typed = KeyPress { key, modifiers: alone }.text().unwrap_or(character);
    let shift = match unshifted(typed) {
        Some(_) => typed.is_alphabetic(),
        None => modifiers.shift,
    };
    KeyPress::new(Key::Char(typed), Modifiers { shift, ..modifiers })
}

const ALT: Modifiers = Modifiers { alt: true, ..Modifiers::NONE };

/// The next thing in `input`, which is not empty; `None` if more must come before it is known.
pub(super) fn step(input: &[u8]) -> Option<Step> {
    match input[0] {
        ESCAPE => escape(input),
        byte if byte < 0x20 || byte == 0x7f => {
            let (key, modifiers) = code(byte, Modifiers::NONE);
            Some(Step { taken: 1, found: Found::key(key, modifiers) })
        }
        _ => match character(input)? {
            (taken, Some(typed)) => Some(Step { taken, found: Found::Text(typed.to_string()) }),
            (taken, None) => Some(Step { taken, found: Found::Nothing }),
        },
    }
}

/// What waits, if it may be whole because nothing followed: ESC, or alt with a key that also begins something longer.
pub(super) fn unfollowed(waiting: &[u8]) -> Option<Step> {
    let alone = |taken, key, modifiers| Some(Step { taken, found: Found::key(key, modifiers) });
    match *waiting {
        [ESCAPE] | [ESCAPE, ESCAPE, b'['] => alone(1, Key::Escape, Modifiers::NONE),
        [ESCAPE, ESCAPE] => alone(2, Key::Escape, ALT),
        [ESCAPE, byte] if byte.is_ascii() => alone(2, Key::Char(byte.into()), ALT),
        _ => None,
    }
}

fn escape(input: &[u8]) -> Option<Step> {
    let follows = *input.get(1)?;
    let third = input.get(2).copied();
    match follows {
        // A sequence that another cuts off at once was none.
        b'[' if third == Some(ESCAPE) => Some(Step { taken: 2, found: Found::key(Key::Char('['), ALT) }),
        b'[' => sequence(input),
        b'O' => Some(match control::after_ss3(third?) {
            Some(key) => Step { taken: 3, found: Found::key(key, Modifiers::NONE) },
            None => Step { taken: 2, found: Found::key(Key::Char('O'), ALT) },
        }),
        // Strings begin like alt with a key, too. Those that terminals send go on like this.
        b']' if third?.is_ascii_digit() => Some(Step { taken: 2, found: Found::AnswerBegins }),
        b'P' if third?.is_ascii_digit() || b">!$+".contains(&third?) => {
            Some(Step { taken: 2, found: Found::AnswerBegins })
        }
        b'_' if third? == b'G' => Some(Step { taken: 2, found: Found::AnswerBegins }),
        // Alt and shift+tab is the one sequence that has an ESC before it; before any other, it is the key.
        ESCAPE => Some(match third? {
            b'[' if *input.get(3)? == b'Z' => {
                Step { taken: 4, found: Found::key(Key::Tab, Modifiers { shift: true, ..ALT }) }
            }
            b'[' | b'O' => Step { taken: 1, found: Found::key(Key::Escape, Modifiers::NONE) },
            _ => Step { taken: 2, found: Found::key(Key::Escape, ALT) },
        }),
        byte if byte < 0x20 || byte == 0x7f => {
            let (key, modifiers) = code(byte, ALT);
            Some(Step { taken: 2, found: Found::key(key, modifiers) })
        }
        _ => Some(match character(&input[1..])? {
            (taken, Some(typed)) => Step { taken: 1 + taken, found: Found::key(Key::Char(typed), ALT) },
            (taken, None) => Step { taken: 1 + taken, found: Found::key(Key::Escape, Modifiers::NONE) },
        }),
    }
}

/// The key of a control character, `held` being what is held beside.
fn code(byte: u8, held: Modifiers) -> (Key, Modifiers) {
    let ctrl = Modifiers { ctrl: true, ..held };
    match byte {
        b'\r' => (Key::Enter, held),
        // What our own side writes for it where no keyboard protocol is on.
        b'\n' if !held.alt => (Key::Enter, Modifiers { shift: true, ..held }),
        b'\t' => (Key::Tab, held),
        0x7f => (Key::Backspace, held),
        0x08 => (Key::Backspace, ctrl),
        0x00 => (Key::Char(' '), ctrl),
        0x01..=0x1a => (Key::Char(char::from(byte - 1 + b'a')), ctrl),
        _ => (Key::Char(char::from(byte + b'@')), ctrl),
    }
}

/// The character at the front and its length, without a character if it is none that can be typed.
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

/// `ESC [`, parameters, intermediates, and a last byte. A control in the midst breaks it off.
fn sequence(input: &[u8]) -> Option<Step> {
    match input[2..] {
        // The Linux console's first five function keys, and the mouse as it was before it could count past 223.
        [b'[', letter, ..] => return Some(Step { taken: 4, found: control::console(letter) }),
        [b'[', ..] => return None,
        [b'M', button, column, row, ..] => {
            return Some(Step { taken: 6, found: control::old_mouse(button, column, row) });
        }
        [b'M', ..] => return None,
        _ => {}
    }
    let body = &input[2..];
    let Some(length) = body.iter().position(|byte| !matches!(byte, 0x20..=0x3f)) else {
        return (body.len() > LONGEST_SEQUENCE).then_some(Step { taken: input.len(), found: Found::Overlong });
    };
    let found = match body[length] {
        0x40..=0x7e if length > LONGEST_SEQUENCE => Found::Nothing,
        last @ 0x40..=0x7e => control::sequence(&body[..length], last),
        _ => return Some(Step { taken: 2 + length, found: Found::Nothing }),
    };
    Some(Step { taken: 2 + length + 1, found })
}

/// How much of `input` belongs to a control sequence already given up, and whether it ended.
pub(super) fn rest_of_sequence(input: &[u8]) -> (usize, bool) {
    match input.iter().position(|byte| !matches!(byte, 0x20..=0x3f)) {
        Some(end) => (end + usize::from(matches!(input[end], 0x40..=0x7e)), true),
        None => (input.len(), false),
    }
}

/// How much of `input` belongs to a string of the terminal, and whether it ended: with BEL, with `ESC \`, or because a
/// control shows that somebody is typing. `None` if the next byte decides.
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
