//! What a person did, read back from the bytes that a terminal sent for it: the other direction of [`keys`](crate::keys),
//! [`mouse`](crate::mouse) and [`paste`](crate::paste). Specified by xterm's ctlseqs and by
//! <https://sw.kovidgoyal.net/kitty/keyboard-protocol/>. Pure: the caller reads, and has the clock.
//!
//! Both encodings are understood at any time, so nothing has to be known about what was switched on. A press that types
//! comes as text; any other comes in one form, however it was written: a letter in lower case with its shift beside it
//! (`alt+shift+a`), another character as it is typed, without (`ctrl+_`). What a terminal says of its own accord or in
//! answer to a question (focus, attributes, positions, colours) is no gesture and is left out, as are releases of keys.

mod control;
mod ground;
#[cfg(test)]
mod tests;

use wh_core::input::Gesture;

use ground::{Found, Step};

/// A paste is kept up to so many bytes, and the rest of it dropped: whoever feeds the decoder must not be able to fill
/// the memory by never closing one.
pub const LONGEST_PASTE: usize = 8 << 20;

const PASTE_END: &[u8] = b"\x1b[201~";

/// A gesture, and where in the input it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// What was done.
    pub gesture: Gesture,
    /// How many bytes the decoder had been fed, from its first, when the gesture was complete.
    pub end: u64,
}

/// Reads a terminal's input as it comes, cut anywhere.
#[derive(Debug, Default)]
pub struct Decoder {
    /// What could not be decided yet: never more than one unfinished sequence.
    waiting: Vec<u8>,
    /// How many bytes were taken before those that wait.
    taken: u64,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Ground,
    /// Between the markers of a paste.
    Paste(Paste),
    /// Within a string of the terminal, up to its end: a colour, a version, the clipboard.
    Answer,
    /// Within a control sequence that is longer than any that means something.
    Overlong,
}

impl Decoder {
    /// A decoder that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What the next bytes amount to. Characters that follow one another come as one [`Gesture::Text`].
    #[must_use]
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Decoded> {
        let mut input = std::mem::take(&mut self.waiting);
        input.extend_from_slice(bytes);
        let mut out = Out::default();
        let mut at = 0;
        while at < input.len() {
            let Some(step) = self.step(&input[at..]) else { break };
            at += step.taken;
            self.taken += step.taken as u64;
            out.take(step.found, self.taken);
        }
        input.drain(..at);
        self.waiting = input;
        out.decoded
    }

    /// How many bytes were taken so far: all that were fed but for those that wait for more.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether something waits that may already be whole: an ESC is a key of its own if nothing follows. Call
    /// [`timeout`](Self::timeout) if no input comes within some tens of milliseconds.
    #[must_use]
    pub fn pending(&self) -> bool {
        matches!(self.state, State::Answer) || ground::unfollowed(&self.waiting).is_some()
    }

    /// Nothing followed: what waits is taken for what it would be alone. What is certainly the beginning of something
    /// longer (half a character, a sequence with numbers, a paste) goes on waiting.
    #[must_use]
    pub fn timeout(&mut self) -> Vec<Decoded> {
        // The terminal writes an answer in one go; whoever types the same beginning does not end it.
        if matches!(self.state, State::Answer) {
            self.state = State::Ground;
        }
        let mut out = Out::default();
        while let Some(Step { taken, found }) = ground::unfollowed(&self.waiting) {
            self.waiting.drain(..taken);
            self.taken += taken as u64;
            out.take(found, self.taken);
        }
        out.decoded
    }

    fn step(&mut self, input: &[u8]) -> Option<Step> {
        match &mut self.state {
            State::Ground => {
                let step = ground::step(input)?;
                match step.found {
                    Found::PasteBegins => self.state = State::Paste(Paste::default()),
                    Found::AnswerBegins => self.state = State::Answer,
                    Found::Overlong => self.state = State::Overlong,
                    _ => {}
                }
                Some(step)
            }
            State::Paste(paste) => {
                let step = paste.take(input);
                if matches!(step.found, Found::Gesture(_)) {
                    self.state = State::Ground;
                }
                Some(step)
            }
            State::Answer => {
                let (taken, ended) = ground::rest_of_answer(input)?;
                if ended {
                    self.state = State::Ground;
                }
                Some(Step { taken, found: Found::Nothing })
            }
            State::Overlong => {
                let (taken, ended) = ground::rest_of_sequence(input);
                if ended {
                    self.state = State::Ground;
                }
                Some(Step { taken, found: Found::Nothing })
            }
        }
    }
}

/// Gathers gestures, and characters that follow one another into one.
#[derive(Default)]
struct Out {
    decoded: Vec<Decoded>,
}

impl Out {
    fn take(&mut self, found: Found, end: u64) {
        let gesture = match found {
            Found::Text(text) => {
                if let Some(Decoded { gesture: Gesture::Text(before), end: last }) = self.decoded.last_mut() {
                    before.push_str(&text);
                    *last = end;
                    return;
                }
                Gesture::Text(text)
            }
            Found::Gesture(gesture) => gesture,
            Found::Nothing | Found::PasteBegins | Found::AnswerBegins | Found::Overlong => return,
        };
        self.decoded.push(Decoded { gesture, end });
    }
}

/// A paste under way.
#[derive(Debug, Default)]
struct Paste {
    /// What was pasted, and perhaps the beginning of the end marker.
    bytes: Vec<u8>,
    /// The end marker does not begin before this.
    searched: usize,
    cut: bool,
}

impl Paste {
    fn take(&mut self, input: &[u8]) -> Step {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(input);
        let found = memchr::memmem::find(&self.bytes[self.searched..], PASTE_END);
        let Some(end) = found.map(|index| self.searched + index) else {
            self.shorten();
            return Step { taken: input.len(), found: Found::Nothing };
        };
        let kept = end.min(LONGEST_PASTE);
        let mut text = String::from_utf8_lossy(&self.bytes[..kept]).into_owned();
        if self.cut || kept < end {
            // The cut may have gone through a character.
            text.truncate(text.trim_end_matches(char::REPLACEMENT_CHARACTER).len());
        }
        let taken = end + PASTE_END.len() - before;
        Step { taken, found: Found::Gesture(Gesture::Paste(text)) }
    }

    /// Drops what is too much, but for a last piece in which the end marker may have begun.
    fn shorten(&mut self) {
        let tail = self.bytes.len().saturating_sub(PASTE_END.len() - 1);
        self.searched = self.searched.max(tail);
        if tail > LONGEST_PASTE {
            self.bytes.drain(LONGEST_PASTE..tail);
            self.searched = LONGEST_PASTE;
            self.cut = true;
        }
    }
}
