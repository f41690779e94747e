//! Dialogs of Codex: approvals of commands and edits, questions of the agent, and trust. A list of options with its
//! keys in the last row ends the screen, and the cursor is hidden.

use wh_core::space::question::OptionMeaning;

use super::super::super::reading::{DialogKind, DialogOption, DialogReading, ScreenPlace};
use super::super::super::rows::{ScreenRows, hotkey, is_faint, numbered};

const MARK: char = '›';

/// Reads a dialog. Lists that only choose a setting have other hints, and are pages.
pub(super) fn read(rows: &ScreenRows<'_>) -> Option<ScreenPlace> {
    let last = rows.len().checked_sub(1)?;
    // Hints may be wrapped.
    let hints = format!("{} {}", rows.line(last.saturating_sub(1)), rows.line(last)).to_lowercase();
    let keys = ["enter to confirm", "enter to submit", "enter to continue", "press enter to", "enter continue"];
    let text_keys = hints.contains("clear notes");
    if !(keys.iter().any(|key| hints.contains(key)) || text_keys) || !rows.is_indented(last, 2) {
        return None;
    }
    let first = (0..last).rev().find(|row| numbered(rows.line(*row), MARK).is_some_and(|option| option.number == 1))?;
    // The sign of a composer stands at the first column, as does the mark of an option.
    let inside = (first..=last).all(|row| rows.is_indented(row, 2) || numbered(rows.line(row), MARK).is_some());
    if !inside {
        return None;
    }
    let options = options(rows, first, last)?;
    let (kind, top) = heading(rows, first)?;
    let lines = |range: std::ops::Range<usize>| {
        range
            .map(|row| rows.line(row))
            .filter(|line| !line.is_empty())
            .map(|line| line.strip_prefix("  ").unwrap_or(line).to_owned())
    };
    let title = rows.line(top).trim().to_owned();
    let (question, details) = match kind {
        DialogKind::Choice => (lines(top + 1..first).collect::<Vec<_>>().join(" "), Vec::new()),
        _ => (title.clone(), lines(top + 1..first).collect()),
    };
    let options = options.into_iter().map(|option| classified(option, kind)).collect();
    // In the trust dialog the cursor is shown in front of an option.
    let in_list = (first..last).contains(&rows.cursor().1) && rows.cursor().0 < 2;
    let focus_on_text = (rows.cursor_visible() && !in_list) || text_keys;
    Some(ScreenPlace::Dialog(DialogReading { kind, title, question, details, options, focus_on_text, multiple: false }))
}

/// Finds the heading above the options, and the kind of the dialog.
fn heading(rows: &ScreenRows<'_>, first: usize) -> Option<(DialogKind, usize)> {
    // The transcript is not indented; the rows of a dialog are.
    let mut inside = (0..first).rev().take_while(|row| rows.is_indented(*row, 2));
    inside.find_map(|row| {
        let line = rows.line(row).trim();
        let kind = if line.starts_with("Would you like to")
            || line.starts_with("Allow ")
            || line.starts_with("Do you want to approve")
        {
            DialogKind::Permission
        } else if line.starts_with("Question ") && line.contains('/') {
            DialogKind::Choice
        } else if line.starts_with("Do you trust") || line.starts_with("Trust this folder?") {
            DialogKind::Trust
        } else if line.starts_with("Implement this plan") {
            DialogKind::Plan
        } else {
            return None;
        };
        Some((kind, row))
    })
}

/// Returns the options from number 1 on. Exactly one is selected.
fn options(rows: &ScreenRows<'_>, first: usize, last: usize) -> Option<Vec<DialogOption>> {
    let mut options: Vec<(DialogOption, usize)> = Vec::new();
    for row in first..last {
        let line = rows.line(row);
        let next = numbered(line, MARK).filter(|option| usize::from(option.number) == options.len() + 1);
        if let Some(found) = next {
            // A description stands in a column of its own.
            let (label, description) = found.text.split_once("  ").unwrap_or((&found.text, ""));
            let option = DialogOption {
                number: Some(found.number),
                label: label.trim_end().to_owned(),
                description: description.trim().to_owned(),
                hotkey: None,
                selected: found.selected,
                meaning: OptionMeaning::Other,
            };
            options.push((option, found.column));
        } else if line.is_empty() {
            break;
        } else {
            let (option, column) = options.last_mut().filter(|(_, column)| rows.is_indented(row, *column))?;
            let text = rows.text_from(row, *column);
            let start = rows.cells(row).iter().skip(*column).position(|cell| cell.character != ' ').unwrap_or(0);
            let style = rows.cells(row).get(*column + start).map(|cell| cell.style);
            let described =
                !option.description.is_empty() || (start > 2 && style.is_some_and(|style| is_faint(&style)));
            let joined = if described { &mut option.description } else { &mut option.label };
            joined.push(' ');
            joined.push_str(text.trim());
        }
    }
    let options: Vec<DialogOption> = options.into_iter().map(|(option, _)| option).collect();
    let one_selected = options.iter().filter(|option| option.selected).count() == 1;
    (options.len() > 1 && one_selected).then_some(options)
}

fn classified(option: DialogOption, kind: DialogKind) -> DialogOption {
    let (label, hotkey) = hotkey(&option.label);
    let words = label.to_lowercase();
    let meaning = match kind {
        DialogKind::Choice | DialogKind::Other => OptionMeaning::Other,
        DialogKind::Permission | DialogKind::Plan | DialogKind::Trust => meaning(&words),
    };
    DialogOption { label, hotkey, meaning, ..option }
}

fn meaning(words: &str) -> OptionMeaning {
    let always =
        ["don't ask again", "for this session", "for these files", "for this conversation", "always", "in the future"];
    match words.split([',', ' ']).next() {
        Some("yes") if always.iter().any(|always| words.contains(always)) => OptionMeaning::AllowAlways,
        Some("yes") if ["yes", "yes, proceed", "yes, just this once", "yes, continue"].contains(&words) => {
            OptionMeaning::AllowOnce
        }
        Some("no") if always.iter().any(|always| words.contains(always)) => OptionMeaning::RejectAlways,
        Some("no") => OptionMeaning::RejectOnce,
        Some("trust") => OptionMeaning::AllowAlways,
        _ => OptionMeaning::Other,
    }
}
