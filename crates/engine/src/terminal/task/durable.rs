//! Stores commands of a terminal session, if they have a request id. A command is stored before it is executed, and its
//! result is stored before the caller gets the answer. A command without a request id is not stored, but waits until
//! all earlier commands are stored.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use wh_client::SurfaceRequest;
use wh_core::reason::Reason;
use wh_core::receipt::{Receipt, ReceiptStage};
use wh_core::request::RequestId;
use wh_core::session::{DeliveryState, InputAccepted, InputLoss, InputReceipt, TerminalRefusal, Ticket};

use super::{CommandAnswer, TerminalTask};
use crate::ledger::{BeginQueue, BegunCommand, SessionLedger};
use crate::store::{BeginOutcome, StoreError, StoreFuture};

/// Ledger of a session, with the commands in progress.
pub(super) struct StoredCommands {
    ledger: SessionLedger,
    beginning: BeginQueue<SurfaceRequest>,
    /// Retries that arrived while the first request was being stored.
    retries: HashMap<RequestId, Vec<SurfaceRequest>>,
    /// Stored commands of this daemon that have no result yet.
    open: HashSet<RequestId>,
    /// Request ids of unanswered stored commands, by ticket.
    tickets: HashMap<Ticket, RequestId>,
    /// Results that are being stored. An entry is removed when a caller or a background task starts to wait for the
    /// commit.
    settling: HashMap<RequestId, (StoreFuture<()>, Receipt)>,
}

impl StoredCommands {
    pub fn new(ledger: SessionLedger) -> Self {
        Self {
            ledger,
            beginning: BeginQueue::default(),
            retries: HashMap::new(),
            open: HashSet::new(),
            tickets: HashMap::new(),
            settling: HashMap::new(),
        }
    }
}

/// Waits until the next command is stored, and returns the command. Cancel safe.
pub(super) async fn next(stored: &mut Option<StoredCommands>) -> BegunCommand<SurfaceRequest> {
    match stored {
        Some(stored) => poll_fn(|context| stored.beginning.poll(context)).await,
        None => std::future::pending().await,
    }
}

impl TerminalTask {
    /// Stores a command if it has a request id. Returns the request if it can be executed immediately; `None` if the
    /// request has to wait.
    pub(super) fn begin(&mut self, request: SurfaceRequest) -> Option<SurfaceRequest> {
        let Some(stored) = &mut self.stored else { return Some(request) };
        let waits = !stored.beginning.is_empty();
        match request.named() {
            // The machine knows the command, and answers the retry.
            Some(named) if !waits && self.screened.session.receipt(&named.id, Instant::now()).is_some() => {
                Some(request)
            }
            Some(named) => {
                if let Some(retries) = stored.retries.get_mut(&named.id) {
                    retries.push(request);
                    return None;
                }
                stored.retries.insert(named.id.clone(), Vec::new());
                let begin = stored.ledger.begin(named);
                stored.beginning.push(request, begin);
                None
            }
            None if waits && request.is_command() => {
                stored.beginning.push_unstored(request);
                None
            }
            None => Some(request),
        }
    }

    pub(super) async fn handle_begun(&mut self, (request, begun): BegunCommand<SurfaceRequest>) {
        let id = request.named().map(|named| named.id.clone());
        self.command_begun(request, begun).await;
        // If the command was refused, its removal from the store is already queued. Retries are stored after the
        // removal.
        let retries = id.and_then(|id| self.stored.as_mut()?.retries.remove(&id)).unwrap_or_default();
        for request in retries {
            if let Some(request) = self.begin(request) {
                self.execute(request, None).await;
            }
        }
    }

    async fn command_begun(&mut self, request: SurfaceRequest, begun: Option<Result<BeginOutcome, StoreError>>) {
        let Some((stored, named)) = self.stored.as_mut().zip(request.named()) else {
            return self.execute(request, None).await;
        };
        let id = named.id.clone();
        let answer = match begun {
            None => return self.execute(request, None).await,
            Some(Ok(BeginOutcome::New)) => {
                stored.open.insert(id.clone());
                return self.execute(request, Some(id)).await;
            }
            Some(Ok(BeginOutcome::Known(_))) if self.screened.session.receipt(&id, Instant::now()).is_some() => {
                return self.execute(request, None).await;
            }
            Some(Ok(BeginOutcome::Known(entry))) => match stored.ledger.repeated(named, &entry) {
                Ok(receipt) => Ok(InputAccepted { delivery: fate_of(&receipt), duplicate: true }),
                Err(_) => Err(TerminalRefusal::RequestIdReused),
            },
            Some(Err(StoreError::Full { .. })) => Err(TerminalRefusal::LedgerFull),
            Some(Err(error)) => Err(TerminalRefusal::NotStored(error.to_string())),
        };
        if let Some(reply) = request.into_reply() {
            let _ = reply.send(answer);
        }
    }

    /// Remembers the request id of a stored command by its ticket.
    pub(super) fn note_ticket(&mut self, ticket: Ticket, begun: Option<RequestId>) {
        if let (Some(stored), Some(id)) = (&mut self.stored, begun) {
            stored.tickets.insert(ticket, id);
        }
    }

    /// Starts to store the result of a command.
    pub(super) fn settle(&mut self, id: RequestId, taken: InputReceipt) {
        let receipt = self.identity.clock.receipt(&id, taken);
        if let Some(stored) = self.stored.as_mut().filter(|stored| stored.open.contains(&id)) {
            stored.open.remove(&id);
            stored.settling.insert(id, (stored.ledger.settle(&receipt), receipt));
        }
    }

    /// Waits in the background until the results of commands that are already answered are stored.
    pub(super) fn settle_unawaited(&mut self) {
        let Some(stored) = &mut self.stored else { return };
        for (_, (commit, receipt)) in stored.settling.drain() {
            let ledger = stored.ledger.clone();
            tokio::spawn(async move { ledger.settled(commit, receipt).await });
        }
    }

    /// Returns a reply channel that sends the answer once the result of the command is durable, or the refused command
    /// is removed.
    pub(super) fn after_commit(
        &mut self,
        ticket: Ticket,
        reply: oneshot::Sender<CommandAnswer>,
        answer: &CommandAnswer,
    ) -> oneshot::Sender<CommandAnswer> {
        let Some((stored, id)) = self.stored.as_mut().and_then(|stored| {
            let id = stored.tickets.remove(&ticket)?;
            Some((stored, id))
        }) else {
            return reply;
        };
        let ledger = stored.ledger.clone();
        let commit: BoxFuture<'static, Result<(), StoreError>> = match (answer, stored.settling.remove(&id)) {
            (Err(_), _) => {
                stored.open.remove(&id);
                let undo = ledger.take_back(&id);
                Box::pin(async move { ledger.taken_back(undo, id).await })
            }
            (Ok(_), Some((commit, receipt))) => Box::pin(async move { ledger.settled(commit, receipt).await }),
            (Ok(_), None) => return reply,
        };
        let (relay, relayed) = oneshot::channel();
        tokio::spawn(async move {
            let (answer, stored): (Result<CommandAnswer, _>, _) = tokio::join!(relayed, commit);
            let Ok(answer) = answer else { return };
            let _ = reply.send(match (answer, stored) {
                (Ok(_), Err(error)) => Err(TerminalRefusal::ResultNotStored(error.to_string())),
                (Err(refusal), Err(error)) => Err(TerminalRefusal::ResultNotStored(format!("{refusal}; {error}"))),
                (answer, _) => answer,
            });
        });
        relay
    }

    /// Sends the receipt of a command, also of a command that a previous daemon executed.
    pub(super) fn receipt(&mut self, id: RequestId, reply: oneshot::Sender<Option<Receipt>>) {
        let here = self.screened.session.receipt(&id, Instant::now());
        match (&self.stored, here) {
            (Some(stored), None) => {
                let ledger = stored.ledger.clone();
                tokio::spawn(async move {
                    // If the store cannot be read, the reply is dropped: the caller gets an error instead of `None`.
                    if let Ok(receipt) = ledger.stored_receipt(&id).await {
                        let _ = reply.send(receipt);
                    }
                });
            }
            (_, here) => drop(reply.send(here.map(|taken| self.identity.clock.receipt(&id, taken)))),
        }
    }
}

fn fate_of(receipt: &Receipt) -> DeliveryState {
    match &receipt.stage {
        ReceiptStage::Accepted => DeliveryState::Queued,
        ReceiptStage::Failed(failure) => DeliveryState::Lost(match failure.reason {
            Reason::CutOff => InputLoss::CutOff,
            Reason::Interrupted => InputLoss::Interrupted,
            _ => InputLoss::Ended,
        }),
        _ => DeliveryState::Delivered(Instant::now()),
    }
}
