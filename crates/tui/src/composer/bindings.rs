//! Maps gestures to edits of the text in the composer.

use wh_core::input::{Gesture, KeyPress};

use super::{Composer, ComposerOutcome, TokenKind};
use crate::keymap::EditAction;

impl Composer {
    /// Applies a gesture to the composer and returns the outcome.
    pub fn handle(&mut self, gesture: &Gesture) -> ComposerOutcome {
        match gesture {
            Gesture::Text(typed) => self.changed_by(|composer| composer.insert(typed)),
            Gesture::Paste(pasted) => self.changed_by(|composer| composer.paste(pasted)),
            Gesture::Key(press) => match self.choose(press) {
                ComposerOutcome::Ignored => self.edit(press),
                outcome => outcome,
            },
            Gesture::Mouse(_) => ComposerOutcome::Ignored,
        }
    }

    fn changed_by(&mut self, edit: impl FnOnce(&mut Self)) -> ComposerOutcome {
        let before = self.text.content().len();
        edit(self);
        if self.text.content().len() == before { ComposerOutcome::Ignored } else { ComposerOutcome::Changed }
    }

    /// Applies a key to the open completion list.
    fn choose(&mut self, press: &KeyPress) -> ComposerOutcome {
        let Some(completion) = &mut self.completion else { return ComposerOutcome::Ignored };
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
            // Enter accepts the candidate if the user has moved the selection, or to complete a command name. Otherwise
            // Enter submits the text.
            "enter" => {
                let command = completion.token().kind == TokenKind::Command;
                if !completion.is_chosen() && (!command || completion.is_complete()) {
                    return ComposerOutcome::Ignored;
                }
                self.accept();
            }
            _ => return ComposerOutcome::Ignored,
        }
        ComposerOutcome::Changed
    }

    fn edit(&mut self, press: &KeyPress) -> ComposerOutcome {
        if let Some(typed) = press.text() {
            return self.changed_by(|composer| composer.insert(typed.encode_utf8(&mut [0; 4])));
        }
        let Some(action) = self.keys.edit(press) else { return ComposerOutcome::Ignored };
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
                // At the beginning of a line, Ctrl+U removes the line break before it.
                start if start == caret => self.cut(self.text.left(), caret),
                start => self.cut(start, caret),
            },
            EditAction::CutLineEnd => match self.text.line_end() {
                end if end == caret => self.cut(caret, self.text.right()),
                end => self.cut(caret, end),
            },
            EditAction::Yank => self.yank(),
            EditAction::YankOlder => self.yank_older(),
            EditAction::Undo => self.undo(),
            EditAction::Redo => self.redo(),
        }
    }
}
