//! Renders Markdown to styled lines of a given width, without control characters. A growing text is rendered again
//! after each addition, and its lines must change as little as possible. Line breaks within a paragraph are preserved,
//! because agents use them on purpose.

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

/// Renders a complete Markdown text. No line is wider than `width`.
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

/// Renders a Markdown text that is still growing. Treats marks that are open at the end of the text as closed, so that
/// the lines change little when the rest arrives.
#[must_use]
pub fn render_partial(source: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    render(&partial::completed(source), width, theme)
}

/// Renders code with syntax highlighting. `language` is the label of a code fence, such as `rust`. Long lines are
/// wrapped.
#[must_use]
pub fn code(source: &str, language: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let source = visible(source);
    crate::wrap::verbatim(&highlight::highlight(source.trim_end_matches('\n'), language, theme), width.into())
}
