//! Teams, their members, and the rules of roles. An action that no rule allows is denied.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::caller::{Origin, SessionLineage};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Teams by name.
    pub teams: BTreeMap<String, Team>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Team {
    /// Members by name.
    pub members: BTreeMap<String, Member>,
    /// Roles by name. The role `member`, unless defined here, allows everything.
    pub roles: BTreeMap<String, Role>,
}

impl Team {
    /// Role of a member without a role.
    pub const DEFAULT_ROLE: &'static str = "member";

    /// Returns the role with this name.
    pub fn role(&self, name: &str) -> Option<Role> {
        let plain = || (name == Self::DEFAULT_ROLE).then(|| Role { allow: vec![Rule::EVERYTHING], deny: vec![] });
        self.roles.get(name).cloned().or_else(plain)
    }
}

/// A member of a team.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    /// Second accepted name of the member, `agentId` in the original protocol.
    pub alias: Option<String>,
    /// Role of the member; [`Team::DEFAULT_ROLE`] if `None`.
    pub role: Option<String>,
}

/// Rules of a role. Denials take precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Role {
    /// At least one of these rules must match.
    pub allow: Vec<Rule>,
    /// None of these rules may match.
    pub deny: Vec<Rule>,
}

/// Action that a rule can allow or deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Sends a text to a session.
    Stdin,
    /// Interrupts a session.
    Interrupt,
    /// Answers a question of a session.
    Answer,
}

impl Action {
    pub const ALL: [Self; 3] = [Self::Stdin, Self::Interrupt, Self::Answer];

    /// Returns the name that rules use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdin => "stdin",
            Self::Interrupt => "interrupt",
            Self::Answer => "answer",
        }
    }
}

/// Rule `ACTION` or `ACTION@SESSION`. The action may be `*`. The session is matched by its id, its agent's id or its
/// name, and a trailing `*` matches any ending. Examples: `stdin@codex:*`, `answer@reviewer`, `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    action: Option<Action>,
    session: Option<String>,
}

/// Error of a text that is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a rule; write ACTION or ACTION@SESSION, with stdin, interrupt, answer or *, such as stdin@codex:*"
)]
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
    /// Matches every action on every session.
    pub const EVERYTHING: Self = Self { action: None, session: None };

    /// True if the rule applies to this action on a session with these names. A rule with a session pattern never
    /// matches without names.
    pub(super) fn matches(&self, action: Action, names: &[&str]) -> bool {
        let session = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => names.iter().any(|name| name.starts_with(beginning)),
            None => names.contains(&pattern),
        };
        self.action.is_none_or(|own| own == action) && self.session.as_deref().is_none_or(session)
    }
}

/// Member name with its team.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId {
    pub team: String,
    pub member: String,
}

impl fmt::Display for MemberId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.member, self.team)
    }
}

/// Authenticated identity of a caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Principal {
    /// Member whose credential was presented.
    pub member: Option<MemberId>,
    /// Location of the calling process.
    pub origin: Origin,
}

impl Principal {
    /// Returns a member that calls from outside every session.
    pub fn member(team: impl Into<String>, member: impl Into<String>) -> Self {
        let member = MemberId { team: team.into(), member: member.into() };
        Self { member: Some(member), origin: Origin::Outside }
    }
}

/// State of the session that a message names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub session_id: String,
    pub agent_id: String,
    /// Name given by the user.
    pub name: String,
    /// Team that owns the session.
    pub team: String,
    /// True for a terminal program, whose questions are only on its screen.
    pub terminal: bool,
    /// Determines which callers may answer for the session.
    pub lineage: SessionLineage,
}
