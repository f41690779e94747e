//! Decodes a program's output as UTF-8 across chunk boundaries, since JSON cannot contain raw bytes.

use std::borrow::Cow;

/// Decodes UTF-8 in chunks. Characters may be split between chunks, and invalid bytes become U+FFFD.
#[derive(Debug, Default)]
pub(super) struct Utf8Decoder {
    /// Beginning of an incomplete character, at most three bytes.
    held: Vec<u8>,
}

impl Utf8Decoder {
    /// Decodes the next chunk. An incomplete character at its end is held back for the next chunk, and invalid bytes
    /// become U+FFFD.
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        let held = std::mem::take(&mut self.held);
        let joined = if held.is_empty() { Cow::Borrowed(bytes) } else { Cow::Owned([&held, bytes].concat()) };
        let (complete, rest) = joined.split_at(joined.len() - unfinished(&joined));
        self.held = rest.to_vec();
        match &joined {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(&bytes[..complete.len()]),
            Cow::Owned(_) => Cow::Owned(String::from_utf8_lossy(complete).into_owned()),
        }
    }

    /// Ends the input. Returns U+FFFD if the input ends with an incomplete character.
    pub fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        String::from_utf8_lossy(&held).into_owned()
    }
}

/// Returns the number of bytes at the end that begin a character without completing it.
fn unfinished(bytes: &[u8]) -> usize {
    let begins_a_character = |length: &usize| {
        let tail = &bytes[bytes.len() - length..];
        std::str::from_utf8(tail).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).find(begins_a_character).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut decoder = Utf8Decoder::default();
        let mut texts: Vec<String> = pieces.into_iter().map(|piece| decoder.push(piece).into_owned()).collect();
        texts.push(decoder.finish());
        texts
    }

    #[test]
    fn a_cut_character_waits_for_its_end() {
        assert_eq!(decode([&b"a\xf0"[..], b"\x9f", b"\x98", b"\x80b"]), ["a", "", "", "😀b", ""]);
    }

    #[test]
    fn bytes_that_are_no_character_are_replaced_at_once() {
        assert_eq!(decode([&b"\xff"[..], b"\x80x", b"\xed\xa0"]), ["\u{fffd}", "\u{fffd}x", "\u{fffd}\u{fffd}", ""]);
    }

    #[test]
    fn a_cut_character_without_an_end_is_replaced() {
        assert_eq!(decode([&b"\xe6\x97"[..], b"x"]), ["", "\u{fffd}x", ""]);
        assert_eq!(decode([&b"\xe6\x97"[..]]), ["", "\u{fffd}"]);
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(pieces in prop::collection::vec(mostly_text(), 0..20)) {
            let whole = pieces.concat();
            let decoded = decode(pieces.iter().map(Vec::as_slice)).concat();
            prop_assert_eq!(decoded, String::from_utf8_lossy(&whole));
        }
    }

    /// Generates parts of characters, so that joining them gives complete, split and invalid ones.
    fn mostly_text() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop::sample::select(b"a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\xff\xed\xa0\xf4\x90\xc0".to_vec());
        prop::collection::vec(prop_oneof![byte, any::<u8>()], 0..6)
    }
}
