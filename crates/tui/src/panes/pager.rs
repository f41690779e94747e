//! Draws the pager with the full text of a question.

use std::time::SystemTime;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};
use wh_core::input::Gesture;
use wh_core::space::state::SpaceState;

use super::{Pane, PanePlacement, ScreenLayout, WHOLE_PANE, keys, picker};
use crate::app::{App, AppEffect, ClickTarget};
use crate::view::lines::{fit, put, thousands};
use crate::view::{FrameClock, frame};

/// Draws the pager if it is open. Records the visible text as read, unless another pane covers the pager.
fn draw(app: &mut App, buffer: &mut Buffer, area: Rect, covered: bool, moment: &FrameClock) {
    let theme = *app.theme();
    let Some(pager) = &mut app.pager else { return };
    if area.height < 3 {
        return;
    }
    Clear.render(area, buffer);
    app.click_targets.push((area, ClickTarget::Pane(&PagerPane, WHOLE_PANE)));
    let inside = frame(buffer, area, theme.warning);
    let (rows, end) = pager.visible_rows(inside.width.into(), inside.height.into(), &theme);
    for (y, row) in (inside.top()..inside.bottom()).zip(rows) {
        put(buffer, Rect { y, height: 1, ..inside }, row);
    }
    let title = match pager.full_length() {
        Some(whole) => format!(" Full text · up to byte {} of {} ", thousands(end), thousands(whole)),
        None => " Full text ".to_owned(),
    };
    let hint = match (pager.problem(), pager.is_loading()) {
        (Some(problem), _) => format!(" {problem} · Esc closes "),
        (None, true) => format!(" {} loading… ", moment.spinner()),
        (None, false) => " ↑↓ PgUp PgDn · End · Home · Esc closes ".to_owned(),
    };
    let room = usize::from(area.width).saturating_sub(4);
    let on_frame = |y: u16| Rect { x: area.x + 2, y, width: area.width.saturating_sub(4), height: 1 };
    put(buffer, on_frame(area.y), &Line::styled(fit(&title, room), theme.warning));
    put(buffer, on_frame(area.bottom() - 1), &Line::styled(fit(&hint, room), theme.dim));
    if !covered {
        app.dialog.read_progress.page_to(end);
    }
}

/// Pane with the full text of a question.
#[derive(Debug)]
pub(super) struct PagerPane;

impl Pane for PagerPane {
    fn layer(&self) -> PanePlacement {
        PanePlacement::Over
    }

    fn is_open(&self, app: &App, _state: &SpaceState) -> bool {
        app.pager.is_some()
    }

    fn is_modal(&self) -> bool {
        true
    }

    fn typed(&self, app: &mut App, gesture: &Gesture, _state: &SpaceState, _now: SystemTime) -> Option<Vec<AppEffect>> {
        Some(app.pager_gesture(gesture))
    }

    fn escape(&self, app: &mut App, _state: &SpaceState) -> bool {
        app.pager.take().is_some()
    }

    fn wheel(&self, app: &mut App, lines: isize) -> Vec<AppEffect> {
        app.wheel_pager(lines)
    }

    fn bounds(&self, layout: &ScreenLayout) -> Rect {
        layout.until(layout.status)
    }

    fn draw(
        &self,
        app: &mut App,
        state: &SpaceState,
        buffer: &mut Buffer,
        area: Rect,
        moment: &FrameClock,
    ) -> Option<Position> {
        let covered = keys::KeyHelp.is_open(app, state) || picker::PickerPane.is_open(app, state);
        draw(app, buffer, area, covered, moment);
        None
    }
}
