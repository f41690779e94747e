//! A control message, as far as the gate judges it.

use super::policy::Action;
use super::refused::Refused;
use crate::request::{Content, Decision, Key, TextDigest};

/// A control message. Nothing in it is proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlMessage<'a> {
    /// Its identity.
    pub key: Key,
    /// The sender that it names.
    pub sender: &'a str,
    /// When it was sent first, as written.
    pub sent_at: &'a str,
    /// The content.
    pub payload: ControlPayload<'a>,
}

/// Payload of a control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlPayload<'a> {
    /// Give the session a text.
    Text {
        /// The text.
        text: TextSource<'a>,
        /// Interrupt it first.
        interrupt: bool,
    },
    /// Interrupt it.
    Interrupt,
    /// Answer its question.
    Answer {
        /// The question's id.
        question: &'a str,
        /// The option that is chosen.
        option: Option<&'a str>,
        /// A plain yes or no.
        decision: Option<Decision>,
        /// An answer in words.
        text: Option<&'a str>,
    },
}

/// Where a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSource<'a> {
    /// In the message.
    Inline(&'a str),
    /// In a file, which is not read here.
    Reference {
        /// Its size.
        bytes: u64,
        /// Its digest, in hexadecimal.
        sha256: &'a str,
    },
}

impl<'a> ControlPayload<'a> {
    /// The action that rules speak of.
    pub fn action(&self) -> Action {
        match self {
            Self::Text { .. } => Action::Stdin,
            Self::Interrupt => Action::Interrupt,
            Self::Answer { .. } => Action::Answer,
        }
    }

    /// The part that a retry must repeat. A text behind a reference is that text.
    pub(super) fn content(&self) -> Result<Content<'a>, Refused> {
        Ok(match *self {
            Self::Text { text, interrupt } => {
                let digest = match text {
                    TextSource::Inline(text) => TextDigest::of(text),
                    TextSource::Reference { sha256, .. } => TextDigest::from_hex(sha256).ok_or(Refused::NoDigest)?,
                };
                Content::Text { digest, interrupt, to: None }
            }
            Self::Interrupt => Content::Interrupt(None),
            Self::Answer { question, option, decision, text } => Content::Answer { question, option, decision, text },
        })
    }
}
