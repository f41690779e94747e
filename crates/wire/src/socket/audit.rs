//! One record of the audit log, as the daemon and every sender write it. `docs/socket.md` describes the file.

use std::time::SystemTime;

use super::control::{ControlAction, ControlContent, ControlKey, ControlKind, ControlResult};

/// The event that a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditAction {
    /// A message was sent or received.
    Request,
    /// A message was acknowledged.
    Ack,
    /// A message was sent or received again.
    Retry,
    /// A message was recognised as a retry of one that was carried out.
    Duplicate,
    /// A message failed, before it was sent or after.
    Failure,
    /// No acknowledgement came in time, or the outcome is not known yet.
    Timeout,
    /// Records were lost before this one.
    Dropped,
}

impl AuditAction {
    /// The word in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "control_request",
            Self::Ack => "control_ack",
            Self::Retry => "control_retry",
            Self::Duplicate => "control_duplicate",
            Self::Failure => "control_failure",
            Self::Timeout => "control_timeout",
            Self::Dropped => "audit_dropped",
        }
    }
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Time of the event.
    pub at: SystemTime,
    /// The event.
    pub action: AuditAction,
    /// The kind of the message.
    pub kind: Option<ControlKind>,
    /// The message and its session. Before the daemon has resolved the session, a sender has the name that the caller
    /// gave, and neither team nor agent.
    pub key: ControlKey,
    /// The sender, as the message says.
    pub sender: Option<String>,
    /// The sender, as the credential proves.
    pub by: Option<String>,
    /// The outcome, once it is known.
    pub result: Option<ControlResult>,
    /// True for a retry of a message that was carried out; `None` while that is not known.
    pub duplicate: Option<bool>,
    /// The number of times that it was sent before.
    pub retry_count: Option<u64>,
    /// The request id of the message that it replaces.
    pub retry_of: Option<String>,
    /// The length of its text.
    pub bytes: Option<u64>,
    /// The number of records that were lost.
    pub count: Option<u64>,
    /// The code of the error.
    pub error: Option<String>,
    /// The message of the error.
    pub detail: Option<String>,
    /// Its text. The log keeps only as much of it as it is configured to.
    pub text: Option<String>,
}

impl AuditRecord {
    /// A record about this message, with all other fields absent.
    pub fn new(action: AuditAction, kind: Option<ControlKind>, key: &ControlKey, at: SystemTime) -> Self {
        Self {
            at,
            action,
            kind,
            key: key.clone(),
            sender: None,
            by: None,
            result: None,
            duplicate: None,
            retry_count: None,
            retry_of: None,
            bytes: None,
            count: None,
            error: None,
            detail: None,
            text: None,
        }
    }

    /// With the text of a message, and its length; of one in a file the length alone.
    #[must_use]
    pub fn with_content(mut self, message: &ControlAction) -> Self {
        if let ControlAction::Stdin(stdin) = message {
            match &stdin.content {
                ControlContent::Inline(text) => {
                    self.bytes = Some(text.len() as u64);
                    self.text = Some(text.clone());
                }
                ControlContent::Reference(reference) => self.bytes = Some(reference.size_bytes),
            }
        }
        self
    }

    /// The records of an acknowledgement, in their order: `self`, and before it what it says beyond success.
    pub fn with_outcome(self) -> impl Iterator<Item = Self> {
        let outcome = match self.result {
            _ if self.duplicate == Some(true) => Some(AuditAction::Duplicate),
            None | Some(ControlResult::Ok) => None,
            Some(ControlResult::Timeout) => Some(AuditAction::Timeout),
            Some(_) => Some(AuditAction::Failure),
        };
        let before = outcome.map(|action| Self { action, ..self.clone() });
        before.into_iter().chain([self])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_is_preceded_by_what_it_says_beyond_success() {
        let actions = |result, duplicate| {
            let key = ControlKey::default();
            let mut ack = AuditRecord::new(AuditAction::Ack, None, &key, SystemTime::UNIX_EPOCH);
            (ack.result, ack.duplicate) = (Some(result), Some(duplicate));
            ack.with_outcome().map(|record| record.action).collect::<Vec<_>>()
        };
        assert_eq!(actions(ControlResult::Ok, false), [AuditAction::Ack]);
        assert_eq!(actions(ControlResult::Ok, true), [AuditAction::Duplicate, AuditAction::Ack]);
        assert_eq!(actions(ControlResult::Rejected, true), [AuditAction::Duplicate, AuditAction::Ack]);
        assert_eq!(actions(ControlResult::Timeout, false), [AuditAction::Timeout, AuditAction::Ack]);
        assert_eq!(actions(ControlResult::NotLive, false), [AuditAction::Failure, AuditAction::Ack]);
    }
}
