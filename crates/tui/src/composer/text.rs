//! Editable text with a caret. The caret moves by graphemes, so that each visible character is one step.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::chips;

/// Text and caret of the composer. Each folded paste is represented by one character.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EditableText {
    content: String,
    caret: usize,
}

impl EditableText {
    /// Creates a text with the caret at its end.
    pub(super) fn new(content: String) -> Self {
        Self { caret: content.len(), content }
    }

    pub(super) fn content(&self) -> &str {
        &self.content
    }

    pub(super) fn caret(&self) -> usize {
        self.caret
    }

    pub(super) fn before(&self) -> &str {
        &self.content[..self.caret]
    }

    pub(super) fn after(&self) -> &str {
        &self.content[self.caret..]
    }

    /// Moves the caret to an offset, which is rounded down to a character boundary.
    pub(super) fn place(&mut self, caret: usize) {
        self.caret = caret.min(self.content.len());
        while !self.content.is_char_boundary(self.caret) {
            self.caret -= 1;
        }
    }

    pub(super) fn insert(&mut self, inserted: &str) {
        self.content.insert_str(self.caret, inserted);
        self.caret += inserted.len();
        // A combining character joins the previous grapheme, and the caret must not be inside a grapheme.
        self.caret = self.boundary_at(self.caret);
    }

    /// Removes the text in a range and returns it. The caret moves to the start of the range.
    pub(super) fn remove(&mut self, range: Range<usize>) -> String {
        let start = range.start;
        let removed = self.content.drain(range).collect();
        self.caret = self.boundary_at(start);
        removed
    }

    pub(super) fn left(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.caret, self.content.len(), true);
        cursor.prev_boundary(&self.content, 0).ok().flatten().unwrap_or(0)
    }

    pub(super) fn right(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.caret, self.content.len(), true);
        cursor.next_boundary(&self.content, 0).ok().flatten().unwrap_or(self.content.len())
    }

    /// Returns the start of the word before the caret.
    pub(super) fn word_left(&self) -> usize {
        back_over(self.before(), is_word)
    }

    /// Returns the end of the word after the caret.
    pub(super) fn word_right(&self) -> usize {
        let between = self.after().find(is_word).unwrap_or(self.after().len());
        let word = &self.after()[between..];
        let end = word.find(|character| !is_word(character)).unwrap_or(word.len());
        self.boundary_at(self.caret + between + end)
    }

    /// Returns the start of the whitespace-separated word before the caret.
    pub(super) fn blank_left(&self) -> usize {
        back_over(self.before(), |character| !character.is_whitespace())
    }

    pub(super) fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |newline| newline + 1)
    }

    pub(super) fn line_end(&self) -> usize {
        self.caret + self.after().find('\n').unwrap_or(self.after().len())
    }

    /// Returns the first grapheme boundary at or after an offset, which must be a character boundary.
    fn boundary_at(&self, offset: usize) -> usize {
        let mut cursor = GraphemeCursor::new(offset, self.content.len(), true);
        if cursor.is_boundary(&self.content, 0).unwrap_or(true) {
            return offset;
        }
        cursor.next_boundary(&self.content, 0).ok().flatten().unwrap_or(self.content.len())
    }
}

/// Returns true for a letter, a digit, `_`, or a chip.
fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || chips::is_chip(character)
}

fn back_over(before: &str, wanted: impl Fn(char) -> bool) -> usize {
    let mut start = before.len();
    let mut within = false;
    for (offset, grapheme) in before.grapheme_indices(true).rev() {
        let inside = grapheme.chars().next().is_some_and(&wanted);
        if within && !inside {
            break;
        }
        within = inside;
        start = offset;
    }
    start
}
