//! Encodes keys in the kitty keyboard protocol, specified at <https://sw.kovidgoyal.net/kitty/keyboard-protocol/>.
//! Where the specification leaves a choice, the encoding is that of kitty.

use wh_core::input::{KeyCode, KeyPress, Modifiers, shifted, unshifted};

use super::{KeySequence, legacy, parameter};
use crate::modes::TerminalModes;

const DISAMBIGUATE: u8 = 1;
const EVENT_TYPES: u8 = 2;
const ALTERNATE_KEYS: u8 = 4;
const ALL_KEYS: u8 = 8;
const ASSOCIATED_TEXT: u8 = 16;

/// Protocol flags that the program has enabled. At least one of them changes the legacy encoding.
#[derive(Debug, Clone, Copy)]
pub(super) struct KittyFlags(u8);

impl KittyFlags {
    /// Returns the flags of the program, or `None` if the legacy encoding applies. The flags for alternate keys and for
    /// text do not count: they only extend sequences that other flags enable.
    pub(super) fn enabled(modes: &TerminalModes) -> Option<Self> {
        let flags = modes.kitty_keyboard;
        (flags & (DISAMBIGUATE | EVENT_TYPES | ALL_KEYS) != 0).then_some(Self(flags))
    }

    fn has(self, flags: u8) -> bool {
        self.0 & flags != 0
    }
}

/// Encodes a press, and its release if the program has enabled release events.
pub(super) fn encode(press: &KeyPress, asked: KittyFlags) -> Vec<u8> {
    let Some(event) = KittyEvent::of(press) else {
        return Vec::new();
    };
    let mut bytes = match plain(press, asked) {
        Some(bytes) => bytes,
        None => event.write(asked, KittyEventKind::Press),
    };
    if asked.has(EVENT_TYPES) && (asked.has(ALL_KEYS) || !keeps_legacy_encoding(press.key)) {
        bytes.extend(event.write(asked, KittyEventKind::Release));
    }
    bytes
}

/// True for keys that keep their legacy encoding unless all keys are reported as sequences. A user can then still type
/// `reset` and enter after a program has crashed and left the protocol enabled.
fn keeps_legacy_encoding(key: KeyCode) -> bool {
    matches!(key, KeyCode::Enter | KeyCode::Tab | KeyCode::Backspace)
}

/// Encodes a press in the legacy encoding, unless the flags require a sequence for it.
fn plain(press: &KeyPress, asked: KittyFlags) -> Option<Vec<u8>> {
    if asked.has(ALL_KEYS) {
        return None;
    }
    if let Some(text) = press.text() {
        return Some(text.to_string().into_bytes());
    }
    let modified = !press.modifiers.is_empty();
    let stays = match press.key {
        key if keeps_legacy_encoding(key) => !modified,
        KeyCode::Escape => !modified && !asked.has(DISAMBIGUATE),
        KeyCode::Char(character) => !asked.has(DISAMBIGUATE) && has_legacy_code(character, press.modifiers),
        _ => false,
    };
    stays.then(|| legacy::encode(press, &TerminalModes::default()))
}

/// True if the legacy encoding can represent this key with all of its modifiers.
fn has_legacy_code(character: char, modifiers: Modifiers) -> bool {
    let lost = modifiers.ctrl && modifiers.shift && character.is_ascii_alphabetic();
    character.is_ascii() && !lost
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KittyEventKind {
    Press,
    Release,
}

/// A key event with every field of the protocol.
struct KittyEvent {
    number: u32,
    terminator: char,
    shifted: Option<char>,
    modifiers: Modifiers,
    text: Option<char>,
}

impl KittyEvent {
    fn of(press: &KeyPress) -> Option<Self> {
        let (number, terminator) = match press.key {
            KeyCode::Char(character) => return Some(Self::of_character(character, press)),
            KeyCode::Escape => (27, 'u'),
            KeyCode::Enter => (13, 'u'),
            KeyCode::Tab => (9, 'u'),
            KeyCode::Backspace => (127, 'u'),
            // The legacy sequence of F3 with modifiers is ambiguous with a cursor position report.
            KeyCode::Function(3) => (13, '~'),
            key => match KeySequence::of(key)? {
                KeySequence::Letter(letter) => (1, letter),
                KeySequence::Tilde(number) => (number, '~'),
            },
        };
        Some(Self { number, terminator, shifted: None, modifiers: press.modifiers, text: None })
    }

    /// Creates the event of a character key. The protocol identifies such a key by its unshifted character, even if the
    /// press has the shifted character.
    fn of_character(character: char, press: &KeyPress) -> Self {
        let unshifted = unshifted(character);
        let key = unshifted.unwrap_or(character);
        let shift = press.modifiers.shift || unshifted.is_some();
        Self {
            number: u32::from(key),
            terminator: 'u',
            shifted: shifted(key).filter(|_| shift),
            modifiers: Modifiers { shift, ..press.modifiers },
            text: press.text().filter(|text| !text.is_control()),
        }
    }

    /// Encodes `CSI number:shifted ; modifiers:event ; text terminator`, omitting empty fields.
    fn write(&self, asked: KittyFlags, moment: KittyEventKind) -> Vec<u8> {
        let shifted = self.shifted.filter(|_| asked.has(ALTERNATE_KEYS));
        let embedded = asked.has(ASSOCIATED_TEXT) && moment == KittyEventKind::Press;
        let text = self.text.filter(|_| embedded);

        let modifiers = match (moment, parameter(self.modifiers)) {
            (KittyEventKind::Press, 1) => String::new(),
            (KittyEventKind::Press, modifiers) => modifiers.to_string(),
            (KittyEventKind::Release, modifiers) => format!("{modifiers}:3"),
        };
        let text = text.map(|text| format!(";{}", u32::from(text)));
        let text = text.unwrap_or_default();

        let mut written = String::from("\x1b[");
        if self.number != 1 || !modifiers.is_empty() {
            written += &self.number.to_string();
        }
        if let Some(shifted) = shifted {
            written += &format!(":{}", u32::from(shifted));
        }
        if !modifiers.is_empty() || !text.is_empty() {
            written.push(';');
            written += &modifiers;
        }
        written += &text;
        written.push(self.terminator);
        written.into_bytes()
    }
}
