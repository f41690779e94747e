//! Refusals of the gate.

use super::policy::MemberId;
use crate::caller::CallerRefusal;
use crate::reason::Reason;
use crate::request::RequestKey;

/// Reason for which the gate refuses a message. The text is the detail of the acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateRefusal {
    /// The request id is invalid.
    #[error("{0}")]
    RequestId(String),
    /// A name other than the request id is invalid.
    #[error("{0} must have 1 to {max} printable characters", max = super::MAX_NAME_CHARS)]
    Name(&'static str),
    /// A time cannot be parsed.
    #[error("{field} must be an RFC 3339 time such as 2026-02-20T21:15:00Z, not {given:?}")]
    NoTime { field: &'static str, given: String },
    /// The message is too old.
    #[error(
        "sent_at is {age} s ago; at most {allowed} s are allowed. Send it again, with a new request_id if it may have arrived"
    )]
    TooOld {
        /// Age in seconds.
        age: u64,
        /// Maximum age in seconds.
        allowed: u64,
    },
    /// The message was sent in the future according to the local clock.
    #[error("sent_at is {by} s ahead of this machine's clock; at most {allowed} s are allowed. Set the sender's clock")]
    Ahead {
        /// Lead in seconds.
        by: u64,
        /// Maximum lead in seconds.
        allowed: u64,
    },
    #[error("the text is empty")]
    Empty,
    /// The inline text is too long.
    #[error(
        "the text has {bytes} bytes; at most {allowed} are accepted inline. Write it to a file and send a content_ref"
    )]
    TooLong {
        bytes: usize,
        /// Maximum length in bytes.
        allowed: usize,
    },
    /// The referenced text is too long.
    #[error("content_ref names {bytes} bytes; at most {allowed} are accepted")]
    ReferenceTooLong {
        bytes: u64,
        /// Maximum length in bytes.
        allowed: u64,
    },
    /// The reference has no valid digest.
    #[error("content_ref.sha256 must have 64 hexadecimal digits")]
    NoDigest,
    /// The connection is not authenticated.
    #[error("the sender is not authenticated; send the token of a team member")]
    Unproven,
    /// The connection is authenticated as another sender.
    #[error("the message names the sender {claimed:?}, but the token belongs to {proven}")]
    NotTheSender { claimed: String, proven: MemberId },
    /// The sender is in another team.
    #[error("{by} is not in team {team:?}; a session is controlled by its own team")]
    OtherTeam { by: MemberId, team: String },
    /// The sender is no longer a member.
    #[error("{0} is no longer a member of the team")]
    NoMember(MemberId),
    /// There is no such session, or it belongs to another team. The two cases look the same to the sender.
    #[error("there is no session {session_id:?} in team {team:?}")]
    NoSession {
        session_id: String,
        /// The team that the message names.
        team: String,
    },
    /// The session has another agent.
    #[error("session {session_id:?} has the agent_id {actual:?}, not {given:?}")]
    OtherAgent {
        session_id: String,
        /// The agent id in the message.
        given: String,
        /// The agent id of the session.
        actual: String,
    },
    /// The member's role does not exist.
    #[error("{by} has the role {role:?}, which the team does not define")]
    NoRole { by: MemberId, role: String },
    /// A rule forbids it.
    #[error("{by} may not {action} here: the role {role:?} denies it by the rule {rule:?}")]
    Denied { by: MemberId, action: &'static str, role: String, rule: String },
    /// No rule allows it.
    #[error("{by} may not {action} here: no rule of the role {role:?} allows it")]
    NotAllowed { by: MemberId, action: &'static str, role: String },
    /// The caller may not answer questions of this session.
    #[error(transparent)]
    Caller(#[from] CallerRefusal),
}

impl GateRefusal {
    /// Refuses a message whose session does not exist in the team that the message names.
    pub fn no_session(key: &RequestKey) -> Self {
        Self::NoSession { session_id: key.session.clone(), team: key.team.clone() }
    }

    /// Returns the stable code for programs.
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
