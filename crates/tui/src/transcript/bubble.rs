//! Draws messages: text from a user as it was typed, text from an agent as Markdown.

use ratatui::text::{Line, Span};
use wh_core::space::extent::size;
use wh_core::space::item::{Attachment, ItemProgress};

use super::entry::{EntryBody, EntryContext, INDENT};
use super::text;
use crate::markdown;

/// Minimum width of the conversation at which times are shown.
const MIN_WIDTH_FOR_TIME: usize = 44;

/// Number of empty columns to the right of a time.
const RIGHT_MARGIN: usize = 1;

/// Draws a message from a user. The text begins in the same row as the name, so that a short message takes one row.
pub(super) fn human(sheet: &EntryContext<'_>, said: &str, attachments: &[Attachment]) -> EntryBody {
    let theme = sheet.theme();
    let mut head = header(sheet, theme.human);
    head.push(Span::styled("❯ ", theme.accent));
    let time = time(sheet);
    let taken: usize = head.iter().map(Span::width).sum();
    let reserved = time.as_ref().map_or(0, |time| time.width() + 2 + RIGHT_MARGIN);
    let first = sheet.width().saturating_sub(taken + reserved);

    let rows = beneath(said.trim_end(), first, sheet.inner());
    let mut rows = rows.into_iter();
    head.extend(rows.next().map(|row| Span::styled(row, theme.text)));
    let mut lines = vec![with_time(sheet, head, time)];
    lines.extend(rows.map(|row| Line::from(vec![Span::raw(INDENT), Span::styled(row, theme.text)])));
    lines.extend(chips(sheet, attachments));
    EntryBody { lines, folds: false }
}

/// Wraps text that begins in the row of a header. The first row has `first` columns, and all later rows have `rest`
/// columns. If `first` is too small, the first returned row is empty.
pub(super) fn beneath(said: &str, first: usize, rest: usize) -> Vec<String> {
    const MIN_FIRST_ROW: usize = 6;
    let mut rows: Vec<String> = Vec::new();
    if first < MIN_FIRST_ROW && first < rest {
        rows.push(String::new());
    }
    for line in said.split('\n') {
        let first = if rows.is_empty() { first } else { rest };
        rows.extend(text::wrap(line.strip_suffix('\r').unwrap_or(line), first, rest));
    }
    rows
}

/// Draws a message from an agent. The text begins in the row below the name.
pub(super) fn agent(sheet: &EntryContext<'_>, said: &str, attachments: &[Attachment]) -> EntryBody {
    let theme = sheet.theme();
    let mut lines = vec![with_time(sheet, header(sheet, theme.agent), time(sheet))];
    let growing = sheet.item.progress == ItemProgress::Growing;
    let body = if growing { markdown::render_partial } else { markdown::render }(said, sheet.columns(), theme);
    lines.extend(body.into_iter().map(indented));
    if sheet.item.progress == ItemProgress::Cut {
        lines.push(Line::from(vec![Span::raw(INDENT), Span::styled("(interrupted)", theme.warning)]));
    }
    lines.extend(chips(sheet, attachments));
    EntryBody { lines, folds: false }
}

/// Indents a line that is below a header.
pub(super) fn indented(mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw(INDENT));
    line
}

/// Returns the name of the sender, followed by the recipients unless the message is for everyone.
fn header(sheet: &EntryContext<'_>, style: ratatui::style::Style) -> Vec<Span<'static>> {
    let (item, theme) = (sheet.item, sheet.theme());
    let limit = (sheet.width() / 3).max(8);
    let name = text::clip_text(&sheet.reader.name(&item.from), limit);
    let mut spans = vec![Span::styled("◆ ", style), Span::styled(name, style), Span::raw(" ")];
    let to = item.to.as_deref().unwrap_or_default();
    if !to.is_empty() && to != [sheet.reader.me.clone()] {
        let names: Vec<String> = to.iter().map(|id| sheet.reader.name(id)).collect();
        spans.push(Span::styled(format!("→ {} ", text::clip_text(&names.join(", "), limit)), theme.dim));
    }
    spans
}

fn time(sheet: &EntryContext<'_>) -> Option<Span<'static>> {
    let time = sheet.reader.time(sheet.item.at, sheet.setting.today);
    (sheet.width() >= MIN_WIDTH_FOR_TIME && !time.is_empty()).then(|| Span::styled(time, sheet.theme().dim))
}

/// Appends the time to a header, aligned to the right.
fn with_time(sheet: &EntryContext<'_>, mut head: Vec<Span<'static>>, time: Option<Span<'static>>) -> Line<'static> {
    if let Some(time) = time {
        let taken: usize = head.iter().map(Span::width).sum();
        let between = sheet.width().saturating_sub(taken + time.width() + RIGHT_MARGIN);
        head.push(Span::raw(" ".repeat(between)));
        head.push(time);
    }
    text::clip(Line::from(head), sheet.width())
}

/// Returns the labels of the attachments, in as many rows as necessary.
fn chips(sheet: &EntryContext<'_>, attachments: &[Attachment]) -> Vec<Line<'static>> {
    let mut rows: Vec<Line<'static>> = Vec::new();
    for file in attachments {
        let label = text::clip_text(&format!("[{} · {}]", file.name, size(file.size)), sheet.inner());
        let chip = Span::styled(label, sheet.theme().accent);
        match rows.last_mut() {
            Some(row) if row.width() + 1 + chip.width() <= sheet.width() => {
                row.spans.extend([Span::raw(" "), chip]);
            }
            _ => rows.push(Line::from(vec![Span::raw(INDENT), chip])),
        }
    }
    rows
}
