//! Signal board: participants, acknowledgements, pauses and streams of the space. While the board is closed, chips in
//! the rule below the composer summarize its content.

use std::time::{Duration, SystemTime};

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;
use wh_client::UiFacts;
use wh_core::slash::{PaneName, Visibility};
use wh_core::space::ParticipantId;
use wh_core::space::event::{Activity, AgentStatus, ParticipantRole};
use wh_core::space::item::ItemBody;
use wh_core::space::state::{Participant, SpaceState};

use super::tools::shares;
use super::{CompactContent, Pane, PanePlacement, asked_visibility};
use crate::app::{App, AppEffect};
use crate::keymap::ScreenAction;
use crate::theme::Theme;
use crate::view::FrameClock;
use crate::view::lines::{fit, one_line, put_cut};

/// Maximum number of entries in the section of acknowledgements. The next three constants limit the other sections.
const MAX_ACKNOWLEDGEMENTS: usize = 5;
const MAX_PARTICIPANTS: usize = 8;
const MAX_STREAMS: usize = 4;
const MAX_FRAMES: usize = 3;

/// Delay after which an unanswered request for acknowledgement gets a chip.
const ACK_CHIP_DELAY: Duration = Duration::from_millis(300);

const BOARD_TITLE: &str = "Signal Board";

/// Number of columns for section titles in the compact form.
const LABEL_COLUMNS: usize = 17;

/// Number of lines of the hint at the end of the docked board, including the blank line above the hint.
const HINT_LINES: usize = 2;

/// Returns the lines of the docked board for this width.
fn lines(app: &App, state: &SpaceState, width: usize, moment: &FrameClock) -> Vec<Line<'static>> {
    let theme = app.theme();
    let mut page = BoardPage { theme, width, compact: false, sections: Vec::new() };
    page.section(BOARD_TITLE, theme.strong);
    acknowledgements(&mut page, app, state, moment);
    participants(&mut page, state, moment);
    pause(&mut page, state, moment);
    streams(&mut page, state, moment);
    frames(&mut page, state);
    page.section("/ui board close · /ui board auto", theme.dim);
    let mut all = Vec::new();
    for BoardSection { title, style, lines } in page.sections {
        if !all.is_empty() {
            all.push(Line::default());
        }
        all.push(Line::styled(title, style));
        all.extend(lines);
    }
    all
}

/// Returns the lines of the compact board below the conversation, and the number of rows that do not fit. Sections that
/// need attention come first, empty sections are omitted, and each section gets at least one row if there is room.
fn compact(
    app: &App,
    state: &SpaceState,
    (width, height): (usize, usize),
    moment: &FrameClock,
) -> (Vec<Line<'static>>, usize) {
    let width = width.saturating_sub(LABEL_COLUMNS);
    let mut page = BoardPage { theme: app.theme(), width, compact: true, sections: Vec::new() };
    pause(&mut page, state, moment);
    acknowledgements(&mut page, app, state, moment);
    streams(&mut page, state, moment);
    participants(&mut page, state, moment);
    frames(&mut page, state);
    page.sections.retain(|section| !section.lines.is_empty());
    let wanted: Vec<usize> = page.sections.iter().map(|section| section.lines.len()).collect();
    let cut = wanted.iter().sum::<usize>().saturating_sub(height);
    let mut all = Vec::new();
    for (section, rows) in page.sections.into_iter().zip(shares(&wanted, height)) {
        let labels = std::iter::once(section.title.as_str()).chain(std::iter::repeat(""));
        for (mut line, label) in section.lines.into_iter().take(rows).zip(labels) {
            let label = format!("{:LABEL_COLUMNS$}", fit(label, LABEL_COLUMNS - 1));
            line.spans.insert(0, Span::styled(label, section.style));
            all.push(line);
        }
    }
    (all, cut)
}

struct BoardPage<'a> {
    theme: &'a Theme,
    width: usize,
    compact: bool,
    sections: Vec<BoardSection>,
}

struct BoardSection {
    title: String,
    style: Style,
    lines: Vec<Line<'static>>,
}

impl BoardPage<'_> {
    fn section(&mut self, title: impl Into<String>, style: Style) {
        self.sections.push(BoardSection { title: title.into(), style, lines: Vec::new() });
    }

    fn push(&mut self, line: Line<'static>) {
        if let Some(section) = self.sections.last_mut() {
            section.lines.push(line);
        }
    }

    /// Adds the line `None` to the current section, except in the compact form, which omits empty sections.
    fn none(&mut self) {
        if !self.compact {
            self.push(Line::styled("None", self.theme.dim));
        }
    }

    /// Adds an entry to the current section, with its time aligned to the right.
    fn entry(&mut self, mut spans: Vec<Span<'static>>, when: &str) {
        let room = self.width.saturating_sub(when.width() + usize::from(!when.is_empty()));
        let mut used = 0;
        for span in &mut spans {
            span.content = fit(&span.content, room.saturating_sub(used)).into();
            used += span.content.width();
        }
        if !when.is_empty() {
            spans.push(Span::raw(" ".repeat(self.width.saturating_sub(used + when.width()))));
            spans.push(Span::styled(when.to_owned(), self.theme.dim));
        }
        self.push(Line::from(spans));
    }

    fn remainder(&mut self, all: usize, shown: usize) {
        if all > shown {
            self.push(Line::styled(format!("  and {} more", all - shown), self.theme.dim));
        }
    }
}

fn acknowledgements(page: &mut BoardPage<'_>, app: &App, state: &SpaceState, moment: &FrameClock) {
    let waiting = &state.acknowledgements;
    let title = if page.compact { "Awaiting ack" } else { "Awaiting acknowledgement" };
    page.section(format!("{title} ({})", waiting.len()), page.theme.heading);
    let name = |id: &ParticipantId| if id == app.me() { "you".to_owned() } else { id.to_string() };
    for (index, one) in waiting.iter().take(MAX_ACKNOWLEDGEMENTS).enumerate() {
        let said = match state.items.get(&one.item).map(|item| &item.body) {
            Some(ItemBody::Text { text, .. }) => one_line(text),
            _ => one.item.to_string(),
        };
        let spans = vec![
            Span::styled(format!("{} ", index + 1), page.theme.dim),
            Span::styled(format!("{} → {} ", name(&one.from), name(&one.to)), page.theme.accent),
            Span::styled(said, page.theme.text),
        ];
        page.entry(spans, &moment.ago(one.at));
    }
    page.remainder(waiting.len(), MAX_ACKNOWLEDGEMENTS);
    if waiting.is_empty() {
        page.none();
    }
}

fn participants(page: &mut BoardPage<'_>, state: &SpaceState, moment: &FrameClock) {
    let all: Vec<_> = state.participants.iter().filter(|(_, one)| one.role != ParticipantRole::System).collect();
    page.section(format!("Participants ({})", all.iter().filter(|(_, one)| one.present).count()), page.theme.heading);
    for (id, one) in all.iter().take(MAX_PARTICIPANTS) {
        participant(page, id, one, moment);
    }
    page.remainder(all.len(), MAX_PARTICIPANTS);
}

fn participant(page: &mut BoardPage<'_>, id: &ParticipantId, one: &Participant, moment: &FrameClock) {
    let theme = page.theme;
    let name = if one.role == ParticipantRole::Human { theme.human } else { theme.agent };
    match &one.session {
        Some(AgentStatus { activity, evidence, since, waits_for, .. }) => {
            let spans = vec![
                Span::styled(format!("{} ", mark(activity)), colour(activity, theme)),
                Span::styled(format!("{id} "), name),
                Span::styled(format!("{} ", activity.name()), theme.text),
                Span::styled(format!("({})", evidence.name()), theme.dim),
            ];
            page.entry(spans, &moment.ago(*since));
            if let Some(reason) = waits_for {
                page.entry(vec![Span::styled(format!("  waits: {}", one_line(reason)), theme.dim)], "");
            }
            if let Activity::Gone(Some(reason)) = activity {
                page.entry(vec![Span::styled(format!("  {}", one_line(reason)), theme.danger)], "");
            }
        }
        None => {
            let here = if one.present { "●" } else { "○" };
            page.entry(vec![Span::styled(format!("{here} "), theme.dim), Span::styled(id.to_string(), name)], "");
        }
    }
    if let Some((status, summary, at)) = &one.reported_status {
        // The entry above shows the current activity of the session, so a reported status that names an activity is
        // left out.
        let outdated = one.session.is_some() && Activity::is_name(status);
        let said = match summary {
            Some(summary) if outdated => format!("  {}", one_line(summary)),
            None if outdated => return,
            Some(summary) => format!("  {}: {}", one_line(status), one_line(summary)),
            None => format!("  {}", one_line(status)),
        };
        page.entry(vec![Span::styled(said, theme.text)], &moment.ago(*at));
    }
}

/// Returns the symbol for the status of a session.
pub(super) fn mark(activity: &Activity) -> &'static str {
    match activity {
        Activity::Starting | Activity::Unknown => "◌",
        Activity::Idle | Activity::Working(_) => "●",
        Activity::Waiting(_) => "?",
        Activity::Paused => "‖",
        Activity::Gone(_) => "○",
    }
}

/// Returns the style for the status of a session.
pub(super) fn colour(activity: &Activity, theme: &Theme) -> Style {
    match activity {
        Activity::Starting | Activity::Unknown => theme.dim,
        Activity::Idle => theme.success,
        Activity::Working(_) => theme.accent,
        Activity::Waiting(_) | Activity::Paused => theme.warning,
        Activity::Gone(_) => theme.danger,
    }
}

fn pause(page: &mut BoardPage<'_>, state: &SpaceState, moment: &FrameClock) {
    page.section("Pause", page.theme.heading);
    let paused = state.participants.iter().filter_map(|(id, one)| Some((id, one.paused.as_ref()?)));
    let mut any = false;
    for (id, pause) in paused {
        any = true;
        let reason = pause.reason.as_deref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
        let by = if pause.by == *id { String::new() } else { format!(" by {}", pause.by) };
        let left = pause.until.map(|until| format!("{} left", moment.left(until))).unwrap_or_default();
        page.entry(vec![Span::styled(format!("{id} paused{by}{reason}"), page.theme.warning)], &left);
    }
    if !any {
        page.none();
    }
}

fn streams(page: &mut BoardPage<'_>, state: &SpaceState, moment: &FrameClock) {
    page.section(format!("Streams ({})", state.streams.len()), page.theme.heading);
    for stream in state.streams.iter().take(MAX_STREAMS) {
        let spans = vec![
            Span::styled(format!("{} ", stream.id), page.theme.accent),
            Span::styled(stream.by.to_string(), page.theme.text),
        ];
        page.entry(spans, &moment.ago(stream.last));
    }
    page.remainder(state.streams.len(), MAX_STREAMS);
    if state.streams.is_empty() {
        page.none();
    }
}

fn frames(page: &mut BoardPage<'_>, state: &SpaceState) {
    if state.frames.is_empty() {
        return;
    }
    page.section("Stream frames", page.theme.heading);
    for frame in state.frames.iter().rev().take(MAX_FRAMES) {
        let payload = match &frame.payload {
            serde_json::Value::String(text) => one_line(text),
            other => one_line(&other.to_string()),
        };
        let spans =
            vec![Span::styled(format!("{} ", frame.stream), page.theme.accent), Span::styled(payload, page.theme.text)];
        page.entry(spans, "");
    }
}

/// Returns chips that summarize the board while it is closed.
fn chips(state: &SpaceState, theme: &Theme, moment: &FrameClock) -> Vec<Span<'static>> {
    let mut chips = Vec::new();
    // Most acknowledgements arrive before a user could read that they are awaited.
    let waiting = state.acknowledgements.iter().filter(|one| moment.lasts(one.at, ACK_CHIP_DELAY)).count();
    if waiting > 0 {
        chips.push(Span::styled(format!("{waiting} awaiting acknowledgement"), theme.accent));
    }
    if !state.streams.is_empty() {
        let more = if state.streams.len() == 1 { "" } else { "s" };
        chips.push(Span::styled(format!("{} stream{more}", state.streams.len()), theme.accent));
    }
    if let Some((id, pause)) = state.pause() {
        let left = pause.until.map(|until| format!(" {}", moment.left(until))).unwrap_or_default();
        chips.push(Span::styled(format!("{id} paused{left}"), theme.warning));
    }
    for (id, one) in state.present().filter(|(_, one)| one.reported_status.is_some()).take(2) {
        let live = one.session.as_ref().map(|session| session.activity.name());
        if let Some((said, ..)) = &one.reported_status {
            let status = live.filter(|_| Activity::is_name(said)).unwrap_or(said);
            chips.push(Span::styled(format!("{id}: {}", fit(&one_line(status), 24)), theme.dim));
        }
    }
    chips
}

const BOARD_PANE: PaneName = PaneName("board");

/// Width of the docked board, without the divider.
const BOARD_COLUMNS: u16 = 42;

#[derive(Debug)]
pub(super) struct SignalBoard;

impl Pane for SignalBoard {
    fn layer(&self) -> PanePlacement {
        PanePlacement::Beside
    }

    fn is_open(&self, app: &App, _state: &SpaceState) -> bool {
        app.signals.is_open()
    }

    fn names(&self) -> &'static [PaneName] {
        &[BOARD_PANE]
    }

    fn actions(&self) -> &'static [(ScreenAction, PaneName)] {
        &[(ScreenAction::SignalBoard, BOARD_PANE)]
    }

    fn show(
        &self,
        app: &mut App,
        _name: PaneName,
        visibility: Option<Visibility>,
        _state: &SpaceState,
        now: SystemTime,
    ) -> Vec<AppEffect> {
        let visibility = asked_visibility(visibility, app.signals.is_open());
        app.signals.set_visibility(visibility);
        let notice = match visibility {
            Visibility::Open => "The signal board is open",
            Visibility::Close => "The signal board is closed",
            Visibility::Auto => "The signal board opens and closes automatically",
        };
        app.inform(notice, now);
        Vec::new()
    }

    fn frame(&self, app: &mut App, state: &SpaceState, screen: Rect, moment: &FrameClock) {
        if let Some(wake) = app.signals.decide(state, screen.width, moment.now()) {
            moment.wake_in(wake);
        }
    }

    fn report(&self, app: &App, facts: &mut UiFacts) {
        facts.board_expanded = app.signals.is_open();
        facts.board_override = app.signals.requested_visibility();
    }

    fn chips(&self, app: &App, state: &SpaceState, moment: &FrameClock) -> Vec<Span<'static>> {
        if app.signals.is_open() { Vec::new() } else { chips(state, app.theme(), moment) }
    }

    fn columns(&self) -> u16 {
        BOARD_COLUMNS
    }

    fn lines(
        &self,
        app: &App,
        state: &SpaceState,
        (width, _): (usize, usize),
        moment: &FrameClock,
    ) -> Vec<Line<'static>> {
        lines(app, state, width, moment)
    }

    fn compact(&self, app: &App, state: &SpaceState, size: (usize, usize), moment: &FrameClock) -> CompactContent {
        let (lines, cut) = compact(app, state, size, moment);
        CompactContent { title: BOARD_TITLE, lines, cut }
    }

    fn draw(
        &self,
        app: &mut App,
        state: &SpaceState,
        buffer: &mut Buffer,
        area: Rect,
        moment: &FrameClock,
    ) -> Option<Position> {
        let all = lines(app, state, area.width.into(), moment);
        // If there is not enough room, the hint is left out first.
        let fitting = if all.len() > usize::from(area.height) { all.len() - HINT_LINES } else { all.len() };
        put_cut(buffer, area, &all[..fitting], app.theme().dim);
        None
    }
}
