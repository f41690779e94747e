//! Requests to a terminal session. Each request is stored in the ledger if it has a request id, passed to the state
//! machine as a command, and answered once.

use std::collections::HashMap;
use std::time::Instant;

use tokio::sync::oneshot;
use wh_client::{ScreenReadOptions, ScreenSnapshot, SurfaceRequest, WaitEnd};
use wh_core::request::{self, RequestId};
use wh_core::session::{AnswerTiming, ScreenTiming, SessionInput, TerminalCommand, TerminalRefusal, Ticket};
use wh_screen::pty::SupervisorOrder;

use super::{CommandAnswer, TerminalTask};
use crate::terminal::hosted::follow;

/// Reply channels of pending requests, by ticket.
#[derive(Default)]
pub(super) struct ReplyChannels {
    waiting: HashMap<Ticket, AwaitedReply>,
    last_ticket: u64,
}

impl ReplyChannels {
    /// Stores a reply channel under a new ticket.
    pub fn insert(&mut self, reply: AwaitedReply) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.waiting.insert(ticket, reply);
        ticket
    }

    pub fn remove(&mut self, ticket: Ticket) -> Option<AwaitedReply> {
        self.waiting.remove(&ticket)
    }

    /// Removes the reply channels of abandoned waits, and returns the tickets of these waits. A wait is abandoned if
    /// its caller has dropped the receiver.
    fn remove_abandoned(&mut self) -> Vec<Ticket> {
        let gone = |reply: &mut AwaitedReply| matches!(reply, AwaitedReply::Wait(sender) if sender.is_closed());
        self.waiting.extract_if(|_, reply| gone(reply)).map(|(ticket, _)| ticket).collect()
    }
}

/// Reply channel of a pending request.
pub(super) enum AwaitedReply {
    Command(oneshot::Sender<CommandAnswer>),
    Typing(oneshot::Sender<CommandAnswer>),
    ReadScreen(ScreenReadOptions, oneshot::Sender<ScreenSnapshot>),
    Wait(oneshot::Sender<Result<WaitEnd, TerminalRefusal>>),
}

impl TerminalTask {
    pub(super) async fn request(&mut self, request: SurfaceRequest) {
        self.drop_abandoned_waits();
        if let Some(request) = self.begin(request) {
            self.execute(request, None).await;
        }
    }

    /// Executes a request. `begun` is the request id under which the request is stored; `None` if it is not stored.
    pub(super) async fn execute(&mut self, request: SurfaceRequest, begun: Option<RequestId>) {
        let Some((request, begun)) = self.after_first_frame(request, begun) else { return };
        let Some((request, begun)) = self.keyboard.defer(request, begun) else { return };
        match request {
            SurfaceRequest::Type { gestures, request, answer, forced, reply } => {
                let command = self.keyboard.check_text(&gestures, forced);
                let command = command.and_then(|()| self.screened.encode(&gestures));
                let command = command.map(|bytes| TerminalCommand::Type { bytes, answer });
                self.command(request, begun, AwaitedReply::Typing(reply), command).await;
            }
            SurfaceRequest::ReserveKeyboard { reply } => self.keyboard.reserve(reply),
            SurfaceRequest::TypeReserved { gestures, reply } => {
                let bytes = self.screened.encode(&gestures);
                let command = bytes.map(|bytes| TerminalCommand::Type { bytes, answer: AnswerTiming::Settled });
                self.command(None, None, AwaitedReply::Typing(reply), command).await;
            }
            SurfaceRequest::ShowSpace { space, reply } => {
                if let Ok(feed) = follow(space).await {
                    self.peer.show_space(feed);
                    let _ = reply.send(());
                }
            }
            SurfaceRequest::GuardText(guarded) => self.keyboard.guard_text(guarded),
            SurfaceRequest::Interrupt { then, request, reply } => {
                // Earlier output must not count as the reaction to the interrupt.
                self.catch_up().await;
                let command = self.screened.encode(&then).map(|then| TerminalCommand::Interrupt { then });
                self.command(request, begun, AwaitedReply::Typing(reply), command).await;
            }
            SurfaceRequest::Keyboard { bytes, reply } => {
                let command = TerminalCommand::Type { bytes: bytes.to_vec(), answer: AnswerTiming::Offered };
                self.command(None, None, AwaitedReply::Typing(reply), Ok(command)).await;
            }
            SurfaceRequest::Resize { size, request, reply } => {
                self.command(request, begun, AwaitedReply::Command(reply), Ok(TerminalCommand::Resize(size))).await;
            }
            SurfaceRequest::Signal { number, target, request, reply } => {
                self.command(request, begun, AwaitedReply::Command(reply), Ok(TerminalCommand::Signal(number, target)))
                    .await;
            }
            SurfaceRequest::Mark { label, request, reply } => {
                self.command(request, begun, AwaitedReply::Command(reply), Ok(TerminalCommand::Mark(label))).await;
            }
            SurfaceRequest::ReadScreen { read: look, reply } => match self.peer.undrawn_change() {
                Some(change_count) if look.timing == ScreenTiming::Settled => {
                    self.undrawn_reads.hold(change_count, (look, reply))
                }
                _ => {
                    if look.timing == ScreenTiming::Now {
                        self.catch_up().await;
                    }
                    self.look(look, reply).await;
                }
            },
            SurfaceRequest::Wait { condition, timeout, reply } => {
                if let Some(gauges) = self.peer.gauges() {
                    self.handle_input(SessionInput::Gauged(gauges)).await;
                }
                let ticket = self.replies.insert(AwaitedReply::Wait(reply));
                self.handle_input(SessionInput::Wait(ticket, condition, timeout)).await;
            }
            SurfaceRequest::Facts { reply } => {
                let _ = reply.send(self.facts());
            }
            SurfaceRequest::Receipt { request_id, reply } => self.receipt(request_id, reply),
            SurfaceRequest::Watch { screen, reply } => {
                let (facts, shown) = (self.facts(), self.shown(ScreenReadOptions::default()));
                let screen_use = if screen { self.peer.screen_use() } else { None };
                let _ = reply.send(self.hub.watch(facts, shown, screen_use));
            }
            SurfaceRequest::Events { after, reply } => drop(reply.send(self.hub.after(&after))),
            SurfaceRequest::Attach(attachment) => self.attach(attachment).await,
            SurfaceRequest::End { now } => {
                self.peer.give(if now { SupervisorOrder::Kill } else { SupervisorOrder::End })
            }
        }
    }

    /// Passes a command to the state machine. All commands are passed by this function. `command` is an error if the
    /// input cannot be encoded in the program's current mode.
    async fn command(
        &mut self,
        request: Option<request::FingerprintedId>,
        begun: Option<RequestId>,
        reply: AwaitedReply,
        command: Result<TerminalCommand, TerminalRefusal>,
    ) {
        let ticket = self.replies.insert(reply);
        self.note_ticket(ticket, begun);
        match command {
            Ok(command) => self.handle_input(SessionInput::Command(ticket, request, command)).await,
            Err(refusal) => {
                let answer = self.screened.session.refuse(request.as_ref(), refusal, Instant::now());
                self.answer(ticket, answer);
            }
        }
    }

    /// Answers a command. All answers are sent by this function.
    pub(super) fn answer(&mut self, ticket: Ticket, answer: CommandAnswer) {
        match self.replies.remove(ticket) {
            // Input for wh's own UI is answered once the effect of the input is drawn.
            Some(AwaitedReply::Typing(reply))
                if self.peer.is_hosted() && answer.as_ref().is_ok_and(|done| !done.duplicate) =>
            {
                let reply = self.after_commit(ticket, reply, &answer);
                self.undrawn.hold(self.input_queue.pushed(), (reply, answer));
            }
            Some(AwaitedReply::Command(reply) | AwaitedReply::Typing(reply)) => {
                let reply = self.after_commit(ticket, reply, &answer);
                let _ = reply.send(answer);
            }
            Some(AwaitedReply::Wait(reply)) => drop(answer.err().map(|refusal| reply.send(Err(refusal)))),
            Some(AwaitedReply::ReadScreen(..)) | None => {}
        }
    }

    /// Cancels the abandoned waits.
    pub(super) fn drop_abandoned_waits(&mut self) {
        if self.screened.session.open_waits() == 0 {
            return;
        }
        for ticket in self.replies.remove_abandoned() {
            self.screened.handle(SessionInput::CancelWait(ticket), Instant::now());
        }
    }
}
