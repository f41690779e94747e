//! ScreenRows of a screen as text with positions, and the marks that the agents' UIs share.

use std::ops::Range;

use wh_screen::frame::{Cell, Color, ScreenFrame, Style};

/// Screen as rows of text, without the blank rows at its end.
pub(super) struct ScreenRows<'a> {
    frame: &'a ScreenFrame,
    lines: Vec<String>,
}

impl<'a> ScreenRows<'a> {
    pub fn new(frame: &'a ScreenFrame) -> Self {
        let mut lines: Vec<String> = frame.rows.iter().map(|row| text(row)).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Self { frame, lines }
    }

    /// Number of rows up to the last that is not blank.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns the text of a row without trailing blanks; the empty text below the last row.
    pub fn line(&self, row: usize) -> &str {
        self.lines.get(row).map_or("", String::as_str)
    }

    pub fn cells(&self, row: usize) -> &'a [Cell] {
        self.frame.rows.get(row).map_or(&[], |row| &row[..])
    }

    /// Returns the cursor's column and row, even if the cursor is hidden.
    pub fn cursor(&self) -> (usize, usize) {
        (usize::from(self.frame.cursor.x), usize::from(self.frame.cursor.y))
    }

    pub fn cursor_visible(&self) -> bool {
        self.frame.cursor.visible
    }

    pub fn has_title(&self) -> bool {
        self.frame.title.as_ref().is_some_and(|title| !title.is_empty())
    }

    /// True if the row is one line over the full width, possibly with a label.
    pub fn is_rule(&self, row: usize, mark: char) -> bool {
        let cells = self.cells(row);
        let marks = cells.iter().filter(|cell| cell.character == mark).count();
        let starts = cells.len() > 4 && cells[..2].iter().all(|cell| cell.character == mark);
        let ends = cells.last().is_some_and(|cell| cell.character == mark);
        starts && ends && marks * 2 >= cells.len()
    }

    /// Returns the column of the first inverse cell of a row.
    pub fn inverse(&self, row: usize) -> Option<usize> {
        self.cells(row).iter().position(|cell| cell.style.inverse)
    }

    /// Returns the text of a row from a column on, without trailing blanks.
    pub fn text_from(&self, row: usize, column: usize) -> String {
        text(self.cells(row).get(column..).unwrap_or_default())
    }

    /// True if the columns before `column` are blank.
    pub fn is_indented(&self, row: usize, column: usize) -> bool {
        self.cells(row).iter().take(column).all(|cell| is_blank(cell.character))
    }

    /// Returns the rows of a composer from a column on, without placeholder text: faint text that starts at the cursor.
    pub fn draft(&self, rows: Range<usize>, column: usize, is_ghost: fn(&Style) -> bool) -> Vec<String> {
        let mut draft = Vec::new();
        let mut ghost = false;
        for row in rows {
            let cells = self.cells(row).get(column..).unwrap_or_default();
            // A placeholder may be wrapped.
            if ghost && cells.iter().all(|cell| is_blank(cell.character) || is_ghost(&cell.style)) {
                continue;
            }
            match self.ghost(row, column, cells, is_ghost) {
                Some(start) => {
                    draft.push(text(&cells[..start]));
                    ghost = true;
                }
                None => draft.push(text(cells)),
            }
        }
        draft
    }

    /// Returns the start of the placeholder text of a row. The cursor may be drawn as an inverse cell over its first
    /// character.
    fn ghost(&self, row: usize, column: usize, cells: &[Cell], is_ghost: fn(&Style) -> bool) -> Option<usize> {
        let (x, y) = self.cursor();
        let drawn = cells.iter().position(|cell| cell.style.inverse);
        let parked = (y == row && x >= column).then(|| x - column);
        drawn.into_iter().chain(parked).filter(|start| *start < cells.len()).find(|start| {
            let mut behind = cells[start + 1..].iter().filter(|cell| !is_blank(cell.character)).peekable();
            let first = &cells[*start];
            behind.peek().is_some()
                && behind.all(|cell| is_ghost(&cell.style))
                && (first.style.inverse || is_blank(first.character) || is_ghost(&first.style))
        })
    }
}

/// Blank or no-break space.
pub(super) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\u{a0}')
}

/// Returns the text of cells, without trailing blanks and with ordinary blanks.
fn text(cells: &[Cell]) -> String {
    let mut text = String::with_capacity(cells.len());
    cells.iter().for_each(|cell| cell.push_text(&mut text));
    let text = text.replace('\u{a0}', " ");
    text.trim_end().to_owned()
}

/// True for dim text and for grey text.
pub(super) fn is_faint(style: &Style) -> bool {
    style.dim
        || match style.foreground {
            Color::Rgb(red, green, blue) => red == green && green == blue && (0x50..=0xd0).contains(&red),
            Color::Indexed(index) => index == 8 || (240..=250).contains(&index),
            Color::Default => false,
        }
}

/// Returns the text without blanks and control characters, to compare texts that were wrapped differently.
pub(super) fn squeezed(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace() && !character.is_control()).collect()
}

/// Row of a list that begins with a number: the mark before the number, the number, the text and its column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NumberedRow {
    pub selected: bool,
    pub number: u8,
    pub text: String,
    /// Column at which the text starts.
    pub column: usize,
}

/// Parses a row such as `❯ 1. Yes` or `  2. No`, in which `mark` stands before the selected option.
pub(super) fn numbered(line: &str, mark: char) -> Option<NumberedRow> {
    let rest = line.trim_start_matches(' ');
    let (selected, rest) = match rest.strip_prefix(mark) {
        Some(rest) => (true, rest.strip_prefix(' ')?.trim_start_matches(' ')),
        None => (false, rest),
    };
    let digits = rest.find(|character: char| !character.is_ascii_digit())?;
    let number = rest[..digits].parse().ok()?;
    let text = rest[digits..].strip_prefix('.')?;
    // A narrow dialog drops the blank behind the number.
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let text = text.trim_start_matches(' ');
    let column = line.chars().count() - text.chars().count();
    (!text.is_empty()).then(|| NumberedRow { selected, number, text: text.to_owned(), column })
}

/// Splits the key in parentheses from the end of a label: `Yes, proceed (y)`.
pub(super) fn hotkey(label: &str) -> (String, Option<String>) {
    let split = label.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    match split {
        Some((label, key)) if key == "esc" || key == "shift+tab" || key.chars().count() == 1 => {
            (label.to_owned(), Some(key.to_owned()))
        }
        _ => (label.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numbered_row_has_a_mark_a_number_and_a_text() {
        let row = numbered(" ❯ 1. Yes", '❯').unwrap();
        assert_eq!((row.selected, row.number, row.text.as_str(), row.column), (true, 1, "Yes", 6));
        let row = numbered("   12. No", '❯').unwrap();
        assert_eq!((row.selected, row.number, row.text.as_str(), row.column), (false, 12, "No", 7));
        assert_eq!(numbered("   2.Yes, always", '❯').unwrap().text, "Yes, always");
        for other in ["1.5 miles", "❯1. Yes", "text 1. Yes", "1.", "999. Yes", ""] {
            assert_eq!(numbered(other, '❯'), None, "{other}");
        }
    }

    #[test]
    fn a_key_in_parentheses_is_not_part_of_the_label() {
        assert_eq!(hotkey("Yes, proceed (y)"), ("Yes, proceed".to_owned(), Some("y".to_owned())));
        assert_eq!(hotkey("No (esc)"), ("No".to_owned(), Some("esc".to_owned())));
        assert_eq!(hotkey("Default (recommended)"), ("Default (recommended)".to_owned(), None));
    }
}
