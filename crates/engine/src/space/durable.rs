//! Stored commands of a space. A command is stored in the ledger before the state machine receives it, and settled when
//! its result is known. A message is stored before it is acknowledged, and removed from the queue before it is
//! delivered to its agent.

use std::collections::{HashMap, HashSet, VecDeque};
use std::future::poll_fn;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::oneshot;
use wh_client::ReplyStage;
use wh_core::receipt::{Receipt, ReceiptStage};
use wh_core::request::{CommandContent, FingerprintedId, RequestId};
use wh_core::space::command::{CommandAccepted, ConversationCommand, SpaceRefusal};
use wh_core::space::harness::{Order, Report, TurnOutcome};
use wh_core::space::machine::{QueuedMessage, SpaceInput, Ticket};
use wh_core::space::{ParticipantId, TurnId};

use super::task::{SpaceTask, now};
use crate::ledger::{BeginQueue, BegunCommand, SessionLedger};
use crate::store::{self, BeginOutcome, StoreError};

pub(super) type CommandReplySender = oneshot::Sender<Result<CommandAccepted, SpaceRefusal>>;

/// Command of a client, before the state machine receives it.
pub(super) struct IncomingCommand {
    pub by: ParticipantId,
    pub request: Option<FingerprintedId>,
    pub command: ConversationCommand,
    pub until: ReplyStage,
    pub reply: CommandReplySender,
}

impl IncomingCommand {
    /// True if the command is acknowledged when its message is queued; false if the message interrupts the agent's
    /// turn.
    fn acknowledged_when_queued(&self) -> bool {
        !matches!(self.command, ConversationCommand::Say { interrupt: true, .. })
    }
}

/// Caller that waits for the state machine's answer to its command.
pub(super) struct CommandCaller {
    reply: CommandReplySender,
    until: ReplyStage,
    /// True if the message is acknowledged only when it is delivered to the agent, not when it is queued.
    waits_in_queue: bool,
    /// Request id of the command, if the command is stored.
    stored: Option<RequestId>,
}

/// Ledger of a space, with the commands in progress.
pub(super) struct StoredSpaceCommands {
    ledger: SessionLedger,
    beginning: BeginQueue<BeginningCommand>,
    /// Retries that arrived while the first request was being stored.
    retries: HashMap<RequestId, Vec<IncomingCommand>>,
    /// Commands that have no final receipt yet.
    open: HashMap<RequestId, PendingCommand>,
    /// Orders to an agent, held until the store has removed a message for this agent from the queue.
    held: HashMap<ParticipantId, VecDeque<Order>>,
    /// True if the space is about to end. No more queued messages are delivered.
    suspended: bool,
    /// Messages that were being removed from the queue when the space was suspended. Their stored receipts are not
    /// changed.
    kept_receipts: HashSet<RequestId>,
    handing_over: FuturesUnordered<BoxFuture<'static, MessageHandover>>,
}

/// Command that is being stored, or that waits until earlier commands are stored.
pub(super) struct BeginningCommand {
    asked: IncomingCommand,
    message: Option<QueuedMessage>,
}

pub(super) struct MessageHandover {
    agent: ParticipantId,
    turn: TurnId,
    stored: Result<(), StoreError>,
}

/// Operation of the store that has completed.
pub(super) enum StoreProgress {
    Begun(Box<BegunCommand<BeginningCommand>>),
    HandedOver(MessageHandover),
}

/// Waits until the next operation of the store completes. Cancel safe.
pub(super) async fn next(stored: &mut Option<StoredSpaceCommands>) -> StoreProgress {
    let Some(StoredSpaceCommands { beginning, handing_over, .. }) = stored else { return std::future::pending().await };
    poll_fn(|context| {
        if let Poll::Ready(begun) = beginning.poll(context) {
            return Poll::Ready(StoreProgress::Begun(Box::new(begun)));
        }
        match handing_over.poll_next_unpin(context) {
            Poll::Ready(Some(handed_over)) => Poll::Ready(StoreProgress::HandedOver(handed_over)),
            _ => Poll::Pending,
        }
    })
    .await
}

struct PendingCommand {
    message: Option<QueuedMessage>,
    /// True if the message is in the stored queue.
    is_queued: bool,
    /// True if the message was in the stored queue and its caller has received the answer `queued`.
    was_queued: bool,
    settled: bool,
}

impl StoredSpaceCommands {
    pub fn new(ledger: SessionLedger) -> Self {
        Self {
            ledger,
            beginning: BeginQueue::default(),
            retries: HashMap::new(),
            open: HashMap::new(),
            held: HashMap::new(),
            suspended: false,
            kept_receipts: HashSet::new(),
            handing_over: FuturesUnordered::new(),
        }
    }

    /// Drops the orders that are held for an agent that has ended.
    pub fn forget(&mut self, agent: &ParticipantId) {
        self.held.remove(agent);
    }

    /// Adds messages that a previous daemon stored and that are queued again.
    pub fn requeued(&mut self, messages: &[QueuedMessage]) {
        for message in messages {
            let open =
                PendingCommand { message: Some(message.clone()), is_queued: true, was_queued: true, settled: false };
            self.open.insert(message.request_id.clone(), open);
        }
    }
}

impl SpaceTask {
    /// Suspends the space: it is about to end, and the next daemon resumes it.
    pub(super) fn suspend(&mut self) {
        if let Some(stored) = &mut self.stored {
            stored.suspended = true;
            let held = stored.held.values().filter_map(|orders| match orders.front() {
                Some(Order::Prompt { turn, .. }) => self.machine.command_of(turn).cloned(),
                _ => None,
            });
            stored.kept_receipts.extend(held);
        }
        self.handle_input(SpaceInput::Suspend);
    }

    /// Handles the completion of an operation of the store.
    pub(super) fn handle_store_progress(&mut self, progress: StoreProgress) {
        match progress {
            StoreProgress::Begun(begun) => self.command_begun(*begun),
            StoreProgress::HandedOver(handing_over) => self.handed_over(handing_over),
        }
    }

    /// Accepts a command. A command that must be stored is first stored in the ledger.
    pub(super) fn submit(&mut self, mut asked: IncomingCommand) {
        let is_message = asked.command.is_message();
        let is_stored = |stored: &&mut StoredSpaceCommands| {
            asked.request.is_some() || (is_message && stored.ledger.stores_messages())
        };
        let Some(stored) = self.stored.as_mut().filter(is_stored) else {
            return match &mut self.stored {
                Some(stored) if !stored.beginning.is_empty() => {
                    stored.beginning.push_unstored(BeginningCommand { asked, message: None });
                }
                _ => self.execute(asked, None),
            };
        };
        let machine = &mut self.machine;
        let request = match &asked.request {
            Some(request) => request.clone(),
            None => FingerprintedId::new(machine.request_id(), "wh", &CommandContent::text("")),
        };
        if machine.has_answer(&request.id, now()) {
            return self.execute(asked, None);
        }
        if let Some(retries) = stored.retries.get_mut(&request.id) {
            return retries.push(asked);
        }
        stored.retries.insert(request.id.clone(), Vec::new());
        let message = is_message.then(|| queued_message(&asked, &request.id));
        let begin = stored.ledger.begin(&request);
        asked.request = Some(request);
        stored.beginning.push(BeginningCommand { asked, message }, begin);
    }

    /// Executes or answers a command after the attempt to store it.
    fn command_begun(&mut self, (BeginningCommand { asked, message }, begun): BegunCommand<BeginningCommand>) {
        let (Some(begun), Some(request), Some(stored)) = (begun, asked.request.clone(), self.stored.as_mut()) else {
            return self.execute(asked, None);
        };
        let retries = stored.retries.remove(&request.id).unwrap_or_default();
        match begun {
            Ok(BeginOutcome::New) => {
                stored.open.insert(
                    request.id.clone(),
                    PendingCommand { message, is_queued: false, was_queued: false, settled: false },
                );
                self.execute(asked, Some(request.id));
            }
            Ok(BeginOutcome::Known(entry)) => {
                let answer = self.repeated_answer(&request, &entry);
                let _ = asked.reply.send(answer);
            }
            Err(StoreError::Full { .. }) => drop(asked.reply.send(Err(SpaceRefusal::LedgerFull))),
            Err(error) => drop(asked.reply.send(Err(SpaceRefusal::NotStored(error.to_string())))),
        }
        retries.into_iter().for_each(|asked| self.submit(asked));
    }

    /// Returns the answer to a retry of a known command.
    fn repeated_answer(
        &self,
        request: &FingerprintedId,
        entry: &store::RequestEntry,
    ) -> Result<CommandAccepted, SpaceRefusal> {
        let id = &request.id;
        let stored = self.stored.as_ref().ok_or(SpaceRefusal::UsedBefore)?;
        let receipt = stored.ledger.repeated(request, entry).map_err(|_| SpaceRefusal::RequestIdReused)?;
        let receipt = self.machine.state().receipts.get(id).cloned().unwrap_or(receipt);
        Ok(CommandAccepted { receipt, lines: Vec::new(), duplicate: true, queued: self.machine.is_queued(id) })
    }

    fn execute(&mut self, asked: IncomingCommand, stored: Option<RequestId>) {
        self.next_ticket += 1;
        let (ticket, waits_in_queue) = (Ticket(self.next_ticket), !asked.acknowledged_when_queued());
        let IncomingCommand { by, request, command, until, reply } = asked;
        self.replies.insert(ticket, CommandCaller { reply, until, waits_in_queue, stored });
        self.handle_input(SpaceInput::Command { ticket, by, request, command });
    }

    /// Delivers an order to an agent. A queued message is first removed from the stored queue; later orders to the
    /// agent wait behind it.
    pub(super) fn deliver(&mut self, agent: &ParticipantId, order: Order) -> Result<(), &'static str> {
        let Some(stored) = &mut self.stored else { return self.send_order(agent, order) };
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
                MessageHandover { agent, turn, stored }
            }));
            return Ok(());
        }
        self.send_order(agent, order)
    }

    /// Delivers a message after it was removed from the stored queue. If the removal failed, the message fails. If the
    /// space is suspended, the message is put back into the queue.
    fn handed_over(&mut self, MessageHandover { agent, turn, stored }: MessageHandover) {
        let held = self.stored.as_mut().and_then(|all| all.held.remove(&agent));
        let mut orders = held.unwrap_or_default();
        if let Some(all) = self.stored.as_mut().filter(|all| all.suspended) {
            // The space is suspended. The message is put back into the queue, so that the next daemon delivers it.
            let id = self.machine.command_of(&turn).cloned();
            let message = id.and_then(|id| all.open.get(&id)?.message.clone());
            if let (Ok(()), Some(message)) = (&stored, message) {
                drop(all.ledger.enqueue(&message, true));
            }
            return;
        }
        if let Err(error) = stored {
            // The message must not be delivered: it is still in the stored queue, and would be delivered again after a
            // crash.
            orders.pop_front();
            let why = format!("the message was not delivered, because the store cannot record the delivery: {error}");
            self.handle_input(SpaceInput::Report(agent.clone(), Report::Ended(turn, TurnOutcome::Failed(why))));
        }
        for order in orders {
            if let Err(reason) = self.deliver(&agent, order) {
                return self.agent_lost(agent, reason);
            }
        }
    }

    /// Stores the receipts of commands, and answers the callers that wait for them.
    pub(super) fn note_receipts(&mut self, receipts: Vec<Receipt>) {
        for receipt in receipts {
            let known = receipt.was_delivered() || receipt.stage.is_last();
            let waiting = if known { self.waiting.remove(&receipt.request_id) } else { None };
            let done = CommandAccepted { receipt: receipt.clone(), lines: Vec::new(), duplicate: false, queued: false };
            let mut commit = None;
            let is_kept = |stored: &&mut StoredSpaceCommands| !stored.kept_receipts.contains(&receipt.request_id);
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
                let answer = stored.map(|()| done).map_err(|error| SpaceRefusal::ResultNotStored(error.to_string()));
                for (reply, lines) in waiting {
                    let _ = reply.send(answer.clone().map(|done| CommandAccepted { lines, ..done }));
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

    /// Handles the state machine's answer to a command.
    pub(super) fn handle_answer(&mut self, asking: CommandCaller, answer: Result<CommandAccepted, SpaceRefusal>) {
        let CommandCaller { reply, until, waits_in_queue, stored: id } = asking;
        let mut done = match answer {
            Ok(done) => done,
            Err(refusal) => return self.refused(id, reply, refusal),
        };
        let known = self.stored.as_mut().and_then(|stored| stored.open.get_mut(&done.receipt.request_id));
        if let Some(open) = known {
            open.was_queued |= done.queued;
            // A message that is being removed from the queue still counts as queued, because its caller has received
            // the answer `queued`.
            done.queued |= open.was_queued && done.receipt.stage == ReceiptStage::Accepted;
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
            // A retry waits for the same commit as the first caller.
            commit = self
                .stored
                .as_ref()
                .and_then(|stored| stored.open.contains_key(&done.receipt.request_id).then(|| stored.ledger.barrier()));
        }
        if let Some(commit) = commit {
            return drop(tokio::spawn(async move {
                let stored = commit.await.map_err(|error| SpaceRefusal::ResultNotStored(error.to_string()));
                let _ = reply.send(stored.map(|()| done));
            }));
        }
        let is_known = done.receipt.was_delivered() || done.receipt.stage.is_last();
        let until_delivered = until == ReplyStage::Delivered && !is_known && (waits_in_queue || !done.queued);
        // The caller is answered later, when the message is delivered or the result is stored.
        if !done.duplicate && (until_delivered || (is_open && is_known)) {
            self.waiting.entry(done.receipt.request_id.clone()).or_default().push((reply, done.lines));
        } else {
            let _ = reply.send(Ok(done));
        }
    }

    fn refused(&mut self, id: Option<RequestId>, reply: CommandReplySender, refusal: SpaceRefusal) {
        // A command that was accepted has a receipt and is settled. With [`SpaceRefusal::UsedBefore`], the receipt
        // belongs to another command.
        let accepted =
            |id: &RequestId| refusal != SpaceRefusal::UsedBefore && self.machine.state().receipts.get(id).is_some();
        let Some((id, stored)) = id.filter(|id| !accepted(id)).zip(self.stored.as_mut()) else {
            return drop(reply.send(Err(refusal)));
        };
        stored.open.remove(&id);
        let ledger = stored.ledger.clone();
        let commit = ledger.take_back(&id);
        tokio::spawn(async move {
            reply.send(Err(match ledger.taken_back(commit, id).await {
                Ok(()) => refusal,
                Err(error) => SpaceRefusal::ResultNotStored(format!("{refusal}; {error}")),
            }))
        });
    }

    /// Sends the receipt of a command, also of a command that a previous daemon executed.
    pub(super) fn receipt(&self, id: RequestId, reply: oneshot::Sender<Option<Receipt>>) {
        let here = self.machine.state().receipts.get(&id).cloned();
        match &self.stored {
            Some(stored) if here.is_none() => {
                let ledger = stored.ledger.clone();
                tokio::spawn(async move {
                    // If the store cannot be read, the reply is dropped: the caller gets an error instead of `None`.
                    if let Ok(receipt) = ledger.stored_receipt(&id).await {
                        let _ = reply.send(receipt);
                    }
                });
            }
            _ => drop(reply.send(here)),
        }
    }
}

fn queued_message(asked: &IncomingCommand, id: &RequestId) -> QueuedMessage {
    let (text, to) = match &asked.command {
        ConversationCommand::Say { text, to, .. } => (text.clone(), to.clone()),
        ConversationCommand::AgentCommand { line, .. } => (line.clone(), None),
        _ => (String::new(), None),
    };
    QueuedMessage { request_id: id.clone(), by: asked.by.clone(), text, to, at: now().time, turn: None, item: None }
}
