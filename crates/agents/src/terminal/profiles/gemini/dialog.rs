//! Dialogs of Gemini CLI: permissions for tools, trust, and questions of its own.

use wh_core::space::question::OptionMeaning;

use super::super::super::reading::{DialogKind, DialogOption, DialogReading, ScreenPlace};
use super::super::super::rows::{ScreenRows, hotkey, numbered};

const MARK: char = '●';

/// Reads a dialog in a box with round corners that ends the screen.
pub(super) fn read(rows: &ScreenRows<'_>) -> Option<ScreenPlace> {
    let last = rows.len().checked_sub(1)?;
    if !rows.line(last).trim_start().starts_with('╰') {
        return None;
    }
    // The box of the trust dialog is indented; boxes inside of a dialog are, too.
    let indent = rows.line(last).chars().take_while(|character| *character == ' ').count();
    let outer = |row: &usize| rows.line(*row).chars().nth(indent) == Some('╭');
    let top = (0..last).rev().find(outer).map_or(0, |row| row + 1);
    let inside: Vec<String> = (top..last).map(|row| inner(rows.line(row))).collect::<Option<_>>()?;
    let first = inside.iter().rposition(|line| numbered(line, MARK).is_some_and(|option| option.number == 1))?;
    let (options, end) = options(&inside, first)?;
    // Below the options there are only hints, in parentheses.
    let mut hints = inside[end..].iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    if !hints.all(|line| line.starts_with('(') && line.ends_with(')')) {
        return None;
    }
    let (title, details, question) = heading(&inside[..first]);
    let kind = kind(&title, &question)?;
    let question = if kind == DialogKind::Trust && !question.ends_with('?') { title.clone() } else { question };
    let options = options.into_iter().map(|option| classified(option, kind)).collect();
    Some(ScreenPlace::Dialog(DialogReading {
        kind,
        title,
        question,
        details,
        options,
        focus_on_text: false,
        multiple: false,
    }))
}

/// Returns the text between the sides of a box.
fn inner(line: &str) -> Option<String> {
    let inside = line.trim_start().strip_prefix('│')?.strip_suffix('│')?;
    Some(inside.trim_end().to_owned())
}

/// Returns the options from number 1 on, and the row behind them.
fn options(inside: &[String], first: usize) -> Option<(Vec<DialogOption>, usize)> {
    let mut options: Vec<(DialogOption, usize)> = Vec::new();
    let mut end = first;
    for (row, line) in inside.iter().enumerate().skip(first) {
        let next = numbered(line, MARK).filter(|option| usize::from(option.number) == options.len() + 1);
        if let Some(found) = next {
            let option = DialogOption {
                number: Some(found.number),
                label: found.text,
                description: String::new(),
                hotkey: None,
                selected: found.selected,
                meaning: OptionMeaning::Other,
            };
            options.push((option, found.column));
        } else {
            let indent = line.chars().take_while(|character| *character == ' ').count();
            match options.last_mut() {
                Some((option, column)) if !line.is_empty() && indent >= *column => {
                    option.label.push(' ');
                    option.label.push_str(line.trim());
                }
                _ => break,
            }
        }
        end = row + 1;
    }
    let options: Vec<DialogOption> = options.into_iter().map(|(option, _)| option).collect();
    let one_selected = options.iter().filter(|option| option.selected).count() == 1;
    (options.len() > 1 && one_selected).then_some((options, end))
}

/// Returns title, details and question. Details stand in an inner box; the question is the last paragraph.
fn heading(above: &[String]) -> (String, Vec<String>, String) {
    let lines: Vec<&str> = above.iter().map(|line| line.trim()).collect();
    let is_edge = |line: &str| line.starts_with(['╭', '╰']);
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |row| row + 1);
    let is_break = |line: &str| line.is_empty() || is_edge(line) || line.starts_with('│');
    let start = lines[..end].iter().rposition(|line| is_break(line)).map_or(0, |row| row + 1);
    let question = lines[start..end].join(" ");
    let mut rest = lines[..start].iter().copied().filter(|line| !line.is_empty() && !is_edge(line));
    let title = rest.next().unwrap_or_default().trim_start_matches(['?', ' ']).to_owned();
    let details = rest.map(|line| line.trim_matches('│').strip_prefix(' ').unwrap_or(line).trim_end().to_owned());
    (title, details.collect(), question)
}

/// Returns the kind of a dialog; `None` for a page with options.
fn kind(title: &str, question: &str) -> Option<DialogKind> {
    let asks = ["Allow execution", "Apply this change", "Do you want to proceed", "Allow ", "Approve"];
    if question.contains("trust") || title.contains("trust") {
        Some(DialogKind::Trust)
    } else if title.contains("plan") && question.ends_with('?') {
        Some(DialogKind::Plan)
    } else if question.ends_with('?') && asks.iter().any(|ask| question.starts_with(ask)) {
        Some(DialogKind::Permission)
    } else {
        None
    }
}

fn classified(option: DialogOption, kind: DialogKind) -> DialogOption {
    let (label, hotkey) = hotkey(&option.label);
    let words = label.to_lowercase();
    let meaning = match kind {
        DialogKind::Permission | DialogKind::Plan | DialogKind::Trust => meaning(&words),
        DialogKind::Choice | DialogKind::Other => OptionMeaning::Other,
    };
    DialogOption { label, hotkey, meaning, ..option }
}

fn meaning(words: &str) -> OptionMeaning {
    let always = [
        "allow for this session",
        "allow for all future sessions",
        "always allow",
        "allow this command for all",
        "allow tool for",
    ];
    if words == "allow once" || words == "yes, allow once" || words == "yes" {
        OptionMeaning::AllowOnce
    } else if words.starts_with("no, ") || words == "no" || words.starts_with("don't trust") {
        OptionMeaning::RejectOnce
    } else if words.starts_with("trust folder")
        || words.starts_with("trust parent")
        || always.iter().any(|always| words.starts_with(always))
    {
        OptionMeaning::AllowAlways
    } else {
        OptionMeaning::Other
    }
}
