//! Where each character of the composer stands: lines broken into rows of a width, in columns as terminals count them.

use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;
use wh_screen::visible::visible_line;

use super::chips::Chips;

/// The prompt, and the same width before every further row.
pub(super) const PROMPT: &str = "❯ ";
pub(super) const PROMPT_WIDTH: usize = 2;

const TAB: &str = "    ";

/// One grapheme as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glyph {
    /// Where it stands in the text.
    pub(super) offset: usize,
    pub(super) shown: String,
    pub(super) width: usize,
    pub(super) chip: bool,
}

#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) start: usize,
    pub(super) glyphs: Vec<Glyph>,
    width: usize,
    /// The line goes on in the next row.
    wrapped: bool,
    end: usize,
}

#[derive(Debug)]
pub(super) struct Layout {
    rows: Vec<Row>,
}

impl Layout {
    /// Breaks the text for a composer of this width. The last column stays free, so that the caret can stand behind a
    /// full row.
    pub(super) fn new(content: &str, chips: &Chips, width: u16) -> Self {
        let room = usize::from(width).saturating_sub(PROMPT_WIDTH + 1).max(1);
        let mut rows = Vec::new();
        let mut row = Row::default();
        for (offset, grapheme) in content.grapheme_indices(true) {
            if grapheme == "\n" {
                row.end = offset;
                rows.push(std::mem::replace(&mut row, Row { start: offset + 1, ..Row::default() }));
                continue;
            }
            let glyph = Glyph::new(offset, grapheme, chips, room);
            if row.width + glyph.width > room && !row.glyphs.is_empty() {
                row.end = offset;
                row.wrapped = true;
                rows.push(std::mem::replace(&mut row, Row { start: offset, ..Row::default() }));
            }
            row.width += glyph.width;
            row.glyphs.push(glyph);
        }
        row.end = content.len();
        rows.push(row);
        Self { rows }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn row(&self, row: usize) -> Option<&Row> {
        self.rows.get(row)
    }

    /// The row and column of a place in the text.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let row = self.rows.partition_point(|row| row.start <= offset).saturating_sub(1);
        let before = self.rows[row].glyphs.iter().take_while(|glyph| glyph.offset < offset);
        (row, before.map(|glyph| glyph.width).sum())
    }

    /// The place in the text nearest to a column of a row, not right of it.
    pub(super) fn offset(&self, row: usize, column: usize) -> Option<usize> {
        let row = self.rows.get(row)?;
        let mut at = 0;
        for glyph in &row.glyphs {
            if at + glyph.width > column {
                return Some(glyph.offset);
            }
            at += glyph.width;
        }
        // The end of a row that goes on is the beginning of the next.
        let last = row.glyphs.last().map(|glyph| glyph.offset);
        Some(last.filter(|_| row.wrapped).unwrap_or(row.end))
    }
}

impl Glyph {
    fn new(offset: usize, grapheme: &str, chips: &Chips, room: usize) -> Self {
        let label = grapheme.chars().next().and_then(|first| chips.label(first));
        let chip = label.is_some();
        let mut shown = match label {
            Some(label) => label,
            None if grapheme == "\t" => TAB.to_owned(),
            None => visible_line(grapheme).into_owned(),
        };
        if chip && shown.width() > room {
            // A label is ASCII.
            shown.truncate(room.saturating_sub(1));
            shown.push('…');
        }
        // Marks can make a character wider than any room.
        Self { offset, width: Span::raw(shown.as_str()).width().min(room), shown, chip }
    }
}
