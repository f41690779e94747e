//! Whether who asks may: proven, a member, of the team, and by the rules of a role.

use super::Gate;
use super::message::{ControlMessage, ControlPayload, TextSource};
use super::policy::{Action, MemberId, Principal, Target, Team};
use super::refused::Refused;
use crate::caller::Act;

impl Gate {
    pub(super) fn authorise(
        &self,
        message: &ControlMessage<'_>,
        principal: &Principal,
        target: Option<&Target>,
    ) -> Result<MemberId, Refused> {
        let (key, action) = (&message.key, message.payload.action());
        let by = principal.member.as_ref().ok_or(Refused::Unproven)?;
        let alias = || self.policy.teams.get(&by.team)?.members.get(&by.member)?.alias.as_deref();
        if message.sender != by.member && alias() != Some(message.sender) {
            return Err(Refused::NotTheSender { claimed: message.sender.to_owned(), proven: by.clone() });
        }
        let (team, role) = self.membership(by, &key.team)?;
        // A session of another team is treated like none, also by the rules: its own names would tell that it is there.
        let elsewhere = target.is_some_and(|target| target.team != key.team || target.session_id != key.session);
        let target = target.filter(|_| !elsewhere);
        let own_names = [key.session.as_str(), key.agent.as_str()];
        let names: Vec<&str> = target.map(names).unwrap_or_else(|| own_names.to_vec());
        let by = self.apply_rules(by, team, role, action, &names)?;
        if elsewhere {
            return Err(Refused::no_session(key));
        }
        if let Some(target) = target.filter(|target| target.agent_id != key.agent) {
            return Err(Refused::OtherAgent {
                session_id: key.session.clone(),
                given: key.agent.clone(),
                actual: target.agent_id.clone(),
            });
        }
        if let Some(target) = target {
            self.check_caller(message, principal, target)?;
        }
        Ok(by)
    }

    /// Applies the rule of [`crate::caller`]. A text behind a reference is not known yet: see [`check_referenced_text`](Self::check_referenced_text).
    fn check_caller(
        &self,
        message: &ControlMessage<'_>,
        principal: &Principal,
        target: &Target,
    ) -> Result<(), Refused> {
        let act = match message.payload {
            ControlPayload::Interrupt => return Ok(()),
            ControlPayload::Answer { .. } => Act::Answer,
            ControlPayload::Text { .. } if target.terminal => Act::Type,
            ControlPayload::Text { text: TextSource::Inline(text), .. } => Act::say(text),
            ControlPayload::Text { text: TextSource::Reference { .. }, .. } => Act::say(""),
        };
        Ok(target.standing.admit(&principal.origin, act)?)
    }

    /// Checks a text that was read from behind a reference as if it had been sent inline.
    pub fn check_referenced_text(&self, text: &str, principal: &Principal, target: &Target) -> Result<(), Refused> {
        Ok(target.standing.admit(&principal.origin, Act::say(text))?)
    }

    /// The team, and the role of who asks in it.
    fn membership(&self, by: &MemberId, team: &str) -> Result<(&Team, &str), Refused> {
        if by.team != team {
            return Err(Refused::OtherTeam { by: by.clone(), team: team.to_owned() });
        }
        let known = self.policy.teams.get(team);
        let member = known.and_then(|team| team.members.get(&by.member));
        match (known, member) {
            (Some(team), Some(member)) => Ok((team, member.role.as_deref().unwrap_or(Team::PLAIN))),
            _ => Err(Refused::NoMember(by.clone())),
        }
    }

    fn apply_rules(
        &self,
        by: &MemberId,
        team: &Team,
        role: &str,
        action: Action,
        names: &[&str],
    ) -> Result<MemberId, Refused> {
        let rules = team.role(role).ok_or_else(|| Refused::NoRole { by: by.clone(), role: role.to_owned() })?;
        if let Some(rule) = rules.deny.iter().find(|rule| rule.meets(action, names)) {
            return Err(Refused::Denied {
                by: by.clone(),
                action: action.as_str(),
                role: role.to_owned(),
                rule: rule.to_string(),
            });
        }
        if !rules.allow.iter().any(|rule| rule.meets(action, names)) {
            return Err(Refused::NotAllowed { by: by.clone(), action: action.as_str(), role: role.to_owned() });
        }
        Ok(by.clone())
    }
}

fn names(target: &Target) -> Vec<&str> {
    vec![&target.session_id, &target.agent_id, &target.name]
}
