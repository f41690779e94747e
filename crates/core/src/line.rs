//! Reads a line of the composer: what typing it and pressing Enter asks for. The terminal UI and `POST /message` read lines
//! alike.

use crate::hidden::is_hidden;
use crate::posted::{self, Posted};
use crate::slash::{self, Mistake, Slash};
use crate::space::command::Command;

/// Why a line asks for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// A slash command with a mistake.
    #[error(transparent)]
    Slash(#[from] Mistake),
    /// An envelope of a kind that cannot be posted.
    #[error(transparent)]
    Envelope(#[from] posted::Refused),
}

/// True for a line that is a slash command.
pub fn is_slash(text: &str) -> bool {
    text.trim_start().starts_with('/')
}

/// True for a line that is said as it is: neither a slash command nor an envelope.
pub fn is_message(text: &str) -> bool {
    !is_slash(text) && Posted::read(text).is_none()
}

/// True for a line by which an agent may run a shell command.
pub fn is_shell(text: &str) -> bool {
    first_visible(text) == Some('!')
}

/// The first character that is shown. Agents differ in what they trim before they interpret it.
pub fn first_visible(text: &str) -> Option<char> {
    text.chars().find(|character| !character.is_whitespace() && !is_hidden(*character))
}

/// Reads a line: a slash command, an envelope in JSON, or a message to the chat's targets.
pub fn read(text: &str) -> Result<Slash, LineError> {
    if is_slash(text) {
        return Ok(slash::parse(text)?);
    }
    match Posted::read(text) {
        Some(envelope) => Ok(Slash::Space(envelope.command()?)),
        None => Ok(Slash::Space(Command::say(text, None))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slash::UiCommand;

    #[test]
    fn a_line_is_a_command_an_envelope_or_a_message() {
        assert_eq!(read(" /help"), Ok(Slash::Space(Command::Help)));
        assert_eq!(read("/verbose"), Ok(Slash::Ui(UiCommand::Verbose)));
        assert!(matches!(read("/ui nonsense"), Err(LineError::Slash(_))));
        let text = r#"{"kind": "chat", "payload": {"text": "hi"}}"#;
        assert!(matches!(read(text), Ok(Slash::Space(Command::Say { text, .. })) if text == "hi"));
        assert!(matches!(read(r#"{"kind": "bogus/x"}"#), Err(LineError::Envelope(_))));
        assert_eq!(read("a /b"), Ok(Slash::Space(Command::say("a /b", None))));
    }

    #[test]
    fn blanks_and_hidden_characters_do_not_hide_the_first_character() {
        assert_eq!(first_visible("\u{200b} \n/x"), Some('/'));
        assert!(is_shell("\t!ls") && !is_shell("ls !") && !is_shell(""));
    }
}
