//! Gemini CLI. Its composer is the last box between rows of `▄` and `▀`; older prompts have such boxes, too, but no
//! rule above. A dialog or page is a box with round corners that ends the screen and replaces the composer. The
//! terminal's cursor is always hidden.

mod dialog;

use std::ops::Range;
use std::time::Duration;

use wh_core::input::{KeyCode, KeyPress};
use wh_screen::frame::{Color, ScreenFrame};

use super::super::profile::{AgentProfile, PromptForm, TitleReading, ctrl, plain};
use super::super::reading::{BlockedPage, ComposerMode, ComposerReading, ScreenPlace, ScreenReading};
use super::super::rows::{ScreenRows, is_faint};

/// ScreenRows between the rule and the composer's box: the mode and hints.
const MAX_MODE_ROWS: usize = 3;

/// ScreenRows of text that the composer shows at most.
const MAX_TEXT_ROWS: usize = 10;

/// Column at which the text of the composer starts.
const TEXT_COLUMN: usize = 3;

/// Placeholder texts of an empty composer.
const PLACEHOLDERS: [&str; 4] = [
    "Type your message or @path/to/file",
    "Type your shell command",
    "Press 'i' for INSERT mode.",
    "Press 'Esc' for NORMAL mode.",
];

/// Without the kitty keyboard protocol, Enter within 40 ms of a paste is a line break.
const ENTER_DELAY: Duration = Duration::from_millis(120);
/// Gemini CLI waits 50 ms for the rest of an escape sequence.
const ESCAPE_QUIET_TIME: Duration = Duration::from_millis(100);
const CLEAR_ROUND: [KeyPress; 2] = [ctrl('u'), plain(KeyCode::Backspace)];

/// Terminal UI of Gemini CLI 0.61.
pub static GEMINI: AgentProfile = AgentProfile {
    id: "gemini",
    read_screen,
    read_title,
    enter_delay: ENTER_DELAY,
    escape_quiet: ESCAPE_QUIET_TIME,
    clear_round: &CLEAR_ROUND,
    prompt_form,
};

fn prompt_form(text: &str) -> PromptForm {
    // An unknown command is sent as a prompt, but extensions add commands. A path is no command.
    let command = text.trim_start().strip_prefix('/').is_some_and(|rest| {
        let word = rest.split(char::is_whitespace).next().unwrap_or(rest);
        !word.contains('/')
    });
    if command {
        return PromptForm::Refused("Gemini CLI runs a text that begins with / as a command");
    }
    // A backslash before Enter makes a line break.
    if text.ends_with('\\') {
        return PromptForm::Padded { before: "", after: " ", trimmed: true };
    }
    PromptForm::Literal
}

fn read_title(title: &str) -> TitleReading {
    match title.chars().next() {
        Some('✦') => TitleReading::Working,
        Some('◇') => TitleReading::Idle,
        Some('✋') => TitleReading::NeedsAnswer,
        _ => TitleReading::Unknown,
    }
}

fn read_screen(frame: &ScreenFrame) -> ScreenReading {
    let rows = ScreenRows::new(frame);
    if let Some((rule, text)) = composer_rows(&rows) {
        let shows_work = (rule.saturating_sub(3)..rule).any(|row| is_spinner(rows.line(row))).then_some(true);
        return ScreenReading { place: read_composer(&rows, text), shows_work };
    }
    let place = dialog::read(&rows).or_else(|| page(&rows)).unwrap_or(ScreenPlace::Unrecognised);
    ScreenReading { place, shows_work: None }
}

/// Returns the rule above the composer and the rows of its text.
fn composer_rows(rows: &ScreenRows<'_>) -> Option<(usize, Range<usize>)> {
    let lower = (0..rows.len()).rev().find(|row| rows.is_rule(*row, '▀'))?;
    let upper = (0..lower).rev().find(|row| rows.is_rule(*row, '▄'))?;
    let rule = (upper.saturating_sub(MAX_MODE_ROWS)..upper).rev().find(|row| rows.is_rule(*row, '─'))?;
    let text = upper + 1..lower;
    let indented = (text.start + 1..text.end).all(|row| rows.is_indented(row, TEXT_COLUMN));
    // A box with round corners below is a dialog.
    let boxed = (lower + 1..rows.len()).any(|row| rows.line(row).trim_start().starts_with(['╭', '│', '╰']));
    (!text.is_empty() && indented && !boxed && rows.is_indented(text.start, 1)).then_some((rule, text))
}

fn is_spinner(line: &str) -> bool {
    line.contains("(esc to cancel")
}

fn read_composer(rows: &ScreenRows<'_>, text: Range<usize>) -> ScreenPlace {
    let first = rows.line(text.start);
    let mode = match first.trim_start().chars().next() {
        Some('>' | '*') if first.starts_with(" > ") || first.starts_with(" * ") || first.len() == 2 => {
            ComposerMode::Prompt
        }
        Some('!') => ComposerMode::Shell,
        Some('(') if first.starts_with(" (r:)") => return BlockedPage::place("the search in the prompt history"),
        Some(other) => ComposerMode::Other(other.to_string()),
        None => return ScreenPlace::Unrecognised,
    };
    let mut draft = rows.draft(text.clone(), TEXT_COLUMN, is_faint);
    if text.len() == 1 && PLACEHOLDERS.contains(&rows.text_from(text.start, TEXT_COLUMN).trim_start()) {
        draft = Vec::new();
    }
    let mut composer = ComposerReading::new(mode, draft);
    composer.may_scroll = text.len() >= MAX_TEXT_ROWS;
    composer.completion_open = completion_open(rows, text.end + 1, &composer);
    ScreenPlace::Composer(composer)
}

/// True if a list stands directly below the composer, before the labels of the footer. The first entry of the list has
/// a background.
fn completion_open(rows: &ScreenRows<'_>, below: usize, composer: &ComposerReading) -> bool {
    let cells = rows.cells(below);
    let listed = cells.iter().any(|cell| cell.character != ' ' && cell.style.background != Color::Default);
    let loading = rows.line(below).trim_start().starts_with("Loading");
    !composer.is_empty() && (listed || loading)
}

/// Reads a page that accepts no prompt: a box at the end of the screen, or a list with its own keys.
fn page(rows: &ScreenRows<'_>) -> Option<ScreenPlace> {
    let last = rows.len().checked_sub(1)?;
    if let Some(chats) = (0..=last).rev().find(|row| rows.line(*row).trim_start().starts_with("Chat Sessions")) {
        let keys = rows.line(chats + 1).contains("Navigate:");
        return keys.then(|| BlockedPage::place("the list of chat sessions"));
    }
    if !rows.line(last).starts_with('╰') {
        return None;
    }
    let top = (0..last).rev().find(|row| rows.line(*row).starts_with('╭'))?;
    let inner = |row: usize| rows.line(row).trim_matches(['│', ' ']).trim_start_matches(['>', '?', ' ']).to_owned();
    let title = (top + 1..last).map(inner).find(|line| !line.is_empty())?;
    let title = title.split("   ").next().unwrap_or(&title).to_owned();
    Some(BlockedPage::titled(&title))
}
