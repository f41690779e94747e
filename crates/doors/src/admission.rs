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

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::fakes::{FakeController, FakeDaemon, new_agent, new_program, session};

    /// A daemon with a session that `maker` has made, and `maker`'s own session, which is inside `root`.
    fn made() -> (Arc<FakeDaemon>, Arc<FakeController>, Admission) {
        let created_by = |creators: &[&str]| NewSession {
            creators: creators.iter().map(|one| (*one).to_owned()).collect(),
            ..new_agent()
        };
        let one = Arc::new(session("one", &created_by(&["maker", "root"])));
        let sessions = vec![
            Arc::clone(&one),
            Arc::new(session("maker", &created_by(&["root"]))),
            Arc::new(session("shell", &NewSession { person: true, ..new_program() })),
        ];
        let (daemon, controller) = (Arc::new(FakeDaemon(sessions)), Arc::new(FakeController::default()));
        let admission =
            Admission::Session { daemon: daemon.clone(), controller: controller.clone(), session: Arc::clone(&one) };
        (daemon, controller, admission)
    }

    fn inside(id: &str) -> Origin {
        Origin::Session(id.to_owned())
    }

    fn audited(controller: &FakeController) -> Vec<String> {
        std::mem::take(&mut *controller.0.lock().unwrap())
    }

    #[test]
    fn creators_and_person_sessions_are_admitted_without_an_audit_entry() {
        let (_, controller, admission) = made();
        for origin in [Origin::Outside, inside("maker"), inside("root"), inside("shell")] {
            assert_eq!(admission.admit(origin, Act::Answer), Ok(()));
        }
        assert!(audited(&controller).is_empty());
    }

    #[test]
    fn a_refusal_is_audited_with_the_kind_of_the_request() {
        let (_, controller, admission) = made();
        let own = CallerRefusal::OwnQuestion("one".to_owned());
        assert_eq!(admission.admit(inside("one"), Act::Command), Err(own.clone()));
        assert_eq!(admission.admit(inside("one"), Act::Type), Err(own.clone()));
        assert_eq!(admission.admit(Origin::Untraceable, Act::Attach), Err(CallerRefusal::Untraceable));
        let (own, lost) = (own.reason().code(), CallerRefusal::Untraceable.reason().code());
        assert_eq!(audited(&controller), [format!("Answer {own}"), format!("Stdin {own}"), format!("Stdin {lost}")]);
    }

    #[test]
    fn a_caller_is_traced_only_where_it_matters() {
        let (_, _, session) = made();
        for admission in [Admission::Run, session] {
            assert!(admission.depends_on_caller(Act::Type) && admission.depends_on_caller(Act::Answer));
            assert!(!admission.depends_on_caller(Act::say("hello")));
            assert!(admission.depends_on_caller(Act::say("/mode plan")));
        }
    }

    #[test]
    fn a_new_session_has_the_creators_of_its_creator() {
        let (daemon, controller, _) = made();
        let mut wanted = new_agent();
        enter_creators(&*daemon, &*controller, inside("maker"), &mut wanted).unwrap();
        assert_eq!(wanted.creators, ["maker", "root"]);
        // Inside a person's session is outside.
        enter_creators(&*daemon, &*controller, inside("shell"), &mut wanted).unwrap();
        assert!(wanted.creators.is_empty());
    }

    #[test]
    fn a_mode_and_arguments_are_refused_to_callers_that_may_not_answer() {
        let (daemon, controller, _) = made();
        let agent = |mode: Option<&str>, may_skip_permissions, arguments: &[&str]| NewSession {
            what: What::Agent {
                agent: "demo".to_owned(),
                model: None,
                mode: mode.map(str::to_owned),
                may_skip_permissions,
                arguments: arguments.iter().map(OsString::from).collect(),
            },
            ..new_agent()
        };
        let enter = |origin, mut wanted| enter_creators(&*daemon, &*controller, origin, &mut wanted);
        for wanted in [agent(Some("plan"), false, &[]), agent(None, true, &[]), agent(None, false, &["--yolo"])] {
            let refused = Err(CreateError::Refused(CallerRefusal::Inside));
            assert_eq!(enter(Origin::Elsewhere, wanted.clone()), refused);
            assert_eq!(audited(&controller), [CallerRefusal::Inside.reason().code()]);
            assert_eq!(enter(inside("maker"), wanted.clone()), Ok(()));
            assert_eq!(enter(Origin::Outside, wanted), Ok(()));
        }
        assert_eq!(enter(Origin::Elsewhere, agent(None, false, &[])), Ok(()));
        assert!(audited(&controller).is_empty());
    }

    #[test]
    fn a_person_session_is_a_program_created_from_outside() {
        let (daemon, controller, _) = made();
        let enter = |origin, mut wanted| enter_creators(&*daemon, &*controller, origin, &mut wanted);
        let person = NewSession { person: true, ..new_program() };
        assert_eq!(enter(Origin::Outside, person.clone()), Ok(()));
        assert_eq!(enter(inside("shell"), person.clone()), Ok(()));
        assert_eq!(enter(inside("maker"), person), Err(CreateError::Refused(CallerRefusal::Person)));
        assert_eq!(audited(&controller), [CallerRefusal::Person.reason().code()]);
        assert_eq!(enter(Origin::Outside, NewSession { person: true, ..new_agent() }), Err(CreateError::PersonIsAgent));
    }
}
