//! Refusal and failure codes shared by every interface. Clients compare the codes; the interfaces write the messages
//! for people.

use serde::{Deserialize, Serialize};

/// Reason for which a command is refused or fails. The code of a variant is its name in snake case, and never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The command has no content.
    Empty,
    /// The text or input is too long.
    TooLong,
    /// A field is invalid.
    InvalidField,
    /// The message was sent too long ago.
    TooOld,
    /// The sender's clock is ahead of the local clock.
    ClockSkew,
    /// The sender is not authenticated.
    UnprovenSender,
    /// The credential belongs to another sender.
    OtherSender,
    /// The sender is in another team.
    OtherTeam,
    /// The sender is no longer a member of the team.
    NoMember,
    /// The sender's role is not defined.
    NoRole,
    /// A rule denies the action.
    Denied,
    /// No rule allows the action.
    NotAllowed,
    /// The session has another agent.
    OtherAgent,
    /// The caller runs inside the session that the answer is for.
    OwnQuestion,
    /// The caller runs inside a session that did not create this one.
    InsideSession,
    /// The location of the caller cannot be determined.
    Untraceable,
    /// Only a caller outside every session may create a session with `--person`.
    PersonRefused,
    /// The referenced file is outside the team's folder.
    RefOutside,
    /// The type of the referenced file is not supported.
    RefMime,
    /// The referenced file does not exist.
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
    /// A queue is full or the session is busy; a retry may succeed.
    Busy,
    /// The session, its program or its agent has ended.
    Ended,
    /// The session does not exist.
    NoSession,
    /// No participant has this name.
    NoParticipant,
    /// No agent has this id.
    NoAgent,
    /// The conversation does not exist.
    NoConversation,
    /// The command needs a conversation, and the session is a plain terminal program.
    PlainProgram,
    /// No question has this id.
    NoQuestion,
    /// The question was closed before.
    QuestionClosed,
    /// The question does not have this answer.
    WrongAnswer,
    /// No open stream has this id.
    NoStream,
    /// No turn is running that could be interrupted.
    NothingToInterrupt,
    /// No message or acknowledgement matches the selector.
    NothingChosen,
    /// The command is unknown.
    UnknownCommand,
    /// The agent or the program does not support the command.
    NotSupported,
    /// The agent would interpret the beginning of a text that was sent as literal.
    NotLiteral,
    /// The text may run a shell command, which the caller did not allow.
    ShellNotAllowed,
    /// The command was executed and failed.
    Failed,
    /// The request id was used by another command or sender.
    RequestIdReused,
    /// Too many request ids are stored.
    TooManyRequests,
    /// The command could not be stored, and was not executed.
    Store,
    /// The command was executed, and the result could not be stored.
    NotWritten,
    /// The first command with this request id is still running.
    UnderWay,
    /// The first command with this request id was executed and failed.
    AlreadyTried,
    /// `wh` ended while the command was running.
    CutOff,
    /// The turn of the command was interrupted.
    Cancelled,
    /// The program has not read its earlier input.
    Unread,
    /// Delivery is uncertain.
    NotKnown,
    /// An interrupt discarded the input before the program had read it.
    Interrupted,
    /// The attached terminal determines the size.
    Attached,
    /// The terminal mode does not accept this input.
    NotWanted,
    /// The cell is outside the screen.
    OffScreen,
    /// No process is running that could receive a signal.
    NoProcess,
    /// Too many waits are open.
    TooManyWaits,
}

impl Reason {
    /// Returns the stable code for programs.
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
