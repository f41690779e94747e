//! The task that owns a space. One loop hears everybody (the doors, the agents, the clock), tells the machine, and does
//! what the machine says.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{Instrument, debug, info_span, warn};
use wh_agents::kept::Kept;
use wh_agents::port::Harness;
use wh_client::{Pulse, RosterRequest, SpaceRequest, SpaceWatch, Updates};
use wh_core::event::{Cursor, Epoch, FellOut, Journal};
use wh_core::request::RequestId;
use wh_core::space::command::Refusal;
use wh_core::space::event::Event;
use wh_core::space::extent::{NoPiece, Piece};
use wh_core::space::harness::{Order, Report};
use wh_core::space::machine::{Effect, Input, Now, Space, Ticket};
use wh_core::space::roster::{Ask, RunningCard, StatusCard, Told, conversation_id};
use wh_core::space::{ItemId, ParticipantId};

use super::durable::{self, Asked, Asking, Reply, Stored};
use super::growth::Growth;
use super::roster::{Arrival, Desk};
use super::warden::{self, Haste};

/// Events handed out at once: enough to catch up quickly, few enough not to keep the space waiting.
const AT_ONCE: usize = 512;

/// Reports of all agents that may wait. Beyond that the agents wait: nothing they say is dropped.
const REPORTS: usize = 256;

/// Bytes of an item that are handed out at a time.
const AT_A_TIME: usize = 256 * 1024;

/// How long it is waited for agents to end: longer than any of them can live that was told to.
const LAST_WORDS: Duration = Duration::from_secs(20);

pub(super) struct Task {
    pub(super) machine: Space,
    requests: mpsc::Receiver<SpaceRequest>,
    /// What the agents call the conversations that they are in.
    kept: watch::Sender<BTreeMap<ParticipantId, String>>,
    arrivals: mpsc::Receiver<Arrival>,
    /// Held by those who start and end agents.
    line: mpsc::Sender<Arrival>,
    desk: Arc<Desk>,
    pub(super) orders: HashMap<ParticipantId, mpsc::Sender<Order>>,
    /// How soon each of those that are not gone is to end. Without an entry: soon.
    haste: HashMap<ParticipantId, watch::Sender<Haste>>,
    /// What agents said beyond what is shown.
    beyond: HashMap<ParticipantId, Kept>,
    reports: mpsc::Receiver<(ParticipantId, u64, Report)>,
    reporter: mpsc::Sender<(ParticipantId, u64, Report)>,
    /// Which of those that came under a name is the present one: what an earlier one still says is not its word.
    present: HashMap<ParticipantId, u64>,
    came: u64,
    /// Who is to end, and who waits for that.
    leaving: HashMap<ParticipantId, Vec<oneshot::Sender<()>>>,
    pub(super) replies: HashMap<Ticket, Asking>,
    pub(super) next_ticket: u64,
    /// Commands that are stored, where they are.
    pub(super) stored: Option<Stored>,
    /// Callers that wait for the result of a command, each with the lines of its answer.
    pub(super) waiting: HashMap<RequestId, Vec<(Reply, Vec<String>)>>,
    journal: Journal<Event>,
    growth: Growth,
    // Latest wins: who was busy hears only of the newest, and asks for the rest.
    pulse: watch::Sender<Pulse>,
    /// Who wants to know that every agent is gone, and until when they have to be.
    ending: Option<(Vec<oneshot::Sender<()>>, Instant)>,
}

impl Task {
    /// A task for a machine that was just made, with what was done by that.
    pub fn new(
        (machine, effects): (Space, Vec<Effect>),
        started: Now,
        requests: mpsc::Receiver<SpaceRequest>,
        (line, arrivals): (mpsc::Sender<Arrival>, mpsc::Receiver<Arrival>),
        desk: Arc<Desk>,
        kept: watch::Sender<BTreeMap<ParticipantId, String>>,
        stored: Option<Stored>,
    ) -> Self {
        let (reporter, reports) = mpsc::channel(REPORTS);
        let since = started.time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut task = Self {
            machine,
            requests,
            kept,
            arrivals,
            line,
            desk,
            orders: HashMap::new(),
            haste: HashMap::new(),
            beyond: HashMap::new(),
            reports,
            reporter,
            present: HashMap::new(),
            came: 0,
            leaving: HashMap::new(),
            replies: HashMap::new(),
            next_ticket: 0,
            stored,
            waiting: HashMap::new(),
            journal: Journal::new(Epoch::new(&format!("s{:x}", since.as_micros()))),
            growth: Growth::default(),
            pulse: watch::Sender::new(Pulse::default()),
            ending: None,
        };
        task.perform(effects, started.time);
        task
    }

    /// Runs until nobody holds the space any more, or everybody was ended.
    pub async fn run(mut self) {
        loop {
            let wake = self.machine.wake_at();
            let deadline = self.ending.as_ref().map(|(_, at)| *at);
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(request) => self.serve(request),
                    None => break,
                },
                Some(arrival) = self.arrivals.recv() => self.arrives(arrival),
                Some((id, came, report)) = self.reports.recv() => self.heard(id, came, report),
                progress = durable::next(&mut self.stored) => self.stored_more(progress),
                () = sleep_until_time(wake) => self.happens(Input::Tick),
                () = sleep_until(deadline) => {
                    warn!("some agents did not end in time");
                    self.orders.clear();
                    self.ended();
                }
            }
        }
    }

    pub(super) fn serve(&mut self, request: SpaceRequest) {
        match request {
            SpaceRequest::Command { by, request, command, until, reply } => {
                self.ask(Asked { by, request, command, until, reply });
            }
            SpaceRequest::Receipt { id, reply } => self.receipt(id, reply),
            SpaceRequest::Suspend => self.suspend(),
            SpaceRequest::Query { query, reply } => drop(reply.send(self.machine.state().answer(&query))),
            SpaceRequest::Watch(reply) => {
                let state = self.machine.state().clone();
                let (end, revision) = (self.journal.end(), self.growth.revision());
                let pulse = self.pulse.subscribe();
                let beat = pulse.borrow().beat;
                let _ = reply.send(SpaceWatch { state, end, revision, beat, pulse });
            }
            SpaceRequest::Updates { after, revision, reply } => drop(reply.send(self.updates(&after, revision))),
            SpaceRequest::Roster(request) => self.roster(request),
            SpaceRequest::Piece { item, offset, reply } => self.piece(&item, offset, reply),
            SpaceRequest::End { now, reply } => {
                self.desk.stop_logins();
                let deadline = Instant::now() + LAST_WORDS;
                self.ending.get_or_insert_with(|| (Vec::new(), deadline)).0.push(reply);
                for haste in self.haste.values() {
                    warden::hurry(haste, if now { Haste::Now } else { Haste::Soon });
                }
                // An agent whose orders are closed ends, also one that takes no more of them.
                self.orders.clear();
                if self.everybody_is_gone() {
                    self.ended();
                }
            }
        }
    }

    fn updates(&self, after: &Cursor, revision: u64) -> Result<Updates, FellOut> {
        let events = self.journal.after(after, AT_ONCE)?;
        let last = events.last().map_or(after.seq, |event| event.seq);
        if last < self.journal.last() {
            return Ok(Updates { events, ..Updates::default() });
        }
        let (items, frames) = (self.growth.items_after(revision), self.growth.frames_after(revision));
        Ok(Updates { events, items, frames, revision: Some(self.growth.revision()) })
    }

    /// What is slow is done apart; a space that is ending starts nobody.
    fn roster(&mut self, request: RosterRequest) {
        let desk = Arc::clone(&self.desk);
        match request {
            RosterRequest::Agents(reply) => {
                let present: HashSet<String> = self.orders.keys().map(ToString::to_string).collect();
                tokio::spawn(async move { reply.send(desk.cards(present).await) });
            }
            RosterRequest::Conversations { agent, reply } => {
                tokio::spawn(async move { reply.send(desk.conversations(&agent).await) });
            }
            RosterRequest::Manage { agent, ask, reply } => {
                let asked = self.manage(agent, ask);
                tokio::spawn(async move { reply.send(asked.await) });
            }
            RosterRequest::Invite { reply, .. } if self.ending.is_some() => {
                let _ = reply.send(Err(Refusal::Failed("the space is ending".to_owned())));
            }
            RosterRequest::Invite { agent, conversation, reply } => {
                let present = self.orders.contains_key(&ParticipantId::from(agent.as_str()));
                let line = self.line.clone();
                tokio::spawn(async move { reply.send(desk.invite(&line, &agent, conversation, present).await) });
            }
        }
    }

    /// What is asked about an agent beside its conversation, to be awaited apart.
    fn manage(&self, agent: Option<String>, ask: Ask) -> impl Future<Output = Result<Told, Refusal>> + Send + use<> {
        let present: HashSet<String> = self.orders.keys().map(ToString::to_string).collect();
        let running = agent.as_deref().filter(|_| ask == Ask::Status).and_then(|id| self.running(id));
        let ending = self.ending.is_some();
        let (desk, line) = (Arc::clone(&self.desk), self.line.clone());
        async move {
            if ending {
                return Err(Refusal::Failed("the space is ending".to_owned()));
            }
            let told = desk.manage(line, agent, ask, present).await?;
            Ok(match told {
                Told::Status(card) => Told::Status(Box::new(StatusCard { running, ..*card })),
                told => told,
            })
        }
    }

    /// How the agent of this name is, if it takes part.
    fn running(&self, id: &str) -> Option<RunningCard> {
        let participant = ParticipantId::from(id);
        self.orders.get(&participant)?;
        let state = self.machine.state();
        let capabilities = &state.participants.get(&participant)?.capabilities;
        Some(RunningCard {
            model: capabilities.model.clone(),
            mode: capabilities.mode.clone(),
            conversation: self.kept.borrow().get(&participant).map(|own| conversation_id(id, own)),
            turns: state.turns.values().filter(|turn| turn.by == participant).count() as u64,
        })
    }

    fn arrives(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Managed(number, told) => self.happens(Input::Managed(number, told)),
            Arrival::Announced(level, told) => self.happens(Input::Announced(level, told)),
            Arrival::Enrol(id, harness, reply) => {
                let welcome = self.welcome(id, harness);
                let _ = reply.send(welcome);
            }
            Arrival::Leave(id, reply) => {
                self.hurry(&id);
                // An agent whose orders are closed ends.
                if self.orders.remove(&id).is_some() {
                    self.leaving.entry(id).or_default().push(reply);
                } else {
                    let _ = reply.send(());
                }
            }
        }
    }

    /// A part of an item: what the item shows is at hand, what is beyond it is read from where it is kept.
    fn piece(&self, id: &ItemId, offset: u64, reply: oneshot::Sender<Result<Piece, NoPiece>>) {
        let Some(item) = self.machine.state().items.get(id).cloned() else {
            return drop(reply.send(Err(NoPiece::NoSuchItem)));
        };
        let kept = self.machine.key_of(&item).cloned().zip(self.beyond.get(&item.from).cloned());
        tokio::task::spawn_blocking(move || {
            let read = |offset| kept.and_then(|(key, kept)| kept.read(&key, offset, AT_A_TIME));
            reply.send(item.piece(offset, AT_A_TIME, read))
        });
    }

    fn welcome(&mut self, id: ParticipantId, harness: Harness) -> bool {
        if self.ending.is_some() || self.orders.contains_key(&id) || self.leaving.contains_key(&id) {
            debug!(%id, "an agent came that cannot take part");
            return false;
        }
        let Harness { orders, reports, kept, force, interprets } = harness;
        self.came += 1;
        let came = self.came;
        self.present.insert(id.clone(), came);
        self.keeps(id.clone(), None);
        self.orders.insert(id.clone(), orders);
        self.beyond.insert(id.clone(), kept);
        self.happens(Input::Enrol(id.clone(), interprets));
        let (haste, hurried) = watch::channel(Haste::None);
        self.haste.insert(id.clone(), haste);
        let span = info_span!("agent_reports", agent = id.as_str());
        tokio::spawn(warden::hear(reports, force, hurried, (self.reporter.clone(), id, came)).instrument(span));
        true
    }

    fn heard(&mut self, id: ParticipantId, came: u64, report: Report) {
        if self.present.get(&id) != Some(&came) {
            return;
        }
        if let Report::Kept(name) = report {
            return self.keeps(id, name);
        }
        let gone = matches!(report, Report::Gone(_));
        self.happens(Input::Report(id.clone(), report));
        if gone {
            self.has_gone(&id);
            self.beyond.remove(&id);
            if self.ending.is_some() && self.everybody_is_gone() {
                self.ended();
            }
        }
    }

    /// What an agent calls its conversation goes to whoever keeps sessions, and past everybody else.
    fn keeps(&mut self, id: ParticipantId, name: Option<String>) {
        name.iter().for_each(|name| self.desk.note_conversation(&id, name));
        self.kept.send_if_modified(|kept| match name {
            Some(name) => kept.insert(id, name.clone()).is_none_or(|before| before != name),
            None => kept.remove(&id).is_some(),
        });
    }

    fn hurry(&self, id: &ParticipantId) {
        self.haste.get(id).into_iter().for_each(|haste| warden::hurry(haste, Haste::Soon));
    }

    fn has_gone(&mut self, id: &ParticipantId) {
        self.orders.remove(id);
        self.haste.remove(id);
        self.present.remove(id);
        self.stored.iter_mut().for_each(|stored| stored.forget(id));
        for reply in self.leaving.remove(id).into_iter().flatten() {
            let _ = reply.send(());
        }
    }

    fn everybody_is_gone(&self) -> bool {
        use wh_core::space::event::{Activity, Role};
        let state = self.machine.state();
        state
            .participants
            .iter()
            .filter(|(_, one)| one.role == Role::Agent)
            .all(|(id, _)| matches!(state.activity(id), Some(Activity::Gone(_)) | None))
    }

    fn ended(&mut self) {
        if let Some((waiting, _)) = self.ending.take() {
            for reply in waiting {
                let _ = reply.send(());
            }
        }
    }

    pub(super) fn happens(&mut self, input: Input) {
        let now = now();
        let effects = self.machine.handle(input, now);
        self.perform(effects, now.time);
    }

    fn perform(&mut self, effects: Vec<Effect>, at: SystemTime) {
        let (mut changed, mut lost, mut answers, mut receipts) = (false, Vec::new(), Vec::new(), Vec::new());
        for effect in effects {
            match effect {
                Effect::Publish(event) => {
                    changed = true;
                    self.growth.settle(&event);
                    if let Event::Receipt(receipt) = &event {
                        receipts.push(receipt.clone());
                    }
                    let weight = event.weight();
                    self.journal.enter_heavy(event, at, weight);
                }
                Effect::Signal(signal) => {
                    changed = true;
                    self.growth.signal(signal);
                }
                Effect::Tell(id, order) => {
                    if let Err(reason) = self.hand(&id, order) {
                        lost.push((id, reason));
                    }
                }
                Effect::Manage { number, agent, ask } => {
                    let (asked, line) = (self.manage(agent, ask), self.line.clone());
                    tokio::spawn(async move { line.send(Arrival::Managed(number, asked.await)).await });
                }
                Effect::Answer(ticket, answer) => {
                    answers.extend(self.replies.remove(&ticket).map(|reply| (reply, answer)));
                }
            }
        }
        if changed {
            let gauges = self.machine.state().gauges();
            self.pulse.send_modify(|pulse| *pulse = Pulse { beat: pulse.beat + 1, gauges });
        }
        // Last, so that who was answered and then waits finds what the answer is about.
        for (asking, answer) in answers {
            self.answered(asking, answer);
        }
        self.note_receipts(receipts);
        for (id, reason) in lost {
            self.is_lost(id, reason);
        }
    }

    pub(super) fn is_lost(&mut self, id: ParticipantId, reason: &str) {
        self.has_gone(&id);
        self.happens(Input::Report(id, Report::Gone(Some(reason.to_owned()))));
        if self.ending.is_some() && self.everybody_is_gone() {
            self.ended();
        }
    }

    /// Gives an order. An agent that takes none any more, though so many wait for it, is as good as gone.
    pub(super) fn tell(&mut self, id: &ParticipantId, order: Order) -> Result<(), &'static str> {
        if order == Order::End {
            self.hurry(id);
        }
        let Some(orders) = self.orders.get(id) else { return Err("it is not connected") };
        orders.try_send(order).map_err(|error| match error {
            TrySendError::Full(_) => "it does not take its orders",
            TrySendError::Closed(_) => "it ended without a word",
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
