//! How much of what an agent says is kept: every report passes here before anybody else holds it. What a tool gave is
//! shown up to [`SHOWN_OF_RESULT`], what is said or thought up to [`SHOWN_OF_TEXT`]; the rest of it is handed out to be
//! kept elsewhere, and the item says how much of how much it shows.

mod asked;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use asked::{bounded_question, keep_whole};

use super::extent::{Extent, boundary, patch, words};
use super::harness::{Capabilities, Key, Named, Outcome, Report};
use super::item::{Body, Level, Output, ToolCall};

/// Bytes that are shown of what came of a tool call, and of what it was given.
pub const SHOWN_OF_RESULT: usize = 50_000;

/// Bytes that are shown of what is said or thought.
pub const SHOWN_OF_TEXT: usize = 200_000;

/// Bytes of a line: a title, a name, a reason.
const LINE: usize = 2_000;

/// Items whose length is remembered while they grow. Beyond that all are forgotten, and begin anew.
const MOST_GROWING: usize = 10_000;

/// Tools, models, modes, commands, and answers to a question, that are taken note of.
const MOST_NAMED: usize = 2_000;

/// What is beyond what is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beyond {
    /// Keep this of the item, from this byte on.
    Keep {
        /// Which item.
        key: Key,
        /// From where on.
        at: u64,
        /// What.
        text: String,
    },
    /// Nothing that was kept of the item is of use any more.
    Forget(Key),
}

/// Remembers how long the items are that grow.
#[derive(Debug, Default)]
pub struct Bounds {
    growing: HashMap<Key, Tally>,
}

#[derive(Debug, Clone, Copy)]
struct Tally {
    tool: bool,
    extent: Extent,
    /// What tells whether the same part is shown again.
    print: u64,
}

impl Tally {
    fn most(&self) -> u64 {
        (if self.tool { SHOWN_OF_RESULT } else { SHOWN_OF_TEXT }) as u64
    }

    fn is_cut(&self) -> bool {
        self.extent.whole > self.extent.shown
    }
}

/// What is to be done about a report: it, as far as it is told, and what is beyond.
#[derive(Debug, Default, PartialEq)]
pub struct Passed {
    /// What is reported, in order.
    pub reports: Vec<Report>,
    /// What is to be kept elsewhere, or no longer, in order.
    pub beyond: Vec<Beyond>,
}

impl Bounds {
    /// Bounds a report.
    pub fn pass(&mut self, report: Report) -> Passed {
        let mut passed = Passed::default();
        match report {
            Report::Item { key, body, done } => self.item(key, body, done, &mut passed),
            Report::Grew { key, text, tokens } => self.grew(key, text, tokens, &mut passed),
            Report::Finished(key) => {
                let tally = self.growing.remove(&key);
                passed.reports.extend(tally.and_then(notice));
                passed.reports.push(Report::Finished(key));
            }
            Report::Retracted(key) => {
                if self.growing.remove(&key).is_some_and(|tally| tally.is_cut()) {
                    passed.beyond.push(Beyond::Forget(key.clone()));
                }
                passed.reports.push(Report::Retracted(key));
            }
            Report::Ended(..) | Report::Rested(_) | Report::Gone(_) => {
                // What still grew is cut by this, and nothing more comes of it.
                passed.reports.extend(self.growing.drain().filter_map(|(_, tally)| notice(tally)));
                passed.reports.push(small(report));
            }
            Report::Asked { key, question } => {
                let (question, cut) = bounded_question(question);
                let extent = cut.map(|whole| keep_whole(&key, whole, &mut passed));
                passed.reports.push(with_extent(Report::Asked { key, question }, extent));
            }
            other => passed.reports.push(small(other)),
        }
        passed
    }

    fn item(&mut self, key: Key, body: Body, done: bool, passed: &mut Passed) {
        let known = self.growing.remove(&key);
        let (body, tool, length, rest) = match body {
            Body::Tool(call) => {
                let (call, rest) = bounded_call(call);
                let length = words(&call.output).len();
                (Body::Tool(call), true, length, rest)
            }
            Body::Text { mut text, attachments } => {
                let rest = text.split_off(boundary(&text, SHOWN_OF_TEXT));
                let length = text.len();
                (Body::Text { text, attachments }, false, length, rest)
            }
            Body::Thought { mut text, action, tokens } => {
                let rest = text.split_off(boundary(&text, SHOWN_OF_TEXT));
                let length = text.len();
                (Body::Thought { text, action: action.map(line), tokens }, false, length, rest)
            }
            Body::Notice { level, topic, lines } => {
                let body = Body::Notice { level, topic: line(topic), lines: bounded_lines(lines) };
                return passed.reports.push(Report::Item { key, body, done });
            }
            Body::Act { kind, mut payload, about } => {
                fit(&mut payload, SHOWN_OF_RESULT);
                return passed.reports.push(Report::Item { key, body: Body::Act { kind, payload, about }, done });
            }
            Body::Question { question, closing } => {
                let (question, cut) = bounded_question(question);
                let extent = cut.map(|whole| keep_whole(&key, whole, passed));
                let body = Body::Question { question, closing };
                return passed.reports.push(with_extent(Report::Item { key, body, done }, extent));
            }
        };
        let was_cut = known.is_some_and(|known| known.is_cut());
        let print = if was_cut || !rest.is_empty() { print(&body) } else { 0 };
        let again = known.filter(|known| was_cut && rest.is_empty() && known.print == print);
        let length = length as u64;
        let extent = again.map_or(Extent { shown: length, whole: length + rest.len() as u64 }, |known| known.extent);
        let tally = Tally { tool, extent, print };
        if again.is_none() && was_cut {
            passed.beyond.push(Beyond::Forget(key.clone()));
        }
        if !rest.is_empty() {
            passed.beyond.push(Beyond::Keep { key: key.clone(), at: length, text: rest });
        }
        if done {
            passed.reports.extend(notice(tally));
        } else {
            self.remember(key.clone(), tally);
        }
        passed.reports.push(shortened(Report::Item { key, body, done }, tally));
    }

    fn grew(&mut self, key: Key, mut text: String, tokens: Option<u64>, passed: &mut Passed) {
        // What nobody has spoken of before becomes a text.
        let none = Extent { shown: 0, whole: 0 };
        let mut tally = self.growing.remove(&key).unwrap_or(Tally { tool: false, extent: none, print: 0 });
        let room = if tally.is_cut() { 0 } else { tally.most().saturating_sub(tally.extent.shown) };
        let rest = text.split_off(boundary(&text, usize::try_from(room).unwrap_or(usize::MAX)));
        if !rest.is_empty() {
            let at = tally.extent.whole + text.len() as u64;
            passed.beyond.push(Beyond::Keep { key: key.clone(), at, text: rest.clone() });
        }
        tally.extent.shown += text.len() as u64;
        tally.extent.whole += (text.len() + rest.len()) as u64;
        self.remember(key.clone(), tally);
        passed.reports.push(shortened(Report::Grew { key, text, tokens }, tally));
    }

    fn remember(&mut self, key: Key, tally: Tally) {
        if self.growing.len() >= MOST_GROWING {
            self.growing.clear();
        }
        self.growing.insert(key, tally);
    }
}

/// Of a text that is not shown whole a person is told; a tool's card says so itself.
fn notice(tally: Tally) -> Option<Report> {
    let said = || Report::Notice(Level::Warning, format!("a text was too long to be shown whole: {}", tally.extent));
    (tally.is_cut() && !tally.tool).then(said)
}

fn shortened(report: Report, tally: Tally) -> Report {
    with_extent(report, tally.is_cut().then_some(tally.extent))
}

fn with_extent(report: Report, extent: Option<Extent>) -> Report {
    match extent {
        Some(extent) => Report::Shortened(Box::new(report), extent),
        None => report,
    }
}

/// What tells whether two bodies show the same.
fn print(body: &Body) -> u64 {
    let mut hasher = DefaultHasher::new();
    match body {
        Body::Text { text, .. } | Body::Thought { text, .. } => text.hash(&mut hasher),
        Body::Tool(call) => words(&call.output).hash(&mut hasher),
        Body::Question { .. } | Body::Notice { .. } | Body::Act { .. } => {}
    }
    hasher.finish()
}

/// A call with as much as is shown of it, and the rest of its output.
fn bounded_call(mut call: ToolCall) -> (ToolCall, String) {
    call.name = line(call.name);
    call.title = line(call.title);
    fit(&mut call.input, SHOWN_OF_RESULT);
    let rest = shorten(&mut call.output);
    (call, rest)
}

/// Leaves of the output of a call what is shown of it; gives back the rest. What is short enough stays as it is.
pub fn shorten(output: &mut Vec<Output>) -> String {
    let weight = |piece: &Output| match piece {
        Output::Text(text) => text.len(),
        Output::Diff { path, old, new } => path.len() + old.as_ref().map_or(0, String::len) + new.len(),
    };
    if output.len() < 1_000 && output.iter().map(weight).sum::<usize>() <= SHOWN_OF_RESULT {
        return String::new();
    }
    for piece in output.iter_mut() {
        // A change is read as lines: half of one of its sides would show a change that nobody has made.
        if let Output::Diff { path, old, new } = piece
            && path.len() + old.as_ref().map_or(0, String::len) + new.len() > SHOWN_OF_RESULT / 2
        {
            *piece = Output::Text(patch(path, old.as_deref(), new));
        }
    }
    let all = words(output);
    if all.len() <= SHOWN_OF_RESULT && output.len() < 1_000 {
        return String::new();
    }
    let mut shown = all;
    let rest = shown.split_off(boundary(&shown, SHOWN_OF_RESULT));
    *output = vec![Output::Text(shown)];
    rest
}

/// Leaves at most so many bytes of a value's texts, and says in it how much there was.
pub fn fit(value: &mut Value, most: usize) {
    let mut room = most;
    if !fits(value, &mut room) {
        let mut room = most;
        squeeze(value, &mut room);
    }
}

/// What a value counts for that holds nothing.
const CRUMB: usize = 8;

fn fits(value: &Value, room: &mut usize) -> bool {
    let mut take = |bytes: usize| {
        let enough = *room >= bytes;
        *room = room.saturating_sub(bytes);
        enough
    };
    match value {
        Value::String(text) => take(text.len() + CRUMB),
        Value::Array(list) => take(CRUMB) && list.iter().all(|one| fits(one, room)),
        Value::Object(fields) => fields.iter().all(|(name, one)| {
            let enough = *room >= name.len() + CRUMB;
            *room = room.saturating_sub(name.len() + CRUMB);
            enough && fits(one, room)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => take(CRUMB),
    }
}

fn squeeze(value: &mut Value, room: &mut usize) {
    *room = room.saturating_sub(CRUMB);
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
            let mut kept = 0;
            while kept < list.len() && *room > 0 {
                squeeze(&mut list[kept], room);
                kept += 1;
            }
            if kept < list.len() {
                let more = list.len() - kept;
                list.truncate(kept);
                list.push(Value::String(format!("… {more} more")));
                list.shrink_to_fit();
            }
        }
        Value::Object(fields) => {
            let (mut kept, count) = (serde_json::Map::new(), fields.len());
            for (name, mut one) in std::mem::take(fields) {
                if *room <= name.len() {
                    break;
                }
                *room -= name.len();
                squeeze(&mut one, room);
                kept.insert(name, one);
            }
            if kept.len() < count {
                let more = count - kept.len();
                kept.insert("…".to_owned(), Value::String(format!("{more} more")));
            }
            *fields = kept;
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
    cut(text, LINE)
}

fn bounded_lines(lines: Vec<String>) -> Vec<String> {
    let (mut room, count) = (SHOWN_OF_RESULT, lines.len());
    let mut kept = Vec::new();
    for text in lines {
        if room == 0 || kept.len() == MOST_NAMED {
            kept.push(format!("… {} more lines", count - kept.len()));
            break;
        }
        let text = cut(text, room);
        room = room.saturating_sub(text.len() + 1);
        kept.push(text);
    }
    kept
}

/// Reports that hold a few words, whatever an agent puts there.
fn small(report: Report) -> Report {
    match report {
        Report::Recalled(text) => Report::Recalled(cut(text, SHOWN_OF_TEXT)),
        Report::Status { status, summary } => Report::Status { status: line(status), summary: summary.map(line) },
        Report::Notice(level, text) => Report::Notice(level, cut(text, SHOWN_OF_RESULT)),
        Report::Ended(turn, outcome) => Report::Ended(turn, bounded_outcome(outcome)),
        Report::Rested(outcome) => Report::Rested(bounded_outcome(outcome)),
        Report::Gone(reason) => Report::Gone(reason.map(line)),
        Report::Called(id, result) => {
            let result = match result {
                Ok(mut value) => {
                    fit(&mut value, SHOWN_OF_RESULT);
                    Ok(value)
                }
                Err(reason) => Err(line(reason)),
            };
            Report::Called(id, result)
        }
        Report::StreamFrame(key, mut payload) => {
            fit(&mut payload, SHOWN_OF_RESULT);
            Report::StreamFrame(key, payload)
        }
        Report::Ready(capabilities) => Report::Ready(bounded_capabilities(capabilities)),
        Report::Tools(mut tools) => {
            tools.truncate(MOST_NAMED);
            for tool in &mut tools {
                tool.name = line(std::mem::take(&mut tool.name));
                tool.title = tool.title.take().map(line);
                tool.description = tool.description.take().map(|text| cut(text, 10 * LINE));
                if let Some(schema) = &mut tool.input_schema {
                    fit(schema, SHOWN_OF_RESULT);
                }
            }
            Report::Tools(tools)
        }
        other => other,
    }
}

fn bounded_outcome(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Failed(reason) => Outcome::Failed(line(reason)),
        other => other,
    }
}

fn bounded_capabilities(capabilities: Capabilities) -> Capabilities {
    let named = |mut list: Vec<Named>| {
        list.truncate(MOST_NAMED);
        list.into_iter().map(|one| Named { id: line(one.id), title: line(one.title) }).collect()
    };
    Capabilities {
        models: named(capabilities.models),
        modes: named(capabilities.modes),
        commands: named(capabilities.commands),
        ..capabilities
    }
}

#[cfg(test)]
mod tests;
