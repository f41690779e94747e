//! Teams, their members, and what a role allows. What is not allowed is denied.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::caller::{Origin, Standing};

/// All teams.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// By name.
    pub teams: BTreeMap<String, Team>,
}

/// One team.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Team {
    /// By name.
    pub members: BTreeMap<String, Member>,
    /// By name. Without one called `member`, that role allows everything.
    pub roles: BTreeMap<String, Role>,
}

impl Team {
    /// The role of who has none of their own.
    pub const PLAIN: &'static str = "member";

    /// The role of this name.
    pub fn role(&self, name: &str) -> Option<Role> {
        let plain = || (name == Self::PLAIN).then(|| Role { allow: vec![Rule::EVERYTHING], deny: vec![] });
        self.roles.get(name).cloned().or_else(plain)
    }
}

/// Somebody in a team.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    /// Another name of the same member, as the original's `agentId`.
    pub alias: Option<String>,
    /// Their role; [`Team::PLAIN`] when absent.
    pub role: Option<String>,
}

/// What a role allows. A denial wins over what allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Role {
    /// Any of these is needed.
    pub allow: Vec<Rule>,
    /// None of these may be met.
    pub deny: Vec<Rule>,
}

/// What can be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Give a session a text.
    Stdin,
    /// Interrupt it.
    Interrupt,
    /// Answer its questions.
    Answer,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Stdin, Self::Interrupt, Self::Answer];

    /// As rules name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdin => "stdin",
            Self::Interrupt => "interrupt",
            Self::Answer => "answer",
        }
    }
}

/// `ACTION` or `ACTION@SESSION`: an action or `*`, and a session by its id, its agent's id or its name, where a `*` at the end stands for
/// anything. `stdin@codex:*`, `answer@reviewer`, `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    action: Option<Action>,
    session: Option<String>,
}

/// A text that is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no rule; write ACTION or ACTION@SESSION, with stdin, interrupt, answer or *, such as stdin@codex:*")]
pub struct InvalidRule(String);

impl FromStr for Rule {
    type Err = InvalidRule;

    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        let invalid = || InvalidRule(text.to_owned());
        let (action, session) = match text.split_once('@') {
            Some((_, "")) => return Err(invalid()),
            Some((action, session)) => (action, Some(session.to_owned())),
            None => (text, None),
        };
        let action = match action {
            "*" => None,
            name => Some(Action::ALL.into_iter().find(|action| action.as_str() == name).ok_or_else(invalid)?),
        };
        Ok(Self { action, session })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.action.map_or("*", Action::as_str))?;
        match &self.session {
            Some(session) => write!(formatter, "@{session}"),
            None => Ok(()),
        }
    }
}

impl Rule {
    /// Every action, on every session.
    pub const EVERYTHING: Self = Self { action: None, session: None };

    /// Whether it is about this action on a session of these names. A rule for certain sessions is not about what has none.
    pub(super) fn meets(&self, action: Action, names: &[&str]) -> bool {
        let session = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => names.iter().any(|name| name.starts_with(beginning)),
            None => names.contains(&pattern),
        };
        self.action.is_none_or(|own| own == action) && self.session.as_deref().is_none_or(session)
    }
}

/// A member, by team and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId {
    /// The team.
    pub team: String,
    /// The name in it.
    pub member: String,
}

impl fmt::Display for MemberId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.member, self.team)
    }
}

/// Who asks, as far as the connection proves it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Principal {
    /// Whose credential was shown.
    pub member: Option<MemberId>,
    /// Where the calling process runs.
    pub origin: Origin,
}

impl Principal {
    /// A member that calls from outside every session.
    pub fn member(team: impl Into<String>, member: impl Into<String>) -> Self {
        let member = MemberId { team: team.into(), member: member.into() };
        Self { member: Some(member), origin: Origin::Outside }
    }
}

/// The session that a message names, as the daemon knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its id.
    pub session_id: String,
    /// Its agent's id.
    pub agent_id: String,
    /// What people call it.
    pub name: String,
    /// Whose it is.
    pub team: String,
    /// A program in a terminal, which asks on its screen.
    pub terminal: bool,
    /// Decides which callers may answer for the session.
    pub standing: Standing,
}
