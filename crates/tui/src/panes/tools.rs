//! Tool sidebar: the current tool calls of each agent. Running calls show the elapsed time, and calls of earlier turns
//! are dim.

use std::time::SystemTime;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;
use wh_client::MirrorChange;
use wh_core::slash::{PaneName, Visibility};
use wh_core::space::ParticipantId;
use wh_core::space::item::ToolStatus;
use wh_core::space::state::SpaceState;

use super::board::{colour, mark};
use super::{CompactContent, Pane, PanePlacement, asked_visibility};
use crate::app::{App, AppEffect, SidebarCallView};
use crate::call;
use crate::keymap::ScreenAction;
use crate::theme::Theme;
use crate::view::FrameClock;
use crate::view::lines::{fit, fit_end, one_line, put_all};
use crate::view::moment::precise;

/// Maximum width of the name of a tool.
const MAX_TOOL_NAME_COLUMNS: usize = 16;

/// Agent with its tool calls in the sidebar.
type AgentCalls<'a> = (&'a ParticipantId, Vec<SidebarCallView<'a>>);

/// Returns the content of the sidebar for this size. The dense form contains no blank lines.
fn lines(
    app: &App,
    state: &SpaceState,
    (width, height): (usize, usize),
    dense: bool,
    moment: &FrameClock,
) -> Vec<Line<'static>> {
    let theme = app.theme();
    let mut groups: Vec<AgentCalls<'_>> = app.tools.of_agents(state).collect();
    // The agent that receives chat messages is listed first.
    let first = crate::app::primary_agent(state).map(|(id, _)| id);
    groups.sort_by_key(|(id, _)| Some(*id) != first);
    let title = vec![Span::styled("Tools", theme.strong)];
    let mut all = vec![spread(title, Span::styled("F5 closes", theme.dim), width)];
    if groups.is_empty() {
        all.push(Line::styled("No tool calls yet", theme.dim));
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

/// Distributes rows among entries: no entry gets more rows than it wants, and entries that want more share the rest
/// equally.
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

/// Returns the header of an agent: the status, the name, and the number of open questions. If the agent has no open
/// question, the number of calls is shown instead.
fn header(
    state: &SpaceState,
    id: &ParticipantId,
    calls: &[SidebarCallView<'_>],
    width: usize,
    theme: &Theme,
) -> Line<'static> {
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

fn current_turn(calls: &[SidebarCallView<'_>]) -> Option<wh_core::space::TurnId> {
    calls.last().and_then(|seen| seen.item.turn.clone())
}

/// Returns at most `rows` rows for the calls of one agent. If there are more calls, unfinished calls take precedence
/// over finished ones, and later calls over earlier ones.
fn entries(
    app: &App,
    state: &SpaceState,
    calls: &[SidebarCallView<'_>],
    rows: usize,
    width: usize,
    moment: &FrameClock,
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

fn entry(
    app: &App,
    state: &SpaceState,
    seen: SidebarCallView<'_>,
    before: bool,
    width: usize,
    moment: &FrameClock,
) -> Line<'static> {
    let theme = app.theme();
    let asks = state.questions().any(|item| item.from == seen.item.from);
    let (icon, style) = match seen.call.status {
        ToolStatus::Pending => ("○", theme.dim),
        // The spinner stops while a question of the agent is open.
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
    let name = fit(&one_line(&call::name(seen.call)), MAX_TOOL_NAME_COLUMNS);
    let room = width.saturating_sub(2 + name.width() + 1 + time.width() + usize::from(!time.is_empty()));
    let mut spans = vec![Span::styled(format!("{icon} "), style), Span::styled(name, tool)];
    if let Some(target) = call::target(seen.call, app.directory()) {
        let target = one_line(&target);
        let target = if call::is_path(&target) { fit_end(&target, room) } else { fit(&target, room) };
        spans.push(Span::styled(format!(" {target}"), text));
    }
    spread(spans, Span::styled(time, time_style), width)
}

/// Returns a line in which the span `right` is aligned to the right end.
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

const TOOLS_PANE: PaneName = PaneName("tools");

/// Width of the sidebar when it is docked alone. Panes that are docked together have the width of the widest pane.
const SIDEBAR_COLUMNS: u16 = 38;

#[derive(Debug)]
pub(super) struct ToolSidebar;

impl Pane for ToolSidebar {
    fn layer(&self) -> PanePlacement {
        PanePlacement::Beside
    }

    fn is_open(&self, app: &App, _state: &SpaceState) -> bool {
        app.tools.is_open()
    }

    fn names(&self) -> &'static [PaneName] {
        &[TOOLS_PANE]
    }

    fn actions(&self) -> &'static [(ScreenAction, PaneName)] {
        &[(ScreenAction::Tools, TOOLS_PANE)]
    }

    fn show(
        &self,
        app: &mut App,
        _name: PaneName,
        visibility: Option<Visibility>,
        _state: &SpaceState,
        now: SystemTime,
    ) -> Vec<AppEffect> {
        let visibility = asked_visibility(visibility, app.tools.is_open());
        app.tools.set_visibility(visibility);
        let notice = match visibility {
            Visibility::Open => "Tool activity is shown",
            Visibility::Close => "Tool activity is hidden",
            Visibility::Auto => "Tool activity is shown if the screen is wide enough",
        };
        app.inform(notice, now);
        Vec::new()
    }

    fn sync(&self, app: &mut App, state: &SpaceState, change: &MirrorChange, now: SystemTime) {
        app.tools.sync(state, change, now);
    }

    fn clear(&self, app: &mut App) {
        app.tools.clear();
    }

    fn frame(&self, app: &mut App, _state: &SpaceState, screen: Rect, _moment: &FrameClock) {
        app.tools.decide(screen.width);
    }

    fn columns(&self) -> u16 {
        SIDEBAR_COLUMNS
    }

    fn lines(&self, app: &App, state: &SpaceState, size: (usize, usize), moment: &FrameClock) -> Vec<Line<'static>> {
        lines(app, state, size, false, moment)
    }

    fn compact(&self, app: &App, state: &SpaceState, size: (usize, usize), moment: &FrameClock) -> CompactContent {
        CompactContent { lines: lines(app, state, size, true, moment), ..CompactContent::default() }
    }

    fn draw(
        &self,
        app: &mut App,
        state: &SpaceState,
        buffer: &mut Buffer,
        area: Rect,
        moment: &FrameClock,
    ) -> Option<Position> {
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
