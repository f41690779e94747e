//! Text from elsewhere made safe to draw: nothing in it may move the cursor, change colours or turn the writing around.

use std::borrow::Cow;

/// The text with each control character as a symbol that can be seen. Line breaks and tabs stay; a carriage return is a
/// line break.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(unsafe_to_draw) {
        return Cow::Borrowed(text);
    }
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(
        unified
            .chars()
            .map(|character| if unsafe_to_draw(character) { symbol(character) } else { character })
            .collect(),
    )
}

fn unsafe_to_draw(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // These turn the direction of writing, and so can make text look like another.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // And these break lines.
        '\u{2028}' | '\u{2029}' => true,
        _ => character.is_control(),
    }
}

fn symbol(character: char) -> char {
    match u32::from(character) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '␡',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_seen_and_not_obeyed() {
        assert_eq!(visible("a\x1b[31mb\x07\x7f\u{9b}"), "a␛[31mb␇␡\u{fffd}");
        assert_eq!(visible("a\r\nb\rc\td"), "a\nb\nc\td");
        assert_eq!(visible("a\u{202e}b"), "a\u{fffd}b");
        assert!(matches!(visible("ordinary\n"), Cow::Borrowed(_)));
    }
}
