//! Writes JSON for asciicast: on one line, without characters that a terminal would interpret or that tools may take
//! for the end of a line.

/// Returns the text as a quoted JSON string.
pub(super) fn string(text: &str) -> String {
    let mut quoted = String::new();
    push_string(text, &mut quoted);
    quoted
}

/// Appends the text as a quoted JSON string.
pub(super) fn push_string(text: &str, into: &mut String) {
    into.reserve(text.len() + text.len() / 4 + 2);
    into.push('"');
    let mut plain_from = 0;
    for (at, first) in text.bytes().enumerate().filter(|(_, byte)| may_need_an_escape(*byte)) {
        // The matched bytes are always the first byte of a character, so `at` is a character boundary.
        let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) else { continue };
        if first.is_ascii() || needs_an_escape(character) {
            into.push_str(&text[plain_from..at]);
            push_escape(character, into);
            plain_from = at + character.len_utf8();
        }
    }
    into.push_str(&text[plain_from..]);
    into.push('"');
}

/// Fast filter by a character's first byte: false for nearly all characters.
fn may_need_an_escape(first: u8) -> bool {
    matches!(first, 0x00..=0x1f | b'"' | b'\\' | 0x7f | 0xc2 | 0xe2 | 0xef)
}

/// True for non-ASCII characters to escape. The format requires an escape for unprintable characters, and some tools
/// end lines at the line and paragraph separators.
fn needs_an_escape(character: char) -> bool {
    matches!(character, '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn push_escape(character: char, into: &mut String) {
    match character {
        '"' => into.push_str("\\\""),
        '\\' => into.push_str("\\\\"),
        '\n' => into.push_str("\\n"),
        '\r' => into.push_str("\\r"),
        '\t' => into.push_str("\\t"),
        '\u{8}' => into.push_str("\\b"),
        '\u{c}' => into.push_str("\\f"),
        // All remaining characters are in the basic plane, so four digits are enough.
        other => {
            into.push_str("\\u");
            let digits = [12, 8, 4, 0].map(|shift| (u32::from(other) >> shift) & 0xf);
            into.extend(digits.iter().filter_map(|digit| char::from_digit(*digit, 16)));
        }
    }
}

/// Returns a JSON object of the members that have a value. The values must be valid JSON.
pub(super) fn object<'a>(members: impl IntoIterator<Item = (&'a str, Option<String>)>) -> String {
    let members: Vec<String> = members
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| format!("{}:{value}", string(name))))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// Returns a JSON array of the values, which must be valid JSON.
pub(super) fn array(values: impl IntoIterator<Item = String>) -> String {
    let values: Vec<String> = values.into_iter().collect();
    format!("[{}]", values.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unprintable_characters_are_escaped() {
        assert_eq!(
            string("a\"\\\n\r\t\u{8}\u{c}\0\x1b\x7f\u{9b}\u{2028}\u{feff}é日😀"),
            r#""a\"\\\n\r\t\b\f\u0000\u001b\u007f\u009b\u2028\ufeffé日😀""#
        );
    }

    #[test]
    fn members_without_a_value_are_left_out() {
        assert_eq!(object([("a", Some("1".to_owned())), ("b", None), ("c", Some(array([])))]), r#"{"a":1,"c":[]}"#);
    }

    proptest! {
        #[test]
        fn any_text_is_read_back(text in any::<String>()) {
            let quoted = string(&text);
            prop_assert!(!quoted.contains(char::is_control));
            prop_assert_eq!(serde_json::from_str::<String>(&quoted).expect("valid JSON"), text);
        }
    }
}
