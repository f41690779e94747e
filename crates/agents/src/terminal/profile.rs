//! Profile of an agent's terminal UI: the reading of its screen and title, its keys and its time limits.

use std::time::Duration;

use wh_core::input::{KeyCode, KeyPress, Modifiers};
use wh_screen::frame::ScreenFrame;

use super::reading::{ComposerReading, DialogReading, ScreenReading};

/// State of an agent as its window title tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleReading {
    /// A turn runs.
    Working,
    /// No turn runs. Claude's title says so while a dialog is open, too.
    Idle,
    /// A dialog waits for an answer.
    NeedsAnswer,
    /// The title does not tell.
    Unknown,
}

/// Form in which a text reaches the model as a prompt. A composer treats some texts specially: commands, shell
/// commands, words that end the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptForm {
    /// The text is pasted as it is.
    Literal,
    /// The text is pasted with padding. `trimmed` is true if the agent removes it, and false if the model receives it.
    Padded { before: &'static str, after: &'static str, trimmed: bool },
    /// The text cannot be sent as a prompt, for this reason.
    Refused(&'static str),
}

/// Terminal UI of one agent. There is one static per agent in [`super::profiles`].
#[derive(Debug, Clone, Copy)]
pub struct AgentProfile {
    /// Id of the agent, as in the table of agents.
    pub id: &'static str,
    pub(super) read_screen: fn(&ScreenFrame) -> ScreenReading,
    pub(super) read_title: fn(&str) -> TitleReading,
    /// Time after a paste in which the agent treats Enter as pasted text.
    pub enter_delay: Duration,
    /// Time after Escape in which the agent reads a letter as Alt and the letter.
    pub escape_quiet: Duration,
    /// Keys that remove a part of the composer's text before the cursor. They are harmless in an empty composer.
    pub clear_round: &'static [KeyPress],
    pub(super) prompt_form: fn(&str) -> PromptForm,
}

impl AgentProfile {
    /// Reads a screen. The frame must be complete: no synchronized update is open.
    pub fn read_screen(&self, frame: &ScreenFrame) -> ScreenReading {
        (self.read_screen)(frame)
    }

    /// Reads the window title.
    pub fn read_title(&self, title: &str) -> TitleReading {
        (self.read_title)(title)
    }

    /// Returns keys that empty a composer whose cursor is behind its text. To be repeated until the composer is empty,
    /// because it may scroll. Only for a composer that holds inserted text: the keys would delete a person's draft.
    pub fn clear_keys(&self, composer: &ComposerReading) -> Vec<KeyPress> {
        let rows = composer.text.len().max(1);
        // A row takes one round for its text and one for the line break before it.
        self.clear_round.iter().copied().cycle().take(self.clear_round.len() * rows * 2).collect()
    }

    /// Returns the keys that choose an option of a dialog at once; `None` if there are none. The dialog must still be
    /// on the screen.
    pub fn option_keys(&self, dialog: &DialogReading, index: usize) -> Option<Vec<KeyPress>> {
        if dialog.focus_on_text || dialog.multiple {
            return None;
        }
        let option = dialog.options.get(index)?;
        let key = match option.hotkey.as_deref() {
            Some("esc") => KeyCode::Escape,
            _ => {
                // Two options with one number: the screen was not read right.
                let same = dialog.options.iter().filter(|other| other.number == option.number).count();
                let digit = option.number.filter(|number| (1..=9).contains(number) && same == 1)?;
                KeyCode::Char(char::from(b'0' + digit))
            }
        };
        Some(vec![plain(key)])
    }

    /// Returns the form in which a text is pasted so that it reaches the model as a prompt.
    pub fn prompt_form(&self, text: &str) -> PromptForm {
        (self.prompt_form)(text)
    }
}

/// Key without modifiers.
pub(super) const fn plain(key: KeyCode) -> KeyPress {
    KeyPress { key, modifiers: Modifiers { ctrl: false, alt: false, shift: false } }
}

/// Letter with ctrl.
pub(super) const fn ctrl(letter: char) -> KeyPress {
    KeyPress { key: KeyCode::Char(letter), modifiers: Modifiers { ctrl: true, alt: false, shift: false } }
}
