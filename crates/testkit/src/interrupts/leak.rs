//! Detects ids of model providers, such as `msg_…`, and lines of an agent's log in user-visible text. Pure.

/// Prefixes of the ids that model providers assign.
const ID_PREFIXES: [&str; 7] = ["msg_", "resp_", "toolu_", "call_", "fc_", "req_", "rs_"];

/// Minimum number of characters after a prefix. Shorter words are not ids.
const MIN_ID_CHARACTERS: usize = 6;

/// Typical parts of agents' stderr lines. They do not occur in wh's own messages.
const LOG_SIGNS: [&str; 10] =
    ["\n", "\u{1b}", "file:///", "node:internal", "panicked at", "Warning: ", " ERROR ", " WARN ", " INFO ", "Error: "];

/// Returns the first provider id or log fragment in `text`.
pub(super) fn find(text: &str) -> Option<String> {
    let of_word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let mut words = text.split(|character: char| !of_word(character));
    let id = words.find(|word| is_uuid(word) || is_vendor_id(word)).map(str::to_owned);
    id.or_else(|| LOG_SIGNS.iter().find(|sign| text.contains(*sign)).map(|sign| format!("{:?}", sign.trim())))
}

fn is_uuid(word: &str) -> bool {
    let groups: Vec<&str> = word.split('-').collect();
    let hexadecimal = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    groups.iter().all(hexadecimal) && groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
}

fn is_vendor_id(word: &str) -> bool {
    let rest = ID_PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix));
    rest.is_some_and(|rest| rest.len() >= MIN_ID_CHARACTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_providers_are_found() {
        let uuid = "01a1b2c3-d4e5-7f60-8a9b-0c1d2e3f4a5b";
        assert_eq!(find(&format!("expected active turn id {uuid} but found `x`")).as_deref(), Some(uuid));
        assert_eq!(find(&format!("not interrupted (\"{uuid}\")")).as_deref(), Some(uuid));
        assert_eq!(find("call toolu_0123456789 failed").as_deref(), Some("toolu_0123456789"));
    }

    #[test]
    fn lines_of_a_log_are_found() {
        for text in [
            "2025-01-01T00:00:00Z ERROR codex_core: no",
            "(node:12) Warning: too many listeners",
            "\u{1b}[2mdim\u{1b}[0m",
            "it ended\n    at main (file:///cli.js:1:1)",
        ] {
            assert!(find(text).is_some(), "{text}");
        }
    }

    #[test]
    fn words_for_people_are_left_alone() {
        for text in [
            "cancelled",
            "no turn is running, so there is nothing to interrupt",
            "Gemini CLI has not stopped within 5s of the interrupt",
            "call_me when it is well-formed; dead-beef is no id",
            "409 {\"error\":\"Nothing to interrupt\"}",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
