//! Draws cards: tool calls with their output, and questions with their answers.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use wh_core::space::item::{ItemProgress, ToolCall, ToolResultPart, ToolStatus};
use wh_core::space::question::{Answer, Question, QuestionCloseReason, QuestionDetail, QuestionKind};

use super::bubble::beneath;
use super::entry::{EntryBody, EntryContext, INDENT};
use super::text;
use crate::call;
use crate::diff::Diff;

/// Number of output lines in a collapsed card.
const COLLAPSED_TEXT_LINES: usize = 3;

/// Number of diff lines in a collapsed card.
const COLLAPSED_DIFF_LINES: usize = 12;

/// Prefix of the first line below a header.
const FIRST_PREFIX: &str = "└ ";

/// Draws a tool call with its output.
pub(super) fn tool(sheet: &EntryContext<'_>, call: &ToolCall) -> EntryBody {
    let theme = sheet.theme();
    let (icon, style) = match call.status {
        ToolStatus::Pending => ("○", theme.dim),
        ToolStatus::Running => ("●", theme.accent),
        ToolStatus::Completed => ("✓", theme.success),
        ToolStatus::Failed => ("✗", theme.danger),
        ToolStatus::Denied | ToolStatus::Cancelled => ("⊘", theme.warning),
    };
    let title = if call.title.trim().is_empty() { &call.name } else { &call.title };
    let mut spans =
        vec![Span::styled(format!("{icon} "), style), Span::styled(text::visible(title).into_owned(), theme.tool)];
    let input = call::input_summary(&call.input).filter(|input| !title.contains(input.as_str()));
    if let Some(input) = &input {
        spans.push(Span::styled(format!("  {}", text::visible(input)), theme.dim));
    }
    let ending = match (sheet.item.progress, call.status) {
        (_, ToolStatus::Denied) => Some(" (denied)"),
        (ItemProgress::Cut, _) => Some(" (interrupted)"),
        (_, ToolStatus::Cancelled) => Some(" (cancelled)"),
        _ => None,
    };
    let ending = ending.map(|text| Span::styled(text, theme.warning));
    let mut lines = vec![header_line(spans, ending, sheet.width())];

    let mut body = Vec::new();
    let mut folds = false;
    for piece in &call.output {
        folds |= match piece {
            ToolResultPart::Text(written) => output(sheet, written, call.status, &mut body),
            ToolResultPart::Diff { path, old, new } => {
                let diff = Diff::between(old.as_deref().unwrap_or_default(), new);
                let named = title.contains(path.as_str()) || input.as_ref().is_some_and(|input| input.contains(path));
                body.push(file(sheet, (!named).then_some(path), &diff));
                change(sheet, &diff, &mut body)
            }
        };
    }
    lines.extend(hanging_lines(body));
    EntryBody { lines, folds }
}

/// Returns a header line, truncated to the width. The span `last` is truncated only if it is wider than the line.
fn header_line(spans: Vec<Span<'static>>, last: Option<Span<'static>>, width: usize) -> Line<'static> {
    let room = width.saturating_sub(last.as_ref().map_or(0, Span::width));
    let mut line = text::clip(Line::from(spans), room);
    line.spans.extend(last);
    text::clip(line, width)
}

/// Returns the number of columns for the lines below a header, without their prefix.
fn body_width(sheet: &EntryContext<'_>) -> usize {
    sheet.inner().saturating_sub(2)
}

fn hanging_lines(body: Vec<Line<'static>>) -> impl Iterator<Item = Line<'static>> {
    body.into_iter().enumerate().map(|(index, mut line)| {
        line.spans.insert(0, Span::raw(if index == 0 { FIRST_PREFIX } else { INDENT }));
        line.spans.insert(0, Span::raw(INDENT));
        line
    })
}

/// Appends the output of a tool call. A collapsed card shows the end of the output if the call is running or has
/// failed, and else the beginning. Returns true if the card can be expanded.
fn output(sheet: &EntryContext<'_>, written: &str, status: ToolStatus, body: &mut Vec<Line<'static>>) -> bool {
    let style = sheet.theme().dim;
    let written = written.trim_end();
    if written.is_empty() {
        return false;
    }
    let count = written.split('\n').count();
    let folds = count > COLLAPSED_TEXT_LINES;
    let row = |line: &str| Line::from(Span::styled(text::clip_text(&shown(line), body_width(sheet)), style));
    let more = |count: usize| Line::from(Span::styled(format!("… {} (ctrl+o)", lines_more(count)), style));
    if sheet.setting.expanded {
        let rows = written.split('\n').flat_map(|line| text::wrap(&shown(line), body_width(sheet), body_width(sheet)));
        body.extend(rows.map(|row| Line::from(Span::styled(row, style))));
    } else if folds && matches!(status, ToolStatus::Running | ToolStatus::Failed) {
        body.push(more(count - COLLAPSED_TEXT_LINES));
        body.extend(written.split('\n').skip(count - COLLAPSED_TEXT_LINES).map(row));
    } else {
        body.extend(written.split('\n').take(COLLAPSED_TEXT_LINES).map(row));
        body.extend(folds.then(|| more(count - COLLAPSED_TEXT_LINES)));
    }
    folds || written.split('\n').any(|line| text::width(line) > body_width(sheet))
}

/// Removes colours from a line of output, and the text that a carriage return overwrites.
fn shown(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    text::without_colours(line.rsplit('\r').next().unwrap_or(line)).into_owned()
}

fn lines_more(count: usize) -> String {
    if count == 1 { "1 more line".to_owned() } else { format!("{count} more lines") }
}

/// Returns a line with the file name (unless the header contains it) and the numbers of added and removed lines.
fn file(sheet: &EntryContext<'_>, path: Option<&String>, diff: &Diff) -> Line<'static> {
    let theme = sheet.theme();
    let mut spans: Vec<Span<'static>> = Vec::new();
    spans.extend(path.map(|path| Span::styled(format!("{} ", text::visible(path)), theme.dim)));
    spans.push(Span::styled(format!("+{}", diff.added()), theme.added));
    spans.push(Span::styled(format!(" -{}", diff.removed()), theme.removed));
    text::clip(Line::from(spans), body_width(sheet))
}

/// Appends the diff of a file. Returns true if the card can be expanded.
fn change(sheet: &EntryContext<'_>, diff: &Diff, body: &mut Vec<Line<'static>>) -> bool {
    let columns = sheet.columns().saturating_sub(2);
    let lines = |most| diff.lines(columns, most, sheet.theme());
    let folds = lines(COLLAPSED_DIFF_LINES + 1).len() > COLLAPSED_DIFF_LINES;
    if sheet.setting.expanded {
        body.extend(lines(usize::MAX));
        return folds;
    }
    body.extend(lines(COLLAPSED_DIFF_LINES));
    if let Some(more) = body.last_mut().filter(|_| folds) {
        more.spans.push(Span::styled(" (ctrl+o)", sheet.theme().dim));
        *more = text::clip(std::mem::take(more), body_width(sheet));
    }
    folds
}

/// Draws a question with its answer.
pub(super) fn question(
    sheet: &EntryContext<'_>,
    question: &Question,
    closing: Option<&QuestionCloseReason>,
) -> EntryBody {
    let theme = sheet.theme();
    let name = sheet.reader.name(&sheet.item.from);
    let head = format!("{} asks: ", text::clip_text(&name, (sheet.width() / 3).max(8)));
    let beside = sheet.width().saturating_sub(INDENT.len() + text::width(&head));
    let mut title = beneath(&question.title, beside, sheet.inner());
    let mut lines = vec![Line::from(vec![
        Span::styled("? ", theme.warning),
        Span::styled(head, theme.agent),
        Span::styled(title.remove(0), theme.text),
    ])];
    lines.extend(title.into_iter().map(|row| Line::from(vec![Span::raw(INDENT), Span::styled(row, theme.text)])));

    let mut body = Vec::new();
    if sheet.setting.expanded {
        question.details.iter().for_each(|part| detail(sheet, part, &mut body));
    }
    let (said, style) = answer(sheet, question, closing);
    let rows = text::wrap(&said, body_width(sheet), body_width(sheet));
    body.extend(rows.into_iter().map(|row| Line::from(Span::styled(row, style))));
    lines.extend(hanging_lines(body));
    EntryBody { lines, folds: !question.details.is_empty() }
}

fn detail(sheet: &EntryContext<'_>, detail: &QuestionDetail, body: &mut Vec<Line<'static>>) {
    let theme = sheet.theme();
    let (said, style) = match detail {
        QuestionDetail::Text(text) => (text.clone(), theme.dim),
        QuestionDetail::Command(command) => (format!("$ {command}"), theme.code),
        QuestionDetail::Path(path) => (path.clone(), theme.code),
        QuestionDetail::Input { tool, input } => (format!("{tool} {input}"), theme.code),
        QuestionDetail::Diff { path, old, new } => {
            body.push(Line::from(Span::styled(text::clip_text(path, body_width(sheet)), theme.dim)));
            change(sheet, &Diff::between(old.as_deref().unwrap_or_default(), new), body);
            return;
        }
    };
    let rows = said.trim_end().split('\n').flat_map(|line| text::wrap(line, body_width(sheet), body_width(sheet)));
    body.extend(rows.map(|row| Line::from(Span::styled(row, style))));
}

/// Returns the text and style for the outcome of a question: the answer, or the reason why there is none.
fn answer(sheet: &EntryContext<'_>, question: &Question, closing: Option<&QuestionCloseReason>) -> (String, Style) {
    let theme = sheet.theme();
    match closing {
        None if sheet.item.progress == ItemProgress::Growing => ("waiting for an answer".to_owned(), theme.warning),
        None | Some(QuestionCloseReason::Cancelled) => ("(interrupted)".to_owned(), theme.warning),
        Some(QuestionCloseReason::Withdrawn) => ("withdrawn".to_owned(), theme.dim),
        Some(QuestionCloseReason::Answered { by, answer: Answer { option, text } }) => {
            let chosen = option.as_deref().map(|id| (id, question.option(id)));
            let label = chosen.map(|(id, choice)| choice.map_or(id, |choice| choice.label.as_str()));
            let unseen = (question.kind == QuestionKind::Secret && option.is_none()).then_some("(not shown)");
            let words = label.into_iter().chain(text.as_deref()).chain(unseen);
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            let said = format!("{}: {}", sheet.reader.name(by), words.join(" · ").replace('\n', " "));
            let meaning = chosen.and_then(|(_, choice)| choice).map(|choice| choice.meaning);
            let style = match meaning {
                Some(meaning) if meaning.rejects() => theme.danger,
                Some(meaning) if meaning.allows() => theme.success,
                _ => theme.accent,
            };
            (said, style)
        }
    }
}
