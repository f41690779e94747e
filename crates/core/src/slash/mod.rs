//! Slash commands: a line that begins with `/`, read into what it asks for. [`table::ROWS`] has a row for each command; parsing,
//! the help, completion, error messages and docs/commands.md follow from the rows. A name without a row may be a command of
//! the agent's own.

mod calls;
mod help;
mod read;
mod table;
#[cfg(test)]
mod tests;

pub use calls::{call_name, envelope_of};
pub use help::{HELP_TITLE, HelpLine, help, help_lines};
pub use table::{Argument, Form, Listing, ROWS, Row, Section, Source};

pub(crate) use read::LONGEST_PAUSE;

use crate::input::closest;
use crate::space::command::Command;
use read::Words;

/// A slash command, parsed.
#[derive(Debug, Clone, PartialEq)]
pub enum Slash {
    /// Something for the space.
    Space(Command),
    /// Something for whoever shows it.
    Ui(UiCommand),
}

/// Something for whoever shows a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UiCommand {
    /// Show details, or no longer.
    Verbose,
    /// Show what comes through streams, or no longer.
    Streams,
    /// Show or hide a pane, or let it decide; `None` toggles it.
    Pane(PaneName, Option<Visibility>),
    /// Clear what is shown. The conversation stays.
    ClearView,
    /// Leave.
    Exit,
}

/// Name of a part of the screen. Which there are is the UI's matter; rows of the table name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaneName(pub &'static str);

/// A person's wish for a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Always there.
    Open,
    /// Never there.
    Close,
    /// There when there is something to show.
    Auto,
}

impl Visibility {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Close => "close",
            Self::Auto => "auto",
        }
    }
}

/// Error of a command whose arguments cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; usage: {usage}")]
pub struct Mistake {
    /// What is wrong.
    pub problem: &'static str,
    /// How the command is written.
    pub usage: String,
}

/// The row of a command, by its name or an alias, without the slash.
pub fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.names.contains(&name))
}

/// Reads a line that begins with `/`. A command without a row may be one of the agent's own.
pub fn parse(line: &str) -> Result<Slash, Mistake> {
    let words = Words::new(line);
    let Some(row) = find(words.name) else { return Ok(words.of_agent()) };
    (row.read)(&words).map_err(|problem| Mistake { problem, usage: row.usage() })
}

/// The command that somebody meant who wrote this unknown one, with its slash.
pub fn meant(name: &str) -> Option<String> {
    closest(name, ROWS.iter().flat_map(|row| row.names.iter().copied())).map(|name| format!("/{name}"))
}
