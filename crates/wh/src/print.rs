//! What is printed on standard output: the words of others without anything that a terminal would obey, JSON on one
//! line, and no complaint when the reader has seen enough.

use std::io::{self, ErrorKind, Write};

use wh_screen::visible::{is_hidden, visible, visible_line};

use crate::failure::{Failure, code};

/// Prints text as it is.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(code::FAILED, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Text of several lines with everything escaped that acts on a terminal or hides in the text.
pub fn clean(text: &str) -> String {
    visible(text).into_owned()
}

/// The same for text that must stay on its line.
pub fn clean_line(text: &str) -> String {
    visible_line(text).into_owned()
}

/// The text of a screen: as it is shown there, but never with a control character.
pub fn without_controls(text: &str) -> String {
    let harmless = |character: char| matches!(character, '\n' | '\t') || !character.is_control();
    text.chars().map(|character| if harmless(character) { character } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// JSON as one line. Characters that [`is_hidden`] are written as JSON escapes, which are the same value.
pub fn json_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len() + 1);
    for character in json.trim().chars() {
        match character {
            // Between values only: inside of a text they must be escaped already.
            '\n' | '\r' | '\t' => line.push(' '),
            hidden if is_hidden(hidden) => {
                for unit in hidden.encode_utf16(&mut [0; 2]) {
                    line.push_str(&format!("\\u{unit:04x}"));
                }
            }
            other => line.push(other),
        }
    }
    line.push('\n');
    line
}

/// Output of a program as text: its lines without escape sequences.
pub fn without_sequences(output: &str) -> String {
    let mut text = String::with_capacity(output.len());
    let mut rest = output.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\r' if matches!(rest.peek(), Some('\r' | '\n')) => {}
            // What wrote over its own line wrote another.
            '\r' => text.push('\n'),
            '\u{1b}' => match rest.next() {
                Some('[') => drop(rest.find(|character| matches!(character, '@'..='~'))),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut rest),
                // A choice of character set and the like: what it chooses from, then what.
                Some(' '..='/') => drop(rest.find(|character| matches!(character, '0'..='~'))),
                _ => {}
            },
            other => text.push(other),
        }
    }
    text
}

/// A string ends with BEL or ESC \.
fn skip_string(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(character) = rest.next() {
        if character == '\u{7}' || (character == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left_of_the_words_of_others() {
        assert_eq!(clean("a\u{1b}[31mb\u{9b}2J\u{7}\u{7f}\r\n\tc é日"), "a␛[31mb\\u{9b}2J␇␡\n\tc é日");
        assert_eq!(clean_line("rm\nx\ty"), "rm␊x␉y");
    }

    #[test]
    fn json_stays_the_same_value_on_one_line() {
        let json = "{\n\t\"a\": \"x\u{9b}\u{7f}\u{202e}\u{e0041}\\n\"\r\n}\n";
        let line = json_line(json);
        assert_eq!(line, "{  \"a\": \"x\\u009b\\u007f\\u202e\\udb40\\udc41\\n\"  }\n");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&line), value(json));
    }

    #[test]
    fn output_is_left_as_text_without_its_sequences() {
        let output = "\u{1b}]0;title\u{7}\u{1b}[1;31mred\u{1b}[0m\r\n\u{1b}(Bnext\u{1b}]8;;x\u{1b}\\link\u{1b}";
        assert_eq!(without_sequences(output), "red\nnextlink");
        assert_eq!(without_sequences("10%\r20%\r\r\ndone"), "10%\n20%\ndone");
        assert_eq!(without_sequences("cut \u{1b}[1"), "cut ");
        assert_eq!(without_sequences("cut \u{1b}]0;ti"), "cut ");
    }
}
