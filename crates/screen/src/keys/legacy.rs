//! Keys as xterm sends them, with its modifyOtherKeys. Specified by xterm's ctlseqs and "modified keys" pages; with
//! metaSendsEscape on, a PC keyboard, and a backspace key that sends DEL, as every distribution sets it up.

use wh_core::input::{Key, KeyPress, Modifiers, shifted, unshifted};

use super::{ESCAPE, Sequence, parameter};
use crate::modes::Modes;

pub(super) fn encode(press: &KeyPress, modes: &Modes) -> Vec<u8> {
    if let Some((code, modifiers)) = other_key(press, modes.modify_other_keys) {
        return format!("\x1b[27;{};{code}~", parameter(modifiers)).into_bytes();
    }
    let Modifiers { ctrl, alt, shift } = press.modifiers;
    match press.key {
        Key::Char(character) => {
            let typed = typed(character, shift);
            match control(typed).filter(|_| ctrl) {
                Some(byte) => meta(alt, &[byte]),
                None => meta(alt, typed.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        // Shift has no code here. A carriage return would submit where the caller asked for a new line, so it is a line
        // feed: programs that tell the two apart take it for a new line, the others for enter.
        Key::Enter if shift && !ctrl && !alt => vec![b'\n'],
        Key::Enter => meta(alt, b"\r"),
        Key::Escape => meta(alt, &[ESCAPE]),
        Key::Tab if shift => meta(alt, b"\x1b[Z"),
        Key::Tab => meta(alt, b"\t"),
        Key::Backspace if ctrl => meta(alt, b"\x08"),
        Key::Backspace => meta(alt, b"\x7f"),
        key => sequence(key, press.modifiers, modes.application_cursor),
    }
}

/// What the ctrl key makes of a character, by the rule that terminals inherited from the VT100; `None` where it makes
/// nothing and the character goes out as it is.
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

/// The code and modifiers of a press that modifyOtherKeys takes out of the old encoding: at level 1 those that had no
/// code of their own in it, at level 2 nearly all that are modified.
fn other_key(press: &KeyPress, level: u8) -> Option<(u32, Modifiers)> {
    if level == 0 || press.modifiers.is_empty() {
        return None;
    }
    let everything = level >= 2;
    let Modifiers { ctrl, alt, shift } = press.modifiers;
    let code = match press.key {
        Key::Char(character) => return other_character(character, press.modifiers, everything),
        Key::Enter => (everything || shift || !alt).then_some(13),
        Key::Tab if alt => everything.then_some(9),
        Key::Tab => ctrl.then_some(9),
        Key::Escape => everything.then_some(27),
        // The byte that the key would send: ctrl turns DEL into BS, which is a code, and the only one to stay.
        Key::Backspace if ctrl => (everything && (alt || shift)).then_some(8),
        Key::Backspace => everything.then_some(127),
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
        // Shift alone is in the character already, but xterm reports it for all that ctrl could turn into a code.
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

/// A cursor, editing or function key. Application mode is for the unmodified cursor keys alone, and F1 to F4 are in it
/// always: SS3 takes no parameters.
fn sequence(key: Key, modifiers: Modifiers, application_cursor: bool) -> Vec<u8> {
    let modified = !modifiers.is_empty();
    let parameter = parameter(modifiers);
    match Sequence::of(key) {
        Some(Sequence::Letter(letter)) if modified => format!("\x1b[1;{parameter}{letter}"),
        Some(Sequence::Letter(letter)) if application_cursor || letter >= 'P' => {
            format!("\x1bO{letter}")
        }
        Some(Sequence::Letter(letter)) => format!("\x1b[{letter}"),
        Some(Sequence::Tilde(number)) if modified => format!("\x1b[{number};{parameter}~"),
        Some(Sequence::Tilde(number)) => format!("\x1b[{number}~"),
        None => String::new(),
    }
    .into_bytes()
}

/// Alt is an escape before the bytes of the key.
fn meta(alt: bool, bytes: &[u8]) -> Vec<u8> {
    let prefix: &[u8] = if alt { &[ESCAPE] } else { &[] };
    [prefix, bytes].concat()
}
