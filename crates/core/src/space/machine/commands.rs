//! Commands from callers: request ids that were used before, the dispatch to the part that carries a command out, and the
//! answer.

use super::super::command::{Command, Done, Refusal};
use super::super::event::{Event, Role};
use super::super::harness::Named;
use super::super::item::Level;
use super::super::name::ParticipantId;
use super::messages::Message;
use super::settings::Chosen;
use super::{Effect, Space, Ticket};
use crate::receipt::{Receipt, Stage};
use crate::request::{Request, RequestId};
use crate::slash;

/// What a command came to at once: lines for people; or it is answered later.
pub(super) enum Came {
    To(Vec<String>),
    Later,
}

pub(super) type Outcome = Result<Came, Refusal>;

impl Space {
    pub(super) fn command(&mut self, ticket: Ticket, by: &ParticipantId, request: Option<Request>, command: Command) {
        if let Some(request) = &request
            && let Some(answer) = self.known_request(request)
        {
            return self.effects.push(Effect::Answer(ticket, answer));
        }
        let fingerprint = request.as_ref().map(|request| request.fingerprint.clone());
        let id = request.map_or_else(|| self.request_id(), |request| request.id);
        match self.carry_out(ticket, by, &id, command) {
            Err(refusal) => self.effects.push(Effect::Answer(ticket, Err(refusal))),
            Ok(came) => {
                let lines = match &came {
                    Came::To(lines) => lines.clone(),
                    Came::Later => Vec::new(),
                };
                // Whether it waits is known once the agents that are free have been given what is for them.
                self.dispatch();
                let queued = self.is_queued(&id);
                let done = Done { receipt: self.receipt(&id), lines, duplicate: false, queued };
                if let Some(fingerprint) = fingerprint {
                    self.ledger.enter(id, (fingerprint, Ok(done.clone())), self.now.steady);
                }
                if let Came::To(_) = came {
                    self.effects.push(Effect::Answer(ticket, Ok(done)));
                }
            }
        }
    }

    /// The answer to a command whose id was used before, or cannot be used.
    fn known_request(&mut self, request: &Request) -> Option<Result<Done, Refusal>> {
        let answer = match self.ledger.find(&request.id, self.now.steady) {
            Some((fingerprint, _)) if *fingerprint != request.fingerprint => Err(Refusal::RequestIdReused),
            Some((_, answer)) => answer.clone(),
            // Long ago, or one of ours: its receipt is not this command's.
            None if self.state.receipts.get(&request.id).is_some() => Err(Refusal::UsedBefore),
            None => return self.ledger.room().err().map(|_| Err(Refusal::LedgerFull)),
        };
        Some(answer.map(|done| Done { duplicate: true, ..self.done_now(&request.id, done) }))
    }

    /// The same answer, with how far the command is now.
    fn done_now(&self, id: &RequestId, done: Done) -> Done {
        let receipt = self.state.receipts.get(id).cloned().unwrap_or(done.receipt);
        Done { receipt, queued: self.is_queued(id), ..done }
    }

    fn carry_out(&mut self, ticket: Ticket, by: &ParticipantId, id: &RequestId, command: Command) -> Outcome {
        match command {
            Command::Say { text, to, attachments, interrupt, literal } => {
                self.say(by, id, Message { text, to, attachments, interrupt, literal })
            }
            Command::Answer { question, answer, decision } => self.answer(by, id, &question, answer, decision),
            Command::Interrupt(whom) => self.interrupt(id, whom),
            Command::Target(target) => self.target(id, target),
            Command::Acknowledge { selector, status } => self.acknowledge(by, id, &selector, status),
            Command::Cancel { selector, reason } => self.cancel(by, id, &selector, reason),
            Command::Call(whom, call) => self.call(ticket, by, id, whom, call),
            Command::CloseStream(stream) => self.close_stream(ticket, by, id, &stream),
            Command::Shutdown(whom, reason) => self.shutdown(by, id, &whom, reason),
            Command::Model(whom, model) => self.choose(ticket, id, whom, model, Chosen::Model),
            Command::Mode(whom, mode) => self.choose(ticket, id, whom, mode, Chosen::Mode),
            Command::Set(whom, setting) => self.set(ticket, id, whom, setting),
            Command::Manage(whom, ask) => self.manage(ticket, id, whom, ask),
            Command::Post { kind, payload, to } => self.post(by, id, kind, payload, to),
            Command::OfAgent { name, line } => self.of_agent(by, id, &name, line),
            Command::OfUi => {
                self.accept(id);
                self.finish(id, Vec::new())
            }
            Command::Refused { line, reason } => {
                self.accept(id);
                self.notice(Level::Warning, "refused", vec![format!("{}: {reason}", line.trim())]);
                self.finish(id, Vec::new())
            }
            Command::Help => {
                let lines = slash::help(&self.agent_commands());
                self.tell(id, "help", lines)
            }
            Command::Participants => {
                let lines = self.listing();
                self.tell(id, "participants", lines)
            }
        }
    }

    pub(super) fn accept(&mut self, id: &RequestId) {
        self.publish(Event::Receipt(Receipt::accepted(id.clone(), self.now.time)));
    }

    pub(super) fn finish(&mut self, id: &RequestId, lines: Vec<String>) -> Outcome {
        self.reach(id, Stage::Finished);
        Ok(Came::To(lines))
    }

    /// Shows lines in the conversation, and returns them.
    pub(super) fn tell(&mut self, id: &RequestId, topic: &str, lines: Vec<String>) -> Outcome {
        self.accept(id);
        self.notice(Level::Info, topic, lines.clone());
        self.finish(id, lines)
    }

    fn agent_commands(&self) -> Vec<(ParticipantId, Vec<Named>)> {
        let agents = self.state.present().filter(|(_, one)| one.role == Role::Agent);
        agents.map(|(id, one)| (id.clone(), one.capabilities.commands.clone())).collect()
    }

    fn listing(&self) -> Vec<String> {
        let present = self.state.present().map(|(id, one)| {
            let role = match one.role {
                Role::Human => "human",
                Role::Agent => "agent",
                Role::System => "system",
            };
            let activity = one.session.as_ref().map(|status| format!(", {}", status.activity.name()));
            let you = if *id == self.state.me { " (you)" } else { "" };
            format!("{id}{you}: {role}{}", activity.unwrap_or_default())
        });
        std::iter::once("Participants".to_owned()).chain(present).collect()
    }
}
