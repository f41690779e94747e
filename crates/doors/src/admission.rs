//! Applies the rule of [`wh_core::caller`], for every interface in the same way.

use std::sync::Arc;

use tracing::warn;
use wh_client::{Controller, CreateError, Daemon, NewSession, Session, What};
use wh_core::caller::{Act, CallerRefusal, Origin, Standing};
use wh_wire::socket::ControlKind;

/// Admits callers to one session.
#[derive(Clone)]
pub(crate) enum Admission {
    /// A single run: one session, created by nobody inside a session.
    Run,
    /// A session of a daemon.
    Session { daemon: Arc<dyn Daemon>, controller: Arc<dyn Controller>, session: Arc<Session> },
}

impl Admission {
    /// False where every caller may do this, so that nobody needs to be traced.
    pub fn depends_on_caller(&self, act: Act) -> bool {
        self.standing().admit(&Origin::Untraceable, act).is_err()
    }

    /// Allows or refuses a request; a refusal is audited.
    pub fn admit(&self, origin: Origin, act: Act) -> Result<(), CallerRefusal> {
        let origin = match self {
            Self::Run => origin,
            Self::Session { daemon, .. } => daemon.resolve(origin),
        };
        self.standing().admit(&origin, act).inspect_err(|refusal| self.audit_refusal(act, refusal))
    }

    fn standing(&self) -> Standing {
        match self {
            Self::Run => Standing::default(),
            Self::Session { session, .. } => session.standing(),
        }
    }

    fn audit_refusal(&self, act: Act, refusal: &CallerRefusal) {
        let Self::Session { controller, session, .. } = self else {
            return warn!(?act, code = refusal.reason().code(), "a caller was refused");
        };
        let kind = match act {
            Act::Answer | Act::Command => ControlKind::Answer,
            Act::Type | Act::Attach | Act::Say { .. } => ControlKind::Stdin,
        };
        controller.refused_caller(session, kind, refusal);
    }
}

/// Enters the creators of a session that is to be created. Refuses `--person`, a permission mode and arguments, which can name a mode too,
/// to callers that may not choose them.
pub(crate) fn enter_creators(
    daemon: &dyn Daemon,
    controller: &dyn Controller,
    origin: Origin,
    wanted: &mut NewSession,
) -> Result<(), CreateError> {
    let origin = daemon.resolve(origin);
    let audit = |refusal: &CallerRefusal| controller.refused_at_the_door(refusal.reason().code(), &refusal.to_string());
    if let What::Agent { mode, may_skip_permissions, arguments, .. } = &wanted.what
        && (mode.is_some() || *may_skip_permissions || !arguments.is_empty())
    {
        origin.may_choose_mode().inspect_err(audit)?;
    }
    if wanted.person {
        origin.may_create_person().inspect_err(audit)?;
        if let What::Agent { .. } = wanted.what {
            return Err(CreateError::PersonIsAgent);
        }
    }
    let creators_of = |id: &str| daemon.lineage(id).map(|lineage| lineage.creators.clone()).unwrap_or_default();
    wanted.creators = origin.creators(creators_of);
    Ok(())
}
