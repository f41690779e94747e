//! The list of keys, over everything else.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use super::frame;
use super::lines::{put, put_all};
use crate::app::{App, Spot};

/// What each key does; a line without a key is a heading.
const KEYS: &[(&str, &str)] = &[
    ("", "Everywhere"),
    ("Esc", "closes what is open; stops whoever works; empties the composer"),
    ("Ctrl+C", "stops whoever works; empties the composer; twice: leaves"),
    ("Ctrl+D", "leaves, where nothing is written"),
    ("F1, ?", "this list (? where nothing is written)"),
    ("F2, Ctrl+T", "signal board"),
    ("F3", "details"),
    ("F4", "what comes through streams"),
    ("Ctrl+L", "draws everything again"),
    ("Shift+drag", "selects text, as the terminal does"),
    ("", "Writing"),
    ("Enter", "sends"),
    ("Shift+Enter, Alt+Enter, Ctrl+J", "another line (or \\ and Enter)"),
    ("/", "commands; Tab completes"),
    ("@", "files; Tab completes"),
    ("Up, Down", "what was sent before"),
    ("Ctrl+A, Ctrl+E", "beginning and end of the line"),
    ("Ctrl+Left, Ctrl+Right", "word by word"),
    ("Ctrl+W, Ctrl+U, Ctrl+K", "cut a word, to the beginning, to the end"),
    ("Ctrl+Y, Alt+Y", "puts in what was cut, then what was cut before"),
    ("Ctrl+Z, Ctrl+Shift+Z", "undo, redo"),
    ("", "Conversation"),
    ("PageUp, PageDown, wheel", "scrolls"),
    ("Ctrl+Home, Ctrl+End", "the beginning, the end"),
    ("Alt+Up, Alt+Down", "message by message"),
    ("Ctrl+O", "opens and closes what a tool did"),
    ("", "Questions"),
    ("1 to 9", "chooses that option"),
    ("Up, Down, Enter", "chooses the highlighted one"),
    ("Tab", "your own words, where they are an answer"),
    ("PageUp, PageDown", "scrolls what it is about"),
    ("Click", "chooses"),
    ("", "What you are writing stays while a question is open. If you write when it comes, you"),
    ("", "go on writing until you pause for half a second, so that nothing is answered by accident."),
];

pub(super) fn draw(app: &mut App, buffer: &mut Buffer, bounds: Rect) {
    let theme = *app.theme();
    let column = KEYS.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    let column = column.min(usize::from(bounds.width) / 3);
    let lines: Vec<Line<'static>> = KEYS
        .iter()
        .map(|(key, what)| match *key {
            "" if what.contains(' ') => Line::styled(*what, theme.dim),
            "" => Line::styled(*what, theme.heading),
            key => {
                let pad = column.saturating_sub(key.len()) + 2;
                Line::from(vec![
                    Span::styled(super::lines::fit(key, column), theme.accent),
                    Span::raw(" ".repeat(pad)),
                    Span::styled(*what, theme.text),
                ])
            }
        })
        .collect();
    let widest = lines.iter().map(Line::width).max().unwrap_or(0);
    let width = u16::try_from(widest + 4).unwrap_or(u16::MAX).min(bounds.width);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(bounds.height);
    let area =
        Rect { x: bounds.x + (bounds.width - width) / 2, y: bounds.y + (bounds.height - height) / 2, width, height };
    if area.height < 3 {
        return;
    }
    app.spots.push((bounds, Spot::Keys));
    Clear.render(area, buffer);
    let inside = frame(buffer, area, theme.accent);
    let on_frame = |y: u16| Rect { x: area.x + 2, y, width: area.width.saturating_sub(4), height: 1 };
    put(buffer, on_frame(area.y), &Line::styled(format!(" Keys of wh {} ", app.options().version), theme.accent));
    let most = lines.len().saturating_sub(inside.height.into());
    let first = app.keys.unwrap_or(0).min(most);
    app.keys = Some(first);
    put_all(buffer, inside, &lines[first..]);
    let hint = if most > 0 { " ↑↓ PgUp PgDn · Esc closes " } else { " Esc closes " };
    put(buffer, on_frame(area.bottom() - 1), &Line::styled(hint, theme.dim));
}
