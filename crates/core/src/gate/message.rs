//! Control messages in the form that the gate checks.

use super::policy::Action;
use super::refusal::GateRefusal;
use crate::request::{CommandContent, Decision, RequestKey, TextDigest};

/// Control message before authorisation: none of its fields is authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlMessage<'a> {
    pub key: RequestKey,
    /// Name of the sender, as stated in the message.
    pub sender: &'a str,
    /// Time at which the message was first sent, RFC 3339.
    pub sent_at: &'a str,
    pub payload: ControlPayload<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlPayload<'a> {
    /// Sends a text to the session.
    Text {
        text: TextSource<'a>,
        /// True if the running turn is interrupted before the text is delivered.
        interrupt: bool,
    },
    Interrupt,
    Answer {
        question: &'a str,
        /// Id of the chosen option.
        option: Option<&'a str>,
        /// Approval or rejection instead of an option.
        decision: Option<Decision>,
        /// Free text of the answer.
        text: Option<&'a str>,
    },
}

/// Text in the message, or a reference to a file with the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSource<'a> {
    Inline(&'a str),
    /// Reference to a file with the text. The gate does not read the file.
    Reference {
        /// Size of the file in bytes.
        bytes: u64,
        /// SHA-256 digest of the file in hexadecimal.
        sha256: &'a str,
    },
}

impl<'a> ControlPayload<'a> {
    /// Returns the action that a rule must allow before the message is admitted.
    pub fn action(&self) -> Action {
        match self {
            Self::Text { .. } => Action::Stdin,
            Self::Interrupt => Action::Interrupt,
            Self::Answer { .. } => Action::Answer,
        }
    }

    /// Returns the content that the fingerprint covers. A reference has the content of the referenced text.
    pub(super) fn content(&self) -> Result<CommandContent<'a>, GateRefusal> {
        Ok(match *self {
            Self::Text { text, interrupt } => {
                let digest = match text {
                    TextSource::Inline(text) => TextDigest::of(text),
                    TextSource::Reference { sha256, .. } => {
                        TextDigest::from_hex(sha256).ok_or(GateRefusal::NoDigest)?
                    }
                };
                CommandContent::Text { digest, interrupt, to: None }
            }
            Self::Interrupt => CommandContent::Interrupt(None),
            Self::Answer { question, option, decision, text } => {
                CommandContent::Answer { question, option, decision, text }
            }
        })
    }
}
