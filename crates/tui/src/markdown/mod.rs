//! Renders Markdown to styled lines of a width. Text is rendered again while it streams in, so partial text must look
//! like its final form. Control characters never reach the terminal.
//!
//! Line breaks within a paragraph are kept, since agents use them on purpose.

mod highlight;
mod languages;
mod partial;
mod table;
#[cfg(test)]
mod tests;
mod writer;

use pulldown_cmark::{Options, Parser};
use ratatui::text::Line;

use crate::theme::Theme;
use wh_screen::visible::visible;

/// Renders a complete text. No line is wider than `width`.
#[must_use]
pub fn render(source: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let source = visible(source);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = writer::MarkdownWriter::new(width.into(), theme);
    for event in Parser::new_ext(&source, options) {
        writer.event(event);
    }
    writer.finish()
}

/// Renders a text that is still growing. Marks that are open at its end are treated as closed, so that little changes
/// when the rest arrives.
#[must_use]
pub fn render_partial(source: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    render(&partial::completed(source), width, theme)
}

/// Renders code with the colours of its language, given by the label of a fence. Long lines are wrapped.
#[must_use]
pub fn code(source: &str, language: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let source = visible(source);
    crate::wrap::verbatim(&highlight::highlight(source.trim_end_matches('\n'), language, theme), width.into())
}
