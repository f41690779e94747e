//! Receives control messages, in this order and no other: shape and version (the codec's) → age and skew → authorisation →
//! the text behind a reference → the session, which stores, carries out and recognises retries → the acknowledgement. A
//! message to a session that has ended is looked up in the store.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tracing::{Instrument, info_span, warn};
use wh_client::{BoxFuture, Caller, Controller as Port, Daemon, Session};
use wh_core::caller::CallerRefusal;
use wh_core::gate::{Admitted, Gate, Limits, Principal, Refused, Target, Times};
use wh_core::reason::Reason;
use wh_core::request::{Request, RequestId};
use wh_core::time::iso;
use wh_wire::socket::{
    AuditAction, AuditRecord, COMMANDS, CONTROL_VERSION, Capabilities, ControlAck, ControlAction, ControlCapabilities,
    ControlContent, ControlKey, ControlKind, ControlProblem, ControlRequest, ControlResult, ControlStdin, Credential,
    Failure, LONGEST_LINE, Limits as SaidLimits, VERSION,
};

use super::audit::Audit;
use super::content_ref::References;
use super::execute::{self, Order};
use super::teams::{DEFAULT_TEAM, Teams};
use super::translate;
use super::verdict::Verdict;
use crate::ledger::SessionLedger;
use crate::store::Store;

/// Longest time to an acknowledgement: less than a sender waits.
const LONGEST_EXECUTION: Duration = Duration::from_millis(1500);

/// What a controller is made of.
pub struct Parts {
    /// The sessions.
    pub daemon: Arc<dyn Daemon>,
    /// Where it is kept what was heard.
    pub store: Store,
    /// Who is who.
    pub teams: Teams,
    /// Where it is written down what happened.
    pub audit: Audit,
    /// Texts behind references.
    pub references: References,
    /// How old a message may be.
    pub times: Times,
    /// How long.
    pub limits: Limits,
}

/// Carries control messages out.
pub struct Controller(Arc<Inner>);

struct Inner {
    daemon: Arc<dyn Daemon>,
    store: Store,
    teams: Mutex<Teams>,
    audit: Audit,
    references: References,
    times: Times,
    limits: Limits,
}

impl Controller {
    /// From these parts.
    pub fn new(parts: Parts) -> Self {
        let Parts { daemon, store, teams, audit, references, times, limits } = parts;
        for problem in teams.problems() {
            warn!(problem, "a team is left out");
        }
        Self(Arc::new(Inner { daemon, store, teams: Mutex::new(teams), audit, references, times, limits }))
    }
}

impl Port for Controller {
    fn control(
        &self,
        request: Result<Box<ControlRequest>, Box<ControlProblem>>,
        caller: Caller,
    ) -> BoxFuture<'_, Result<ControlAck, Failure>> {
        let inner = Arc::clone(&self.0);
        // Once it is under way it goes on, whether or not the sender still waits: half of it would be worse than all.
        Box::pin(async move {
            let work =
                tokio::spawn(async move { inner.control(request, caller).await }.instrument(info_span!("control")));
            work.await.unwrap_or_else(|_| {
                let message = "wh failed while it carried this out; whether it arrived is not known";
                Err(Failure::new(wh_wire::socket::ErrorCode::InternalError, message))
            })
        })
    }

    fn refused_at_the_door(&self, error: &str, detail: &str) {
        let mut record = AuditRecord::new(AuditAction::Failure, None, &ControlKey::default(), SystemTime::now());
        record.result = Some(ControlResult::Rejected);
        record.duplicate = Some(false);
        record.error = Some(error.to_owned());
        record.detail = Some(detail.to_owned());
        self.0.audit.record(record);
    }

    fn refused_caller(&self, session: &Session, action: ControlKind, refusal: &CallerRefusal) {
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

    fn teams_shown(&self, credentials: Vec<Credential>) -> BoxFuture<'_, BTreeSet<String>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let mut shown = BTreeSet::from([DEFAULT_TEAM.to_owned()]);
            if !credentials.is_empty() {
                // Files are looked at.
                let look = tokio::task::spawn_blocking(move || inner.teams_of(&credentials)).await;
                shown.extend(look.unwrap_or_default());
            }
            shown
        })
    }

    fn capabilities(&self) -> Capabilities {
        let Inner { times, limits, references, .. } = &*self.0;
        Capabilities {
            server: format!("wh {}", env!("CARGO_PKG_VERSION")),
            protocol_versions: vec![VERSION],
            commands: COMMANDS.map(str::to_owned).to_vec(),
            control: ControlCapabilities {
                v: vec![CONTROL_VERSION],
                actions: ControlKind::ALL.map(|kind| kind.as_str().to_owned()).to_vec(),
                forms: vec!["type".to_owned(), "action".to_owned()],
                encodings: vec!["utf-8".to_owned()],
            },
            limits: SaidLimits {
                soft_bytes: limits.soft as u64,
                hard_bytes: limits.hard as u64,
                content_ref_bytes: limits.reference,
                line_bytes: LONGEST_LINE as u64,
                max_age_secs: times.max_age.as_secs(),
                max_skew_secs: times.max_skew.as_secs(),
                dedupe_secs: times.remembered().as_secs(),
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

/// With a warning about the text, if it is carried out and there is one.
fn warned(mut verdict: Verdict, admitted: &Admitted) -> Verdict {
    let carried_out = verdict.result == ControlResult::Ok && !verdict.duplicate;
    if let (true, Some(warning), Some(detail)) = (carried_out, &admitted.warning, &mut verdict.detail) {
        detail.push_str("; ");
        detail.push_str(warning);
    }
    verdict
}

impl Inner {
    async fn control(
        self: Arc<Self>,
        request: Result<Box<ControlRequest>, Box<ControlProblem>>,
        caller: Caller,
    ) -> Result<ControlAck, Failure> {
        let request = match request {
            Ok(request) => request,
            Err(problem) => return self.misshapen(&problem),
        };
        let inner = Arc::clone(&self);
        // Files are looked at.
        let looked = tokio::task::spawn_blocking(move || inner.look(&caller)).await;
        let (principal, gate) = looked.map_err(|error| {
            let message = format!("wh failed before it did anything: {error}");
            Failure::new(wh_wire::socket::ErrorCode::InternalError, message)
        })?;
        self.audit_request(&request, &principal);
        let verdict = self.decide(&request, &principal, &gate).await;
        let kind = request.action.kind();
        self.audit_verdict(&request, &principal, &verdict);
        Ok(verdict.ack(kind, &request.key, iso(SystemTime::now())))
    }

    fn misshapen(&self, problem: &ControlProblem) -> Result<ControlAck, Failure> {
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

    /// The teams, as their files are now.
    fn teams(&self) -> MutexGuard<'_, Teams> {
        let mut teams = self.teams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = teams.refresh() {
            warn!(%error, "the teams cannot be read anew");
        }
        teams
    }

    fn teams_of(&self, credentials: &[Credential]) -> Vec<String> {
        let teams = self.teams();
        credentials.iter().filter_map(|credential| teams.verify(&credential.0)).map(|member| member.team).collect()
    }

    /// The proven sender and the gate, both from the teams' files as they are now.
    fn look(&self, caller: &Caller) -> (Principal, Gate) {
        let teams = self.teams();
        let member = caller.credential.as_ref().and_then(|credential| teams.verify(&credential.0));
        let origin = caller.opener.origin();
        let principal = Principal { member, origin: self.daemon.resolve(origin) };
        (principal, Gate { times: self.times, limits: self.limits, policy: teams.policy().clone() })
    }

    async fn decide(self: &Arc<Self>, request: &ControlRequest, principal: &Principal, gate: &Gate) -> Verdict {
        // Asked first: one that comes back in between is then there.
        let key = &request.key;
        let own_team = BTreeSet::from([key.team.clone()]);
        let returning = self.daemon.returning_of(&own_team).iter().any(|(id, _)| *id == key.session_id);
        // One of another team is answered like one that does not exist.
        let session = self.daemon.session_by_id(&key.session_id).filter(|session| session.team == key.team);
        let target = session.as_deref().map(target);
        let admitted = match gate.admit(&translate::message(request), principal, target.as_ref(), SystemTime::now()) {
            Ok(admitted) => admitted,
            Err(refused) => return Verdict::from(&refused),
        };
        let Ok(id) = RequestId::new(key.request_id.as_str()) else {
            return Verdict::refused(Reason::InvalidField, "request_id cannot be one");
        };
        let command = Request { id, fingerprint: admitted.fingerprint.clone() };
        let Some(session) = session.filter(|session| session.ended().is_none()) else {
            // The result of a message is known also when its session has ended since.
            return match self.known(key, &command).await {
                Some(verdict) => verdict,
                None if returning => Verdict::refused(Reason::Busy, "the session is being restored"),
                None if target.is_some() => Verdict::refused(Reason::Ended, "the session has ended"),
                None => Verdict::from(&Refused::no_session(&translate::key(key))),
            };
        };
        let is_reference =
            matches!(&request.action, ControlAction::Stdin(ControlStdin { content: ControlContent::Reference(_), .. }));
        // The file of one that was carried out may be gone by now.
        if is_reference && let Some(verdict) = self.known(key, &command).await {
            return verdict;
        }
        let order = match self.order(request).await {
            Ok(order) => order,
            Err(verdict) => return verdict,
        };
        if let (Order::Text { text, .. }, Some(target)) = (&order, &target)
            && let Err(refused) = gate.check_referenced_text(text, principal, target)
        {
            return Verdict::from(&refused);
        }
        let verdict = execute::execute(&session, order, &admitted.by.member, command, LONGEST_EXECUTION).await;
        warned(verdict, &admitted)
    }

    /// The answer to a message that was received before, if it was, from the store alone.
    async fn known(&self, key: &ControlKey, command: &Request) -> Option<Verdict> {
        let ledger = SessionLedger::new(self.store.clone(), &key.team, &key.session_id, &key.agent_id);
        match ledger.find(command).await {
            Ok(known) => Some(match known? {
                Ok(receipt) => Verdict::repeated(&receipt, "the session had it"),
                Err(reason) => Verdict::refused(
                    reason,
                    "another message was sent under this request_id; nothing was done. Use a new one",
                ),
            }),
            Err(error) => {
                let words = format!("earlier messages cannot be read; nothing was done: {error}");
                Some(Verdict::refused(Reason::Store, words))
            }
        }
    }

    /// What to do. A text behind a reference is read here, and these very bytes are used.
    async fn order(self: &Arc<Self>, request: &ControlRequest) -> Result<Order, Verdict> {
        match &request.action {
            ControlAction::Interrupt => Ok(Order::Interrupt),
            ControlAction::Answer(answer) => Ok(Order::Answer(answer.clone())),
            ControlAction::Stdin(stdin) => {
                let text = match &stdin.content {
                    ControlContent::Inline(text) => text.clone(),
                    ControlContent::Reference(reference) => {
                        let (inner, team, reference) = (Arc::clone(self), request.key.team.clone(), reference.clone());
                        let read = move || inner.references.read(&team, &reference, SystemTime::now());
                        match tokio::task::spawn_blocking(read).await {
                            Ok(text) => text.map_err(|problem| Verdict::from(&problem))?,
                            Err(error) => {
                                let words = format!("the text could not be read; nothing was done: {error}");
                                return Err(Verdict::refused(Reason::RefUnreadable, words));
                            }
                        }
                    }
                };
                Ok(Order::Text { text, interrupt: stdin.interrupt })
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

    fn audit_verdict(&self, request: &ControlRequest, principal: &Principal, verdict: &Verdict) {
        let mut record = self.audit_record(AuditAction::Ack, request, principal);
        record.result = Some(verdict.result);
        record.duplicate = Some(verdict.duplicate);
        record.error = verdict.reason.map(|reason| reason.code().to_owned());
        record.detail.clone_from(&verdict.detail);
        record.with_outcome().for_each(|record| self.audit.record(record));
    }

    fn audit_record(&self, action: AuditAction, request: &ControlRequest, principal: &Principal) -> AuditRecord {
        let mut record = AuditRecord::new(action, Some(request.action.kind()), &request.key, SystemTime::now());
        record.sender = Some(request.sender.clone());
        record.by = principal.member.as_ref().map(ToString::to_string);
        record
    }
}

fn target(session: &Session) -> Target {
    Target {
        session_id: session.id.clone(),
        agent_id: session.agent_id(),
        name: session.name(),
        team: session.team.clone(),
        terminal: session.conversation.is_none(),
        standing: session.standing(),
    }
}
