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
        ("", "at character 0: expected a condition, such as `message_count > 5`"),
        ("  ", "at character 2: expected a condition, such as `message_count > 5`"),
        ("screen_contains", "at character 15: expected a quoted text after `screen_contains`"),
        ("screen_contains ready", "at character 16: expected a quoted text after `screen_contains`"),
        ("title_contains /x/", "at character 15: expected a quoted text after `title_contains`"),
        ("screen_contains 'x", "at character 16: the closing quotation mark is missing; end the text with '"),
        (
            "screen_contains \"\"",
            "at character 16: an empty text always matches; give `screen_contains` a text to find",
        ),
        (r#"screen_contains "\q""#, r#"at character 17: unknown escape; use \" \' \\ \/ \n \r \t \b \f or \uXXXX"#),
        (r#"screen_contains "\u12""#, r"at character 17: expected four hexadecimal digits after \u, as in \u00e9"),
        (r#"screen_contains "\u+123""#, r"at character 17: expected four hexadecimal digits after \u, as in \u00e9"),
        (
            r#"screen_contains "\ud83d""#,
            r"at character 17: incomplete surrogate pair; write both \uXXXX escapes, or the character itself",
        ),
        (
            r#"screen_contains "\ude42""#,
            r"at character 17: incomplete surrogate pair; write both \uXXXX escapes, or the character itself",
        ),
        (
            r#"screen_contains "\ud83d\u0041""#,
            r"at character 17: incomplete surrogate pair; write both \uXXXX escapes, or the character itself",
        ),
        ("screen_matches 'x'", "at character 15: expected a /pattern/ after `screen_matches`"),
        (
            r"screen_matches /x\/",
            r"at character 15: the closing / is missing; end the pattern with /, and write a / inside the pattern as \/",
        ),
        (
            r"screen_matches /x\",
            r"at character 15: the closing / is missing; end the pattern with /, and write a / inside the pattern as \/",
        ),
        (
            "screen_matches //",
            "at character 15: an empty pattern always matches; give `screen_matches` a pattern to find",
        ),
        (
            "screen_matches /x/ig",
            "at character 19: unknown flag `g`; use i, m, s or x, and write a space after the last flag",
        ),
        ("screen_matches /(/", "at character 15: the pattern is not a valid regular expression: unclosed group"),
        (
            "screen_matches /(?=x)/",
            "at character 15: the pattern is not a valid regular expression: \
             look-around, including look-ahead and look-behind, is not supported",
        ),
        ("message_count", "at character 13: expected >, >=, <, <=, == or != after `message_count`"),
        ("message_count 5", "at character 14: expected >, >=, <, <=, == or != after `message_count`"),
        ("frames >", "at character 8: expected a whole number after `frames >`"),
        ("frames > -1", "at character 9: expected a whole number after `frames >`"),
        ("frames >= 1.5", "at character 10: expected a whole number after `frames >=`"),
        ("frames > 18446744073709551616", "at character 9: the number is too large; give at most 18446744073709551615"),
        ("screen_stable", "at character 13: expected a whole number of milliseconds after `screen_stable`"),
        ("screen_stable 5min", r#"at character 15: unknown unit "min"; use ms or s"#),
        (
            "screen_stable 86401s",
            "at character 14: `screen_stable` accepts at most one day (86400s); use a shorter time",
        ),
        (
            "screen_stable 18446744073709551615s",
            "at character 14: `screen_stable` accepts at most one day (86400s); use a shorter time",
        ),
        ("cursor_at 3 4", "at character 12: expected a comma and the row, as in `cursor_at 0,3`"),
        ("cursor_at 3,", "at character 12: expected a whole number for the row after `cursor_at`"),
        ("cursor_at 65536,0", "at character 10: the number is too large; give at most 65535"),
        ("exited exited", "at character 7: expected `and`, `or`, or the end of the condition"),
        ("exited adn exited", "at character 7: expected `and`, `or`, or the end of the condition; did you mean `and`?"),
        ("exited & exited", "at character 7: expected `and`, `or`, or the end of the condition"),
        ("exited)", "at character 6: expected `and`, `or`, or the end of the condition"),
        ("exited and", "at character 10: expected a condition, such as `message_count > 5`"),
        ("not", "at character 3: expected a condition, such as `message_count > 5`"),
        ("(exited", "at character 7: expected `and`, `or`, or the `)` that closes the `(` at character 0"),
        ("()", "at character 1: expected a condition, such as `message_count > 5`"),
        (
            "screen_contain 'x'",
            r#"at character 0: unknown condition "screen_contain"; did you mean `screen_contains`?"#,
        ),
        (
            "not no-pending-operations",
            r#"at character 4: unknown condition "no-pending-operations"; did you mean `no_pending_operations`?"#,
        ),
        (
            "é and banana",
            "at character 0: unknown condition \"é\"; use one of message_count, frames, screen_contains, screen_matches, \
             screen_stable, cursor_at, title_contains, exited, reasoning_active, reasoning_complete, no_pending_operations, idle, question",
        ),
        (
            "日本 or",
            "at character 0: unknown condition \"日本\"; use one of message_count, frames, screen_contains, screen_matches, \
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
        "at character 22: expected `and`, `or`, or the end of the condition; did you mean `or`?",
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
        "at character 0: the condition has 4097 bytes; shorten it to at most 4096 bytes",
    );

    let nested = |depth: usize| format!("{}exited{}", "(".repeat(depth), ")".repeat(depth));
    let nested_message = "the condition nests parentheses and `not` deeper than 32 levels; simplify it";
    assert!(Condition::parse(&nested(MAX_NESTING_DEPTH)).is_ok());
    refused(&nested(MAX_NESTING_DEPTH + 1), &format!("at character 32: {nested_message}"));
    assert!(Condition::parse(&format!("{}exited", "!".repeat(MAX_NESTING_DEPTH))).is_ok());
    refused(&"not ".repeat(1000), &format!("at character 128: {nested_message}"));
    refused(&"!(".repeat(2000), &format!("at character 32: {nested_message}"));
    let wide = vec!["(not exited)"; 200].join(" and ");
    assert!(Condition::parse(&wide).is_ok());

    refused(
        r"screen_matches /\w{1000}{1000}/",
        "at character 15: the compiled pattern takes more than 262144 bytes; use smaller repetition counts or shorten it",
    );
    let patterns = |count: usize| vec!["screen_matches /a/"; count].join(" or ");
    assert!(Condition::parse(&patterns(MAX_PATTERNS)).is_ok());
    refused(
        &patterns(MAX_PATTERNS + 1),
        "at character 191: a condition may have at most 8 patterns; combine several into one with |",
    );
}
