//! A frame as text.

use crate::frame::{Cell, Frame, used};

fn row_text(row: &[Cell]) -> String {
    let mut text = String::with_capacity(row.len());
    let used = used(row);
    used.iter().for_each(|cell| cell.push_text(&mut text));
    text.extend(std::iter::repeat_n(' ', row.len() - used.len()));
    text
}

/// A line a row, padded to the width: a wide character takes two columns and one character.
pub fn lines(frame: &Frame) -> Vec<String> {
    frame.rows().map(row_text).collect()
}

/// A line a row without trailing blanks, joined by newlines: as many lines as the screen has rows.
pub fn plain(frame: &Frame) -> String {
    let mut text = String::with_capacity(frame.cells.len());
    for (index, row) in frame.rows().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let start = text.len();
        used(row).iter().for_each(|cell| cell.push_text(&mut text));
        text.truncate(start + text[start..].trim_end_matches(' ').len());
    }
    text
}

/// As [`plain`], from the lines that [`lines`] gave.
pub fn plain_of(lines: &[String]) -> String {
    let mut text = String::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        text.push_str(line.trim_end_matches(' '));
    }
    text
}

/// The last `count` lines that are not blank, oldest first.
pub fn last_lines(frame: &Frame, count: usize) -> Vec<String> {
    let mut last: Vec<String> =
        frame.rows().map(|row| row_text(row).trim_end().to_owned()).filter(|line| !line.is_empty()).collect();
    last.split_off(last.len().saturating_sub(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vt::Vt;
    use wh_core::terminal::Size;

    #[test]
    fn the_text_is_the_same_from_the_frame_and_from_its_lines() {
        let mut vt = Vt::new(Size { columns: 12, rows: 4 }, 0);
        vt.feed("one  \r\n\x1b[41m  two  \x1b[0m\r\n世界 e\u{301}".as_bytes());
        let frame = vt.frame();
        assert_eq!(plain(&frame), "one\n  two\n世界 e\u{301}\n");
        assert_eq!(plain_of(&lines(&frame)), plain(&frame));
    }
}
