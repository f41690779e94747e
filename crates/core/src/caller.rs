//! Access control by the location of the caller, which `wh_client::trace` determines. A caller outside every session
//! may answer the questions of all sessions. A caller inside a session may answer only for sessions that its own
//! session created, directly or through other sessions.

use crate::line::LinePrefix;
use crate::reason::Reason;

/// Maximum number of creators stored with a session: the session that created it, the creator of that session, and so
/// on. A creator beyond the maximum may not answer for the session.
pub const MAX_CREATORS: usize = 64;

/// Location of a calling process, determined by its nearest ancestor that is a supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Origin {
    /// The caller is outside every session.
    Outside,
    /// The caller is inside the session with this id, which belongs to this daemon.
    Session(String),
    /// The caller is inside a session that does not belong to this daemon (a single run, or a session of another
    /// daemon), or is an orphan that this process has adopted.
    Elsewhere,
    /// The location is unknown, and counts as inside a session. The process has exited or cannot be inspected, or its
    /// ancestors changed during the inspection.
    #[default]
    Untraceable,
}

impl Origin {
    /// Returns `Outside` for a caller inside a session that was created with `--person`, and any other origin
    /// unchanged.
    pub fn resolve(self, is_person: impl FnOnce(&str) -> bool) -> Self {
        match self {
            Self::Session(id) if is_person(&id) => Self::Outside,
            other => other,
        }
    }

    /// Returns the creators to store with a session that this caller creates, nearest first.
    pub fn creators(&self, creators_of: impl FnOnce(&str) -> Vec<String>) -> Vec<String> {
        match self {
            Self::Session(id) => {
                let mut creators = vec![id.clone()];
                creators.extend(creators_of(id));
                creators.truncate(MAX_CREATORS);
                creators
            }
            Self::Outside | Self::Elsewhere | Self::Untraceable => Vec::new(),
        }
    }

    /// Checks if this caller may choose the mode of a session that it creates. The mode determines which questions the
    /// agent asks: choosing a mode counts as answering for the new session.
    pub fn may_choose_mode(&self) -> Result<(), CallerRefusal> {
        match self {
            Self::Outside | Self::Session(_) => Ok(()),
            Self::Elsewhere => Err(CallerRefusal::Inside),
            Self::Untraceable => Err(CallerRefusal::Untraceable),
        }
    }

    /// Checks if this caller may create a session with `--person`. Callers inside such a session count as outside.
    pub fn may_create_person(&self) -> Result<(), CallerRefusal> {
        match self {
            Self::Outside => Ok(()),
            Self::Session(_) | Self::Elsewhere | Self::Untraceable => Err(CallerRefusal::Person),
        }
    }
}

/// Request that may answer a question of an agent, or may prevent the agent from asking a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardedAction {
    /// Answers a question of the session.
    Answer,
    /// Runs a slash command or an equivalent request: chooses a mode, starts an agent, logs in.
    Command,
    /// Types into a terminal. Always checked: `wh` cannot recognise the questions of a terminal program, and the UI of
    /// an agent accepts slash commands.
    Type,
    /// Attaches a terminal, through which the user can type.
    Attach,
    /// Sends a chat message to an agent. A message answers no question, unless it is a slash command.
    Say {
        /// True if the text begins with a slash.
        command: bool,
    },
}

impl GuardedAction {
    /// Returns the action of a chat message with this text.
    pub fn message(text: &str) -> Self {
        Self::Say { command: LinePrefix::seen_in(text) == Some(LinePrefix::Command) }
    }
}

/// Creators of the session that receives a request, and the rights of callers inside this session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionLineage {
    /// Session id; `None` for a single run.
    pub session: Option<String>,
    /// Sessions that created this session, nearest first. Empty if a caller outside every session created this session.
    pub creators: Vec<String>,
    /// True if the session has created other sessions. A message to this session may then tell its agent to answer
    /// questions of those sessions.
    pub has_created: bool,
    /// True if callers inside the session count as outside (`--person`). Input to the session then has the rights of a
    /// caller outside every session.
    pub person: bool,
}

impl SessionLineage {
    /// Checks if a caller with this origin may perform the action on the session.
    pub fn admit(&self, origin: &Origin, act: GuardedAction) -> Result<(), CallerRefusal> {
        if !self.counts(act) {
            return Ok(());
        }
        match origin {
            Origin::Outside => Ok(()),
            Origin::Session(id) if self.creators.contains(id) => Ok(()),
            Origin::Session(id) if self.session.as_ref() == Some(id) => Err(CallerRefusal::OwnQuestion(id.clone())),
            Origin::Session(_) | Origin::Elsewhere => Err(CallerRefusal::Inside),
            Origin::Untraceable => Err(CallerRefusal::Untraceable),
        }
    }

    fn counts(&self, act: GuardedAction) -> bool {
        match act {
            GuardedAction::Answer | GuardedAction::Command | GuardedAction::Type | GuardedAction::Attach => true,
            GuardedAction::Say { command } => command || self.has_created || self.person,
        }
    }
}

/// Reason why a caller may not perform an action on a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallerRefusal {
    /// The caller runs inside the target session, and may not answer that session's questions.
    #[error(
        "a process of session {0:?} may not answer questions, type or run commands in that session; use a terminal outside of wh's sessions"
    )]
    OwnQuestion(String),
    /// The caller runs inside a session that did not create the target session.
    #[error(
        "a process inside a session may not answer questions, type or run commands in a session that it did not create; use a terminal outside of wh's sessions, or a shell that was started with wh new --person"
    )]
    Inside,
    /// The location of the calling process is unknown: the process has exited or cannot be traced.
    #[error(
        "the process that opened this connection has exited or cannot be traced, so it counts as a process inside a session and may not answer questions, type or run commands here; open a new connection from a terminal outside of wh's sessions"
    )]
    Untraceable,
    /// The caller runs inside a session and wants to create a session with `--person`.
    #[error(
        "only a caller outside every session can create a session with --person; use a terminal outside of wh's sessions"
    )]
    Person,
}

impl CallerRefusal {
    /// Returns the stable code of the refusal.
    pub fn reason(&self) -> Reason {
        match self {
            Self::OwnQuestion(_) => Reason::OwnQuestion,
            Self::Inside => Reason::InsideSession,
            Self::Untraceable => Reason::Untraceable,
            Self::Person => Reason::PersonRefused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(id: &str) -> Origin {
        Origin::Session(id.to_owned())
    }

    fn standing(creators: &[&str]) -> SessionLineage {
        let creators = creators.iter().map(|&id| id.to_owned()).collect();
        SessionLineage { session: Some("own".to_owned()), creators, ..SessionLineage::default() }
    }

    #[test]
    fn only_creators_and_those_outside_may_answer() {
        let table = [
            (Origin::Outside, Ok(())),
            (inside("parent"), Ok(())),
            (inside("grandparent"), Ok(())),
            (inside("own"), Err("own_question")),
            (inside("sibling"), Err("inside_session")),
            (inside("child"), Err("inside_session")),
            (Origin::Elsewhere, Err("inside_session")),
            (Origin::Untraceable, Err("untraceable")),
        ];
        for (origin, expected) in table {
            for act in [
                GuardedAction::Answer,
                GuardedAction::Command,
                GuardedAction::Type,
                GuardedAction::Attach,
                GuardedAction::message(" /mode x"),
            ] {
                let outcome = standing(&["parent", "grandparent"]).admit(&origin, act);
                assert_eq!(outcome.map_err(|refusal| refusal.reason().code()), expected, "{origin:?} {act:?}");
            }
        }
        assert_eq!(
            SessionLineage::default().admit(&inside("x"), GuardedAction::Type),
            Err(CallerRefusal::Inside),
            "a single run"
        );
        assert_eq!(SessionLineage::default().admit(&Origin::Outside, GuardedAction::Type), Ok(()));
    }

    #[test]
    fn a_message_is_an_answer_where_it_may_be_an_order_to_answer() {
        let hello = GuardedAction::message("hello /mode");
        let table = [
            (standing(&[]), Ok(())),
            (SessionLineage { has_created: true, ..standing(&[]) }, Err(CallerRefusal::Inside)),
            (SessionLineage { person: true, ..standing(&[]) }, Err(CallerRefusal::Inside)),
            (SessionLineage { has_created: true, ..standing(&["other"]) }, Ok(())),
        ];
        for (standing, expected) in table {
            assert_eq!(standing.admit(&inside("other"), hello), expected, "{standing:?}");
            assert_eq!(standing.admit(&Origin::Outside, hello), Ok(()), "{standing:?}");
        }
    }

    #[test]
    fn a_slash_after_hidden_characters_is_a_command() {
        for text in [
            "/mode x",
            "  /mode x",
            "\u{feff}/mode x",
            "\n\t\u{200b}/mode x",
            "\0/mode x",
            "\u{202e}\u{34f}\u{3164}\u{fe0f}/mode x",
        ] {
            assert_eq!(GuardedAction::message(text), GuardedAction::Say { command: true }, "{text:?}");
        }
        assert_eq!(GuardedAction::message("a /mode x"), GuardedAction::Say { command: false });
    }

    #[test]
    fn only_callers_that_may_answer_for_a_new_session_choose_its_mode() {
        assert_eq!((Origin::Outside.may_choose_mode(), inside("a").may_choose_mode()), (Ok(()), Ok(())));
        assert_eq!(Origin::Elsewhere.may_choose_mode(), Err(CallerRefusal::Inside));
        assert_eq!(Origin::Untraceable.may_choose_mode(), Err(CallerRefusal::Untraceable));
    }

    #[test]
    fn creators_are_inherited_and_bounded() {
        let creators =
            |origin: Origin, of: &[&str]| origin.creators(|_| of.iter().map(|&id| id.to_owned()).collect::<Vec<_>>());
        assert_eq!(creators(inside("b"), &["a"]), ["b", "a"]);
        assert_eq!(creators(inside("b"), &["x"; 100]).len(), MAX_CREATORS);
        for origin in [Origin::Outside, Origin::Elsewhere, Origin::Untraceable] {
            assert_eq!(creators(origin, &["a"]), [""; 0]);
        }
    }

    #[test]
    fn a_persons_session_counts_as_outside_and_is_created_from_outside() {
        assert_eq!(inside("p").resolve(|id| id == "p"), Origin::Outside);
        assert_eq!(inside("q").resolve(|id| id == "p"), inside("q"));
        assert_eq!(Origin::Untraceable.resolve(|_| true), Origin::Untraceable);
        assert_eq!(Origin::Outside.may_create_person(), Ok(()));
        for origin in [inside("a"), Origin::Elsewhere, Origin::Untraceable] {
            assert_eq!(origin.may_create_person(), Err(CallerRefusal::Person), "{origin:?}");
        }
    }
}
