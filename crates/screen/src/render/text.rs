//! A frame as text.

use crate::frame::{Cell, Frame};

fn row_text(row: &[Cell]) -> String {
    let mut text = String::with_capacity(row.len());
    for cell in row {
        cell.push_text(&mut text);
    }
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
        for cell in row {
            cell.push_text(&mut text);
        }
        text.truncate(start + text[start..].trim_end_matches(' ').len());
    }
    text
}

/// The last `count` lines that are not blank, oldest first.
pub fn last_lines(frame: &Frame, count: usize) -> Vec<String> {
    let mut last: Vec<String> =
        frame.rows().map(|row| row_text(row).trim_end().to_owned()).filter(|line| !line.is_empty()).collect();
    last.split_off(last.len().saturating_sub(count))
}
