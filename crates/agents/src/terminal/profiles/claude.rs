//! Claude Code. Its composer stands between two full-width rules. A dialog or page replaces the composer and stands
//! below one rule. The text of the model and of tools is always indented, so that a rule at the first column is drawn
//! by the UI. The terminal's cursor is hidden, and stays where the focus is.

mod dialog;

use std::ops::Range;
use std::time::Duration;

use wh_core::input::KeyPress;
use wh_screen::frame::{ScreenFrame, Style};

use super::super::profile::{AgentProfile, PromptForm, TitleReading, ctrl};
use super::super::reading::{BlockedPage, ComposerMode, ComposerReading, ScreenPlace, ScreenReading};
use super::super::rows::{ScreenRows, is_blank};

/// ScreenRows of hints that may stand below the options of a dialog.
const MAX_HINT_ROWS: usize = 4;

/// No delay was measured after a bracketed paste of up to 20,000 characters.
const ENTER_DELAY: Duration = Duration::from_millis(60);
/// Claude Code waits 50 ms for the rest of an escape sequence.
const ESCAPE_QUIET_TIME: Duration = Duration::from_millis(120);
const CLEAR_ROUND: [KeyPress; 1] = [ctrl('u')];

/// Terminal UI of Claude Code 2.1.
pub static CLAUDE: AgentProfile = AgentProfile {
    id: "claude",
    read_screen,
    read_title,
    enter_delay: ENTER_DELAY,
    escape_quiet: ESCAPE_QUIET_TIME,
    clear_round: &CLEAR_ROUND,
    prompt_form,
};

/// Words that end Claude Code, with blanks around them, too.
const EXIT_WORDS: [&str; 6] = ["exit", "quit", ":q", ":q!", ":wq", ":wq!"];

fn prompt_form(text: &str) -> PromptForm {
    if EXIT_WORDS.contains(&text.trim()) {
        return PromptForm::Refused("Claude Code ends at this word");
    }
    let before = if text.starts_with(['/', '!']) { " " } else { "" };
    // A backslash before Enter makes a line break.
    let after = if text.ends_with('\\') { " " } else { "" };
    match (before, after) {
        ("", "") => PromptForm::Literal,
        (before, after) => PromptForm::Padded { before, after, trimmed: false },
    }
}

fn read_title(title: &str) -> TitleReading {
    match title.chars().next() {
        Some('✳') => TitleReading::Idle,
        // The spinner of the title is a Braille character.
        Some('\u{2801}'..='\u{28ff}') => TitleReading::Working,
        _ => TitleReading::Unknown,
    }
}

fn read_screen(frame: &ScreenFrame) -> ScreenReading {
    let rows = ScreenRows::new(frame);
    if let Some(text) = composer_rows(&rows) {
        return read_composer(&rows, text);
    }
    let place = dialog::read(&rows).or_else(|| page(&rows)).unwrap_or(ScreenPlace::Unrecognised);
    ScreenReading { place, shows_work: None }
}

/// Returns the rows of the composer's text: between the last two rules, with a prompt sign and a no-break space.
fn composer_rows(rows: &ScreenRows<'_>) -> Option<Range<usize>> {
    let lower = (0..rows.len()).rev().find(|row| rows.is_rule(*row, '─'))?;
    let upper = (0..lower).rev().find(|row| rows.is_rule(*row, '─'))?;
    let text = upper + 1..lower;
    let first = rows.cells(text.start);
    let sign = first.first().is_some_and(|cell| !is_blank(cell.character));
    let separated = first.get(1).is_some_and(|cell| cell.character == '\u{a0}');
    let indented = (text.start + 1..text.end).all(|row| rows.is_indented(row, 2));
    (!text.is_empty() && sign && separated && indented).then_some(text)
}

fn read_composer(rows: &ScreenRows<'_>, text: Range<usize>) -> ScreenReading {
    let below = text.end + 1..rows.len();
    let shows_work = shows_work(rows, text.start - 1, below.clone()).then_some(true);
    if below.clone().any(|row| rows.line(row).trim_start().starts_with("search prompts:")) {
        return ScreenReading { place: BlockedPage::place("the search in the prompt history"), shows_work };
    }
    // The cursor is an inverse cell, except while the terminal has no focus. The user's status line may be inverse.
    let drawn = text.clone().any(|row| rows.inverse(row).is_some());
    let parked = text.contains(&rows.cursor().1) && !below.clone().any(|row| rows.inverse(row).is_some());
    if !drawn && !parked {
        return ScreenReading { place: ScreenPlace::Unrecognised, shows_work };
    }
    let sign = rows.line(text.start).chars().next().unwrap_or(' ');
    let mode = match sign {
        '❯' | '>' => ComposerMode::Prompt,
        '!' => ComposerMode::Shell,
        other => ComposerMode::Other(other.to_string()),
    };
    let mut composer = ComposerReading::new(mode, rows.draft(text, 2, is_placeholder));
    // Hints and the user's status line are indented; completions are not.
    composer.completion_open = below.clone().any(|row| !rows.line(row).is_empty() && !rows.is_indented(row, 1));
    ScreenReading { place: ScreenPlace::Composer(composer), shows_work }
}

fn is_placeholder(style: &Style) -> bool {
    style.dim
}

/// True if a spinner stands above the composer or the hints below it offer an interrupt.
fn shows_work(rows: &ScreenRows<'_>, upper: usize, mut below: Range<usize>) -> bool {
    if below.any(|row| rows.line(row).trim_start().starts_with("esc to interrupt")) {
        return true;
    }
    let mut above = (0..upper).rev().map(|row| rows.line(row)).take_while(|line| !line.starts_with(['●', '❯']));
    above.any(|line| {
        let mut characters = line.chars();
        let spins = characters.next().is_some_and(|character| "·✢✳✶✻✽*".contains(character));
        spins && characters.next() == Some(' ') && line.contains('…')
    })
}

/// Reads a page that accepts no prompt: below a rule, with hints at its end.
fn page(rows: &ScreenRows<'_>) -> Option<ScreenPlace> {
    let last = rows.len().checked_sub(1)?;
    if (last.saturating_sub(2)..=last).any(|row| rows.line(row).contains("Showing detailed transcript")) {
        return Some(BlockedPage::place("the transcript view"));
    }
    let mut hints = last.saturating_sub(2)..=last;
    let known = ["Esc to ", "esc to ", "Enter to ", "to cancel", "cancel"];
    if !hints.any(|row| known.iter().any(|hint| rows.line(row).contains(hint))) {
        return None;
    }
    let top = (0..last).rev().find(|row| rows.is_rule(*row, '─'))?;
    let title = (top + 1..last).map(|row| rows.line(row)).find(|line| !line.is_empty())?;
    Some(BlockedPage::titled(title))
}
