//! Which gesture does what in the composer.

use wh_core::input::{Gesture, KeyPress};

use super::{Composer, Outcome, TokenKind};
use crate::keymap::EditAction;

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
        let Some(action) = self.keys.edit(press) else { return Outcome::Ignored };
        let caret = self.text.caret();
        match action {
            EditAction::Submit => self.submit(),
            EditAction::Newline => self.changed_by(|composer| composer.insert("\n")),
            EditAction::Left => self.go_to(self.text.left()),
            EditAction::Right => self.go_to(self.text.right()),
            EditAction::WordLeft => self.go_to(self.text.word_left()),
            EditAction::WordRight => self.go_to(self.text.word_right()),
            EditAction::LineStart => self.go_to(self.text.line_start()),
            EditAction::LineEnd => self.go_to(self.text.line_end()),
            EditAction::TextStart => self.go_to(0),
            EditAction::TextEnd => self.go_to(self.text.content().len()),
            EditAction::Up => self.up(),
            EditAction::Down => self.down(),
            EditAction::DeleteLeft => self.delete(self.text.left(), caret),
            EditAction::DeleteRight => self.delete(caret, self.text.right()),
            EditAction::CutWordLeft => self.cut(self.text.word_left(), caret),
            EditAction::CutWordRight => self.cut(caret, self.text.word_right()),
            EditAction::CutBlankLeft => self.cut(self.text.blank_left(), caret),
            EditAction::CutLineStart => match self.text.line_start() {
                // At the beginning of a line, the break before it.
                start if start == caret => self.cut(self.text.left(), caret),
                start => self.cut(start, caret),
            },
            EditAction::CutLineEnd => match self.text.line_end() {
                end if end == caret => self.cut(caret, self.text.right()),
                end => self.cut(caret, end),
            },
            EditAction::Yank => self.put_in(),
            EditAction::YankOlder => self.put_in_older(),
            EditAction::Undo => self.undo(),
            EditAction::Redo => self.redo(),
        }
    }
}
