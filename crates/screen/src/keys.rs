//! Encodes key presses as xterm does, or in the kitty keyboard protocol if the program has enabled it. This file
//! contains the sequences that both encodings share.

mod kitty;
mod legacy;
#[cfg(test)]
mod tests;

use wh_core::input::{KeyCode, KeyPress, Modifiers};

use crate::modes::TerminalModes;

/// Encodes one press, and its release if the program has enabled release events.
///
/// Assumes a US keyboard layout: `?` is shift and `/`. The layout matters because the kitty protocol reports the key
/// and not the character. Presses of modifiers alone are never sent. Returns no bytes for a function key that does not
/// exist.
#[must_use]
pub fn encode(press: &KeyPress, modes: &TerminalModes) -> Vec<u8> {
    match kitty::KittyFlags::enabled(modes) {
        Some(enhancements) => kitty::encode(press, enhancements),
        None => legacy::encode(press, modes),
    }
}

const ESCAPE: u8 = 0x1b;

/// Control sequence of a key, in either of its two forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeySequence {
    /// `CSI 1 ; modifiers letter`, without the numbers if there are no modifiers.
    Letter(char),
    /// `CSI number ; modifiers ~`.
    Tilde(u32),
}

impl KeySequence {
    /// Returns the sequence of a cursor, editing or function key up to F12; `None` for other keys.
    fn of(key: KeyCode) -> Option<Self> {
        Some(match key {
            KeyCode::Up => Self::Letter('A'),
            KeyCode::Down => Self::Letter('B'),
            KeyCode::Right => Self::Letter('C'),
            KeyCode::Left => Self::Letter('D'),
            KeyCode::End => Self::Letter('F'),
            KeyCode::Home => Self::Letter('H'),
            KeyCode::Insert => Self::Tilde(2),
            KeyCode::Delete => Self::Tilde(3),
            KeyCode::PageUp => Self::Tilde(5),
            KeyCode::PageDown => Self::Tilde(6),
            KeyCode::Function(number) => match number {
                1 => Self::Letter('P'),
                2 => Self::Letter('Q'),
                3 => Self::Letter('R'),
                4 => Self::Letter('S'),
                5 => Self::Tilde(15),
                // DEC grouped the function keys and skipped a number between groups.
                6..=10 => Self::Tilde(u32::from(number) + 11),
                11..=12 => Self::Tilde(u32::from(number) + 12),
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// Returns the modifiers as a parameter of a control sequence: 1 plus a bit for each modifier.
fn parameter(modifiers: Modifiers) -> u8 {
    1 + u8::from(modifiers.shift) + 2 * u8::from(modifiers.alt) + 4 * u8::from(modifiers.ctrl)
}
