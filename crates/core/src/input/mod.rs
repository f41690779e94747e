//! Terminal input: text, keys, paste and mouse. The HTTP API receives keys by their names, which [`KeyPress`] parses.
//! The `screen` crate encodes input as the bytes that a program expects.

mod closest;
mod layout;
mod names;

pub use closest::closest;
pub use layout::{shifted, unshifted};
pub use names::UnknownKey;

/// Input action of a user: typed text, a key press, a paste or a mouse event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Gesture {
    /// Characters, as if typed one after the other.
    Text(String),
    /// Press of a key, with modifiers.
    Key(KeyPress),
    /// Text pasted from the clipboard. A program may handle pasted text differently from typed text.
    Paste(String),
    Mouse(Mouse),
}

/// Press and release of a key, with the modifiers held during the press.
///
/// [`str::parse`] parses a name: modifiers in any order, then the key, joined by `+`. Examples: `enter`, `ctrl+c`,
/// `shift+alt+f5`, `ctrl++`. Names are case-insensitive; [`Display`](std::fmt::Display) writes the canonical name.
///
/// Case matters only for a letter without modifiers: `A` types an A. With a modifier, a letter names its key:
/// `Ctrl+C`, `ctrl+C` and `ctrl+c` are the same press. Shift must be explicit: `ctrl+shift+c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPress {
    pub key: KeyCode,
    /// Modifiers held during the key press.
    pub modifiers: Modifiers,
}

impl KeyPress {
    /// Creates a key press. With a modifier, a letter is replaced by the lower-case letter that names its key, as in
    /// the parser.
    #[must_use]
    pub fn new(key: KeyCode, modifiers: Modifiers) -> Self {
        let key = match key {
            KeyCode::Char(letter) if !modifiers.is_empty() => KeyCode::Char(layout::letter_key(letter)),
            other => other,
        };
        Self { key, modifiers }
    }

    /// Returns the character that the key press types. Shift is applied as on a US keyboard. Returns `None` for a key
    /// without a character, and for a press with ctrl or alt.
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

/// Key on the keyboard, without modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyCode {
    /// A printable character, including the space.
    Char(char),
    /// Enter key, also called return.
    Enter,
    Escape,
    Tab,
    /// Key that deletes to the left of the cursor.
    Backspace,
    /// Key that deletes to the right of the cursor.
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
    /// Function key, from 1 to 12.
    Function(u8),
}

/// Modifiers held during a key press or a mouse event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modifiers {
    pub ctrl: bool,
    /// Alt, also called option or meta.
    pub alt: bool,
    pub shift: bool,
}

impl Modifiers {
    pub const NONE: Self = Self { ctrl: false, alt: false, shift: false };

    #[must_use]
    pub const fn is_empty(self) -> bool {
        !self.ctrl && !self.alt && !self.shift
    }
}

/// A mouse event at a cell of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mouse {
    pub action: MouseAction,
    /// Button that was pressed or released, or that is held during a move. An event of the wheel has no button.
    pub button: MouseButton,
    /// Column, from 0 at the left.
    pub x: u16,
    /// Row, from 0 at the top.
    pub y: u16,
    /// Modifiers held on the keyboard during the event.
    pub modifiers: Modifiers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MouseAction {
    Press,
    Release,
    /// The pointer moved to this cell. If a button is held, the pointer was dragged.
    Move,
    /// The wheel was turned away from the user.
    WheelUp,
    /// The wheel was turned towards the user.
    WheelDown,
    WheelLeft,
    WheelRight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MouseButton {
    None,
    Left,
    /// Middle button; on most mice, the wheel when pressed.
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
