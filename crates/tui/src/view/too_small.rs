//! Notice that the terminal is too small, drawn instead of the whole UI.

use ratatui::buffer::Buffer;
use wh_core::terminal::Size;

use super::lines::put_all;
use super::moment::FrameClock;
use crate::app::App;
use crate::wrap::{StyledText, words};

/// Minimum terminal size at which the UI is drawn.
const MIN_UI_SIZE: Size = Size { columns: 30, rows: 8 };

/// Returns true if a terminal of this size is large enough for the UI.
pub(crate) fn fits(size: Size) -> bool {
    size.columns >= MIN_UI_SIZE.columns && size.rows >= MIN_UI_SIZE.rows
}

/// Draws the longest version of the notice that fits. Each version contains the minimum size.
pub(super) fn draw(app: &App, buffer: &mut Buffer, moment: &FrameClock) {
    let area = buffer.area;
    let Size { columns, rows } = MIN_UI_SIZE;
    let leaving = app.quit_time_left(moment.now());
    if let Some(left) = leaving {
        moment.wake_in(left);
    }
    let key = if leaving.is_some() { "Ctrl+C again quits." } else { "Ctrl+C twice quits." };
    let forms = [
        format!(
            "The terminal is too small: {}x{}. At least {columns}x{rows} is needed. {key}",
            area.width, area.height
        ),
        format!("Too small: needs {columns}x{rows}. {key}"),
        format!("needs {columns}x{rows} {key}"),
        format!("min {columns}x{rows}"),
        format!("{columns}x{rows}"),
    ];
    let style = app.theme().warning;
    let wrapped = forms.iter().map(|form| words(&[StyledText::new(form.as_str(), style)], area.width.into()));
    let broken = |form: &str| form.split(' ').any(|word| word.chars().count() > usize::from(area.width));
    let mut fitting =
        forms.iter().zip(wrapped).filter(|(form, lines)| lines.len() <= usize::from(area.height) && !broken(form));
    let lines = fitting.next().map(|(_, lines)| lines);
    put_all(
        buffer,
        area,
        &lines.unwrap_or_else(|| words(&[StyledText::new(forms[4].as_str(), style)], area.width.into())),
    );
}
