//! Layout and drawing of the screen. From top to bottom: the conversation, the reasoning bar or the open question, the
//! composer between two rules, and the status bar. The tool sidebar and the signal board are to the right of the
//! conversation, or below it on a narrow screen.

mod input;
pub(crate) mod lines;
pub(crate) mod moment;
mod status;
#[cfg(test)]
mod tests;
mod too_small;
mod welcome;

use std::time::{Duration, SystemTime};

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use wh_client::UiFacts;
use wh_core::space::state::SpaceState;
use wh_core::terminal::Size;

use crate::app::{App, ClickTarget, MIN_DOCKED_WIDTH};
use crate::panes::{self, CompactContent, PANES, Pane, PanePlacement, ScreenLayout};
use crate::transcript::TranscriptView;
pub(crate) use moment::FrameClock;
pub(crate) use too_small::fits;

/// Results of drawing a frame, besides the cells.
#[derive(Debug)]
pub(crate) struct RenderedFrame {
    /// Position of the terminal's cursor; `None` if the cursor is hidden.
    pub(crate) cursor: Option<Position>,
    /// Time after which the next frame must be drawn even without an event.
    pub(crate) wake: Option<Duration>,
    /// State of the UI that other programs can query.
    pub(crate) facts: UiFacts,
}

/// Draws a complete frame into the buffer.
pub(crate) fn draw(app: &mut App, state: &SpaceState, buffer: &mut Buffer, now: SystemTime) -> RenderedFrame {
    let moment = FrameClock::new(now);
    let area = buffer.area;
    app.click_targets.clear();
    app.too_small = !fits(Size { columns: area.width, rows: area.height });
    PANES.iter().for_each(|pane| pane.frame(app, state, area, &moment));
    let cursor = if app.too_small {
        too_small::draw(app, buffer, &moment);
        None
    } else {
        draw_all(app, state, buffer, &moment)
    };
    let mut facts = UiFacts {
        verbose: app.verbose,
        show_streams: app.show_streams,
        at_rest: app.composer.is_empty() && !panes::covered(app, state) && !panes::modal(app, state),
        ..UiFacts::default()
    };
    PANES.iter().for_each(|pane| pane.report(app, &mut facts));
    RenderedFrame { cursor, wake: moment.wake(), facts }
}

/// Removes up to `height` rows from the bottom of an area and returns them.
pub(crate) fn take_bottom(rest: &mut Rect, height: u16) -> Rect {
    let height = height.min(rest.height);
    rest.height -= height;
    Rect { y: rest.bottom(), height, ..*rest }
}

fn draw_all(app: &mut App, state: &SpaceState, buffer: &mut Buffer, moment: &FrameClock) -> Option<Position> {
    let screen = buffer.area;
    let mut rest = screen;
    let status = take_bottom(&mut rest, 1);
    let below = take_bottom(&mut rest, 1);
    let asked = panes::open(PanePlacement::Above, app, state).iter().any(|pane| pane.is_modal());
    let most = if asked { (screen.height / 8).clamp(1, 3) } else { (screen.height / 3).clamp(1, 12) };
    let height = app.composer.fit(screen.width, most);
    let composer = take_bottom(&mut rest, height);
    let above = take_bottom(&mut rest, 1);

    // An open question must be answered, so it may take all but a few rows of the conversation.
    let glimpse = if screen.height >= 20 { 4 } else { 2 };
    let mut bars: Vec<(&dyn Pane, Rect)> = Vec::new();
    for pane in PANES.iter().filter(|pane| pane.layer() == PanePlacement::Above) {
        let rows = pane.rows(app, state, screen, rest.height.saturating_sub(glimpse));
        bars.push((*pane, take_bottom(&mut rest, rows)));
    }
    rest = draw_beside(app, state, buffer, rest, moment);
    app.click_targets.push((rest, ClickTarget::Transcript));
    let theme = *app.theme();
    let me = app.me().clone();
    let look = TranscriptView {
        theme: &theme,
        verbose: app.verbose,
        show_streams: app.show_streams,
        now: moment.now(),
        me: &me,
    };
    app.transcript.render(rest, buffer, state, &look);
    welcome::draw(app, state, buffer, rest);

    let mut answering = None;
    for (pane, area) in bars.into_iter().rev() {
        let cursor = pane.draw(app, state, buffer, area, moment);
        if pane.is_modal() {
            answering = cursor;
        }
    }
    let writing = input::draw(app, state, buffer, [above, composer, below], moment);
    status::draw(app, state, buffer, status, moment);
    let mut cursor = if asked { answering } else { writing };
    let layout = ScreenLayout { screen, above, below, status };
    for pane in panes::open(PanePlacement::Over, app, state).into_iter().rev() {
        cursor = pane.draw(app, state, buffer, pane.bounds(&layout), moment);
    }
    cursor
}

/// Draws the panes beside the conversation, or below it on a narrow screen. Returns the area that remains.
fn draw_beside(app: &mut App, state: &SpaceState, buffer: &mut Buffer, mut rest: Rect, moment: &FrameClock) -> Rect {
    let open = panes::open(PanePlacement::Beside, app, state);
    if buffer.area.width < MIN_DOCKED_WIDTH {
        for pane in open {
            rest = stack(app, buffer, rest, |size| pane.compact(app, state, size, moment));
        }
        return rest;
    }
    let Some(columns) = open.iter().map(|pane| pane.columns()).max() else { return rest };
    let border = app.theme().border;
    let divider = rest.right() - columns - 1;
    for y in rest.top()..rest.bottom() {
        buffer.set_string(divider, y, "│", border);
    }
    let mut inside = Rect { x: divider + 2, width: columns - 2, ..rest };
    let width = usize::from(inside.width);
    for (place, pane) in open.iter().enumerate() {
        let after = &open[place + 1..];
        if after.is_empty() {
            pane.draw(app, state, buffer, inside, moment);
            break;
        }
        // The panes below get the height that they need, at most half of the area. This pane gets the rest.
        let wanted: usize =
            after.iter().map(|pane| pane.lines(app, state, (width, usize::MAX), moment).len() + 1).sum();
        let most = inside.height - u16::try_from(wanted).unwrap_or(u16::MAX).min(inside.height / 2);
        let content = pane.lines(app, state, (width, most.into()), moment);
        let height = u16::try_from(content.len()).unwrap_or(u16::MAX).min(most);
        pane.draw(app, state, buffer, Rect { height: most, ..inside }, moment);
        inside = Rect { y: inside.y + height, height: inside.height - height, ..inside };
        if inside.height > 0 {
            buffer.set_string(divider, inside.y, format!("├{}", "─".repeat(usize::from(columns))), border);
            inside = Rect { y: inside.y + 1, height: inside.height - 1, ..inside };
        }
    }
    // The conversation also loses the divider and a free column before it.
    rest.width -= columns + 2;
    rest
}

/// Draws a framed pane below the conversation, on at most a third of the screen. Returns the area that remains.
fn stack(
    app: &App,
    buffer: &mut Buffer,
    mut rest: Rect,
    content: impl FnOnce((usize, usize)) -> CompactContent,
) -> Rect {
    let most = (buffer.area.height / 3).min(rest.height.saturating_sub(2));
    if most < 3 {
        return rest;
    }
    let CompactContent { title, lines: content, cut } =
        content((usize::from(rest.width.saturating_sub(4)), usize::from(most - 2)));
    let wanted = u16::try_from(content.len() + 2).unwrap_or(u16::MAX);
    let place = take_bottom(&mut rest, wanted.min(most));
    let theme = app.theme();
    let inside = frame(buffer, place, theme.border);
    lines::put_all(buffer, inside, &content);
    if !title.is_empty() {
        buffer.set_stringn(place.x + 2, place.y, format!(" {title} "), inside.width.into(), theme.strong);
    }
    if cut > 0 {
        let row = Rect { x: place.x + 2, y: place.bottom() - 1, width: inside.width, height: 1 };
        lines::put(buffer, row, &Line::styled(format!(" … {cut} more "), theme.dim));
    }
    rest
}

/// Draws a rounded frame with an empty column inside at each side. Returns the remaining area inside.
pub(crate) fn frame(buffer: &mut Buffer, area: Rect, style: ratatui::style::Style) -> Rect {
    use ratatui::widgets::{Block, BorderType, Padding, Widget};
    let block = Block::bordered().border_type(BorderType::Rounded).border_style(style).padding(Padding::horizontal(1));
    let inside = block.inner(area);
    block.render(area, buffer);
    inside
}
