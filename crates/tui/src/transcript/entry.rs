//! Draws an item of the conversation as lines with the gutter, and with the details in verbose mode. [`bubble`],
//! [`card`] and [`remark`] draw the content of each kind of item.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use wh_core::space::ParticipantId;
use wh_core::space::item::{Item, ItemBody, ItemProgress};
use wh_core::space::state::SpaceState;

use super::{bubble, card, remark, text};
use crate::theme::Theme;

/// Number of columns before each line, for the bar beside a user's message and for the mark of the selected item.
const GUTTER: u16 = 1;

/// Indentation of the lines below a header.
pub(super) const INDENT: &str = "  ";

/// Settings that determine how an item is drawn. The same item with equal settings has equal lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntrySettings {
    /// Number of columns, including the gutter.
    pub width: u16,
    /// True if the details of the item are shown.
    pub verbose: bool,
    /// True if the item is expanded.
    pub expanded: bool,
    /// True if a blank line separates the item from the item above.
    pub gap: bool,
    /// True if the item is a message from a user.
    pub human: bool,
    /// True to show only the time of day; false to show the date as well.
    pub today: bool,
    /// Duration of the thought, if known.
    pub took: Option<Duration>,
}

/// Display settings of the user who views the conversation.
#[derive(Debug)]
pub(super) struct ViewerSettings {
    pub theme: Theme,
    /// Participant that is shown as "you".
    pub me: ParticipantId,
    /// Time zone of displayed times.
    pub zone: TimeZone,
}

impl ViewerSettings {
    /// Returns the display name of a participant.
    pub(super) fn name(&self, id: &ParticipantId) -> String {
        if *id == self.me { "you".to_owned() } else { text::visible(id.as_str()).into_owned() }
    }

    /// Returns the time of day if `today` is true, and else the date and time.
    pub(super) fn time(&self, at: SystemTime, today: bool) -> String {
        let Ok(stamp) = Timestamp::try_from(at) else { return String::new() };
        let local = stamp.to_zoned(self.zone.clone());
        local.strftime(if today { "%H:%M:%S" } else { "%b %-d %H:%M" }).to_string()
    }

    /// Returns the number of the day that contains this time, in the time zone of the viewer.
    pub(super) fn day(&self, at: SystemTime) -> Option<i64> {
        let stamp = Timestamp::try_from(at).ok()?;
        let seconds = stamp.as_second() + i64::from(self.zone.to_offset(stamp).seconds());
        Some(seconds.div_euclid(24 * 60 * 60))
    }
}

/// Lines of an item as drawn in the conversation, including the gutter.
#[derive(Debug, Default)]
pub(super) struct ItemLines {
    /// Lines of the item, including the blank line above it.
    pub lines: Vec<Line<'static>>,
    /// Index of the header line.
    pub header: usize,
    /// True if the item can be expanded or collapsed.
    pub folds: bool,
}

/// Lines of an item, without the gutter.
pub(super) struct EntryBody {
    pub lines: Vec<Line<'static>>,
    /// True if the item can be expanded or collapsed.
    pub folds: bool,
}

/// Item to draw, with the settings of the item and of the viewer.
pub(super) struct EntryContext<'a> {
    pub item: &'a Item,
    pub setting: &'a EntrySettings,
    pub reader: &'a ViewerSettings,
}

impl EntryContext<'_> {
    /// Returns the number of columns without the gutter.
    pub(super) fn width(&self) -> usize {
        usize::from(self.setting.width.saturating_sub(GUTTER))
    }

    /// Returns the number of columns for the lines below a header.
    pub(super) fn inner(&self) -> usize {
        self.width().saturating_sub(INDENT.len())
    }

    /// Returns the number of columns for the lines below a header as `u16`, the type that renderers expect.
    pub(super) fn columns(&self) -> u16 {
        self.setting.width.saturating_sub(GUTTER + 2)
    }

    pub(super) fn theme(&self) -> &Theme {
        &self.reader.theme
    }
}

/// Draws an item including its gutter.
pub(super) fn draw(item: &Item, setting: &EntrySettings, reader: &ViewerSettings) -> ItemLines {
    let sheet = EntryContext { item, setting, reader };
    let EntryBody { lines: mut drawn, folds } = match &item.body {
        ItemBody::Text { text, attachments } if setting.human => bubble::human(&sheet, text, attachments),
        ItemBody::Text { text, attachments } => bubble::agent(&sheet, text, attachments),
        ItemBody::Thought { text, action, tokens } => remark::thought(&sheet, text, action.as_deref(), *tokens),
        ItemBody::Tool(call) => card::tool(&sheet, call),
        ItemBody::Question { question, closing } => card::question(&sheet, question, closing.as_ref()),
        ItemBody::Notice { level, topic, lines } => remark::notice(&sheet, *level, topic, lines),
        ItemBody::Act { kind, payload, .. } => remark::act(&sheet, kind, payload),
    };
    drawn.extend(truncation_hint(&sheet));
    if setting.verbose {
        drawn.extend(details(&sheet));
    }
    let mark = if setting.human { Span::styled("▎", sheet.theme().human) } else { Span::styled(" ", Style::new()) };
    let mut lines = Vec::with_capacity(drawn.len() + 1);
    lines.extend(setting.gap.then(Line::default));
    lines.extend(drawn.into_iter().map(|mut line| {
        line.spans.insert(0, mark.clone());
        line
    }));
    ItemLines { lines, header: usize::from(setting.gap), folds }
}

/// Returns a hint for an item that is shown only in part: the sizes, and the command that prints the full text.
fn truncation_hint(sheet: &EntryContext<'_>) -> Vec<Line<'static>> {
    let Some(extent) = sheet.item.extent else { return Vec::new() };
    let said = format!("… {extent}; full text: wh output {}", sheet.item.id);
    let rows = text::wrap(&said, sheet.inner().saturating_sub(2), sheet.inner().saturating_sub(2));
    let line = |row| Line::from(vec![Span::raw("    "), Span::styled(row, sheet.theme().warning)]);
    rows.into_iter().map(line).collect()
}

/// Returns the details that verbose mode shows: the id, kind and turn of the item, and the payload of an event or the
/// input of a tool call.
fn details(sheet: &EntryContext<'_>) -> Vec<Line<'static>> {
    let item = sheet.item;
    let mut facts = format!("{} · {}", item.id, kind(item));
    if let Some(turn) = &item.turn {
        facts.push_str(&format!(" · {turn}"));
    }
    let payload = match &item.body {
        ItemBody::Act { payload, .. } => Some(payload.to_string()),
        ItemBody::Tool(call) => Some(call.input.to_string()),
        _ => None,
    };
    let rows = std::iter::once(facts).chain(payload);
    rows.flat_map(|row| text::wrap(&row, sheet.inner(), sheet.inner()))
        .map(|row| Line::from(vec![Span::raw(INDENT), Span::styled(row, sheet.theme().dim)]))
        .collect()
}

fn kind(item: &Item) -> String {
    match &item.body {
        ItemBody::Text { .. } => "chat".to_owned(),
        ItemBody::Thought { .. } => "reasoning".to_owned(),
        ItemBody::Tool(_) => "mcp/request".to_owned(),
        ItemBody::Question { .. } => "mcp/proposal".to_owned(),
        ItemBody::Notice { topic, .. } => format!("system/{topic}"),
        ItemBody::Act { kind, .. } => kind.clone(),
    }
}

/// Returns true if an item of this kind is shown with these settings.
pub(super) fn is_shown(item: &Item, verbose: bool, streams: bool) -> bool {
    match &item.body {
        ItemBody::Act { kind, .. } => verbose || remark::act_is_shown(kind, streams),
        _ => true,
    }
}

/// Returns true if the item takes a single line. No blank line separates two such items.
pub(super) fn is_single_line(item: &Item, verbose: bool) -> bool {
    !verbose
        && match &item.body {
            ItemBody::Act { .. } | ItemBody::Thought { .. } => true,
            ItemBody::Notice { lines, .. } => lines.len() < 2,
            _ => false,
        }
}

/// Returns true if the user can select the item.
pub(super) fn is_message(item: &Item) -> bool {
    item.progress != ItemProgress::Retracted && !matches!(item.body, ItemBody::Act { .. })
}

/// Returns the duration of a thought: until the participant's next item in the same turn, or until the end of the turn,
/// whichever is first. An interrupted thought lasts until the end of its turn.
pub(super) fn took(state: &SpaceState, place: usize, item: &Item) -> Option<Duration> {
    /// Maximum number of following items that are searched for the end of the thought.
    const MAX_LOOKAHEAD: usize = 8;
    if !matches!(item.body, ItemBody::Thought { .. }) || item.progress == ItemProgress::Growing {
        return None;
    }
    let mut later = (place + 1..=place + MAX_LOOKAHEAD).filter_map(|place| state.items.at(place));
    let next = later.find(|next| next.from == item.from && next.turn == item.turn).map(|next| next.at);
    let end = item.turn.as_ref().and_then(|turn| state.turn(turn)?.end.as_ref().map(|(_, at)| *at));
    let over = match item.progress {
        // The turns of a previous process are unknown. The last time in `listed` is then the end of the thought.
        ItemProgress::Cut => end.or_else(|| item.listed.last().copied()),
        _ => next.into_iter().chain(end).min(),
    };
    over?.duration_since(item.at).ok()
}
