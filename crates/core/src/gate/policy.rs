//! Access rules: teams, their members, and the roles of the members. An action that no rule allows is refused.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::caller::{Origin, SessionLineage};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Teams by team name.
    pub teams: BTreeMap<String, Team>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Team {
    /// Members by member name.
    pub members: BTreeMap<String, Member>,
    /// Roles by role name. If the role `member` is missing, it allows every action.
    pub roles: BTreeMap<String, Role>,
}

impl Team {
    /// Role of a member for whom no role is configured.
    pub const DEFAULT_ROLE: &'static str = "member";

    /// Returns the rules of the role with this name.
    pub fn role(&self, name: &str) -> Option<Role> {
        let plain = || (name == Self::DEFAULT_ROLE).then(|| Role { allow: vec![Rule::EVERYTHING], deny: vec![] });
        self.roles.get(name).cloned().or_else(plain)
    }
}

/// Configuration of a team member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    /// Alternative name that the member may use as sender; `agentId` in the team's configuration file.
    pub alias: Option<String>,
    /// Role of the member; [`Team::DEFAULT_ROLE`] if `None`.
    pub role: Option<String>,
}

/// Rules of a role. An action is allowed if an `allow` rule matches and no `deny` rule does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Role {
    /// Rules that allow an action. At least one of them must match.
    pub allow: Vec<Rule>,
    /// Rules that deny an action. None of them may match.
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

    /// Returns the name of the action in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdin => "stdin",
            Self::Interrupt => "interrupt",
            Self::Answer => "answer",
        }
    }
}

/// Rule for actions, written `ACTION` or `ACTION@SESSION`. `*` stands for every action. SESSION is the id or the name
/// of the session, or the id of its agent; a trailing `*` matches any ending. Examples: `stdin@codex:*`,
/// `answer@reviewer`, `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    action: Option<Action>,
    session: Option<String>,
}

/// Error for a text that is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a valid rule; use ACTION or ACTION@SESSION, where ACTION is stdin, interrupt, answer or *")]
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
    /// Rule that matches every action on every session.
    pub const EVERYTHING: Self = Self { action: None, session: None };

    /// True if the rule applies to this action on a session with these names. A rule with a session pattern does not
    /// match if `names` is empty.
    pub(super) fn matches(&self, action: Action, names: &[&str]) -> bool {
        let session = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => names.iter().any(|name| name.starts_with(beginning)),
            None => names.contains(&pattern),
        };
        self.action.is_none_or(|own| own == action) && self.session.as_deref().is_none_or(session)
    }
}

/// Name of a member and of the member's team.
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

/// Caller of a control message: the authenticated member and the location of the calling process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Principal {
    /// Member to whom the presented credential belongs; `None` without a valid credential.
    pub member: Option<MemberId>,
    /// Location of the calling process.
    pub origin: Origin,
}

impl Principal {
    /// Creates a principal for this member whose process is outside every session.
    pub fn member(team: impl Into<String>, member: impl Into<String>) -> Self {
        let member = MemberId { team: team.into(), member: member.into() };
        Self { member: Some(member), origin: Origin::Outside }
    }
}

/// Properties of the session that a message names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlTarget {
    pub session_id: String,
    pub agent_id: String,
    /// Session name given by the user.
    pub name: String,
    /// Team that owns the session.
    pub team: String,
    /// True if the session runs a terminal program. The questions of such a program are visible only on its screen.
    pub terminal: bool,
    /// Creators of the session. They determine which callers may answer for the session.
    pub lineage: SessionLineage,
}
