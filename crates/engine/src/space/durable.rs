//! Commands of a space that are stored: begun before the machine has them, settled when it is known what came of them. A
//! message is stored before it is acknowledged, and taken out of the queue before its agent is given it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::future::poll_fn;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::oneshot;
use wh_client::Until;
use wh_core::receipt::{Receipt, Stage};
use wh_core::request::{Content, Request, RequestId};
use wh_core::space::command::{Command, Done, Refusal};
use wh_core::space::harness::{Order, Outcome, Report};
use wh_core::space::machine::{Input, QueuedMessage, Ticket};
use wh_core::space::{ParticipantId, TurnId};

use super::task::{Task, now};
use crate::ledger::{Beginning, BegunCommand, SessionLedger};
use crate::store::{self, Begun, StoreError};

pub(super) type Reply = oneshot::Sender<Result<Done, Refusal>>;

/// A command on its way to the machine.
pub(super) struct Asked {
    pub by: ParticipantId,
    pub request: Option<Request>,
    pub command: Command,
    pub until: Until,
    pub reply: Reply,
}

impl Asked {
    /// True if a message that is queued is acknowledged before its delivery.
    fn acknowledged_when_queued(&self) -> bool {
        !matches!(self.command, Command::Say { interrupt: true, .. })
    }
}

/// Whoever waits for the machine's answer.
pub(super) struct Asking {
    reply: Reply,
    until: Until,
    /// Its command is a message that waits for its turn, and so is the caller.
    waits_in_queue: bool,
    /// The id under which the command is stored.
    stored: Option<RequestId>,
}

/// The commands of a space that are stored.
pub(super) struct Stored {
    ledger: SessionLedger,
    beginning: Beginning<Entering>,
    /// Retries of commands that are being begun.
    repeated: HashMap<RequestId, Vec<Asked>>,
    /// Commands without a final receipt.
    open: HashMap<RequestId, Open>,
    /// Orders that wait until it is stored that a message is handed over.
    held: HashMap<ParticipantId, VecDeque<Order>>,
    /// The space is about to end: nothing more is handed over.
    suspended: bool,
    /// Messages that were being handed over then. Their receipts stay as they are.
    kept: HashSet<RequestId>,
    handing_over: FuturesUnordered<BoxFuture<'static, HandingOver>>,
}

/// A command that is being begun; or one that only waits for those before it.
pub(super) struct Entering {
    asked: Asked,
    message: Option<QueuedMessage>,
}

pub(super) struct HandingOver {
    agent: ParticipantId,
    turn: TurnId,
    stored: Result<(), StoreError>,
}

/// Completed work of the store.
pub(super) enum Progress {
    Begun(Box<BegunCommand<Entering>>),
    HandedOver(HandingOver),
}

/// The next of what is being stored. Cancel safe.
pub(super) async fn next(stored: &mut Option<Stored>) -> Progress {
    let Some(Stored { beginning, handing_over, .. }) = stored else { return std::future::pending().await };
    poll_fn(|context| {
        if let Poll::Ready(begun) = beginning.poll(context) {
            return Poll::Ready(Progress::Begun(Box::new(begun)));
        }
        match handing_over.poll_next_unpin(context) {
            Poll::Ready(Some(handed_over)) => Poll::Ready(Progress::HandedOver(handed_over)),
            _ => Poll::Pending,
        }
    })
    .await
}

struct Open {
    message: Option<QueuedMessage>,
    /// The message waits, and the store has it.
    is_queued: bool,
    /// It has waited: its caller was told that it is queued.
    was_queued: bool,
    settled: bool,
}

impl Stored {
    pub fn new(ledger: SessionLedger) -> Self {
        Self {
            ledger,
            beginning: Beginning::default(),
            repeated: HashMap::new(),
            open: HashMap::new(),
            held: HashMap::new(),
            suspended: false,
            kept: HashSet::new(),
            handing_over: FuturesUnordered::new(),
        }
    }

    /// An agent that is gone takes no orders.
    pub fn forget(&mut self, agent: &ParticipantId) {
        self.held.remove(agent);
    }

    /// Messages that an earlier life has stored and that wait from now on.
    pub fn requeued(&mut self, messages: &[QueuedMessage]) {
        for message in messages {
            let open = Open { message: Some(message.clone()), is_queued: true, was_queued: true, settled: false };
            self.open.insert(message.request_id.clone(), open);
        }
    }
}

impl Task {
    /// The space is about to end, and a later one goes on with it.
    pub(super) fn suspend(&mut self) {
        if let Some(stored) = &mut self.stored {
            stored.suspended = true;
            let held = stored.held.values().filter_map(|orders| match orders.front() {
                Some(Order::Prompt { turn, .. }) => self.machine.command_of(turn).cloned(),
                _ => None,
            });
            stored.kept.extend(held);
        }
        self.happens(Input::Suspend);
    }

    /// Handles completed work of the store.
    pub(super) fn stored_more(&mut self, progress: Progress) {
        match progress {
            Progress::Begun(begun) => self.entered(*begun),
            Progress::HandedOver(handing_over) => self.handed_over(handing_over),
        }
    }

    /// Takes a command: it is stored first, where that is needed.
    pub(super) fn ask(&mut self, mut asked: Asked) {
        let is_message = asked.command.is_message();
        let is_stored =
            |stored: &&mut Stored| asked.request.is_some() || (is_message && stored.ledger.keeps_messages());
        let Some(stored) = self.stored.as_mut().filter(is_stored) else {
            return match &mut self.stored {
                Some(stored) if !stored.beginning.is_empty() => {
                    stored.beginning.push_unstored(Entering { asked, message: None });
                }
                _ => self.carry_out(asked, None),
            };
        };
        let machine = &mut self.machine;
        let request = match &asked.request {
            Some(request) => request.clone(),
            None => Request::new(machine.request_id(), "wh", &Content::text("")),
        };
        if machine.knows(&request.id, now()) {
            return self.carry_out(asked, None);
        }
        if let Some(repeated) = stored.repeated.get_mut(&request.id) {
            return repeated.push(asked);
        }
        stored.repeated.insert(request.id.clone(), Vec::new());
        let message = is_message.then(|| queued_message(&asked, &request.id));
        let begin = stored.ledger.begin(&request);
        asked.request = Some(request);
        stored.beginning.push(Entering { asked, message }, begin);
    }

    /// A command was stored, or is known.
    fn entered(&mut self, (Entering { asked, message }, begun): BegunCommand<Entering>) {
        let (Some(begun), Some(request), Some(stored)) = (begun, asked.request.clone(), self.stored.as_mut()) else {
            return self.carry_out(asked, None);
        };
        let repeated = stored.repeated.remove(&request.id).unwrap_or_default();
        match begun {
            Ok(Begun::New) => {
                stored
                    .open
                    .insert(request.id.clone(), Open { message, is_queued: false, was_queued: false, settled: false });
                self.carry_out(asked, Some(request.id));
            }
            Ok(Begun::Known(entry)) => {
                let answer = self.repeated(&request, &entry);
                let _ = asked.reply.send(answer);
            }
            Err(StoreError::Full { .. }) => drop(asked.reply.send(Err(Refusal::LedgerFull))),
            Err(error) => drop(asked.reply.send(Err(Refusal::NotStored(error.to_string())))),
        }
        repeated.into_iter().for_each(|asked| self.ask(asked));
    }

    /// The answer to a command that was begun before.
    fn repeated(&self, request: &Request, entry: &store::Entry) -> Result<Done, Refusal> {
        let id = &request.id;
        let stored = self.stored.as_ref().ok_or(Refusal::UsedBefore)?;
        let receipt = stored.ledger.repeated(request, entry).map_err(|_| Refusal::RequestIdReused)?;
        let receipt = self.machine.state().receipts.get(id).cloned().unwrap_or(receipt);
        Ok(Done { receipt, lines: Vec::new(), duplicate: true, queued: self.machine.is_queued(id) })
    }

    fn carry_out(&mut self, asked: Asked, stored: Option<RequestId>) {
        self.next_ticket += 1;
        let (ticket, waits_in_queue) = (Ticket(self.next_ticket), !asked.acknowledged_when_queued());
        let Asked { by, request, command, until, reply } = asked;
        self.replies.insert(ticket, Asking { reply, until, waits_in_queue, stored });
        self.happens(Input::Command { ticket, by, request, command });
    }

    /// Gives an agent an order; a message that waited only once that is stored, and what comes after it behind it.
    pub(super) fn hand(&mut self, agent: &ParticipantId, order: Order) -> Result<(), &'static str> {
        let Some(stored) = &mut self.stored else { return self.tell(agent, order) };
        if let Some(held) = stored.held.get_mut(agent) {
            held.push_back(order);
            return Ok(());
        }
        if let Order::Prompt { turn, .. } = &order
            && self.orders.contains_key(agent)
            && let Some(id) = self.machine.command_of(turn)
            && let Some(open) = stored.open.get_mut(id).filter(|open| open.is_queued)
        {
            open.is_queued = false;
            let (ledger, id, agent, turn) = (stored.ledger.clone(), id.clone(), agent.clone(), turn.clone());
            stored.held.insert(agent.clone(), VecDeque::from([order]));
            stored.handing_over.push(Box::pin(async move {
                let stored = ledger.handed_over(&id).await;
                HandingOver { agent, turn, stored }
            }));
            return Ok(());
        }
        self.tell(agent, order)
    }

    /// It is stored that a message is handed over: its agent gets it.
    fn handed_over(&mut self, HandingOver { agent, turn, stored }: HandingOver) {
        let held = self.stored.as_mut().and_then(|all| all.held.remove(&agent));
        let mut orders = held.unwrap_or_default();
        if let Some(all) = self.stored.as_mut().filter(|all| all.suspended) {
            // The agent is not given it any more; the next life of the space hands it over.
            let id = self.machine.command_of(&turn).cloned();
            let message = id.and_then(|id| all.open.get(&id)?.message.clone());
            if let (Ok(()), Some(message)) = (&stored, message) {
                drop(all.ledger.enqueue(&message, true));
            }
            return;
        }
        if let Err(error) = stored {
            // Given to the agent now, it might be given again after a crash.
            orders.pop_front();
            let why = format!("cannot store the hand-over: {error}");
            self.happens(Input::Report(agent.clone(), Report::Ended(turn, Outcome::Failed(why))));
        }
        for order in orders {
            if let Err(reason) = self.hand(&agent, order) {
                return self.is_lost(agent, reason);
            }
        }
    }

    /// A command is further: what came of it is stored, and whoever waits for that is answered.
    pub(super) fn note_receipts(&mut self, receipts: Vec<Receipt>) {
        for receipt in receipts {
            let known = receipt.was_delivered() || receipt.stage.is_last();
            let waiting = if known { self.waiting.remove(&receipt.request_id) } else { None };
            let done = Done { receipt: receipt.clone(), lines: Vec::new(), duplicate: false, queued: false };
            let mut commit = None;
            let is_kept = |stored: &&mut Stored| !stored.kept.contains(&receipt.request_id);
            if let Some(stored) = self.stored.as_mut().filter(is_kept)
                && let Some(open) = stored.open.get_mut(&receipt.request_id)
            {
                if known && !open.settled {
                    open.settled = true;
                    open.message = None;
                    commit = Some((stored.ledger.clone(), stored.ledger.settle(&receipt)));
                } else if receipt.stage.is_last() {
                    stored.ledger.note(&receipt);
                }
                if receipt.stage.is_last() {
                    stored.open.remove(&receipt.request_id);
                }
            }
            let waiting = waiting.unwrap_or_default();
            let answer = move |stored: Result<(), StoreError>| {
                let answer = stored.map(|()| done).map_err(|error| Refusal::ResultNotStored(error.to_string()));
                for (reply, lines) in waiting {
                    let _ = reply.send(answer.clone().map(|done| Done { lines, ..done }));
                }
            };
            match commit {
                Some((ledger, commit)) => {
                    tokio::spawn(async move { answer(ledger.settled(commit, receipt).await) });
                }
                None => answer(Ok(())),
            }
        }
    }

    /// The machine has answered.
    pub(super) fn answered(&mut self, asking: Asking, answer: Result<Done, Refusal>) {
        let Asking { reply, until, waits_in_queue, stored: id } = asking;
        let mut done = match answer {
            Ok(done) => done,
            Err(refusal) => return self.refused(id, reply, refusal),
        };
        let known = self.stored.as_mut().and_then(|stored| stored.open.get_mut(&done.receipt.request_id));
        if let Some(open) = known {
            open.was_queued |= done.queued;
            // It is being handed over: what was acknowledged as queued still is.
            done.queued |= open.was_queued && done.receipt.stage == Stage::Accepted;
        }
        let open = id.and_then(|id| self.stored.as_mut()?.open.get_mut(&id)).filter(|_| !done.duplicate);
        let is_open = open.is_some();
        let mut commit = None;
        if let Some(open) = open.filter(|open| done.queued && !open.is_queued)
            && let Some(message) = &mut open.message
        {
            message.turn.clone_from(&done.receipt.turn);
            let message = message.clone();
            open.is_queued = true;
            let enqueued = self.stored.as_ref().map(|stored| stored.ledger.enqueue(&message, waits_in_queue));
            commit = enqueued.filter(|_| !waits_in_queue);
        } else if done.duplicate {
            // What the first caller waits for, its retry waits for, too.
            commit = self
                .stored
                .as_ref()
                .and_then(|stored| stored.open.contains_key(&done.receipt.request_id).then(|| stored.ledger.barrier()));
        }
        if let Some(commit) = commit {
            return drop(tokio::spawn(async move {
                let stored = commit.await.map_err(|error| Refusal::ResultNotStored(error.to_string()));
                let _ = reply.send(stored.map(|()| done));
            }));
        }
        let is_known = done.receipt.was_delivered() || done.receipt.stage.is_last();
        let until_delivered = until == Until::Delivered && !is_known && (waits_in_queue || !done.queued);
        // What came of it is about to be stored: it is answered after that.
        if !done.duplicate && (until_delivered || (is_open && is_known)) {
            self.waiting.entry(done.receipt.request_id.clone()).or_default().push((reply, done.lines));
        } else {
            let _ = reply.send(Ok(done));
        }
    }

    fn refused(&mut self, id: Option<RequestId>, reply: Reply, refusal: Refusal) {
        // One that was accepted has a receipt, and is settled; the receipt of an old command of the same id is not its own.
        let accepted =
            |id: &RequestId| refusal != Refusal::UsedBefore && self.machine.state().receipts.get(id).is_some();
        let Some((id, stored)) = id.filter(|id| !accepted(id)).zip(self.stored.as_mut()) else {
            return drop(reply.send(Err(refusal)));
        };
        stored.open.remove(&id);
        let ledger = stored.ledger.clone();
        let commit = ledger.take_back(&id);
        tokio::spawn(async move {
            reply.send(Err(match ledger.taken_back(commit, id).await {
                Ok(()) => refusal,
                Err(error) => Refusal::ResultNotStored(format!("{refusal}; {error}")),
            }))
        });
    }

    /// The receipt of a command, also of an earlier life.
    pub(super) fn receipt(&self, id: RequestId, reply: oneshot::Sender<Option<Receipt>>) {
        let here = self.machine.state().receipts.get(&id).cloned();
        match &self.stored {
            Some(stored) if here.is_none() => {
                let ledger = stored.ledger.clone();
                tokio::spawn(async move {
                    // Without an answer the caller knows that it is not known.
                    if let Ok(receipt) = ledger.stored_receipt(&id).await {
                        let _ = reply.send(receipt);
                    }
                });
            }
            _ => drop(reply.send(here)),
        }
    }
}

fn queued_message(asked: &Asked, id: &RequestId) -> QueuedMessage {
    let (text, to) = match &asked.command {
        Command::Say { text, to, .. } => (text.clone(), to.clone()),
        Command::OfAgent { line, .. } => (line.clone(), None),
        _ => (String::new(), None),
    };
    QueuedMessage { request_id: id.clone(), by: asked.by.clone(), text, to, at: now().time, turn: None, item: None }
}
