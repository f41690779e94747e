//! The screen: where everything stands, and drawing it. From the top: the conversation with the tool sidebar and the
//! signal board at its right (or below it, where the screen is narrow), who reasons or what is asked, the composer between two rules, the status.

mod board;
mod details;
mod dialog;
mod input;
mod keys;
pub(crate) mod lines;
mod moment;
mod pager;
mod picker;
mod reasoning;
mod status;
#[cfg(test)]
mod tests;
mod too_small;
mod tools;
mod welcome;

use std::time::{Duration, SystemTime};

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use wh_client::UiFacts;
use wh_core::space::state::State;
use wh_core::terminal::Size;

use crate::app::{App, DOCKED_FROM, Spot};
use crate::transcript::Look;
pub(crate) use dialog::Text;
use moment::Moment;
pub(crate) use too_small::fits;

/// Columns of the docked board, beside its divider.
const BOARD: u16 = 42;

/// Columns of the docked tool sidebar, where the board does not stand below it.
const TOOLS: u16 = 38;

/// What a frame says beside its cells.
#[derive(Debug)]
pub(crate) struct Drawn {
    /// Where the terminal's cursor belongs.
    pub(crate) cursor: Option<Position>,
    /// When another frame is worth drawing though nothing has happened.
    pub(crate) wake: Option<Duration>,
    /// How the space is shown, for those who ask.
    pub(crate) facts: UiFacts,
}

/// Draws everything.
pub(crate) fn draw(app: &mut App, state: &State, buffer: &mut Buffer, now: SystemTime) -> Drawn {
    let moment = Moment::new(now);
    let area = buffer.area;
    app.spots.clear();
    if let Some(wake) = app.signals.decide(state, area.width, now) {
        moment.wake_in(wake);
    }
    app.tools.decide(area.width);
    let size = Size { columns: area.width, rows: area.height };
    app.dialog.resize(size, state, now);
    app.too_small = !fits(size);
    let cursor = if app.too_small {
        too_small::draw(app, buffer, &moment);
        None
    } else {
        if let Some(wake) = app.dialog.frame(now) {
            moment.wake_in(wake);
        }
        draw_all(app, state, buffer, &moment)
    };
    let facts = UiFacts {
        board_expanded: app.signals.is_open(),
        board_override: app.signals.wished(),
        verbose: app.verbose,
        show_streams: app.show_streams,
        at_rest: app.is_at_rest(),
    };
    Drawn { cursor, wake: moment.wake(), facts }
}

/// Takes so many rows from the bottom of a place.
fn take_bottom(rest: &mut Rect, height: u16) -> Rect {
    let height = height.min(rest.height);
    rest.height -= height;
    Rect { y: rest.bottom(), height, ..*rest }
}

fn draw_all(app: &mut App, state: &State, buffer: &mut Buffer, moment: &Moment) -> Option<Position> {
    let whole = buffer.area;
    let mut rest = whole;
    let status = take_bottom(&mut rest, 1);
    let below = take_bottom(&mut rest, 1);
    let asked = app.dialog.current(state).is_some();
    let most = if asked { (whole.height / 8).clamp(1, 3) } else { (whole.height / 3).clamp(1, 12) };
    let height = app.composer.fit(whole.width, most);
    let composer = take_bottom(&mut rest, height);
    let above = take_bottom(&mut rest, 1);

    // What is asked may take all but a glimpse of the conversation, for it must be answered.
    let glimpse = if whole.height >= 20 { 4 } else { 2 };
    let room = rest.height.saturating_sub(glimpse);
    let question = take_bottom(&mut rest, dialog::height(app, state, whole.width, room));
    let room = rest.height.saturating_sub(glimpse + 2);
    let thought = take_bottom(&mut rest, reasoning::height(state, whole.height, room));

    if app.signals.is_open() || app.tools.is_open() {
        rest = draw_aside(app, state, buffer, rest, moment);
    }
    app.spots.push((rest, Spot::Transcript));
    let theme = *app.theme();
    let me = app.me().clone();
    let look = Look { theme: &theme, verbose: app.verbose, show_streams: app.show_streams, now: moment.now(), me: &me };
    app.transcript.render(rest, buffer, state, &look);
    welcome::draw(app, state, buffer, rest);

    reasoning::draw(buffer, thought, state, &theme, moment);
    let answering = dialog::draw(app, buffer, question, state);
    let writing = input::draw(app, state, buffer, [above, composer, below], moment);
    status::draw(app, state, buffer, status, moment);
    let covered = app.keys.is_some() || app.choices.is_open();
    pager::draw(app, buffer, Rect { height: status.y.saturating_sub(whole.y), ..whole }, covered, moment);
    let bounds = Rect { height: above.y.saturating_sub(whole.y), ..whole };
    let choosing = picker::draw(app, buffer, bounds, moment);
    if app.keys.is_some() {
        let bounds = Rect { height: below.y.saturating_sub(whole.y), ..whole };
        keys::draw(app, buffer, bounds);
        return None;
    }
    if app.picker().is_some() {
        return choosing;
    }
    if app.pager.is_some() {
        return None;
    }
    if asked { answering } else { writing }
}

/// Draws what stands beside the conversation, and says what it leaves of its place.
fn draw_aside(app: &App, state: &State, buffer: &mut Buffer, mut rest: Rect, moment: &Moment) -> Rect {
    let (tools, board) = (app.tools.is_open(), app.signals.is_open());
    if buffer.area.width < DOCKED_FROM {
        if tools {
            rest = stack(app, buffer, rest, "", |size| (tools::lines(app, state, size, true, moment), 0));
        }
        if board {
            rest = stack(app, buffer, rest, board::TITLE, |size| board::compact(app, state, size, moment));
        }
        return rest;
    }
    let columns = if board { BOARD } else { TOOLS };
    let border = app.theme().border;
    let divider = rest.right() - columns - 1;
    for y in rest.top()..rest.bottom() {
        buffer.set_string(divider, y, "│", border);
    }
    let mut inside = Rect { x: divider + 2, width: columns - 2, ..rest };
    let width = usize::from(inside.width);
    let signals = if board { board::lines(app, state, width, moment) } else { Vec::new() };
    if tools {
        // Each gets what it wants, or its half.
        let wanted = u16::try_from(signals.len() + 1).unwrap_or(u16::MAX);
        let most = inside.height - if board { wanted.min(inside.height / 2) } else { 0 };
        let content = tools::lines(app, state, (width, most.into()), false, moment);
        let height = u16::try_from(content.len()).unwrap_or(u16::MAX).min(most);
        lines::put_all(buffer, Rect { height, ..inside }, &content);
        inside = Rect { y: inside.y + height, height: inside.height - height, ..inside };
        if board && inside.height > 0 {
            buffer.set_string(divider, inside.y, format!("├{}", "─".repeat(usize::from(columns))), border);
            inside = Rect { y: inside.y + 1, height: inside.height - 1, ..inside };
        }
    }
    // The hint is the first that goes where there is no room.
    let fitting =
        if signals.len() > usize::from(inside.height) { signals.len() - board::HINT_LINES } else { signals.len() };
    lines::put_cut(buffer, inside, &signals[..fitting], app.theme().dim);
    // The divider, and a column free before it.
    rest.width -= columns + 2;
    rest
}

/// Puts something into a frame below the conversation, on at most a third of the screen; what that leaves. `content` also
/// says how many rows there is no room for, which the frame tells.
fn stack(
    app: &App,
    buffer: &mut Buffer,
    mut rest: Rect,
    title: &'static str,
    content: impl FnOnce((usize, usize)) -> (Vec<Line<'static>>, usize),
) -> Rect {
    let most = (buffer.area.height / 3).min(rest.height.saturating_sub(2));
    if most < 3 {
        return rest;
    }
    let (content, cut) = content((usize::from(rest.width.saturating_sub(4)), usize::from(most - 2)));
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

/// A frame with rounded corners; what is within, with a column free at each side.
fn frame(buffer: &mut Buffer, area: Rect, style: ratatui::style::Style) -> Rect {
    use ratatui::widgets::{Block, BorderType, Padding, Widget};
    let block = Block::bordered().border_type(BorderType::Rounded).border_style(style).padding(Padding::horizontal(1));
    let inside = block.inner(area);
    block.render(area, buffer);
    inside
}
