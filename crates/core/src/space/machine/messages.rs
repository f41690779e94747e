//! Messages to agents and their queue, interrupts, and answers to questions.

use serde::{Deserialize, Serialize};

use super::super::command::SpaceRefusal;
use super::super::event::{Acknowledgement, SpaceEvent};
use super::super::extent::{Extent, boundary};
use super::super::harness::Order;
use super::super::item::{Attachment, Item, ItemBody, ItemProgress};
use super::super::name::{ItemId, ParticipantId, TurnId};
use super::super::question::{Answer, OptionMeaning, QuestionCloseReason};
use super::super::session::{AgentState, PendingPrompt};
use super::commands::{CommandCompletion, CommandOutcome};
use super::{MAX_MESSAGE_BYTES, MAX_SHOWN_MESSAGE_BYTES, SpaceMachine};
use crate::line::first_visible;
use crate::receipt::{CommandFailure, Receipt, ReceiptStage};
use crate::request::{Decision, RequestId};

/// Message that a caller sends to agents.
pub(super) struct OutgoingMessage {
    pub text: String,
    pub to: Option<Vec<ParticipantId>>,
    pub attachments: Vec<Attachment>,
    pub interrupt: bool,
    pub literal: bool,
}

/// Message that the space has accepted and no agent has received yet. The engine stores the message, and the space
/// queues it again after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedMessage {
    pub request_id: RequestId,
    pub by: ParticipantId,
    pub text: String,
    /// Recipients; `None` for the default targets.
    #[serde(default)]
    pub to: Option<Vec<ParticipantId>>,
    /// Time at which the message was accepted.
    #[serde(with = "super::super::stored_item::nanoseconds")]
    pub at: std::time::SystemTime,
    /// Turn id that the caller received. After a restart, the message starts a turn with the same id.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// Stored item that shows the message, if there is one.
    #[serde(skip)]
    pub item: Option<ItemId>,
}

impl SpaceMachine {
    pub(super) fn say(&mut self, by: &ParticipantId, id: &RequestId, message: OutgoingMessage) -> CommandOutcome {
        if message.text.trim().is_empty() && message.attachments.is_empty() {
            return Err(SpaceRefusal::Empty);
        }
        if message.text.len() > MAX_MESSAGE_BYTES {
            return Err(SpaceRefusal::TooLong(message.text.len(), MAX_MESSAGE_BYTES));
        }
        let to = message.to.clone().or_else(|| self.state.targets.effective().map(<[_]>::to_vec));
        let to = to.map(|list| self.known_participants(&list)).transpose()?;
        let agents = self.recipients(to.as_deref(), by)?;
        if to.is_none() && agents.is_empty() {
            return Err(SpaceRefusal::NoAgentPresent);
        }
        if message.literal {
            self.check_literal(&message.text, &agents)?;
        }
        let working = if message.interrupt { self.working(&agents)? } else { Vec::new() };
        self.accept(id);
        for agent in working {
            // The interrupt is a separate command, which finishes before the agent receives the message.
            let interrupt = self.request_id();
            self.accept(&interrupt);
            self.send_acked(&interrupt, agent, Order::Interrupt, None);
        }
        let free = |agent: &ParticipantId| {
            let paused = self.state.participants.get(agent).is_some_and(|one| one.paused.is_some());
            !self.suspended && !paused && self.sessions.get(agent).is_some_and(AgentState::is_free)
        };
        let waits = !agents.is_empty() && !agents.iter().any(free);
        let progress = if waits { ItemProgress::Queued } else { ItemProgress::Done };
        let turns: Vec<TurnId> = agents.iter().map(|_| self.turn_id()).collect();
        let item = self.message_item(by, to, &message, progress, turns.clone());
        self.queue(by, id, item, &agents, turns, &message)
    }

    fn check_literal(&self, text: &str, agents: &[ParticipantId]) -> Result<(), SpaceRefusal> {
        let Some(first) = first_visible(text) else { return Ok(()) };
        let interprets =
            |id: &&ParticipantId| self.sessions.get(*id).is_some_and(|session| session.interprets.contains(&first));
        match agents.iter().find(interprets) {
            Some(agent) => Err(SpaceRefusal::NotLiteral(agent.clone(), first)),
            None => Ok(()),
        }
    }

    fn message_item(
        &mut self,
        from: &ParticipantId,
        to: Option<Vec<ParticipantId>>,
        message: &OutgoingMessage,
        progress: ItemProgress,
        starts: Vec<TurnId>,
    ) -> ItemId {
        let (id, at) = (self.item_id('m'), self.now.time);
        let body = ItemBody::Text { text: shown_message(&message.text), attachments: message.attachments.clone() };
        let whole = message.text.len();
        let extent = (whole > MAX_SHOWN_MESSAGE_BYTES)
            .then_some(Extent { shown: MAX_SHOWN_MESSAGE_BYTES as u64, whole: whole as u64 });
        let turn = self.sessions.get(from).and_then(|session| session.turn.clone());
        self.put(Item {
            id: id.clone(),
            from: from.clone(),
            to,
            turn,
            at,
            body,
            progress,
            extent,
            listed: Vec::new(),
            starts,
        });
        id
    }

    /// Queues an accepted message for each of these agents. `turns` has one turn for each agent, in the same order.
    fn queue(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        item: ItemId,
        agents: &[ParticipantId],
        turns: Vec<TurnId>,
        message: &OutgoingMessage,
    ) -> CommandOutcome {
        for (agent, turn) in agents.iter().zip(turns.iter().cloned()) {
            if self.state.participants.get(agent).is_some_and(|one| one.capabilities.acknowledges) {
                let (from, at) = (by.clone(), self.now.time);
                let wanted = Acknowledgement { item: item.clone(), from, to: agent.clone(), at };
                self.publish(SpaceEvent::AcknowledgementWanted(wanted));
            }
            let (text, attachments) = (message.text.clone(), message.attachments.clone());
            let prompt = PendingPrompt { turn, item: item.clone(), text, attachments };
            if let Some(session) = self.sessions.get_mut(agent) {
                session.queue(prompt, message.interrupt);
            }
        }
        let mut receipt = self.receipt(id);
        receipt.item = Some(item);
        receipt.turn = turns.first().cloned();
        self.publish(SpaceEvent::Receipt(receipt));
        if turns.is_empty() {
            return self.finish(id, Vec::new());
        }
        self.commands.insert(id.clone(), (turns, None));
        Ok(CommandCompletion::Immediate(Vec::new()))
    }

    /// Queues the messages for this agent that an earlier run accepted but did not deliver.
    pub(super) fn requeue(&mut self, agent: &ParticipantId) {
        let is_for = |message: &QueuedMessage| message.to.as_ref().is_none_or(|to| to.contains(agent));
        let (mine, others) = std::mem::take(&mut self.requeued).into_iter().partition(is_for);
        self.requeued = others;
        for queued in mine {
            let QueuedMessage { request_id, by, text, to, at, turn, item } = queued;
            let message =
                OutgoingMessage { text, to: to.clone(), attachments: Vec::new(), interrupt: false, literal: false };
            self.publish(SpaceEvent::Receipt(Receipt::accepted(request_id.clone(), at)));
            let turns = vec![turn.unwrap_or_else(|| self.turn_id())];
            let stored = item.and_then(|item| self.state.items.get(&item).cloned());
            let item = match stored {
                Some(item) => {
                    self.put(Item { starts: turns.clone(), ..(*item).clone() });
                    item.id.clone()
                }
                None => self.message_item(&by, to, &message, ItemProgress::Queued, turns.clone()),
            };
            // The message was accepted before, so the maximum length of the queue does not apply.
            let _ = self.queue(&by, &request_id, item, std::slice::from_ref(agent), turns, &message);
        }
    }

    /// True if the command is a message that no agent has received yet.
    pub fn is_queued(&self, id: &RequestId) -> bool {
        let waits = |turn: &TurnId| self.sessions.values().any(|session| session.is_waiting(turn));
        self.commands.get(id).is_some_and(|(turns, _)| !turns.is_empty() && turns.iter().all(waits))
    }

    /// Returns the request id of the command that started a turn.
    pub fn command_of(&self, turn: &TurnId) -> Option<&RequestId> {
        self.commands.iter().find(|(_, (turns, _))| turns.contains(turn)).map(|(id, _)| id)
    }

    /// Sets the progress of the queued message that starts this turn.
    pub(super) fn update_queued(&mut self, turn: &TurnId, progress: ItemProgress) {
        if let Some(item) = self.state.turn(turn).map(|turn| turn.prompt.clone()) {
            self.move_queued(&item, progress);
        }
    }

    /// Fails the commands whose prompts will not be delivered.
    pub(super) fn abandon(&mut self, waiting: Vec<PendingPrompt>, why: &CommandFailure) {
        for prompt in waiting {
            let elsewhere = |session: &AgentState| session.waits_for(&prompt.item);
            if !self.sessions.values().any(elsewhere) {
                self.move_queued(&prompt.item, ItemProgress::Cut);
            }
            self.turn_reached(&prompt.turn, ReceiptStage::Failed(why.clone()));
        }
    }

    fn move_queued(&mut self, item: &ItemId, progress: ItemProgress) {
        let item = self.state.items.get(item).filter(|item| item.progress == ItemProgress::Queued).cloned();
        if let Some(item) = item {
            self.put(Item { progress, ..(*item).clone() });
        }
    }

    pub(super) fn answer(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        question: &ItemId,
        answer: Answer,
        decision: Option<Decision>,
    ) -> CommandOutcome {
        let item = self.state.items.get(question).cloned();
        let Some(ItemBody::Question { question: asked, closing }) = item.as_ref().map(|item| &item.body) else {
            return Err(SpaceRefusal::NoSuchQuestion(question.to_string()));
        };
        if let Some(closing) = closing {
            let how = match closing {
                QuestionCloseReason::Answered { .. } => "it was answered",
                QuestionCloseReason::Withdrawn => "it was withdrawn",
                QuestionCloseReason::Cancelled => "its turn was interrupted",
            };
            return Err(SpaceRefusal::Closed(question.clone(), how.to_owned()));
        }
        let answer = match decision.filter(|_| answer.option.is_none()) {
            None => answer,
            Some(decision) => {
                let meanings = match decision {
                    Decision::Approve => [OptionMeaning::AllowOnce, OptionMeaning::AllowAlways],
                    Decision::Reject => [OptionMeaning::RejectOnce, OptionMeaning::RejectAlways],
                };
                let meant = |meaning: &OptionMeaning| asked.options.iter().find(|option| option.meaning == *meaning);
                let option = meanings.iter().find_map(meant).ok_or(SpaceRefusal::NoPlainAnswer)?;
                Answer { option: Some(option.id.clone()), ..answer }
            }
        };
        asked.check(&answer)?;
        let from = item.as_ref().map(|item| item.from.clone()).unwrap_or_else(super::system);
        let key = self.sessions.get(&from).and_then(|session| session.questions.get(question)).cloned();
        let key = key.ok_or_else(|| SpaceRefusal::Gone(from.clone()))?;
        let closing = QuestionCloseReason::Answered { by: by.clone(), answer: asked.storable(&answer) };
        self.accept(id);
        self.close(&from, question, closing);
        self.send_acked(id, from, Order::Answer { question: key, answer }, None);
        Ok(CommandCompletion::Immediate(Vec::new()))
    }

    pub(super) fn interrupt(&mut self, id: &RequestId, participant: Option<ParticipantId>) -> CommandOutcome {
        let agents: Vec<ParticipantId> = match participant {
            Some(participant) => {
                self.agent(&participant)?;
                vec![participant]
            }
            None => self.sessions.keys().cloned().collect(),
        };
        let working = self.working(&agents)?;
        if working.is_empty() {
            return Err(SpaceRefusal::NothingToInterrupt);
        }
        self.accept(id);
        for agent in working {
            self.send_acked(id, agent, Order::Interrupt, None);
        }
        Ok(CommandCompletion::Immediate(Vec::new()))
    }

    /// Returns the agents of the list that are working on a turn. Fails if one of them cannot be interrupted.
    fn working(&self, agents: &[ParticipantId]) -> Result<Vec<ParticipantId>, SpaceRefusal> {
        let works = |id: &&ParticipantId| self.sessions.get(*id).is_some_and(|one| one.turn.is_some());
        let working: Vec<ParticipantId> = agents.iter().filter(works).cloned().collect();
        let stubborn =
            |id: &&ParticipantId| !self.state.participants.get(*id).is_some_and(|one| one.capabilities.interrupts);
        match working.iter().find(stubborn) {
            Some(agent) => Err(SpaceRefusal::NotSupported(agent.clone(), "be interrupted".to_owned())),
            None => Ok(working),
        }
    }
}

/// Returns the text that the conversation shows for a message. Truncates a long message.
pub(super) fn shown_message(text: &str) -> String {
    match &text[..boundary(text, MAX_SHOWN_MESSAGE_BYTES)] {
        all if all.len() == text.len() => text.to_owned(),
        beginning => format!("{beginning}\n… ({} bytes in all)", text.len()),
    }
}
