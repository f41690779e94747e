//! The meaning of a line of the composer: what typing it and pressing Enter asks for. The terminal UI and the HTTP API read lines
//! with this parser alone.
//!
//! | the line begins with | meaning |
//! |---|---|
//! | `/` | a slash command of wh, or one of the agent's own |
//! | `{"kind": …}` | an envelope in JSON |
//! | `!` | a message; the agent may run it in a shell, so that the API wants `allow_shell` |
//! | `@` | a message; `@path` names a file anywhere in it, and the agent reads it |
//! | `&` | a message; reserved for the dispatch to cloud agents |
//! | anything else | a message to the chat's targets, which `/target` chooses |

use crate::caller::Act;
use crate::hidden::is_hidden;
use crate::posted::{self, Posted};
use crate::slash::{self, Mistake, Slash};
use crate::space::ParticipantId;
use crate::space::command::Command;

/// A first character that gives a line another meaning, here or to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefix {
    /// `/`: a command.
    Command,
    /// `!`: a shell command.
    Shell,
    /// `@`: a file.
    File,
    /// `&`: a cloud agent.
    Cloud,
}

impl Prefix {
    const ALL: [Self; 4] = [Self::Command, Self::Shell, Self::File, Self::Cloud];

    /// The character.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Command => "/",
            Self::Shell => "!",
            Self::File => "@",
            Self::Cloud => "&",
        }
    }

    /// The prefix of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|prefix| word.starts_with(prefix.as_str()))
    }

    /// The prefix that an agent may see in a text. Agents differ in what they trim, so everything is passed over that shows
    /// nothing.
    pub fn seen_in(text: &str) -> Option<Self> {
        first_visible(text).and_then(|first| Self::of_word(first.encode_utf8(&mut [0; 4])))
    }
}

/// The first character that is shown. Agents differ in what they trim before they interpret it.
pub fn first_visible(text: &str) -> Option<char> {
    text.chars().find(|character| !character.is_whitespace() && !is_hidden(*character))
}

/// True for a line that is a slash command, complete or not.
pub fn is_slash(text: &str) -> bool {
    text.trim_start().starts_with(Prefix::Command.as_str())
}

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

/// A line of the composer, parsed.
#[derive(Debug, Clone, PartialEq)]
pub enum ComposerLine {
    /// A slash command.
    Slash(Slash),
    /// The command that has the effect of an envelope.
    Envelope(Command),
    /// A text that is said as it is.
    Message {
        /// The text.
        text: String,
        /// Participants that it is for; `None`: the chat's targets.
        to: Option<Vec<ParticipantId>>,
        /// Refused by agents that would interpret its prefix.
        literal: bool,
    },
}

impl ComposerLine {
    /// Reads a line.
    pub fn read(text: &str) -> Result<Self, LineError> {
        if is_slash(text) {
            return Ok(Self::Slash(slash::parse(text)?));
        }
        match Posted::read(text) {
            Some(envelope) => Ok(Self::Envelope(envelope.command()?)),
            None => Ok(Self::message(text, None)),
        }
    }

    /// A message, whatever it begins with.
    pub fn message(text: impl Into<String>, to: Option<Vec<ParticipantId>>) -> Self {
        Self::Message { text: text.into(), to, literal: false }
    }

    /// Classifies the line for the rule of [`crate::caller`]. Everything but a message is a command.
    pub fn act(&self) -> Act {
        match self.said() {
            Some((text, _)) => Act::say(text),
            None => Act::Command,
        }
    }

    /// Refuses a message by which an agent may run a shell command, unless that is allowed or the text is literal.
    pub fn check_shell(&self, allowed: bool) -> Result<(), LineError> {
        match self.said() {
            Some((text, false)) if !allowed && Prefix::seen_in(text) == Some(Prefix::Shell) => Err(LineError::Shell),
            _ => Ok(()),
        }
    }

    /// The text that is said, by the line itself or by an envelope, and `true` if it is literal.
    fn said(&self) -> Option<(&str, bool)> {
        match self {
            Self::Message { text, literal, .. } | Self::Envelope(Command::Say { text, literal, .. }) => {
                Some((text, *literal))
            }
            Self::Slash(_) | Self::Envelope(_) => None,
        }
    }

    /// The command that the line asks for, and of whom.
    pub fn into_slash(self) -> Slash {
        match self {
            Self::Slash(slash) => slash,
            Self::Envelope(command) => Slash::Space(command),
            Self::Message { text, to, literal } => {
                Slash::Space(Command::Say { text, to, attachments: Vec::new(), interrupt: false, literal })
            }
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
        assert_eq!(read(" /help"), ComposerLine::Slash(Slash::Space(Command::Help)));
        assert_eq!(read("/verbose"), ComposerLine::Slash(Slash::Ui(UiCommand::Verbose)));
        assert!(matches!(ComposerLine::read("/ui nonsense"), Err(LineError::Slash(_))));
        let text = r#"{"kind": "chat", "payload": {"text": "hi"}}"#;
        assert_eq!(read(text), ComposerLine::Envelope(Command::say("hi", None)));
        assert!(matches!(ComposerLine::read(r#"{"kind": "bogus/x"}"#), Err(LineError::Envelope(_))));
        for text in ["a /b", "!ls", "@src/main.rs what is it?", "& refactor it", "{", "\u{200b}/x"] {
            assert_eq!(read(text), ComposerLine::message(text, None), "{text}");
        }
    }

    #[test]
    fn an_envelope_is_judged_by_what_it_does() {
        let envelope = |text: &str| read(&format!(r#"{{"kind": "chat", "payload": {{"text": "{text}"}}}}"#));
        assert_eq!(envelope("!ls").check_shell(false), Err(LineError::Shell));
        assert_eq!(envelope("!ls").check_shell(true), Ok(()));
        assert_eq!(envelope("/mode all").act(), Act::Say { command: true });
        assert_eq!(envelope("hello").act(), Act::Say { command: false });
        assert_eq!(read(r#"{"kind": "participant/pause", "to": ["demo"]}"#).act(), Act::Command);
        assert_eq!(read("/verbose").act(), Act::Command);
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
            ("\u{200b} \n/x", Some(Prefix::Command)),
            ("\t!ls", Some(Prefix::Shell)),
            ("@a", Some(Prefix::File)),
            ("& a", Some(Prefix::Cloud)),
            ("ls !", None),
            ("", None),
        ];
        for (text, prefix) in cases {
            assert_eq!(Prefix::seen_in(text), prefix, "{text:?}");
        }
    }
}
