//! The one who carries control messages out, in this order and no other: shape and version (the codec's) → age and skew →
//! authorisation → has it been heard before → is the session live → durable entry → execution → durable result → acknowledgement.
//! What was not executed never counts as a repetition. What was under way when wh ended is said to be so, and never tried again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tracing::{Instrument, info_span, warn};
use wh_client::{BoxFuture, Caller, Controller as Port, Daemon, Session};
use wh_core::caller::CallerRefusal;
use wh_core::gate::dedupe::{Entry, Fate, Fingerprint, Verdict};
use wh_core::gate::{Admitted, Gate, Limits, Principal, Refused, Target, Times};
use wh_core::request::RequestId;
use wh_wire::socket::{
    COMMANDS, CONTROL_VERSION, Capabilities, ControlAck, ControlAction, ControlCapabilities, ControlContent,
    ControlKey, ControlKind, ControlProblem, ControlRequest, ControlResult, Credential, Failure, LONGEST_LINE,
    Limits as SaidLimits, VERSION,
};

use super::audit::{Act, Audit, Event};
use super::content_ref::References;
use super::execute::{self, Came, Deed, Outcome};
use super::teams::{DEFAULT_TEAM, Teams};
use crate::store::{Begun, Entry as StoredEntry, Key, State, Store};

/// How long an execution may take before its sender is told that it is not known yet: less than a sender waits.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How long a result that could not be written down waits before that is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

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
        let mut event = Event::new(Act::Failure, None, &ControlKey::default(), SystemTime::now());
        event.result = Some(ControlResult::Rejected);
        event.duplicate = Some(false);
        event.error = Some(error.to_owned());
        event.detail = Some(detail.to_owned());
        self.0.audit.record(event);
    }

    fn refused_caller(&self, session: &Session, action: ControlKind, refusal: &CallerRefusal) {
        let key = ControlKey {
            team: session.team.clone(),
            session_id: session.id.clone(),
            agent_id: session.agent_id(),
            request_id: String::new(),
        };
        let refused = Refused::from(refusal.clone());
        let mut event = Event::new(Act::Failure, Some(action), &key, SystemTime::now());
        event.result = Some(refused.result());
        event.duplicate = Some(false);
        event.error = Some(refused.code().to_owned());
        event.detail = Some(refused.to_string());
        self.0.audit.record(event);
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

fn key_of(key: &ControlKey) -> Key {
    Key {
        team: key.team.clone(),
        session: key.session_id.clone(),
        agent: key.agent_id.clone(),
        request: key.request_id.clone(),
    }
}

fn entry_of(stored: StoredEntry) -> Entry {
    let fate = match stored.state {
        State::Pending => Fate::Pending,
        State::Done { result, detail, .. } => {
            Fate::Executed { result: ControlResult::of(&result).unwrap_or(ControlResult::InternalError), detail }
        }
        State::CutOff { .. } => Fate::CutOff,
    };
    Entry { fingerprint: Fingerprint::stored(stored.fingerprint), fate }
}

fn timestamp(at: SystemTime) -> String {
    let at = jiff::Timestamp::try_from(at).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

fn verdict(came: &Came) -> Verdict {
    Verdict { result: came.result, duplicate: false, detail: came.detail.clone(), error: came.error }
}

/// Something of wh's own does not work, and nothing was done.
fn failed(what: &str, error: &dyn std::fmt::Display) -> Verdict {
    Verdict {
        result: ControlResult::InternalError,
        duplicate: false,
        detail: Some(format!("{what}: {error}")),
        error: Some("store"),
    }
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
        self.note_request(&request, &principal);
        let verdict = self.decide(&request, &principal, &gate).await;
        let kind = request.action.kind();
        self.note_verdict(&request, &principal, &verdict);
        Ok(verdict.ack(kind, &request.key, timestamp(SystemTime::now())))
    }

    fn misshapen(&self, problem: &ControlProblem) -> Result<ControlAck, Failure> {
        let now = SystemTime::now();
        let mut event = Event::new(Act::Request, problem.kind, &problem.key, now);
        event.sender.clone_from(&problem.sender);
        self.audit.record(event.clone());
        event.act = Act::Failure;
        event.result = Some(problem.result());
        event.duplicate = Some(false);
        event.error = Some(problem.reason.code().to_owned());
        event.detail = Some(problem.reason.to_string());
        self.audit.record(event);
        problem.ack(timestamp(now)).ok_or_else(|| problem.failure())
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
        let admitted = match gate.admit(request, principal, target.as_ref(), SystemTime::now()) {
            Ok(admitted) => admitted,
            Err(refused) => return Verdict::from(&refused),
        };
        let key = key_of(&request.key);
        match self.store.lookup(key.clone()).await {
            Ok(Some(known)) => return entry_of(known).repeated(&admitted.fingerprint),
            Ok(None) => {}
            Err(error) => return failed("what was heard before cannot be read; nothing was done", &error),
        }
        if let Err(came) = execute::liveness(session.as_deref(), returning, request).await {
            return verdict(&came);
        }
        let deed = match self.deed(request).await {
            Ok(deed) => deed,
            Err(verdict) => return verdict,
        };
        if let (Deed::Text { text, .. }, Some(target)) = (&deed, &target)
            && let Err(refused) = gate.check_referenced_text(text, principal, target)
        {
            return Verdict::from(&refused);
        }
        let (Some(session), Ok(id)) = (session, RequestId::new(request.key.request_id.as_str())) else {
            return Verdict::from(&Refused::no_session(&request.key));
        };
        let fingerprint = admitted.fingerprint.as_str().to_owned();
        match self.store.begin(key.clone(), fingerprint, SystemTime::now()).await {
            Ok(Begun::New) => {}
            Ok(Begun::Known(known)) => return entry_of(known).repeated(&admitted.fingerprint),
            Err(error) => return failed("the request could not be written down; nothing was done", &error),
        }
        self.execute(&session, deed, &admitted, &id, key).await
    }

    /// What to do. A text behind a reference is read here, and these very bytes are used.
    async fn deed(self: &Arc<Self>, request: &ControlRequest) -> Result<Deed, Verdict> {
        match &request.action {
            ControlAction::Interrupt => Ok(Deed::Interrupt),
            ControlAction::Answer(answer) => Ok(Deed::Answer(answer.clone())),
            ControlAction::Stdin(stdin) => {
                let text = match &stdin.content {
                    ControlContent::Inline(text) => text.clone(),
                    ControlContent::Reference(reference) => {
                        let (inner, team, reference) = (Arc::clone(self), request.key.team.clone(), reference.clone());
                        let read = move || inner.references.read(&team, &reference, SystemTime::now());
                        match tokio::task::spawn_blocking(read).await {
                            Ok(Ok(text)) => text,
                            Ok(Err(problem)) => {
                                return Err(Verdict {
                                    result: ControlResult::Rejected,
                                    duplicate: false,
                                    detail: Some(problem.to_string()),
                                    error: Some(problem.code()),
                                });
                            }
                            Err(error) => return Err(failed("the text could not be read; nothing was done", &error)),
                        }
                    }
                };
                Ok(Deed::Text { text, interrupt: stdin.interrupt })
            }
        }
    }

    async fn execute(
        self: &Arc<Self>,
        session: &Session,
        deed: Deed,
        admitted: &Admitted,
        id: &RequestId,
        key: Key,
    ) -> Verdict {
        match execute::carry_out(session, deed, &admitted.by.member, id, PATIENCE).await {
            Outcome::Known(came) => match self.settle(key.clone(), &came).await {
                Ok(()) => {
                    let mut verdict = verdict(&came);
                    if let (Some(warning), Some(detail)) = (&admitted.warning, &mut verdict.detail) {
                        detail.push_str("; ");
                        detail.push_str(warning);
                    }
                    verdict
                }
                Err(error) => {
                    let inner = Arc::clone(self);
                    let words = format!(
                        "{}, but that could not be written down; ask again under the same request_id",
                        came.detail.as_deref().unwrap_or("it was carried out")
                    );
                    tokio::spawn(async move { inner.settle_later(key, came).await });
                    Verdict { error: Some("not_written"), ..failed(&words, &error) }
                }
            },
            Outcome::Later(work) => {
                let inner = Arc::clone(self);
                tokio::spawn(async move {
                    let came = work.await.unwrap_or_else(|_| execute::broken());
                    inner.settle_later(key, came).await;
                });
                let (words, error) = execute::under_way(session);
                let (result, detail) = (ControlResult::Timeout, Some(words.to_owned()));
                Verdict { result, duplicate: false, detail, error: Some(error) }
            }
        }
    }

    /// Writes down what came of a request. What came to nothing is forgotten, so that it may be sent again.
    async fn settle(&self, key: Key, came: &Came) -> Result<(), crate::store::StoreError> {
        if came.reached.is_forgotten(came.result) {
            return self.store.undo(key).await.map(drop);
        }
        self.store.finish(key, came.result.as_str(), came.detail.clone(), SystemTime::now()).await
    }

    /// The same, until it is written down. wh may end before that; then the request is known to have been cut off.
    async fn settle_later(&self, key: Key, came: Came) {
        while let Err(error) = self.settle(key.clone(), &came).await {
            use crate::store::StoreError::{Closed, NoSuchRequest, Settled};
            if matches!(error, Settled { .. } | NoSuchRequest(_) | Closed) {
                return warn!(%error, "a result is not written down");
            }
            warn!(%error, "a result is not written down yet");
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }

    fn note_request(&self, request: &ControlRequest, principal: &Principal) {
        let act = if request.meta.retry_count.unwrap_or(0) > 0 { Act::Retry } else { Act::Request };
        let mut event = self.event(act, request, principal);
        event.retry_count = request.meta.retry_count;
        event.retry_of.clone_from(&request.meta.retry_of);
        if let ControlAction::Stdin(stdin) = &request.action {
            match &stdin.content {
                ControlContent::Inline(text) => {
                    event.bytes = Some(text.len() as u64);
                    event.text = Some(text.clone());
                }
                ControlContent::Reference(reference) => event.bytes = Some(reference.size_bytes),
            }
        }
        self.audit.record(event);
    }

    fn note_verdict(&self, request: &ControlRequest, principal: &Principal, verdict: &Verdict) {
        let mut event = self.event(Act::Ack, request, principal);
        event.result = Some(verdict.result);
        event.duplicate = Some(verdict.duplicate);
        event.error = verdict.error.map(str::to_owned);
        event.detail.clone_from(&verdict.detail);
        let more = match verdict.result {
            _ if verdict.duplicate => Some(Act::Duplicate),
            ControlResult::Ok => None,
            ControlResult::Timeout => Some(Act::Timeout),
            _ => Some(Act::Failure),
        };
        if let Some(act) = more {
            self.audit.record(Event { act, ..event.clone() });
        }
        self.audit.record(event);
    }

    fn event(&self, act: Act, request: &ControlRequest, principal: &Principal) -> Event {
        let mut event = Event::new(act, Some(request.action.kind()), &request.key, SystemTime::now());
        event.sender = Some(request.sender.clone());
        event.by.clone_from(&principal.member);
        event
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
