//! Draws notices from wh, events of participants, and reasoning.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;
use wh_core::slash::{HELP_TITLE, help_lines};
use wh_core::space::item::{ItemProgress, NoticeLevel};

use super::entry::{EntryBody, EntryContext, INDENT};
use super::text;
use crate::view::lines::thousands;

/// Minimum width for text in two columns. On a narrower screen, the second column is placed below the first.
const MIN_TWO_COLUMN_WIDTH: usize = 56;

/// Indentation of a second column that is placed below the first.
const STACKED_INDENT: usize = 6;

/// Returns true if an event of this kind is shown even if details are hidden.
pub(super) fn act_is_shown(kind: &str, streams: bool) -> bool {
    match kind {
        "participant/status" | "participant/request-status" => false,
        "system/presence" | "stream/open" => true,
        other => other.starts_with("participant/") || streams && other.starts_with("stream/"),
    }
}

/// Draws an event of a participant in one line.
pub(super) fn act(sheet: &EntryContext<'_>, kind: &str, payload: &Value) -> EntryBody {
    let word = |key: &str| payload.get(key).and_then(Value::as_str).filter(|word| !word.is_empty());
    let from = sheet.reader.name(&sheet.item.from);
    let mut said = match (kind, payload.pointer("/participant/id").and_then(Value::as_str)) {
        ("system/presence", Some(who)) => match word("event") {
            Some("join") => format!("◇ {who} joined"),
            Some("leave") => format!("◇ {who} left"),
            other => format!("◇ {who} {}", other.unwrap_or("is here")),
        },
        _ => format!("◇ {from} → {kind}"),
    };
    for key in ["reason", "status", "summary", "stream_id"] {
        said.extend(word(key).into_iter().flat_map(|word| [" · ", word]));
    }
    if let Some(seconds) = payload.get("timeout_seconds").and_then(Value::as_u64) {
        said.push_str(&format!(" · {}", span(Duration::from_secs(seconds))));
    }
    let line = Line::from(Span::styled(text::visible(&said).into_owned(), sheet.theme().dim));
    EntryBody { lines: vec![text::clip(line, sheet.width())], folds: false }
}

/// Draws reasoning: the duration and the number of tokens, and the text if the item is expanded or details are shown.
pub(super) fn thought(sheet: &EntryContext<'_>, thought: &str, action: Option<&str>, tokens: Option<u64>) -> EntryBody {
    let theme = sheet.theme();
    let style = theme.dim.add_modifier(theme.quote.add_modifier);
    let name = sheet.reader.name(&sheet.item.from);
    let mut said = match (sheet.item.progress, sheet.setting.took) {
        (ItemProgress::Growing, _) => format!("◇ {name} is thinking…"),
        (_, Some(took)) => format!("◇ {name} thought for {}", span(took.max(Duration::from_secs(1)))),
        (_, None) => format!("◇ {name} thought"),
    };
    if sheet.item.progress != ItemProgress::Growing {
        said.extend(tokens.map(|tokens| format!(" · {} tokens", thousands(tokens))));
    }
    if sheet.item.progress == ItemProgress::Cut {
        said.push_str(" (interrupted)");
    }
    let mut lines = vec![text::clip(Line::from(Span::styled(said, style)), sheet.width())];
    if sheet.setting.expanded || sheet.setting.verbose {
        let parts = thought.trim().split('\n').chain(action);
        let rows =
            parts.filter(|part| !part.is_empty()).flat_map(|part| text::wrap(part, sheet.inner(), sheet.inner()));
        lines.extend(rows.map(|row| Line::from(vec![Span::raw(INDENT), Span::styled(row, style)])));
    }
    EntryBody { lines, folds: !thought.trim().is_empty() }
}

/// Draws a notice from wh. Preserves the layout of several lines as far as the width allows.
pub(super) fn notice(sheet: &EntryContext<'_>, level: NoticeLevel, topic: &str, said: &[String]) -> EntryBody {
    let theme = sheet.theme();
    let style = match level {
        NoticeLevel::Info if said.len() > 1 => theme.text,
        NoticeLevel::Info => theme.dim,
        NoticeLevel::Warning => theme.warning,
        NoticeLevel::Error => theme.danger,
    };
    let mut said: Vec<&str> = said.iter().flat_map(|line| line.split('\n')).collect();
    while said.last().is_some_and(|line| line.trim().is_empty()) {
        said.pop();
    }
    let mut rows: Vec<(String, Style)> = Vec::new();
    for row in laid_out(&said, sheet.inner(), topic == "help") {
        let title = topic == "help" && !row.is_empty() && !row.starts_with(' ');
        let style = if title { theme.heading } else { style };
        rows.push((row, style));
    }
    let lines = rows.into_iter().enumerate().map(|(index, (row, style))| {
        let mark = if index == 0 { "◇ " } else { INDENT };
        let mark_style = if level == NoticeLevel::Info { theme.dim } else { style };
        Line::from(vec![Span::styled(mark, mark_style), Span::styled(row, style)])
    });
    let mut lines: Vec<Line<'static>> = lines.collect();
    if lines.is_empty() {
        lines.push(Line::from(Span::styled("◇", theme.dim)));
    }
    EntryBody { lines, folds: false }
}

/// Wraps lines into rows. In a line with two columns, the text of the second column is wrapped within that column.
fn laid_out(said: &[&str], width: usize, help: bool) -> Vec<String> {
    // In the help, a usage may be longer than its column, so lines that fit are also split and aligned.
    if !help && said.iter().all(|line| text::width(&text::visible(line)) <= width) {
        return said.iter().map(|line| text::visible(line).into_owned()).collect();
    }
    let split: Vec<Option<(&str, &str)>> = said.iter().map(|line| columns(line, help)).collect();
    let widest = split.iter().flatten().map(|(left, _)| text::width(left)).max().unwrap_or_default();
    let column = if width < MIN_TWO_COLUMN_WIDTH { STACKED_INDENT } else { widest.min(width / 2) + 2 };
    let mut rows = Vec::new();
    for (line, split) in said.iter().zip(split) {
        let indent = line.len() - line.trim_start().len();
        let hanging = if indent == 0 { 0 } else { indent + 2 };
        match split {
            None => {
                let mut wrapped = text::wrap(line, width, width.saturating_sub(hanging)).into_iter();
                rows.extend(wrapped.next());
                rows.extend(wrapped.map(|row| format!("{:hanging$}{row}", "")));
            }
            Some((left, right)) => {
                let mut rest =
                    text::wrap(right, width.saturating_sub(column), width.saturating_sub(column)).into_iter();
                let room = column.saturating_sub(text::width(left));
                if room >= 2 {
                    rows.push(format!("{}{:room$}{}", text::visible(left), "", rest.next().unwrap_or_default()));
                } else {
                    rows.extend(text::wrap(left, width, width.saturating_sub(column)));
                }
                rows.extend(rest.map(|row| format!("{:column$}{row}", "")));
            }
        }
    }
    rows
}

/// Splits a line into its two columns; `None` if the line has one column. In the help, a single space separates the
/// columns if the usage fills the first column.
fn columns(line: &str, help: bool) -> Option<(&str, &str)> {
    let indent = line.len() - line.trim_start().len();
    let body = &line[indent..];
    let known =
        || help_lines().map(|line| line.usage).filter(|usage| body.starts_with(usage)).map(|usage| usage.len()).max();
    let end = match help.then(known).flatten() {
        Some(usage) if usage < body.len() => indent + usage,
        _ if line.starts_with(HELP_TITLE) => return None,
        _ => indent + body.find("  ")?,
    };
    let right = line[end..].trim();
    (!right.is_empty()).then(|| (&line[..end], right))
}

/// Formats a duration, such as `3s`, `2m 05s` or `1h 02m`.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h {minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_for_people() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([3, 125, 3_725].map(|seconds| span(Duration::from_secs(seconds))), ["3s", "2m 05s", "1h 02m"]);
    }

    #[test]
    fn a_second_column_is_broken_within_itself() {
        let said = ["Things", "  one    the first of the things", "  three  the last"];
        let said = said.map(|line| line.replace("the first", &"the first ".repeat(6)));
        let rows = laid_out(&said.each_ref().map(String::as_str), 60, false);
        let first = format!("  one    {}", "the first ".repeat(5).trim_end());
        assert_eq!(rows, ["Things", &first, "         the first  of the things", "  three  the last"]);
    }

    #[test]
    fn a_second_column_without_room_is_placed_below() {
        let rows = laid_out(&["  one    the first of the things", "  three  the last"], 24, false);
        assert_eq!(rows, ["  one", "      the first of the", "      things", "  three", "      the last"]);
    }

    #[test]
    fn lines_that_fit_are_unchanged() {
        assert_eq!(laid_out(&["a   b", "", "ccc  d"], 10, false), ["a   b", "", "ccc  d"]);
    }
}
