//! The tool sidebar: what each agent does with its tools, as it happens. Those that run have a clock; what was done in
//! turns before this one is dim.

use std::time::SystemTime;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;
use wh_client::Change;
use wh_core::slash::{PaneName, Visibility};
use wh_core::space::ParticipantId;
use wh_core::space::item::ToolStatus;
use wh_core::space::state::State;

use super::board::{colour, mark};
use super::{Compact, Layer, Pane, asked_visibility};
use crate::app::{Act, App, Seen};
use crate::call;
use crate::keymap::ScreenAction;
use crate::theme::Theme;
use crate::view::Moment;
use crate::view::lines::{fit, fit_end, one_line, put_all};
use crate::view::moment::precise;

/// Columns that a tool's name may take.
const NAME: usize = 16;

/// One agent, and what it did.
type Group<'a> = (&'a ParticipantId, Vec<Seen<'a>>);

/// Everything that is in the sidebar, for this room. A dense one has no blank lines.
fn lines(
    app: &App,
    state: &State,
    (width, height): (usize, usize),
    dense: bool,
    moment: &Moment,
) -> Vec<Line<'static>> {
    let theme = app.theme();
    let mut groups: Vec<Group<'_>> = app.tools.of_agents(state).collect();
    // The one that chat goes to is the first that a person looks for.
    let first = crate::app::foremost(state).map(|(id, _)| id);
    groups.sort_by_key(|(id, _)| Some(*id) != first);
    let title = vec![Span::styled("Tools", theme.strong)];
    let mut all = vec![spread(title, Span::styled("F5 closes", theme.dim), width)];
    if groups.is_empty() {
        all.push(Line::styled("Nothing was done yet", theme.dim));
        return all;
    }
    let between = usize::from(!dense);
    let wanted: Vec<usize> = groups.iter().map(|(_, calls)| calls.len()).collect();
    let room = height.saturating_sub(1 + groups.len() * (1 + between));
    for ((id, calls), rows) in groups.iter().zip(shares(&wanted, room)) {
        if !dense {
            all.push(Line::default());
        }
        all.push(header(state, id, calls, width, theme));
        all.extend(entries(app, state, calls, rows, width, moment));
    }
    all
}

/// How many rows each gets of those that there are: none more than it wants, and no other less than its fair share.
pub(super) fn shares(wanted: &[usize], room: usize) -> Vec<usize> {
    let mut given = vec![0; wanted.len()];
    let mut left = room;
    while left > 0 {
        let hungry: Vec<usize> = (0..wanted.len()).filter(|one| given[*one] < wanted[*one]).collect();
        if hungry.is_empty() {
            break;
        }
        let share = (left / hungry.len()).max(1);
        for one in hungry {
            let more = share.min(wanted[one] - given[one]).min(left);
            given[one] += more;
            left -= more;
        }
    }
    given
}

/// Who it is, how it fares, and what waits for an answer.
fn header(state: &State, id: &ParticipantId, calls: &[Seen<'_>], width: usize, theme: &Theme) -> Line<'static> {
    let activity = state.activity(id);
    let mut spans = Vec::new();
    if let Some(activity) = activity {
        spans.push(Span::styled(format!("{} ", mark(activity)), colour(activity, theme)));
    }
    spans.push(Span::styled(one_line(id.as_str()), theme.agent));
    let questions = state.questions().filter(|item| item.from == *id).count();
    let right = match questions {
        0 => Span::styled(counted(calls.len(), "call"), theme.dim),
        questions => Span::styled(counted(questions, "question"), theme.warning),
    };
    spread(spans, right, width)
}

fn current_turn(calls: &[Seen<'_>]) -> Option<wh_core::space::TurnId> {
    calls.last().and_then(|seen| seen.item.turn.clone())
}

/// The calls of one agent in so many rows: all that run, and the newest of the others.
fn entries(
    app: &App,
    state: &State,
    calls: &[Seen<'_>],
    rows: usize,
    width: usize,
    moment: &Moment,
) -> Vec<Line<'static>> {
    let theme = app.theme();
    let cut = calls.len() > rows;
    let shown = if cut { rows.saturating_sub(1) } else { rows };
    let mut chosen: Vec<usize> = (0..calls.len()).collect();
    chosen.sort_by_key(|place| (calls[*place].call.status.is_over(), std::cmp::Reverse(*place)));
    chosen.truncate(shown);
    chosen.sort_unstable();
    let turn = current_turn(calls);
    let mut all = Vec::new();
    if cut && rows > 0 {
        all.push(Line::styled(format!("  … {} more", calls.len() - shown), theme.dim));
    }
    for place in chosen {
        let seen = calls[place];
        let before = seen.item.turn != turn && seen.call.status.is_over();
        all.push(entry(app, state, seen, before, width, moment));
    }
    all
}

fn entry(app: &App, state: &State, seen: Seen<'_>, before: bool, width: usize, moment: &Moment) -> Line<'static> {
    let theme = app.theme();
    let asks = state.questions().any(|item| item.from == seen.item.from);
    let (icon, style) = match seen.call.status {
        ToolStatus::Pending => ("○", theme.dim),
        // Nothing turns while somebody is asked whether it may.
        ToolStatus::Running if asks => ("●", theme.accent),
        ToolStatus::Running => (moment.spinner(), theme.accent),
        ToolStatus::Completed => ("✓", theme.success),
        ToolStatus::Failed => ("✗", theme.danger),
        ToolStatus::Denied | ToolStatus::Cancelled => ("⊘", theme.warning),
    };
    let (time, time_style) = match seen.call.status {
        ToolStatus::Running if asks => (String::new(), theme.dim),
        ToolStatus::Running => (moment.elapsed(seen.item.at), theme.accent),
        ToolStatus::Denied => ("denied".to_owned(), theme.warning),
        ToolStatus::Cancelled => ("cancelled".to_owned(), theme.warning),
        _ => {
            let seconds = seen.took.map_or(0, |took| took.as_secs());
            (if seconds == 0 { String::new() } else { precise(seconds) }, theme.dim)
        }
    };
    let (tool, text) = if before { (theme.dim, theme.dim) } else { (theme.tool, theme.text) };
    let name = fit(&one_line(&call::name(seen.call)), NAME);
    let room = width.saturating_sub(2 + name.width() + 1 + time.width() + usize::from(!time.is_empty()));
    let mut spans = vec![Span::styled(format!("{icon} "), style), Span::styled(name, tool)];
    if let Some(target) = call::target(seen.call, app.directory()) {
        let target = one_line(&target);
        let target = if call::is_path(&target) { fit_end(&target, room) } else { fit(&target, room) };
        spans.push(Span::styled(format!(" {target}"), text));
    }
    spread(spans, Span::styled(time, time_style), width)
}

/// Something, and something else at the right end.
fn spread(mut spans: Vec<Span<'static>>, right: Span<'static>, width: usize) -> Line<'static> {
    let room = width.saturating_sub(right.width() + usize::from(right.width() > 0));
    let mut used = 0;
    for span in &mut spans {
        span.content = fit(&span.content, room.saturating_sub(used)).into();
        used += span.width();
    }
    if right.width() > 0 {
        spans.push(Span::raw(" ".repeat(width.saturating_sub(used + right.width()))));
        spans.push(right);
    }
    Line::from(spans)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

const PANE_NAME: PaneName = PaneName("tools");

/// Columns of the docked sidebar, where the board does not stand below it.
const COLUMNS: u16 = 38;

/// The tool sidebar.
#[derive(Debug)]
pub(super) struct ToolSidebar;

impl Pane for ToolSidebar {
    fn layer(&self) -> Layer {
        Layer::Beside
    }

    fn is_open(&self, app: &App, _state: &State) -> bool {
        app.tools.is_open()
    }

    fn names(&self) -> &'static [PaneName] {
        &[PANE_NAME]
    }

    fn actions(&self) -> &'static [(ScreenAction, PaneName)] {
        &[(ScreenAction::Tools, PANE_NAME)]
    }

    fn show(
        &self,
        app: &mut App,
        _name: PaneName,
        wish: Option<Visibility>,
        _state: &State,
        now: SystemTime,
    ) -> Vec<Act> {
        let wish = asked_visibility(wish, app.tools.is_open());
        app.tools.wish(wish);
        let said = match wish {
            Visibility::Open => "What tools do is shown",
            Visibility::Close => "What tools do is not shown",
            Visibility::Auto => "What tools do is shown where there is room",
        };
        app.inform(said, now);
        Vec::new()
    }

    fn sync(&self, app: &mut App, state: &State, change: &Change, now: SystemTime) {
        app.tools.sync(state, change, now);
    }

    fn clear(&self, app: &mut App) {
        app.tools.clear();
    }

    fn frame(&self, app: &mut App, _state: &State, screen: Rect, _moment: &Moment) {
        app.tools.decide(screen.width);
    }

    fn columns(&self) -> u16 {
        COLUMNS
    }

    fn lines(&self, app: &App, state: &State, size: (usize, usize), moment: &Moment) -> Vec<Line<'static>> {
        lines(app, state, size, false, moment)
    }

    fn compact(&self, app: &App, state: &State, size: (usize, usize), moment: &Moment) -> Compact {
        Compact { lines: lines(app, state, size, true, moment), ..Compact::default() }
    }

    fn draw(&self, app: &mut App, state: &State, buffer: &mut Buffer, area: Rect, moment: &Moment) -> Option<Position> {
        let size = (area.width.into(), area.height.into());
        put_all(buffer, area, &lines(app, state, size, false, moment));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn rows_are_shared_fairly() {
        assert_eq!(shares(&[2, 50, 50], 12), [2, 5, 5]);
        assert_eq!(shares(&[3, 3], 10), [3, 3]);
        assert_eq!(shares(&[9, 9], 3), [2, 1]);
        assert_eq!(shares(&[9, 9], 0), [0, 0]);
        assert_eq!(shares(&[], 5), [] as [usize; 0]);
    }
}
