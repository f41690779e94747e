//! Decodes control sequences of a terminal: keys as xterm, kitty and older terminals send them, and mouse events.

use wh_core::input::{Gesture, KeyCode, Modifiers, Mouse, MouseAction, MouseButton, shifted};

use super::ground::InputTokenKind;

/// Parameters of a sequence and their subparameters: `1:2;3` is `[[1, 2], [3]]`. An omitted number is `None`.
struct CsiParameters<'a>(&'a str);

impl CsiParameters<'_> {
    fn part(&self, parameter: usize, part: usize) -> Option<u32> {
        self.0.split(';').nth(parameter)?.split(':').nth(part)?.parse().ok()
    }

    fn number(&self, parameter: usize) -> Option<u32> {
        self.part(parameter, 0)
    }

    fn count(&self) -> usize {
        self.0.split(';').count()
    }

    /// Returns the modifiers in the given parameter. `None` for a release, and for a press with an unsupported
    /// modifier; neither is reported.
    fn held(&self, parameter: usize) -> Option<HeldModifiers> {
        const RELEASE: u32 = 3;
        let bits = self.number(parameter).unwrap_or(1).saturating_sub(1);
        let unknown = bits & (8 | 16) != 0;
        let released = self.part(parameter, 1) == Some(RELEASE);
        (!unknown && !released).then_some(HeldModifiers {
            modifiers: Modifiers { shift: bits & 1 != 0, alt: bits & (2 | 32) != 0, ctrl: bits & 4 != 0 },
            caps_lock: bits & 64 != 0,
        })
    }
}

struct HeldModifiers {
    modifiers: Modifiers,
    caps_lock: bool,
}

/// Decodes `CSI parameters last`.
pub(super) fn sequence(parameters: &[u8], last: u8) -> InputTokenKind {
    let text = std::str::from_utf8(parameters).unwrap_or_default();
    if let (Some(report), b'M' | b'm') = (text.strip_prefix('<'), last) {
        return mouse_report(&CsiParameters(report), last == b'm').unwrap_or(InputTokenKind::Nothing);
    }
    // Other private markers and intermediates occur only in terminal replies.
    if text.bytes().any(|byte| matches!(byte, b'<'..=b'?' | b' '..=b'/')) {
        return InputTokenKind::Nothing;
    }
    let parameters = CsiParameters(text);
    let found = match last {
        b'u' => kitty(&parameters),
        b'~' if parameters.number(0) == Some(200) => return InputTokenKind::PasteBegins,
        b'~' if parameters.number(0) == Some(27) && parameters.count() == 3 => other_key(&parameters),
        b'~' => tilde(&parameters),
        _ => letter(&parameters, last),
    };
    found.unwrap_or(InputTokenKind::Nothing)
}

/// Decodes `CSI letter` and `CSI 1 ; modifiers letter`.
fn letter(parameters: &CsiParameters<'_>, last: u8) -> Option<InputTokenKind> {
    let held = parameters.held(1)?.modifiers;
    let key = match last {
        b'Z' => return Some(InputTokenKind::key(KeyCode::Tab, Modifiers { shift: true, ..held })),
        // Both F3 with modifiers and a cursor position report end with `R`. Only a report of the first row can look
        // like a key.
        b'R' if !is_key(parameters) => return None,
        b'A'..=b'D' | b'F' | b'H' | b'P'..=b'S' => after_ss3(last)?,
        _ => return None,
    };
    Some(InputTokenKind::key(key, held))
}

fn is_key(parameters: &CsiParameters<'_>) -> bool {
    parameters.0.is_empty() || (parameters.number(0) == Some(1) && parameters.number(1).is_some_and(|held| held <= 8))
}

/// Returns the key of `SS3 letter`: cursor keys, F1 to F4, and the keypad in application mode.
pub(super) fn after_ss3(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'M' => KeyCode::Enter,
        b'P'..=b'S' => KeyCode::Function(letter - b'P' + 1),
        b'j'..=b'y' => KeyCode::Char(char::from(letter - b'j' + b'*')),
        _ => return None,
    })
}

/// Decodes `CSI [ letter`: F1 to F5 of the Linux console.
pub(super) fn console(letter: u8) -> InputTokenKind {
    match letter {
        b'A'..=b'E' => InputTokenKind::key(KeyCode::Function(letter - b'A' + 1), Modifiers::NONE),
        _ => InputTokenKind::Nothing,
    }
}

/// Decodes `CSI number ; modifiers ~`.
fn tilde(parameters: &CsiParameters<'_>) -> Option<InputTokenKind> {
    let number = u8::try_from(parameters.number(0)?).ok()?;
    let key = match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::Function(number - 10),
        17..=21 => KeyCode::Function(number - 11),
        23..=24 => KeyCode::Function(number - 12),
        _ => return None,
    };
    Some(InputTokenKind::key(key, parameters.held(1)?.modifiers))
}

/// Decodes `CSI 27 ; modifiers ; code ~`, xterm's modifyOtherKeys.
fn other_key(parameters: &CsiParameters<'_>) -> Option<InputTokenKind> {
    let key = key_of_code(parameters.number(2)?)?;
    let HeldModifiers { modifiers, .. } = parameters.held(1)?;
    // The code is that of the shifted character on any keyboard layout, so shift must not be applied again.
    let applied = matches!(key, KeyCode::Char(character) if shifted(character).is_some());
    Some(InputTokenKind::key(key, Modifiers { shift: modifiers.shift && !applied, ..modifiers }))
}

/// Decodes `CSI code:shifted:base ; modifiers:event ; text u` of the kitty protocol.
fn kitty(parameters: &CsiParameters<'_>) -> Option<InputTokenKind> {
    let HeldModifiers { modifiers, caps_lock } = parameters.held(1)?;
    let command = modifiers.ctrl || modifiers.alt;
    let text: String = parameters.0.split(';').nth(2).map(characters).unwrap_or_default();
    if !command && !text.is_empty() {
        return Some(InputTokenKind::Text(text));
    }
    let key = key_of_code(parameters.number(0)?)?;
    let KeyCode::Char(character) = key else {
        return Some(InputTokenKind::key(key, modifiers));
    };
    let alternate = |part| parameters.part(0, part).and_then(key_of_code).filter(|key| matches!(key, KeyCode::Char(_)));
    // With ctrl or alt on a non-Latin layout, the key at the same position of the standard layout counts: ctrl+c works
    // on a Cyrillic layout too.
    if let Some(base) = alternate(2).filter(|_| command && !character.is_ascii()) {
        return Some(InputTokenKind::key(base, modifiers));
    }
    if let Some(shifted) = alternate(1).filter(|_| modifiers.shift) {
        return Some(InputTokenKind::key(shifted, Modifiers { shift: false, ..modifiers }));
    }
    let capital = caps_lock && character.is_alphabetic() && !command;
    Some(InputTokenKind::key(key, Modifiers { shift: modifiers.shift != capital, ..modifiers }))
}

fn characters(codes: &str) -> String {
    let characters = codes.split(':').filter_map(|code| code.parse().ok()).filter_map(char::from_u32);
    characters.filter(|character| !character.is_control()).collect()
}

/// Returns the key with this code of the kitty protocol: a character, or one of the codes that kitty assigned to keys
/// without a character.
fn key_of_code(code: u32) -> Option<KeyCode> {
    Some(match code {
        9 => KeyCode::Tab,
        13 | 57414 => KeyCode::Enter,
        27 => KeyCode::Escape,
        8 | 127 => KeyCode::Backspace,
        57399..=57408 => KeyCode::Char(char::from_digit(code - 57399, 10)?),
        57409 => KeyCode::Char('.'),
        57410 => KeyCode::Char('/'),
        57411 => KeyCode::Char('*'),
        57412 => KeyCode::Char('-'),
        57413 => KeyCode::Char('+'),
        57415 => KeyCode::Char('='),
        57416 => KeyCode::Char(','),
        57417 => KeyCode::Left,
        57418 => KeyCode::Right,
        57419 => KeyCode::Up,
        57420 => KeyCode::Down,
        57421 => KeyCode::PageUp,
        57422 => KeyCode::PageDown,
        57423 => KeyCode::Home,
        57424 => KeyCode::End,
        57425 => KeyCode::Insert,
        57426 => KeyCode::Delete,
        // The other codes of the private use area are keys that type nothing: locks, media keys, modifiers.
        0xe000..=0xf8ff => return None,
        _ => KeyCode::Char(char::from_u32(code).filter(|character| !character.is_control())?),
    })
}

/// Decodes `CSI < code ; column ; row M`, or `m` for a release.
fn mouse_report(parameters: &CsiParameters<'_>, released: bool) -> Option<InputTokenKind> {
    let cell = |parameter| u16::try_from(parameters.number(parameter)?.checked_sub(1)?).ok();
    mouse(parameters.number(0)?, cell(1)?, cell(2)?, released)
}

/// Decodes `CSI M code column row`, each with an offset of 32.
pub(super) fn old_mouse(code: u8, column: u8, row: u8) -> InputTokenKind {
    let cell = |byte: u8| Some(u16::from(byte.checked_sub(33)?));
    let event = || {
        let code = u32::from(code.checked_sub(32)?);
        // This encoding does not name the released button.
        let released = code & (3 | 32 | 64) == 3;
        mouse(code, cell(column)?, cell(row)?, released)
    };
    event().unwrap_or(InputTokenKind::Nothing)
}

fn mouse(code: u32, x: u16, y: u16, released: bool) -> Option<InputTokenKind> {
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
    Some(InputTokenKind::Gesture(Gesture::Mouse(Mouse { action, button, x, y, modifiers })))
}

fn button(which: u32) -> MouseButton {
    match which {
        0 => MouseButton::Left,
        1 => MouseButton::Middle,
        2 => MouseButton::Right,
        _ => MouseButton::None,
    }
}
