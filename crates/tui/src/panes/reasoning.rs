//! The reasoning bar: who thinks, for how long, about what, and how to stop it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use wh_core::space::item::Body;
use wh_core::space::state::State;

use super::{Layer, Pane};
use crate::app::App;
use crate::theme::Theme;
use crate::view::lines::{self, fit, one_line, put};
use crate::view::{Moment, frame};
use crate::wrap::{Piece, words};
use wh_screen::visible::visible;

/// Lines of the bar where there is room, its frame among them.
const HEIGHT: u16 = 8;
/// On a small screen.
const SMALL: u16 = 4;
/// The smallest screen with all of the bar.
const ROOM: u16 = 24;
/// Lines of the thought that are shown, its last.
const PREVIEW: usize = 3;
/// Of a thought so many bytes at the end are looked at: it may be long, and it is drawn often.
const TAIL: usize = 2048;

const CANCEL: &str = "Esc to interrupt, or /cancel";

/// Lines that the bar takes on a screen of this height, of which so many can be had.
fn height(state: &State, screen: u16, room: u16) -> u16 {
    match state.reasoning() {
        Some(_) if screen >= ROOM && room >= HEIGHT => HEIGHT,
        Some(_) if room >= SMALL => SMALL,
        _ => 0,
    }
}

fn draw(buffer: &mut Buffer, area: Rect, state: &State, theme: &Theme, moment: &Moment) {
    let Some(item) = state.reasoning() else { return };
    let Body::Thought { text, action, tokens } = &item.body else { return };
    if area.height < SMALL {
        return;
    }
    let inside = frame(buffer, area, theme.reasoning);
    let who = format!(" {} {} is thinking ", moment.spinner(), item.from);
    let mut metrics = vec![moment.elapsed(item.at)];
    metrics.extend(tokens.map(|tokens| format!("{} tokens", lines::thousands(tokens))));
    let metrics = metrics.join(" · ");
    let action = action.as_deref().map(one_line).unwrap_or_default();
    let width = usize::from(inside.width);
    let on_frame = |y: u16| Rect { x: area.x + 2, y, width: area.width.saturating_sub(4), height: 1 };
    let row = |row: u16| Rect { y: inside.y + row, height: 1, ..inside };
    let preview = |count: usize| {
        let from = text.char_indices().rev().map(|(at, _)| at).take_while(|at| text.len() - at <= TAIL).last();
        let tail = visible(&text[from.unwrap_or(0)..]);
        let mut all = words(&[Piece::new(tail.trim(), theme.dim)], width);
        all.split_off(all.len().saturating_sub(count))
    };
    if area.height < HEIGHT {
        let title = vec![Span::styled(who, theme.reasoning), Span::styled(format!("{metrics} "), theme.dim)];
        put(buffer, on_frame(area.y), &Line::from(title));
        let (first, rest) = if action.is_empty() { (0, inside.height) } else { (1, inside.height.saturating_sub(1)) };
        if first == 1 {
            put(buffer, row(0), &Line::styled(fit(&action, width), theme.text));
        }
        let below = Rect { y: inside.y + first, height: rest, ..inside };
        lines::put_all(buffer, below, &preview(rest.into()));
        put(buffer, on_frame(area.bottom() - 1), &Line::styled(format!(" {CANCEL} "), theme.dim));
        return;
    }
    put(buffer, on_frame(area.y), &Line::styled(who, theme.reasoning));
    put(buffer, row(0), &Line::styled(metrics, theme.reasoning));
    put(buffer, row(1), &Line::styled(fit(&action, width), theme.text));
    lines::put_all(buffer, Rect { y: inside.y + 2, height: PREVIEW as u16, ..inside }, &preview(PREVIEW));
    put(buffer, row(5), &Line::styled(CANCEL, theme.dim));
}

/// Rows of the conversation that the bar leaves beyond those that everything above the composer does.
const LEFT: u16 = 2;

/// The reasoning bar. It is there while an agent reasons.
#[derive(Debug)]
pub(super) struct ReasoningBar;

impl Pane for ReasoningBar {
    fn layer(&self) -> Layer {
        Layer::Above
    }

    fn is_open(&self, _app: &App, state: &State) -> bool {
        state.reasoning().is_some()
    }

    fn rows(&self, _app: &mut App, state: &State, screen: Rect, room: u16) -> u16 {
        height(state, screen.height, room.saturating_sub(LEFT))
    }

    fn draw(&self, app: &mut App, state: &State, buffer: &mut Buffer, area: Rect, moment: &Moment) -> Option<Position> {
        draw(buffer, area, state, app.theme(), moment);
        None
    }
}
