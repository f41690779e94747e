//! Slash commands: lines that begin with `/`. [`table::ROWS`] has a row for each command; parsing, help, completion,
//! error messages and docs/commands.md are derived from it. A name without a row may be a command of the agent.

mod calls;
mod help;
mod read;
mod table;
#[cfg(test)]
mod tests;

pub use calls::{call_name, envelope_of};
pub use help::{HELP_TITLE, HelpLine, help, help_lines};
pub use table::{Argument, Form, Listing, ROWS, Row, Section, Source};

pub(crate) use read::MAX_PAUSE_SECONDS;

use crate::input::closest;
use crate::space::command::ConversationCommand;
use read::Words;

#[derive(Debug, Clone, PartialEq)]
pub enum Slash {
    /// A command for the space.
    Space(ConversationCommand),
    /// A command for the interface that shows the space.
    Ui(UiCommand),
}

/// Command for the interface that shows a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UiCommand {
    /// Toggles the display of details.
    Verbose,
    /// Toggles the display of streams.
    Streams,
    /// Shows or hides a pane, or sets it to automatic; `None` toggles it.
    Pane(PaneName, Option<Visibility>),
    /// Clears the display. The conversation remains.
    ClearView,
    /// Exits the interface.
    Exit,
}

/// Name of a pane. The UI defines which panes exist; the rows of the table name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaneName(pub &'static str);

/// Visibility of a pane, set by the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visibility {
    Open,
    Close,
    /// Shown while it has content.
    Auto,
}

impl Visibility {
    /// Returns the name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Close => "close",
            Self::Auto => "auto",
        }
    }
}

/// Error of a command with invalid arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; usage: {usage}")]
pub struct SlashError {
    /// Description of the error.
    pub problem: &'static str,
    /// Usage of the command.
    pub usage: String,
}

/// Returns the row of a command, by its name or an alias without the slash.
pub fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.names.contains(&name))
}

/// Parses a line that begins with `/`. A command without a row may be a command of the agent.
pub fn parse(line: &str) -> Result<Slash, SlashError> {
    let words = Words::new(line);
    let Some(row) = find(words.name) else { return Ok(words.as_agent_command()) };
    (row.read)(&words).map_err(|problem| SlashError { problem, usage: row.usage() })
}

/// Returns the known command, with its slash, that is most similar to this unknown name.
pub fn suggest_command(name: &str) -> Option<String> {
    closest(name, ROWS.iter().flat_map(|row| row.names.iter().copied())).map(|name| format!("/{name}"))
}
