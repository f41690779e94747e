//! What a question is about, line by line.

use ratatui::text::{Line, Span};
use wh_core::space::question::{Detail, Question};

use crate::diff::Diff;
use crate::markdown;
use crate::theme::Theme;
use crate::wrap::{Piece, verbatim};
use wh_screen::visible::visible;

/// Everything that the question is about, for this width.
pub(super) fn lines(question: &Question, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut all: Vec<Line<'static>> = Vec::new();
    for detail in &question.details {
        if !all.is_empty() {
            all.push(Line::default());
        }
        all.extend(detail_lines(detail, width, theme));
    }
    all
}

fn detail_lines(detail: &Detail, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let columns = u16::try_from(width).unwrap_or(u16::MAX);
    match detail {
        Detail::Text(text) => markdown::render(text, columns, theme),
        Detail::Command(command) => {
            let rows = verbatim(&[Piece::new(visible(command).trim_end(), theme.code)], width.saturating_sub(2));
            let marks = std::iter::once("$ ").chain(std::iter::repeat("  "));
            rows.into_iter().zip(marks).map(|(row, mark)| before(mark, theme, row)).collect()
        }
        Detail::Path(path) => verbatim(&[Piece::new(visible(path), theme.link)], width),
        Detail::Diff { path, old, new } => {
            let diff = Diff::between(old.as_deref().unwrap_or_default(), new);
            let mut all = verbatim(&[Piece::new(visible(path), theme.link)], width);
            if let Some(last) = all.last_mut() {
                let fresh = if old.is_none() { "  new file" } else { "" };
                last.spans.push(Span::styled(format!("{fresh}  +{}", diff.added()), theme.added));
                last.spans.push(Span::styled(format!(" -{}", diff.removed()), theme.removed));
            }
            all.extend(diff.lines(columns, usize::MAX, theme));
            all
        }
        Detail::Input { tool, input } => {
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
