//! Reasons why the gate refuses a message, with an error message and a stable code for each.

use super::policy::MemberId;
use crate::caller::CallerRefusal;
use crate::reason::Reason;
use crate::request::RequestKey;

/// Reason why the gate refuses a message. The error message becomes the detail of the acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateRefusal {
    #[error("{0}")]
    RequestId(String),
    /// The name of a team, session, agent or sender is empty, too long or not printable.
    #[error("{0} must have 1 to {max} printable characters", max = super::MAX_NAME_CHARS)]
    Name(&'static str),
    /// The time in this field is not an RFC 3339 time.
    #[error("{field} must be an RFC 3339 time such as 2026-02-20T21:15:00Z, not {given:?}")]
    NoTime { field: &'static str, given: String },
    /// The message was sent too long ago.
    #[error(
        "sent_at is {age} s ago; at most {allowed} s are allowed. Send the message again with a new sent_at and the same request_id; if the first message may have arrived, check the session first"
    )]
    TooOld {
        /// Age of the message in seconds.
        age: u64,
        /// Maximum accepted age in seconds.
        allowed: u64,
    },
    /// The sender's clock is ahead of the local clock by more than the accepted clock skew.
    #[error(
        "sent_at is {by} s ahead of this machine's clock; at most {allowed} s are allowed. Correct the sender's clock"
    )]
    Ahead {
        /// Time by which `sent_at` is ahead of the local clock, in seconds.
        by: u64,
        /// Maximum accepted difference in seconds.
        allowed: u64,
    },
    #[error("the text is empty")]
    Empty,
    /// The text in the message exceeds the maximum length.
    #[error(
        "the text has {bytes} bytes; at most {allowed} are accepted inline. Write the text to a file and send a content_ref"
    )]
    TooLong {
        bytes: usize,
        /// Maximum length of the text in bytes.
        allowed: usize,
    },
    /// The referenced text exceeds the maximum length.
    #[error("content_ref states a size of {bytes} bytes; at most {allowed} bytes are accepted")]
    ReferenceTooLong {
        bytes: u64,
        /// Maximum length of a referenced text in bytes.
        allowed: u64,
    },
    /// The digest in the reference is not a SHA-256 digest.
    #[error("content_ref.sha256 must have 64 hexadecimal digits")]
    NoDigest,
    /// The sender presented no valid credential.
    #[error("the sender is not authenticated; send the token of a team member")]
    Unproven,
    /// The message names a sender to whom the presented credential does not belong.
    #[error("the message names the sender {claimed:?}, but the token belongs to {proven}")]
    NotTheSender { claimed: String, proven: MemberId },
    /// The sender belongs to another team than the session.
    #[error("{by} is not in team {team:?}; a session may be controlled only by members of its own team")]
    OtherTeam { by: MemberId, team: String },
    /// The sender is no longer a member of the team.
    #[error("{0} is no longer a member of the team")]
    NoMember(MemberId),
    /// The session does not exist, or belongs to another team. Both cases have the same error, so that the sender
    /// cannot find out the sessions of another team.
    #[error("there is no session {session_id:?} in team {team:?}")]
    NoSession {
        session_id: String,
        /// The team that the message names.
        team: String,
    },
    /// The agent id in the message is not the agent id of the session.
    #[error("session {session_id:?} has the agent_id {actual:?}, not {given:?}")]
    OtherAgent {
        session_id: String,
        /// The agent id in the message.
        given: String,
        /// The agent id of the session.
        actual: String,
    },
    /// The team does not define the role of the sender.
    #[error("{by} has the role {role:?}, which the team does not define")]
    NoRole { by: MemberId, role: String },
    /// A rule of the sender's role denies the action.
    #[error(
        "{by} may not perform the action `{action}` on this session: the role {role:?} denies it by the rule {rule:?}"
    )]
    Denied { by: MemberId, action: &'static str, role: String, rule: String },
    /// No rule of the sender's role allows the action.
    #[error("{by} may not perform the action `{action}` on this session: no rule of the role {role:?} allows it")]
    NotAllowed { by: MemberId, action: &'static str, role: String },
    /// The caller may not perform the action from its location.
    #[error(transparent)]
    Caller(#[from] CallerRefusal),
}

impl GateRefusal {
    /// Creates the refusal of a message that names a missing session or a session of another team.
    pub fn no_session(key: &RequestKey) -> Self {
        Self::NoSession { session_id: key.session.clone(), team: key.team.clone() }
    }

    /// Returns the stable code of the refusal.
    pub fn reason(&self) -> Reason {
        match self {
            Self::RequestId(_) | Self::Name(_) | Self::NoTime { .. } | Self::NoDigest => Reason::InvalidField,
            Self::TooOld { .. } => Reason::TooOld,
            Self::Ahead { .. } => Reason::ClockSkew,
            Self::Empty => Reason::Empty,
            Self::TooLong { .. } | Self::ReferenceTooLong { .. } => Reason::TooLong,
            Self::Unproven => Reason::UnprovenSender,
            Self::NotTheSender { .. } => Reason::OtherSender,
            Self::OtherTeam { .. } => Reason::OtherTeam,
            Self::NoMember(_) => Reason::NoMember,
            Self::NoSession { .. } => Reason::NoSession,
            Self::OtherAgent { .. } => Reason::OtherAgent,
            Self::NoRole { .. } => Reason::NoRole,
            Self::Denied { .. } => Reason::Denied,
            Self::NotAllowed { .. } => Reason::NotAllowed,
            Self::Caller(refusal) => refusal.reason(),
        }
    }
}
