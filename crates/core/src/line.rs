//! Reads a line of the composer: what typing it and pressing Enter asks for. The terminal UI and `POST /message` read lines
//! alike.

use crate::caller::Act;
use crate::hidden::is_hidden;
use crate::posted::{self, Posted};
use crate::slash::{self, Mistake, Slash};
use crate::space::command::Command;

/// Error of a line that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// A slash command with a mistake.
    #[error(transparent)]
    Slash(#[from] Mistake),
    /// An envelope of a kind that cannot be posted.
    #[error(transparent)]
    Envelope(#[from] posted::Refused),
    /// A message that may run a shell command.
    #[error(
        "a message that begins with ! may run a shell command; allow it with \"allow_shell\": true, or pass it to the model with \"literal\": true"
    )]
    Shell,
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

/// The act that a line is, for the rule of [`crate::caller`]. Everything but a message is a command.
pub fn act(asked: &Slash) -> Act {
    match asked {
        Slash::Space(Command::Say { text, .. }) => Act::say(text),
        Slash::Space(_) | Slash::Ui(_) => Act::Command,
    }
}

/// Refuses a message by which an agent may run a shell command, unless that is allowed or the text is literal.
pub fn check_shell(asked: &Slash, allowed: bool) -> Result<(), LineError> {
    match asked {
        Slash::Space(Command::Say { text, literal: false, .. }) if is_shell(text) && !allowed => Err(LineError::Shell),
        _ => Ok(()),
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
    fn an_envelope_is_judged_by_what_it_does() {
        let envelope = |text: &str| read(&format!(r#"{{"kind": "chat", "payload": {{"text": "{text}"}}}}"#)).unwrap();
        assert_eq!(check_shell(&envelope("!ls"), false), Err(LineError::Shell));
        assert_eq!(check_shell(&envelope("!ls"), true), Ok(()));
        assert_eq!(act(&envelope("/mode all")), Act::Say { command: true });
        assert_eq!(act(&envelope("hello")), Act::Say { command: false });
        assert_eq!(act(&read(r#"{"kind": "participant/pause", "to": ["demo"]}"#).unwrap()), Act::Command);
        assert_eq!(act(&read("/verbose").unwrap()), Act::Command);
    }

    #[test]
    fn blanks_and_hidden_characters_do_not_hide_the_first_character() {
        assert_eq!(first_visible("\u{200b} \n/x"), Some('/'));
        assert!(is_shell("\t!ls") && !is_shell("ls !") && !is_shell(""));
    }
}
