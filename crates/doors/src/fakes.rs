//! A daemon, its controller and handles with nobody behind them, for tests of what the doors do by themselves.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use wh_client::{
    Audience, BoxFuture, Caller, Controller, Conversation, CreateError, Created, Daemon, EndOutcome, Ending, Lineage,
    NewSession, Session, SessionState, Space, Surface, Ui, What,
};
use wh_core::caller::CallerRefusal;
use wh_core::receipt::Receipt;
use wh_core::request::RequestId;
use wh_core::terminal::Size;
use wh_wire::socket::{Capabilities, ControlAck, ControlKind, ControlProblem, ControlRequest, Credential, Failure};

/// A surface whose session is gone.
pub(crate) fn gone_surface() -> Surface {
    Surface::new().0
}

/// A conversation whose space is gone.
pub(crate) fn gone_conversation() -> Conversation {
    Conversation { space: Space::new().0, ui: Ui::new().0, me: "human".into(), title: "Demo".to_owned() }
}

/// A request for a session with the agent `demo`.
pub(crate) fn new_agent() -> NewSession {
    NewSession {
        what: What::Agent {
            agent: "demo".to_owned(),
            model: None,
            mode: None,
            may_skip_permissions: false,
            arguments: Vec::new(),
        },
        name: None,
        team: None,
        directory: PathBuf::from("/"),
        size: Size { columns: 80, rows: 24 },
        environment: None,
        wish: None,
        creators: Vec::new(),
        person: false,
    }
}

/// A request for a session with the program `cat`.
pub(crate) fn new_program() -> NewSession {
    NewSession { what: What::Program(vec!["cat".into()]), ..new_agent() }
}

/// A session that lives and whose handles are those above.
pub(crate) fn session(id: &str, wanted: &NewSession) -> Session {
    let mut session = Session::new(
        id.to_owned(),
        wanted,
        "default".to_owned(),
        SystemTime::UNIX_EPOCH,
        (Arc::new(Lives(id.to_owned())), Arc::new(Nobody)),
    );
    session.surface = Some(gone_surface());
    session.conversation = Some(gone_conversation());
    session
}

/// A session of this name that lives.
#[derive(Debug)]
struct Lives(String);

impl SessionState for Lives {
    fn name(&self) -> String {
        self.0.clone()
    }

    fn rename(&self, _: &str) {}

    fn ended(&self) -> Option<(Ending, SystemTime)> {
        None
    }

    fn end(&self, _: Ending, _: SystemTime) {}

    fn until_ended(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn has_created(&self) -> bool {
        false
    }

    fn set_has_created(&self) {}
}

/// No terminals.
#[derive(Debug)]
struct Nobody;

impl Audience for Nobody {
    fn enter(&self, size: Option<Size>) -> (u64, Option<Size>) {
        (0, size)
    }

    fn resize(&self, _: u64, size: Option<Size>) -> Option<Size> {
        size
    }

    fn leave(&self, _: u64) -> Option<Size> {
        None
    }

    fn count(&self) -> usize {
        0
    }

    fn typed(&self, _: u64) {}

    fn dismiss(&self) {}

    fn dismissed(&self, _: u64) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// Has these sessions, and creates none.
#[derive(Default)]
pub(crate) struct FakeDaemon(pub Vec<Arc<Session>>);

impl Daemon for FakeDaemon {
    fn sessions(&self) -> Vec<Arc<Session>> {
        self.0.clone()
    }

    fn returning_of(&self, _: &BTreeSet<String>) -> Vec<(String, String)> {
        Vec::new()
    }

    fn returning(&self) -> Vec<String> {
        Vec::new()
    }

    fn is_returning(&self, _: &str) -> bool {
        false
    }

    fn lineage(&self, id: &str) -> Option<Arc<Lineage>> {
        self.session_by_id(id).map(|session| Arc::clone(&session.lineage))
    }

    fn create(&self, _: NewSession) -> BoxFuture<'_, Result<Created, CreateError>> {
        Box::pin(async { Err(CreateError::Stopping) })
    }

    fn rename(&self, _: &str, _: &str) -> Result<(), CreateError> {
        Ok(())
    }

    fn end(&self, _: &str, _: bool) -> BoxFuture<'_, EndOutcome> {
        Box::pin(async { EndOutcome::Ended })
    }

    fn receipt(&self, _: &Session, _: RequestId) -> BoxFuture<'_, Option<Receipt>> {
        Box::pin(async { None })
    }

    fn forget(&self, _: &str) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}

/// Carries nothing out, and keeps the codes of the refusals that it is told of.
#[derive(Default)]
pub(crate) struct FakeController(pub Mutex<Vec<String>>);

impl Controller for FakeController {
    fn control(
        &self,
        _: Result<Box<ControlRequest>, Box<ControlProblem>>,
        _: Caller,
    ) -> BoxFuture<'_, Result<ControlAck, Failure>> {
        panic!("no test controls")
    }

    fn refused_at_the_door(&self, error: &str, _: &str) {
        self.0.lock().unwrap().push(error.to_owned());
    }

    fn refused_caller(&self, _: &Session, action: ControlKind, refusal: &CallerRefusal) {
        self.0.lock().unwrap().push(format!("{action:?} {}", refusal.reason().code()));
    }

    fn teams_shown(&self, _: Vec<Credential>) -> BoxFuture<'_, BTreeSet<String>> {
        Box::pin(async { BTreeSet::from(["default".to_owned()]) })
    }

    fn capabilities(&self) -> Capabilities {
        panic!("no test asks for capabilities")
    }

    fn audit_lost(&self) -> u64 {
        0
    }
}
