//! Helpers for text in terminal cells: remove control characters, measure, wrap and truncate.

use std::borrow::Cow;

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Distance between tab stops, in columns.
const TAB_STOP_COLUMNS: usize = 4;

/// Returns the width of the text in columns.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Replaces control characters with visible symbols, and tabs with spaces.
pub(super) fn visible(line: &str) -> Cow<'_, str> {
    if !line.contains(['\t', '\r', '\n']) {
        return wh_screen::visible::visible(line);
    }
    let line = line.replace('\r', "␍").replace('\n', "␊");
    let mut seen = String::with_capacity(line.len() + TAB_STOP_COLUMNS);
    for (index, piece) in wh_screen::visible::visible(&line).split('\t').enumerate() {
        if index > 0 {
            let column = width(&seen);
            seen.extend(std::iter::repeat_n(' ', TAB_STOP_COLUMNS - column % TAB_STOP_COLUMNS));
        }
        seen.push_str(piece);
    }
    Cow::Owned(seen)
}

/// Removes the escape sequences that set colours and attributes or erase in a line.
pub(super) fn without_colours(text: &str) -> Cow<'_, str> {
    const START: &str = "\u{1b}[";
    if !text.contains(START) {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split(START);
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let parameters = piece.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')).count();
        match piece.as_bytes().get(parameters) {
            Some(b'm' | b'K') => plain.push_str(&piece[parameters + 1..]),
            _ => {
                plain.push_str(START);
                plain.push_str(piece);
            }
        }
    }
    Cow::Owned(plain)
}

/// Wraps a line into rows, if possible at spaces and next to wide characters. The first row has `first` columns, and
/// all later rows have `rest` columns. Leading spaces are preserved. Returns at least one row.
pub(super) fn wrap(line: &str, first: usize, rest: usize) -> Vec<String> {
    let line = visible(line);
    if width(&line) <= first {
        return vec![line.into_owned()];
    }
    let graphemes: Vec<(&str, usize)> = line.graphemes(true).map(|grapheme| (grapheme, width(grapheme))).collect();
    let blank = |at: usize| graphemes.get(at).is_some_and(|(grapheme, _)| grapheme.trim().is_empty());
    let mut rows = Vec::new();
    let mut start = 0;
    while start < graphemes.len() {
        let limit = if rows.is_empty() { first } else { rest };
        let (end, chance) = reach(&graphemes, start, limit);
        let cut = if end == graphemes.len() || blank(end) { end } else { chance.unwrap_or(end) };
        let row: String = graphemes[start..cut].iter().map(|(grapheme, _)| *grapheme).collect();
        rows.push(row.trim_end().to_owned());
        start = cut;
        while blank(start) {
            start += 1;
        }
    }
    if rows.is_empty() {
        rows.push(String::new());
    }
    rows
}

/// Returns the index after the last grapheme that fits into a row, and the last index at which the row can be broken
/// between words, if any. A row contains at least one grapheme.
fn reach(graphemes: &[(&str, usize)], start: usize, limit: usize) -> (usize, Option<usize>) {
    let (mut used, mut end, mut chance, mut inked) = (0, start, None, false);
    while let Some((grapheme, columns)) = graphemes.get(end) {
        if used + columns > limit && end > start {
            break;
        }
        let blank = grapheme.trim().is_empty();
        if *columns > 1 && inked {
            chance = Some(end);
        }
        used += columns;
        end += 1;
        if inked && blank || *columns > 1 {
            chance = Some(end);
        }
        inked |= !blank;
    }
    (end, chance)
}

/// Truncates text to `limit` columns. A truncated text ends with an ellipsis.
pub(super) fn clip_text(text: &str, limit: usize) -> String {
    let text = visible(text);
    if width(&text) <= limit {
        return text.into_owned();
    }
    if limit == 0 {
        return String::new();
    }
    let mut clipped = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        used += width(grapheme);
        if used > limit - 1 {
            break;
        }
        clipped.push_str(grapheme);
    }
    clipped.push('…');
    clipped
}

/// Truncates a line to `limit` columns. A truncated line ends with an ellipsis.
pub(super) fn clip(line: Line<'static>, limit: usize) -> Line<'static> {
    if line.width() <= limit {
        return line;
    }
    let mut left = limit;
    let mut spans = Vec::new();
    for span in line.spans {
        let columns = span.width();
        // The last column is reserved for the ellipsis.
        if columns >= left {
            spans.push(Span::styled(clip_text(&format!("{}…", span.content), left), span.style));
            break;
        }
        left -= columns;
        spans.push(span);
    }
    Line::from(spans).style(line.style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_acts_on_the_terminal() {
        assert_eq!(visible("a\u{1b}[2Jb\u{7}\u{9b}c\u{7f}\u{202e}"), "a␛[2Jb␇\\u{9b}c␡\\u{202e}");
        assert_eq!(visible("a\tb\t日\tc"), "a   b   日  c");
        assert_eq!(visible("two\rthree\n"), "two␍three␊");
        assert_eq!(visible("e\u{301} 👩‍👩‍👧 日本"), "e\u{301} 👩‍👩‍👧 日本");
    }

    #[test]
    fn colours_of_programs_are_removed_and_nothing_else() {
        assert_eq!(without_colours("\u{1b}[1;31mred\u{1b}[0m \u{1b}[2J"), "red \u{1b}[2J");
    }

    #[test]
    fn rows_break_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrap("the quick brown fox", 9, 9), ["the quick", "brown fox"]);
        assert_eq!(wrap("  indented words here", 10, 12), ["  indented", "words here"]);
        assert_eq!(wrap("abcdefghij", 4, 3), ["abcd", "efg", "hij"]);
        assert_eq!(wrap("日本語テキスト", 5, 5), ["日本", "語テ", "キス", "ト"]);
        assert_eq!(wrap("see 日本語", 7, 7), ["see 日", "本語"]);
        assert_eq!(wrap("", 4, 4), [""]);
    }

    #[test]
    fn a_clipped_line_ends_with_an_ellipsis() {
        assert_eq!(clip_text("hello world", 6), "hello…");
        assert_eq!(clip_text("日本語", 4), "日…");
        let line = Line::from(vec![Span::raw("one "), Span::raw("two three")]);
        assert_eq!(clip(line.clone(), 8).to_string(), "one two…");
        assert_eq!(clip(line.clone(), 4).to_string(), "one…");
        assert_eq!(clip(line, 0).to_string(), "");
    }

    proptest! {
        #[test]
        fn rows_keep_every_word_and_fit(line in "[ a-z日é👍\u{301}\t]{0,60}", first in 0usize..20, rest in 0usize..20) {
            let rows = wrap(&line, first, rest);
            let ink = |text: &str| text.chars().filter(|character| !character.is_whitespace()).collect::<String>();
            prop_assert_eq!(ink(&rows.concat()), ink(&line));
            for (index, row) in rows.iter().enumerate() {
                let limit = if index == 0 { first } else { rest };
                prop_assert!(width(row) <= limit.max(2), "{:?} of {:?}", row, rows);
            }
        }

        #[test]
        fn a_clip_never_exceeds(line in "\\PC{0,40}", limit in 0usize..30) {
            prop_assert!(width(&clip_text(&line, limit)) <= limit);
        }
    }
}
