//! Renders tables with frames. To fit the width, columns shrink and cells wrap. If the columns become too narrow, each
//! row is rendered as a list.

use pulldown_cmark::Alignment;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::theme::Theme;
use crate::wrap::{self, StyledText};

/// Table that is being parsed. The first row contains the column names.
#[derive(Debug, Default)]
pub(super) struct TableBlock {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<Vec<StyledText>>>,
}

/// Minimum width of the text in a column. If a column would be narrower, the table is rendered as lists.
const MIN_COLUMN_WIDTH: usize = 4;

/// Width that a column takes in addition to its text: a space on each side and a border.
const COLUMN_OVERHEAD: usize = 3;

impl TableBlock {
    pub(super) fn lines(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let natural: Vec<usize> = (0..columns).map(|column| self.natural_width(column)).collect();
        let room = width.saturating_sub(columns * COLUMN_OVERHEAD + 1);
        let least: usize = natural.iter().map(|natural| (*natural).min(MIN_COLUMN_WIDTH)).sum();
        if columns == 0 || least > room {
            return self.list(width, theme);
        }
        self.framed(&fitted(&natural, room), theme)
    }

    fn natural_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let widths = cells.flat_map(|cell| wrap::words(cell, usize::MAX)).map(|line| line.width());
        widths.max().unwrap_or(0).max(1)
    }

    fn framed(&self, widths: &[usize], theme: &Theme) -> Vec<Line<'static>> {
        let edge = |left: &str, cross: &str, right: &str| {
            let bars: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
            Line::styled(format!("{left}{}{right}", bars.join(cross)), theme.border)
        };
        let rows: Vec<Vec<Line<'static>>> = self.rows.iter().map(|row| self.row(row, widths, theme)).collect();
        let mut lines = vec![edge("┌", "┬", "┐")];
        let mut above = 0;
        for (index, row) in rows.into_iter().enumerate() {
            // Rows of several lines are separated by a border.
            if index == 1 || (index > 1 && above.max(row.len()) > 1) {
                lines.push(edge("├", "┼", "┤"));
            }
            above = row.len();
            lines.extend(row);
        }
        lines.push(edge("└", "┴", "┘"));
        lines
    }

    fn row(&self, row: &[Vec<StyledText>], widths: &[usize], theme: &Theme) -> Vec<Line<'static>> {
        let empty = Vec::new();
        let cells: Vec<Vec<Line<'static>>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| wrap::words(row.get(column).unwrap_or(&empty), *width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        let bar = || Span::styled("│", theme.border);
        let mut lines = Vec::with_capacity(height);
        for index in 0..height {
            let mut spans = vec![bar()];
            for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
                let line = cell.get(index).cloned().unwrap_or_default();
                let free = width.saturating_sub(line.width());
                let left = match self.alignments.get(column) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    _ => 0,
                };
                spans.push(blanks(left + 1));
                spans.extend(line.spans);
                spans.push(blanks(free - left + 1));
                spans.push(bar());
            }
            lines.push(Line::from(spans));
        }
        lines
    }

    /// Renders each row as a list of lines such as `column: cell`.
    fn list(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let Some((names, rows)) = self.rows.split_first() else { return lines };
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                lines.push(Line::default());
            }
            for (column, cell) in row.iter().enumerate() {
                let mut pieces = names.get(column).cloned().unwrap_or_default();
                pieces.push(StyledText::new(": ", theme.dim));
                pieces.extend(cell.iter().cloned());
                lines.extend(wrap::words(&pieces, width));
            }
        }
        if rows.is_empty() {
            lines.extend(names.iter().flat_map(|name| wrap::words(name, width)));
        }
        lines
    }
}

fn blanks(count: usize) -> Span<'static> {
    Span::styled(" ".repeat(count), Style::new())
}

/// Distributes the width among columns: narrow columns keep their natural width, and the others share the rest.
fn fitted(natural: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..natural.len()).collect();
    order.sort_by_key(|column| natural[*column]);
    let mut widths = natural.to_vec();
    let mut left = room;
    for (index, column) in order.iter().enumerate() {
        let share = left / (order.len() - index);
        widths[*column] = natural[*column].min(share.max(1));
        left -= widths[*column].min(left);
    }
    widths
}
