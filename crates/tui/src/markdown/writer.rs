//! Converts events of the Markdown parser to lines. Blocks are nested, and each block adds a margin to its lines.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::highlight::highlight;
use super::table::TableBlock;
use crate::theme::Theme;
use crate::wrap::{self, StyledText};
use wh_screen::visible::visible;

/// Margin of a block: the bar of a quote, or the mark of a list item. Further lines of a list item have spaces instead
/// of the mark.
struct BlockMargin {
    first: Option<Span<'static>>,
    rest: Span<'static>,
}

/// Minimum width of text. A margin that would leave less room for text is omitted.
const MIN_TEXT_WIDTH: usize = 5;

pub(super) struct MarkdownWriter<'a> {
    theme: &'a Theme,
    width: usize,
    lines: Vec<Line<'static>>,
    margins: Vec<BlockMargin>,
    /// Stack of inline styles, innermost last.
    styles: Vec<Style>,
    /// Inline text of the current block, not yet wrapped.
    words: Vec<StyledText>,
    /// Open lists: the next number for an ordered list, `None` for an unordered list.
    lists: Vec<Option<u64>>,
    /// True if the next block needs no blank line before it, such as the first block inside a quote.
    fresh: bool,
    /// Open links: the address, and the position (piece and offset in `words`) at which the text of the link begins.
    links: Vec<(String, (usize, usize))>,
    code: Option<(String, String)>,
    table: Option<TableBlock>,
}

impl<'a> MarkdownWriter<'a> {
    pub(super) fn new(width: usize, theme: &'a Theme) -> Self {
        Self {
            theme,
            width: width.max(1),
            lines: Vec::new(),
            margins: Vec::new(),
            styles: vec![theme.text],
            words: Vec::new(),
            lists: Vec::new(),
            fresh: true,
            links: Vec::new(),
            code: None,
            table: None,
        }
    }

    pub(super) fn finish(mut self) -> Vec<Line<'static>> {
        self.flush();
        self.lines
    }

    pub(super) fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.write(&text, self.style()),
            },
            Event::Code(code) => self.write(&code, self.style().patch(self.theme.code)),
            Event::InlineHtml(html) if html.starts_with("<br") => self.write("\n", self.style()),
            Event::Html(html) | Event::InlineHtml(html) => self.write(&html, self.theme.dim),
            Event::SoftBreak | Event::HardBreak => self.write("\n", self.style()),
            Event::Rule => {
                self.block();
                let rule = Span::styled("─".repeat(self.room()), self.theme.border);
                self.put(vec![Line::from(rule)]);
            }
            Event::TaskListMarker(done) => {
                let mark =
                    if done { Span::styled("☑ ", self.theme.success) } else { Span::styled("☐ ", self.theme.dim) };
                if let Some(first) = self.margins.last_mut().and_then(|margin| margin.first.as_mut()) {
                    let indent = first.content.len() - first.content.trim_start().len();
                    // The task mark is as wide as a bullet. If it replaces a number, blanks keep the width of the
                    // margin.
                    let blanks = first.width().saturating_sub(indent + 2);
                    *first = Span::styled(
                        format!("{}{}{}", " ".repeat(indent), mark.content, " ".repeat(blanks)),
                        mark.style,
                    );
                }
            }
            Event::FootnoteReference(name) => self.write(&format!("[{name}]"), self.theme.dim),
            Event::InlineMath(math) | Event::DisplayMath(math) => self.write(&math, self.theme.code),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(),
            Tag::Heading { level, .. } => {
                self.block();
                self.styles.push(self.heading(level));
            }
            Tag::BlockQuote(_) => {
                self.block();
                self.styles.push(self.style().patch(self.theme.quote));
                let bar = Span::styled("▎ ", self.theme.border);
                self.indent(None, bar);
            }
            Tag::CodeBlock(kind) => {
                self.block();
                let label = match kind {
                    CodeBlockKind::Fenced(label) => visible(&label).into_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((label, String::new()));
            }
            Tag::List(number) => {
                if self.lists.is_empty() {
                    self.block();
                } else {
                    self.flush();
                }
                self.lists.push(number);
            }
            Tag::Item => {
                self.flush();
                self.item();
            }
            Tag::Table(alignments) => {
                self.block();
                self.table = Some(TableBlock { alignments, rows: Vec::new() });
            }
            Tag::TableHead => {
                self.styles.push(self.style().patch(self.theme.strong));
                self.row();
            }
            Tag::TableRow => self.row(),
            Tag::Emphasis => self.styles.push(self.style().patch(self.theme.emphasis)),
            Tag::Strong => self.styles.push(self.style().patch(self.theme.strong)),
            Tag::Strikethrough => self.styles.push(self.style().patch(self.theme.strike)),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.write("[image] ", self.theme.dim);
                self.link(&dest_url);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.margins.pop();
                self.styles.pop();
            }
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush();
                // An item without text still gets a line.
                if self.margins.last().is_some_and(|margin| margin.first.is_some()) {
                    self.put(vec![Line::default()]);
                }
                self.margins.pop();
                self.fresh = false;
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.put(table.lines(self.room(), self.theme));
                }
            }
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.words);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(self.theme.text)
    }

    fn heading(&self, level: HeadingLevel) -> Style {
        match level {
            HeadingLevel::H1 => self.theme.heading.add_modifier(Modifier::UNDERLINED),
            HeadingLevel::H2 => self.theme.heading,
            _ => self.theme.strong,
        }
    }

    fn write(&mut self, text: &str, style: Style) {
        // The parser decodes entities such as `&#27;` to control characters.
        let text = visible(text);
        match self.words.last_mut() {
            Some(piece) if piece.style == style => piece.text.push_str(&text),
            _ => self.words.push(StyledText::new(text, style)),
        }
    }

    /// Begins a block: finishes the previous block and adds a blank line between the two.
    fn block(&mut self) {
        self.flush();
        if !self.fresh {
            let line = self.margined(Line::default(), true);
            self.lines.push(line);
        }
        self.fresh = true;
    }

    fn item(&mut self) {
        let depth = self.lists.len();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => ["• ", "◦ ", "▪ "][(depth + 2) % 3].to_owned(),
        };
        let blanks = Span::raw(" ".repeat(mark.width()));
        self.indent(Some(Span::styled(mark, self.theme.accent)), blanks);
        self.fresh = true;
    }

    /// Adds a margin to the following lines, unless the margin would leave less than [`MIN_TEXT_WIDTH`] for the text.
    fn indent(&mut self, first: Option<Span<'static>>, rest: Span<'static>) {
        let wanted = rest.width();
        if self.room() < wanted + MIN_TEXT_WIDTH {
            self.margins.push(BlockMargin { first: None, rest: Span::raw("") });
        } else {
            self.margins.push(BlockMargin { first, rest });
        }
    }

    fn room(&self) -> usize {
        let margins: usize = self.margins.iter().map(|margin| margin.rest.width()).sum();
        self.width.saturating_sub(margins).max(1)
    }

    fn flush(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.iter().all(|piece| piece.text.trim().is_empty()) {
            return;
        }
        self.put(wrap::words(&words, self.room()));
    }

    fn put(&mut self, lines: Vec<Line<'static>>) {
        for line in lines {
            let line = self.margined(line, false);
            self.lines.push(line);
        }
        self.fresh = false;
    }

    fn margined(&mut self, line: Line<'static>, between: bool) -> Line<'static> {
        let mut spans = Vec::with_capacity(self.margins.len() + line.spans.len());
        for margin in &mut self.margins {
            let first = if between { None } else { margin.first.take() };
            spans.push(first.unwrap_or_else(|| margin.rest.clone()));
        }
        spans.extend(line.spans.into_iter().map(|mut span| {
            span.style = line.style.patch(span.style);
            span
        }));
        spans.retain(|span| !span.content.is_empty());
        Line::from(spans)
    }

    fn code_block(&mut self) {
        let Some((label, code)) = self.code.take() else { return };
        let code = visible(&code);
        if let Some(name) = label.split_whitespace().next() {
            let name = StyledText::new(name, self.theme.dim);
            self.put(wrap::verbatim(&[name], self.room()));
        }
        let pieces = highlight(code.strip_suffix('\n').unwrap_or(&code), &label, self.theme);
        self.indent(None, Span::raw("  "));
        self.put(wrap::verbatim(&pieces, self.room()));
        self.margins.pop();
    }

    fn row(&mut self) {
        self.words.clear();
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    fn link(&mut self, address: &CowStr<'_>) {
        let last = self.words.len().saturating_sub(1);
        let begins = (last, self.words.last().map_or(0, |piece| piece.text.len()));
        self.links.push((address.to_string(), begins));
        self.styles.push(self.style().patch(self.theme.link));
    }

    /// Ends a link and appends its address, unless the text of the link is the address.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some((address, (piece, offset))) = self.links.pop() else { return };
        let written: String = self.words.iter().skip(piece).map(|piece| piece.text.as_str()).collect();
        let text = written.get(offset..).unwrap_or_default();
        let same = address == text || address.strip_prefix("mailto:") == Some(text);
        if !same && !address.is_empty() {
            self.write(&format!(" ({address})"), self.theme.dim);
        }
    }
}
