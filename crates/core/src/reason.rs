//! Refusal and failure codes shared by every interface. Clients compare the codes; each interface writes its own
//! human-readable error messages.

use serde::{Deserialize, Serialize};

/// Reason why a command is refused or fails. The code of a reason is the variant name in snake case, and never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The command has no content.
    Empty,
    /// The text or the input exceeds the maximum length.
    TooLong,
    /// A field of the message is invalid.
    InvalidField,
    /// The message was sent too long ago.
    TooOld,
    /// The sender's clock is ahead of the local clock.
    ClockSkew,
    /// The sender is not authenticated.
    UnprovenSender,
    /// The presented credential does not belong to the sender that the message names.
    OtherSender,
    /// The sender is in another team than the session.
    OtherTeam,
    /// The sender is no longer a member of the team.
    NoMember,
    /// The team does not define the sender's role.
    NoRole,
    /// A rule of the sender's role denies the action.
    Denied,
    /// No rule of the sender's role allows the action.
    NotAllowed,
    /// The agent id in the message is not the agent id of the session.
    OtherAgent,
    /// The caller runs inside the target session, and may not answer that session's questions.
    OwnQuestion,
    /// The caller runs inside a session that did not create the target session.
    InsideSession,
    /// The location of the calling process is unknown: the process has exited or cannot be traced.
    Untraceable,
    /// Only a caller outside every session may create a session with `--person`.
    PersonRefused,
    /// The referenced file is outside the team's folder.
    RefOutside,
    /// The type of the referenced file is not supported.
    RefMime,
    /// The referenced file does not exist.
    RefMissing,
    /// The referenced file exists, but cannot be read.
    RefUnreadable,
    /// The size of the referenced file differs from the stated size.
    RefSize,
    /// The digest of the referenced file differs from the stated digest.
    RefDigest,
    /// The referenced file is not valid UTF-8.
    RefNotUtf8,
    /// The reference to the file has expired.
    RefExpired,
    /// A queue is full or the session is busy; a retry may succeed.
    Busy,
    /// The session has ended, or the program or the agent has exited.
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
    /// A question of the agent is open on its screen. Typed text could answer the question.
    QuestionOpen,
    /// No question has this id.
    NoQuestion,
    /// The question is already closed.
    QuestionClosed,
    /// The answer does not fit the question: for example, the question has no option with the given id.
    WrongAnswer,
    /// No open stream has this id.
    NoStream,
    /// No turn is running, so there is nothing to interrupt.
    NothingToInterrupt,
    /// No message or acknowledgement matches the selector.
    NothingChosen,
    /// The command is unknown.
    UnknownCommand,
    /// The agent or the program does not support the command.
    NotSupported,
    /// The caller set `literal`, but the agent would interpret the first character of the text.
    NotLiteral,
    /// The text may run a shell command, and the caller did not set `allow_shell`.
    ShellNotAllowed,
    /// The command was executed and failed.
    Failed,
    /// The request id was already used for another command, content or sender.
    RequestIdReused,
    /// Too many request ids are stored.
    TooManyRequests,
    /// The command could not be stored, and was not executed.
    Store,
    /// The command was executed, and its result could not be stored.
    NotWritten,
    /// The first command with this request id is still running.
    UnderWay,
    /// The first command with this request id was executed and failed.
    AlreadyTried,
    /// `wh` exited before the command finished.
    CutOff,
    /// The turn that the command started was interrupted.
    Cancelled,
    /// The program has not read the earlier input.
    Unread,
    /// The input may or may not have been delivered.
    NotKnown,
    /// An interrupt discarded the input before the program had read it.
    Interrupted,
    /// A terminal is attached and determines the size.
    Attached,
    /// The program has not enabled this kind of input, such as mouse events.
    NotWanted,
    /// The cell of the mouse event is outside the screen.
    OffScreen,
    /// The session has no process that could receive a signal.
    NoProcess,
    /// The session has reached the maximum number of open waits.
    TooManyWaits,
}

impl Reason {
    /// Returns the stable code, such as `too_long`.
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
            Self::QuestionOpen => "question_open",
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
