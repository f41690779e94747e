//! Layout of the composer: wraps the text into rows of a given width in terminal columns.

use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;
use wh_screen::visible::visible_line;

use super::chips::PasteChips;

/// Prompt at the beginning of the first row. Other rows are indented by the width of the prompt.
pub(super) const PROMPT: &str = "❯ ";
pub(super) const PROMPT_WIDTH: usize = 2;

const TAB_SPACES: &str = "    ";

/// Grapheme of the text with its position in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedGrapheme {
    /// Byte offset of the grapheme in the text.
    pub(super) offset: usize,
    pub(super) shown: String,
    pub(super) width: usize,
    pub(super) chip: bool,
}

#[derive(Debug, Default)]
pub(super) struct LayoutRow {
    pub(super) start: usize,
    pub(super) glyphs: Vec<PlacedGrapheme>,
    width: usize,
    /// True if the row ends because it is full, and the line continues in the next row.
    wrapped: bool,
    end: usize,
}

#[derive(Debug)]
pub(super) struct ComposerLayout {
    rows: Vec<LayoutRow>,
}

impl ComposerLayout {
    /// Wraps the text for a composer of this width. The last column stays empty, because the caret can be after a full
    /// row.
    pub(super) fn new(content: &str, chips: &PasteChips, width: u16) -> Self {
        let room = usize::from(width).saturating_sub(PROMPT_WIDTH + 1).max(1);
        let mut rows = Vec::new();
        let mut row = LayoutRow::default();
        for (offset, grapheme) in content.grapheme_indices(true) {
            if grapheme == "\n" {
                row.end = offset;
                rows.push(std::mem::replace(&mut row, LayoutRow { start: offset + 1, ..LayoutRow::default() }));
                continue;
            }
            let glyph = PlacedGrapheme::new(offset, grapheme, chips, room);
            if row.width + glyph.width > room && !row.glyphs.is_empty() {
                row.end = offset;
                row.wrapped = true;
                rows.push(std::mem::replace(&mut row, LayoutRow { start: offset, ..LayoutRow::default() }));
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

    pub(super) fn row(&self, row: usize) -> Option<&LayoutRow> {
        self.rows.get(row)
    }

    /// Returns the row and column of an offset in the text.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let row = self.rows.partition_point(|row| row.start <= offset).saturating_sub(1);
        let before = self.rows[row].glyphs.iter().take_while(|glyph| glyph.offset < offset);
        (row, before.map(|glyph| glyph.width).sum())
    }

    /// Returns the offset in the text of the character at a column of a row; `None` if there is no such row. For a
    /// column after the last character, returns the end of the row, or the last character if the row is wrapped.
    pub(super) fn offset(&self, row: usize, column: usize) -> Option<usize> {
        let row = self.rows.get(row)?;
        let mut at = 0;
        for glyph in &row.glyphs {
            if at + glyph.width > column {
                return Some(glyph.offset);
            }
            at += glyph.width;
        }
        // The end of a wrapped row is the beginning of the next.
        let last = row.glyphs.last().map(|glyph| glyph.offset);
        Some(last.filter(|_| row.wrapped).unwrap_or(row.end))
    }
}

impl PlacedGrapheme {
    fn new(offset: usize, grapheme: &str, chips: &PasteChips, room: usize) -> Self {
        let label = grapheme.chars().next().and_then(|first| chips.label(first));
        let chip = label.is_some();
        let mut shown = match label {
            Some(label) => label,
            None if grapheme == "\t" => TAB_SPACES.to_owned(),
            None => visible_line(grapheme).into_owned(),
        };
        if chip && shown.width() > room {
            // Labels are ASCII, so truncating at a byte is safe.
            shown.truncate(room.saturating_sub(1));
            shown.push('…');
        }
        // Combining characters can make a grapheme wider than the row.
        Self { offset, width: Span::raw(shown.as_str()).width().min(room), shown, chip }
    }
}
