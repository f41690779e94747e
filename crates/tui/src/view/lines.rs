//! Helpers that draw lines, clipped to an area and without control characters.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use wh_screen::visible::visible;

/// Converts external text to a single line: control characters become visible symbols, and whitespace collapses.
pub(crate) fn one_line(text: &str) -> String {
    let text = visible(text);
    let mut line = String::with_capacity(text.len().min(512));
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        // No screen is wider than 4096 columns.
        if line.len() > 4096 {
            break;
        }
    }
    line
}

/// Truncates text to `width` columns. A truncated text ends with an ellipsis.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut fitting = String::new();
    let mut used = 1;
    for grapheme in text.graphemes(true) {
        used += grapheme.width();
        if used > width {
            break;
        }
        fitting.push_str(grapheme);
    }
    if width > 0 {
        fitting.push('…');
    }
    fitting
}

/// Truncates text to `width` columns by replacing its beginning with an ellipsis. Used for paths, because the file name
/// is at the end.
pub(crate) fn fit_end(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let mut start = text.len();
    for (place, grapheme) in text.grapheme_indices(true).rev() {
        used += grapheme.width();
        if used > width {
            break;
        }
        start = place;
    }
    if width == 0 { String::new() } else { format!("…{}", &text[start..]) }
}

/// Draws a line in the first row of an area, truncated to the width of the area.
pub(crate) fn put(buffer: &mut Buffer, area: Rect, line: &Line<'_>) {
    if area.is_empty() {
        return;
    }
    let mut x = area.x;
    for span in &line.spans {
        let room = usize::from(area.right().saturating_sub(x));
        let style = line.style.patch(span.style);
        (x, _) = buffer.set_stringn(x, area.y, fit(&span.content, room), room, style);
    }
}

/// Draws lines into an area, one in each row.
pub(crate) fn put_all(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>]) {
    for (row, line) in (0..area.height).zip(lines) {
        put(buffer, Rect { y: area.y + row, height: 1, ..area }, line);
    }
}

/// Draws lines into an area, one in each row. If the lines do not fit, the last row gives the number of omitted lines
/// that are not blank.
pub(crate) fn put_cut(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>], style: Style) {
    let rows = usize::from(area.height);
    if rows == 0 || lines.len() <= rows {
        return put_all(buffer, area, lines);
    }
    put_all(buffer, area, &lines[..rows - 1]);
    let missing = lines[rows - 1..].iter().filter(|line| line.width() > 0).count();
    let last = Rect { y: area.bottom() - 1, height: 1, ..area };
    put(buffer, last, &Line::styled(format!("… {missing} more"), style));
}

/// Draws a horizontal rule, with text on the left and right if there is room.
pub(crate) fn rule(buffer: &mut Buffer, area: Rect, style: Style, left: &Line<'_>, right: &Line<'_>) {
    if area.is_empty() {
        return;
    }
    buffer.set_string(area.x, area.y, "─".repeat(area.width.into()), style);
    let width = |line: &Line<'_>| u16::try_from(line.width()).unwrap_or(u16::MAX);
    let room = area.width.saturating_sub(4);
    let at_left = width(left).min(room);
    if at_left > 0 {
        put(buffer, Rect { x: area.x + 2, width: at_left, ..area }, left);
    }
    let at_right = width(right);
    if at_right > 0 && at_left.saturating_add(at_right).saturating_add(6) <= area.width {
        put(buffer, Rect { x: area.right() - 2 - at_right, width: at_right, ..area }, right);
    }
}

/// Joins the spans to a line, with a space before and after them.
pub(crate) fn padded(spans: Vec<Span<'static>>) -> Line<'static> {
    if spans.is_empty() {
        return Line::default();
    }
    let mut all = vec![Span::raw(" ")];
    all.extend(spans);
    all.push(Span::raw(" "));
    Line::from(all)
}

/// Joins spans into one list, with a separator between them.
pub(crate) fn joined(parts: Vec<Span<'static>>, separator: &'static str, style: Style) -> Vec<Span<'static>> {
    let mut all = Vec::with_capacity(parts.len() * 2);
    for part in parts {
        if !all.is_empty() {
            all.push(Span::styled(separator, style));
        }
        all.push(part);
    }
    all
}

/// Formats a number with separators between thousands: `12,345`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut apart = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_too_wide_is_truncated_with_an_ellipsis() {
        assert_eq!(fit("hello", 5), "hello");
        assert_eq!(fit("hello", 4), "hel…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("日本語", 0), "");
        assert_eq!(fit_end("a/b.rs", 6), "a/b.rs");
        assert_eq!(fit_end("src/b.rs", 6), "…/b.rs");
        assert_eq!(fit_end("日本語", 4), "…語");
        assert_eq!(fit_end("日本語", 0), "");
    }

    #[test]
    fn numbers_can_be_read() {
        for (number, expected) in [(0, "0"), (999, "999"), (12_345, "12,345"), (1_000_000, "1,000,000")] {
            assert_eq!(thousands(number), expected);
        }
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line(" a\n\tb\x1b[2J  c "), "a b␛[2J c");
    }
}
