//! What is remembered of a message, and what its repetition is answered.

use std::fmt;

use sha2::{Digest, Sha256};
use wh_wire::socket::{
    ControlAck, ControlAction, ControlContent, ControlKey, ControlKind, ControlRequest, ControlResult, Decision,
};

/// What a message wants, in a few bytes that mean the same in every version and after every restart. A text behind a reference has the
/// fingerprint of the same text inline; when it was sent, and how often, does not matter.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint(String);

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Fingerprint({})", self.0)
    }
}

impl Fingerprint {
    /// Of this message.
    pub fn of(request: &ControlRequest) -> Self {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            // The length keeps two parts apart.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        };
        add(b"wheelhouse control 1");
        add(request.sender.as_bytes());
        add(request.action.kind().as_str().as_bytes());
        match &request.action {
            ControlAction::Stdin(stdin) => {
                add(&[u8::from(stdin.interrupt)]);
                let digest = match &stdin.content {
                    ControlContent::Inline(text) => hex(&Sha256::digest(text.as_bytes())),
                    ControlContent::Reference(reference) => reference.sha256.to_ascii_lowercase(),
                };
                add(digest.as_bytes());
            }
            ControlAction::Interrupt => {}
            ControlAction::Answer(answer) => {
                add(answer.question_id.as_bytes());
                let decision = answer.decision.map(|decision| match decision {
                    Decision::Approve => "approve",
                    Decision::Reject => "reject",
                });
                for part in [answer.option.as_deref(), decision, answer.text.as_deref()] {
                    add(&[u8::from(part.is_some())]);
                    add(part.unwrap_or_default().as_bytes());
                }
            }
        }
        Self(hex(&hash.finalize()))
    }

    /// One that was stored.
    pub fn stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// To be stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What is remembered of a message, under its [key](ControlKey).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it wanted.
    pub fingerprint: Fingerprint,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is being carried out.
    Pending,
    /// It was carried out, or that was tried.
    Executed {
        /// How it ended.
        result: ControlResult,
        /// In words.
        detail: Option<String>,
    },
    /// wh ended while it was carried out. Nobody knows whether it arrived; it is not tried again.
    CutOff,
}

/// How far an execution that is over has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// Certainly nothing has reached the session.
    Nothing,
    /// It has, or it may have.
    Perhaps,
}

impl Reached {
    /// Whether a message that ended so is forgotten: it came to nothing, and the sender may send it again under the same name.
    pub fn is_forgotten(self, result: ControlResult) -> bool {
        self == Self::Nothing && result != ControlResult::Ok
    }
}

/// What a message is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How it ended.
    pub result: ControlResult,
    /// Whether it was heard before.
    pub duplicate: bool,
    /// In words.
    pub detail: Option<String>,
    /// In a word for programs.
    pub error: Option<&'static str>,
}

impl Entry {
    /// What to remember when a message begins to be carried out. The store's rows follow the same course.
    #[cfg(test)]
    pub fn begun(fingerprint: Fingerprint) -> Self {
        Self { fingerprint, fate: Fate::Pending }
    }

    /// What to remember when that is over; nothing if it is [forgotten](Reached::is_forgotten).
    #[cfg(test)]
    pub fn after(self, reached: Reached, result: ControlResult, detail: Option<String>) -> Option<Self> {
        (!reached.is_forgotten(result)).then_some(Self { fate: Fate::Executed { result, detail }, ..self })
    }

    /// What to remember after a restart: what was under way is cut off.
    #[cfg(test)]
    pub fn restarted(self) -> Self {
        let fate = match self.fate {
            Fate::Pending => Fate::CutOff,
            other => other,
        };
        Self { fate, ..self }
    }

    /// What another message under the same key is answered. It is carried out in no case.
    pub fn repeated(&self, fingerprint: &Fingerprint) -> Verdict {
        if self.fingerprint != *fingerprint {
            return Verdict {
                result: ControlResult::Rejected,
                duplicate: false,
                detail: Some(
                    "another message was sent under this request_id; nothing was done. Use a new one".to_owned(),
                ),
                error: Some("request_id_reused"),
            };
        }
        let repeated = |result, detail: String, error| Verdict { result, duplicate: true, detail: Some(detail), error };
        match &self.fate {
            Fate::Pending => repeated(
                ControlResult::Busy,
                "the first is still under way; ask again under the same request_id".to_owned(),
                Some("under_way"),
            ),
            Fate::Executed { result: ControlResult::Ok, detail } => {
                let detail = detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
                repeated(ControlResult::Ok, format!("already carried out{detail}"), None)
            }
            Fate::Executed { result, detail } => {
                let detail = detail.clone().unwrap_or_else(|| result.to_string());
                repeated(*result, format!("already tried: {detail}"), Some("already_tried"))
            }
            Fate::CutOff => repeated(
                ControlResult::InternalError,
                "wh ended while the first was under way: it is not known whether it arrived, and it is not tried again. \
                 Look at the session, and use a new request_id if it did not"
                    .to_owned(),
                Some("cut_off"),
            ),
        }
    }
}

impl Verdict {
    /// As an acknowledgement.
    pub fn ack(self, kind: ControlKind, key: &ControlKey, acked_at: impl Into<String>) -> ControlAck {
        let mut ack = ControlAck::new(kind, key, acked_at, self.result);
        ack.duplicate = self.duplicate;
        ack.detail = self.detail;
        ack.error = self.error.map(str::to_owned);
        ack
    }
}

impl From<&super::Refused> for Verdict {
    fn from(refused: &super::Refused) -> Self {
        let (detail, error) = (Some(refused.to_string()), Some(refused.code()));
        Self { result: refused.result(), duplicate: false, detail, error }
    }
}
