//! Applies the access rules of [`wh_core::caller`] to the callers of the HTTP server and of the socket server.

use std::sync::Arc;

use tracing::warn;
use wh_client::{ControlHandler, CreateError, CreateSessionRequest, SessionHandle, SessionManager, Workload};
use wh_core::caller::{CallerRefusal, GuardedAction, Origin, SessionLineage};
use wh_wire::socket::ControlKind;

/// Admission rules for the callers of one session.
#[derive(Clone)]
pub(crate) enum Admission {
    /// The session of a single run, which no other session has created.
    Run,
    /// A session of a daemon.
    Session { daemon: Arc<dyn SessionManager>, controller: Arc<dyn ControlHandler>, session: Arc<SessionHandle> },
}

impl Admission {
    /// True if the decision depends on the caller. If false, every caller is admitted without tracing.
    pub fn depends_on_caller(&self, act: GuardedAction) -> bool {
        self.standing().admit(&Origin::Untraceable, act).is_err()
    }

    /// Admits or refuses a request. A refusal is audited.
    pub fn admit(&self, origin: Origin, act: GuardedAction) -> Result<(), CallerRefusal> {
        let origin = match self {
            Self::Run => origin,
            Self::Session { daemon, .. } => daemon.resolve(origin),
        };
        self.standing().admit(&origin, act).inspect_err(|refusal| self.audit_refusal(act, refusal))
    }

    fn standing(&self) -> SessionLineage {
        match self {
            Self::Run => SessionLineage::default(),
            Self::Session { session, .. } => session.standing(),
        }
    }

    fn audit_refusal(&self, act: GuardedAction, refusal: &CallerRefusal) {
        let Self::Session { controller, session, .. } = self else {
            return warn!(?act, code = refusal.reason().code(), "a caller was refused");
        };
        let kind = match act {
            GuardedAction::Answer | GuardedAction::Command => ControlKind::Answer,
            GuardedAction::Type | GuardedAction::Attach | GuardedAction::Say { .. } => ControlKind::Stdin,
        };
        controller.audit_refused_caller(session, kind, refusal);
    }
}

/// Sets the creators of a new session. Refuses the request if it sets `person`, a permission mode or agent arguments
/// that the caller may not set. Agent arguments are restricted because they can set a permission mode.
pub(crate) fn enter_creators(
    daemon: &dyn SessionManager,
    controller: &dyn ControlHandler,
    origin: Origin,
    wanted: &mut CreateSessionRequest,
) -> Result<(), CreateError> {
    let origin = daemon.resolve(origin);
    let audit = |refusal: &CallerRefusal| controller.audit_rejected(refusal.reason().code(), &refusal.to_string());
    if let Workload::Agent { mode, may_skip_permissions, arguments, .. } = &wanted.workload
        && (mode.is_some() || *may_skip_permissions || !arguments.is_empty())
    {
        origin.may_choose_mode().inspect_err(audit)?;
    }
    if wanted.person {
        origin.may_create_person().inspect_err(audit)?;
        if let Workload::Agent { .. } = wanted.workload {
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

    /// Returns a daemon with a session created by `maker`, and `maker`'s own session, which is inside `root`.
    fn made() -> (Arc<FakeDaemon>, Arc<FakeController>, Admission) {
        let created_by = |creators: &[&str]| CreateSessionRequest {
            creators: creators.iter().map(|one| (*one).to_owned()).collect(),
            ..new_agent()
        };
        let one = Arc::new(session("one", &created_by(&["maker", "root"])));
        let sessions = vec![
            Arc::clone(&one),
            Arc::new(session("maker", &created_by(&["root"]))),
            Arc::new(session("shell", &CreateSessionRequest { person: true, ..new_program() })),
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
            assert_eq!(admission.admit(origin, GuardedAction::Answer), Ok(()));
        }
        assert!(audited(&controller).is_empty());
    }

    #[test]
    fn a_refusal_is_audited_with_the_kind_of_the_request() {
        let (_, controller, admission) = made();
        let own = CallerRefusal::OwnQuestion("one".to_owned());
        assert_eq!(admission.admit(inside("one"), GuardedAction::Command), Err(own.clone()));
        assert_eq!(admission.admit(inside("one"), GuardedAction::Type), Err(own.clone()));
        assert_eq!(admission.admit(Origin::Untraceable, GuardedAction::Attach), Err(CallerRefusal::Untraceable));
        let (own, lost) = (own.reason().code(), CallerRefusal::Untraceable.reason().code());
        assert_eq!(audited(&controller), [format!("Answer {own}"), format!("Stdin {own}"), format!("Stdin {lost}")]);
    }

    #[test]
    fn a_caller_is_traced_only_if_the_decision_depends_on_it() {
        let (_, _, session) = made();
        for admission in [Admission::Run, session] {
            assert!(
                admission.depends_on_caller(GuardedAction::Type) && admission.depends_on_caller(GuardedAction::Answer)
            );
            assert!(!admission.depends_on_caller(GuardedAction::message("hello")));
            assert!(admission.depends_on_caller(GuardedAction::message("/mode plan")));
        }
    }

    #[test]
    fn a_new_session_has_the_creators_of_its_creator() {
        let (daemon, controller, _) = made();
        let mut wanted = new_agent();
        enter_creators(&*daemon, &*controller, inside("maker"), &mut wanted).unwrap();
        assert_eq!(wanted.creators, ["maker", "root"]);
        // A person's session counts as outside.
        enter_creators(&*daemon, &*controller, inside("shell"), &mut wanted).unwrap();
        assert!(wanted.creators.is_empty());
    }

    #[test]
    fn a_mode_and_arguments_are_refused_to_callers_that_may_not_answer() {
        let (daemon, controller, _) = made();
        let agent = |mode: Option<&str>, may_skip_permissions, arguments: &[&str]| CreateSessionRequest {
            workload: Workload::Agent {
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
        let person = CreateSessionRequest { person: true, ..new_program() };
        assert_eq!(enter(Origin::Outside, person.clone()), Ok(()));
        assert_eq!(enter(inside("shell"), person.clone()), Ok(()));
        assert_eq!(enter(inside("maker"), person), Err(CreateError::Refused(CallerRefusal::Person)));
        assert_eq!(audited(&controller), [CallerRefusal::Person.reason().code()]);
        assert_eq!(
            enter(Origin::Outside, CreateSessionRequest { person: true, ..new_agent() }),
            Err(CreateError::PersonIsAgent)
        );
    }
}
