//! Draws a list to choose from: the filter, the rows, and the details of the highlighted row.

use std::time::SystemTime;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};
use unicode_width::UnicodeWidthStr;
use wh_client::MirrorChange;
use wh_core::input::Gesture;
use wh_core::slash::{PaneName, Visibility};
use wh_core::space::state::SpaceState;

use super::{Pane, PanePart, PanePlacement, ScreenLayout, WHOLE_PANE};
use crate::app::{App, AppEffect, ClickTarget, PickerKind};
use crate::keymap::ScreenAction;
use crate::picker::{Picker, PickerRow};
use crate::theme::Theme;
use crate::view::lines::{fit, fit_end, one_line, put, put_all};
use crate::view::{FrameClock, frame, take_bottom};
use crate::wrap::{StyledText, words};
use wh_screen::visible::visible;

/// Maximum width of the list.
const PICKER_WIDTH: u16 = 92;

/// Maximum height of the list, without the frame.
const PICKER_HEIGHT: u16 = 22;

/// Maximum number of lines for the details of the highlighted row.
const MAX_DETAIL_LINES: usize = 4;

/// Draws the open list. Returns the position of the cursor in the filter.
fn draw(app: &mut App, buffer: &mut Buffer, bounds: Rect, moment: &FrameClock) -> Option<Position> {
    let theme = *app.theme();
    let (title, picker) = app.picker()?;
    let width = PICKER_WIDTH.min(bounds.width);
    let details = details(picker, usize::from(width).saturating_sub(4), &theme);
    let around = 4 + if details.is_empty() { 0 } else { details.len() + 1 };
    let rows = picker.len().max(1) + usize::from(picker.loading && picker.len() > 0);
    let height = u16::try_from(rows + around).unwrap_or(u16::MAX).min(PICKER_HEIGHT + 2).min(bounds.height);
    if height < 3 || width < 12 {
        return None;
    }
    let area =
        Rect { x: bounds.x + (bounds.width - width) / 2, y: bounds.y + (bounds.height - height) / 2, width, height };
    // One free column at each side separates the list from the content behind it.
    let clear = Rect { x: area.x.saturating_sub(1), width: area.width + 2, ..area };
    Clear.render(clear.intersection(bounds), buffer);
    let mut rest = frame(buffer, area, theme.accent);
    let on_frame = |y: u16| Rect { x: area.x + 2, y, width: area.width.saturating_sub(4), height: 1 };
    put(buffer, on_frame(area.y), &Line::styled(format!(" {title} "), theme.accent));
    let hint = fit(" Enter chooses · ↑↓ · type to filter · Esc closes ", usize::from(area.width).saturating_sub(4));
    put(buffer, on_frame(area.bottom() - 1), &Line::styled(hint, theme.dim));

    let cursor = (rest.height >= 2).then(|| draw_filter(picker, buffer, rest, &theme)).flatten();
    if rest.height >= 2 {
        // A blank line follows the filter if there is room.
        let used = if rest.height >= 5 { 2 } else { 1 };
        rest = Rect { y: rest.y + used, height: rest.height - used, ..rest };
    }
    if !details.is_empty() && rest.height >= 3 {
        // The rows keep at least half of the height.
        let most = if picker.shown().len() == 0 { rest.height - 2 } else { rest.height / 2 };
        let most = usize::from(most).min(details.len());
        let place = take_bottom(&mut rest, most as u16);
        put_all(buffer, place, &details[..most]);
        take_bottom(&mut rest, 1);
    }
    let loading = picker.loading && (picker.len() == 0 || rest.height >= 2);
    let note = if loading {
        let at = take_bottom(&mut rest, 1);
        put(buffer, at, &Line::styled(format!("{} loading…", moment.spinner()), theme.accent));
        None
    } else if picker.shown().len() == 0 && picker.problem.is_none() {
        Some(if picker.len() == 0 { "No entries" } else { "No matches" })
    } else {
        None
    };
    if let Some(note) = note {
        put(buffer, rest, &Line::styled(note, theme.dim));
    }
    let spots = draw_rows(picker, buffer, rest, &theme);
    app.click_targets.push((area, ClickTarget::Pane(&PickerPane, WHOLE_PANE)));
    app.click_targets.extend(spots);
    cursor
}

fn draw_filter(picker: &Picker, buffer: &mut Buffer, area: Rect, theme: &Theme) -> Option<Position> {
    let room = usize::from(area.width).saturating_sub(3);
    // The end of a long filter is shown, because the cursor is there.
    let filter = fit_end(picker.filter(), room);
    let line = Line::from(vec![Span::styled("❯ ", theme.accent), Span::styled(filter.clone(), theme.text)]);
    put(buffer, Rect { height: 1, ..area }, &line);
    let caret = Position::new(area.x + 2 + filter.width() as u16, area.y);
    if !area.contains(caret) {
        return None;
    }
    if filter.is_empty() {
        let hint = Rect { x: caret.x, width: area.width.saturating_sub(2), height: 1, ..area };
        put(buffer, hint, &Line::styled("Type to filter", theme.dim));
    }
    buffer[caret].set_style(theme.caret);
    Some(caret)
}

/// Returns the current error as lines, or else the details of the highlighted row.
fn details(picker: &Picker, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (text, style) = match (&picker.problem, picker.highlighted()) {
        (Some(problem), _) => (problem.as_str(), theme.danger),
        (None, Some(row)) => (row.details.as_str(), if row.unavailable { theme.warning } else { theme.dim }),
        (None, None) => return Vec::new(),
    };
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<Line<'static>> =
        text.trim().lines().flat_map(|line| words(&[StyledText::new(visible(line), style)], width)).collect();
    lines.truncate(MAX_DETAIL_LINES);
    lines
}

/// Draws the rows around the highlighted row. Returns the areas that can be clicked.
fn draw_rows(picker: &Picker, buffer: &mut Buffer, area: Rect, theme: &Theme) -> Vec<(Rect, ClickTarget)> {
    let height = usize::from(area.height);
    let count = picker.shown().len();
    let selected = picker.selected();
    let first = selected.saturating_sub(height / 2).min(count.saturating_sub(height));
    let widest = |text: fn(&PickerRow) -> &str| picker.shown().map(|row| text(row).width()).max().unwrap_or(0);
    let columns = usize::from(area.width);
    let statuses = widest(|row| &row.status).min(columns / 3);
    let beside = widest(|row| &row.description) > 0;
    let room = columns.saturating_sub(4 + statuses + usize::from(statuses > 0) * 2);
    let names = widest(|row| &row.name).min(if beside { room * 2 / 5 } else { room });
    let mut spots = Vec::new();
    for (y, (place, row)) in (area.top()..area.bottom()).zip(picker.shown().enumerate().skip(first)) {
        let line = Rect { y, height: 1, ..area };
        let chosen = place == selected;
        let name = if row.unavailable && !chosen { theme.dim } else { theme.text };
        let mark = if chosen { "❯ " } else { "  " };
        let current = if row.current { "● " } else { "  " };
        let shown = fit(&one_line(&row.name), names);
        let mut spans = vec![
            Span::styled(mark, theme.accent),
            Span::styled(current, theme.success),
            Span::styled(format!("{shown}{}", " ".repeat(names - shown.width().min(names))), name),
        ];
        if beside {
            let description = fit(&one_line(&row.description), room.saturating_sub(names + 2));
            spans.push(Span::styled(format!("  {description}"), theme.dim));
        }
        put(buffer, line, &Line::from(spans));
        let status = fit(&one_line(&row.status), statuses);
        let width = status.width() as u16;
        let right = Rect { x: line.right().saturating_sub(width), width, ..line };
        put(buffer, right, &Line::styled(status, if row.current { theme.success } else { theme.dim }));
        if chosen {
            buffer.set_style(line, theme.selection);
        }
        spots.push((line, ClickTarget::Pane(&PickerPane, place)));
    }
    spots
}

/// Pane for all kinds of lists. Each kind has its own pane name, and at most one list is open.
#[derive(Debug)]
pub(super) struct PickerPane;

impl Pane for PickerPane {
    fn layer(&self) -> PanePlacement {
        PanePlacement::Over
    }

    fn is_open(&self, app: &App, _state: &SpaceState) -> bool {
        app.choices.is_open()
    }

    fn names(&self) -> &'static [PaneName] {
        &[PickerKind::AGENTS, PickerKind::MODELS, PickerKind::MODES, PickerKind::CONVERSATIONS]
    }

    fn actions(&self) -> &'static [(ScreenAction, PaneName)] {
        &[
            (ScreenAction::Agents, PickerKind::AGENTS),
            (ScreenAction::Models, PickerKind::MODELS),
            (ScreenAction::Conversations, PickerKind::CONVERSATIONS),
        ]
    }

    fn show(
        &self,
        app: &mut App,
        name: PaneName,
        _visibility: Option<Visibility>,
        state: &SpaceState,
        now: SystemTime,
    ) -> Vec<AppEffect> {
        PickerKind::named(name).map(|of| app.toggle_picker(of, state, now)).unwrap_or_default()
    }

    fn is_modal(&self) -> bool {
        true
    }

    fn typed(&self, app: &mut App, gesture: &Gesture, state: &SpaceState, _now: SystemTime) -> Option<Vec<AppEffect>> {
        Some(app.picker_gesture(gesture, state))
    }

    fn escape(&self, app: &mut App, _state: &SpaceState) -> bool {
        app.choices.close()
    }

    fn stop(&self, app: &mut App) -> bool {
        app.choices.close()
    }

    fn wheel(&self, app: &mut App, lines: isize) -> Vec<AppEffect> {
        app.wheel_picker(lines);
        Vec::new()
    }

    fn click(
        &self,
        app: &mut App,
        part: PanePart,
        _gesture: &Gesture,
        state: &SpaceState,
        _now: SystemTime,
    ) -> Vec<AppEffect> {
        if part == WHOLE_PANE { Vec::new() } else { app.click_row(part, state) }
    }

    fn sync(&self, app: &mut App, state: &SpaceState, _change: &MirrorChange, now: SystemTime) {
        app.refresh_picker(state, now);
    }

    fn bounds(&self, layout: &ScreenLayout) -> Rect {
        layout.until(layout.above)
    }

    fn draw(
        &self,
        app: &mut App,
        _state: &SpaceState,
        buffer: &mut Buffer,
        area: Rect,
        moment: &FrameClock,
    ) -> Option<Position> {
        draw(app, buffer, area, moment)
    }
}
