//! Size limits of agent reports, applied before any other component receives the report. Tool results are shortened to
//! [`MAX_SHOWN_RESULT_BYTES`], texts and thoughts to [`MAX_SHOWN_TEXT_BYTES`]. The rest is returned as overflow for the
//! caller to store, and the item records its shown and total size.

mod question;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use question::{bounded_question, store_full_description};

use super::extent::{Extent, boundary, output_text, patch};
use super::harness::{AgentOption, HarnessKey, Report, ReportedCapabilities, TurnOutcome};
use super::item::{ItemBody, NoticeLevel, ToolCall, ToolResultPart};

/// Maximum number of shown bytes of a tool call's result. The arguments of the call have the same maximum.
pub const MAX_SHOWN_RESULT_BYTES: usize = 50_000;

/// Maximum number of shown bytes of a text or thought.
pub const MAX_SHOWN_TEXT_BYTES: usize = 200_000;

/// Maximum number of bytes of a one-line text: a title, a name, a reason.
const MAX_REPORT_LINE_BYTES: usize = 2_000;

/// Maximum number of growing items whose size is tracked. Above this number, all sizes are reset to zero.
const MAX_GROWING_ITEMS: usize = 10_000;

/// Maximum number of entries in a list: tools, models, modes, commands, options of a question.
const MAX_LISTED_ENTRIES: usize = 2_000;

/// Change to the stored content of an item whose content is not shown completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportOverflow {
    /// Store this part of the content of the item.
    Store {
        key: HarnessKey,
        /// Offset of the part in the complete content.
        at: u64,
        text: String,
    },
    /// Discard the stored content of the item.
    Discard(HarnessKey),
}

/// Shortens reports, and tracks the sizes of growing items.
#[derive(Debug, Default)]
pub struct ReportBounds {
    growing: HashMap<HarnessKey, ItemGrowth>,
}

#[derive(Debug, Clone, Copy)]
struct ItemGrowth {
    tool: bool,
    extent: Extent,
    /// Hash of the shown content, for recognising a repeated report.
    shown_hash: u64,
}

impl ItemGrowth {
    fn max_shown(&self) -> u64 {
        (if self.tool { MAX_SHOWN_RESULT_BYTES } else { MAX_SHOWN_TEXT_BYTES }) as u64
    }

    fn is_cut(&self) -> bool {
        self.extent.whole > self.extent.shown
    }
}

/// Shortened report with its overflow.
#[derive(Debug, Default, PartialEq)]
pub struct BoundedReport {
    /// Reports for the space, in order.
    pub reports: Vec<Report>,
    /// Content to store because it is not shown, and stored content to discard, in order.
    pub overflow: Vec<ReportOverflow>,
}

impl ReportBounds {
    /// Shortens a report to the size limits.
    pub fn bound(&mut self, report: Report) -> BoundedReport {
        let mut bounded = BoundedReport::default();
        match report {
            Report::Item { key, body, done } => self.item(key, body, done, &mut bounded),
            Report::Grew { key, text, tokens } => self.grew(key, text, tokens, &mut bounded),
            Report::Finished(key) => {
                let growth = self.growing.remove(&key);
                bounded.reports.extend(growth.and_then(notice));
                bounded.reports.push(Report::Finished(key));
            }
            Report::Retracted(key) => {
                if self.growing.remove(&key).is_some_and(|growth| growth.is_cut()) {
                    bounded.overflow.push(ReportOverflow::Discard(key.clone()));
                }
                bounded.reports.push(Report::Retracted(key));
            }
            Report::Ended(..) | Report::SelfEnded(_) | Report::Gone(_) => {
                // Growing items end with the turn, so no further reports about them follow.
                bounded.reports.extend(self.growing.drain().filter_map(|(_, growth)| notice(growth)));
                bounded.reports.push(bounded_short(report));
            }
            Report::Asked { key, question } => {
                let (question, cut) = bounded_question(question);
                let extent = cut.map(|whole| store_full_description(&key, whole, &mut bounded));
                bounded.reports.push(with_extent(Report::Asked { key, question }, extent));
            }
            other => bounded.reports.push(bounded_short(other)),
        }
        bounded
    }

    fn item(&mut self, key: HarnessKey, body: ItemBody, done: bool, bounded: &mut BoundedReport) {
        let known = self.growing.remove(&key);
        let (body, tool, length, rest) = match body {
            ItemBody::Tool(call) => {
                let (call, rest) = bounded_call(call);
                let length = output_text(&call.output).len();
                (ItemBody::Tool(call), true, length, rest)
            }
            ItemBody::Text { mut text, attachments } => {
                let rest = text.split_off(boundary(&text, MAX_SHOWN_TEXT_BYTES));
                let length = text.len();
                (ItemBody::Text { text, attachments }, false, length, rest)
            }
            ItemBody::Thought { mut text, action, tokens } => {
                let rest = text.split_off(boundary(&text, MAX_SHOWN_TEXT_BYTES));
                let length = text.len();
                (ItemBody::Thought { text, action: action.map(line), tokens }, false, length, rest)
            }
            ItemBody::Notice { level, topic, lines } => {
                let body = ItemBody::Notice { level, topic: line(topic), lines: bounded_lines(lines) };
                return bounded.reports.push(Report::Item { key, body, done });
            }
            ItemBody::Act { kind, mut payload, about } => {
                fit(&mut payload, MAX_SHOWN_RESULT_BYTES);
                return bounded.reports.push(Report::Item { key, body: ItemBody::Act { kind, payload, about }, done });
            }
            ItemBody::Question { question, closing } => {
                let (question, cut) = bounded_question(question);
                let extent = cut.map(|whole| store_full_description(&key, whole, bounded));
                let body = ItemBody::Question { question, closing };
                return bounded.reports.push(with_extent(Report::Item { key, body, done }, extent));
            }
        };
        let was_cut = known.is_some_and(|known| known.is_cut());
        let shown_hash = if was_cut || !rest.is_empty() { shown_hash(&body) } else { 0 };
        let again = known.filter(|known| was_cut && rest.is_empty() && known.shown_hash == shown_hash);
        let length = length as u64;
        let extent = again.map_or(Extent { shown: length, whole: length + rest.len() as u64 }, |known| known.extent);
        let growth = ItemGrowth { tool, extent, shown_hash };
        if again.is_none() && was_cut {
            bounded.overflow.push(ReportOverflow::Discard(key.clone()));
        }
        if !rest.is_empty() {
            bounded.overflow.push(ReportOverflow::Store { key: key.clone(), at: length, text: rest });
        }
        if done {
            bounded.reports.extend(notice(growth));
        } else {
            self.remember(key.clone(), growth);
        }
        bounded.reports.push(shortened(Report::Item { key, body, done }, growth));
    }

    fn grew(&mut self, key: HarnessKey, mut text: String, tokens: Option<u64>, bounded: &mut BoundedReport) {
        // Growth of an item with an unknown key starts a new text.
        let none = Extent { shown: 0, whole: 0 };
        let mut growth = self.growing.remove(&key).unwrap_or(ItemGrowth { tool: false, extent: none, shown_hash: 0 });
        let room = if growth.is_cut() { 0 } else { growth.max_shown().saturating_sub(growth.extent.shown) };
        let rest = text.split_off(boundary(&text, usize::try_from(room).unwrap_or(usize::MAX)));
        if !rest.is_empty() {
            let at = growth.extent.whole + text.len() as u64;
            bounded.overflow.push(ReportOverflow::Store { key: key.clone(), at, text: rest.clone() });
        }
        growth.extent.shown += text.len() as u64;
        growth.extent.whole += (text.len() + rest.len()) as u64;
        self.remember(key.clone(), growth);
        bounded.reports.push(shortened(Report::Grew { key, text, tokens }, growth));
    }

    fn remember(&mut self, key: HarnessKey, growth: ItemGrowth) {
        if self.growing.len() >= MAX_GROWING_ITEMS {
            self.growing.clear();
        }
        self.growing.insert(key, growth);
    }
}

/// Returns a notice for a text that is not shown completely. A tool call needs no notice, because its item shows the
/// size.
fn notice(growth: ItemGrowth) -> Option<Report> {
    let notice = || {
        Report::Notice(NoticeLevel::Warning, format!("a text is too long to be shown completely: {}", growth.extent))
    };
    (growth.is_cut() && !growth.tool).then(notice)
}

fn shortened(report: Report, growth: ItemGrowth) -> Report {
    with_extent(report, growth.is_cut().then_some(growth.extent))
}

fn with_extent(report: Report, extent: Option<Extent>) -> Report {
    match extent {
        Some(extent) => Report::Shortened(Box::new(report), extent),
        None => report,
    }
}

/// Returns the hash of the content that is shown.
fn shown_hash(body: &ItemBody) -> u64 {
    let mut hasher = DefaultHasher::new();
    match body {
        ItemBody::Text { text, .. } | ItemBody::Thought { text, .. } => text.hash(&mut hasher),
        ItemBody::Tool(call) => output_text(&call.output).hash(&mut hasher),
        ItemBody::Question { .. } | ItemBody::Notice { .. } | ItemBody::Act { .. } => {}
    }
    hasher.finish()
}

/// Shortens a tool call. Returns the call and the part of its output that is not shown.
fn bounded_call(mut call: ToolCall) -> (ToolCall, String) {
    call.name = line(call.name);
    call.title = line(call.title);
    fit(&mut call.input, MAX_SHOWN_RESULT_BYTES);
    let rest = shorten(&mut call.output);
    (call, rest)
}

/// Shortens the output of a tool call to the size limit. Returns the part that is not shown; empty if the output is
/// short.
pub fn shorten(output: &mut Vec<ToolResultPart>) -> String {
    let weight = |piece: &ToolResultPart| match piece {
        ToolResultPart::Text(text) => text.len(),
        ToolResultPart::Diff { path, old, new } => path.len() + old.as_ref().map_or(0, String::len) + new.len(),
    };
    if output.len() < 1_000 && output.iter().map(weight).sum::<usize>() <= MAX_SHOWN_RESULT_BYTES {
        return String::new();
    }
    for piece in output.iter_mut() {
        // A truncated diff would show a change that was not made, so a long diff becomes a patch, which can be
        // truncated.
        if let ToolResultPart::Diff { path, old, new } = piece
            && path.len() + old.as_ref().map_or(0, String::len) + new.len() > MAX_SHOWN_RESULT_BYTES / 2
        {
            *piece = ToolResultPart::Text(patch(path, old.as_deref(), new));
        }
    }
    let all = output_text(output);
    if all.len() <= MAX_SHOWN_RESULT_BYTES && output.len() < 1_000 {
        return String::new();
    }
    let mut shown = all;
    let rest = shown.split_off(boundary(&shown, MAX_SHOWN_RESULT_BYTES));
    *output = vec![ToolResultPart::Text(shown)];
    rest
}

/// Truncates the texts in a JSON value to `most` bytes in total. A truncated text ends with its original size.
pub fn fit(value: &mut Value, most: usize) {
    let mut room = most;
    if !fits(value, &mut room) {
        let mut room = most;
        shrink(value, &mut room);
    }
}

/// Number of bytes that are counted for each JSON value in addition to its text.
const COUNTED_VALUE_BYTES: usize = 8;

fn fits(value: &Value, room: &mut usize) -> bool {
    let mut take = |bytes: usize| {
        let enough = *room >= bytes;
        *room = room.saturating_sub(bytes);
        enough
    };
    match value {
        Value::String(text) => take(text.len() + COUNTED_VALUE_BYTES),
        Value::Array(list) => take(COUNTED_VALUE_BYTES) && list.iter().all(|one| fits(one, room)),
        Value::Object(fields) => fields.iter().all(|(name, one)| {
            let enough = *room >= name.len() + COUNTED_VALUE_BYTES;
            *room = room.saturating_sub(name.len() + COUNTED_VALUE_BYTES);
            enough && fits(one, room)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => take(COUNTED_VALUE_BYTES),
    }
}

fn shrink(value: &mut Value, room: &mut usize) {
    *room = room.saturating_sub(COUNTED_VALUE_BYTES);
    match value {
        Value::String(text) => {
            if text.len() > *room {
                let (whole, end) = (text.len() as u64, boundary(text, *room));
                text.truncate(end);
                text.push_str(&format!("… {}", Extent { shown: end as u64, whole }));
            }
            *room = room.saturating_sub(text.len());
            text.shrink_to_fit();
        }
        Value::Array(list) => {
            let mut retained = 0;
            while retained < list.len() && *room > 0 {
                shrink(&mut list[retained], room);
                retained += 1;
            }
            if retained < list.len() {
                let more = list.len() - retained;
                list.truncate(retained);
                list.push(Value::String(format!("… {more} more")));
                list.shrink_to_fit();
            }
        }
        Value::Object(fields) => {
            let (mut retained, count) = (serde_json::Map::new(), fields.len());
            for (name, mut one) in std::mem::take(fields) {
                if *room <= name.len() {
                    break;
                }
                *room -= name.len();
                shrink(&mut one, room);
                retained.insert(name, one);
            }
            if retained.len() < count {
                let more = count - retained.len();
                retained.insert("…".to_owned(), Value::String(format!("{more} more")));
            }
            *fields = retained;
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let (whole, end) = (text.len() as u64, boundary(&text, most));
        text.truncate(end);
        text.shrink_to_fit();
        text.push_str(&format!("… {}", Extent { shown: end as u64, whole }));
    }
    text
}

fn line(text: String) -> String {
    cut(text, MAX_REPORT_LINE_BYTES)
}

fn bounded_lines(lines: Vec<String>) -> Vec<String> {
    let (mut room, count) = (MAX_SHOWN_RESULT_BYTES, lines.len());
    let mut retained = Vec::new();
    for text in lines {
        if room == 0 || retained.len() == MAX_LISTED_ENTRIES {
            retained.push(format!("… {} more lines", count - retained.len()));
            break;
        }
        let text = cut(text, room);
        room = room.saturating_sub(text.len() + 1);
        retained.push(text);
    }
    retained
}

/// Shortens the texts of a report that does not carry the content of an item.
fn bounded_short(report: Report) -> Report {
    match report {
        Report::EarlierPrompt(text) => Report::EarlierPrompt(cut(text, MAX_SHOWN_TEXT_BYTES)),
        Report::Status { status, summary } => Report::Status { status: line(status), summary: summary.map(line) },
        Report::Notice(level, text) => Report::Notice(level, cut(text, MAX_SHOWN_RESULT_BYTES)),
        Report::Ended(turn, outcome) => Report::Ended(turn, bounded_outcome(outcome)),
        Report::SelfEnded(outcome) => Report::SelfEnded(bounded_outcome(outcome)),
        Report::Gone(reason) => Report::Gone(reason.map(line)),
        Report::Called(id, result) => {
            let result = match result {
                Ok(mut value) => {
                    fit(&mut value, MAX_SHOWN_RESULT_BYTES);
                    Ok(value)
                }
                Err(reason) => Err(line(reason)),
            };
            Report::Called(id, result)
        }
        Report::StreamFrame(key, mut payload) => {
            fit(&mut payload, MAX_SHOWN_RESULT_BYTES);
            Report::StreamFrame(key, payload)
        }
        Report::Ready(capabilities) => Report::Ready(bounded_capabilities(capabilities)),
        Report::Tools(mut tools) => {
            tools.truncate(MAX_LISTED_ENTRIES);
            for tool in &mut tools {
                tool.name = line(std::mem::take(&mut tool.name));
                tool.title = tool.title.take().map(line);
                tool.description = tool.description.take().map(|text| cut(text, 10 * MAX_REPORT_LINE_BYTES));
                if let Some(schema) = &mut tool.input_schema {
                    fit(schema, MAX_SHOWN_RESULT_BYTES);
                }
            }
            Report::Tools(tools)
        }
        other => other,
    }
}

fn bounded_outcome(outcome: TurnOutcome) -> TurnOutcome {
    match outcome {
        TurnOutcome::Failed(reason) => TurnOutcome::Failed(line(reason)),
        other => other,
    }
}

fn bounded_capabilities(capabilities: ReportedCapabilities) -> ReportedCapabilities {
    let named = |mut list: Vec<AgentOption>| {
        list.truncate(MAX_LISTED_ENTRIES);
        list.into_iter().map(|one| AgentOption { id: line(one.id), title: line(one.title) }).collect()
    };
    ReportedCapabilities {
        models: named(capabilities.models),
        modes: named(capabilities.modes),
        commands: named(capabilities.commands),
        ..capabilities
    }
}

#[cfg(test)]
mod tests;
