//! Codex. Its composer begins with a bold `›` at the first column, and the terminal's cursor is shown in it. Lists and
//! pages hide the cursor. Hints stand below the composer, at the end of the screen.

mod dialog;

use std::ops::Range;
use std::time::Duration;

use wh_core::input::KeyPress;
use wh_screen::frame::{ScreenFrame, Style};

use super::super::profile::{AgentProfile, PromptForm, TitleReading, ctrl};
use super::super::reading::{BlockedPage, ComposerMode, ComposerReading, ScreenPlace, ScreenReading};
use super::super::rows::ScreenRows;

/// ScreenRows that may stand below the composer: the status line and hints.
const MAX_HINT_ROWS: usize = 4;

/// No delay was measured after a bracketed paste of up to 20,000 characters.
const ENTER_DELAY: Duration = Duration::from_millis(60);
/// With the kitty keyboard protocol Escape is never the beginning of another key. Without it, 10 ms were enough.
const ESCAPE_QUIET_TIME: Duration = Duration::from_millis(60);
const CLEAR_ROUND: [KeyPress; 1] = [ctrl('u')];

/// Terminal UI of Codex 0.166.
pub static CODEX: AgentProfile = AgentProfile {
    id: "codex",
    read_screen,
    read_title,
    enter_delay: ENTER_DELAY,
    escape_quiet: ESCAPE_QUIET_TIME,
    clear_round: &CLEAR_ROUND,
    prompt_form,
};

/// Characters of the longest paste that the composer shows as text. A longer one is a placeholder until it is sent.
const MAX_SHOWN_PASTE_CHARS: usize = 1000;

fn prompt_form(text: &str) -> PromptForm {
    let start = text.trim_start();
    let shown = text.chars().count() <= MAX_SHOWN_PASTE_CHARS;
    if start.starts_with('!') && shown {
        return PromptForm::Refused("Codex runs a text that begins with ! as a shell command");
    }
    if !start.starts_with('/') {
        return PromptForm::Literal;
    }
    match text.strip_suffix(start) {
        // A blank before the slash makes it a prompt, and Codex removes the blank.
        Some("") if shown => PromptForm::Padded { before: " ", after: "", trimmed: true },
        Some(lead) if shown && lead.starts_with(' ') => PromptForm::Literal,
        _ => PromptForm::Refused("Codex runs a text that begins with / as a command"),
    }
}

fn read_title(title: &str) -> TitleReading {
    match title.chars().next() {
        None => TitleReading::Unknown,
        Some('\u{2801}'..='\u{28ff}') => TitleReading::Working,
        Some('[') if title.contains("Action Required") => TitleReading::NeedsAnswer,
        Some(_) => TitleReading::Idle,
    }
}

fn read_screen(frame: &ScreenFrame) -> ScreenReading {
    let rows = ScreenRows::new(frame);
    // A dialog with a text field shows the cursor, too; its keys in the last row tell it from the composer.
    let place = dialog::read(&rows)
        .or_else(|| read_composer(&rows))
        .or_else(|| page(&rows))
        .unwrap_or(ScreenPlace::Unrecognised);
    ScreenReading { place, shows_work: shows_work(&rows).then_some(true) }
}

/// True if the row begins with the sign of the composer: bold, and followed by a blank. The sign of an older prompt is
/// dim, too.
fn has_sign(rows: &ScreenRows<'_>, row: usize) -> bool {
    let cells = rows.cells(row);
    let sign = cells.first().is_some_and(|cell| {
        matches!(cell.character, '›' | '!') && cell.style.bold && !cell.style.dim && !cell.style.inverse
    });
    sign && cells.get(1).is_some_and(|cell| cell.character == ' ')
}

fn read_composer(rows: &ScreenRows<'_>) -> Option<ScreenPlace> {
    let hints = |start: usize| (start..rows.len()).map(|row| rows.line(row).trim_start());
    if hints(rows.len().saturating_sub(2)).any(|hint| hint.starts_with("Browsing transcript")) {
        return Some(BlockedPage::place("the prompts of the transcript"));
    }
    if hints(rows.len().saturating_sub(2)).any(|hint| hint.starts_with("reverse-i-search:")) {
        return Some(BlockedPage::place("the search in the prompt history"));
    }
    let (x, y) = rows.cursor();
    if !rows.cursor_visible() || x < 2 {
        return None;
    }
    let start = (0..=y).rev().find(|row| !rows.is_indented(*row, 2)).filter(|row| has_sign(rows, *row))?;
    let end = end(rows, y);
    let below = hints(end).filter(|hint| !hint.is_empty()).count();
    if below > MAX_HINT_ROWS || (end..rows.len()).any(|row| !rows.is_indented(row, 2)) {
        return None;
    }
    if hints(end).any(|hint| hint.contains("esc back") || hint.contains("enter submit")) {
        return page(rows);
    }
    if hints(end).any(|hint| hint.starts_with("? / esc close")) {
        return Some(BlockedPage::place("the keyboard shortcuts"));
    }
    // While Codex starts, the keys are kept and nothing is sent.
    let shortcuts = rows.line(rows.len().saturating_sub(1)).trim_start().starts_with("? for shortcuts");
    let starting = !rows.has_title() && below == 1 && shortcuts;
    if starting {
        return Some(BlockedPage::place("the start of Codex"));
    }
    let mode = if rows.line(start).starts_with('!') { ComposerMode::Shell } else { ComposerMode::Prompt };
    let scroll = scroll_marks(rows, start..end);
    let mut text = rows.draft(start..end, 2, is_placeholder);
    if scroll {
        for row in &mut text {
            if let Some(rest) = row.strip_suffix(['↑', '↓']) {
                *row = rest.trim_end().to_owned();
            }
        }
    }
    let mut composer = ComposerReading::new(mode, text);
    composer.may_scroll = scroll;
    composer.completion_open = completion_open(rows, start, end, &composer);
    Some(ScreenPlace::Composer(composer))
}

/// Returns the row behind the composer's text. A draft may contain empty lines; the blank row before the hints is the
/// last one.
fn end(rows: &ScreenRows<'_>, cursor: usize) -> usize {
    let last = rows.len().max(cursor + 1);
    let blank = (cursor + 1..last).rev().find(|row| rows.line(*row).is_empty());
    blank.map_or(last, |mut row| {
        while row > cursor + 1 && rows.line(row - 1).is_empty() {
            row -= 1;
        }
        row
    })
}

/// True if an arrow at the end of the first or last row shows that there are more lines.
fn scroll_marks(rows: &ScreenRows<'_>, text: Range<usize>) -> bool {
    let arrow = |row: usize| rows.cells(row).last().is_some_and(|cell| matches!(cell.character, '↑' | '↓'));
    arrow(text.start) || arrow(text.end.saturating_sub(1))
}

/// True if a list stands above the composer: of commands while its text is `/` and a word, or with its own hints.
fn completion_open(rows: &ScreenRows<'_>, start: usize, end: usize, composer: &ComposerReading) -> bool {
    let above = start.checked_sub(2).map_or("", |row| rows.line(row)).trim_start();
    if above.contains(" insert") && above.contains("esc close") {
        return true;
    }
    let text = composer.text.concat();
    let word = text.starts_with(['/', '@', '$']) && !text.contains(' ');
    // The hints in the last row disappear while commands are listed.
    let hints = (end..rows.len()).filter(|row| !rows.line(*row).is_empty()).count();
    word && hints <= 1 && !above.is_empty()
}

fn is_placeholder(style: &Style) -> bool {
    style.dim
}

/// True if the status row of a turn is shown.
fn shows_work(rows: &ScreenRows<'_>) -> bool {
    (0..rows.len()).any(|row| {
        let line = rows.line(row);
        line.starts_with(['•', '◦']) && (line.contains("esc to interrupt)") || line.contains("• esc to interrupt"))
    })
}

/// Reads a page that accepts no prompt, by the hints in its last row.
fn page(rows: &ScreenRows<'_>) -> Option<ScreenPlace> {
    let last = rows.len().checked_sub(1)?;
    let hints = rows.line(last).trim_start();
    if (0..last).any(|row| rows.line(row).contains("1. Sign in with ChatGPT")) {
        return Some(BlockedPage::place("the login"));
    }
    let closes = ["esc back", "esc cancel", "esc close", "esc exit", "q close", "esc to go back", "enter select"];
    let previous = rows.line(last.saturating_sub(1)).trim_start();
    if !closes.iter().any(|hint| hints.contains(hint) || previous.contains(hint)) {
        return None;
    }
    if rows.line(0).starts_with("/ ") {
        return Some(BlockedPage::titled(&rows.line(0).replace(['/', ' '], "")));
    }
    let resume = (0..2).map(|row| rows.line(row)).find(|line| line.contains("a previous session"));
    if let Some(title) = resume {
        return Some(BlockedPage::titled(title));
    }
    // The page begins behind the last two blank rows of the transcript; its title is bold.
    let bold = |row: &usize| rows.cells(*row).get(2).is_some_and(|cell| cell.style.bold && cell.character != ' ');
    let title = (0..last).rev().filter(|row| rows.is_indented(*row, 2)).find(bold);
    title.map(|row| BlockedPage::titled(rows.line(row))).or(Some(BlockedPage::place("a page of Codex")))
}
