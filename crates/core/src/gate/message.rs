//! Control messages as the gate checks them.

use super::policy::Action;
use super::refusal::GateRefusal;
use crate::request::{Content, Decision, RequestKey, TextDigest};

/// A control message. None of its fields are authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlMessage<'a> {
    pub key: RequestKey,
    /// The claimed sender.
    pub sender: &'a str,
    /// Time of the first sending, RFC 3339.
    pub sent_at: &'a str,
    pub payload: ControlPayload<'a>,
}

/// Payload of a control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlPayload<'a> {
    /// Sends a text to the session.
    Text {
        text: TextSource<'a>,
        /// The running turn is interrupted first.
        interrupt: bool,
    },
    /// Interrupts the session.
    Interrupt,
    /// Answers a question of the session.
    Answer {
        question: &'a str,
        /// The chosen option.
        option: Option<&'a str>,
        /// An approval or rejection without an option.
        decision: Option<Decision>,
        /// A free-text answer.
        text: Option<&'a str>,
    },
}

/// Location of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSource<'a> {
    Inline(&'a str),
    /// The text is in a file, which the gate does not read.
    Reference {
        /// Size in bytes.
        bytes: u64,
        /// SHA-256 digest in hexadecimal.
        sha256: &'a str,
    },
}

impl<'a> ControlPayload<'a> {
    /// Returns the action that rules refer to.
    pub fn action(&self) -> Action {
        match self {
            Self::Text { .. } => Action::Stdin,
            Self::Interrupt => Action::Interrupt,
            Self::Answer { .. } => Action::Answer,
        }
    }

    /// Returns the part that a retry must repeat. A referenced text counts as that text.
    pub(super) fn content(&self) -> Result<Content<'a>, GateRefusal> {
        Ok(match *self {
            Self::Text { text, interrupt } => {
                let digest = match text {
                    TextSource::Inline(text) => TextDigest::of(text),
                    TextSource::Reference { sha256, .. } => {
                        TextDigest::from_hex(sha256).ok_or(GateRefusal::NoDigest)?
                    }
                };
                Content::Text { digest, interrupt, to: None }
            }
            Self::Interrupt => Content::Interrupt(None),
            Self::Answer { question, option, decision, text } => Content::Answer { question, option, decision, text },
        })
    }
}
