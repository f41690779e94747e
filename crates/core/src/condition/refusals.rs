//! Tests of invalid conditions and their error messages.

use super::*;

#[track_caller]
fn refused(source: &str, expected: &str) {
    let error = Condition::parse(source).expect_err(source);
    assert_eq!(error.to_string(), expected, "{source}");
}

#[test]
fn an_error_says_where_and_what_to_do() {
    for (source, expected) in [
        ("", "at 0: expected a condition, as in message_count > 5"),
        ("  ", "at 2: expected a condition, as in message_count > 5"),
        ("screen_contains", "at 15: expected a quoted text after screen_contains"),
        ("screen_contains ready", "at 16: expected a quoted text after screen_contains"),
        ("title_contains /x/", "at 15: expected a quoted text after title_contains"),
        ("screen_contains 'x", "at 16: the text is not closed; end it with '"),
        ("screen_contains \"\"", "at 16: an empty text always matches; give screen_contains a text to find"),
        (r#"screen_contains "\q""#, r#"at 17: unknown escape; use \" \' \\ \/ \n \r \t \b \f or \uXXXX"#),
        (r#"screen_contains "\u12""#, r"at 17: expected four hexadecimal digits after \u, as in \u00e9"),
        (r#"screen_contains "\u+123""#, r"at 17: expected four hexadecimal digits after \u, as in \u00e9"),
        (r#"screen_contains "\ud83d""#, "at 17: half a surrogate pair; write both halves, or the character itself"),
        (r#"screen_contains "\ude42""#, "at 17: half a surrogate pair; write both halves, or the character itself"),
        (
            r#"screen_contains "\ud83d\u0041""#,
            "at 17: half a surrogate pair; write both halves, or the character itself",
        ),
        ("screen_matches 'x'", "at 15: expected a /pattern/ after screen_matches"),
        (r"screen_matches /x\/", r"at 15: the pattern is not closed; end it with /, and write a / inside it as \/"),
        (r"screen_matches /x\", r"at 15: the pattern is not closed; end it with /, and write a / inside it as \/"),
        ("screen_matches //", "at 15: an empty pattern always matches; give screen_matches a pattern to find"),
        ("screen_matches /x/ig", "at 19: unknown flag g; the flags are i, m, s and x, with a blank after the last one"),
        ("screen_matches /(/", "at 15: the pattern is not a valid regular expression: unclosed group"),
        (
            "screen_matches /(?=x)/",
            "at 15: the pattern is not a valid regular expression: \
             look-around, including look-ahead and look-behind, is not supported",
        ),
        ("message_count", "at 13: expected >, >=, <, <=, == or != after message_count"),
        ("message_count 5", "at 14: expected >, >=, <, <=, == or != after message_count"),
        ("frames >", "at 8: expected a whole number after frames >"),
        ("frames > -1", "at 9: expected a whole number after frames >"),
        ("frames >= 1.5", "at 10: expected a whole number after frames >="),
        ("frames > 18446744073709551616", "at 9: the number is too large, give at most 18446744073709551615"),
        ("screen_stable", "at 13: expected a whole number of milliseconds after screen_stable"),
        ("screen_stable 5min", r#"at 15: unknown unit "min", use ms or s"#),
        ("screen_stable 86401s", "at 14: screen_stable takes at most a day, 86400s; lower it"),
        ("screen_stable 18446744073709551615s", "at 14: screen_stable takes at most a day, 86400s; lower it"),
        ("cursor_at 3 4", "at 12: expected a comma and the row, as in cursor_at 0,3"),
        ("cursor_at 3,", "at 12: expected a whole number for the row after cursor_at"),
        ("cursor_at 65536,0", "at 10: the number is too large, give at most 65535"),
        ("exited exited", "at 7: expected and, or, or the end of the condition"),
        ("exited adn exited", "at 7: expected and, or, or the end of the condition; did you mean and?"),
        ("exited & exited", "at 7: expected and, or, or the end of the condition"),
        ("exited)", "at 6: expected and, or, or the end of the condition"),
        ("exited and", "at 10: expected a condition, as in message_count > 5"),
        ("not", "at 3: expected a condition, as in message_count > 5"),
        ("(exited", "at 7: expected and, or, or the ) that closes the ( at 0"),
        ("()", "at 1: expected a condition, as in message_count > 5"),
        ("screen_contain 'x'", r#"at 0: unknown condition "screen_contain"; did you mean screen_contains?"#),
        (
            "not no-pending-operations",
            r#"at 4: unknown condition "no-pending-operations"; did you mean no_pending_operations?"#,
        ),
        (
            "é and banana",
            "at 0: unknown condition \"é\"; use one of message_count, frames, screen_contains, screen_matches, \
             screen_stable, cursor_at, title_contains, exited, reasoning_active, reasoning_complete, no_pending_operations, idle, question",
        ),
        (
            "日本 or",
            "at 0: unknown condition \"日本\"; use one of message_count, frames, screen_contains, screen_matches, \
             screen_stable, cursor_at, title_contains, exited, reasoning_active, reasoning_complete, no_pending_operations, idle, question",
        ),
    ] {
        refused(source, expected);
    }
}

#[test]
fn positions_count_characters() {
    refused(
        "screen_contains 'é日🙂' xor exited",
        "at 22: expected and, or, or the end of the condition; did you mean or?",
    );
}

#[test]
fn an_unknown_word_is_not_echoed_whole() {
    let error = Condition::parse(&"x".repeat(4000)).expect_err("unknown");
    assert!(error.message.contains(&format!("\"{}…\"", "x".repeat(40))));
    assert!(error.message.len() < 300);
}

#[test]
fn a_condition_is_bounded() {
    let padded = |length: usize| format!("exited{}", " ".repeat(length - "exited".len()));
    assert!(Condition::parse(&padded(MAX_CONDITION_BYTES)).is_ok());
    refused(
        &padded(MAX_CONDITION_BYTES + 1),
        "at 0: the condition has 4097 bytes, at most 4096 are allowed; shorten it",
    );

    let nested = |depth: usize| format!("{}exited{}", "(".repeat(depth), ")".repeat(depth));
    let nested_message = "parentheses and nots are nested deeper than 32; write the condition flatter";
    assert!(Condition::parse(&nested(MAX_NESTING_DEPTH)).is_ok());
    refused(&nested(MAX_NESTING_DEPTH + 1), &format!("at 32: {nested_message}"));
    assert!(Condition::parse(&format!("{}exited", "!".repeat(MAX_NESTING_DEPTH))).is_ok());
    refused(&"not ".repeat(1000), &format!("at 128: {nested_message}"));
    refused(&"!(".repeat(2000), &format!("at 32: {nested_message}"));
    let wide = vec!["(not exited)"; 200].join(" and ");
    assert!(Condition::parse(&wide).is_ok());

    refused(
        r"screen_matches /\w{1000}{1000}/",
        "at 15: the pattern takes more than 262144 bytes compiled; lower its repetitions or shorten it",
    );
    let patterns = |count: usize| vec!["screen_matches /a/"; count].join(" or ");
    assert!(Condition::parse(&patterns(MAX_PATTERNS)).is_ok());
    refused(
        &patterns(MAX_PATTERNS + 1),
        "at 191: a condition has at most 8 patterns; join some of them with | inside one",
    );
}
