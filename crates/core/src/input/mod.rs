//! Terminal input: text, keys, paste and mouse. The HTTP API parses it from names ([`KeyPress`] defines the
//! vocabulary); `screen` encodes it as the bytes that a program expects.

mod closest;
mod layout;
mod names;

pub use closest::closest;
pub use layout::{shifted, unshifted};
pub use names::UnknownKey;

/// A single action at the keyboard or with the mouse.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Gesture {
    /// Characters, as if typed one after another.
    Text(String),
    /// A key with its modifiers.
    Key(KeyPress),
    /// Text from the clipboard; a program may treat it differently from typing.
    Paste(String),
    /// A mouse event.
    Mouse(Mouse),
}

/// A key press and release, with the modifiers held during it.
///
/// Parsed with [`str::parse`]: modifiers in any order, then the key, joined by `+`: `enter`, `ctrl+c`, `shift+alt+f5`,
/// `ctrl++`. Names are case-insensitive; [`Display`](std::fmt::Display) writes the canonical name.
///
/// Case matters only for a letter without modifiers: `A` types an A. With a modifier, a letter names its key, so that
/// `Ctrl+C`, `ctrl+C` and `ctrl+c` are the same press. Shift must be explicit: `ctrl+shift+c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPress {
    pub key: KeyCode,
    /// Modifiers held during the press.
    pub modifiers: Modifiers,
}

impl KeyPress {
    /// Returns the press as its name would parse: with a modifier, a letter becomes the letter on the key.
    #[must_use]
    pub fn new(key: KeyCode, modifiers: Modifiers) -> Self {
        let key = match key {
            KeyCode::Char(letter) if !modifiers.is_empty() => KeyCode::Char(layout::letter_key(letter)),
            other => other,
        };
        Self { key, modifiers }
    }

    /// Returns the character that this press types, if any. Shift is applied as on a US keyboard. A press with ctrl or
    /// alt is a command and types nothing.
    #[must_use]
    pub fn text(&self) -> Option<char> {
        match self.key {
            KeyCode::Char(_) if self.modifiers.ctrl || self.modifiers.alt => None,
            KeyCode::Char(character) if self.modifiers.shift => Some(shifted(character).unwrap_or(character)),
            KeyCode::Char(character) => Some(character),
            _ => None,
        }
    }
}

impl From<KeyCode> for KeyPress {
    fn from(key: KeyCode) -> Self {
        Self { key, modifiers: Modifiers::NONE }
    }
}

/// A key without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyCode {
    /// A printable character, including the space.
    Char(char),
    /// Enter, also called return.
    Enter,
    Escape,
    Tab,
    /// Deletes to the left.
    Backspace,
    /// Deletes to the right.
    Delete,
    Insert,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    /// A function key, 1 to 12.
    Function(u8),
}

/// The modifiers held during a press or a mouse event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modifiers {
    pub ctrl: bool,
    /// Alt, also called option or meta.
    pub alt: bool,
    pub shift: bool,
}

impl Modifiers {
    pub const NONE: Self = Self { ctrl: false, alt: false, shift: false };

    /// True if no modifier is held.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        !self.ctrl && !self.alt && !self.shift
    }
}

/// A mouse event at a cell of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mouse {
    pub action: MouseAction,
    /// Button that was pressed or released, or that is held during a move. The wheel has none.
    pub button: MouseButton,
    /// Column, from 0 at the left.
    pub x: u16,
    /// Row, from 0 at the top.
    pub y: u16,
    /// Modifiers held on the keyboard.
    pub modifiers: Modifiers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MouseAction {
    Press,
    Release,
    /// The pointer moved to this cell; with a button, it was dragged there.
    Move,
    /// The wheel was turned away from the user.
    WheelUp,
    /// The wheel was turned towards the user.
    WheelDown,
    /// The wheel was tilted left.
    WheelLeft,
    /// The wheel was tilted right.
    WheelRight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MouseButton {
    None,
    Left,
    /// Middle button, or the pressed wheel.
    Middle,
    Right,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(name: &str) -> KeyPress {
        name.parse().expect("the name is known")
    }

    #[test]
    fn a_press_types_its_character_with_shift_applied() {
        for (name, typed) in [
            ("a", 'a'),
            ("A", 'A'),
            ("shift+a", 'A'),
            ("shift+1", '!'),
            ("!", '!'),
            ("shift+!", '!'),
            ("shift+é", 'É'),
            ("space", ' '),
            ("shift+space", ' '),
            ("日", '日'),
        ] {
            assert_eq!(press(name).text(), Some(typed), "{name}");
        }
    }

    #[test]
    fn a_command_types_nothing() {
        for name in ["ctrl+a", "alt+a", "ctrl+alt+a", "enter", "tab", "f1", "shift+up"] {
            assert_eq!(press(name).text(), None, "{name}");
        }
    }

    #[test]
    fn a_letter_beside_a_modifier_is_the_letter_on_the_key() {
        let ctrl = Modifiers { ctrl: true, ..Modifiers::NONE };
        assert_eq!(KeyPress::new(KeyCode::Char('A'), ctrl).key, KeyCode::Char('a'));
        assert_eq!(KeyPress::new(KeyCode::Char('?'), ctrl).key, KeyCode::Char('?'));
        assert_eq!(KeyPress::new(KeyCode::Char('A'), Modifiers::NONE).key, KeyCode::Char('A'));
    }
}
