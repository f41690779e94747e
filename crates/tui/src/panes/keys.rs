//! Pane with the list of key bindings, drawn over all other panes.

use std::time::SystemTime;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};
use wh_core::input::Gesture;
use wh_core::slash::{PaneName, Visibility};
use wh_core::space::state::SpaceState;

use super::{Pane, PanePart, PanePlacement, ScreenLayout, WHOLE_PANE};
use crate::app::{App, AppEffect, ClickTarget};
use crate::keymap::BindableAction::{self, Edit, Screen};
use crate::keymap::EditAction::*;
use crate::keymap::KeyMap;
use crate::keymap::ScreenAction::{self, *};
use crate::theme::Theme;
use crate::view::lines::{put, put_all};
use crate::view::{FrameClock, frame};
use crate::wrap::{StyledText, words};

/// Empty list, for entries whose keys are fixed.
const UNBOUND: &[BindableAction] = &[];

/// Entries of the list: the keys, their effect, and the actions whose keys the settings can change. An entry without
/// keys is a heading, or a note if it ends with a full stop.
const KEY_HELP: &[(&str, &str, &[BindableAction])] = &[
    ("", "Everywhere", UNBOUND),
    ("Esc", "close a dialog, interrupt, or clear the input", UNBOUND),
    ("Ctrl+C", "interrupt, or clear the input; twice: quit", UNBOUND),
    ("Ctrl+D", "quit, if the input is empty", &[Screen(Leave)]),
    ("F1, ?", "this list (? only if the input is empty)", &[Screen(Keys)]),
    ("F2, Ctrl+T", "signal board", &[Screen(SignalBoard)]),
    ("F3", "show or hide details", &[Screen(Details)]),
    ("F4", "show or hide stream data", &[Screen(Streams)]),
    ("F5", "show or hide tool activity", &[Screen(Tools)]),
    ("F6", "choose the agent that receives messages", &[Screen(Agents)]),
    ("F7", "choose the agent's model", &[Screen(Models)]),
    ("F8", "resume one of the agent's saved conversations", &[Screen(Conversations)]),
    ("Shift+Tab", "switch to the agent's next mode", &[Screen(NextMode)]),
    ("Ctrl+L", "redraw the screen", &[Screen(Redraw)]),
    ("Shift+drag", "select text with the terminal", UNBOUND),
    ("", "Writing", UNBOUND),
    ("Enter", "send", &[Edit(Submit)]),
    ("Shift+Enter, Ctrl+J", "new line; also Alt+Enter, or \\ and Enter", &[Edit(Newline)]),
    ("/", "commands; Tab completes", UNBOUND),
    ("@", "files; Tab completes", UNBOUND),
    ("Up, Down", "input history", &[Edit(Up), Edit(Down)]),
    ("Ctrl+A, Ctrl+E", "beginning and end of the line", &[Edit(LineStart), Edit(LineEnd)]),
    ("Ctrl+Left, Ctrl+Right", "move by word", &[Edit(WordLeft), Edit(WordRight)]),
    (
        "Ctrl+W, U, K",
        "cut a word, to the line start, to the line end",
        &[Edit(CutBlankLeft), Edit(CutLineStart), Edit(CutLineEnd)],
    ),
    ("Ctrl+Y, Alt+Y", "paste (yank); cycle through earlier cuts", &[Edit(Yank), Edit(YankOlder)]),
    ("Ctrl+Z, Ctrl+Shift+Z", "undo, redo", &[Edit(Undo), Edit(Redo)]),
    ("", "Conversation", UNBOUND),
    ("PageUp, PageDown", "scroll; also the mouse wheel", UNBOUND),
    ("Ctrl+Home, Ctrl+End", "go to the beginning, to the end", UNBOUND),
    ("Alt+Up, Alt+Down", "select a message; Esc ends the selection", UNBOUND),
    ("Ctrl+O, click", "expand or collapse tool calls", UNBOUND),
    ("", "Lists to choose from", UNBOUND),
    ("Typing", "filter", UNBOUND),
    ("Up, Down, Enter, click", "choose; Esc closes", UNBOUND),
    ("", "Questions", UNBOUND),
    ("1 to 9, click", "choose an option", UNBOUND),
    ("Up, Down, Enter", "choose the highlighted option", UNBOUND),
    ("Tab", "reply with text, if the question accepts it", UNBOUND),
    ("PageUp, PageDown, End", "scroll; you can allow only after reaching the end", UNBOUND),
    ("Ctrl+O", "open the full text of the question", UNBOUND),
    (
        "",
        "Your draft is kept while a question is open. If you are typing when it opens, input goes to your draft until \
         you pause for half a second, so that you do not answer by accident.",
        UNBOUND,
    ),
];

/// Maximum width of the list.
const KEY_HELP_WIDTH: u16 = 84;

/// Returns the keys of an entry: the text from the table if the actions have their default keys, and else the keys from
/// the settings.
fn shown(written: &'static str, actions: &[BindableAction], keys: &KeyMap) -> String {
    if actions.iter().all(|action| keys.is_default(*action)) {
        return written.to_owned();
    }
    let bound = actions.iter().flat_map(|action| keys.keys_of(*action).into_iter().take(2));
    let names: Vec<String> = bound.map(|press| press.to_string()).collect();
    if names.is_empty() { "(no key)".to_owned() } else { names.join(", ") }
}

/// Returns the lines of the list for this width.
fn lines(width: usize, theme: &Theme, keys: &KeyMap) -> Vec<Line<'static>> {
    let entries: Vec<(String, &str)> =
        KEY_HELP.iter().map(|(key, what, actions)| (shown(key, actions, keys), *what)).collect();
    let column = entries.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0) + 2;
    let mut all = Vec::new();
    for (key, what) in &entries {
        if key.is_empty() {
            if !all.is_empty() {
                all.push(Line::default());
            }
            let style = if what.ends_with('.') { theme.dim } else { theme.heading };
            all.extend(words(&[StyledText::new(*what, style)], width));
            continue;
        }
        let rows = words(&[StyledText::new(*what, theme.text)], width.saturating_sub(column));
        for (index, mut row) in rows.into_iter().enumerate() {
            let shown = if index == 0 { key.as_str() } else { "" };
            row.spans.insert(0, Span::styled(format!("{shown:<column$}"), theme.accent));
            all.push(row);
        }
    }
    all
}

fn draw(app: &mut App, buffer: &mut Buffer, bounds: Rect) {
    let theme = *app.theme();
    let width = KEY_HELP_WIDTH.min(bounds.width);
    let lines = lines(usize::from(width).saturating_sub(4), &theme, &app.options().keys);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(bounds.height);
    let area =
        Rect { x: bounds.x + (bounds.width - width) / 2, y: bounds.y + (bounds.height - height) / 2, width, height };
    if area.height < 3 {
        return;
    }
    app.click_targets.push((bounds, ClickTarget::Pane(&KeyHelp, WHOLE_PANE)));
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

const KEYS_PANE: PaneName = PaneName("keys");

/// Pane with the list of key bindings. Typed text closes the list and is then handled by the layers below.
#[derive(Debug)]
pub(super) struct KeyHelp;

impl Pane for KeyHelp {
    fn layer(&self) -> PanePlacement {
        PanePlacement::Over
    }

    fn is_open(&self, app: &App, _state: &SpaceState) -> bool {
        app.keys.is_some()
    }

    fn names(&self) -> &'static [PaneName] {
        &[KEYS_PANE]
    }

    fn actions(&self) -> &'static [(ScreenAction, PaneName)] {
        &[(Keys, KEYS_PANE)]
    }

    fn show(
        &self,
        app: &mut App,
        _name: PaneName,
        visibility: Option<Visibility>,
        _state: &SpaceState,
        _now: SystemTime,
    ) -> Vec<AppEffect> {
        let opens = match visibility {
            Some(Visibility::Open) => true,
            Some(Visibility::Close) => false,
            Some(Visibility::Auto) | None => app.keys.is_none(),
        };
        app.keys = opens.then_some(0);
        Vec::new()
    }

    fn typed(&self, app: &mut App, gesture: &Gesture, _state: &SpaceState, _now: SystemTime) -> Option<Vec<AppEffect>> {
        let line = app.keys.take().unwrap_or(0);
        let name = match gesture {
            Gesture::Key(press) => press.to_string(),
            Gesture::Text(text) => text.clone(),
            Gesture::Paste(_) | Gesture::Mouse(_) => String::new(),
        };
        app.keys = match name.as_str() {
            "up" => Some(line.saturating_sub(1)),
            "down" => Some(line + 1),
            "pageup" => Some(line.saturating_sub(10)),
            "pagedown" => Some(line + 10),
            "home" => Some(0),
            "?" | "q" | "enter" | " " => None,
            // Any other input closes the list and goes to the layers below.
            _ => return None,
        };
        Some(Vec::new())
    }

    fn escape(&self, app: &mut App, _state: &SpaceState) -> bool {
        app.keys.take().is_some()
    }

    fn stop(&self, app: &mut App) -> bool {
        app.keys = None;
        false
    }

    fn wheel(&self, app: &mut App, lines: isize) -> Vec<AppEffect> {
        app.keys = app.keys.map(|line| line.saturating_add_signed(lines));
        Vec::new()
    }

    fn click(
        &self,
        app: &mut App,
        _part: PanePart,
        _gesture: &Gesture,
        _state: &SpaceState,
        _now: SystemTime,
    ) -> Vec<AppEffect> {
        app.keys = None;
        Vec::new()
    }

    fn bounds(&self, layout: &ScreenLayout) -> Rect {
        layout.until(layout.below)
    }

    fn draw(
        &self,
        app: &mut App,
        _state: &SpaceState,
        buffer: &mut Buffer,
        area: Rect,
        _moment: &FrameClock,
    ) -> Option<Position> {
        draw(app, buffer, area);
        None
    }
}
