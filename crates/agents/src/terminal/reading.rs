//! Contents of an agent's screen, as its profile reads them. A reading is conservative: a screen that does not match
//! exactly is [`ScreenPlace::Unrecognised`], and never a composer.

mod composer;

use std::borrow::Cow;
use std::fmt;

use wh_core::space::question::OptionMeaning;

pub use composer::{ComposerMatch, ComposerMode, ComposerReading, PastedMark, PastedSize};

use super::rows::squeezed;

/// Contents of an agent's screen, as far as its profile recognises them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenReading {
    pub place: ScreenPlace,
    /// True if the screen shows that a turn runs, false if it shows that none runs, `None` if it does not tell.
    pub shows_work: Option<bool>,
}

impl ScreenReading {
    /// Reading of a screen that the profile does not recognise.
    pub const UNRECOGNISED: Self = Self { place: ScreenPlace::Unrecognised, shows_work: None };
}

/// Part of the agent's UI that receives keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScreenPlace {
    /// Nothing that the profile recognises: the agent is starting, an external editor, an unknown page.
    Unrecognised,
    /// The field for the next prompt.
    Composer(ComposerReading),
    /// A question to the user.
    Dialog(DialogReading),
    /// A page that accepts no prompt.
    Blocked(BlockedPage),
}

/// Page that accepts no prompt: a picker, a login, a search, a view of the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedPage {
    /// Name of the page, to complete the sentence "the screen shows …".
    pub reason: Cow<'static, str>,
}

impl fmt::Display for BlockedPage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
}

impl BlockedPage {
    pub(super) fn place(reason: impl Into<Cow<'static, str>>) -> ScreenPlace {
        ScreenPlace::Blocked(Self { reason: reason.into() })
    }

    /// Page that is known only by its title.
    pub(super) fn titled(title: &str) -> ScreenPlace {
        Self::place(format!("the page “{}”", title.trim()))
    }
}

/// Kind of a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogKind {
    /// Permission to run a command, to edit a file or to call a tool.
    Permission,
    /// Question of the agent with options (Claude's AskUserQuestion).
    Choice,
    /// Approval of a plan.
    Plan,
    /// Trust in a directory.
    Trust,
    /// A dialog that asks something else.
    Other,
}

/// Question to the user on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialogReading {
    pub kind: DialogKind,
    /// Heading, for example the name of the tool.
    pub title: String,
    /// Question above the options, empty if there is none.
    pub question: String,
    /// Rows between title and question as displayed: the command, the file, the lines of a diff.
    pub details: Vec<String>,
    pub options: Vec<DialogOption>,
    /// True if a text field of the dialog has the focus: digits and letters are typed into it.
    pub focus_on_text: bool,
    /// True if options are marked and then submitted, and a key does not answer at once.
    pub multiple: bool,
}

/// Option of a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialogOption {
    /// Number that the dialog displays.
    pub number: Option<u8>,
    /// Label in full; wrapped rows are joined.
    pub label: String,
    /// Explanation below the label.
    pub description: String,
    /// Key in parentheses behind the label, for example `y` or `esc`.
    pub hotkey: Option<String>,
    /// True if Enter would choose the option.
    pub selected: bool,
    /// Effect by the words of the label. `Other` if the words are unknown, and for an option that takes text.
    pub meaning: OptionMeaning,
}

impl DialogReading {
    /// Returns the index of the first option with this meaning.
    pub fn option(&self, meaning: OptionMeaning) -> Option<usize> {
        self.options.iter().position(|option| option.meaning == meaning)
    }

    /// True if title or details contain the text. Line breaks and blanks are ignored, because rows are wrapped. A
    /// dialog may cut a long command; a text that is not mentioned is not proof of another question.
    pub fn mentions(&self, text: &str) -> bool {
        let shown: String = self.details.iter().map(|row| squeezed(row)).collect();
        let text = squeezed(text);
        !text.is_empty() && (shown.contains(&text) || squeezed(&self.title).contains(&text))
    }
}
