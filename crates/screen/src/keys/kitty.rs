//! Keys in the kitty keyboard protocol, specified at <https://sw.kovidgoyal.net/kitty/keyboard-protocol/>. Where its
//! text leaves a choice, this is what kitty itself sends.

use wh_core::input::{Key, KeyPress, Modifiers, shifted, unshifted};

use super::{Sequence, legacy, parameter};
use crate::modes::Modes;

const DISAMBIGUATE: u8 = 1;
const EVENT_TYPES: u8 = 2;
const ALTERNATE_KEYS: u8 = 4;
const ALL_KEYS: u8 = 8;
const ASSOCIATED_TEXT: u8 = 16;

/// What the program has asked for, at least one thing of it that takes keys out of the old encoding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Enhancements(u8);

impl Enhancements {
    /// `None` if the old encoding holds: alternate keys and text only adorn sequences that other enhancements cause.
    pub(super) fn asked_for(modes: &Modes) -> Option<Self> {
        let flags = modes.kitty_keyboard;
        (flags & (DISAMBIGUATE | EVENT_TYPES | ALL_KEYS) != 0).then_some(Self(flags))
    }

    fn has(self, flags: u8) -> bool {
        self.0 & flags != 0
    }
}

/// The bytes of a press, and of the release after it if the program wants those.
pub(super) fn encode(press: &KeyPress, asked: Enhancements) -> Vec<u8> {
    let Some(event) = Event::of(press) else {
        return Vec::new();
    };
    let mut bytes = match plain(press, asked) {
        Some(bytes) => bytes,
        None => event.write(asked, Moment::Press),
    };
    if asked.has(EVENT_TYPES) && (asked.has(ALL_KEYS) || !outlives_a_crash(press.key)) {
        bytes.extend(event.write(asked, Moment::Release));
    }
    bytes
}

/// Keys that stay as they were until all keys are asked for, so that a person can type `reset` and enter after a program
/// has died without taking its wishes back.
fn outlives_a_crash(key: Key) -> bool {
    matches!(key, Key::Enter | Key::Tab | Key::Backspace)
}

/// The press in the old encoding, where the enhancements leave it there.
fn plain(press: &KeyPress, asked: Enhancements) -> Option<Vec<u8>> {
    if asked.has(ALL_KEYS) {
        return None;
    }
    if let Some(text) = press.text() {
        return Some(text.to_string().into_bytes());
    }
    let modified = !press.modifiers.is_empty();
    let stays = match press.key {
        key if outlives_a_crash(key) => !modified,
        Key::Escape => !modified && !asked.has(DISAMBIGUATE),
        Key::Char(character) => !asked.has(DISAMBIGUATE) && has_a_code(character, press.modifiers),
        _ => false,
    };
    stays.then(|| legacy::encode(press, &Modes::default()))
}

/// Whether the old encoding has a code for this command that does not lose a modifier.
fn has_a_code(character: char, modifiers: Modifiers) -> bool {
    let lost = modifiers.ctrl && modifiers.shift && character.is_ascii_alphabetic();
    character.is_ascii() && !lost
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Press,
    Release,
}

/// A key event with all that the protocol can say of it.
struct Event {
    number: u32,
    terminator: char,
    shifted: Option<char>,
    modifiers: Modifiers,
    text: Option<char>,
}

impl Event {
    fn of(press: &KeyPress) -> Option<Self> {
        let (number, terminator) = match press.key {
            Key::Char(character) => return Some(Self::of_character(character, press)),
            Key::Escape => (27, 'u'),
            Key::Enter => (13, 'u'),
            Key::Tab => (9, 'u'),
            Key::Backspace => (127, 'u'),
            // Its old code would read as the answer to a question for the cursor's position.
            Key::Function(3) => (13, '~'),
            key => match Sequence::of(key)? {
                Sequence::Letter(letter) => (1, letter),
                Sequence::Tilde(number) => (number, '~'),
            },
        };
        Some(Self { number, terminator, shifted: None, modifiers: press.modifiers, text: None })
    }

    /// A key is named by its unshifted character, whichever of its two the caller named.
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

    /// `CSI number:shifted ; modifiers:event ; text terminator`, with every field left out that says nothing.
    fn write(&self, asked: Enhancements, moment: Moment) -> Vec<u8> {
        let shifted = self.shifted.filter(|_| asked.has(ALTERNATE_KEYS));
        let embedded = asked.has(ASSOCIATED_TEXT) && moment == Moment::Press;
        let text = self.text.filter(|_| embedded);

        let modifiers = match (moment, parameter(self.modifiers)) {
            (Moment::Press, 1) => String::new(),
            (Moment::Press, modifiers) => modifiers.to_string(),
            (Moment::Release, modifiers) => format!("{modifiers}:3"),
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
