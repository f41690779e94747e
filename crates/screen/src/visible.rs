//! Escapes characters that control a terminal, reorder text or are invisible. The terminal UI and every command that
//! prints untrusted text use this module and no other escaping. See docs/decisions/026-untrusted-text.md.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

pub use wh_core::hidden::is_hidden;

/// Flags of England, Scotland and Wales: the only sequences in which tag characters are not escaped.
const TAG_FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// Escapes text of several lines. Line feeds and tabs are unchanged; a carriage return becomes a line feed.
///
/// C0 controls become control pictures (`␛`). Other characters that are [hidden](is_hidden) are written as an escape
/// such as `\u{202e}`. Exceptions are parts of an emoji, and parts of a word that cannot be spelled without them.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(|character| is_hidden(character) && !matches!(character, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(escaped(&unified, |character| matches!(character, '\n' | '\t')))
}

/// Escapes text for a single line: line breaks and tabs are escaped too.
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(escaped(text, |_| false))
}

fn escaped(text: &str, keeps: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    let mut before = None;
    while let Some(character) = rest.next() {
        if !is_hidden(character) || keeps(character) || is_part(character, before, &mut rest) {
            out.push(character);
            if character == '\u{1f3f4}' {
                keep_tags(&mut rest, &mut out);
            }
            before = Some(character);
        } else {
            escape(character, &mut out);
            before = None;
        }
    }
    out
}

/// True for a hidden character that its neighbours require: a joiner or a variation selector within an emoji, a joiner
/// between letters of a script that uses it in spelling, a variation selector of an ideograph.
fn is_part(character: char, before: Option<char>, rest: &mut Peekable<Chars<'_>>) -> bool {
    let Some(before) = before else { return false };
    let next = rest.peek().copied();
    match character {
        '\u{200d}' if ends_emoji(before) => next.is_some_and(is_emoji),
        '\u{200c}' | '\u{200d}' => spells_with_joiners(before) && next.is_some_and(spells_with_joiners),
        '\u{fe0e}' | '\u{fe0f}' => is_emoji(before) || (is_keycap(before) && next == Some('\u{20e3}')),
        '\u{e0100}'..='\u{e01ef}' => is_ideograph(before),
        _ => false,
    }
}

/// Copies the tag characters of a known flag unchanged, if they follow a black flag.
fn keep_tags(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    for tags in TAG_FLAGS {
        let mut ahead = rest.clone();
        if tags.chars().all(|tag| ahead.next() == Some(tag)) {
            out.push_str(tags);
            *rest = ahead;
            return;
        }
    }
}

fn escape(character: char, out: &mut String) {
    let code = u32::from(character);
    match code {
        0..=0x1f => out.push(char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER)),
        0x7f => out.push('␡'),
        _ => out.push_str(&format!("\\u{{{code:x}}}")),
    }
}

/// True if an emoji may end with this character, so that a joiner can continue it.
fn ends_emoji(character: char) -> bool {
    is_emoji(character) || character == '\u{fe0f}'
}

/// True for characters in the Unicode blocks that contain emoji. These blocks contain other symbols too, all of them
/// visible.
fn is_emoji(character: char) -> bool {
    matches!(character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

fn is_keycap(character: char) -> bool {
    matches!(character, '0'..='9' | '#' | '*')
}

fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// True for Arabic and the Indic scripts, whose orthography uses joiners and non-joiners.
fn spells_with_joiners(character: char) -> bool {
    matches!(character, '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}') && character.is_alphanumeric()
        || matches!(
            character,
            '\u{94d}'
                | '\u{9cd}'
                | '\u{a4d}'
                | '\u{acd}'
                | '\u{b4d}'
                | '\u{bcd}'
                | '\u{c4d}'
                | '\u{ccd}'
                | '\u{d4d}'
                | '\u{dca}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_escaped() {
        assert_eq!(visible("a\x1b[31mb\x07\x7f\u{9b}"), "a␛[31mb␇␡\\u{9b}");
        assert_eq!(visible("a\r\nb\rc\td"), "a\nb\nc\td");
        assert_eq!(visible_line("rm\nx\ty\r"), "rm␊x␉y␍");
        assert!(matches!(visible("ordinary\n\tépée 日本"), Cow::Borrowed(_)));
        assert!(matches!(visible_line("ordinary"), Cow::Borrowed(_)));
    }

    #[test]
    fn reordering_and_hidden_characters_are_escaped() {
        let hidden = "\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{180e}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\
            \u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2060}\u{2061}\u{2064}\u{2066}\u{2067}\u{2068}\u{2069}\u{206a}\u{206f}\
            \u{3164}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{fff9}\u{fffa}\u{fffb}\u{e0001}\u{e0041}\u{e007f}\u{e0100}";
        for character in hidden.chars() {
            let expected = format!("a\\u{{{:x}}}b", u32::from(character));
            assert_eq!(visible(&format!("a{character}b")), expected);
            assert_eq!(visible_line(&format!("a{character}b")), expected);
        }
    }

    #[test]
    fn emoji_and_spelling_are_unchanged() {
        for whole in [
            "e\u{301} 👩‍👩‍👧 日本",
            "👩🏽‍🚀 ❤️ ❤️‍🔥 🏳️‍🌈 1️⃣ #️⃣ ✔︎",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} 🇩🇪",
            "می\u{200c}خواهم क्\u{200d}ष",
            "葛\u{e0100}城",
        ] {
            assert_eq!(visible(whole), whole);
        }
    }

    #[test]
    fn hidden_characters_behind_an_emoji_are_escaped() {
        assert_eq!(visible("🏴\u{e0061}\u{e0062}"), "🏴\\u{e0061}\\u{e0062}");
        assert_eq!(visible("👩\u{200d}x"), "👩\\u{200d}x");
        assert_eq!(visible("😀\u{fe0f}\u{fe0f}\u{fe01}"), "😀\u{fe0f}\\u{fe0f}\\u{fe01}");
        assert_eq!(visible("1\u{fe0f}2"), "1\\u{fe0f}2");
        assert_eq!(visible("م\u{200c}a"), "م\\u{200c}a");
    }
}
