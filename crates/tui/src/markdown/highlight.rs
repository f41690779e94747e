//! Syntax highlighting in a single pass that distinguishes words, strings, numbers and comments. The pass does not
//! parse the grammar of a language, so it works on incomplete code and takes linear time.

// The crate `syntect` is not used. Its default syntaxes lack TypeScript, TOML, Kotlin and Dockerfile, and it would add
// about 2.5 MB to the binary. It is also slow, and streamed text is highlighted again on every redraw: for 1,000 lines
// of Rust, `syntect` with `fancy-regex` took about 600 ms in a release build. This module takes 75 ms in a debug build.

use ratatui::style::Style;

use super::languages::{HighlightLanguage, LexicalFamily};
use crate::theme::{SyntaxStyles, Theme};
use crate::wrap::StyledText;

/// Splits code into pieces, each with one style. Code in an unknown language is a single plain piece.
pub(super) fn highlight(code: &str, label: &str, theme: &Theme) -> Vec<StyledText> {
    let Some(language) = HighlightLanguage::named(label) else {
        return vec![StyledText::new(code, theme.syntax.plain)];
    };
    match language.shape {
        LexicalFamily::Changes => changes(code, theme),
        _ => {
            let mut reader = CodeReader {
                language,
                syntax: &theme.syntax,
                rest: code,
                before: '\n',
                pieces: Vec::new(),
                tag: false,
                command: true,
            };
            while !reader.rest.is_empty() {
                reader.step();
            }
            reader.pieces
        }
    }
}

fn changes(code: &str, theme: &Theme) -> Vec<StyledText> {
    let style = |line: &str| match line.as_bytes().first() {
        Some(b'+') if !line.starts_with("+++") => theme.added,
        Some(b'-') if !line.starts_with("---") => theme.removed,
        Some(b'@') => theme.syntax.attribute,
        Some(b' ') | None => theme.syntax.plain,
        _ => theme.dim,
    };
    code.split_inclusive('\n').map(|line| StyledText::new(line, style(line))).collect()
}

struct CodeReader<'a> {
    language: &'static HighlightLanguage,
    syntax: &'a SyntaxStyles,
    rest: &'a str,
    /// Character before `rest`, for tokens that depend on it.
    before: char,
    pieces: Vec<StyledText>,
    /// True inside a tag of a markup language.
    tag: bool,
    /// True if the next word in a shell script is the name of a command.
    command: bool,
}

impl<'a> CodeReader<'a> {
    fn step(&mut self) {
        let Some(first) = self.rest.chars().next() else { return };
        let line_begins = self.before == '\n';
        if let Some(length) = self.comment() {
            return self.take(length, self.syntax.comment);
        }
        let settings = self.language.shape == LexicalFamily::Settings && line_begins;
        if let Some(length) = settings.then(|| setting(self.rest)).flatten() {
            return self.take(length, self.syntax.key);
        }
        if self.language.shape == LexicalFamily::Markup {
            return self.markup(first);
        }
        if let Some((length, after)) = self.string(first) {
            let key = self.language.keys && after.trim_start_matches([' ', '\t']).starts_with(':');
            self.command = false;
            return self.take(length, if key { self.syntax.key } else { self.syntax.string });
        }
        match first {
            '#' if self.rest.starts_with("#[") || self.rest.starts_with("#![") => {
                let end = self.rest.find([']', '\n']).map_or(self.rest.len(), |end| end + 1);
                self.take(end, self.syntax.attribute);
            }
            '\'' => self.take(1 + word(&self.rest[1..]), self.syntax.attribute),
            '$' if self.language.shape == LexicalFamily::Shell => {
                let braced = self.rest.starts_with("${").then(|| self.rest.find(['}', '\n'])).flatten();
                let length = braced.map_or_else(|| 1 + word(&self.rest[1..]), |end| end + 1);
                self.take(length, self.syntax.attribute);
            }
            '-' if self.language.shape == LexicalFamily::Shell && self.before.is_whitespace() => {
                let length = self.rest.find(|next: char| next.is_whitespace() || next == '=');
                self.take(length.unwrap_or(self.rest.len()), self.syntax.constant);
            }
            digit if digit.is_ascii_digit() && !is_word(self.before) => {
                let mut length = 0;
                for (index, next) in self.rest.char_indices() {
                    let fraction =
                        next == '.' && self.rest[index + 1..].starts_with(|digit: char| digit.is_ascii_digit());
                    if !(next.is_ascii_alphanumeric() || next == '_' || fraction) {
                        break;
                    }
                    length = index + next.len_utf8();
                }
                self.command = false;
                self.take(length, self.syntax.constant);
            }
            first if is_word(first) || matches!(first, '@' | '#' | '!') && word(&self.rest[1..]) > 0 => {
                self.word(first)
            }
            first if first.is_whitespace() => {
                let length = self.rest.find(|next: char| !next.is_whitespace()).unwrap_or(self.rest.len());
                // Whitespace is consumed line by line, so that the start of each line is recognized.
                let length = self.rest[..length].find('\n').map_or(length, |end| end + 1);
                self.command |= self.rest[..length].ends_with('\n');
                self.take(length, self.syntax.plain);
            }
            other => {
                self.command = matches!(other, '|' | ';' | '&' | '(');
                self.take(other.len_utf8(), self.syntax.punctuation);
            }
        }
    }

    fn word(&mut self, first: char) {
        let mark = usize::from(!is_word(first));
        let dashes = self.language.is("css") || self.language.shape == LexicalFamily::Shell;
        let length =
            self.rest[mark..].find(|next: char| !(is_word(next) || (dashes && matches!(next, '-' | '.' | '/'))));
        let length = length.map_or(self.rest.len(), |length| length + mark);
        let (text, after) = self.rest.split_at(length);
        let syntax = self.syntax;
        let style = if self.language.is_keyword(text) {
            syntax.keyword
        } else if self.language.is_constant(text) {
            syntax.constant
        } else if first == '@' {
            syntax.attribute
        } else if mark > 0 {
            // Only the mark is consumed, because the word after it has its own style.
            return self.take(mark, syntax.punctuation);
        } else if self.language.shape == LexicalFamily::Shell {
            if self.command { syntax.function } else { syntax.plain }
        } else if self.language.keys && after.trim_start_matches(' ').starts_with(':') {
            syntax.key
        } else if after.starts_with('(')
            || (after.starts_with('!') && !after.starts_with("!=") && self.language.is("rust"))
        {
            syntax.function
        } else if first.is_uppercase() || self.language.is_type(text) {
            syntax.kind
        } else {
            syntax.plain
        };
        // Keywords such as `then` are followed by a command.
        self.command = self.language.shape == LexicalFamily::Shell && self.language.is_keyword(text);
        self.take(length, style);
    }

    fn markup(&mut self, first: char) {
        let syntax = self.syntax;
        if !self.tag {
            let opens = first == '<'
                && self.rest[1..].starts_with(|next: char| next.is_alphabetic() || matches!(next, '/' | '!' | '?'));
            if opens {
                self.tag = true;
                let name = self.rest[1..]
                    .find(|next: char| next.is_whitespace() || matches!(next, '>'))
                    .map_or(self.rest.len(), |end| end + 1);
                return self.take(name, syntax.keyword);
            }
            let skipped = first.len_utf8();
            let text = self.rest[skipped..].find('<').map_or(self.rest.len(), |end| skipped + end);
            return self.take(text, syntax.plain);
        }
        if let Some((length, _)) = self.string(first) {
            return self.take(length, syntax.string);
        }
        match first {
            '>' => {
                self.tag = false;
                self.take(1, syntax.keyword);
            }
            '/' | '?' => self.take(1, syntax.keyword),
            first if is_word(first) => {
                let length = self.rest.find(|next: char| !(is_word(next) || matches!(next, '-' | ':' | '.')));
                self.take(length.unwrap_or(self.rest.len()), syntax.key);
            }
            other => self.take(other.len_utf8(), syntax.punctuation),
        }
    }

    fn comment(&self) -> Option<usize> {
        let block = self.language.block_comment.filter(|(open, _)| self.rest.starts_with(open));
        if let Some((open, close)) = block {
            let end = self.rest[open.len()..].find(close);
            return Some(end.map_or(self.rest.len(), |end| open.len() + end + close.len()));
        }
        let opens = |mark: &&&str| {
            // A comment mark within a word does not begin a comment, except for `//`.
            self.rest.starts_with(**mark) && (**mark == "//" || self.before.is_whitespace())
        };
        self.language.line_comments.iter().find(opens)?;
        Some(self.rest.find('\n').unwrap_or(self.rest.len()))
    }

    /// Returns the length of the string literal at the beginning of `rest`, and the text that follows the literal.
    fn string(&self, first: char) -> Option<(usize, &'a str)> {
        let long = self.language.long_quotes.iter().find(|quote| self.rest.starts_with(**quote));
        let quote = match long {
            Some(quote) => (*quote).to_owned(),
            None if self.language.quotes.contains(first) => first.to_string(),
            None => return None,
        };
        // A Rust lifetime has no closing quote.
        if quote == "'" && self.language.is("rust") {
            let mut next = self.rest[1..].chars();
            let (second, third) = (next.next(), next.next());
            if second != Some('\\') && third != Some('\'') {
                return None;
            }
        }
        let mut escaped = false;
        for (index, next) in self.rest.char_indices().skip(quote.chars().count()) {
            if next == '\n' && long.is_none() && !self.language.is("rust") {
                return Some((index, &self.rest[index..]));
            }
            if !escaped && self.rest[index..].starts_with(&quote) {
                let length = index + quote.len();
                return Some((length, &self.rest[length..]));
            }
            escaped = next == '\\' && !escaped;
        }
        Some((self.rest.len(), ""))
    }

    fn take(&mut self, length: usize, style: Style) {
        let (text, rest) = self.rest.split_at(length);
        self.before = text.chars().next_back().unwrap_or(self.before);
        self.rest = rest;
        match self.pieces.last_mut() {
            Some(piece) if piece.style == style => piece.text.push_str(text),
            _ => self.pieces.push(StyledText::new(text, style)),
        }
    }
}

/// Returns the length of the key or the section header in brackets at the beginning of a line. The length of a key
/// includes its indentation and the dash of a list item.
fn setting(line: &str) -> Option<usize> {
    let end = line.find('\n').unwrap_or(line.len());
    let line = &line[..end];
    let name = line.trim_start_matches([' ', '-']);
    if name.starts_with('[') && line.trim_end().ends_with(']') {
        return Some(end);
    }
    let length = name.find([':', '=', '"', '\'', '#', '{'])?;
    let mark = &name[length..];
    let is_key = mark.starts_with('=') || mark.starts_with(": ") || mark == ":";
    let written = name[..length].trim_end().len();
    (is_key && written > 0).then_some(line.len() - name.len() + written)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the length of the word at the beginning of the text.
fn word(text: &str) -> usize {
    text.find(|next| !is_word(next)).unwrap_or(text.len())
}
