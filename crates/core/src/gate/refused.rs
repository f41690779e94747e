//! Why a message may not go on.

use super::policy::MemberId;
use crate::caller::CallerRefusal;
use crate::reason::Reason;
use crate::request::Key;

/// Why not. As text it is the acknowledgement's detail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The message's own name cannot be one.
    #[error("{0}")]
    RequestId(String),
    /// Another name cannot be one.
    #[error("{0} must have 1 to {max} printable characters", max = super::LONGEST_NAME)]
    Name(&'static str),
    /// A time that cannot be read.
    #[error("{field} must be a time as of RFC 3339, such as 2026-02-20T21:15:00Z, and not {given:?}")]
    NoTime {
        /// Which field.
        field: &'static str,
        /// What it says.
        given: String,
    },
    /// It is too old.
    #[error(
        "sent_at is {age} s ago; at most {allowed} s are allowed. Send it anew, under a new request_id if it may have arrived"
    )]
    TooOld {
        /// How old, in seconds.
        age: u64,
        /// How old it might be.
        allowed: u64,
    },
    /// It comes from the future.
    #[error("sent_at is {by} s ahead of this machine's clock; at most {allowed} s are allowed. Set the sender's clock")]
    Ahead {
        /// How far, in seconds.
        by: u64,
        /// How far it might be.
        allowed: u64,
    },
    /// There is no text.
    #[error("the text is empty")]
    Empty,
    /// The text is too long to be sent inline.
    #[error(
        "the text has {bytes} bytes; at most {allowed} are taken inline. Write it to a file and send a content_ref"
    )]
    TooLong {
        /// How long.
        bytes: usize,
        /// How long it might be.
        allowed: usize,
    },
    /// The text behind the reference is too long.
    #[error("content_ref names {bytes} bytes; at most {allowed} are taken")]
    ReferenceTooLong {
        /// How long.
        bytes: u64,
        /// How long it might be.
        allowed: u64,
    },
    /// The reference has no digest.
    #[error("content_ref.sha256 must have 64 hexadecimal digits")]
    NoDigest,
    /// Who asks has proven nothing.
    #[error("the sender is not proven; send the token of a member of the team")]
    Unproven,
    /// Who asks is somebody else.
    #[error("the sender says to be {claimed:?}, but the token is that of {proven}")]
    NotTheSender {
        /// Who the message says it is from.
        claimed: String,
        /// Who asks.
        proven: MemberId,
    },
    /// Who asks is in another team.
    #[error("{by} is not in team {team:?}; a session is controlled by its own team")]
    OtherTeam {
        /// Who asks.
        by: MemberId,
        /// The team that the message names.
        team: String,
    },
    /// Who asks was a member once.
    #[error("{0} is not a member any more")]
    NoMember(MemberId),
    /// The session is another team's; not told apart from one that there is not.
    #[error("there is no session {session_id:?} in team {team:?}")]
    NoSession {
        /// Which.
        session_id: String,
        /// Whose it would be.
        team: String,
    },
    /// The session has another agent.
    #[error("session {session_id:?} has agent_id {actual:?}, not {given:?}")]
    OtherAgent {
        /// Which session.
        session_id: String,
        /// What the message says.
        given: String,
        /// What it is.
        actual: String,
    },
    /// The member's role does not exist.
    #[error("{by} has the role {role:?}, which the team does not define; nothing is allowed")]
    NoRole {
        /// Who asks.
        by: MemberId,
        /// Which role.
        role: String,
    },
    /// A rule forbids it.
    #[error("{by} may not {action} here: the role {role:?} denies it by the rule {rule:?}")]
    Denied {
        /// Who asks.
        by: MemberId,
        /// What.
        action: &'static str,
        /// By which role.
        role: String,
        /// By which rule.
        rule: String,
    },
    /// No rule allows it.
    #[error("{by} may not {action} here: no rule of the role {role:?} allows it")]
    NotAllowed {
        /// Who asks.
        by: MemberId,
        /// What.
        action: &'static str,
        /// By which role.
        role: String,
    },
    /// The caller may not answer for this session.
    #[error(transparent)]
    Caller(#[from] CallerRefusal),
}

impl Refused {
    /// There is no such session in the team that the message names.
    pub fn no_session(key: &Key) -> Self {
        Self::NoSession { session_id: key.session.clone(), team: key.team.clone() }
    }

    /// The reason, for programs.
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
