//! What an agent does and asks: a tool call with what came of it, a question with its answer.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use wh_core::space::item::{Output, Progress, ToolCall, ToolStatus};
use wh_core::space::question::{Answer, Closing, Detail, Question, QuestionKind};

use super::bubble::beneath;
use super::entry::{Drawn, INDENT, Sheet};
use super::text;
use crate::call;
use crate::diff::Diff;

/// Lines of a text that are shown of a folded card.
const TEXT_SHOWN: usize = 3;

/// Lines of a change that are shown of a folded card.
const DIFF_SHOWN: usize = 12;

/// What stands in front of the first line that hangs on a header, and of the others.
const FIRST: &str = "└ ";

/// A tool call.
pub(super) fn tool(sheet: &Sheet<'_>, call: &ToolCall) -> Drawn {
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
    let input = call::given(&call.input).filter(|input| !title.contains(input.as_str()));
    if let Some(input) = &input {
        spans.push(Span::styled(format!("  {}", text::visible(input)), theme.dim));
    }
    let fate = match (sheet.item.progress, call.status) {
        (_, ToolStatus::Denied) => Some(" (denied)"),
        (Progress::Cut, _) => Some(" (interrupted)"),
        (_, ToolStatus::Cancelled) => Some(" (cancelled)"),
        _ => None,
    };
    let mut lines = vec![ended(spans, fate.map(|fate| Span::styled(fate, theme.warning)), sheet.width())];

    let mut body = Vec::new();
    let mut folds = false;
    for piece in &call.output {
        folds |= match piece {
            Output::Text(written) => output(sheet, written, call.status, &mut body),
            Output::Diff { path, old, new } => {
                let diff = Diff::between(old.as_deref().unwrap_or_default(), new);
                let named = title.contains(path.as_str()) || input.as_ref().is_some_and(|input| input.contains(path));
                body.push(file(sheet, (!named).then_some(path), &diff));
                change(sheet, &diff, &mut body)
            }
        };
    }
    lines.extend(hang(body));
    Drawn { lines, folds }
}

/// A header whose last word is never clipped away.
fn ended(spans: Vec<Span<'static>>, last: Option<Span<'static>>, width: usize) -> Line<'static> {
    let room = width.saturating_sub(last.as_ref().map_or(0, Span::width));
    let mut line = text::clip(Line::from(spans), room);
    line.spans.extend(last);
    text::clip(line, width)
}

/// The columns of what hangs on a header.
fn hung(sheet: &Sheet<'_>) -> usize {
    sheet.inner().saturating_sub(2)
}

fn hang(body: Vec<Line<'static>>) -> impl Iterator<Item = Line<'static>> {
    body.into_iter().enumerate().map(|(index, mut line)| {
        line.spans.insert(0, Span::raw(if index == 0 { FIRST } else { INDENT }));
        line.spans.insert(0, Span::raw(INDENT));
        line
    })
}

/// What a tool wrote; whether there is more than a folded card shows. The end is shown of what still runs or has failed,
/// for that is where the news is.
fn output(sheet: &Sheet<'_>, written: &str, status: ToolStatus, body: &mut Vec<Line<'static>>) -> bool {
    let style = sheet.theme().dim;
    let written = written.trim_end();
    if written.is_empty() {
        return false;
    }
    let count = written.split('\n').count();
    let folds = count > TEXT_SHOWN;
    let row = |line: &str| Line::from(Span::styled(text::clip_text(&shown(line), hung(sheet)), style));
    let more = |count: usize| Line::from(Span::styled(format!("… {} (ctrl+o)", lines_more(count)), style));
    if sheet.setting.expanded {
        let rows = written.split('\n').flat_map(|line| text::wrap(&shown(line), hung(sheet), hung(sheet)));
        body.extend(rows.map(|row| Line::from(Span::styled(row, style))));
    } else if folds && matches!(status, ToolStatus::Running | ToolStatus::Failed) {
        body.push(more(count - TEXT_SHOWN));
        body.extend(written.split('\n').skip(count - TEXT_SHOWN).map(row));
    } else {
        body.extend(written.split('\n').take(TEXT_SHOWN).map(row));
        body.extend(folds.then(|| more(count - TEXT_SHOWN)));
    }
    folds || written.split('\n').any(|line| text::width(line) > hung(sheet))
}

/// A line that a program wrote. What it wrote over with a carriage return is not there any more.
fn shown(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    text::without_colours(line.rsplit('\r').next().unwrap_or(line)).into_owned()
}

fn lines_more(count: usize) -> String {
    if count == 1 { "1 more line".to_owned() } else { format!("{count} more lines") }
}

/// Which file a change is to, if that has not been said, and how large the change is.
fn file(sheet: &Sheet<'_>, path: Option<&String>, diff: &Diff) -> Line<'static> {
    let theme = sheet.theme();
    let mut spans: Vec<Span<'static>> = Vec::new();
    spans.extend(path.map(|path| Span::styled(format!("{} ", text::visible(path)), theme.dim)));
    spans.push(Span::styled(format!("+{}", diff.added()), theme.added));
    spans.push(Span::styled(format!(" -{}", diff.removed()), theme.removed));
    text::clip(Line::from(spans), hung(sheet))
}

/// A change to a file; whether there is more of it than a folded card shows.
fn change(sheet: &Sheet<'_>, diff: &Diff, body: &mut Vec<Line<'static>>) -> bool {
    let columns = sheet.columns().saturating_sub(2);
    let lines = |most| diff.lines(columns, most, sheet.theme());
    let folds = lines(DIFF_SHOWN + 1).len() > DIFF_SHOWN;
    if sheet.setting.expanded {
        body.extend(lines(usize::MAX));
        return folds;
    }
    body.extend(lines(DIFF_SHOWN));
    if let Some(more) = body.last_mut().filter(|_| folds) {
        more.spans.push(Span::styled(" (ctrl+o)", sheet.theme().dim));
        *more = text::clip(std::mem::take(more), hung(sheet));
    }
    folds
}

/// A question, and how it was closed.
pub(super) fn question(sheet: &Sheet<'_>, question: &Question, closing: Option<&Closing>) -> Drawn {
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
    let (said, style) = fate(sheet, question, closing);
    let rows = text::wrap(&said, hung(sheet), hung(sheet));
    body.extend(rows.into_iter().map(|row| Line::from(Span::styled(row, style))));
    lines.extend(hang(body));
    Drawn { lines, folds: !question.details.is_empty() }
}

fn detail(sheet: &Sheet<'_>, detail: &Detail, body: &mut Vec<Line<'static>>) {
    let theme = sheet.theme();
    let (said, style) = match detail {
        Detail::Text(text) => (text.clone(), theme.dim),
        Detail::Command(command) => (format!("$ {command}"), theme.code),
        Detail::Path(path) => (path.clone(), theme.code),
        Detail::Input { tool, input } => (format!("{tool} {input}"), theme.code),
        Detail::Diff { path, old, new } => {
            body.push(Line::from(Span::styled(text::clip_text(path, hung(sheet)), theme.dim)));
            change(sheet, &Diff::between(old.as_deref().unwrap_or_default(), new), body);
            return;
        }
    };
    let rows = said.trim_end().split('\n').flat_map(|line| text::wrap(line, hung(sheet), hung(sheet)));
    body.extend(rows.map(|row| Line::from(Span::styled(row, style))));
}

fn fate(sheet: &Sheet<'_>, question: &Question, closing: Option<&Closing>) -> (String, Style) {
    let theme = sheet.theme();
    match closing {
        None if sheet.item.progress == Progress::Growing => ("waits for an answer".to_owned(), theme.warning),
        None | Some(Closing::Cancelled) => ("(interrupted)".to_owned(), theme.warning),
        Some(Closing::Withdrawn) => ("no longer wanted".to_owned(), theme.dim),
        Some(Closing::Answered { by, answer: Answer { option, text } }) => {
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
