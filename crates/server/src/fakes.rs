//! Fake daemon, controller and handles for unit tests of the servers.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use wh_client::{
    Audience, Caller, ControlHandler, Conversation, CreateError, CreateOutcome, CreateSessionRequest, DaemonFuture,
    EndCause, EndOutcome, Lineage, SessionHandle, SessionManager, SessionState, Space, Surface, Ui, Workload,
};
use wh_core::caller::CallerRefusal;
use wh_core::receipt::Receipt;
use wh_core::request::RequestId;
use wh_core::terminal::Size;
use wh_wire::socket::{Capabilities, ControlAck, ControlKind, ControlProblem, ControlRequest, Credential, Failure};

/// Returns a surface whose session has ended.
pub(crate) fn gone_surface() -> Surface {
    Surface::new().0
}

/// Returns a conversation whose space has ended.
pub(crate) fn gone_conversation() -> Conversation {
    Conversation {
        space: Space::new().0,
        ui: Ui::new().0,
        me: "human".into(),
        title: "Demo".to_owned(),
        refuses_until_ready: false,
    }
}

/// Returns a request for a session with the agent `demo`.
pub(crate) fn new_agent() -> CreateSessionRequest {
    CreateSessionRequest {
        workload: Workload::Agent {
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
        idempotency_key: None,
        creators: Vec::new(),
        person: false,
    }
}

/// Returns a request for a session with the program `cat`.
pub(crate) fn new_program() -> CreateSessionRequest {
    CreateSessionRequest { workload: Workload::Program(vec!["cat".into()]), ..new_agent() }
}

/// Returns a live session whose surface and conversation are [`gone_surface`] and [`gone_conversation`].
pub(crate) fn session(id: &str, wanted: &CreateSessionRequest) -> SessionHandle {
    let mut session = SessionHandle::new(
        id.to_owned(),
        wanted,
        "default".to_owned(),
        SystemTime::UNIX_EPOCH,
        (Arc::new(FakeSessionState(id.to_owned())), Arc::new(EmptyAudience)),
    );
    session.surface = Some(gone_surface());
    session.conversation = Some(gone_conversation());
    session
}

/// State of a live session with this name.
#[derive(Debug)]
struct FakeSessionState(String);

impl SessionState for FakeSessionState {
    fn name(&self) -> String {
        self.0.clone()
    }

    fn rename(&self, _: &str) {}

    fn ended(&self) -> Option<(EndCause, SystemTime)> {
        None
    }

    fn end(&self, _: EndCause, _: SystemTime) {}

    fn until_ended(&self) -> DaemonFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn has_created(&self) -> bool {
        false
    }

    fn set_has_created(&self) {}
}

/// Audience that never has an attached terminal.
#[derive(Debug)]
struct EmptyAudience;

impl Audience for EmptyAudience {
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

    fn dismissed(&self, _: u64) -> DaemonFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// Daemon with fixed sessions that creates none.
#[derive(Default)]
pub(crate) struct FakeDaemon(pub Vec<Arc<SessionHandle>>);

impl SessionManager for FakeDaemon {
    fn sessions(&self) -> Vec<Arc<SessionHandle>> {
        self.0.clone()
    }

    fn restoring_of(&self, _: &BTreeSet<String>) -> Vec<(String, String)> {
        Vec::new()
    }

    fn restoring(&self) -> Vec<String> {
        Vec::new()
    }

    fn is_restoring(&self, _: &str) -> bool {
        false
    }

    fn lineage(&self, id: &str) -> Option<Arc<Lineage>> {
        self.session_by_id(id).map(|session| Arc::clone(&session.lineage))
    }

    fn create(&self, _: CreateSessionRequest) -> DaemonFuture<'_, Result<CreateOutcome, CreateError>> {
        Box::pin(async { Err(CreateError::Stopping) })
    }

    fn rename(&self, _: &str, _: &str) -> Result<(), CreateError> {
        Ok(())
    }

    fn end(&self, _: &str, _: bool) -> DaemonFuture<'_, EndOutcome> {
        Box::pin(async { EndOutcome::Ended })
    }

    fn receipt(&self, _: &SessionHandle, _: RequestId) -> DaemonFuture<'_, Option<Receipt>> {
        Box::pin(async { None })
    }

    fn forget(&self, _: &str) -> DaemonFuture<'_, bool> {
        Box::pin(async { false })
    }
}

/// Controller that records audited refusal codes and executes nothing.
#[derive(Default)]
pub(crate) struct FakeController(pub Mutex<Vec<String>>);

impl ControlHandler for FakeController {
    fn control(
        &self,
        _: Result<Box<ControlRequest>, Box<ControlProblem>>,
        _: Caller,
    ) -> DaemonFuture<'_, Result<ControlAck, Failure>> {
        panic!("no test controls")
    }

    fn audit_rejected(&self, error: &str, _: &str) {
        self.0.lock().unwrap().push(error.to_owned());
    }

    fn audit_refused_caller(&self, _: &SessionHandle, action: ControlKind, refusal: &CallerRefusal) {
        self.0.lock().unwrap().push(format!("{action:?} {}", refusal.reason().code()));
    }

    fn visible_teams(&self, _: Vec<Credential>) -> DaemonFuture<'_, BTreeSet<String>> {
        Box::pin(async { BTreeSet::from(["default".to_owned()]) })
    }

    fn capabilities(&self) -> Capabilities {
        panic!("no test asks for capabilities")
    }

    fn audit_lost(&self) -> u64 {
        0
    }
}
