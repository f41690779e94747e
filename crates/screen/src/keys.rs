//! Which bytes a terminal sends for a key press: xterm's, or the kitty keyboard protocol's when the program has asked
//! for it. Where both know a key they write it alike, and that common ground is here.

mod kitty;
mod legacy;
#[cfg(test)]
mod tests;

use wh_core::input::{Key, KeyPress, Modifiers};

use crate::modes::Modes;

/// The bytes of one press, and of its release if the program wants to hear of releases.
///
/// The keyboard is a US one: `?` is shift and `/`, which matters where a protocol names keys and not characters. The
/// press of a modifier itself is never sent; modifiers come with the keys they modify. Empty for a function key that
/// does not exist.
#[must_use]
pub fn encode(press: &KeyPress, modes: &Modes) -> Vec<u8> {
    match kitty::Enhancements::asked_for(modes) {
        Some(enhancements) => kitty::encode(press, enhancements),
        None => legacy::encode(press, modes),
    }
}

const ESCAPE: u8 = 0x1b;

/// A key whose code is a control sequence, in either of the two shapes they come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sequence {
    /// `CSI 1 ; modifiers letter`, where the numbers are left out if there are no modifiers.
    Letter(char),
    /// `CSI number ; modifiers ~`.
    Tilde(u32),
}

impl Sequence {
    /// The code of a cursor, editing or function key; other keys have none, nor does a function key past the twelfth.
    fn of(key: Key) -> Option<Self> {
        Some(match key {
            Key::Up => Self::Letter('A'),
            Key::Down => Self::Letter('B'),
            Key::Right => Self::Letter('C'),
            Key::Left => Self::Letter('D'),
            Key::End => Self::Letter('F'),
            Key::Home => Self::Letter('H'),
            Key::Insert => Self::Tilde(2),
            Key::Delete => Self::Tilde(3),
            Key::PageUp => Self::Tilde(5),
            Key::PageDown => Self::Tilde(6),
            Key::Function(number) => match number {
                1 => Self::Letter('P'),
                2 => Self::Letter('Q'),
                3 => Self::Letter('R'),
                4 => Self::Letter('S'),
                5 => Self::Tilde(15),
                // DEC grouped its function keys, and left a number out between the groups.
                6..=10 => Self::Tilde(u32::from(number) + 11),
                11..=12 => Self::Tilde(u32::from(number) + 12),
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// The modifiers as a parameter of a control sequence: 1, and a bit for each.
fn parameter(modifiers: Modifiers) -> u8 {
    1 + u8::from(modifiers.shift) + 2 * u8::from(modifiers.alt) + 4 * u8::from(modifiers.ctrl)
}
