//! Markdown as lines of a width. It is drawn again while it streams in, so half of it must look like what it will
//! become, and what comes from elsewhere must not reach the terminal as anything but text.
//!
//! A line break within a paragraph stays one, as agents mean it.

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

/// The lines of a complete text, none wider than `width`.
#[must_use]
pub fn render(source: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let source = visible(source);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = writer::Writer::new(width.into(), theme);
    for event in Parser::new_ext(&source, options) {
        writer.event(event);
    }
    writer.finish()
}

/// The lines of a text that is still being written: what has been opened at its end and not closed is taken for closed,
/// so that little changes when the rest arrives.
#[must_use]
pub fn render_partial(source: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    render(&partial::completed(source), width, theme)
}

/// Code in the colours of its language, by the name that a fence would give it; long lines are wrapped.
#[must_use]
pub fn code(source: &str, language: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let source = visible(source);
    crate::wrap::verbatim(&highlight::highlight(source.trim_end_matches('\n'), language, theme), width.into())
}
