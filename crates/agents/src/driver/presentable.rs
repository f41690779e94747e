//! Removes the ids of providers and escape sequences from texts about an agent before users see these texts.

/// Length of a UUID with hyphens, in bytes.
const UUID_LENGTH: usize = 36;

/// Prefixes of ids that providers assign to messages, calls and requests.
const ID_PREFIXES: [&str; 9] = ["toolu_", "msg_", "req_", "call_", "thread_", "turn_", "resp_", "session_", "item_"];

/// Replaces each provider id in a text by `…`, and removes escape sequences.
pub(crate) fn presentable(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(sequence) = rest.strip_prefix("\u{1b}[") {
            let end = sequence.find(|one: char| ('@'..='~').contains(&one)).map_or(sequence.len(), |end| end + 1);
            rest = &sequence[end..];
            continue;
        }
        let end = rest.find(|one: char| !is_part_of_id(one)).unwrap_or(rest.len());
        if end == 0 {
            clean.push(character);
            rest = &rest[character.len_utf8()..];
            continue;
        }
        clean.push_str(if is_id(&rest[..end]) { "…" } else { &rest[..end] });
        rest = &rest[end..];
    }
    clean
}

fn is_part_of_id(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '-' || character == '_'
}

fn is_id(word: &str) -> bool {
    let is_uuid = word.len() == UUID_LENGTH
        && word.char_indices().all(|(at, one)| match at {
            8 | 13 | 18 | 23 => one == '-',
            _ => one.is_ascii_hexdigit(),
        });
    let is_named = |prefix: &str| {
        word.strip_prefix(prefix).is_some_and(|id| id.len() >= 8 && id.bytes().any(|one| one.is_ascii_digit()))
    };
    is_uuid || ID_PREFIXES.iter().any(|prefix| is_named(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_provider_are_left_out_and_other_words_stay() {
        let cases = [
            (
                "expected active turn id 01a1b2c3-0000-7000-8000-0123456789ab but found none",
                "expected active turn id … but found none",
            ),
            ("no rollout found for (01a1b2c3-0000-7000-8000-0123456789ab)", "no rollout found for (…)"),
            ("toolu_01AbCdEf23 failed", "… failed"),
            ("session_id is missing, call_back later", "session_id is missing, call_back later"),
            ("\u{1b}[31mred\u{1b}[0m ü 字", "red ü 字"),
            ("file-01a1b2c3.txt is not there", "file-01a1b2c3.txt is not there"),
            ("\u{1b}[", ""),
            ("", ""),
        ];
        for (text, clean) in cases {
            assert_eq!(presentable(text), clean);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cleaned_without_a_panic(text in "\\PC*|[\u{1b}\\[0-9a-f_-]{0,60}") {
            let once = presentable(&text);
            proptest::prop_assert!(once.len() <= text.len() + 3 * 12);
        }
    }
}
