//! Encodes pastes as a terminal does. A program that enabled bracketed paste can distinguish a paste from typing:
//! pasted text cannot contain the end marker.

use crate::modes::TerminalModes;

const BRACKET_START: &str = "\x1b[200~";
const BRACKET_END: &str = "\x1b[201~";

/// True for characters that are removed: control characters except tabs and line breaks. ESC and the single-character
/// CSI could form the end marker; the rest of the paste would then count as typing. Without bracketed paste, the
/// program would interpret every control character.
fn is_removed(character: char) -> bool {
    character.is_control() && !matches!(character, '\t' | '\n' | '\r')
}

/// Encodes one paste.
///
/// Without bracketed paste a line break becomes a carriage return, as the enter key sends. With bracketed paste, line
/// breaks are unchanged.
#[must_use]
pub fn encode(text: &str, modes: &TerminalModes) -> Vec<u8> {
    let cleaned = text.replace(is_removed, "");
    if modes.bracketed_paste {
        [BRACKET_START, &cleaned, BRACKET_END].concat().into_bytes()
    } else {
        cleaned.replace("\r\n", "\r").replace('\n', "\r").into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bracketed(text: &str) -> String {
        let modes = TerminalModes { bracketed_paste: true, ..TerminalModes::default() };
        String::from_utf8(encode(text, &modes)).expect("text stays text")
    }

    fn unmarked(text: &str) -> String {
        String::from_utf8(encode(text, &TerminalModes::default())).expect("text stays text")
    }

    #[test]
    fn a_program_that_asks_for_markers_gets_them() {
        assert_eq!(bracketed("ls -l"), "\x1b[200~ls -l\x1b[201~");
        assert_eq!(bracketed(""), "\x1b[200~\x1b[201~");
        assert_eq!(bracketed("a\nb\r\nc\td"), "\x1b[200~a\nb\r\nc\td\x1b[201~");
    }

    #[test]
    fn without_markers_a_line_break_is_sent_as_enter() {
        assert_eq!(unmarked("ls -l"), "ls -l");
        assert_eq!(unmarked("a\nb\r\nc\rd\n\n"), "a\rb\rc\rd\r\r");
        assert_eq!(unmarked("é日\t🙂"), "é日\t🙂");
    }

    #[test]
    fn pasted_text_cannot_close_the_markers() {
        for hostile in ["\x1b[201~rm -rf /\n", "\x1b\x1b[201~[201~rm -rf /\n", "\u{9b}201~rm -rf /\n", "\x03rm -rf /\n"]
        {
            let sent = bracketed(hostile);
            let inside = sent.strip_prefix(BRACKET_START).and_then(|rest| rest.strip_suffix(BRACKET_END));
            assert!(inside.is_some_and(|text| !text.contains(is_removed)), "{sent:?}");
        }
        assert_eq!(bracketed("\x1b[201~x"), "\x1b[200~[201~x\x1b[201~");
    }

    proptest! {
        #[test]
        fn between_the_markers_there_is_no_escape(text in any::<String>()) {
            let sent = bracketed(&text);
            prop_assert_eq!(sent.matches('\x1b').count(), 2);
            prop_assert!(sent.starts_with(BRACKET_START) && sent.ends_with(BRACKET_END));
        }

        #[test]
        fn without_markers_only_line_breaks_change_and_controls_go(text in any::<String>()) {
            let sent = unmarked(&text);
            prop_assert!(!sent.contains('\n') && !sent.contains(is_removed));
            let words = |text: &str| text.replace(|character: char| character != '\t' && character.is_control(), "");
            prop_assert_eq!(words(&sent), words(&text));
        }
    }
}
