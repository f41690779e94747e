//! Styled text broken into lines of a width, in columns as terminals count them.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A run of text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The text; a line break in it is one.
    pub text: String,
    /// How it looks.
    pub style: Style,
}

impl Piece {
    /// A run of text in one style.
    #[must_use]
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// A tab goes to the next multiple of this.
const TAB: usize = 4;

/// Breaks between words, and within one only where it is longer than a line; wide characters are words of their own.
/// Blanks at a break go, others are one. There is always a line.
#[must_use]
pub fn words(pieces: &[Piece], width: usize) -> Vec<Line<'static>> {
    let mut page = Page::new(width);
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

/// Breaks where a line is full and nowhere else; every blank stays. For code.
#[must_use]
pub fn verbatim(pieces: &[Piece], width: usize) -> Vec<Line<'static>> {
    let mut page = Page::new(width);
    for piece in pieces {
        for grapheme in piece.text.graphemes(true) {
            match grapheme {
                "\n" => page.line_break(),
                "\t" => {
                    let blanks = TAB - page.used % TAB;
                    (0..blanks).for_each(|_| page.grapheme(" ", piece.style));
                }
                other => page.grapheme(other, piece.style),
            }
        }
    }
    page.finish()
}

struct Page {
    width: usize,
    lines: Vec<Line<'static>>,
    spans: Vec<Span<'static>>,
    used: usize,
    /// A blank before the next word, if that stands on the same line.
    blank: Option<Style>,
}

impl Page {
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

    fn plain(text: &str) -> Vec<Piece> {
        vec![Piece::new(text, Style::new())]
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
