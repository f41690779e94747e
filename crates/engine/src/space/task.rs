//! Task that owns a space. One loop receives requests, reports and messages from clients, agents and the clock, passes
//! them to the state machine, and performs the resulting effects.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{Instrument, debug, info_span, warn};
use wh_agents::interface::Harness;
use wh_agents::overflow::OverflowStore;
use wh_client::{ChangeNotice, RosterRequest, SpaceRequest, SpaceUpdates, SpaceWatch};
use wh_core::event::{Cursor, CursorExpired, Epoch, Journal};
use wh_core::request::RequestId;
use wh_core::space::command::SpaceRefusal;
use wh_core::space::event::SpaceEvent;
use wh_core::space::extent::{PieceError, TextPiece};
use wh_core::space::harness::{Order, Report};
use wh_core::space::machine::{Now, SpaceEffect, SpaceInput, SpaceMachine, Ticket};
use wh_core::space::roster::{AgentReply, AgentRequest, RunningCard, StatusCard, conversation_id};
use wh_core::space::{ItemId, ParticipantId};

use super::durable::{self, CommandCaller, CommandReplySender, IncomingCommand, StoredSpaceCommands};
use super::growth::GrowingItems;
use super::roster::{AgentRoster, RosterMessage};
use super::supervisor::{self, EndUrgency};

/// Maximum number of events returned by one call. Bounds the time for which the call blocks the space's task.
const MAX_EVENTS_PER_UPDATE: usize = 512;

/// Maximum number of queued reports of all agents. When the queue is full, agents wait; no report is dropped.
const MAX_QUEUED_AGENT_REPORTS: usize = 256;

/// Maximum bytes of an item's text that one call returns.
const MAX_PIECE_BYTES: usize = 256 * 1024;

/// Timeout for all agents to end. Longer than the grace period after which a supervisor kills an agent.
const SPACE_END_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct SpaceTask {
    pub(super) machine: SpaceMachine,
    requests: mpsc::Receiver<SpaceRequest>,
    /// Publishes the resume ids of the agents' conversations.
    resume_ids: watch::Sender<BTreeMap<ParticipantId, String>>,
    arrivals: mpsc::Receiver<RosterMessage>,
    /// Sender that is cloned for tasks that start or end agents.
    roster_messages: mpsc::Sender<RosterMessage>,
    agents: Arc<AgentRoster>,
    pub(super) orders: HashMap<ParticipantId, mpsc::Sender<Order>>,
    /// Urgency of ending each agent. An agent without an entry ends with [`EndUrgency::Soon`].
    urgency: HashMap<ParticipantId, watch::Sender<EndUrgency>>,
    /// Stores with the full output of each agent. An item contains only a part of a long output.
    stored_output: HashMap<ParticipantId, OverflowStore>,
    reports: mpsc::Receiver<(ParticipantId, u64, Report)>,
    reporter: mpsc::Sender<(ParticipantId, u64, Report)>,
    /// Generation of the current agent, by name. Reports of earlier agents with the same name are dropped.
    generations: HashMap<ParticipantId, u64>,
    generation: u64,
    /// Callers that wait until an agent has ended, by agent.
    leaving: HashMap<ParticipantId, Vec<oneshot::Sender<()>>>,
    pub(super) replies: HashMap<Ticket, CommandCaller>,
    pub(super) next_ticket: u64,
    /// Ledger of the space; `None` if commands are not stored.
    pub(super) stored: Option<StoredSpaceCommands>,
    /// Callers that wait until a command is delivered or has failed, each with the lines to add to the answer.
    pub(super) waiting: HashMap<RequestId, Vec<(CommandReplySender, Vec<String>)>>,
    journal: Journal<SpaceEvent>,
    growth: GrowingItems,
    // Contains only the latest notice. A slow watcher requests the events that it missed.
    notices: watch::Sender<ChangeNotice>,
    /// Callers that wait until all agents have ended, and the deadline for answering these callers.
    ending: Option<(Vec<oneshot::Sender<()>>, Instant)>,
}

impl SpaceTask {
    /// Creates the task of a new space, and performs the initial effects of the state machine.
    pub fn new(
        (machine, effects): (SpaceMachine, Vec<SpaceEffect>),
        started: Now,
        requests: mpsc::Receiver<SpaceRequest>,
        (roster_messages, arrivals): (mpsc::Sender<RosterMessage>, mpsc::Receiver<RosterMessage>),
        agents: Arc<AgentRoster>,
        resume_ids: watch::Sender<BTreeMap<ParticipantId, String>>,
        stored: Option<StoredSpaceCommands>,
    ) -> Self {
        let (reporter, reports) = mpsc::channel(MAX_QUEUED_AGENT_REPORTS);
        let since = started.time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut task = Self {
            machine,
            requests,
            resume_ids,
            arrivals,
            roster_messages,
            agents,
            orders: HashMap::new(),
            urgency: HashMap::new(),
            stored_output: HashMap::new(),
            reports,
            reporter,
            generations: HashMap::new(),
            generation: 0,
            leaving: HashMap::new(),
            replies: HashMap::new(),
            next_ticket: 0,
            stored,
            waiting: HashMap::new(),
            journal: Journal::new(Epoch::new(&format!("s{:x}", since.as_micros()))),
            growth: GrowingItems::default(),
            notices: watch::Sender::new(ChangeNotice::default()),
            ending: None,
        };
        task.perform(effects, started.time);
        task
    }

    /// Runs until all handles of the space are dropped.
    pub async fn run(mut self) {
        loop {
            let wake = self.machine.wake_at();
            let deadline = self.ending.as_ref().map(|(_, at)| *at);
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(request) => self.serve(request),
                    None => break,
                },
                Some(arrival) = self.arrivals.recv() => self.handle_roster_message(arrival),
                Some((id, generation, report)) = self.reports.recv() => self.handle_report(id, generation, report),
                progress = durable::next(&mut self.stored) => self.handle_store_progress(progress),
                () = sleep_until_time(wake) => self.handle_input(SpaceInput::Tick),
                () = sleep_until(deadline) => {
                    warn!("some agents did not end in time");
                    self.orders.clear();
                    self.answer_end_requests();
                }
            }
        }
    }

    pub(super) fn serve(&mut self, request: SpaceRequest) {
        match request {
            SpaceRequest::Command { by, request, command, until, reply } => {
                self.submit(IncomingCommand { by, request, command, until, reply });
            }
            SpaceRequest::Receipt { id, reply } => self.receipt(id, reply),
            SpaceRequest::Suspend => self.suspend(),
            SpaceRequest::Query { query, reply } => drop(reply.send(self.machine.state().answer(&query))),
            SpaceRequest::Watch(reply) => {
                let state = self.machine.state().clone();
                let (end, revision) = (self.journal.end(), self.growth.revision());
                let changes = self.notices.subscribe();
                let change_count = changes.borrow().change_count;
                let _ = reply.send(SpaceWatch { state, end, revision, change_count, changes });
            }
            SpaceRequest::Updates { after, revision, reply } => drop(reply.send(self.updates(&after, revision))),
            SpaceRequest::Roster(request) => self.roster(request),
            SpaceRequest::Piece { item, offset, reply } => self.piece(&item, offset, reply),
            SpaceRequest::End { now, reply } => {
                self.agents.stop_logins();
                let deadline = Instant::now() + SPACE_END_TIMEOUT;
                self.ending.get_or_insert_with(|| (Vec::new(), deadline)).0.push(reply);
                for urgency in self.urgency.values() {
                    supervisor::raise(urgency, if now { EndUrgency::Now } else { EndUrgency::Soon });
                }
                // An agent ends when its order channel is closed, even if the channel is full.
                self.orders.clear();
                if self.all_agents_gone() {
                    self.answer_end_requests();
                }
            }
        }
    }

    fn updates(&self, after: &Cursor, revision: u64) -> Result<SpaceUpdates, CursorExpired> {
        let events = self.journal.after(after, MAX_EVENTS_PER_UPDATE)?;
        let last = events.last().map_or(after.seq, |event| event.seq);
        if last < self.journal.last() {
            return Ok(SpaceUpdates { events, ..SpaceUpdates::default() });
        }
        let (items, frames) = (self.growth.items_after(revision), self.growth.frames_after(revision));
        Ok(SpaceUpdates { events, items, frames, revision: Some(self.growth.revision()) })
    }

    /// Serves a roster request in a separate task, because it may be slow. A space that is ending starts no agents.
    fn roster(&mut self, request: RosterRequest) {
        let agents = Arc::clone(&self.agents);
        match request {
            RosterRequest::Agents(reply) => {
                let present: HashSet<String> = self.orders.keys().map(ToString::to_string).collect();
                tokio::spawn(async move { reply.send(agents.cards(present).await) });
            }
            RosterRequest::Conversations { agent, reply } => {
                tokio::spawn(async move { reply.send(agents.conversations(&agent).await) });
            }
            RosterRequest::Manage { agent, ask, reply } => {
                let asked = self.manage(agent, ask);
                tokio::spawn(async move { reply.send(asked.await) });
            }
            RosterRequest::Invite { reply, .. } if self.ending.is_some() => {
                let _ = reply.send(Err(SpaceRefusal::Failed("the space is ending".to_owned())));
            }
            RosterRequest::Invite { agent, conversation, reply } => {
                let present = self.orders.contains_key(&ParticipantId::from(agent.as_str()));
                let roster_messages = self.roster_messages.clone();
                tokio::spawn(async move {
                    reply.send(agents.invite(&roster_messages, &agent, conversation, present).await)
                });
            }
        }
    }

    /// Returns a future that executes a request about agents. The future may be slow, and must be awaited outside of
    /// the loop.
    fn manage(
        &self,
        agent: Option<String>,
        ask: AgentRequest,
    ) -> impl Future<Output = Result<AgentReply, SpaceRefusal>> + Send + use<> {
        let present: HashSet<String> = self.orders.keys().map(ToString::to_string).collect();
        let running = agent.as_deref().filter(|_| ask == AgentRequest::Status).and_then(|id| self.running(id));
        let ending = self.ending.is_some();
        let (agents, roster_messages) = (Arc::clone(&self.agents), self.roster_messages.clone());
        async move {
            if ending {
                return Err(SpaceRefusal::Failed("the space is ending".to_owned()));
            }
            let answer = agents.manage(roster_messages, agent, ask, present).await?;
            Ok(match answer {
                AgentReply::Status(card) => AgentReply::Status(Box::new(StatusCard { running, ..*card })),
                answer => answer,
            })
        }
    }

    /// Returns the status of the agent with this name, if the agent is in the space.
    fn running(&self, id: &str) -> Option<RunningCard> {
        let participant = ParticipantId::from(id);
        self.orders.get(&participant)?;
        let state = self.machine.state();
        let capabilities = &state.participants.get(&participant)?.capabilities;
        Some(RunningCard {
            model: capabilities.model.clone(),
            mode: capabilities.mode.clone(),
            conversation: self.resume_ids.borrow().get(&participant).map(|own| conversation_id(id, own)),
            turns: state.turns.values().filter(|turn| turn.by == participant).count() as u64,
        })
    }

    fn handle_roster_message(&mut self, arrival: RosterMessage) {
        match arrival {
            RosterMessage::Managed(number, answer) => self.handle_input(SpaceInput::Managed(number, answer)),
            RosterMessage::Announced(level, answer) => self.handle_input(SpaceInput::Announced(level, answer)),
            RosterMessage::Enrol(id, harness, reply) => {
                let enrol = self.enrol(id, harness);
                let _ = reply.send(enrol);
            }
            RosterMessage::Leave(id, reply) => {
                self.ask_to_end(&id);
                // An agent ends when its order channel is closed.
                if self.orders.remove(&id).is_some() {
                    self.leaving.entry(id).or_default().push(reply);
                } else {
                    let _ = reply.send(());
                }
            }
        }
    }

    /// Reads a part of an item's text. A part that the item does not contain is read from the stored output.
    fn piece(&self, id: &ItemId, offset: u64, reply: oneshot::Sender<Result<TextPiece, PieceError>>) {
        let Some(item) = self.machine.state().items.get(id).cloned() else {
            return drop(reply.send(Err(PieceError::NoSuchItem)));
        };
        let kept = self.machine.key_of(&item).cloned().zip(self.stored_output.get(&item.from).cloned());
        tokio::task::spawn_blocking(move || {
            let read = |offset| kept.and_then(|(key, kept)| kept.read(&key, offset, MAX_PIECE_BYTES));
            reply.send(item.piece(offset, MAX_PIECE_BYTES, read))
        });
    }

    fn enrol(&mut self, id: ParticipantId, harness: Harness) -> bool {
        if self.ending.is_some() || self.orders.contains_key(&id) || self.leaving.contains_key(&id) {
            debug!(%id, "rejected an agent that cannot join the space");
            return false;
        }
        let Harness { orders, reports, overflow: kept, force_stop: force, interprets } = harness;
        self.generation += 1;
        let generation = self.generation;
        self.generations.insert(id.clone(), generation);
        self.set_resume_id(id.clone(), None);
        self.orders.insert(id.clone(), orders);
        self.stored_output.insert(id.clone(), kept);
        self.handle_input(SpaceInput::Enrol(id.clone(), interprets));
        let (urgency, urgency_changes) = watch::channel(EndUrgency::None);
        self.urgency.insert(id.clone(), urgency);
        let span = info_span!("agent_reports", agent = id.as_str());
        tokio::spawn(
            supervisor::supervise(reports, force, urgency_changes, (self.reporter.clone(), id, generation))
                .instrument(span),
        );
        true
    }

    fn handle_report(&mut self, id: ParticipantId, generation: u64, report: Report) {
        if self.generations.get(&id) != Some(&generation) {
            return;
        }
        if let Report::ResumeId(name) = report {
            return self.set_resume_id(id, name);
        }
        let gone = matches!(report, Report::Gone(_));
        self.handle_input(SpaceInput::Report(id.clone(), report));
        if gone {
            self.remove_agent(&id);
            self.stored_output.remove(&id);
            if self.ending.is_some() && self.all_agents_gone() {
                self.answer_end_requests();
            }
        }
    }

    /// Publishes the resume id of an agent's conversation, for the session store only.
    fn set_resume_id(&mut self, id: ParticipantId, name: Option<String>) {
        name.iter().for_each(|name| self.agents.note_conversation(&id, name));
        self.resume_ids.send_if_modified(|ids| match name {
            Some(name) => ids.insert(id, name.clone()).is_none_or(|before| before != name),
            None => ids.remove(&id).is_some(),
        });
    }

    fn ask_to_end(&self, id: &ParticipantId) {
        self.urgency.get(id).into_iter().for_each(|urgency| supervisor::raise(urgency, EndUrgency::Soon));
    }

    fn remove_agent(&mut self, id: &ParticipantId) {
        self.orders.remove(id);
        self.urgency.remove(id);
        self.generations.remove(id);
        self.stored.iter_mut().for_each(|stored| stored.forget(id));
        for reply in self.leaving.remove(id).into_iter().flatten() {
            let _ = reply.send(());
        }
    }

    fn all_agents_gone(&self) -> bool {
        use wh_core::space::event::{Activity, ParticipantRole};
        let state = self.machine.state();
        state
            .participants
            .iter()
            .filter(|(_, one)| one.role == ParticipantRole::Agent)
            .all(|(id, _)| matches!(state.activity(id), Some(Activity::Gone(_)) | None))
    }

    fn answer_end_requests(&mut self) {
        if let Some((waiting, _)) = self.ending.take() {
            for reply in waiting {
                let _ = reply.send(());
            }
        }
    }

    pub(super) fn handle_input(&mut self, input: SpaceInput) {
        let now = now();
        let effects = self.machine.handle(input, now);
        self.perform(effects, now.time);
    }

    fn perform(&mut self, effects: Vec<SpaceEffect>, at: SystemTime) {
        let (mut changed, mut lost, mut answers, mut receipts) = (false, Vec::new(), Vec::new(), Vec::new());
        for effect in effects {
            match effect {
                SpaceEffect::Publish(event) => {
                    changed = true;
                    self.growth.settle(&event);
                    if let SpaceEvent::Receipt(receipt) = &event {
                        receipts.push(receipt.clone());
                    }
                    let weight = event.weight();
                    self.journal.append_sized(event, at, weight);
                }
                SpaceEffect::Signal(signal) => {
                    changed = true;
                    self.growth.signal(signal);
                }
                SpaceEffect::SendOrder(id, order) => {
                    if let Err(reason) = self.deliver(&id, order) {
                        lost.push((id, reason));
                    }
                }
                SpaceEffect::Manage { number, agent, ask } => {
                    let (asked, roster_messages) = (self.manage(agent, ask), self.roster_messages.clone());
                    tokio::spawn(
                        async move { roster_messages.send(RosterMessage::Managed(number, asked.await)).await },
                    );
                }
                SpaceEffect::Answer(ticket, answer) => {
                    answers.extend(self.replies.remove(&ticket).map(|reply| (reply, answer)));
                }
            }
        }
        if changed {
            let gauges = self.machine.state().gauges();
            self.notices.send_modify(|notice| *notice = ChangeNotice { change_count: notice.change_count + 1, gauges });
        }
        // Callers are answered last, so that the events of a command are visible when its caller gets the answer.
        for (asking, answer) in answers {
            self.handle_answer(asking, answer);
        }
        self.note_receipts(receipts);
        for (id, reason) in lost {
            self.agent_lost(id, reason);
        }
    }

    pub(super) fn agent_lost(&mut self, id: ParticipantId, reason: &str) {
        self.remove_agent(&id);
        self.handle_input(SpaceInput::Report(id, Report::Gone(Some(reason.to_owned()))));
        if self.ending.is_some() && self.all_agents_gone() {
            self.answer_end_requests();
        }
    }

    /// Sends an order to an agent. Fails if the agent is not connected or its queue is full; the caller then treats the
    /// agent as lost.
    pub(super) fn send_order(&mut self, id: &ParticipantId, order: Order) -> Result<(), &'static str> {
        if order == Order::End {
            self.ask_to_end(id);
        }
        let Some(orders) = self.orders.get(id) else { return Err("the agent is not connected") };
        orders.try_send(order).map_err(|error| match error {
            TrySendError::Full(_) => "the queue of orders to the agent is full",
            TrySendError::Closed(_) => "the agent ended unexpectedly",
        })
    }
}

pub(super) fn now() -> Now {
    Now { steady: Instant::now(), time: SystemTime::now() }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake.into()).await,
        None => std::future::pending().await,
    }
}

async fn sleep_until_time(wake: Option<SystemTime>) {
    match wake {
        Some(wake) => tokio::time::sleep(wake.duration_since(SystemTime::now()).unwrap_or_default()).await,
        None => std::future::pending().await,
    }
}
