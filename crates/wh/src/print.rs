//! Printing to standard output: escapes control characters in text of other programs, writes JSON on one line, and
//! ignores a closed pipe.

use std::io::{self, ErrorKind, Write};

use wh_screen::visible::{is_hidden, visible, visible_line};

use crate::failure::{CliFailure, code};

/// Prints text unchanged.
pub fn print(text: &str) -> Result<(), CliFailure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CliFailure::new(code::FAILED, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Escapes control characters and invisible characters, but keeps line breaks.
pub fn clean(text: &str) -> String {
    visible(text).into_owned()
}

/// Escapes control characters, invisible characters and line breaks, for text that must stay on one line.
pub fn clean_line(text: &str) -> String {
    visible_line(text).into_owned()
}

/// Replaces control characters except line breaks and tabs by U+FFFD.
pub fn without_controls(text: &str) -> String {
    let harmless = |character: char| matches!(character, '\n' | '\t') || !character.is_control();
    text.chars().map(|character| if harmless(character) { character } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Formats JSON on one line. Replaces hidden characters (see [`is_hidden`]) with equivalent JSON escapes.
pub fn json_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len() + 1);
    for character in json.trim().chars() {
        match character {
            // White space between values. Inside strings, JSON requires escapes for these characters.
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

/// Removes escape sequences from a program's output. Replaces a carriage return within a line with a line break.
pub fn without_sequences(output: &str) -> String {
    let mut text = String::with_capacity(output.len());
    let mut rest = output.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\r' if matches!(rest.peek(), Some('\r' | '\n')) => {}
            // The program overwrites the line. A line break preserves the old text and the new text.
            '\r' => text.push('\n'),
            '\u{1b}' => match rest.next() {
                Some('[') => drop(rest.find(|character| matches!(character, '@'..='~'))),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut rest),
                // Character set selection and similar: intermediate bytes, then a final byte.
                Some(' '..='/') => drop(rest.find(|character| matches!(character, '0'..='~'))),
                _ => {}
            },
            other => text.push(other),
        }
    }
    text
}

/// Skips a control string, which ends with BEL or ESC \.
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
    fn control_characters_of_foreign_text_are_escaped() {
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
