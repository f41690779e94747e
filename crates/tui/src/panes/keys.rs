//! The list of keys, over everything else.

use std::time::SystemTime;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};
use wh_core::input::Gesture;
use wh_core::slash::{PaneName, Visibility};
use wh_core::space::state::State;

use super::{Layer, Layout, Pane, Part, WHOLE};
use crate::app::{Act, App, Spot};
use crate::keymap::Action::{self, Edit, Screen};
use crate::keymap::EditAction::*;
use crate::keymap::KeyMap;
use crate::keymap::ScreenAction::{self, *};
use crate::theme::Theme;
use crate::view::lines::{put, put_all};
use crate::view::{Moment, frame};
use crate::wrap::{Piece, words};

/// Lists that an entry's keys come from once they are bound otherwise; see [`shown`].
const NONE: &[Action] = &[];

/// What each key does, and the actions behind it that can be bound; a line without a key is a heading, or a remark if it
/// ends with a full stop.
const KEYS: &[(&str, &str, &[Action])] = &[
    ("", "Everywhere", NONE),
    ("Esc", "closes what is open; interrupts; empties the composer", NONE),
    ("Ctrl+C", "interrupts; empties the composer; twice: leaves", NONE),
    ("Ctrl+D", "leaves, where nothing is written", &[Screen(Leave)]),
    ("F1, ?", "this list (? where nothing is written)", &[Screen(Keys)]),
    ("F2, Ctrl+T", "signal board", &[Screen(SignalBoard)]),
    ("F3", "details", &[Screen(Details)]),
    ("F4", "what comes through streams", &[Screen(Streams)]),
    ("F5", "tools: what each agent does with them", &[Screen(Tools)]),
    ("F6", "agents: which there are, and whom chat goes to", &[Screen(Agents)]),
    ("F7", "models of the agent that chat goes to", &[Screen(Models)]),
    ("F8", "conversations that it keeps, to go on with one", &[Screen(Conversations)]),
    ("Shift+Tab", "its next mode", &[Screen(NextMode)]),
    ("Ctrl+L", "draws everything again", &[Screen(Redraw)]),
    ("Shift+drag", "selects text, as the terminal does", NONE),
    ("", "Writing", NONE),
    ("Enter", "sends", &[Edit(Submit)]),
    ("Shift+Enter, Ctrl+J", "another line; Alt+Enter too, or \\ and Enter", &[Edit(Newline)]),
    ("/", "commands; Tab completes", NONE),
    ("@", "files; Tab completes", NONE),
    ("Up, Down", "what was sent before", &[Edit(Up), Edit(Down)]),
    ("Ctrl+A, Ctrl+E", "beginning and end of the line", &[Edit(LineStart), Edit(LineEnd)]),
    ("Ctrl+Left, Ctrl+Right", "word by word", &[Edit(WordLeft), Edit(WordRight)]),
    (
        "Ctrl+W, U, K",
        "cut a word, to the beginning, to the end",
        &[Edit(CutBlankLeft), Edit(CutLineStart), Edit(CutLineEnd)],
    ),
    ("Ctrl+Y, Alt+Y", "puts in what was cut; what was cut before", &[Edit(Yank), Edit(YankOlder)]),
    ("Ctrl+Z, Ctrl+Shift+Z", "undo, redo", &[Edit(Undo), Edit(Redo)]),
    ("", "Conversation", NONE),
    ("PageUp, PageDown", "scroll, as does the wheel", NONE),
    ("Ctrl+Home, Ctrl+End", "the beginning, the end", NONE),
    ("Alt+Up, Alt+Down", "message by message; Esc ends it", NONE),
    ("Ctrl+O, click", "opens and closes what a tool did", NONE),
    ("", "Lists to choose from", NONE),
    ("Typing", "filters", NONE),
    ("Up, Down, Enter, click", "chooses; Esc leaves", NONE),
    ("", "Questions", NONE),
    ("1 to 9, click", "chooses that option", NONE),
    ("Up, Down, Enter", "chooses the highlighted one", NONE),
    ("Tab", "your own words, where they are an answer", NONE),
    ("PageUp, PageDown, End", "scroll; only after the end was shown can it be allowed", NONE),
    ("Ctrl+O", "opens the whole of what is asked", NONE),
    (
        "",
        "Your draft stays while a question is open. If you are writing when it comes, you go on writing until you \
         pause for half a second, so that nothing is answered by accident.",
        NONE,
    ),
];

/// Columns of the list where there is room.
const WIDTH: u16 = 84;

/// The keys of an entry: as they are written here, or as they are bound.
fn shown(written: &'static str, actions: &[Action], keys: &KeyMap) -> String {
    if actions.iter().all(|action| keys.is_default(*action)) {
        return written.to_owned();
    }
    let bound = actions.iter().flat_map(|action| keys.keys_of(*action).into_iter().take(2));
    let names: Vec<String> = bound.map(|press| press.to_string()).collect();
    if names.is_empty() { "(no key)".to_owned() } else { names.join(", ") }
}

/// The list for this width.
fn lines(width: usize, theme: &Theme, keys: &KeyMap) -> Vec<Line<'static>> {
    let entries: Vec<(String, &str)> =
        KEYS.iter().map(|(key, what, actions)| (shown(key, actions, keys), *what)).collect();
    let column = entries.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0) + 2;
    let mut all = Vec::new();
    for (key, what) in &entries {
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
            let shown = if index == 0 { key.as_str() } else { "" };
            row.spans.insert(0, Span::styled(format!("{shown:<column$}"), theme.accent));
            all.push(row);
        }
    }
    all
}

fn draw(app: &mut App, buffer: &mut Buffer, bounds: Rect) {
    let theme = *app.theme();
    let width = WIDTH.min(bounds.width);
    let lines = lines(usize::from(width).saturating_sub(4), &theme, &app.options().keys);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(bounds.height);
    let area =
        Rect { x: bounds.x + (bounds.width - width) / 2, y: bounds.y + (bounds.height - height) / 2, width, height };
    if area.height < 3 {
        return;
    }
    app.spots.push((bounds, Spot::Pane(&KeyHelp, WHOLE)));
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

const PANE_NAME: PaneName = PaneName("keys");

/// The list of keys. Typing closes it and goes on to what is below.
#[derive(Debug)]
pub(super) struct KeyHelp;

impl Pane for KeyHelp {
    fn layer(&self) -> Layer {
        Layer::Over
    }

    fn is_open(&self, app: &App, _state: &State) -> bool {
        app.keys.is_some()
    }

    fn names(&self) -> &'static [PaneName] {
        &[PANE_NAME]
    }

    fn actions(&self) -> &'static [(ScreenAction, PaneName)] {
        &[(Keys, PANE_NAME)]
    }

    fn show(
        &self,
        app: &mut App,
        _name: PaneName,
        wish: Option<Visibility>,
        _state: &State,
        _now: SystemTime,
    ) -> Vec<Act> {
        let opens = match wish {
            Some(Visibility::Open) => true,
            Some(Visibility::Close) => false,
            Some(Visibility::Auto) | None => app.keys.is_none(),
        };
        app.keys = opens.then_some(0);
        Vec::new()
    }

    fn typed(&self, app: &mut App, gesture: &Gesture, _state: &State, _now: SystemTime) -> Option<Vec<Act>> {
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
            // Whoever begins to write has read enough.
            _ => return None,
        };
        Some(Vec::new())
    }

    fn escape(&self, app: &mut App, _state: &State) -> bool {
        app.keys.take().is_some()
    }

    fn stop(&self, app: &mut App) -> bool {
        app.keys = None;
        false
    }

    fn wheel(&self, app: &mut App, lines: isize) -> Vec<Act> {
        app.keys = app.keys.map(|line| line.saturating_add_signed(lines));
        Vec::new()
    }

    fn click(&self, app: &mut App, _part: Part, _gesture: &Gesture, _state: &State, _now: SystemTime) -> Vec<Act> {
        app.keys = None;
        Vec::new()
    }

    fn bounds(&self, layout: &Layout) -> Rect {
        layout.until(layout.below)
    }

    fn draw(
        &self,
        app: &mut App,
        _state: &State,
        buffer: &mut Buffer,
        area: Rect,
        _moment: &Moment,
    ) -> Option<Position> {
        draw(app, buffer, area);
        None
    }
}
