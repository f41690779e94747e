//! What a control sequence of a terminal means: keys as xterm, kitty and a few old ones write them, and the mouse.

use wh_core::input::{Gesture, Key, Modifiers, Mouse, MouseAction, MouseButton, shifted};

use super::ground::Found;

/// The parameters, and within each its parts: `1:2;3` is `[[1, 2], [3]]`. A part left out is `None`.
struct Parameters<'a>(&'a str);

impl Parameters<'_> {
    fn part(&self, parameter: usize, part: usize) -> Option<u32> {
        self.0.split(';').nth(parameter)?.split(':').nth(part)?.parse().ok()
    }

    fn number(&self, parameter: usize) -> Option<u32> {
        self.part(parameter, 0)
    }

    fn count(&self) -> usize {
        self.0.split(';').count()
    }

    /// What is held, from the parameter that says so; `None` if the sequence is no press that means something here: the
    /// key came up, or a modifier is held that has no name.
    fn held(&self, parameter: usize) -> Option<Held> {
        const RELEASE: u32 = 3;
        let bits = self.number(parameter).unwrap_or(1).saturating_sub(1);
        let unknown = bits & (8 | 16) != 0;
        let released = self.part(parameter, 1) == Some(RELEASE);
        (!unknown && !released).then_some(Held {
            modifiers: Modifiers { shift: bits & 1 != 0, alt: bits & (2 | 32) != 0, ctrl: bits & 4 != 0 },
            caps_lock: bits & 64 != 0,
        })
    }
}

struct Held {
    modifiers: Modifiers,
    caps_lock: bool,
}

/// The meaning of `CSI parameters last`.
pub(super) fn sequence(parameters: &[u8], last: u8) -> Found {
    let text = std::str::from_utf8(parameters).unwrap_or_default();
    if let (Some(report), b'M' | b'm') = (text.strip_prefix('<'), last) {
        return mouse_report(&Parameters(report), last == b'm').unwrap_or(Found::Nothing);
    }
    // Other marks stand at the front of answers, and intermediates within them.
    if text.bytes().any(|byte| matches!(byte, b'<'..=b'?' | b' '..=b'/')) {
        return Found::Nothing;
    }
    let parameters = Parameters(text);
    let found = match last {
        b'u' => kitty(&parameters),
        b'~' if parameters.number(0) == Some(200) => return Found::PasteBegins,
        b'~' if parameters.number(0) == Some(27) && parameters.count() == 3 => other_key(&parameters),
        b'~' => tilde(&parameters),
        _ => letter(&parameters, last),
    };
    found.unwrap_or(Found::Nothing)
}

/// `CSI 1 ; modifiers letter`, or without numbers.
fn letter(parameters: &Parameters<'_>, last: u8) -> Option<Found> {
    let held = parameters.held(1)?.modifiers;
    let key = match last {
        b'Z' => return Some(Found::key(Key::Tab, Modifiers { shift: true, ..held })),
        // The cursor's position ends like F3 with modifiers; it can be taken for it only in the first row.
        b'R' if !is_key(parameters) => return None,
        b'A'..=b'D' | b'F' | b'H' | b'P'..=b'S' => after_ss3(last)?,
        _ => return None,
    };
    Some(Found::key(key, held))
}

fn is_key(parameters: &Parameters<'_>) -> bool {
    parameters.0.is_empty() || (parameters.number(0) == Some(1) && parameters.number(1).is_some_and(|held| held <= 8))
}

/// The key of `SS3 letter`: cursor keys, F1 to F4, and the keypad in application mode.
pub(super) fn after_ss3(letter: u8) -> Option<Key> {
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'F' => Key::End,
        b'H' => Key::Home,
        b'M' => Key::Enter,
        b'P'..=b'S' => Key::Function(letter - b'P' + 1),
        b'j'..=b'y' => Key::Char(char::from(letter - b'j' + b'*')),
        _ => return None,
    })
}

/// `CSI [ letter`: F1 to F5.
pub(super) fn console(letter: u8) -> Found {
    match letter {
        b'A'..=b'E' => Found::key(Key::Function(letter - b'A' + 1), Modifiers::NONE),
        _ => Found::Nothing,
    }
}

/// `CSI number ; modifiers ~`.
fn tilde(parameters: &Parameters<'_>) -> Option<Found> {
    let number = u8::try_from(parameters.number(0)?).ok()?;
    let key = match number {
        1 | 7 => Key::Home,
        2 => Key::Insert,
        3 => Key::Delete,
        4 | 8 => Key::End,
        5 => Key::PageUp,
        6 => Key::PageDown,
        11..=15 => Key::Function(number - 10),
        17..=21 => Key::Function(number - 11),
        23..=24 => Key::Function(number - 12),
        _ => return None,
    };
    Some(Found::key(key, parameters.held(1)?.modifiers))
}

/// `CSI 27 ; modifiers ; code ~`, xterm's modifyOtherKeys.
fn other_key(parameters: &Parameters<'_>) -> Option<Found> {
    let key = key_of_code(parameters.number(2)?)?;
    let Held { modifiers, .. } = parameters.held(1)?;
    // The code is of the character with shift applied, by whatever keyboard; it must not be applied once more.
    let applied = matches!(key, Key::Char(character) if shifted(character).is_some());
    Some(Found::key(key, Modifiers { shift: modifiers.shift && !applied, ..modifiers }))
}

/// `CSI code:shifted:base ; modifiers:event ; text u`.
fn kitty(parameters: &Parameters<'_>) -> Option<Found> {
    let Held { modifiers, caps_lock } = parameters.held(1)?;
    let command = modifiers.ctrl || modifiers.alt;
    let text: String = parameters.0.split(';').nth(2).map(characters).unwrap_or_default();
    if !command && !text.is_empty() {
        return Some(Found::Text(text));
    }
    let key = key_of_code(parameters.number(0)?)?;
    let Key::Char(character) = key else {
        return Some(Found::key(key, modifiers));
    };
    let alternate = |part| parameters.part(0, part).and_then(key_of_code).filter(|key| matches!(key, Key::Char(_)));
    // A command on a keyboard of another script is for the key at that place: ctrl+c is one on a Cyrillic one, too.
    if let Some(base) = alternate(2).filter(|_| command && !character.is_ascii()) {
        return Some(Found::key(base, modifiers));
    }
    if let Some(shifted) = alternate(1).filter(|_| modifiers.shift) {
        return Some(Found::key(shifted, Modifiers { shift: false, ..modifiers }));
    }
    let capital = caps_lock && character.is_alphabetic() && !command;
    Some(Found::key(key, Modifiers { shift: modifiers.shift != capital, ..modifiers }))
}

fn characters(codes: &str) -> String {
    let characters = codes.split(':').filter_map(|code| code.parse().ok()).filter_map(char::from_u32);
    characters.filter(|character| !character.is_control()).collect()
}

/// The key with this number: its character's, or one of those that kitty gave to keys without one.
fn key_of_code(code: u32) -> Option<Key> {
    Some(match code {
        9 => Key::Tab,
        13 | 57414 => Key::Enter,
        27 => Key::Escape,
        8 | 127 => Key::Backspace,
        57399..=57408 => Key::Char(char::from_digit(code - 57399, 10)?),
        57409 => Key::Char('.'),
        57410 => Key::Char('/'),
        57411 => Key::Char('*'),
        57412 => Key::Char('-'),
        57413 => Key::Char('+'),
        57415 => Key::Char('='),
        57416 => Key::Char(','),
        57417 => Key::Left,
        57418 => Key::Right,
        57419 => Key::Up,
        57420 => Key::Down,
        57421 => Key::PageUp,
        57422 => Key::PageDown,
        57423 => Key::Home,
        57424 => Key::End,
        57425 => Key::Insert,
        57426 => Key::Delete,
        // The other numbers of the private area are keys that type nothing: locks, media, modifiers themselves.
        0xe000..=0xf8ff => return None,
        _ => Key::Char(char::from_u32(code).filter(|character| !character.is_control())?),
    })
}

/// `CSI < code ; column ; row M`, or `m` when a button came up.
fn mouse_report(parameters: &Parameters<'_>, released: bool) -> Option<Found> {
    let cell = |parameter| u16::try_from(parameters.number(parameter)?.checked_sub(1)?).ok();
    mouse(parameters.number(0)?, cell(1)?, cell(2)?, released)
}

/// `CSI M code column row`, each 32 more than it is.
pub(super) fn old_mouse(code: u8, column: u8, row: u8) -> Found {
    let cell = |byte: u8| Some(u16::from(byte.checked_sub(33)?));
    let event = || {
        let code = u32::from(code.checked_sub(32)?);
        // It does not say which button came up.
        let released = code & (3 | 32 | 64) == 3;
        mouse(code, cell(column)?, cell(row)?, released)
    };
    event().unwrap_or(Found::Nothing)
}

fn mouse(code: u32, x: u16, y: u16, released: bool) -> Option<Found> {
    const MOTION: u32 = 32;
    const WHEEL: u32 = 64;
    const FURTHER_BUTTONS: u32 = 128;
    let which = code & 3;
    let (action, button) = match (code & (MOTION | WHEEL | FURTHER_BUTTONS), which) {
        (WHEEL, _) if released => return None,
        (WHEEL, 0) => (MouseAction::WheelUp, MouseButton::None),
        (WHEEL, 1) => (MouseAction::WheelDown, MouseButton::None),
        (WHEEL, 2) => (MouseAction::WheelLeft, MouseButton::None),
        (WHEEL, _) => (MouseAction::WheelRight, MouseButton::None),
        (MOTION, _) => (MouseAction::Move, button(which)),
        (0, _) if released => (MouseAction::Release, button(which)),
        (0, 0..=2) => (MouseAction::Press, button(which)),
        _ => return None,
    };
    let modifiers = Modifiers { shift: code & 4 != 0, alt: code & 8 != 0, ctrl: code & 16 != 0 };
    Some(Found::Gesture(Gesture::Mouse(Mouse { action, button, x, y, modifiers })))
}

fn button(which: u32) -> MouseButton {
    match which {
        0 => MouseButton::Left,
        1 => MouseButton::Middle,
        2 => MouseButton::Right,
        _ => MouseButton::None,
    }
}
