//! Reasoning bar: the agent that is reasoning, the elapsed time, the subject, and the key that interrupts the agent.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use wh_core::space::item::ItemBody;
use wh_core::space::state::SpaceState;

use super::{Pane, PanePlacement};
use crate::app::App;
use crate::theme::Theme;
use crate::view::lines::{self, fit, one_line, put};
use crate::view::{FrameClock, frame};
use crate::wrap::{StyledText, words};
use wh_screen::visible::visible;

/// Height of the full bar, including the frame.
const BAR_HEIGHT: u16 = 8;
/// Height of the small bar, including the frame. Used if there is too little room for the full bar.
const SMALL_BAR_HEIGHT: u16 = 4;
/// Minimum screen height for the full bar.
const FULL_BAR_MIN_SCREEN: u16 = 24;
/// Number of lines of the preview, which shows the end of the reasoning.
const PREVIEW_LINES: usize = 3;
/// Maximum number of bytes of reasoning that are wrapped for the preview. Limits the cost of a frame when the reasoning
/// is long.
const REASONING_TAIL_BYTES: usize = 2048;

const INTERRUPT_HINT: &str = "Esc to interrupt, or /cancel";

/// Returns the height of the bar on a screen of this height, at most `room`; 0 if the bar is not shown.
fn height(state: &SpaceState, screen: u16, room: u16) -> u16 {
    match state.reasoning() {
        Some(_) if screen >= FULL_BAR_MIN_SCREEN && room >= BAR_HEIGHT => BAR_HEIGHT,
        Some(_) if room >= SMALL_BAR_HEIGHT => SMALL_BAR_HEIGHT,
        _ => 0,
    }
}

fn draw(buffer: &mut Buffer, area: Rect, state: &SpaceState, theme: &Theme, moment: &FrameClock) {
    let Some(item) = state.reasoning() else { return };
    let ItemBody::Thought { text, action, tokens } = &item.body else { return };
    if area.height < SMALL_BAR_HEIGHT {
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
        let offsets = text.char_indices().rev().map(|(at, _)| at);
        let from = offsets.take_while(|at| text.len() - at <= REASONING_TAIL_BYTES).last();
        let tail = visible(&text[from.unwrap_or(0)..]);
        let mut all = words(&[StyledText::new(tail.trim(), theme.dim)], width);
        all.split_off(all.len().saturating_sub(count))
    };
    if area.height < BAR_HEIGHT {
        let title = vec![Span::styled(who, theme.reasoning), Span::styled(format!("{metrics} "), theme.dim)];
        put(buffer, on_frame(area.y), &Line::from(title));
        let (first, rest) = if action.is_empty() { (0, inside.height) } else { (1, inside.height.saturating_sub(1)) };
        if first == 1 {
            put(buffer, row(0), &Line::styled(fit(&action, width), theme.text));
        }
        let below = Rect { y: inside.y + first, height: rest, ..inside };
        lines::put_all(buffer, below, &preview(rest.into()));
        put(buffer, on_frame(area.bottom() - 1), &Line::styled(format!(" {INTERRUPT_HINT} "), theme.dim));
        return;
    }
    put(buffer, on_frame(area.y), &Line::styled(who, theme.reasoning));
    put(buffer, row(0), &Line::styled(metrics, theme.reasoning));
    put(buffer, row(1), &Line::styled(fit(&action, width), theme.text));
    let below = Rect { y: inside.y + 2, height: PREVIEW_LINES as u16, ..inside };
    lines::put_all(buffer, below, &preview(PREVIEW_LINES));
    put(buffer, row(5), &Line::styled(INTERRUPT_HINT, theme.dim));
}

/// Number of rows that the bar leaves free for the conversation, in addition to the rows that every pane above the
/// composer leaves free.
const CONVERSATION_ROWS_LEFT: u16 = 2;

/// Pane that shows the reasoning bar while an agent is reasoning.
#[derive(Debug)]
pub(super) struct ReasoningBar;

impl Pane for ReasoningBar {
    fn layer(&self) -> PanePlacement {
        PanePlacement::Above
    }

    fn is_open(&self, _app: &App, state: &SpaceState) -> bool {
        state.reasoning().is_some()
    }

    fn rows(&self, _app: &mut App, state: &SpaceState, screen: Rect, room: u16) -> u16 {
        height(state, screen.height, room.saturating_sub(CONVERSATION_ROWS_LEFT))
    }

    fn draw(
        &self,
        app: &mut App,
        state: &SpaceState,
        buffer: &mut Buffer,
        area: Rect,
        moment: &FrameClock,
    ) -> Option<Position> {
        draw(buffer, area, state, app.theme(), moment);
        None
    }
}
