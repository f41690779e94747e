//! Commands of callers: checks the request id, executes the command, and answers the caller.

use super::super::command::{CommandAccepted, ConversationCommand, SpaceRefusal};
use super::super::event::{ParticipantRole, SpaceEvent};
use super::super::harness::AgentOption;
use super::super::item::NoticeLevel;
use super::super::name::ParticipantId;
use super::messages::OutgoingMessage;
use super::settings::SettingKind;
use super::{SpaceEffect, SpaceMachine, Ticket};
use crate::receipt::{Receipt, ReceiptStage};
use crate::request::{FingerprintedId, RequestId};
use crate::slash;

/// Result of executing a command: lines for the answer now, or `Deferred` if the answer follows later.
pub(super) enum CommandCompletion {
    Immediate(Vec<String>),
    Deferred,
}

pub(super) type CommandOutcome = Result<CommandCompletion, SpaceRefusal>;

impl SpaceMachine {
    pub(super) fn command(
        &mut self,
        ticket: Ticket,
        by: &ParticipantId,
        request: Option<FingerprintedId>,
        command: ConversationCommand,
    ) {
        if let Some(request) = &request
            && let Some(answer) = self.known_request(request)
        {
            return self.effects.push(SpaceEffect::Answer(ticket, answer));
        }
        let fingerprint = request.as_ref().map(|request| request.fingerprint.clone());
        let id = request.map_or_else(|| self.request_id(), |request| request.id);
        match self.execute(ticket, by, &id, command) {
            Err(refusal) => self.effects.push(SpaceEffect::Answer(ticket, Err(refusal))),
            Ok(completion) => {
                let lines = match &completion {
                    CommandCompletion::Immediate(lines) => lines.clone(),
                    CommandCompletion::Deferred => Vec::new(),
                };
                // The queue state of the message is known only after the free agents have received their prompts.
                self.dispatch();
                let queued = self.is_queued(&id);
                let done = CommandAccepted { receipt: self.receipt(&id), lines, duplicate: false, queued };
                if let Some(fingerprint) = fingerprint {
                    self.ledger.enter(id, (fingerprint, Ok(done.clone())), self.now.steady);
                }
                if let CommandCompletion::Immediate(_) = completion {
                    self.effects.push(SpaceEffect::Answer(ticket, Ok(done)));
                }
            }
        }
    }

    /// Returns the answer if the request id was used before or cannot be stored. `None` for a new request.
    fn known_request(&mut self, request: &FingerprintedId) -> Option<Result<CommandAccepted, SpaceRefusal>> {
        let answer = match self.ledger.find(&request.id, self.now.steady) {
            Some((fingerprint, _)) if *fingerprint != request.fingerprint => Err(SpaceRefusal::RequestIdReused),
            Some((_, answer)) => answer.clone(),
            // The answer has expired, or the space assigned this id to another command. The receipt belongs to that
            // command.
            None if self.state.receipts.get(&request.id).is_some() => Err(SpaceRefusal::UsedBefore),
            None => return self.ledger.check_capacity().err().map(|_| Err(SpaceRefusal::LedgerFull)),
        };
        Some(answer.map(|done| CommandAccepted { duplicate: true, ..self.refresh(&request.id, done) }))
    }

    /// Returns the stored answer with the current receipt and queue state of the command.
    fn refresh(&self, id: &RequestId, done: CommandAccepted) -> CommandAccepted {
        let receipt = self.state.receipts.get(id).cloned().unwrap_or(done.receipt);
        CommandAccepted { receipt, queued: self.is_queued(id), ..done }
    }

    fn execute(
        &mut self,
        ticket: Ticket,
        by: &ParticipantId,
        id: &RequestId,
        command: ConversationCommand,
    ) -> CommandOutcome {
        match command {
            ConversationCommand::Say { text, to, attachments, interrupt, literal } => {
                self.say(by, id, OutgoingMessage { text, to, attachments, interrupt, literal })
            }
            ConversationCommand::Answer { question, answer, decision } => {
                self.answer(by, id, &question, answer, decision)
            }
            ConversationCommand::Interrupt(participant) => self.interrupt(id, participant),
            ConversationCommand::Target(target) => self.target(id, target),
            ConversationCommand::Acknowledge { selector, status } => self.acknowledge(by, id, &selector, status),
            ConversationCommand::Cancel { selector, reason } => self.cancel(by, id, &selector, reason),
            ConversationCommand::Call(participant, call) => self.call(ticket, by, id, participant, call),
            ConversationCommand::CloseStream(stream) => self.close_stream(ticket, by, id, &stream),
            ConversationCommand::Shutdown(participant, reason) => self.shutdown(by, id, &participant, reason),
            ConversationCommand::Model(participant, model) => {
                self.choose(ticket, id, participant, model, SettingKind::Model)
            }
            ConversationCommand::Mode(participant, mode) => {
                self.choose(ticket, id, participant, mode, SettingKind::Mode)
            }
            ConversationCommand::Set(participant, setting) => self.set(ticket, id, participant, setting),
            ConversationCommand::Manage(participant, ask) => self.manage(ticket, id, participant, ask),
            ConversationCommand::Post { kind, payload, to } => self.post(by, id, kind, payload, to),
            ConversationCommand::AgentCommand { name, line } => self.agent_command(by, id, &name, line),
            ConversationCommand::UiCommand => {
                self.accept(id);
                self.finish(id, Vec::new())
            }
            ConversationCommand::Refused { line, reason } => {
                self.accept(id);
                self.notice(NoticeLevel::Warning, "refused", vec![format!("{}: {reason}", line.trim())]);
                self.finish(id, Vec::new())
            }
            ConversationCommand::Help => {
                let lines = slash::help(&self.agent_commands());
                self.show_lines(id, "help", lines)
            }
            ConversationCommand::Participants => {
                let lines = self.listing();
                self.show_lines(id, "participants", lines)
            }
        }
    }

    pub(super) fn accept(&mut self, id: &RequestId) {
        self.publish(SpaceEvent::Receipt(Receipt::accepted(id.clone(), self.now.time)));
    }

    pub(super) fn finish(&mut self, id: &RequestId, lines: Vec<String>) -> CommandOutcome {
        self.reach(id, ReceiptStage::Finished);
        Ok(CommandCompletion::Immediate(lines))
    }

    /// Adds the lines to the conversation as a notice, and finishes the command with them.
    pub(super) fn show_lines(&mut self, id: &RequestId, topic: &str, lines: Vec<String>) -> CommandOutcome {
        self.accept(id);
        self.notice(NoticeLevel::Info, topic, lines.clone());
        self.finish(id, lines)
    }

    fn agent_commands(&self) -> Vec<(ParticipantId, Vec<AgentOption>)> {
        let agents = self.state.present().filter(|(_, one)| one.role == ParticipantRole::Agent);
        agents.map(|(id, one)| (id.clone(), one.capabilities.commands.clone())).collect()
    }

    fn listing(&self) -> Vec<String> {
        let present = self.state.present().map(|(id, one)| {
            let role = match one.role {
                ParticipantRole::Human => "human",
                ParticipantRole::Agent => "agent",
                ParticipantRole::System => "system",
            };
            let activity = one.session.as_ref().map(|status| format!(", {}", status.activity.name()));
            let you = if *id == self.state.me { " (you)" } else { "" };
            format!("{id}{you}: {role}{}", activity.unwrap_or_default())
        });
        std::iter::once("Participants".to_owned()).chain(present).collect()
    }
}
