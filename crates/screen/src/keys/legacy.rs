//! Encodes keys as xterm does, with modifyOtherKeys. Specified by xterm's ctlseqs and "modified keys" pages, with
//! metaSendsEscape enabled, a PC keyboard, and a backspace key that sends DEL.

use wh_core::input::{KeyCode, KeyPress, Modifiers, shifted, unshifted};

use super::{ESCAPE, KeySequence, parameter};
use crate::modes::TerminalModes;

pub(super) fn encode(press: &KeyPress, modes: &TerminalModes) -> Vec<u8> {
    if let Some((code, modifiers)) = other_key(press, modes.modify_other_keys) {
        return format!("\x1b[27;{};{code}~", parameter(modifiers)).into_bytes();
    }
    let Modifiers { ctrl, alt, shift } = press.modifiers;
    match press.key {
        KeyCode::Char(character) => {
            let typed = typed(character, shift);
            match control(typed).filter(|_| ctrl) {
                Some(byte) => meta(alt, &[byte]),
                None => meta(alt, typed.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        // Shift+enter has no legacy code. A carriage return would submit the input where the caller wants a new line,
        // so a line feed is sent. Programs that distinguish the two insert a new line; others treat the line feed as
        // enter.
        KeyCode::Enter if shift && !ctrl && !alt => vec![b'\n'],
        KeyCode::Enter => meta(alt, b"\r"),
        KeyCode::Escape => meta(alt, &[ESCAPE]),
        KeyCode::Tab if shift => meta(alt, b"\x1b[Z"),
        KeyCode::Tab => meta(alt, b"\t"),
        KeyCode::Backspace if ctrl => meta(alt, b"\x08"),
        KeyCode::Backspace => meta(alt, b"\x7f"),
        key => sequence(key, press.modifiers, modes.application_cursor),
    }
}

/// Returns the control character that a VT100 sends for ctrl with this character. `None` for other characters, which
/// are sent unchanged.
pub(super) fn control(character: char) -> Option<u8> {
    let byte = u8::try_from(character).ok()?;
    Some(match byte {
        b'@'..=b'~' => byte & 0x1f,
        b' ' | b'2' => 0x00,
        b'3'..=b'7' => byte - b'3' + 0x1b,
        b'8' | b'?' => 0x7f,
        b'/' => 0x1f,
        _ => return None,
    })
}

/// Returns the code and modifiers of a press that modifyOtherKeys reports as a sequence. Level 1 reports presses
/// without an unambiguous legacy code. Level 2 reports nearly all presses with modifiers.
fn other_key(press: &KeyPress, level: u8) -> Option<(u32, Modifiers)> {
    if level == 0 || press.modifiers.is_empty() {
        return None;
    }
    let everything = level >= 2;
    let Modifiers { ctrl, alt, shift } = press.modifiers;
    let code = match press.key {
        KeyCode::Char(character) => return other_character(character, press.modifiers, everything),
        KeyCode::Enter => (everything || shift || !alt).then_some(13),
        KeyCode::Tab if alt => everything.then_some(9),
        KeyCode::Tab => ctrl.then_some(9),
        KeyCode::Escape => everything.then_some(27),
        // Ctrl changes the byte of the backspace key from DEL to BS, so the code is 8. Ctrl+backspace without other
        // modifiers keeps its legacy code.
        KeyCode::Backspace if ctrl => (everything && (alt || shift)).then_some(8),
        KeyCode::Backspace => everything.then_some(127),
        _ => None,
    };
    code.map(|code| (code, press.modifiers))
}

fn other_character(character: char, modifiers: Modifiers, everything: bool) -> Option<(u32, Modifiers)> {
    let Modifiers { ctrl, alt, shift } = modifiers;
    let typed = typed(character, shift);
    let taken = match (ctrl || alt, everything) {
        (true, true) => true,
        (true, false) => ctrl && control(typed).is_none(),
        // Without ctrl and alt, the character already includes shift. xterm reports the press anyway if ctrl could
        // change the character.
        (false, true) => matches!(typed, ' ' | '@'..='\x7f'),
        (false, false) => false,
    };
    let held = Modifiers { shift: shift || unshifted(character).is_some(), ..modifiers };
    taken.then_some((u32::from(typed), held))
}

fn typed(character: char, shift: bool) -> char {
    match shifted(character) {
        Some(upper) if shift => upper,
        _ => character,
    }
}

/// Encodes a cursor, editing or function key. Without modifiers, F1 to F4 use SS3, and so do cursor keys in
/// application mode. With modifiers no key uses SS3, which takes no parameters.
fn sequence(key: KeyCode, modifiers: Modifiers, application_cursor: bool) -> Vec<u8> {
    let modified = !modifiers.is_empty();
    let parameter = parameter(modifiers);
    match KeySequence::of(key) {
        Some(KeySequence::Letter(letter)) if modified => format!("\x1b[1;{parameter}{letter}"),
        Some(KeySequence::Letter(letter)) if application_cursor || letter >= 'P' => {
            format!("\x1bO{letter}")
        }
        Some(KeySequence::Letter(letter)) => format!("\x1b[{letter}"),
        Some(KeySequence::Tilde(number)) if modified => format!("\x1b[{number};{parameter}~"),
        Some(KeySequence::Tilde(number)) => format!("\x1b[{number}~"),
        None => String::new(),
    }
    .into_bytes()
}

/// Prefixes the key's bytes with ESC if alt is held.
fn meta(alt: bool, bytes: &[u8]) -> Vec<u8> {
    let prefix: &[u8] = if alt { &[ESCAPE] } else { &[] };
    [prefix, bytes].concat()
}
