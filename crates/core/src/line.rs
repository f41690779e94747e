//! Parser of the lines that a user types into the composer of the terminal UI or sends over the HTTP API.
//!
//! | the line begins with | meaning |
//! |---|---|
//! | `/` | a slash command of wh, or one of the agent's own |
//! | `{"kind": …}` | an envelope in JSON |
//! | `!` | a message; the agent may run it in a shell, so the API requires `allow_shell` |
//! | `@` | a message; the agent reads the file of each `@path` in it |
//! | `&` | a message; reserved for dispatch to cloud agents |
//! | anything else | a message to the chat's targets, which `/target` chooses |

use crate::caller::GuardedAction;
use crate::hidden::is_hidden;
use crate::posted::{self, PostedEnvelope};
use crate::slash::{self, SlashCommand, SlashError};
use crate::space::ParticipantId;
use crate::space::command::ConversationCommand;

/// Character that has a special meaning for `wh` or an agent at the beginning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinePrefix {
    /// `/`: a command.
    Command,
    /// `!`: a shell command.
    Shell,
    /// `@`: a file.
    File,
    /// `&`: a cloud agent.
    Cloud,
}

impl LinePrefix {
    const ALL: [Self; 4] = [Self::Command, Self::Shell, Self::File, Self::Cloud];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Command => "/",
            Self::Shell => "!",
            Self::File => "@",
            Self::Cloud => "&",
        }
    }

    /// Returns the prefix at the beginning of a word, if there is one.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|prefix| word.starts_with(prefix.as_str()))
    }

    /// Returns the prefix that an agent may recognise at the beginning of a text. Skips all invisible characters before
    /// the prefix, because agents differ in the characters that they trim.
    pub fn seen_in(text: &str) -> Option<Self> {
        first_visible(text).and_then(|first| Self::of_word(first.encode_utf8(&mut [0; 4])))
    }
}

/// Returns the first visible character.
pub fn first_visible(text: &str) -> Option<char> {
    text.chars().find(|character| !character.is_whitespace() && !is_hidden(*character))
}

/// True if the line begins with a slash, even if the command is incomplete.
pub fn is_slash(text: &str) -> bool {
    text.trim_start().starts_with(LinePrefix::Command.as_str())
}

/// Error for a line that cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The slash command is invalid.
    #[error(transparent)]
    Slash(#[from] SlashError),
    /// The envelope is refused.
    #[error(transparent)]
    Envelope(#[from] posted::EnvelopeRefusal),
    /// The message may run a shell command, and the caller did not allow it.
    #[error(
        "a message that begins with ! may run a shell command; allow it with \"allow_shell\": true, or pass it to the model with \"literal\": true"
    )]
    Shell,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ComposerLine {
    Slash(SlashCommand),
    /// Command to which an envelope was converted.
    Envelope(ConversationCommand),
    /// A chat message.
    Message {
        text: String,
        /// Recipients; `None` for the chat targets.
        to: Option<Vec<ParticipantId>>,
        /// True to refuse the message if an agent would interpret the first character of the text instead of passing it
        /// to the model.
        literal: bool,
    },
}

impl ComposerLine {
    /// Parses a composer line.
    pub fn read(text: &str) -> Result<Self, LineError> {
        if is_slash(text) {
            return Ok(Self::Slash(slash::parse(text)?));
        }
        match PostedEnvelope::read(text) {
            Some(envelope) => Ok(Self::Envelope(envelope.command()?)),
            None => Ok(Self::message(text, None)),
        }
    }

    /// Creates a message with this text, even if the text begins with a slash or is an envelope.
    pub fn message(text: impl Into<String>, to: Option<Vec<ParticipantId>>) -> Self {
        Self::Message { text: text.into(), to, literal: false }
    }

    /// Returns the action that access control checks ([`crate::caller`]). A line that is not a message counts as a
    /// command.
    pub fn act(&self) -> GuardedAction {
        match self.message_text() {
            Some((text, _)) => GuardedAction::message(text),
            None => GuardedAction::Command,
        }
    }

    /// Refuses a message that may run a shell command in the agent, unless `allowed` is set or the text is literal.
    pub fn check_shell(&self, allowed: bool) -> Result<(), LineError> {
        match self.message_text() {
            Some((text, false)) if !allowed && LinePrefix::seen_in(text) == Some(LinePrefix::Shell) => {
                Err(LineError::Shell)
            }
            _ => Ok(()),
        }
    }

    /// Returns the text of a message or of an envelope with a message, and `true` if the text is literal.
    fn message_text(&self) -> Option<(&str, bool)> {
        match self {
            Self::Message { text, literal, .. } | Self::Envelope(ConversationCommand::Say { text, literal, .. }) => {
                Some((text, *literal))
            }
            Self::Slash(_) | Self::Envelope(_) => None,
        }
    }

    /// Converts the line to a slash command. A message becomes [`ConversationCommand::Say`].
    pub fn into_slash(self) -> SlashCommand {
        match self {
            Self::Slash(slash) => slash,
            Self::Envelope(command) => SlashCommand::Space(command),
            Self::Message { text, to, literal } => SlashCommand::Space(ConversationCommand::Say {
                text,
                to,
                attachments: Vec::new(),
                interrupt: false,
                literal,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slash::UiCommand;

    fn read(text: &str) -> ComposerLine {
        ComposerLine::read(text).unwrap()
    }

    #[test]
    fn a_line_is_a_command_an_envelope_or_a_message() {
        assert_eq!(read(" /help"), ComposerLine::Slash(SlashCommand::Space(ConversationCommand::Help)));
        assert_eq!(read("/verbose"), ComposerLine::Slash(SlashCommand::Ui(UiCommand::Verbose)));
        assert!(matches!(ComposerLine::read("/ui nonsense"), Err(LineError::Slash(_))));
        let text = r#"{"kind": "chat", "payload": {"text": "hi"}}"#;
        assert_eq!(read(text), ComposerLine::Envelope(ConversationCommand::say("hi", None)));
        assert!(matches!(ComposerLine::read(r#"{"kind": "bogus/x"}"#), Err(LineError::Envelope(_))));
        for text in ["a /b", "!ls", "@src/main.rs what is it?", "& refactor it", "{", "\u{200b}/x"] {
            assert_eq!(read(text), ComposerLine::message(text, None), "{text}");
        }
    }

    #[test]
    fn an_envelope_is_checked_by_its_effect() {
        let envelope = |text: &str| read(&format!(r#"{{"kind": "chat", "payload": {{"text": "{text}"}}}}"#));
        assert_eq!(envelope("!ls").check_shell(false), Err(LineError::Shell));
        assert_eq!(envelope("!ls").check_shell(true), Ok(()));
        assert_eq!(envelope("/mode all").act(), GuardedAction::Say { command: true });
        assert_eq!(envelope("hello").act(), GuardedAction::Say { command: false });
        assert_eq!(read(r#"{"kind": "participant/pause", "to": ["demo"]}"#).act(), GuardedAction::Command);
        assert_eq!(read("/verbose").act(), GuardedAction::Command);
    }

    #[test]
    fn a_literal_text_runs_no_shell() {
        let line = |literal: bool| ComposerLine::Message { text: " !ls".into(), to: None, literal };
        assert_eq!(line(false).check_shell(false), Err(LineError::Shell));
        assert_eq!(line(true).check_shell(false), Ok(()));
    }

    #[test]
    fn blanks_and_hidden_characters_do_not_hide_a_prefix() {
        let cases = [
            ("\u{200b} \n/x", Some(LinePrefix::Command)),
            ("\t!ls", Some(LinePrefix::Shell)),
            ("@a", Some(LinePrefix::File)),
            ("& a", Some(LinePrefix::Cloud)),
            ("ls !", None),
            ("", None),
        ];
        for (text, prefix) in cases {
            assert_eq!(LinePrefix::seen_in(text), prefix, "{text:?}");
        }
    }
}
