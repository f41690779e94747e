//! Requests to a terminal session: each is begun, given to the machine as a command, and answered once.

use std::collections::HashMap;
use std::time::Instant;

use tokio::sync::oneshot;
use wh_client::{Look, Request, Shown, WaitEnd};
use wh_core::request::{self, RequestId};
use wh_core::session::{AnswerAt, Command, Input, Refusal, Sight, Ticket};
use wh_screen::pty::Order;

use super::{Answer, Task};

/// Replies that callers wait for, by ticket.
#[derive(Default)]
pub(super) struct Replies {
    waiting: HashMap<Ticket, Reply>,
    last_ticket: u64,
}

impl Replies {
    /// Keeps a reply under a new ticket.
    pub fn insert(&mut self, reply: Reply) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.waiting.insert(ticket, reply);
        ticket
    }

    pub fn remove(&mut self, ticket: Ticket) -> Option<Reply> {
        self.waiting.remove(&ticket)
    }

    /// Removes the waits whose callers have hung up.
    fn remove_abandoned(&mut self) -> Vec<Ticket> {
        let gone = |reply: &mut Reply| matches!(reply, Reply::Wait(sender) if sender.is_closed());
        self.waiting.extract_if(|_, reply| gone(reply)).map(|(ticket, _)| ticket).collect()
    }
}

/// The reply that a caller waits for.
pub(super) enum Reply {
    Command(oneshot::Sender<Answer>),
    Typing(oneshot::Sender<Answer>),
    Look(Look, oneshot::Sender<Shown>),
    Wait(oneshot::Sender<Result<WaitEnd, Refusal>>),
}

impl Task {
    pub(super) async fn request(&mut self, request: Request) {
        self.forget_the_gone();
        if let Some(request) = self.begin(request) {
            self.carry_out(request, None).await;
        }
    }

    /// Carries a request out; `begun` is the id under which it was stored just now.
    pub(super) async fn carry_out(&mut self, request: Request, begun: Option<RequestId>) {
        let Some((request, begun)) = self.after_first_frame(request, begun) else { return };
        match request {
            Request::Type { gestures, request, answer, reply } => {
                let command = self.keeper.encode(&gestures).map(|bytes| Command::Type { bytes, answer });
                self.command(request, begun, Reply::Typing(reply), command).await;
            }
            Request::Interrupt { then, request, reply } => {
                // What the program wrote before is no sign that it has handled the interrupt.
                self.catch_up().await;
                let command = self.keeper.encode(&then).map(|then| Command::Interrupt { then });
                self.command(request, begun, Reply::Typing(reply), command).await;
            }
            Request::Keyboard { bytes, reply } => {
                let command = Command::Type { bytes: bytes.to_vec(), answer: AnswerAt::Offered };
                self.command(None, None, Reply::Typing(reply), Ok(command)).await;
            }
            Request::Resize { size, request, reply } => {
                self.command(request, begun, Reply::Command(reply), Ok(Command::Resize(size))).await;
            }
            Request::Signal { number, target, request, reply } => {
                self.command(request, begun, Reply::Command(reply), Ok(Command::Signal(number, target))).await;
            }
            Request::Mark { label, request, reply } => {
                self.command(request, begun, Reply::Command(reply), Ok(Command::Mark(label))).await;
            }
            Request::Look { look, reply } => match self.behind.undrawn_beat() {
                Some(beat) if look.sight == Sight::Settled => self.undrawn_looks.hold(beat, (look, reply)),
                _ => {
                    if look.sight == Sight::Now {
                        self.catch_up().await;
                    }
                    self.look(look, reply).await;
                }
            },
            Request::Wait { condition, timeout, reply } => {
                if let Some(gauges) = self.behind.gauges() {
                    self.happens(Input::Gauged(gauges)).await;
                }
                let ticket = self.replies.insert(Reply::Wait(reply));
                self.happens(Input::Wait(ticket, condition, timeout)).await;
            }
            Request::Tell { reply } => {
                let _ = reply.send(self.facts());
            }
            Request::Receipt { request_id, reply } => self.receipt(request_id, reply),
            Request::Watch { screen, reply } => {
                let (facts, shown) = (self.facts(), self.shown(Look::default()));
                let screen_use = if screen { self.behind.screen_use() } else { None };
                let _ = reply.send(self.hub.watch(facts, shown, screen_use));
            }
            Request::Events { after, reply } => drop(reply.send(self.hub.after(&after))),
            Request::Attach(attachment) => self.attach(attachment).await,
            Request::End { now } => self.behind.give(if now { Order::Kill } else { Order::End }),
        }
    }

    /// Gives a command to the machine: the only way in for commands, with or without an id. What cannot be typed in the
    /// program's present mode comes as its refusal.
    async fn command(
        &mut self,
        request: Option<request::Request>,
        begun: Option<RequestId>,
        reply: Reply,
        command: Result<Command, Refusal>,
    ) {
        let ticket = self.replies.insert(reply);
        self.note_ticket(ticket, begun);
        match command {
            Ok(command) => self.happens(Input::Command(ticket, request, command)).await,
            Err(refusal) => {
                let answer = self.keeper.session.refuse(request.as_ref(), refusal, Instant::now());
                self.answer(ticket, answer);
            }
        }
    }

    /// Answers a command: the only way out.
    pub(super) fn answer(&mut self, ticket: Ticket, answer: Answer) {
        match self.replies.remove(ticket) {
            // Who types to wh's own UI is answered once the effect is on the screen.
            Some(Reply::Typing(reply))
                if self.behind.is_hosted() && answer.as_ref().is_ok_and(|done| !done.duplicate) =>
            {
                let reply = self.after_commit(ticket, reply, &answer);
                self.undrawn.hold(self.outbox.pushed(), (reply, answer));
            }
            Some(Reply::Command(reply) | Reply::Typing(reply)) => {
                let reply = self.after_commit(ticket, reply, &answer);
                let _ = reply.send(answer);
            }
            Some(Reply::Wait(reply)) => drop(answer.err().map(|refusal| reply.send(Err(refusal)))),
            Some(Reply::Look(..)) | None => {}
        }
    }

    /// Ends the waits of callers who have hung up.
    pub(super) fn forget_the_gone(&mut self) {
        if self.keeper.session.open_waits() == 0 {
            return;
        }
        for ticket in self.replies.remove_abandoned() {
            self.keeper.handle(Input::Leave(ticket), Instant::now());
        }
    }
}
