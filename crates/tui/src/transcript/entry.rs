//! One item as lines: which of them are shown at all, what stands in front of them, and what is added when every detail is
//! wanted. What each kind of item looks like is in [`bubble`], [`card`] and [`remark`].

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use wh_core::space::ParticipantId;
use wh_core::space::item::{Body, Item, Progress};
use wh_core::space::state::State;

use super::{bubble, card, remark, text};
use crate::theme::Theme;

/// Columns in front of everything: for the rule beside a person's words, and for the mark of what is selected.
const GUTTER: u16 = 1;

/// The columns by which what follows a header is set in.
pub(super) const INDENT: &str = "  ";

/// What decides, beside the item itself, how it looks. The same item with the same of these has the same lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    /// Columns, the gutter's among them.
    pub width: u16,
    /// Whether every detail is wanted.
    pub verbose: bool,
    /// Whether all of it is wanted.
    pub expanded: bool,
    /// Whether an empty line parts it from what is above.
    pub gap: bool,
    /// Whether a person said it.
    pub human: bool,
    /// Whether it is of the day that it is.
    pub today: bool,
    /// How long it took, where that can be told.
    pub took: Option<Duration>,
}

/// For whom it is drawn.
#[derive(Debug)]
pub(super) struct Reader {
    /// The colours.
    pub theme: Theme,
    /// Whose words are "you".
    pub me: ParticipantId,
    /// Where its clock stands.
    pub zone: TimeZone,
}

impl Reader {
    /// What a participant is called.
    pub(super) fn name(&self, id: &ParticipantId) -> String {
        if *id == self.me { "you".to_owned() } else { text::visible(id.as_str()).into_owned() }
    }

    /// The time of the day, and which day if it is another one.
    pub(super) fn time(&self, at: SystemTime, today: bool) -> String {
        let Ok(stamp) = Timestamp::try_from(at) else { return String::new() };
        let local = stamp.to_zoned(self.zone.clone());
        local.strftime(if today { "%H:%M:%S" } else { "%b %-d %H:%M" }).to_string()
    }

    /// The number of the day.
    pub(super) fn day(&self, at: SystemTime) -> Option<i64> {
        let stamp = Timestamp::try_from(at).ok()?;
        let seconds = stamp.as_second() + i64::from(self.zone.to_offset(stamp).seconds());
        Some(seconds.div_euclid(24 * 60 * 60))
    }
}

/// An item as lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The lines, the empty one above among them.
    pub lines: Vec<Line<'static>>,
    /// Where its header stands.
    pub header: usize,
    /// Whether there is more to it than is shown, or more than needs to be.
    pub folds: bool,
}

/// What a kind of item makes of itself: lines without a gutter.
pub(super) struct Drawn {
    /// The lines, the header first.
    pub lines: Vec<Line<'static>>,
    /// Whether it has a shorter or a longer form.
    pub folds: bool,
}

/// Everything that drawing one item needs.
pub(super) struct Sheet<'a> {
    /// The item.
    pub item: &'a Item,
    /// How it is to look.
    pub setting: &'a Setting,
    /// For whom.
    pub reader: &'a Reader,
}

impl Sheet<'_> {
    /// The columns behind the gutter.
    pub(super) fn width(&self) -> usize {
        usize::from(self.setting.width.saturating_sub(GUTTER))
    }

    /// The columns of what follows a header.
    pub(super) fn inner(&self) -> usize {
        self.width().saturating_sub(INDENT.len())
    }

    /// The columns of what follows a header, as renderers want them.
    pub(super) fn columns(&self) -> u16 {
        self.setting.width.saturating_sub(GUTTER + 2)
    }

    pub(super) fn theme(&self) -> &Theme {
        &self.reader.theme
    }
}

/// Draws an item.
pub(super) fn draw(item: &Item, setting: &Setting, reader: &Reader) -> Lines {
    let sheet = Sheet { item, setting, reader };
    let Drawn { lines: mut drawn, folds } = match &item.body {
        Body::Text { text, attachments } if setting.human => bubble::human(&sheet, text, attachments),
        Body::Text { text, attachments } => bubble::agent(&sheet, text, attachments),
        Body::Thought { text, action, tokens } => remark::thought(&sheet, text, action.as_deref(), *tokens),
        Body::Tool(call) => card::tool(&sheet, call),
        Body::Question { question, closing } => card::question(&sheet, question, closing.as_ref()),
        Body::Notice { level, topic, lines } => remark::notice(&sheet, *level, topic, lines),
        Body::Act { kind, payload, .. } => remark::act(&sheet, kind, payload),
    };
    drawn.extend(beyond(&sheet));
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
    Lines { lines, header: usize::from(setting.gap), folds }
}

/// Where not all of an item is here: how much is, and how the rest is had.
fn beyond(sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let Some(extent) = sheet.item.extent else { return Vec::new() };
    let said = format!("… {extent}; all of it: wh output {}", sheet.item.id);
    let rows = text::wrap(&said, sheet.inner().saturating_sub(2), sheet.inner().saturating_sub(2));
    let line = |row| Line::from(vec![Span::raw("    "), Span::styled(row, sheet.theme().warning)]);
    rows.into_iter().map(line).collect()
}

/// What programs know of an item, and people seldom want to: its id, kind and turn, and what it holds in full.
fn details(sheet: &Sheet<'_>) -> Vec<Line<'static>> {
    let item = sheet.item;
    let mut facts = format!("{} · {}", item.id, kind(item));
    if let Some(turn) = &item.turn {
        facts.push_str(&format!(" · {turn}"));
    }
    let payload = match &item.body {
        Body::Act { payload, .. } => Some(payload.to_string()),
        Body::Tool(call) => Some(call.input.to_string()),
        _ => None,
    };
    let rows = std::iter::once(facts).chain(payload);
    rows.flat_map(|row| text::wrap(&row, sheet.inner(), sheet.inner()))
        .map(|row| Line::from(vec![Span::raw(INDENT), Span::styled(row, sheet.theme().dim)]))
        .collect()
}

fn kind(item: &Item) -> String {
    match &item.body {
        Body::Text { .. } => "chat".to_owned(),
        Body::Thought { .. } => "reasoning".to_owned(),
        Body::Tool(_) => "mcp/request".to_owned(),
        Body::Question { .. } => "mcp/proposal".to_owned(),
        Body::Notice { topic, .. } => format!("system/{topic}"),
        Body::Act { kind, .. } => kind.clone(),
    }
}

/// Whether an item of this kind is shown at all.
pub(super) fn is_shown(item: &Item, verbose: bool, streams: bool) -> bool {
    match &item.body {
        Body::Act { kind, .. } => verbose || remark::act_is_shown(kind, streams),
        _ => true,
    }
}

/// Whether it is one line among others, and needs no room around it.
pub(super) fn is_slight(item: &Item, verbose: bool) -> bool {
    !verbose
        && match &item.body {
            Body::Act { .. } | Body::Thought { .. } => true,
            Body::Notice { lines, .. } => lines.len() < 2,
            _ => false,
        }
}

/// Whether a person can go to it by its own.
pub(super) fn is_message(item: &Item) -> bool {
    item.progress != Progress::Retracted && !matches!(item.body, Body::Act { .. })
}

/// Duration of the thought at this place: from its start to the next item of its turn by the same participant, or to the
/// end of its turn, whichever is first. A thought that was cut ended with its turn.
pub(super) fn took(state: &State, place: usize, item: &Item) -> Option<Duration> {
    /// So many items are looked at; what comes later says nothing about this one.
    const NEAR: usize = 8;
    if !matches!(item.body, Body::Thought { .. }) || item.progress == Progress::Growing {
        return None;
    }
    let mut later = (place + 1..=place + NEAR).filter_map(|place| state.items.at(place));
    let next = later.find(|next| next.from == item.from && next.turn == item.turn).map(|next| next.at);
    let end = item.turn.as_ref().and_then(|turn| state.turn(turn)?.end.as_ref().map(|(_, at)| *at));
    let over = match item.progress {
        // Turns of an earlier life are not known; when the end of the thought was listed is.
        Progress::Cut => end.or_else(|| item.listed.last().copied()),
        _ => next.into_iter().chain(end).min(),
    };
    over?.duration_since(item.at).ok()
}
