//! A change as coloured lines with their numbers: from two texts, or from a patch in the unified format.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};

use crate::theme::Theme;
use crate::wrap::{self, Piece};
use wh_screen::visible::visible;

/// Unchanged lines that are shown around a change, where there is room for them.
pub const CONTEXT: usize = 3;

/// After this the comparison is finished roughly: it is correct still, but not the shortest.
const PATIENCE: Duration = Duration::from_millis(100);

/// A change, line by line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Row {
    /// The name of a file.
    File(String),
    /// Lines that are not shown.
    Gap,
    /// Something that a patch says beside.
    Remark(String),
    Line(Numbered),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Numbered {
    tag: ChangeTag,
    /// In the new text, or in the old if it is not there any more.
    number: usize,
    /// The text in parts, and whether each is what differs.
    parts: Vec<(bool, String)>,
}

impl Diff {
    /// What turns one text into the other.
    #[must_use]
    pub fn between(old: &str, new: &str) -> Self {
        Self::with_context(old, new, CONTEXT)
    }

    /// The same, with this number of unchanged lines around each change.
    #[must_use]
    pub fn with_context(old: &str, new: &str, context: usize) -> Self {
        let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
        let mut rows = Vec::new();
        for group in diff.grouped_ops(context) {
            if !rows.is_empty() {
                rows.push(Row::Gap);
            }
            for change in group.iter().flat_map(|operation| diff.iter_inline_changes(operation)) {
                let index = change.new_index().or(change.old_index()).unwrap_or(0);
                let parts =
                    change.iter_strings_lossy().map(|(differs, text)| (differs, without_break(&text).to_owned()));
                rows.push(Row::Line(Numbered { tag: change.tag(), number: index + 1, parts: parts.collect() }));
            }
        }
        Self { rows }
    }

    /// What a patch says. What is not understood of it is shown as it is.
    #[must_use]
    pub fn unified(patch: &str) -> Self {
        let mut reader = Patch::default();
        for line in patch.lines() {
            reader.line(line);
        }
        Self { rows: reader.rows }
    }

    /// How many lines are added.
    #[must_use]
    pub fn added(&self) -> usize {
        self.count(ChangeTag::Insert)
    }

    /// How many lines are taken away.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.count(ChangeTag::Delete)
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Number of lines of this width before the first that is added or taken away; `None` if there is no such line.
    #[must_use]
    pub fn lines_before_change(&self, width: u16, theme: &Theme) -> Option<usize> {
        let changes = |row: &Row| matches!(row, Row::Line(line) if line.tag != ChangeTag::Equal);
        let first = self.rows.iter().position(changes)?;
        let before = Self { rows: self.rows[..first].to_vec() };
        Some(before.lines(width, usize::MAX, theme).len())
    }

    fn count(&self, tag: ChangeTag) -> usize {
        self.rows.iter().filter(|row| matches!(row, Row::Line(line) if line.tag == tag)).count()
    }

    /// At most `most` lines of this width; the last says how many lines of the change are not shown, if some are not.
    #[must_use]
    pub fn lines(&self, width: u16, most: usize, theme: &Theme) -> Vec<Line<'static>> {
        let width = usize::from(width);
        let largest = self.rows.iter().map(|row| if let Row::Line(line) = row { line.number } else { 0 }).max();
        let digits = largest.unwrap_or(0).max(1).ilog10() as usize + 1;
        let mut lines = Vec::new();
        // How many rows were whole when there was still room for the last line.
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
            let rest = wrap::verbatim(&[Piece::new(format!("… {hidden} more {word}"), theme.dim)], width);
            lines.extend(rest.into_iter().take(most.min(1)));
        }
        lines
    }
}

fn without_break(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

impl Row {
    fn lines(&self, width: usize, digits: usize, theme: &Theme) -> Vec<Line<'static>> {
        let alone = |text: &str, style: Style| wrap::verbatim(&[Piece::new(visible(text), style)], width);
        match self {
            Self::File(name) => alone(name, theme.accent),
            Self::Gap => alone(&format!("{:>digits$}", "⋯"), theme.dim),
            Self::Remark(text) => alone(text, theme.dim),
            Self::Line(line) => line.lines(width, digits, theme),
        }
    }
}

impl Numbered {
    fn lines(&self, width: usize, digits: usize, theme: &Theme) -> Vec<Line<'static>> {
        let (sign, style, differing) = match self.tag {
            ChangeTag::Equal => (' ', theme.text, theme.text),
            ChangeTag::Delete => ('-', theme.removed, theme.removed_part),
            ChangeTag::Insert => ('+', theme.added, theme.added_part),
        };
        let style_of = |differs: bool| if differs { differing } else { style };
        let pieces: Vec<Piece> =
            self.parts.iter().map(|(differs, text)| Piece::new(visible(text), style_of(*differs))).collect();
        // A number, a blank, a sign, a blank.
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

/// A patch while it is read.
#[derive(Debug, Default)]
struct Patch {
    rows: Vec<Row>,
    /// The next line's number in the old text and in the new.
    numbers: (usize, usize),
    /// How many lines of each the hunk still has: a removed line may look like the head of a file.
    left: (usize, usize),
    /// The file's name before the change.
    before: String,
}

impl Patch {
    fn line(&mut self, line: &str) {
        if self.left != (0, 0) {
            return self.within(line);
        }
        if let Some(head) = line.strip_prefix("@@ ") {
            return match hunk(head) {
                Some(((old, old_count), (new, new_count))) => {
                    if matches!(self.rows.last(), Some(Row::Line(_))) {
                        self.rows.push(Row::Gap);
                    }
                    self.numbers = (old, new);
                    self.left = (old_count, new_count);
                }
                None => self.rows.push(Row::Remark(line.to_owned())),
            };
        }
        if let Some(name) = line.strip_prefix("--- ") {
            name.clone_into(&mut self.before);
        } else if let Some(name) = line.strip_prefix("+++ ") {
            let name = if name.starts_with("/dev/null") { self.before.as_str() } else { name };
            self.rows.push(Row::File(file_name(name).to_owned()));
        } else if !["diff ", "index ", "\\ "].iter().any(|head| line.starts_with(head)) {
            self.rows.push(Row::Remark(line.to_owned()));
        }
    }

    fn within(&mut self, line: &str) {
        let (old, new) = (&mut self.numbers.0, &mut self.numbers.1);
        let (tag, number) = match line.as_bytes().first() {
            Some(b'-') => (ChangeTag::Delete, *old),
            Some(b'+') => (ChangeTag::Insert, *new),
            // Some tools leave the blank out before an empty line.
            Some(b' ') | None => (ChangeTag::Equal, *new),
            Some(b'\\') => return,
            Some(_) => {
                // The hunk is shorter than it says.
                self.left = (0, 0);
                return self.line(line);
            }
        };
        if tag != ChangeTag::Insert {
            *old += 1;
            self.left.0 = self.left.0.saturating_sub(1);
        }
        if tag != ChangeTag::Delete {
            *new += 1;
            self.left.1 = self.left.1.saturating_sub(1);
        }
        let text = line.get(1..).unwrap_or_default();
        self.rows.push(Row::Line(Numbered { tag, number, parts: vec![(false, text.to_owned())] }));
    }
}

/// `-1,2 +3,4 @@ …`: where the hunk begins in either text, and how many lines of it it has.
fn hunk(head: &str) -> Option<((usize, usize), (usize, usize))> {
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let mut words = head.split(' ');
    let old = range(words.next()?.strip_prefix('-')?)?;
    Some((old, range(words.next()?.strip_prefix('+')?)?))
}

/// Without git's `a/` and `b/`, and without a time behind it.
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
    fn what_differs_within_a_line_stands_out() {
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
    fn a_long_change_says_what_is_not_shown() {
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
        fn whatever_is_compared_stays_within_its_bounds(
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
