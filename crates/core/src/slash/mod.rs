//! Slash commands: lines that begin with `/`. Parsing, help, completion, error messages and docs/commands.md are
//! derived from [`table::ROWS`], which has a row for each command. A command without a row may be a command of an
//! agent.

mod calls;
mod help;
mod read;
mod table;
#[cfg(test)]
mod tests;

pub use calls::{call_name, envelope_of};
pub use help::{HELP_TITLE, HelpLine, help, help_lines};
pub use table::{Argument, ArgumentForm, CommandRow, CompletionSource, HelpListing, HelpSection, ROWS};

pub(crate) use read::MAX_PAUSE_SECONDS;

use crate::input::closest;
use crate::space::command::ConversationCommand;
use read::Words;

#[derive(Debug, Clone, PartialEq)]
pub enum SlashCommand {
    /// Command that the space executes.
    Space(ConversationCommand),
    /// Command that the user interface executes.
    Ui(UiCommand),
}

/// Command that a user interface executes. It changes only the display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UiCommand {
    /// Shows or hides details.
    Verbose,
    /// Shows or hides stream data.
    Streams,
    /// Sets the visibility of a pane; `None` toggles the pane.
    Pane(PaneName, Option<Visibility>),
    /// Clears the display. The conversation is not changed.
    ClearView,
    /// Exits the user interface.
    Exit,
}

/// Name of a pane of the user interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaneName(pub &'static str);

/// Visibility of a pane, as the user has set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visibility {
    Open,
    Close,
    /// The pane is shown while it has content.
    Auto,
}

impl Visibility {
    /// Returns the name of the visibility in slash commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Close => "close",
            Self::Auto => "auto",
        }
    }
}

/// Error for a slash command with invalid arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; usage: {usage}")]
pub struct SlashError {
    pub problem: &'static str,
    pub usage: String,
}

/// Returns the row of the command with this name or alias, without the slash.
pub fn find(name: &str) -> Option<&'static CommandRow> {
    ROWS.iter().find(|row| row.names.contains(&name))
}

/// Parses a slash command. A command without a row becomes a [`ConversationCommand::AgentCommand`].
pub fn parse(line: &str) -> Result<SlashCommand, SlashError> {
    let words = Words::new(line);
    let Some(row) = find(words.name) else { return Ok(words.as_agent_command()) };
    (row.read)(&words).map_err(|problem| SlashError { problem, usage: row.usage() })
}

/// Returns the command of `wh` whose name is most similar to an unknown name, with the slash.
pub fn suggest_command(name: &str) -> Option<String> {
    closest(name, ROWS.iter().flat_map(|row| row.names.iter().copied())).map(|name| format!("/{name}"))
}
