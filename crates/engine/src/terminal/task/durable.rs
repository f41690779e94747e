//! Commands of a terminal session that carry a request id: begun in the store before they are carried out, settled with
//! their result before their caller is answered. Commands without an id are not stored; they keep their place behind those
//! that are being begun.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use wh_client::Request;
use wh_core::reason::Reason;
use wh_core::receipt::{Receipt, Stage};
use wh_core::request::RequestId;
use wh_core::session::{Done, Fate, Loss, Refusal, Taken, Ticket};

use super::{Answer, Task};
use crate::ledger::{Beginning, BegunCommand, SessionLedger};
use crate::store::{Begun, Durable, StoreError};

/// The commands of a session that are stored.
pub(super) struct StoredCommands {
    ledger: SessionLedger,
    beginning: Beginning<Request>,
    /// Retries of commands that are being begun.
    repeated: HashMap<RequestId, Vec<Request>>,
    /// Commands of this life without a result.
    open: HashSet<RequestId>,
    /// Tickets of commands that were begun, until they are answered.
    tickets: HashMap<Ticket, RequestId>,
    /// Results on their way to the store, until the answer to their command waits for them.
    settling: HashMap<RequestId, (Durable<()>, Receipt)>,
}

impl StoredCommands {
    pub fn new(ledger: SessionLedger) -> Self {
        Self {
            ledger,
            beginning: Beginning::default(),
            repeated: HashMap::new(),
            open: HashSet::new(),
            tickets: HashMap::new(),
            settling: HashMap::new(),
        }
    }
}

/// The next command whose turn it is. Cancel safe.
pub(super) async fn next(stored: &mut Option<StoredCommands>) -> BegunCommand<Request> {
    match stored {
        Some(stored) => poll_fn(|context| stored.beginning.poll(context)).await,
        None => std::future::pending().await,
    }
}

impl Task {
    /// Begins a command in the store, where that is needed; returns what can be carried out at once.
    pub(super) fn begin(&mut self, request: Request) -> Option<Request> {
        let Some(stored) = &mut self.stored else { return Some(request) };
        let waits = !stored.beginning.is_empty();
        match request.named() {
            // This life knows it: its retry is answered by the machine.
            Some(named) if !waits && self.keeper.session.receipt(&named.id, Instant::now()).is_some() => Some(request),
            Some(named) => {
                if let Some(repeated) = stored.repeated.get_mut(&named.id) {
                    repeated.push(request);
                    return None;
                }
                stored.repeated.insert(named.id.clone(), Vec::new());
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

    pub(super) async fn begun(&mut self, (request, begun): BegunCommand<Request>) {
        let id = request.named().map(|named| named.id.clone());
        self.entered(request, begun).await;
        // If it was refused, it is being taken back: the next of the same id is begun after that.
        let repeated = id.and_then(|id| self.stored.as_mut()?.repeated.remove(&id)).unwrap_or_default();
        for request in repeated {
            if let Some(request) = self.begin(request) {
                self.carry_out(request, None).await;
            }
        }
    }

    async fn entered(&mut self, request: Request, begun: Option<Result<Begun, StoreError>>) {
        let Some((stored, named)) = self.stored.as_mut().zip(request.named()) else {
            return self.carry_out(request, None).await;
        };
        let id = named.id.clone();
        let answer = match begun {
            None => return self.carry_out(request, None).await,
            Some(Ok(Begun::New)) => {
                stored.open.insert(id.clone());
                return self.carry_out(request, Some(id)).await;
            }
            Some(Ok(Begun::Known(_))) if self.keeper.session.receipt(&id, Instant::now()).is_some() => {
                return self.carry_out(request, None).await;
            }
            Some(Ok(Begun::Known(entry))) => match stored.ledger.repeated(named, &entry) {
                Ok(receipt) => Ok(Done { fate: fate_of(&receipt), duplicate: true }),
                Err(_) => Err(Refusal::RequestIdReused),
            },
            Some(Err(StoreError::Full { .. })) => Err(Refusal::LedgerFull),
            Some(Err(error)) => Err(Refusal::NotStored(error.to_string())),
        };
        if let Some(reply) = request.into_reply() {
            let _ = reply.send(answer);
        }
    }

    /// Notes that a ticket is that of a command that was begun.
    pub(super) fn note_ticket(&mut self, ticket: Ticket, begun: Option<RequestId>) {
        if let (Some(stored), Some(id)) = (&mut self.stored, begun) {
            stored.tickets.insert(ticket, id);
        }
    }

    /// Stores the result of a command.
    pub(super) fn settle(&mut self, id: RequestId, taken: Taken) {
        let receipt = self.identity.clock.receipt(&id, taken);
        if let Some(stored) = self.stored.as_mut().filter(|stored| stored.open.contains(&id)) {
            stored.open.remove(&id);
            stored.settling.insert(id, (stored.ledger.settle(&receipt), receipt));
        }
    }

    /// Results that no answer waits for: their commands were answered before.
    pub(super) fn settle_unawaited(&mut self) {
        let Some(stored) = &mut self.stored else { return };
        for (_, (commit, receipt)) in stored.settling.drain() {
            let ledger = stored.ledger.clone();
            tokio::spawn(async move { ledger.settled(commit, receipt).await });
        }
    }

    /// The way back for an answer: behind the commit of the result, or of the withdrawal of a refused command.
    pub(super) fn after_commit(
        &mut self,
        ticket: Ticket,
        reply: oneshot::Sender<Answer>,
        answer: &Answer,
    ) -> oneshot::Sender<Answer> {
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
            let (answer, stored): (Result<Answer, _>, _) = tokio::join!(relayed, commit);
            let Ok(answer) = answer else { return };
            let _ = reply.send(match (answer, stored) {
                (Ok(_), Err(error)) => Err(Refusal::ResultNotStored(error.to_string())),
                (Err(refusal), Err(error)) => Err(Refusal::ResultNotStored(format!("{refusal}; {error}"))),
                (answer, _) => answer,
            });
        });
        relay
    }

    /// The receipt of a command, also of one that an earlier life has stored.
    pub(super) fn receipt(&mut self, id: RequestId, reply: oneshot::Sender<Option<Receipt>>) {
        let here = self.keeper.session.receipt(&id, Instant::now());
        match (&self.stored, here) {
            (Some(stored), None) => {
                let ledger = stored.ledger.clone();
                tokio::spawn(async move {
                    // Without an answer the caller knows that it is not known.
                    if let Ok(receipt) = ledger.stored_receipt(&id).await {
                        let _ = reply.send(receipt);
                    }
                });
            }
            (_, here) => drop(reply.send(here.map(|taken| self.identity.clock.receipt(&id, taken)))),
        }
    }
}

fn fate_of(receipt: &Receipt) -> Fate {
    match &receipt.stage {
        Stage::Accepted => Fate::Waits,
        Stage::Failed(failure) => Fate::Lost(match failure.reason {
            Reason::CutOff => Loss::CutOff,
            Reason::Interrupted => Loss::Interrupted,
            _ => Loss::Ended,
        }),
        _ => Fate::Delivered(Instant::now()),
    }
}
