//! Decides which control messages may be carried out, without a store and without a clock. The steps of a message; from the
//! fifth on, others do them:
//!
//! 1. shape, version and fields (the codec), then [`Gate::admit`] for the length of names;
//! 2. age and clock skew, so that a recorded message cannot be replayed later;
//! 3. limits on the text;
//! 4. authorisation: the sender is proven, is the one that the message names, is in the team, and may do this to this session;
//! 5. the text behind a reference is read and verified;
//! 6. the session stores the command, or finds it stored before ([`crate::request`]);
//! 7. the session's machine accepts or refuses it; a refused one is taken back from the store;
//! 8. the result is stored;
//! 9. the acknowledgement.
//!
//! Nothing that is refused uses up the request id: the sender may correct it and send it again under the same id.

mod authorise;
mod bounds;
mod message;
mod policy;
mod refused;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use bounds::{Limits, Times};
pub use message::{ControlMessage, ControlPayload, TextSource};
pub use policy::{Action, InvalidRule, Member, MemberId, Policy, Principal, Role, Rule, Target, Team};
pub use refused::Refused;

use std::time::SystemTime;

use crate::request::{Fingerprint, RequestId};

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
}

impl Gate {
    /// Whether this message may go on. `target` is the session that it names, if there is one: where there is none a repetition is still
    /// answered, and liveness says `not_found` afterwards. The same view of the session must be used for both.
    pub fn admit(
        &self,
        message: &ControlMessage<'_>,
        principal: &Principal,
        target: Option<&Target>,
        now: SystemTime,
    ) -> Result<Admitted, Refused> {
        check_names(message)?;
        self.times.check(message.sent_at, now)?;
        let warning = self.check_text(&message.payload)?;
        let by = self.authorise(message, principal, target)?;
        let fingerprint = Fingerprint::of(&by.member, &message.payload.content()?);
        Ok(Admitted { by, fingerprint, warning })
    }

    fn check_text(&self, payload: &ControlPayload<'_>) -> Result<Option<String>, Refused> {
        match *payload {
            ControlPayload::Text { text: TextSource::Inline(text), .. }
            | ControlPayload::Answer { text: Some(text), .. } => self.limits.check_inline(text),
            ControlPayload::Text { text: TextSource::Reference { bytes, sha256 }, .. } => {
                self.limits.check_reference(bytes, sha256).map(|()| None)
            }
            ControlPayload::Interrupt | ControlPayload::Answer { text: None, .. } => Ok(None),
        }
    }
}

fn check_names(message: &ControlMessage<'_>) -> Result<(), Refused> {
    let key = &message.key;
    RequestId::new(key.request.as_str()).map_err(|error| Refused::RequestId(error.to_string()))?;
    let names = [
        ("team", key.team.as_str()),
        ("session_id", &key.session),
        ("agent_id", &key.agent),
        ("sender", message.sender),
    ];
    for (field, name) in names {
        let fits = (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control);
        if !fits {
            return Err(Refused::Name(field));
        }
    }
    Ok(())
}
