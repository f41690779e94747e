//! Status bar: activity of the agents, number of questions, model and costs. If there is too little room, the least
//! important parts are omitted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;
use wh_core::space::ParticipantId;
use wh_core::space::event::{Activity, ParticipantRole};
use wh_core::space::item::NoticeLevel;
use wh_core::space::state::{Participant, SpaceState};

use super::lines::{fit, one_line, put, thousands};
use super::moment::FrameClock;
use crate::app::{App, primary_agent};
use crate::theme::Theme;

const HINTS: &str = "? keys · Ctrl+C quit";
const SEPARATOR: &str = " · ";

/// Part of the status bar. The parts with the lowest rank are omitted first.
struct StatusPart {
    text: String,
    style: Style,
    rank: u8,
}

pub(super) fn draw(app: &App, state: &SpaceState, buffer: &mut Buffer, area: Rect, moment: &FrameClock) {
    let theme = app.theme();
    let inside = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    if let Some(notice) = app.notice(moment.now()) {
        moment.wake_in(notice.until.duration_since(moment.now()).unwrap_or_default());
        let style = match notice.level {
            NoticeLevel::Info => theme.text,
            NoticeLevel::Warning => theme.warning,
            NoticeLevel::Error => theme.danger,
        };
        return put(buffer, inside, &Line::styled(fit(&one_line(&notice.text), inside.width.into()), style));
    }
    let hints = HINTS.width();
    let room = usize::from(inside.width).saturating_sub(hints + 2);
    let parts = fitting(parts(app, state, moment), room);
    let mut spans: Vec<Span<'static>> = Vec::new();
    for part in parts {
        if !spans.is_empty() {
            spans.push(Span::styled(SEPARATOR, theme.border));
        }
        spans.push(Span::styled(fit(&part.text, room), part.style));
    }
    put(buffer, inside, &Line::from(spans));
    let right = Rect { x: inside.right().saturating_sub(hints as u16), width: hints as u16, ..inside };
    put(buffer, right, &Line::styled(HINTS, theme.dim));
}

/// Omits the least important parts until the others fit.
fn fitting(mut parts: Vec<StatusPart>, room: usize) -> Vec<StatusPart> {
    loop {
        let between = SEPARATOR.width() * parts.len().saturating_sub(1);
        let width: usize = parts.iter().map(|part| part.text.width()).sum::<usize>() + between;
        if width <= room || parts.len() <= 1 {
            return parts;
        }
        // Of parts with equal rank, the last part is omitted first.
        let least = parts.iter().enumerate().rev().min_by_key(|(_, part)| part.rank).map(|(index, _)| index);
        let Some(least) = least else { return parts };
        parts.remove(least);
    }
}

fn parts(app: &App, state: &SpaceState, moment: &FrameClock) -> Vec<StatusPart> {
    let theme = app.theme();
    let mut parts: Vec<StatusPart> = Vec::new();
    let mut add = |rank: u8, style: Style, text: String| parts.push(StatusPart { text, style, rank });
    add(5, theme.success, format!("◆ {}", one_line(&state.name)));
    if let [first, ..] = app.choices.inviting() {
        add(10, theme.accent, format!("{} starting {first}", moment.spinner()));
    }
    add(3, theme.dim, app.me().to_string());
    if let Some((text, style)) = activity(state, theme, moment) {
        add(10, style, text);
    }
    let counted = |number: usize, one: &str, more: &str| format!("{number} {}", if number == 1 { one } else { more });
    let questions = state.questions().count();
    if questions > 0 {
        add(8, theme.warning, counted(questions, "question", "questions"));
    }
    // While the board is closed, its chips show pauses, acknowledgements and streams.
    let open = app.signals.is_open();
    if let Some((id, pause)) = state.pause().filter(|_| open) {
        let left = pause.until.map(|until| format!(" {}", moment.left(until))).unwrap_or_default();
        add(7, theme.warning, format!("{id} paused{left}"));
    }
    let unit = if state.envelopes == 1 { "event" } else { "events" };
    add(4, theme.dim, format!("{} {unit}", thousands(state.envelopes)));
    if open && !state.acknowledgements.is_empty() {
        add(5, theme.accent, format!("{} awaiting", state.acknowledgements.len()));
    }
    if open && !state.streams.is_empty() {
        add(5, theme.accent, counted(state.streams.len(), "stream", "streams"));
    }
    if app.verbose {
        add(1, theme.dim, "verbose".to_owned());
    }
    of_agent(app, state, theme, &mut add);
    if let Some(port) = app.options().control_port {
        add(2, theme.dim, format!("HTTP :{port}"));
    }
    parts
}

/// Adds parts for the agents that receive chat messages: the name, model and mode of each, and the context usage and
/// cost of the first.
fn of_agent(app: &App, state: &SpaceState, theme: &Theme, add: &mut impl FnMut(u8, Style, String)) {
    let Some((first, agent)) = primary_agent(state) else {
        if let Some(targets) = state.targets.effective() {
            let names: Vec<&str> = targets.iter().map(|id| id.as_str()).collect();
            add(8, theme.warning, format!("{} is not in the space (F6: agents)", one_line(&names.join(", "))));
        } else if let Some(title) = &app.options().agent {
            add(3, theme.dim, one_line(title));
        }
        return;
    };
    let runs = runs_as(first, agent);
    let rank = if runs.contains(' ') { 6 } else { 3 };
    add(rank, theme.dim, runs);
    let targets = state.targets.effective();
    for (id, agent) in state.present().filter(|(id, one)| one.role == ParticipantRole::Agent && *id != first) {
        if targets.is_none_or(|targets| targets.contains(id)) {
            add(3, theme.dim, runs_as(id, agent));
        }
    }
    let Some(usage) = agent.usage else { return };
    match (usage.context_tokens, usage.context_limit.filter(|limit| *limit > 0)) {
        (Some(tokens), Some(limit)) => {
            let percent = tokens.saturating_mul(100) / limit;
            let style = if percent >= 80 { theme.warning } else { theme.dim };
            add(4, style, format!("ctx {percent}%"));
        }
        (Some(tokens), None) => add(3, theme.dim, format!("ctx {}", thousands(tokens))),
        (None, _) => {}
    }
    if let Some(cost) = usage.cost {
        add(3, theme.dim, format!("${cost:.2}"));
    }
}

/// Formats an agent with its model and mode, such as `claude opus (plan)`. Default values are omitted.
fn runs_as(id: &ParticipantId, agent: &Participant) -> String {
    let chosen = |choice: &Option<String>| choice.clone().filter(|choice| choice != "default");
    let mut runs = vec![id.to_string()];
    runs.extend(chosen(&agent.capabilities.model));
    runs.extend(chosen(&agent.capabilities.mode).map(|mode| format!("({mode})")));
    one_line(&runs.join(" "))
}

/// Returns the activity of the first agent that is working, starting or gone. Returns `None` if all agents are in
/// another state, or while the reasoning bar is shown.
fn activity(state: &SpaceState, theme: &Theme, moment: &FrameClock) -> Option<(String, Style)> {
    if state.reasoning().is_some() {
        return None;
    }
    state.present().find_map(|(id, one)| {
        let status = one.session.as_ref()?;
        match &status.activity {
            Activity::Working(turn) => {
                let since = state.turn(turn).map_or(status.since, |turn| turn.at);
                let elapsed = moment.elapsed(since);
                Some((format!("{} {id} works {elapsed} (Esc interrupts)", moment.spinner()), theme.accent))
            }
            Activity::Starting => Some((format!("{} {id} starts", moment.spinner()), theme.dim)),
            Activity::Gone(Some(reason)) => Some((format!("{id} is gone: {}", one_line(reason)), theme.danger)),
            Activity::Gone(None) => Some((format!("{id} is gone"), theme.dim)),
            Activity::Idle | Activity::Waiting(_) | Activity::Paused | Activity::Unknown => None,
        }
    })
}
