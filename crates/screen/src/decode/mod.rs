//! Decodes terminal input to gestures: the inverse of [`keys`](crate::keys), [`mouse`](crate::mouse) and
//! [`paste`](crate::paste). Specified by xterm's ctlseqs and by <https://sw.kovidgoyal.net/kitty/keyboard-protocol/>.
//! Pure: the caller reads the input and provides the clock.
//!
//! All encodings are accepted at any time. A press that types a character is reported as text. Any other press has one
//! canonical form: a letter is in lower case with shift as a modifier (`alt+shift+a`), any other character is as typed,
//! without shift (`ctrl+_`). Terminal reports and replies (focus, attributes, positions, colours) and key releases are
//! dropped.

mod control;
mod ground;
#[cfg(test)]
mod tests;

use wh_core::input::Gesture;

use ground::{InputToken, InputTokenKind};

/// Maximum bytes of a paste. The rest is dropped, so that a paste without an end cannot fill the memory.
pub const MAX_PASTE_BYTES: usize = 8 << 20;

const PASTE_END: &[u8] = b"\x1b[201~";

/// A decoded gesture, and its position in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedGesture {
    /// The gesture in its canonical form.
    pub gesture: Gesture,
    /// Offset of the end of the gesture, counted from the first byte of the whole input.
    pub end: u64,
}

/// Decodes terminal input in chunks, which may split sequences anywhere.
#[derive(Debug, Default)]
pub struct InputDecoder {
    /// Incomplete input: at most one unfinished sequence.
    incomplete: Vec<u8>,
    /// Number of bytes decoded before the incomplete input.
    taken: u64,
    state: DecoderState,
}

#[derive(Debug, Default)]
enum DecoderState {
    #[default]
    Ground,
    /// Between the markers of a bracketed paste.
    Paste(Paste),
    /// Within a string that the terminal sent as a reply, for example a colour, a version or the clipboard.
    Answer,
    /// Within a control sequence that is longer than any known sequence.
    Overlong,
}

impl InputDecoder {
    /// Creates a decoder at the start of the input.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes the next bytes. Consecutive characters are merged into one [`Gesture::Text`].
    #[must_use]
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<DecodedGesture> {
        let mut input = std::mem::take(&mut self.incomplete);
        input.extend_from_slice(bytes);
        let mut out = GestureBuffer::default();
        let mut at = 0;
        while at < input.len() {
            let Some(step) = self.step(&input[at..]) else { break };
            at += step.taken;
            self.taken += step.taken as u64;
            out.take(step.found, self.taken);
        }
        input.drain(..at);
        self.incomplete = input;
        out.decoded
    }

    /// Returns the number of bytes decoded so far. Incomplete input is not included.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// True if the incomplete input may be complete: an ESC is a key of its own if nothing follows. Also true within a
    /// reply of the terminal, which ends at a pause. Call [`timeout`](Self::timeout) if no input arrives within some
    /// tens of milliseconds.
    #[must_use]
    pub fn pending(&self) -> bool {
        matches!(self.state, DecoderState::Answer) || ground::after_timeout(&self.incomplete).is_some()
    }

    /// Decodes incomplete input as if nothing follows. Input that cannot be complete (a partial character, a sequence
    /// with numbers, a paste) stays incomplete.
    #[must_use]
    pub fn timeout(&mut self) -> Vec<DecodedGesture> {
        // A terminal writes a reply without a pause. After a pause, the input was typed by the user and is not a reply.
        if matches!(self.state, DecoderState::Answer) {
            self.state = DecoderState::Ground;
        }
        let mut out = GestureBuffer::default();
        while let Some(InputToken { taken, found }) = ground::after_timeout(&self.incomplete) {
            self.incomplete.drain(..taken);
            self.taken += taken as u64;
            out.take(found, self.taken);
        }
        out.decoded
    }

    fn step(&mut self, input: &[u8]) -> Option<InputToken> {
        match &mut self.state {
            DecoderState::Ground => {
                let step = ground::step(input)?;
                match step.found {
                    InputTokenKind::PasteBegins => self.state = DecoderState::Paste(Paste::default()),
                    InputTokenKind::AnswerBegins => self.state = DecoderState::Answer,
                    InputTokenKind::Overlong => self.state = DecoderState::Overlong,
                    _ => {}
                }
                Some(step)
            }
            DecoderState::Paste(paste) => {
                let step = paste.take(input);
                if matches!(step.found, InputTokenKind::Gesture(_)) {
                    self.state = DecoderState::Ground;
                }
                Some(step)
            }
            DecoderState::Answer => {
                let (taken, ended) = ground::rest_of_answer(input)?;
                if ended {
                    self.state = DecoderState::Ground;
                }
                Some(InputToken { taken, found: InputTokenKind::Nothing })
            }
            DecoderState::Overlong => {
                let (taken, ended) = ground::rest_of_sequence(input);
                if ended {
                    self.state = DecoderState::Ground;
                }
                Some(InputToken { taken, found: InputTokenKind::Nothing })
            }
        }
    }
}

/// Collects gestures, and merges consecutive characters.
#[derive(Default)]
struct GestureBuffer {
    decoded: Vec<DecodedGesture>,
}

impl GestureBuffer {
    fn take(&mut self, found: InputTokenKind, end: u64) {
        let gesture = match found {
            InputTokenKind::Text(text) => {
                if let Some(DecodedGesture { gesture: Gesture::Text(before), end: last }) = self.decoded.last_mut() {
                    before.push_str(&text);
                    *last = end;
                    return;
                }
                Gesture::Text(text)
            }
            InputTokenKind::Gesture(gesture) => gesture,
            InputTokenKind::Nothing
            | InputTokenKind::PasteBegins
            | InputTokenKind::AnswerBegins
            | InputTokenKind::Overlong => return,
        };
        self.decoded.push(DecodedGesture { gesture, end });
    }
}

/// Bracketed paste whose end marker has not been read yet.
#[derive(Debug, Default)]
struct Paste {
    /// Pasted bytes, and possibly the beginning of the end marker.
    bytes: Vec<u8>,
    /// Offset before which the end marker cannot begin.
    searched: usize,
    cut: bool,
}

impl Paste {
    fn take(&mut self, input: &[u8]) -> InputToken {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(input);
        let found = memchr::memmem::find(&self.bytes[self.searched..], PASTE_END);
        let Some(end) = found.map(|index| self.searched + index) else {
            self.shorten();
            return InputToken { taken: input.len(), found: InputTokenKind::Nothing };
        };
        let kept = end.min(MAX_PASTE_BYTES);
        let mut text = String::from_utf8_lossy(&self.bytes[..kept]).into_owned();
        if self.cut || kept < end {
            // Truncation may have split a character.
            text.truncate(text.trim_end_matches(char::REPLACEMENT_CHARACTER).len());
        }
        let taken = end + PASTE_END.len() - before;
        InputToken { taken, found: InputTokenKind::Gesture(Gesture::Paste(text)) }
    }

    /// Drops bytes beyond the limit, except the last few, in which the end marker may begin.
    fn shorten(&mut self) {
        let tail = self.bytes.len().saturating_sub(PASTE_END.len() - 1);
        self.searched = self.searched.max(tail);
        if tail > MAX_PASTE_BYTES {
            self.bytes.drain(MAX_PASTE_BYTES..tail);
            self.searched = MAX_PASTE_BYTES;
            self.cut = true;
        }
    }
}
