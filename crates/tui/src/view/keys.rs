//! The list of keys, over everything else.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use super::frame;
use super::lines::{put, put_all};
use crate::app::{App, Spot};
use crate::theme::Theme;
use crate::wrap::{Piece, words};

/// What each key does; a line without a key is a heading, or a remark if it ends with a full stop.
const KEYS: &[(&str, &str)] = &[
    ("", "Everywhere"),
    ("Esc", "closes what is open; interrupts; empties the composer"),
    ("Ctrl+C", "interrupts; empties the composer; twice: leaves"),
    ("Ctrl+D", "leaves, where nothing is written"),
    ("F1, ?", "this list (? where nothing is written)"),
    ("F2, Ctrl+T", "signal board"),
    ("F3", "details"),
    ("F4", "what comes through streams"),
    ("F5", "tools: what each agent does with them"),
    ("F6", "agents: which there are, and whom chat goes to"),
    ("F7", "models of the agent that chat goes to"),
    ("F8", "conversations that it keeps, to go on with one"),
    ("Shift+Tab", "its next mode"),
    ("Ctrl+L", "draws everything again"),
    ("Shift+drag", "selects text, as the terminal does"),
    ("", "Writing"),
    ("Enter", "sends"),
    ("Shift+Enter, Ctrl+J", "another line; Alt+Enter too, or \\ and Enter"),
    ("/", "commands; Tab completes"),
    ("@", "files; Tab completes"),
    ("Up, Down", "what was sent before"),
    ("Ctrl+A, Ctrl+E", "beginning and end of the line"),
    ("Ctrl+Left, Ctrl+Right", "word by word"),
    ("Ctrl+W, U, K", "cut a word, to the beginning, to the end"),
    ("Ctrl+Y, Alt+Y", "puts in what was cut; what was cut before"),
    ("Ctrl+Z, Ctrl+Shift+Z", "undo, redo"),
    ("", "Conversation"),
    ("PageUp, PageDown", "scroll, as does the wheel"),
    ("Ctrl+Home, Ctrl+End", "the beginning, the end"),
    ("Alt+Up, Alt+Down", "message by message; Esc ends it"),
    ("Ctrl+O, click", "opens and closes what a tool did"),
    ("", "Lists to choose from"),
    ("Typing", "filters"),
    ("Up, Down, Enter, click", "chooses; Esc leaves"),
    ("", "Questions"),
    ("1 to 9, click", "chooses that option"),
    ("Up, Down, Enter", "chooses the highlighted one"),
    ("Tab", "your own words, where they are an answer"),
    ("PageUp, PageDown, End", "scroll; only after the end was shown can it be allowed"),
    ("Ctrl+O", "opens the whole of what is asked"),
    (
        "",
        "Your draft stays while a question is open. If you are writing when it comes, you go on writing until you \
         pause for half a second, so that nothing is answered by accident.",
    ),
];

/// Columns of the list where there is room.
const WIDTH: u16 = 84;

/// The list for this width.
fn lines(width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let column = KEYS.iter().map(|(key, _)| key.len()).max().unwrap_or(0) + 2;
    let mut all = Vec::new();
    for (key, what) in KEYS {
        if key.is_empty() {
            if !all.is_empty() {
                all.push(Line::default());
            }
            let style = if what.ends_with('.') { theme.dim } else { theme.heading };
            all.extend(words(&[Piece::new(*what, style)], width));
            continue;
        }
        let rows = words(&[Piece::new(*what, theme.text)], width.saturating_sub(column));
        for (index, mut row) in rows.into_iter().enumerate() {
            let shown = if index == 0 { *key } else { "" };
            row.spans.insert(0, Span::styled(format!("{shown:<column$}"), theme.accent));
            all.push(row);
        }
    }
    all
}

pub(super) fn draw(app: &mut App, buffer: &mut Buffer, bounds: Rect) {
    let theme = *app.theme();
    let width = WIDTH.min(bounds.width);
    let lines = lines(usize::from(width).saturating_sub(4), &theme);
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
