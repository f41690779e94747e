//! Gate: decides which control messages may be executed, without a store or a clock. A control message passes the
//! following steps. The gate performs steps 2 to 5, and other modules perform the rest.
//!
//! 1. The codec checks the JSON structure, the version and the fields.
//! 2. [`Gate::admit`] checks the length of the names.
//! 3. The age and the clock skew are checked, so that a recorded message cannot be replayed later.
//! 4. The length of the text is checked.
//! 5. Authorisation is checked: the sender must be authenticated, match the name in the message, be in the team, and be
//!    allowed to act on this session.
//! 6. The referenced text is read and verified.
//! 7. The session stores the command. A retry finds the command already stored ([`crate::request`]).
//! 8. The session's state machine accepts or refuses the command. A refused command is removed from the store.
//! 9. The result is stored.
//! 10. The acknowledgement is sent.
//!
//! A refused message does not consume its request id: the sender may correct it and send it again under the same id.

mod authorise;
mod bounds;
mod message;
mod policy;
mod refusal;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use bounds::{AgeLimits, TextLimits};
pub use message::{ControlMessage, ControlPayload, TextSource};
pub use policy::{Action, ControlTarget, InvalidRule, Member, MemberId, Policy, Principal, Role, Rule, Team};
pub use refusal::GateRefusal;

use std::time::SystemTime;

use crate::request::{Fingerprint, RequestId};

/// Maximum length of a name of a team, session, agent or sender.
pub const MAX_NAME_CHARS: usize = 256;

/// Limits and access rules by which control messages are admitted or refused.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    pub age_limits: AgeLimits,
    pub text_limits: TextLimits,
    pub policy: Policy,
}

/// Sender, fingerprint and warning of an admitted message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedMessage {
    /// The authenticated sender.
    pub by: MemberId,
    /// Digest of the sender and the content. A message with the same request key and another fingerprint is not a
    /// retry.
    pub fingerprint: Fingerprint,
    /// Warning to the sender if the text is longer than the soft limit.
    pub warning: Option<String>,
}

impl Gate {
    /// Admits or refuses a message. `target` is the session that the message names; `None` if the session does not
    /// exist. Without a target, the checks of the session are skipped. The caller then answers a retry of a stored
    /// command, and refuses any other message as `not_found`. For this decision, the caller must use the same lookup
    /// that returned `target`.
    pub fn admit(
        &self,
        message: &ControlMessage<'_>,
        principal: &Principal,
        target: Option<&ControlTarget>,
        now: SystemTime,
    ) -> Result<AdmittedMessage, GateRefusal> {
        check_names(message)?;
        self.age_limits.check(message.sent_at, now)?;
        let warning = self.check_text(&message.payload)?;
        let by = self.authorise(message, principal, target)?;
        let fingerprint = Fingerprint::of(&by.member, &message.payload.content()?);
        Ok(AdmittedMessage { by, fingerprint, warning })
    }

    fn check_text(&self, payload: &ControlPayload<'_>) -> Result<Option<String>, GateRefusal> {
        match *payload {
            ControlPayload::Text { text: TextSource::Inline(text), .. }
            | ControlPayload::Answer { text: Some(text), .. } => self.text_limits.check_inline(text),
            ControlPayload::Text { text: TextSource::Reference { bytes, sha256 }, .. } => {
                self.text_limits.check_reference(bytes, sha256).map(|()| None)
            }
            ControlPayload::Interrupt | ControlPayload::Answer { text: None, .. } => Ok(None),
        }
    }
}

fn check_names(message: &ControlMessage<'_>) -> Result<(), GateRefusal> {
    let key = &message.key;
    RequestId::new(key.request.as_str()).map_err(|error| GateRefusal::RequestId(error.to_string()))?;
    let names = [
        ("team", key.team.as_str()),
        ("session_id", &key.session),
        ("agent_id", &key.agent),
        ("sender", message.sender),
    ];
    for (field, name) in names {
        let fits = (1..=MAX_NAME_CHARS).contains(&name.chars().count()) && !name.chars().any(char::is_control);
        if !fits {
            return Err(GateRefusal::Name(field));
        }
    }
    Ok(())
}
