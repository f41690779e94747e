//! Processes control messages: checks the age and clock skew, authorises the sender, reads the text behind a content
//! reference, and passes the message to its session. The session recognises retries, stores the message and executes
//! it. Messages to an ended session are answered from the store.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tracing::{Instrument, info_span, warn};
use wh_client::{Caller, ControlHandler, DaemonFuture, SessionHandle, SessionManager};
use wh_core::caller::CallerRefusal;
use wh_core::gate::{AdmittedMessage, AgeLimits, ControlTarget, Gate, GateRefusal, Principal, TextLimits};
use wh_core::reason::Reason;
use wh_core::request::{FingerprintedId, RequestId};
use wh_core::time::iso;
use wh_wire::socket::{
    AuditAction, AuditRecord, CONTROL_VERSION, Capabilities, ControlAck, ControlAction, ControlCapabilities,
    ControlContent, ControlKey, ControlKind, ControlProblem, ControlRequest, ControlResult, ControlStdin, Credential,
    DaemonLimits, Failure, MAX_SOCKET_LINE_BYTES, SOCKET_COMMANDS, SOCKET_VERSION,
};

use super::audit::AuditWriter;
use super::content_ref::ContentRefFolder;
use super::execute::{self, ResolvedAction};
use super::outcome::ControlOutcome;
use super::teams::{DEFAULT_TEAM, Teams};
use super::translate;
use crate::ledger::SessionLedger;
use crate::store::Store;

/// Timeout for the execution of a message. Senders wait longer than this for the acknowledgement.
const EXECUTION_TIMEOUT: Duration = Duration::from_millis(1500);

/// Components that a [`Controller`] is created from.
pub struct ControllerParts {
    /// Daemon whose sessions receive the messages.
    pub daemon: Arc<dyn SessionManager>,
    /// Store of earlier messages and their receipts.
    pub store: Store,
    /// Teams and tokens that authenticate and authorise senders.
    pub teams: Teams,
    pub audit: AuditWriter,
    /// Shared folder with the files of content references.
    pub references: ContentRefFolder,
    /// Limits for the age and clock skew of messages.
    pub times: AgeLimits,
    /// Limits for the length of texts.
    pub limits: TextLimits,
}

/// Executes control messages from other programs: authorises each message, passes it to its session, and creates the
/// acknowledgement.
pub struct Controller(Arc<ControllerState>);

struct ControllerState {
    daemon: Arc<dyn SessionManager>,
    store: Store,
    teams: Mutex<Teams>,
    audit: AuditWriter,
    references: ContentRefFolder,
    times: AgeLimits,
    limits: TextLimits,
}

impl Controller {
    pub fn new(parts: ControllerParts) -> Self {
        let ControllerParts { daemon, store, teams, audit, references, times, limits } = parts;
        for problem in teams.problems() {
            warn!(problem, "ignoring an invalid team");
        }
        Self(Arc::new(ControllerState { daemon, store, teams: Mutex::new(teams), audit, references, times, limits }))
    }
}

impl ControlHandler for Controller {
    fn control(
        &self,
        request: Result<Box<ControlRequest>, Box<ControlProblem>>,
        caller: Caller,
    ) -> DaemonFuture<'_, Result<ControlAck, Failure>> {
        let state = Arc::clone(&self.0);
        // Runs to completion even if the sender gives up, so that a message is never half processed.
        Box::pin(async move {
            let work =
                tokio::spawn(async move { state.control(request, caller).await }.instrument(info_span!("control")));
            work.await.unwrap_or_else(|_| {
                let message = "internal error while executing the message; it is unknown whether the message arrived";
                Err(Failure::new(wh_wire::socket::ErrorCode::InternalError, message))
            })
        })
    }

    fn audit_rejected(&self, error: &str, detail: &str) {
        let mut record = AuditRecord::new(AuditAction::Failure, None, &ControlKey::default(), SystemTime::now());
        record.result = Some(ControlResult::Rejected);
        record.duplicate = Some(false);
        record.error = Some(error.to_owned());
        record.detail = Some(detail.to_owned());
        self.0.audit.record(record);
    }

    fn audit_refused_caller(&self, session: &SessionHandle, action: ControlKind, refusal: &CallerRefusal) {
        let key = ControlKey {
            team: session.team.clone(),
            session_id: session.id.clone(),
            agent_id: session.agent_id(),
            request_id: String::new(),
        };
        let mut record = AuditRecord::new(AuditAction::Failure, Some(action), &key, SystemTime::now());
        record.result = Some(ControlResult::Rejected);
        record.duplicate = Some(false);
        record.error = Some(refusal.reason().code().to_owned());
        record.detail = Some(refusal.to_string());
        self.0.audit.record(record);
    }

    fn visible_teams(&self, credentials: Vec<Credential>) -> DaemonFuture<'_, BTreeSet<String>> {
        let state = Arc::clone(&self.0);
        Box::pin(async move {
            let mut shown = BTreeSet::from([DEFAULT_TEAM.to_owned()]);
            if !credentials.is_empty() {
                // `teams_of` reads files, so it runs on a blocking thread.
                let look = tokio::task::spawn_blocking(move || state.teams_of(&credentials)).await;
                shown.extend(look.unwrap_or_default());
            }
            shown
        })
    }

    fn capabilities(&self) -> Capabilities {
        let ControllerState { times, limits, references, .. } = &*self.0;
        Capabilities {
            server: format!("wh {}", env!("CARGO_PKG_VERSION")),
            protocol_versions: vec![SOCKET_VERSION],
            commands: SOCKET_COMMANDS.map(str::to_owned).to_vec(),
            control: ControlCapabilities {
                v: vec![CONTROL_VERSION],
                actions: ControlKind::ALL.map(|kind| kind.as_str().to_owned()).to_vec(),
                forms: vec!["type".to_owned(), "action".to_owned()],
                encodings: vec!["utf-8".to_owned()],
            },
            limits: DaemonLimits {
                soft_bytes: limits.soft as u64,
                hard_bytes: limits.hard as u64,
                content_ref_bytes: limits.reference,
                line_bytes: MAX_SOCKET_LINE_BYTES as u64,
                max_age_secs: times.max_age.as_secs(),
                max_skew_secs: times.max_skew.as_secs(),
                dedupe_secs: times.dedupe_window().as_secs(),
                dedupe_capacity: self.0.store.limits().requests,
            },
            features: ["durable_dedupe", "content_ref", "audit", "subscribe_resume", "attach"]
                .map(str::to_owned)
                .to_vec(),
            content_ref_base: Some(references.base().to_string_lossy().into_owned()),
        }
    }

    fn audit_lost(&self) -> u64 {
        self.0.audit.lost()
    }
}

/// Appends the gate's warning about the text to the detail of an executed message. The outcome of a retry gets no
/// warning.
fn with_warning(mut outcome: ControlOutcome, admitted: &AdmittedMessage) -> ControlOutcome {
    let carried_out = outcome.result == ControlResult::Ok && !outcome.duplicate;
    if let (true, Some(warning), Some(detail)) = (carried_out, &admitted.warning, &mut outcome.detail) {
        detail.push_str("; ");
        detail.push_str(warning);
    }
    outcome
}

impl ControllerState {
    async fn control(
        self: Arc<Self>,
        request: Result<Box<ControlRequest>, Box<ControlProblem>>,
        caller: Caller,
    ) -> Result<ControlAck, Failure> {
        let request = match request {
            Ok(request) => request,
            Err(problem) => return self.reject_malformed(&problem),
        };
        let state = Arc::clone(&self);
        // `authenticate` reads files, so it runs on a blocking thread.
        let authenticated = tokio::task::spawn_blocking(move || state.authenticate(&caller)).await;
        let (principal, gate) = authenticated.map_err(|error| {
            let message = format!("internal error; nothing was done: {error}");
            Failure::new(wh_wire::socket::ErrorCode::InternalError, message)
        })?;
        self.audit_request(&request, &principal);
        let outcome = self.decide(&request, &principal, &gate).await;
        let kind = request.action.kind();
        self.audit_outcome(&request, &principal, &outcome);
        Ok(outcome.ack(kind, &request.key, iso(SystemTime::now())))
    }

    fn reject_malformed(&self, problem: &ControlProblem) -> Result<ControlAck, Failure> {
        let now = SystemTime::now();
        let mut record = AuditRecord::new(AuditAction::Request, problem.kind, &problem.key, now);
        record.sender.clone_from(&problem.sender);
        self.audit.record(record.clone());
        record.action = AuditAction::Failure;
        record.result = Some(problem.result());
        record.duplicate = Some(false);
        record.error = Some(problem.reason.code().to_owned());
        record.detail = Some(problem.reason.to_string());
        self.audit.record(record);
        problem.ack(iso(now)).ok_or_else(|| problem.failure())
    }

    /// Returns the teams, after reloading them if their files have changed.
    fn teams(&self) -> MutexGuard<'_, Teams> {
        let mut teams = self.teams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = teams.refresh() {
            warn!(%error, "cannot reload the teams");
        }
        teams
    }

    fn teams_of(&self, credentials: &[Credential]) -> Vec<String> {
        let teams = self.teams();
        credentials.iter().filter_map(|credential| teams.verify(&credential.0)).map(|member| member.team).collect()
    }

    /// Returns the authenticated sender, and the gate that authorises the message. Both use the same version of the
    /// teams.
    fn authenticate(&self, caller: &Caller) -> (Principal, Gate) {
        let teams = self.teams();
        let member = caller.credential.as_ref().and_then(|credential| teams.verify(&credential.0));
        let origin = caller.opener.origin();
        let principal = Principal { member, origin: self.daemon.resolve(origin) };
        (principal, Gate { age_limits: self.times, text_limits: self.limits, policy: teams.policy().clone() })
    }

    async fn decide(self: &Arc<Self>, request: &ControlRequest, principal: &Principal, gate: &Gate) -> ControlOutcome {
        // The sessions being restored are read first: a session that becomes ready in between is then found below.
        let key = &request.key;
        let own_team = BTreeSet::from([key.team.clone()]);
        let is_restoring = self.daemon.restoring_of(&own_team).iter().any(|(id, _)| *id == key.session_id);
        // A session of another team is treated as unknown.
        let session = self.daemon.session_by_id(&key.session_id).filter(|session| session.team == key.team);
        let target = session.as_deref().map(target);
        let admitted = match gate.admit(&translate::message(request), principal, target.as_ref(), SystemTime::now()) {
            Ok(admitted) => admitted,
            Err(refused) => return ControlOutcome::from(&refused),
        };
        let Ok(id) = RequestId::new(key.request_id.as_str()) else {
            return ControlOutcome::refused(Reason::InvalidField, "request_id is not valid");
        };
        let command = FingerprintedId { id, fingerprint: admitted.fingerprint.clone() };
        let Some(session) = session.filter(|session| session.ended().is_none()) else {
            // A retry still gets the stored result after the session has ended.
            return match self.stored_outcome(key, &command).await {
                Some(outcome) => outcome,
                None if is_restoring => ControlOutcome::refused(Reason::Busy, "the session is being restored"),
                None if target.is_some() => ControlOutcome::refused(Reason::Ended, "the session has ended"),
                None => ControlOutcome::from(&GateRefusal::no_session(&translate::key(key))),
            };
        };
        let is_reference =
            matches!(&request.action, ControlAction::Stdin(ControlStdin { content: ControlContent::Reference(_), .. }));
        // A retry is answered before the file is read, because the sender may have removed the file.
        if is_reference && let Some(outcome) = self.stored_outcome(key, &command).await {
            return outcome;
        }
        let action = match self.resolve_action(request).await {
            Ok(action) => action,
            Err(outcome) => return outcome,
        };
        if let (ResolvedAction::Text { text, .. }, Some(target)) = (&action, &target)
            && let Err(refused) = gate.check_referenced_text(text, principal, target)
        {
            return ControlOutcome::from(&refused);
        }
        let outcome = execute::execute(&session, action, &admitted.by.member, command, EXECUTION_TIMEOUT).await;
        with_warning(outcome, &admitted)
    }

    /// Returns the outcome from the store if the message was received before. Returns a refusal if another message has
    /// used the request id, or if the store cannot be read.
    async fn stored_outcome(&self, key: &ControlKey, command: &FingerprintedId) -> Option<ControlOutcome> {
        let ledger = SessionLedger::new(self.store.clone(), &key.team, &key.session_id, &key.agent_id);
        match ledger.find(command).await {
            Ok(known) => Some(match known? {
                Ok(receipt) => ControlOutcome::repeated(&receipt, "delivered to the session"),
                Err(reason) => ControlOutcome::refused(
                    reason,
                    "this request_id was used for another message; nothing was done. Use a new request_id",
                ),
            }),
            Err(error) => {
                let message = format!("cannot read earlier messages; nothing was done: {error}");
                Some(ControlOutcome::refused(Reason::Store, message))
            }
        }
    }

    /// Resolves the text of the action. A file behind a content reference is read only once, so that a later change of
    /// the file has no effect.
    async fn resolve_action(self: &Arc<Self>, request: &ControlRequest) -> Result<ResolvedAction, ControlOutcome> {
        match &request.action {
            ControlAction::Interrupt => Ok(ResolvedAction::Interrupt),
            ControlAction::Answer(answer) => Ok(ResolvedAction::Answer(answer.clone())),
            ControlAction::Stdin(stdin) => {
                let text = match &stdin.content {
                    ControlContent::Inline(text) => text.clone(),
                    ControlContent::Reference(reference) => {
                        let (state, team, reference) = (Arc::clone(self), request.key.team.clone(), reference.clone());
                        let read = move || state.references.read(&team, &reference, SystemTime::now());
                        match tokio::task::spawn_blocking(read).await {
                            Ok(text) => text.map_err(|problem| ControlOutcome::from(&problem))?,
                            Err(error) => {
                                let message = format!("cannot read the text; nothing was done: {error}");
                                return Err(ControlOutcome::refused(Reason::RefUnreadable, message));
                            }
                        }
                    }
                };
                Ok(ResolvedAction::Text { text, interrupt: stdin.interrupt })
            }
        }
    }

    fn audit_request(&self, request: &ControlRequest, principal: &Principal) {
        let is_retry = request.meta.retry_count.unwrap_or(0) > 0;
        let action = if is_retry { AuditAction::Retry } else { AuditAction::Request };
        let mut record = self.audit_record(action, request, principal).with_content(&request.action);
        record.retry_count = request.meta.retry_count;
        record.retry_of.clone_from(&request.meta.retry_of);
        self.audit.record(record);
    }

    fn audit_outcome(&self, request: &ControlRequest, principal: &Principal, outcome: &ControlOutcome) {
        let mut record = self.audit_record(AuditAction::Ack, request, principal);
        record.result = Some(outcome.result);
        record.duplicate = Some(outcome.duplicate);
        record.error = outcome.reason.map(|reason| reason.code().to_owned());
        record.detail.clone_from(&outcome.detail);
        record.with_outcome().for_each(|record| self.audit.record(record));
    }

    fn audit_record(&self, action: AuditAction, request: &ControlRequest, principal: &Principal) -> AuditRecord {
        let mut record = AuditRecord::new(action, Some(request.action.kind()), &request.key, SystemTime::now());
        record.sender = Some(request.sender.clone());
        record.by = principal.member.as_ref().map(ToString::to_string);
        record
    }
}

fn target(session: &SessionHandle) -> ControlTarget {
    ControlTarget {
        session_id: session.id.clone(),
        agent_id: session.agent_id(),
        name: session.name(),
        team: session.team.clone(),
        terminal: session.conversation.is_none(),
        lineage: session.standing(),
    }
}
