//! Renders the details of a question: commands, paths, changes and tool input.

use ratatui::text::{Line, Span};
use wh_core::space::question::{Question, QuestionDetail};

use crate::diff::Diff;
use crate::markdown;
use crate::theme::Theme;
use crate::wrap::{StyledText, verbatim};
use wh_screen::visible::visible;

/// Details of a question, rendered as lines.
#[derive(Debug, Default)]
pub(super) struct QuestionDetails {
    pub(super) lines: Vec<Line<'static>>,
    /// Index of the first line that a diff adds or removes; `None` if there is no diff.
    pub(super) change: Option<usize>,
}

impl QuestionDetails {
    /// Renders the details of a question. `context` is the number of unchanged lines around each change.
    pub(super) fn new(question: &Question, width: usize, context: usize, theme: &Theme) -> Self {
        let mut all = Self::default();
        for detail in &question.details {
            if !all.lines.is_empty() {
                all.lines.push(Line::default());
            }
            all.add(detail, width, context, theme);
        }
        all
    }

    fn add(&mut self, detail: &QuestionDetail, width: usize, context: usize, theme: &Theme) {
        let QuestionDetail::Diff { path, old, new } = detail else {
            return self.lines.extend(detail_lines(detail, width, theme));
        };
        let columns = u16::try_from(width).unwrap_or(u16::MAX);
        let diff = Diff::with_context(old.as_deref().unwrap_or_default(), new, context);
        let mut head = verbatim(&[StyledText::new(visible(path), theme.link)], width);
        if let Some(last) = head.last_mut() {
            let fresh = if old.is_none() { "  new file" } else { "" };
            last.spans.push(Span::styled(format!("{fresh}  +{}", diff.added()), theme.added));
            last.spans.push(Span::styled(format!(" -{}", diff.removed()), theme.removed));
        }
        self.lines.extend(head);
        let before = diff.lines_before_change(columns, theme).map(|before| self.lines.len() + before);
        self.change = self.change.or(before);
        self.lines.extend(diff.lines(columns, usize::MAX, theme));
    }
}

fn detail_lines(detail: &QuestionDetail, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let columns = u16::try_from(width).unwrap_or(u16::MAX);
    match detail {
        QuestionDetail::Text(text) => markdown::render(text, columns, theme),
        QuestionDetail::Command(command) => {
            let rows = verbatim(&[StyledText::new(visible(command).trim_end(), theme.code)], width.saturating_sub(2));
            let marks = std::iter::once("$ ").chain(std::iter::repeat("  "));
            rows.into_iter().zip(marks).map(|(row, mark)| before(mark, theme, row)).collect()
        }
        QuestionDetail::Diff { path, .. } | QuestionDetail::Path(path) => {
            verbatim(&[StyledText::new(visible(path), theme.link)], width)
        }
        QuestionDetail::Input { tool, input } => {
            let pretty = serde_json::to_string_pretty(input).unwrap_or_else(|_| input.to_string());
            let mut all = vec![Line::styled(visible(tool).into_owned(), theme.tool)];
            all.extend(markdown::code(&pretty, "json", columns, theme));
            all
        }
    }
}

fn before(mark: &'static str, theme: &Theme, mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::styled(mark, theme.dim));
    line
}
