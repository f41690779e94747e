//! Wraps styled text into lines of a given width in terminal columns.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Text in a single style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyledText {
    /// Text, which may contain line breaks.
    pub text: String,
    pub style: Style,
}

impl StyledText {
    #[must_use]
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// Distance between tab stops, in columns.
const TAB_WIDTH: usize = 4;

/// Wraps text between words, and within a word only if the word is longer than a line. Each wide character counts as a
/// word. Whitespace at a line break is removed; other whitespace collapses to one space. Returns at least one line.
#[must_use]
pub fn words(pieces: &[StyledText], width: usize) -> Vec<Line<'static>> {
    let mut page = LineBreaker::new(width);
    let mut word: Vec<(&str, Style)> = Vec::new();
    for piece in pieces {
        for grapheme in piece.text.graphemes(true) {
            match grapheme {
                "\n" => {
                    page.word(&mut word);
                    page.line_break();
                }
                blank if blank.trim().is_empty() && blank != "\u{a0}" => {
                    page.word(&mut word);
                    page.blank = Some(piece.style);
                }
                wide if wide.width() > 1 => {
                    page.word(&mut word);
                    word.push((wide, piece.style));
                    page.word(&mut word);
                }
                other => word.push((other, piece.style)),
            }
        }
    }
    page.word(&mut word);
    page.finish()
}

/// Wraps text only where a line is full, and keeps all whitespace. Used for code.
#[must_use]
pub fn verbatim(pieces: &[StyledText], width: usize) -> Vec<Line<'static>> {
    let mut page = LineBreaker::new(width);
    for piece in pieces {
        for grapheme in piece.text.graphemes(true) {
            match grapheme {
                "\n" => page.line_break(),
                "\t" => {
                    let blanks = TAB_WIDTH - page.used % TAB_WIDTH;
                    (0..blanks).for_each(|_| page.grapheme(" ", piece.style));
                }
                other => page.grapheme(other, piece.style),
            }
        }
    }
    page.finish()
}

struct LineBreaker {
    width: usize,
    lines: Vec<Line<'static>>,
    spans: Vec<Span<'static>>,
    used: usize,
    /// Style of the pending space, which is written before the next word unless the line breaks there.
    blank: Option<Style>,
}

impl LineBreaker {
    fn new(width: usize) -> Self {
        Self { width: width.max(1), lines: Vec::new(), spans: Vec::new(), used: 0, blank: None }
    }

    fn word(&mut self, word: &mut Vec<(&str, Style)>) {
        let length: usize = word.iter().map(|(grapheme, _)| grapheme.width()).sum();
        if word.is_empty() {
            return;
        }
        let blank = self.blank.take().filter(|_| self.used > 0);
        let needed = length + usize::from(blank.is_some());
        if self.used + needed > self.width && self.used > 0 && length <= self.width {
            self.line_break();
        } else if let Some(style) = blank {
            self.grapheme(" ", style);
        }
        for (grapheme, style) in word.drain(..) {
            self.grapheme(grapheme, style);
        }
    }

    fn grapheme(&mut self, grapheme: &str, style: Style) {
        let width = grapheme.width();
        if self.used + width > self.width && self.used > 0 {
            self.line_break();
        }
        self.used += width;
        match self.spans.last_mut() {
            Some(span) if span.style == style => span.content.to_mut().push_str(grapheme),
            _ => self.spans.push(Span::styled(grapheme.to_owned(), style)),
        }
    }

    fn line_break(&mut self) {
        self.lines.push(Line::from(std::mem::take(&mut self.spans)));
        self.used = 0;
        self.blank = None;
    }

    fn finish(mut self) -> Vec<Line<'static>> {
        self.line_break();
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    fn plain(text: &str) -> Vec<StyledText> {
        vec![StyledText::new(text, Style::new())]
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(texts(&words(&plain("the quick  brown fox"), 10)), ["the quick", "brown fox"]);
        assert_eq!(texts(&words(&plain("a\n\nb "), 10)), ["a", "", "b"]);
        assert_eq!(texts(&words(&plain(""), 10)), [""]);
    }

    #[test]
    fn a_word_longer_than_a_line_is_broken() {
        assert_eq!(texts(&words(&plain("ab abcdefghij"), 4)), ["ab a", "bcde", "fghi", "j"]);
    }

    #[test]
    fn wide_characters_break_anywhere_and_never_stick_out() {
        assert_eq!(texts(&words(&plain("日本語 と ab"), 5)), ["日本", "語 と", "ab"]);
    }

    #[test]
    fn code_keeps_its_blanks() {
        assert_eq!(texts(&verbatim(&plain("  if x\n\ta\tb"), 5)), ["  if ", "x", "    a", "   b"]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_no_letter_is_lost(text in "[a日 e\u{301}👩\n]{0,60}", width in 2usize..12) {
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            for lines in [words(&plain(&text), width), verbatim(&plain(&text), width)] {
                prop_assert!(lines.iter().all(|line| line.width() <= width), "{:?}", lines);
                prop_assert_eq!(letters(&texts(&lines).concat()), letters(&text));
            }
        }
    }
}
