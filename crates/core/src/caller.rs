//! Decides who may answer the questions of a session. A caller inside any session may answer only for sessions that it created,
//! directly or through sessions that it created; everything else needs a caller outside every session. Pure: `wh_client::trace`
//! finds out where a caller runs.

use crate::line::Prefix;
use crate::reason::Reason;

/// Creators that are stored with a session, the nearest first. An ancestor beyond that may no longer answer for it.
pub const MAX_CREATORS: usize = 64;

/// Where a calling process runs, by its nearest ancestor that is a supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Origin {
    /// Outside every session.
    Outside,
    /// Inside this session of this daemon.
    Session(String),
    /// Inside something that is no session of this daemon: a single run, another daemon, or an orphan that this process adopted.
    Elsewhere,
    /// Unknown, which counts as inside: the process is gone, cannot be inspected, or its ancestors changed meanwhile.
    #[default]
    Untraceable,
}

impl Origin {
    /// Everything inside a session that was created with `--person` counts as outside.
    pub fn resolve(self, is_person: impl FnOnce(&str) -> bool) -> Self {
        match self {
            Self::Session(id) if is_person(&id) => Self::Outside,
            other => other,
        }
    }

    /// The creators of a session that a caller from here creates, the nearest first.
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

    /// A mode decides what an agent asks for, so that choosing one for a new session is answering for it: for callers outside and for
    /// those that become its creators.
    pub fn may_choose_mode(&self) -> Result<(), CallerRefusal> {
        match self {
            Self::Outside | Self::Session(_) => Ok(()),
            Self::Elsewhere => Err(CallerRefusal::Inside),
            Self::Untraceable => Err(CallerRefusal::Untraceable),
        }
    }

    /// A session that counts as outside can only be created from outside.
    pub fn may_create_person(&self) -> Result<(), CallerRefusal> {
        match self {
            Self::Outside => Ok(()),
            Self::Session(_) | Self::Elsewhere | Self::Untraceable => Err(CallerRefusal::Person),
        }
    }
}

/// A request that may answer a question, or make one needless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Answers a question.
    Answer,
    /// Runs a slash command, or does what one does: choosing a mode, starting an agent, logging in.
    Command,
    /// Types where a question may be shown. What a terminal program asks on its screen is not known to wh, and the UI of an agent
    /// also takes slash commands, so that typing always counts.
    Type,
    /// Attaches a terminal, which types.
    Attach,
    /// Sends a chat message to an agent. It answers no question, unless it is a slash command (`command`).
    Say {
        /// The text begins with a slash.
        command: bool,
    },
}

impl Act {
    /// A chat message with this text.
    pub fn say(text: &str) -> Self {
        Self::Say { command: Prefix::seen_in(text) == Some(Prefix::Command) }
    }
}

/// The session that a request is for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// Its id; `None` for a single run.
    pub session: Option<String>,
    /// The sessions that created it, the nearest first. Empty if it was created from outside.
    pub creators: Vec<String>,
    /// It has created sessions. Whatever it is told may then be an order to answer for them.
    pub has_created: bool,
    /// It counts as outside. Whatever is typed into it is then done as if from outside.
    pub person: bool,
}

impl Standing {
    /// Allows or refuses one request.
    pub fn admit(&self, origin: &Origin, act: Act) -> Result<(), CallerRefusal> {
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

    fn counts(&self, act: Act) -> bool {
        match act {
            Act::Answer | Act::Command | Act::Type | Act::Attach => true,
            Act::Say { command } => command || self.has_created || self.person,
        }
    }
}

/// Why a caller was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallerRefusal {
    /// It runs inside the session that it would answer for.
    #[error(
        "a process of session {0:?} may not answer that session's own questions, nor type or run commands there; do it from a terminal outside of wh's sessions"
    )]
    OwnQuestion(String),
    /// It runs inside a session that did not create this one.
    #[error(
        "a process inside a session may not answer, type or run commands in a session that it did not create; do it from a terminal outside of wh's sessions, or in a shell that was started with wh new --person"
    )]
    Inside,
    /// It cannot be said where it runs.
    #[error(
        "the process that opened this connection is gone or cannot be traced; it may run inside a session, and so may not answer, type or run commands here. Use a connection of your own, from a terminal outside of wh's sessions"
    )]
    Untraceable,
    /// It wants a session that counts as outside.
    #[error(
        "only a caller outside every session can create one with --person; use a terminal outside of wh's sessions"
    )]
    Person,
}

impl CallerRefusal {
    /// Stable code for programs.
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

    fn standing(creators: &[&str]) -> Standing {
        let creators = creators.iter().map(|&id| id.to_owned()).collect();
        Standing { session: Some("own".to_owned()), creators, ..Standing::default() }
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
            for act in [Act::Answer, Act::Command, Act::Type, Act::Attach, Act::say(" /mode x")] {
                let outcome = standing(&["parent", "grandparent"]).admit(&origin, act);
                assert_eq!(outcome.map_err(|refusal| refusal.reason().code()), expected, "{origin:?} {act:?}");
            }
        }
        assert_eq!(Standing::default().admit(&inside("x"), Act::Type), Err(CallerRefusal::Inside), "a single run");
        assert_eq!(Standing::default().admit(&Origin::Outside, Act::Type), Ok(()));
    }

    #[test]
    fn a_message_is_an_answer_where_it_may_be_an_order_to_answer() {
        let hello = Act::say("hello /mode");
        let table = [
            (standing(&[]), Ok(())),
            (Standing { has_created: true, ..standing(&[]) }, Err(CallerRefusal::Inside)),
            (Standing { person: true, ..standing(&[]) }, Err(CallerRefusal::Inside)),
            (Standing { has_created: true, ..standing(&["other"]) }, Ok(())),
        ];
        for (standing, expected) in table {
            assert_eq!(standing.admit(&inside("other"), hello), expected, "{standing:?}");
            assert_eq!(standing.admit(&Origin::Outside, hello), Ok(()), "{standing:?}");
        }
    }

    #[test]
    fn a_slash_behind_what_shows_nothing_is_a_command() {
        for text in [
            "/mode x",
            "  /mode x",
            "\u{feff}/mode x",
            "\n\t\u{200b}/mode x",
            "\0/mode x",
            "\u{202e}\u{34f}\u{3164}\u{fe0f}/mode x",
        ] {
            assert_eq!(Act::say(text), Act::Say { command: true }, "{text:?}");
        }
        assert_eq!(Act::say("a /mode x"), Act::Say { command: false });
    }

    #[test]
    fn a_mode_is_chosen_for_a_new_session_by_those_who_may_answer_for_it() {
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
