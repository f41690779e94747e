//! Reasons for which a command is refused or fails, one list for every interface. Programs compare the codes; the words for
//! people are made where they are shown.

use serde::{Deserialize, Serialize};

/// Why a command was refused or failed. The code of each is its name in snake case, and never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It asks for nothing.
    Empty,
    /// It is too long.
    TooLong,
    /// A field of it cannot be read.
    InvalidField,
    /// It was sent too long ago.
    TooOld,
    /// The sender's clock is ahead of ours.
    ClockSkew,
    /// Nothing proves who sent it.
    UnprovenSender,
    /// The credential belongs to another sender.
    OtherSender,
    /// The sender is in another team.
    OtherTeam,
    /// The sender is no member any more.
    NoMember,
    /// The sender's role is not defined.
    NoRole,
    /// A rule denies it.
    Denied,
    /// No rule allows it.
    NotAllowed,
    /// The session has another agent.
    OtherAgent,
    /// The caller runs inside the session that it would answer for.
    OwnQuestion,
    /// The caller runs inside a session that did not create this one.
    InsideSession,
    /// It is not known where the caller runs.
    Untraceable,
    /// Only a caller outside every session may create one that counts as outside.
    PersonRefused,
    /// The referenced file is outside of the team's folder.
    RefOutside,
    /// The referenced file is of a type that is not read.
    RefMime,
    /// There is no such referenced file.
    RefMissing,
    /// The referenced file cannot be read.
    RefUnreadable,
    /// The referenced file has another size.
    RefSize,
    /// The referenced file has another digest.
    RefDigest,
    /// The referenced file is not UTF-8.
    RefNotUtf8,
    /// The reference has expired.
    RefExpired,
    /// Enough waits already; later it may succeed.
    Busy,
    /// The session, its program or its agent has ended.
    Ended,
    /// There is no such session.
    NoSession,
    /// Nobody of this name takes part.
    NoParticipant,
    /// There is no such agent.
    NoAgent,
    /// There is no such conversation.
    NoConversation,
    /// It needs a conversation, and the session is a plain terminal program.
    PlainProgram,
    /// There is no such question.
    NoQuestion,
    /// The question was closed before.
    QuestionClosed,
    /// The question does not have this answer.
    WrongAnswer,
    /// There is no such stream.
    NoStream,
    /// Nothing is under way that could be interrupted.
    NothingToInterrupt,
    /// Nothing waits that it could choose.
    NothingChosen,
    /// There is no such command.
    UnknownCommand,
    /// The agent or the program cannot do that.
    NotSupported,
    /// The agent would interpret the beginning of a literal text.
    NotLiteral,
    /// The text would run a shell command, which was not allowed.
    ShellNotAllowed,
    /// It was tried and failed.
    Failed,
    /// The request id belongs to another command or sender.
    RequestIdReused,
    /// Too many request ids are remembered.
    TooManyRequests,
    /// It could not be stored, and was not carried out.
    Store,
    /// It was carried out, and that could not be stored.
    NotWritten,
    /// The first command of the same id is still under way.
    UnderWay,
    /// The first command of the same id was tried, and did not end well.
    AlreadyTried,
    /// wh ended while it was under way.
    CutOff,
    /// Its turn was interrupted.
    Cancelled,
    /// It waits for a program that does not read.
    Unread,
    /// It is not known whether it arrived.
    NotKnown,
    /// An interrupt discarded it before the program had read it.
    Interrupted,
    /// A person's terminal decides.
    Attached,
    /// The terminal's mode has no such input.
    NotWanted,
    /// There is no such cell on the screen.
    OffScreen,
    /// There is no process that could take a signal.
    NoProcess,
    /// Too many waits are open.
    TooManyWaits,
}

impl Reason {
    /// The code by which programs know it.
    pub fn code(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLong => "too_long",
            Self::InvalidField => "invalid_field",
            Self::TooOld => "too_old",
            Self::ClockSkew => "clock_skew",
            Self::UnprovenSender => "unproven_sender",
            Self::OtherSender => "other_sender",
            Self::OtherTeam => "other_team",
            Self::NoMember => "no_member",
            Self::NoRole => "no_role",
            Self::Denied => "denied",
            Self::NotAllowed => "not_allowed",
            Self::OtherAgent => "other_agent",
            Self::OwnQuestion => "own_question",
            Self::InsideSession => "inside_session",
            Self::Untraceable => "untraceable",
            Self::PersonRefused => "person_refused",
            Self::RefOutside => "ref_outside",
            Self::RefMime => "ref_mime",
            Self::RefMissing => "ref_missing",
            Self::RefUnreadable => "ref_unreadable",
            Self::RefSize => "ref_size",
            Self::RefDigest => "ref_digest",
            Self::RefNotUtf8 => "ref_not_utf8",
            Self::RefExpired => "ref_expired",
            Self::Busy => "busy",
            Self::Ended => "ended",
            Self::NoSession => "no_session",
            Self::NoParticipant => "no_participant",
            Self::NoAgent => "no_agent",
            Self::NoConversation => "no_conversation",
            Self::PlainProgram => "plain_program",
            Self::NoQuestion => "no_question",
            Self::QuestionClosed => "question_closed",
            Self::WrongAnswer => "wrong_answer",
            Self::NoStream => "no_stream",
            Self::NothingToInterrupt => "nothing_to_interrupt",
            Self::NothingChosen => "nothing_chosen",
            Self::UnknownCommand => "unknown_command",
            Self::NotSupported => "not_supported",
            Self::NotLiteral => "not_literal",
            Self::ShellNotAllowed => "shell_not_allowed",
            Self::Failed => "failed",
            Self::RequestIdReused => "request_id_reused",
            Self::TooManyRequests => "too_many_requests",
            Self::Store => "store",
            Self::NotWritten => "not_written",
            Self::UnderWay => "under_way",
            Self::AlreadyTried => "already_tried",
            Self::CutOff => "cut_off",
            Self::Cancelled => "cancelled",
            Self::Unread => "unread",
            Self::NotKnown => "not_known",
            Self::Interrupted => "interrupted",
            Self::Attached => "attached",
            Self::NotWanted => "not_wanted",
            Self::OffScreen => "off_screen",
            Self::NoProcess => "no_process",
            Self::TooManyWaits => "too_many_waits",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receipts are stored with the serialized form, and clients compare the code.
    #[test]
    fn a_code_is_the_serialized_name() {
        for reason in [Reason::RequestIdReused, Reason::RefNotUtf8, Reason::CutOff, Reason::NoSession] {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.code());
        }
    }
}
