//! Authorisation of a message: checks the sender's credential, the team membership, the rules of the sender's role, and
//! the location of the caller.

use super::Gate;
use super::message::{ControlMessage, ControlPayload, TextSource};
use super::policy::{Action, ControlTarget, MemberId, Principal, Team};
use super::refusal::GateRefusal;
use crate::caller::GuardedAction;

impl Gate {
    pub(super) fn authorise(
        &self,
        message: &ControlMessage<'_>,
        principal: &Principal,
        target: Option<&ControlTarget>,
    ) -> Result<MemberId, GateRefusal> {
        let (key, action) = (&message.key, message.payload.action());
        let by = principal.member.as_ref().ok_or(GateRefusal::Unproven)?;
        let alias = || self.policy.teams.get(&by.team)?.members.get(&by.member)?.alias.as_deref();
        if message.sender != by.member && alias() != Some(message.sender) {
            return Err(GateRefusal::NotTheSender { claimed: message.sender.to_owned(), proven: by.clone() });
        }
        let (team, role) = self.membership(by, &key.team)?;
        // A session of another team is treated as missing. The rules are not applied to its names either, because the
        // result would reveal that the session exists.
        let elsewhere = target.is_some_and(|target| target.team != key.team || target.session_id != key.session);
        let target = target.filter(|_| !elsewhere);
        let own_names = [key.session.as_str(), key.agent.as_str()];
        let names: Vec<&str> = target.map(names).unwrap_or_else(|| own_names.to_vec());
        let by = self.apply_rules(by, team, role, action, &names)?;
        if elsewhere {
            return Err(GateRefusal::no_session(key));
        }
        if let Some(target) = target.filter(|target| target.agent_id != key.agent) {
            return Err(GateRefusal::OtherAgent {
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

    /// Checks if the caller may perform the action from its location ([`crate::caller`]). A referenced text is not read
    /// yet: [`check_referenced_text`](Self::check_referenced_text) checks it later.
    fn check_caller(
        &self,
        message: &ControlMessage<'_>,
        principal: &Principal,
        target: &ControlTarget,
    ) -> Result<(), GateRefusal> {
        let act = match message.payload {
            ControlPayload::Interrupt => return Ok(()),
            ControlPayload::Answer { .. } => GuardedAction::Answer,
            ControlPayload::Text { .. } if target.terminal => GuardedAction::Type,
            ControlPayload::Text { text: TextSource::Inline(text), .. } => GuardedAction::message(text),
            ControlPayload::Text { text: TextSource::Reference { .. }, .. } => GuardedAction::message(""),
        };
        Ok(target.lineage.admit(&principal.origin, act)?)
    }

    /// Checks if the caller may send this text, which was read from a referenced file.
    pub fn check_referenced_text(
        &self,
        text: &str,
        principal: &Principal,
        target: &ControlTarget,
    ) -> Result<(), GateRefusal> {
        Ok(target.lineage.admit(&principal.origin, GuardedAction::message(text))?)
    }

    /// Returns the team and the role of the sender in the team.
    fn membership(&self, by: &MemberId, team: &str) -> Result<(&Team, &str), GateRefusal> {
        if by.team != team {
            return Err(GateRefusal::OtherTeam { by: by.clone(), team: team.to_owned() });
        }
        let known = self.policy.teams.get(team);
        let member = known.and_then(|team| team.members.get(&by.member));
        match (known, member) {
            (Some(team), Some(member)) => Ok((team, member.role.as_deref().unwrap_or(Team::DEFAULT_ROLE))),
            _ => Err(GateRefusal::NoMember(by.clone())),
        }
    }

    fn apply_rules(
        &self,
        by: &MemberId,
        team: &Team,
        role: &str,
        action: Action,
        names: &[&str],
    ) -> Result<MemberId, GateRefusal> {
        let rules = team.role(role).ok_or_else(|| GateRefusal::NoRole { by: by.clone(), role: role.to_owned() })?;
        if let Some(rule) = rules.deny.iter().find(|rule| rule.matches(action, names)) {
            return Err(GateRefusal::Denied {
                by: by.clone(),
                action: action.as_str(),
                role: role.to_owned(),
                rule: rule.to_string(),
            });
        }
        if !rules.allow.iter().any(|rule| rule.matches(action, names)) {
            return Err(GateRefusal::NotAllowed { by: by.clone(), action: action.as_str(), role: role.to_owned() });
        }
        Ok(by.clone())
    }
}

fn names(target: &ControlTarget) -> Vec<&str> {
    vec![&target.session_id, &target.agent_id, &target.name]
}
