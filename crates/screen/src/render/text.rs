//! Renders a frame as plain text.

use crate::frame::{Cell, ScreenFrame, used};

pub(super) fn row_text(row: &[Cell]) -> String {
    let mut text = String::with_capacity(row.len());
    let used = used(row);
    used.iter().for_each(|cell| cell.push_text(&mut text));
    text.extend(std::iter::repeat_n(' ', row.len() - used.len()));
    text
}

/// Returns one line per row, padded to the width. A wide character takes two columns but is one character of the line.
pub fn lines(frame: &ScreenFrame) -> Vec<String> {
    frame.rows.iter().map(|row| row.renderings().text.clone()).collect()
}

/// Returns one line per row without trailing blanks, joined by line feeds.
pub fn plain(frame: &ScreenFrame) -> String {
    let mut text = String::with_capacity(frame.rows.iter().map(|row| row.renderings().text.len() + 1).sum());
    for (index, row) in frame.rows.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        text.push_str(row.renderings().text.trim_end_matches(' '));
    }
    text
}

/// Returns the last `count` lines that are not blank, oldest first.
pub fn last_lines(frame: &ScreenFrame, count: usize) -> Vec<String> {
    let shown = frame.rows.iter().map(|row| row.renderings().text.trim_end()).filter(|line| !line.is_empty());
    let mut last: Vec<String> = shown.map(str::to_owned).collect();
    last.split_off(last.len().saturating_sub(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vt::Vt;
    use wh_core::terminal::Size;

    #[test]
    fn the_text_has_no_blanks_at_the_end_and_the_lines_are_padded() {
        let mut vt = Vt::new(Size { columns: 12, rows: 4 }, 0);
        vt.feed("one  \r\n\x1b[41m  two  \x1b[0m\r\n世界 e\u{301}".as_bytes());
        let frame = vt.frame();
        assert_eq!(plain(&frame), "one\n  two\n世界 e\u{301}\n");
        let padded = ["one         ", "  two       ", "世界 e\u{301}      ", "            "];
        assert_eq!(lines(&frame), padded);
    }
}
