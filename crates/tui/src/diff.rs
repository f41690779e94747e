//! Renders the difference between two texts, or a patch in the unified format, as coloured, numbered lines.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};

use crate::theme::Theme;
use crate::wrap::{self, StyledText};
use wh_screen::visible::visible;

/// Number of unchanged lines shown before and after each change, if there is room.
pub const CONTEXT_LINES: usize = 3;

/// Timeout of the search for the shortest diff. After the timeout, the diff is still correct but may be longer than
/// necessary.
const DIFF_TIMEOUT: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    rows: Vec<DiffRow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum DiffRow {
    /// Name of the changed file.
    File(String),
    /// Gap between two hunks.
    Gap,
    /// Any other line of a patch, such as a mode change.
    Remark(String),
    Line(DiffLine),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct DiffLine {
    tag: ChangeTag,
    /// Line number in the new text, or in the old text for a removed line.
    number: usize,
    /// Parts of the text; the flag is true for a part that differs from the other text.
    parts: Vec<(bool, String)>,
}

impl Diff {
    /// Computes the difference between two texts, with `CONTEXT_LINES` unchanged lines around each change.
    #[must_use]
    pub fn between(old: &str, new: &str) -> Self {
        Self::with_context(old, new, CONTEXT_LINES)
    }

    /// Computes the difference between two texts, with `context` unchanged lines around each change.
    #[must_use]
    pub fn with_context(old: &str, new: &str, context: usize) -> Self {
        let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(old, new);
        let mut rows = Vec::new();
        for group in diff.grouped_ops(context) {
            if !rows.is_empty() {
                rows.push(DiffRow::Gap);
            }
            for change in group.iter().flat_map(|operation| diff.iter_inline_changes(operation)) {
                let index = change.new_index().or(change.old_index()).unwrap_or(0);
                let parts =
                    change.iter_strings_lossy().map(|(differs, text)| (differs, without_break(&text).to_owned()));
                rows.push(DiffRow::Line(DiffLine { tag: change.tag(), number: index + 1, parts: parts.collect() }));
            }
        }
        Self { rows }
    }

    /// Parses a patch in the unified format. A line that cannot be parsed is shown verbatim.
    #[must_use]
    pub fn unified(patch: &str) -> Self {
        let mut reader = PatchParser::default();
        for line in patch.lines() {
            reader.line(line);
        }
        Self { rows: reader.rows }
    }

    /// Returns the number of added lines.
    #[must_use]
    pub fn added(&self) -> usize {
        self.count(ChangeTag::Insert)
    }

    /// Returns the number of removed lines.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.count(ChangeTag::Delete)
    }

    /// Returns true if there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of lines drawn at this width before the first added or removed line; `None` if there is no
    /// such line.
    #[must_use]
    pub fn lines_before_change(&self, width: u16, theme: &Theme) -> Option<usize> {
        let changes = |row: &DiffRow| matches!(row, DiffRow::Line(line) if line.tag != ChangeTag::Equal);
        let first = self.rows.iter().position(changes)?;
        let before = Self { rows: self.rows[..first].to_vec() };
        Some(before.lines(width, usize::MAX, theme).len())
    }

    fn count(&self, tag: ChangeTag) -> usize {
        self.rows.iter().filter(|row| matches!(row, DiffRow::Line(line) if line.tag == tag)).count()
    }

    /// Renders at most `most` lines of this width. If the diff needs more lines, the last line gives the number of
    /// hidden rows of the diff.
    #[must_use]
    pub fn lines(&self, width: u16, most: usize, theme: &Theme) -> Vec<Line<'static>> {
        let width = usize::from(width);
        let largest = self.rows.iter().map(|row| if let DiffRow::Line(line) = row { line.number } else { 0 }).max();
        let digits = largest.unwrap_or(0).max(1).ilog10() as usize + 1;
        let mut lines = Vec::new();
        // Number of rows that fit completely above the last line.
        let mut whole = 0;
        for (index, row) in self.rows.iter().enumerate() {
            if lines.len() > most {
                break;
            }
            lines.extend(row.lines(width, digits, theme));
            if lines.len() < most {
                whole = index + 1;
            }
        }
        if lines.len() > most {
            let hidden = self.rows.len() - whole;
            lines.truncate(most.saturating_sub(1));
            let word = if hidden == 1 { "line" } else { "lines" };
            let rest = wrap::verbatim(&[StyledText::new(format!("… {hidden} more {word}"), theme.dim)], width);
            lines.extend(rest.into_iter().take(most.min(1)));
        }
        lines
    }
}

fn without_break(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

impl DiffRow {
    fn lines(&self, width: usize, digits: usize, theme: &Theme) -> Vec<Line<'static>> {
        let alone = |text: &str, style: Style| wrap::verbatim(&[StyledText::new(visible(text), style)], width);
        match self {
            Self::File(name) => alone(name, theme.accent),
            Self::Gap => alone(&format!("{:>digits$}", "⋯"), theme.dim),
            Self::Remark(text) => alone(text, theme.dim),
            Self::Line(line) => line.lines(width, digits, theme),
        }
    }
}

impl DiffLine {
    fn lines(&self, width: usize, digits: usize, theme: &Theme) -> Vec<Line<'static>> {
        let (sign, style, differing) = match self.tag {
            ChangeTag::Equal => (' ', theme.text, theme.text),
            ChangeTag::Delete => ('-', theme.removed, theme.removed_part),
            ChangeTag::Insert => ('+', theme.added, theme.added_part),
        };
        let style_of = |differs: bool| if differs { differing } else { style };
        let pieces: Vec<StyledText> =
            self.parts.iter().map(|(differs, text)| StyledText::new(visible(text), style_of(*differs))).collect();
        // Margin: number, space, sign, space.
        let margin = digits + 3;
        if width <= margin + 1 {
            return wrap::verbatim(&pieces, width);
        }
        let lines = wrap::verbatim(&pieces, width - margin).into_iter().enumerate();
        let marked = lines.map(|(index, line)| {
            let number = if index == 0 { format!("{:>digits$} ", self.number) } else { " ".repeat(digits + 1) };
            let sign = if index == 0 { format!("{sign} ") } else { "  ".to_owned() };
            let margin = [Span::styled(number, theme.dim), Span::styled(sign, style)];
            Line::from_iter(margin.into_iter().chain(line.spans))
        });
        marked.collect()
    }
}

/// Parser of a patch in the unified format.
#[derive(Debug, Default)]
struct PatchParser {
    rows: Vec<DiffRow>,
    /// Next line numbers in the old and the new text.
    numbers: (usize, usize),
    /// Numbers of old and new lines still expected in the current hunk. Until both are 0, a line that begins with `---`
    /// is a removed line and not a file header.
    remaining: (usize, usize),
    /// Name of the file before the change, shown instead of `/dev/null` if the patch deletes the file.
    before: String,
}

impl PatchParser {
    fn line(&mut self, line: &str) {
        if self.remaining != (0, 0) {
            return self.within(line);
        }
        if let Some(head) = line.strip_prefix("@@ ") {
            return match hunk(head) {
                Some(((old, old_count), (new, new_count))) => {
                    if matches!(self.rows.last(), Some(DiffRow::Line(_))) {
                        self.rows.push(DiffRow::Gap);
                    }
                    self.numbers = (old, new);
                    self.remaining = (old_count, new_count);
                }
                None => self.rows.push(DiffRow::Remark(line.to_owned())),
            };
        }
        if let Some(name) = line.strip_prefix("--- ") {
            name.clone_into(&mut self.before);
        } else if let Some(name) = line.strip_prefix("+++ ") {
            let name = if name.starts_with("/dev/null") { self.before.as_str() } else { name };
            self.rows.push(DiffRow::File(file_name(name).to_owned()));
        } else if !["diff ", "index ", "\\ "].iter().any(|head| line.starts_with(head)) {
            self.rows.push(DiffRow::Remark(line.to_owned()));
        }
    }

    fn within(&mut self, line: &str) {
        let (old, new) = (&mut self.numbers.0, &mut self.numbers.1);
        let (tag, number) = match line.as_bytes().first() {
            Some(b'-') => (ChangeTag::Delete, *old),
            Some(b'+') => (ChangeTag::Insert, *new),
            // Some tools omit the space before an empty line.
            Some(b' ') | None => (ChangeTag::Equal, *new),
            Some(b'\\') => return,
            Some(_) => {
                // The hunk has fewer lines than its header gives.
                self.remaining = (0, 0);
                return self.line(line);
            }
        };
        if tag != ChangeTag::Insert {
            *old += 1;
            self.remaining.0 = self.remaining.0.saturating_sub(1);
        }
        if tag != ChangeTag::Delete {
            *new += 1;
            self.remaining.1 = self.remaining.1.saturating_sub(1);
        }
        let text = line.get(1..).unwrap_or_default();
        self.rows.push(DiffRow::Line(DiffLine { tag, number, parts: vec![(false, text.to_owned())] }));
    }
}

/// Parses a hunk header without its `@@ `, such as `-1,2 +3,4 @@`. Returns the first line number and the number of
/// lines in the old and in the new text.
fn hunk(head: &str) -> Option<((usize, usize), (usize, usize))> {
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let mut words = head.split(' ');
    let old = range(words.next()?.strip_prefix('-')?)?;
    Some((old, range(words.next()?.strip_prefix('+')?)?))
}

/// Strips the prefix `a/` or `b/` that git adds, and a trailing timestamp.
fn file_name(name: &str) -> &str {
    let name = name.split('\t').next().unwrap_or(name);
    name.strip_prefix("a/").or(name.strip_prefix("b/")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(diff: &Diff, width: u16, most: usize) -> Vec<String> {
        let lines = diff.lines(width, most, &Theme::dark());
        lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect()
    }

    fn numbered(lines: std::ops::RangeInclusive<usize>) -> String {
        lines.map(|line| format!("line {line}\n")).collect()
    }

    #[test]
    fn a_change_has_its_context_and_numbers() {
        let old = numbered(1..=20);
        let new = old.replace("line 5\n", "line five\n").replace("line 18\n", "");
        let diff = Diff::between(&old, &new);
        assert_eq!((diff.added(), diff.removed()), (1, 2));
        assert_eq!(
            texts(&diff, 40, 100),
            [
                " 2   line 2",
                " 3   line 3",
                " 4   line 4",
                " 5 - line 5",
                " 5 + line five",
                " 6   line 6",
                " 7   line 7",
                " 8   line 8",
                " ⋯",
                "15   line 15",
                "16   line 16",
                "17   line 17",
                "18 - line 18",
                "18   line 19",
                "19   line 20",
            ]
        );
    }

    #[test]
    fn differences_within_a_line_are_highlighted() {
        let theme = Theme::dark();
        let lines = Diff::between("let a = one;\n", "let a = two;\n").lines(40, 10, &theme);
        let styled = |text: &str| {
            lines.iter().flat_map(|line| &line.spans).find(|span| span.content == text).map(|span| span.style)
        };
        assert_eq!(styled("one;"), Some(theme.removed_part));
        assert_eq!(styled("two;"), Some(theme.added_part));
        assert_eq!(styled("let a = "), Some(theme.removed));
    }

    #[test]
    fn nothing_changed_shows_nothing() {
        assert!(Diff::between("a\n", "a\n").is_empty());
        assert_eq!(texts(&Diff::between("", "a"), 20, 10), ["1 + a"]);
    }

    #[test]
    fn a_long_change_ends_with_the_number_of_hidden_lines() {
        let diff = Diff::between("", &numbered(1..=9));
        assert_eq!(texts(&diff, 40, 9).len(), 9);
        assert_eq!(texts(&diff, 40, 3), ["1 + line 1", "2 + line 2", "… 7 more lines"]);
        assert_eq!(texts(&diff, 40, 1), ["… 9 more lines"]);
        assert_eq!(texts(&diff, 40, 0), [] as [&str; 0]);
    }

    #[test]
    fn a_long_line_is_wrapped() {
        assert_eq!(texts(&Diff::between("", "abcdefgh"), 8, 9), ["1 + abcd", "    efgh"]);
    }

    #[test]
    fn a_patch_is_read() {
        let patch = "diff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -9,3 +9,3 @@ fn f\n one\n--- two\n+++ three\n four\n@@ -30 +30,2 @@\n five\n+six\n\\ No newline at end of file\ndiff --git a/y b/y\ndeleted file mode 100644\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        assert_eq!(
            texts(&Diff::unified(patch), 40, 100),
            [
                "x.rs",
                " 9   one",
                "10 - -- two",
                "10 + ++ three",
                "11   four",
                " ⋯",
                "30   five",
                "31 + six",
                "deleted file mode 100644",
                "y",
                " 1 - gone",
            ]
        );
    }

    #[test]
    fn controls_never_reach_the_terminal() {
        assert_eq!(texts(&Diff::between("", "a\x1b[2J\r\n"), 40, 9), ["1 + a␛[2J"]);
        assert_eq!(texts(&Diff::unified("+++ b/\x1bx\n"), 40, 9), ["␛x"]);
    }

    proptest! {
        #[test]
        fn a_diff_stays_within_its_bounds(
            old in "([ab日\t\x1b]{0,6}\n){0,12}", new in "([ab日\t\x1b]{0,6}\r?\n){0,12}", width in 2u16..30, most in 0usize..12,
        ) {
            for diff in [Diff::between(&old, &new), Diff::unified(&new), Diff::unified(&format!("@@ -1,3 +1,9 @@\n{new}"))] {
                let lines = diff.lines(width, most, &Theme::dark());
                prop_assert!(lines.len() <= most);
                for line in &lines {
                    prop_assert!(line.width() <= usize::from(width), "{:?}", line);
                    prop_assert!(!line.to_string().contains(char::is_control), "{:?}", line);
                }
            }
        }
    }
}
