//! Dialogs of Claude Code: permissions, questions, plans and trust.

use std::ops::Range;

use wh_core::space::question::OptionMeaning;

use super::super::super::reading::{BlockedPage, DialogKind, DialogOption, DialogReading, ScreenPlace};
use super::super::super::rows::{NumberedRow, ScreenRows, hotkey, is_blank, is_faint, numbered};
use super::MAX_HINT_ROWS;

/// Boxes before the labels of options that are marked and then submitted.
const BOXES: [&str; 4] = ["[ ]", "[✔]", "[✓]", "[x]"];

const MARK: char = '❯';

/// Reads a dialog or a page with options, which ends the screen. The cursor must be in the row of the selected option.
pub(super) fn read(rows: &ScreenRows<'_>) -> Option<ScreenPlace> {
    let first = (0..rows.len()).rev().find(|row| option(rows, *row).is_some_and(|option| option.number == 1))?;
    let list = OptionList::read(rows, first)?;
    let hints = (list.end..rows.len()).filter(|row| !rows.line(*row).is_empty()).count();
    if hints > MAX_HINT_ROWS || list.selected_row != rows.cursor().1 {
        return None;
    }
    let rule = (0..first).rev().find(|row| rows.is_rule(*row, '─'));
    let mut heading = DialogHeading::read(rows, rule.map_or(0, |rule| rule + 1)..first, rule.is_some());
    let answers = list.options.iter().any(|option| option.label == "Chat about this");
    let kind = if answers { Some(DialogKind::Choice) } else { heading.kind() };
    let Some(kind) = kind else { return Some(BlockedPage::titled(&heading.title)) };
    if let Some((plan, rule)) =
        rule.filter(|_| kind == DialogKind::Plan).and_then(|rule| Some((plan(rows, rule)?, rule)))
    {
        let ready = (0..rule).rev().map(|row| rows.line(row).trim()).find(|line| *line == "Ready to code?");
        heading = DialogHeading { title: ready.unwrap_or_default().to_owned(), details: plan, ..heading };
    }
    let multiple = list.options.iter().any(|option| is_box(&option.label));
    let options: Vec<DialogOption> = list.options.into_iter().map(|option| classified(option, kind)).collect();
    Some(ScreenPlace::Dialog(DialogReading {
        kind,
        title: heading.title,
        question: heading.question,
        details: heading.details,
        options,
        focus_on_text: list.focus_on_text,
        multiple,
    }))
}

/// Returns the rows of a plan, which stands between two dashed rules above the rule of the dialog. `None` if its
/// beginning is not on the screen.
fn plan(rows: &ScreenRows<'_>, rule: usize) -> Option<Vec<String>> {
    let end = (0..rule).rev().find(|row| rows.is_rule(*row, '╌'))?;
    let start = (0..end).rev().find(|row| rows.is_rule(*row, '╌'))?;
    let shown = (start + 1..end).map(|row| rows.line(row)).filter(|line| !line.trim().is_empty());
    Some(shown.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()).collect())
}

/// Parses a row as an option. Options are indented by a few columns at most.
fn option(rows: &ScreenRows<'_>, row: usize) -> Option<NumberedRow> {
    numbered(rows.line(row), MARK).filter(|option| option.column <= 8)
}

/// Consecutive options, from number 1.
struct OptionList {
    options: Vec<DialogOption>,
    selected_row: usize,
    focus_on_text: bool,
    /// Row behind the last option.
    end: usize,
}

impl OptionList {
    fn read(rows: &ScreenRows<'_>, first: usize) -> Option<Self> {
        let mut options: Vec<(DialogOption, usize)> = Vec::new();
        let (mut selected, mut end, mut open) = (None, first, false);
        for row in first..rows.len() {
            let next = option(rows, row).filter(|option| usize::from(option.number) == options.len() + 1);
            if let Some(found) = next {
                if found.selected && selected.replace((row, found.column)).is_some() {
                    return None;
                }
                options.push((plain_option(&found), found.column));
                (end, open) = (row + 1, true);
            } else if rows.line(row).is_empty() || rows.is_rule(row, '─') {
                open = false;
            } else if let Some((option, column)) = options.last_mut().filter(|_| open && rows.is_indented(row, 2)) {
                let first = rows.cells(row).iter().find(|cell| !is_blank(cell.character));
                let faint = first.is_some_and(|cell| is_faint(&cell.style));
                // The rest of a label stands below the label; descriptions are grey.
                if !faint && !rows.is_indented(row, *column) {
                    open = false;
                    continue;
                }
                let joined = if faint { &mut option.description } else { &mut option.label };
                if !joined.is_empty() {
                    joined.push(' ');
                }
                joined.push_str(rows.line(row).trim());
                end = row + 1;
            } else {
                open = false;
            }
        }
        let (selected_row, column) = selected?;
        let focus_on_text = rows.cells(selected_row).iter().skip(column).any(|cell| cell.style.inverse);
        let options: Vec<DialogOption> = options.into_iter().map(|(option, _)| option).collect();
        (options.len() > 1).then_some(Self { options, selected_row, focus_on_text, end })
    }
}

fn plain_option(found: &NumberedRow) -> DialogOption {
    DialogOption {
        number: Some(found.number),
        label: found.text.clone(),
        description: String::new(),
        hotkey: None,
        selected: found.selected,
        meaning: OptionMeaning::Other,
    }
}

fn is_box(label: &str) -> bool {
    BOXES.iter().any(|mark| label.starts_with(mark))
}

/// Splits the key from the label, and classifies the option by its words.
fn classified(option: DialogOption, kind: DialogKind) -> DialogOption {
    let unboxed = BOXES.iter().find_map(|mark| option.label.strip_prefix(mark)).unwrap_or(&option.label);
    let (label, hotkey) = hotkey(unboxed.trim_start());
    let words = label.to_lowercase();
    let meaning = match kind {
        DialogKind::Choice | DialogKind::Other => OptionMeaning::Other,
        DialogKind::Permission | DialogKind::Plan | DialogKind::Trust => meaning(&words),
    };
    // Shift+Tab is not a key of the option alone.
    let hotkey = hotkey.filter(|key| key != "shift+tab");
    DialogOption { label, hotkey, meaning, ..option }
}

/// Classifies lower-case words. A typed addition to an answer is not known.
fn meaning(words: &str) -> OptionMeaning {
    let always =
        ["don't ask again", "always allow", "allow all", "during this session", "auto mode", "auto-accept", "bypass"];
    match words.split([',', ' ', '.']).next() {
        Some("yes") if always.iter().any(|always| words.contains(always)) => OptionMeaning::AllowAlways,
        Some("yes") if ["yes", "yes, manually approve edits", "yes, proceed"].contains(&words) => {
            OptionMeaning::AllowOnce
        }
        Some("yes") if words.starts_with("yes, i trust") => OptionMeaning::AllowOnce,
        Some("no") => OptionMeaning::RejectOnce,
        _ if words.starts_with("tell claude what to change") => OptionMeaning::RejectOnce,
        _ => OptionMeaning::Other,
    }
}

/// ScreenRows of a dialog above its options.
struct DialogHeading {
    title: String,
    question: String,
    details: Vec<String>,
}

impl DialogHeading {
    /// Reads the rows above the options. The title is known only if the rule above it is on the screen.
    fn read(rows: &ScreenRows<'_>, range: Range<usize>, titled: bool) -> Self {
        let is_break = |row: usize| rows.line(row).is_empty() || rows.is_rule(row, '╌') || rows.is_rule(row, '─');
        let shown: Vec<usize> = range.filter(|row| !is_break(*row)).collect();
        // Paragraphs: rows without a break between them.
        let mut paragraphs: Vec<Vec<usize>> = Vec::new();
        for row in shown {
            match paragraphs.last_mut().filter(|last| last.last() == row.checked_sub(1).as_ref()) {
                Some(last) => last.push(row),
                None => paragraphs.push(vec![row]),
            }
        }
        let joined = |rows_of: &[usize]| -> String {
            rows_of.iter().map(|row| rows.line(*row).trim()).collect::<Vec<_>>().join(" ")
        };
        let asking = paragraphs.iter().rposition(|paragraph| joined(paragraph).contains('?'));
        let question =
            asking.or(paragraphs.len().checked_sub(1).filter(|last| *last > 0)).map(|at| paragraphs.remove(at));
        let question = question.map_or(String::new(), |question| joined(&question));
        let mut above = paragraphs.into_iter().flatten().map(|row| rows.line(row));
        let title = if titled { above.next().unwrap_or_default().trim().to_owned() } else { String::new() };
        let details = above.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()).collect();
        Self { title, question, details }
    }

    /// Returns the kind of the dialog; `None` for a page that asks nothing.
    fn kind(&self) -> Option<DialogKind> {
        let title = self.title.to_lowercase();
        let question = self.question.to_lowercase();
        let setup = title.contains("api key") || title.contains("mcp server");
        if self.title.starts_with(['☐', '☒', '✔', '←']) {
            Some(DialogKind::Choice)
        } else if title.contains("trust") || question.contains("trust") || title.starts_with("accessing workspace") {
            Some(DialogKind::Trust)
        } else if title.contains("plan mode")
            || question.contains("written up a plan")
            || title.contains("ready to code")
        {
            Some(DialogKind::Plan)
        } else if question.starts_with("do you want") || question.starts_with("would you like") {
            Some(if setup { DialogKind::Other } else { DialogKind::Permission })
        } else {
            question.ends_with('?').then_some(DialogKind::Other)
        }
    }
}
