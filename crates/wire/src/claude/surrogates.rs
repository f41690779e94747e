//! Repairs unpaired surrogate escapes. JavaScript programs may cut a string inside a surrogate pair and write the
//! remaining half as an escape such as `\ud83d`, which strict JSON parsers reject.

use std::ops::Range;

/// Returns the text with every unpaired surrogate escape replaced by `\ufffd`; `None` if the text has none.
pub(super) fn replace_unpaired(text: &str) -> Option<String> {
    let mut mended = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = text.get(at..)?.find('\\') {
        at += found;
        match (unit(text, at), unit(text, at + 6)) {
            (Some(first), Some(second)) if HIGH_SURROGATES.contains(&first) && LOW_SURROGATES.contains(&second) => {
                at += 12
            }
            (Some(lone), _) if HIGH_SURROGATES.contains(&lone) || LOW_SURROGATES.contains(&lone) => {
                mended.push_str(text.get(kept..at)?);
                mended.push_str("\\ufffd");
                at += 6;
                kept = at;
            }
            _ => at += 2,
        }
    }
    (kept > 0).then(|| mended + text.get(kept..).unwrap_or_default())
}

const HIGH_SURROGATES: Range<u16> = 0xd800..0xdc00;
const LOW_SURROGATES: Range<u16> = 0xdc00..0xe000;

/// Parses the escape `\uXXXX` at byte offset `at`; `None` if that offset has no such escape.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpaired_surrogates_are_replaced() {
        assert_eq!(replace_unpaired(r#""\ud83d""#).unwrap(), r#""\ufffd""#);
        assert_eq!(replace_unpaired(r#""a\uDE00b\ud83d\ud83d\ude00""#).unwrap(), r#""a\ufffdb\ufffd\ud83d\ude00""#);
    }

    #[test]
    fn pairs_other_escapes_and_escaped_backslashes_are_unchanged() {
        for text in ["", "\\", "é\\é", r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u0041\n""#, r#""\u+12""#] {
            assert_eq!(replace_unpaired(text), None, "{text}");
        }
    }
}
