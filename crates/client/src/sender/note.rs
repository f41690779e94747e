//! What a sender tells of its doings.

use std::time::SystemTime;

use wh_wire::socket::{ControlKey, ControlKind, ControlResult};

/// What happened to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is sent.
    Request,
    /// It is sent again.
    Retry,
    /// An acknowledgement came.
    Ack,
    /// The acknowledgement says that it was heard before.
    Duplicate,
    /// It came to nothing, before it was sent or after.
    Failure,
    /// Nothing was heard in time, or the daemon says that it is not known yet.
    Timeout,
}

/// One thing that happened to a message, for an account of all that was sent.
#[derive(Debug, Clone)]
pub struct Note<'a> {
    /// When.
    pub at: SystemTime,
    /// What.
    pub step: Step,
    /// Which kind of message.
    pub kind: ControlKind,
    /// Which message, to which session. Before the daemon has said which one is meant, the session is what the caller called it, and team
    /// and agent are empty.
    pub key: &'a ControlKey,
    /// As whom.
    pub sender: &'a str,
    /// How often it was sent before; when it is sent.
    pub retry_count: Option<u64>,
    /// The message that it replaces; when it is sent.
    pub retry_of: Option<&'a str>,
    /// The length of its text; when it is sent.
    pub bytes: Option<u64>,
    /// Its text, unless that is in a file; when it is sent.
    pub text: Option<&'a str>,
    /// How it ended.
    pub result: Option<ControlResult>,
    /// Whether it was heard before, if that is known.
    pub duplicate: Option<bool>,
    /// Why not, in a word.
    pub error: Option<&'a str>,
    /// In words.
    pub detail: Option<&'a str>,
}
