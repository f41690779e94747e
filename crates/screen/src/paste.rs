//! Which bytes a terminal sends for a paste, so that what is pasted stays text: a program that asked for markers can tell
//! it from typing, and nothing inside can close the markers early.

use crate::modes::Modes;

const START: &str = "\x1b[200~";
const END: &str = "\x1b[201~";

/// What is left out: controls but for tabs and line breaks. Text has no use for them; ESC, and its one-character form of
/// `ESC [`, could write the end marker and have the rest obeyed as typing, and without markers every control is obeyed.
fn harmful(character: char) -> bool {
    character.is_control() && !matches!(character, '\t' | '\n' | '\r')
}

/// The bytes of one paste.
///
/// Without markers a line break becomes what the enter key sends. With them it stays as it is.
#[must_use]
pub fn encode(text: &str, modes: &Modes) -> Vec<u8> {
    let harmless = text.replace(harmful, "");
    if modes.bracketed_paste {
        [START, &harmless, END].concat().into_bytes()
    } else {
        harmless.replace("\r\n", "\r").replace('\n', "\r").into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bracketed(text: &str) -> String {
        let modes = Modes { bracketed_paste: true, ..Modes::default() };
        String::from_utf8(encode(text, &modes)).expect("text stays text")
    }

    fn unmarked(text: &str) -> String {
        String::from_utf8(encode(text, &Modes::default())).expect("text stays text")
    }

    #[test]
    fn a_program_that_asks_for_markers_gets_them() {
        assert_eq!(bracketed("ls -l"), "\x1b[200~ls -l\x1b[201~");
        assert_eq!(bracketed(""), "\x1b[200~\x1b[201~");
        assert_eq!(bracketed("a\nb\r\nc\td"), "\x1b[200~a\nb\r\nc\td\x1b[201~");
    }

    #[test]
    fn without_markers_a_line_break_is_what_enter_sends() {
        assert_eq!(unmarked("ls -l"), "ls -l");
        assert_eq!(unmarked("a\nb\r\nc\rd\n\n"), "a\rb\rc\rd\r\r");
        assert_eq!(unmarked("é日\t🙂"), "é日\t🙂");
    }

    #[test]
    fn pasted_text_cannot_close_the_markers() {
        for hostile in ["\x1b[201~rm -rf /\n", "\x1b\x1b[201~[201~rm -rf /\n", "\u{9b}201~rm -rf /\n", "\x03rm -rf /\n"]
        {
            let sent = bracketed(hostile);
            let inside = sent.strip_prefix(START).and_then(|rest| rest.strip_suffix(END));
            assert!(inside.is_some_and(|text| !text.contains(harmful)), "{sent:?}");
        }
        assert_eq!(bracketed("\x1b[201~x"), "\x1b[200~[201~x\x1b[201~");
    }

    proptest! {
        #[test]
        fn between_the_markers_there_is_no_escape(text in any::<String>()) {
            let sent = bracketed(&text);
            prop_assert_eq!(sent.matches('\x1b').count(), 2);
            prop_assert!(sent.starts_with(START) && sent.ends_with(END));
        }

        #[test]
        fn without_markers_only_line_breaks_change_and_controls_go(text in any::<String>()) {
            let sent = unmarked(&text);
            prop_assert!(!sent.contains('\n') && !sent.contains(harmful));
            let words = |text: &str| text.replace(|character: char| character != '\t' && character.is_control(), "");
            prop_assert_eq!(words(&sent), words(&text));
        }
    }
}
