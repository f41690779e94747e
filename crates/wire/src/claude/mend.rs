//! Halves of surrogate pairs. JavaScript cuts strings between them, and writes the half that is left as `\ud83d`;
//! strict readers refuse the whole line for it.

use std::ops::Range;

/// The same JSON with U+FFFD for every half that stands alone; nothing if there is none.
pub(super) fn mend(text: &str) -> Option<String> {
    let mut mended = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = text.get(at..)?.find('\\') {
        at += found;
        match (unit(text, at), unit(text, at + 6)) {
            (Some(first), Some(second)) if HIGH.contains(&first) && LOW.contains(&second) => at += 12,
            (Some(lone), _) if HIGH.contains(&lone) || LOW.contains(&lone) => {
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

const HIGH: Range<u16> = 0xd800..0xdc00;
const LOW: Range<u16> = 0xdc00..0xe000;

/// The code unit of the escape `\uXXXX` that stands there.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_that_stand_alone_are_replaced() {
        assert_eq!(mend(r#""\ud83d""#).unwrap(), r#""\ufffd""#);
        assert_eq!(mend(r#""a\uDE00b\ud83d\ud83d\ude00""#).unwrap(), r#""a\ufffdb\ufffd\ud83d\ude00""#);
    }

    #[test]
    fn pairs_other_escapes_and_escaped_backslashes_stay() {
        for text in ["", "\\", "é\\é", r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u0041\n""#, r#""\u+12""#] {
            assert_eq!(mend(text), None, "{text}");
        }
    }
}
