//! What a person, a script or an agent can do at a terminal: type text, press a key, paste, use the mouse. A door reads
//! these from names ([`KeyPress`] has the vocabulary); `screen` turns them into the bytes that a program expects.

mod closest;
mod layout;
mod names;

pub use closest::closest;
pub use layout::{shifted, unshifted};
pub use names::UnknownKey;

/// One thing done at the keyboard or with the mouse.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Gesture {
    /// Characters, as if typed one after another.
    Text(String),
    /// A key with its modifiers.
    Key(KeyPress),
    /// Text from the clipboard; a program may treat it otherwise than typing.
    Paste(String),
    /// Something done with the mouse.
    Mouse(Mouse),
}

/// A key pressed and let go, with the modifiers held meanwhile.
///
/// Read it with [`str::parse`]: modifiers in any order, then the key, joined by `+`: `enter`, `ctrl+c`,
/// `shift+alt+f5`, `ctrl++`. Names may be in any case; [`Display`](std::fmt::Display) writes the canonical one.
///
/// The case of a letter counts only where the letter stands alone: `A` types an A. Beside a modifier a letter names its
/// key, as documentation writes it, so that `Ctrl+C`, `ctrl+C` and `ctrl+c` are one press; shift must be said:
/// `ctrl+shift+c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPress {
    /// The key.
    pub key: Key,
    /// What is held down with it.
    pub modifiers: Modifiers,
}

impl KeyPress {
    /// A press as its name would be read: a letter beside a modifier becomes the letter on the key.
    #[must_use]
    pub fn new(key: Key, modifiers: Modifiers) -> Self {
        let key = match key {
            Key::Char(letter) if !modifiers.is_empty() => Key::Char(layout::letter_key(letter)),
            other => other,
        };
        Self { key, modifiers }
    }

    /// The character that this press types, if it types one: shift is applied as on a US keyboard, and a press with ctrl
    /// or alt is a command, not text.
    #[must_use]
    pub fn text(&self) -> Option<char> {
        match self.key {
            Key::Char(_) if self.modifiers.ctrl || self.modifiers.alt => None,
            Key::Char(character) if self.modifiers.shift => Some(shifted(character).unwrap_or(character)),
            Key::Char(character) => Some(character),
            _ => None,
        }
    }
}

impl From<Key> for KeyPress {
    fn from(key: Key) -> Self {
        Self { key, modifiers: Modifiers::NONE }
    }
}

/// A key, without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// A printable character, the space among them.
    Char(char),
    /// Enter, also called return.
    Enter,
    /// Escape.
    Escape,
    /// Tab; with shift it goes back.
    Tab,
    /// Deletes to the left.
    Backspace,
    /// Deletes to the right.
    Delete,
    /// Insert.
    Insert,
    /// The upward arrow.
    Up,
    /// The downward arrow.
    Down,
    /// The leftward arrow.
    Left,
    /// The rightward arrow.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key, 1 to 12.
    Function(u8),
}

/// The modifiers held during a press or a mouse event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modifiers {
    /// Control.
    pub ctrl: bool,
    /// Alt: the option key of a Mac, the meta key of the old books.
    pub alt: bool,
    /// Shift.
    pub shift: bool,
}

impl Modifiers {
    /// Nothing held.
    pub const NONE: Self = Self { ctrl: false, alt: false, shift: false };

    /// Whether nothing is held.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        !self.ctrl && !self.alt && !self.shift
    }
}

/// One event of the mouse, at a cell of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mouse {
    /// What happened.
    pub action: MouseAction,
    /// The button that it happened with: the one pressed or released, or the one held during a move. The wheel has none.
    pub button: MouseButton,
    /// The column, from 0 at the left.
    pub x: u16,
    /// The row, from 0 at the top.
    pub y: u16,
    /// What is held down on the keyboard.
    pub modifiers: Modifiers,
}

/// What the mouse did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MouseAction {
    /// A button went down.
    Press,
    /// A button came up.
    Release,
    /// The pointer came to this cell; with a button, it was dragged there.
    Move,
    /// The wheel turned away from the person.
    WheelUp,
    /// The wheel turned towards the person.
    WheelDown,
    /// The wheel tilted left.
    WheelLeft,
    /// The wheel tilted right.
    WheelRight,
}

/// A button of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MouseButton {
    /// No button.
    None,
    /// The left one.
    Left,
    /// The middle one, or the wheel pressed down.
    Middle,
    /// The right one.
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
        assert_eq!(KeyPress::new(Key::Char('A'), ctrl).key, Key::Char('a'));
        assert_eq!(KeyPress::new(Key::Char('?'), ctrl).key, Key::Char('?'));
        assert_eq!(KeyPress::new(Key::Char('A'), Modifiers::NONE).key, Key::Char('A'));
    }
}
