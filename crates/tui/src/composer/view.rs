//! Widgets that draw the composer and the completion list.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Block, BorderType, Clear, Widget};
use unicode_width::UnicodeWidthStr;

use super::layout::{ComposerLayout, PROMPT, PROMPT_WIDTH};
use super::{Completion, CompletionCandidate, Composer};
use crate::theme::Theme;

/// Widget that draws the composer. Call [`Composer::fit`] before drawing.
#[derive(Debug)]
pub struct ComposerView<'a> {
    pub composer: &'a Composer,
    pub theme: &'a Theme,
    /// Text shown while the composer is empty.
    pub placeholder: &'a str,
    /// True if the composer has the focus. The caret is then shown.
    pub focused: bool,
}

impl ComposerView<'_> {
    /// Returns the cell of the caret, where the terminal's cursor is placed; `None` if the caret is not visible.
    #[must_use]
    pub fn cursor(&self, area: Rect) -> Option<Position> {
        let Position { x, y } = self.composer.cursor_in(area.width);
        let y = usize::from(y).checked_sub(self.first_row(&self.composer.layout(area.width), area))?;
        let position = Position::new(area.x.checked_add(x)?, area.y.checked_add(u16::try_from(y).ok()?)?);
        area.contains(position).then_some(position)
    }

    /// Returns the index of the first visible row: the scroll position, adjusted if the caret would not be visible.
    fn first_row(&self, layout: &ComposerLayout, area: Rect) -> usize {
        let (caret, _) = layout.position(self.composer.text.caret());
        let height = usize::from(area.height).max(1);
        self.composer.scroll.clamp((caret + 1).saturating_sub(height), caret)
    }

    fn draw_row(&self, layout: &ComposerLayout, row: usize, y: u16, area: Rect, buffer: &mut Buffer) {
        let prompt = if row == 0 { PROMPT } else { "  " };
        buffer.set_stringn(area.x, y, prompt, area.width.into(), self.theme.accent);
        let mut x = area.x.saturating_add(PROMPT_WIDTH as u16);
        let Some(row) = layout.row(row) else { return };
        for glyph in &row.glyphs {
            let style = if glyph.chip { self.theme.badge } else { self.theme.text };
            let room = usize::from(area.right().saturating_sub(x));
            (x, _) = buffer.set_stringn(x, y, &glyph.shown, room, style);
        }
    }

    /// Draws a dim hint that begins at this position.
    fn draw_hint(&self, hint: &str, from: Position, area: Rect, buffer: &mut Buffer) {
        let room = usize::from(area.right().saturating_sub(from.x));
        buffer.set_stringn(from.x, from.y, hint, room, self.theme.dim);
    }
}

impl Widget for ComposerView<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let layout = self.composer.layout(area.width);
        let first = self.first_row(&layout, area);
        for (y, row) in (area.top()..area.bottom()).zip(first..layout.rows()) {
            self.draw_row(&layout, row, y, area, buffer);
        }
        let Some(caret) = self.cursor(area) else { return };
        if self.composer.is_empty() {
            self.draw_hint(self.placeholder, caret, area, buffer);
        } else if self.composer.text.after().is_empty() {
            self.draw_hint(&self.composer.ghost, caret, area, buffer);
        }
        if self.focused {
            buffer[caret].set_style(self.theme.caret);
        }
    }
}

/// Widget that draws the completion list above the composer.
#[derive(Debug)]
pub struct CompletionView<'a> {
    pub completion: &'a Completion,
    pub theme: &'a Theme,
}

impl CompletionView<'_> {
    /// Maximum number of candidates that are visible at the same time.
    const MAX_VISIBLE_ROWS: usize = 8;

    /// Returns the area of the list within `bounds`: above the composer, at its left edge, and as large as the content.
    /// The area is empty if there is no room for a candidate.
    #[must_use]
    pub fn area(&self, composer: Rect, bounds: Rect) -> Rect {
        let candidates = self.completion.candidates();
        let (values, hints) = columns(candidates, self.completion.token().kind.mark());
        let gap = if hints > 0 { 2 } else { 0 };
        let width = u16::try_from(values + gap + hints + 4).unwrap_or(u16::MAX).min(bounds.width);
        let rows = candidates.len().min(Self::MAX_VISIBLE_ROWS) as u16 + 2;
        let height = rows.min(composer.y.saturating_sub(bounds.y));
        if height < 3 || width < 8 {
            return Rect::new(composer.x, composer.y, 0, 0);
        }
        let x = composer.x.min(bounds.right().saturating_sub(width));
        Rect::new(x, composer.y - height, width, height)
    }
}

/// Returns the width of the column for marks and values, and of the column for hints.
fn columns(candidates: &[CompletionCandidate], mark: &str) -> (usize, usize) {
    let widest =
        |text: fn(&CompletionCandidate) -> &str| candidates.iter().map(|one| text(one).width()).max().unwrap_or(0);
    let mark = usize::from(mark == "/");
    (widest(|candidate| &candidate.value) + mark, widest(|candidate| &candidate.hint))
}

impl Widget for CompletionView<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        Clear.render(area, buffer);
        let frame = Block::bordered().border_type(BorderType::Rounded).border_style(self.theme.border);
        let inner = frame.inner(area);
        frame.render(area, buffer);

        let mark = self.completion.token().kind.mark();
        let candidates = self.completion.candidates();
        let selected = self.completion.selected();
        let (values, _) = columns(candidates, mark);
        let rows = usize::from(inner.height);
        // A selection in a long list is centred.
        let first = selected.saturating_sub(rows / 2).min(candidates.len().saturating_sub(rows));
        for (y, index) in (inner.top()..inner.bottom()).zip(first..candidates.len()) {
            let candidate = &candidates[index];
            let shown = if mark == "/" { format!("/{}", candidate.value) } else { candidate.value.clone() };
            let from = inner.x + 1;
            let room = usize::from(inner.right().saturating_sub(from + 1));
            buffer.set_stringn(from, y, tail(&shown, room), room, self.theme.accent);
            let hint_at = from.saturating_add(u16::try_from(values + 2).unwrap_or(u16::MAX));
            let room = usize::from(inner.right().saturating_sub(hint_at.saturating_add(1)));
            if room > 0 {
                buffer.set_stringn(hint_at, y, &candidate.hint, room, self.theme.dim);
            }
            if index == selected {
                buffer.set_style(Rect::new(inner.x, y, inner.width, 1), self.theme.selection);
            }
        }
    }
}

/// Truncates a path at its beginning, because the file name is at the end.
fn tail(path: &str, room: usize) -> String {
    let mut width = path.width();
    if width <= room {
        return path.to_owned();
    }
    let mut rest = path.chars();
    while width + 1 > room && rest.next().is_some() {
        width = rest.as_str().width();
    }
    format!("…{}", rest.as_str())
}
