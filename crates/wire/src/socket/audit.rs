//! Record of the audit log, as written by the daemon and by senders. The file format is specified in `docs/socket.md`.

use std::time::SystemTime;

use super::control::{ControlAction, ControlContent, ControlKey, ControlKind, ControlResult};

/// Kind of event that a record describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditAction {
    /// A message was sent or received.
    Request,
    /// A message was acknowledged.
    Ack,
    /// A message was sent or received again.
    Retry,
    /// A message was recognised as a retry of an executed message.
    Duplicate,
    /// A message failed, before or after it was sent.
    Failure,
    /// No acknowledgement was received in time, or the outcome is not known yet.
    Timeout,
    /// Records were lost before this record.
    Dropped,
}

impl AuditAction {
    /// Returns the event name used in the log.
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

/// Record of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Time of the event.
    pub at: SystemTime,
    /// Kind of the event.
    pub action: AuditAction,
    /// Kind of the message.
    pub kind: Option<ControlKind>,
    /// Session and request id of the message. Before the daemon has resolved the session, a sender's record contains
    /// the name given by the caller, without team or agent.
    pub key: ControlKey,
    /// Sender as stated in the message.
    pub sender: Option<String>,
    /// Sender as authenticated by the credential.
    pub by: Option<String>,
    /// Outcome of the message; `None` while unknown.
    pub result: Option<ControlResult>,
    /// True for a retry of an executed message; `None` while unknown.
    pub duplicate: Option<bool>,
    /// Number of earlier attempts.
    pub retry_count: Option<u64>,
    /// Request id of the earlier message that this message replaces.
    pub retry_of: Option<String>,
    /// Length of the text in bytes.
    pub bytes: Option<u64>,
    /// Number of lost records, in an [`AuditAction::Dropped`] record.
    pub count: Option<u64>,
    /// Error code for programs.
    pub error: Option<String>,
    /// Error message for display.
    pub detail: Option<String>,
    /// Text of the message. The settings determine whether the log stores the text completely, truncated or not at all.
    pub text: Option<String>,
}

impl AuditRecord {
    /// Creates a record about a message, with all other fields absent.
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

    /// Adds the length and text of a message. For text in a file, only the length is added.
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

    /// Returns the records to write for an acknowledgement, in order. The last record is `self`. If the message failed,
    /// timed out or was a duplicate, a record of that outcome precedes `self`.
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
    fn an_acknowledgement_is_preceded_by_its_outcome() {
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
