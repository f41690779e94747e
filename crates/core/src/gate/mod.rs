//! Who may control what: what can be decided about a control message before anything is done, without a store and without a clock.
//!
//! The whole way of a message; from the fifth step on it is others who do it:
//!
//! 1. shape, version and fields: [`ControlRequest::decode`], and then [`Gate::admit`] for the length of names;
//! 2. age and skew, so that a message that was recorded cannot be played again later;
//! 3. limits on the text;
//! 4. authorisation: who asks is proven, is who the message says, is in the team, and may do this to this session;
//! 5. lookup of a repetition, answered as [`dedupe::Entry::repeated`] says;
//! 6. liveness: is there such a session, and does it take anything;
//! 7. the text behind a reference is read and verified;
//! 8. durable insert of an entry that is [pending](dedupe::Fate::Pending);
//! 9. execution;
//! 10. durable result, unless it is [forgotten](dedupe::Reached::is_forgotten);
//! 11. the acknowledgement.
//!
//! Nothing that is refused before step 8 uses up the message's name: the sender may put things right and send it again under the same
//! name. What is remembered is looked up before liveness, so that a retry hears what became of the first also when the session has ended
//! since; and inserted after it, so that a message to a session that is not there yet is not taken for delivered.

mod authorise;
mod bounds;
pub mod dedupe;
mod policy;
mod refused;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use bounds::{Limits, Times};
pub use policy::{Action, InvalidRule, Member, MemberId, Policy, Principal, Role, Rule, Target, Team};
pub use refused::Refused;

use std::time::{Duration, SystemTime};

use wh_wire::socket::{ControlAction, ControlContent, ControlRequest};

use crate::request::RequestId;
use dedupe::Fingerprint;

/// The longest name of a team, a session, an agent or a sender, in characters.
pub const LONGEST_NAME: usize = 256;

/// Decides who may control what.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    /// How old a message may be.
    pub times: Times,
    /// How long its text may be.
    pub limits: Limits,
    /// Who may do what.
    pub policy: Policy,
}

/// A message that may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Who sent it, proven.
    pub by: MemberId,
    /// What it wants, in a few bytes: the same name with another fingerprint is another message.
    pub fingerprint: Fingerprint,
    /// The text is so long that its sender should be warned.
    pub warning: Option<String>,
    /// For how long a repetition must be known as one.
    pub remember_for: Duration,
}

impl Gate {
    /// Whether this message may go on. `target` is the session that it names, if there is one: where there is none a repetition is still
    /// answered, and liveness says `not_found` afterwards. The same view of the session must be used for both.
    pub fn admit(
        &self,
        request: &ControlRequest,
        principal: &Principal,
        target: Option<&Target>,
        now: SystemTime,
    ) -> Result<Admitted, Refused> {
        check_names(request)?;
        self.times.check(&request.sent_at, now)?;
        let warning = self.check_text(&request.action)?;
        let by = self.authorise(request, principal, target)?;
        Ok(Admitted { by, fingerprint: Fingerprint::of(request), warning, remember_for: self.times.remembered() })
    }

    fn check_text(&self, action: &ControlAction) -> Result<Option<String>, Refused> {
        match action {
            ControlAction::Stdin(stdin) => match &stdin.content {
                ControlContent::Inline(text) => self.limits.check_inline(text),
                ControlContent::Reference(reference) => self.limits.check_reference(reference).map(|()| None),
            },
            ControlAction::Interrupt => Ok(None),
            ControlAction::Answer(answer) => match &answer.text {
                Some(text) => self.limits.check_inline(text),
                None => Ok(None),
            },
        }
    }
}

fn check_names(request: &ControlRequest) -> Result<(), Refused> {
    let key = &request.key;
    RequestId::new(key.request_id.as_str()).map_err(|error| Refused::RequestId(error.to_string()))?;
    let names = [
        ("team", &key.team),
        ("session_id", &key.session_id),
        ("agent_id", &key.agent_id),
        ("sender", &request.sender),
    ];
    for (field, name) in names {
        let fits = (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control);
        if !fits {
            return Err(Refused::Name(field));
        }
    }
    Ok(())
}
