//! Which gesture does what in the composer.

use wh_core::input::{Gesture, KeyPress};

use super::{Composer, Outcome, TokenKind};

impl Composer {
    /// Does what the gesture asks for.
    pub fn handle(&mut self, gesture: &Gesture) -> Outcome {
        match gesture {
            Gesture::Text(typed) => self.changed_by(|composer| composer.insert(typed)),
            Gesture::Paste(pasted) => self.changed_by(|composer| composer.paste(pasted)),
            Gesture::Key(press) => match self.choose(press) {
                Outcome::Ignored => self.edit(press),
                outcome => outcome,
            },
            Gesture::Mouse(_) => Outcome::Ignored,
        }
    }

    fn changed_by(&mut self, edit: impl FnOnce(&mut Self)) -> Outcome {
        let before = self.text.content().len();
        edit(self);
        if self.text.content().len() == before { Outcome::Ignored } else { Outcome::Changed }
    }

    /// The keys of the list of completions, while one is open.
    fn choose(&mut self, press: &KeyPress) -> Outcome {
        let Some(completion) = &mut self.completion else { return Outcome::Ignored };
        match press.to_string().as_str() {
            "up" | "ctrl+p" => completion.previous(),
            "down" | "ctrl+n" => completion.next(),
            "escape" => {
                self.dismissed = Some(completion.token().start);
                self.completion = None;
            }
            "tab" => {
                self.accept();
            }
            // A command written out is run, and a word with an @ is sent as it is, unless somebody chose from the list.
            "enter" => {
                let command = completion.token().kind == TokenKind::Command;
                if !completion.is_chosen() && (!command || completion.is_complete()) {
                    return Outcome::Ignored;
                }
                self.accept();
            }
            _ => return Outcome::Ignored,
        }
        Outcome::Changed
    }

    fn edit(&mut self, press: &KeyPress) -> Outcome {
        if let Some(typed) = press.text() {
            return self.changed_by(|composer| composer.insert(typed.encode_utf8(&mut [0; 4])));
        }
        let caret = self.text.caret();
        match press.to_string().as_str() {
            "enter" => self.submit(),
            "shift+enter" | "alt+enter" | "ctrl+enter" | "alt+shift+enter" | "ctrl+j" | "ctrl+alt+j" => {
                self.changed_by(|composer| composer.insert("\n"))
            }
            "left" | "ctrl+b" => self.go_to(self.text.left()),
            "right" | "ctrl+f" => self.go_to(self.text.right()),
            "ctrl+left" | "alt+left" | "alt+b" => self.go_to(self.text.word_left()),
            "ctrl+right" | "alt+right" | "alt+f" => self.go_to(self.text.word_right()),
            "home" | "ctrl+a" => self.go_to(self.text.line_start()),
            "end" | "ctrl+e" => self.go_to(self.text.line_end()),
            "ctrl+home" | "alt+<" => self.go_to(0),
            "ctrl+end" | "alt+>" => self.go_to(self.text.content().len()),
            "up" | "ctrl+p" => self.up(),
            "down" | "ctrl+n" => self.down(),
            "backspace" | "shift+backspace" | "ctrl+h" => self.delete(self.text.left(), caret),
            "delete" | "ctrl+d" => self.delete(caret, self.text.right()),
            "alt+backspace" | "ctrl+backspace" => self.cut(self.text.word_left(), caret),
            "alt+d" | "ctrl+delete" | "alt+delete" => self.cut(caret, self.text.word_right()),
            "ctrl+w" => self.cut(self.text.blank_left(), caret),
            "ctrl+u" => match self.text.line_start() {
                // At the beginning of a line, the break before it.
                start if start == caret => self.cut(self.text.left(), caret),
                start => self.cut(start, caret),
            },
            "ctrl+k" => match self.text.line_end() {
                end if end == caret => self.cut(caret, self.text.right()),
                end => self.cut(caret, end),
            },
            "ctrl+y" => self.put_in(),
            "alt+y" => self.put_in_older(),
            "ctrl+z" | "ctrl+_" | "ctrl+/" => self.undo(),
            "ctrl+shift+z" | "alt+z" | "alt+_" => self.redo(),
            _ => Outcome::Ignored,
        }
    }
}
