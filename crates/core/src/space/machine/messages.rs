//! Messages for agents, their queue, interrupts and answers to questions.

use serde::{Deserialize, Serialize};

use super::super::command::Refusal;
use super::super::event::{Acknowledgement, Event};
use super::super::extent::{Extent, boundary};
use super::super::harness::Order;
use super::super::item::{Attachment, Body, Item, Progress};
use super::super::name::{ItemId, ParticipantId, TurnId};
use super::super::question::{Answer, Closing, Meaning};
use super::super::session::{Prompt, Session};
use super::commands::{Came, Outcome};
use super::{LONGEST_MESSAGE, LONGEST_TEXT, Space};
use crate::line::first_visible;
use crate::receipt::{Failure, Receipt, Stage};
use crate::request::{Decision, RequestId};

/// Something said to agents.
pub(super) struct Message {
    pub text: String,
    pub to: Option<Vec<ParticipantId>>,
    pub attachments: Vec<Attachment>,
    pub interrupt: bool,
    pub literal: bool,
}

/// A message that was accepted in an earlier life of the space, and that no agent was given yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedMessage {
    /// Its command.
    pub request_id: RequestId,
    /// The sender.
    pub by: ParticipantId,
    /// The text.
    pub text: String,
    /// The agents and others that it is for; `None`: those that messages go to.
    #[serde(default)]
    pub to: Option<Vec<ParticipantId>>,
    /// When it was accepted.
    #[serde(with = "super::super::kept::nanoseconds")]
    pub at: std::time::SystemTime,
    /// The turn that its caller was told, kept after a restart.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// The item that shows it, where that was stored.
    #[serde(skip)]
    pub item: Option<ItemId>,
}

impl Space {
    pub(super) fn say(&mut self, by: &ParticipantId, id: &RequestId, message: Message) -> Outcome {
        if message.text.trim().is_empty() && message.attachments.is_empty() {
            return Err(Refusal::Empty);
        }
        if message.text.len() > LONGEST_MESSAGE {
            return Err(Refusal::TooLong(message.text.len(), LONGEST_MESSAGE));
        }
        let to = message.to.clone().or_else(|| self.state.targets.effective().map(<[_]>::to_vec));
        let to = to.map(|list| self.known_participants(&list)).transpose()?;
        let agents = self.addressees(to.as_deref(), by)?;
        if to.is_none() && agents.is_empty() {
            return Err(Refusal::NobodyThere);
        }
        if message.literal {
            self.check_literal(&message.text, &agents)?;
        }
        let working = if message.interrupt { self.working(&agents)? } else { Vec::new() };
        self.accept(id);
        for agent in working {
            // The interrupt is a command of its own: it is over before the message is handed to the agent.
            let interrupt = self.request_id();
            self.accept(&interrupt);
            self.have_done(&interrupt, agent, Order::Interrupt, None);
        }
        let free = |agent: &ParticipantId| {
            let paused = self.state.participants.get(agent).is_some_and(|one| one.paused.is_some());
            !self.suspended && !paused && self.sessions.get(agent).is_some_and(Session::is_free)
        };
        let waits = !agents.is_empty() && !agents.iter().any(free);
        let progress = if waits { Progress::Queued } else { Progress::Done };
        let turns: Vec<TurnId> = agents.iter().map(|_| self.turn_id()).collect();
        let item = self.message_item(by, to, &message, progress, turns.clone());
        self.queue(by, id, item, &agents, turns, &message)
    }

    fn check_literal(&self, text: &str, agents: &[ParticipantId]) -> Result<(), Refusal> {
        let Some(first) = first_visible(text) else { return Ok(()) };
        let interprets =
            |id: &&ParticipantId| self.sessions.get(*id).is_some_and(|session| session.interprets.contains(&first));
        match agents.iter().find(interprets) {
            Some(agent) => Err(Refusal::NotLiteral(agent.clone(), first)),
            None => Ok(()),
        }
    }

    fn message_item(
        &mut self,
        from: &ParticipantId,
        to: Option<Vec<ParticipantId>>,
        message: &Message,
        progress: Progress,
        starts: Vec<TurnId>,
    ) -> ItemId {
        let (id, at) = (self.item_id('m'), self.now.time);
        let body = Body::Text { text: shown(&message.text), attachments: message.attachments.clone() };
        let whole = message.text.len();
        let extent = (whole > LONGEST_TEXT).then_some(Extent { shown: LONGEST_TEXT as u64, whole: whole as u64 });
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

    /// Has a message that was accepted wait for each of these agents.
    fn queue(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        item: ItemId,
        agents: &[ParticipantId],
        turns: Vec<TurnId>,
        message: &Message,
    ) -> Outcome {
        for (agent, turn) in agents.iter().zip(turns.iter().cloned()) {
            if self.state.participants.get(agent).is_some_and(|one| one.capabilities.acknowledges) {
                let (from, at) = (by.clone(), self.now.time);
                let wanted = Acknowledgement { item: item.clone(), from, to: agent.clone(), at };
                self.publish(Event::AcknowledgementWanted(wanted));
            }
            let (text, attachments) = (message.text.clone(), message.attachments.clone());
            let prompt = Prompt { turn, item: item.clone(), text, attachments };
            if let Some(session) = self.sessions.get_mut(agent) {
                session.queue(prompt, message.interrupt);
            }
        }
        let mut receipt = self.receipt(id);
        receipt.item = Some(item);
        receipt.turn = turns.first().cloned();
        self.publish(Event::Receipt(receipt));
        if turns.is_empty() {
            return self.finish(id, Vec::new());
        }
        self.commands.insert(id.clone(), (turns, None));
        Ok(Came::To(Vec::new()))
    }

    /// Queues what was accepted for this agent in an earlier life and never given to it.
    pub(super) fn requeue(&mut self, agent: &ParticipantId) {
        let is_for = |message: &QueuedMessage| message.to.as_ref().is_none_or(|to| to.contains(agent));
        let (mine, others) = std::mem::take(&mut self.requeued).into_iter().partition(is_for);
        self.requeued = others;
        for queued in mine {
            let QueuedMessage { request_id, by, text, to, at, turn, item } = queued;
            let message = Message { text, to: to.clone(), attachments: Vec::new(), interrupt: false, literal: false };
            self.publish(Event::Receipt(Receipt::accepted(request_id.clone(), at)));
            let turns = vec![turn.unwrap_or_else(|| self.turn_id())];
            let stored = item.and_then(|item| self.state.items.get(&item).cloned());
            let item = match stored {
                Some(item) => {
                    self.put(Item { starts: turns.clone(), ..(*item).clone() });
                    item.id.clone()
                }
                None => self.message_item(&by, to, &message, Progress::Queued, turns.clone()),
            };
            // It was accepted: that there is a queue of a certain length does not count any more.
            let _ = self.queue(&by, &request_id, item, std::slice::from_ref(agent), turns, &message);
        }
    }

    /// True if the command is a message that no agent was given yet.
    pub fn is_queued(&self, id: &RequestId) -> bool {
        let waits = |turn: &TurnId| self.sessions.values().any(|session| session.is_waiting(turn));
        self.commands.get(id).is_some_and(|(turns, _)| !turns.is_empty() && turns.iter().all(waits))
    }

    /// The command that a turn is of.
    pub fn command_of(&self, turn: &TurnId) -> Option<&RequestId> {
        self.commands.iter().find(|(_, (turns, _))| turns.contains(turn)).map(|(id, _)| id)
    }

    /// The agent was given the message of this turn, or will not be: one that was queued moves on.
    pub(super) fn handed_over(&mut self, turn: &TurnId, progress: Progress) {
        if let Some(item) = self.state.turn(turn).map(|turn| turn.prompt.clone()) {
            self.move_queued(&item, progress);
        }
    }

    /// Prompts that no agent will be given: their commands have failed.
    pub(super) fn abandon(&mut self, waiting: Vec<Prompt>, why: &Failure) {
        for prompt in waiting {
            let elsewhere = |session: &Session| session.waits_for(&prompt.item);
            if !self.sessions.values().any(elsewhere) {
                self.move_queued(&prompt.item, Progress::Cut);
            }
            self.turn_reached(&prompt.turn, Stage::Failed(why.clone()));
        }
    }

    fn move_queued(&mut self, item: &ItemId, progress: Progress) {
        let item = self.state.items.get(item).filter(|item| item.progress == Progress::Queued).cloned();
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
    ) -> Outcome {
        let item = self.state.items.get(question).cloned();
        let Some(Body::Question { question: asked, closing }) = item.as_ref().map(|item| &item.body) else {
            return Err(Refusal::NoSuchQuestion(question.to_string()));
        };
        if let Some(closing) = closing {
            let how = match closing {
                Closing::Answered { .. } => "it was answered",
                Closing::Withdrawn => "it was withdrawn",
                Closing::Cancelled => "its turn was interrupted",
            };
            return Err(Refusal::Closed(question.clone(), how.to_owned()));
        }
        let answer = match decision.filter(|_| answer.option.is_none()) {
            None => answer,
            Some(decision) => {
                let meanings = match decision {
                    Decision::Approve => [Meaning::AllowOnce, Meaning::AllowAlways],
                    Decision::Reject => [Meaning::RejectOnce, Meaning::RejectAlways],
                };
                let meant = |meaning: &Meaning| asked.options.iter().find(|option| option.meaning == *meaning);
                let option = meanings.iter().find_map(meant).ok_or(Refusal::NoPlainAnswer)?;
                Answer { option: Some(option.id.clone()), ..answer }
            }
        };
        asked.check(&answer)?;
        let from = item.as_ref().map(|item| item.from.clone()).unwrap_or_else(super::system);
        let key = self.sessions.get(&from).and_then(|session| session.questions.get(question)).cloned();
        let key = key.ok_or_else(|| Refusal::Gone(from.clone()))?;
        let closing = Closing::Answered { by: by.clone(), answer: asked.kept(&answer) };
        self.accept(id);
        self.close(&from, question, closing);
        self.have_done(id, from, Order::Answer { question: key, answer }, None);
        Ok(Came::To(Vec::new()))
    }

    pub(super) fn interrupt(&mut self, id: &RequestId, whom: Option<ParticipantId>) -> Outcome {
        let agents: Vec<ParticipantId> = match whom {
            Some(whom) => {
                self.agent(&whom)?;
                vec![whom]
            }
            None => self.sessions.keys().cloned().collect(),
        };
        let working = self.working(&agents)?;
        if working.is_empty() {
            return Err(Refusal::NothingToInterrupt);
        }
        self.accept(id);
        for agent in working {
            self.have_done(id, agent, Order::Interrupt, None);
        }
        Ok(Came::To(Vec::new()))
    }

    /// The working ones of these agents; fails if one of them cannot be interrupted.
    fn working(&self, agents: &[ParticipantId]) -> Result<Vec<ParticipantId>, Refusal> {
        let works = |id: &&ParticipantId| self.sessions.get(*id).is_some_and(|one| one.turn.is_some());
        let working: Vec<ParticipantId> = agents.iter().filter(works).cloned().collect();
        let stubborn =
            |id: &&ParticipantId| !self.state.participants.get(*id).is_some_and(|one| one.capabilities.interrupts);
        match working.iter().find(stubborn) {
            Some(agent) => Err(Refusal::NotSupported(agent.clone(), "be interrupted".to_owned())),
            None => Ok(working),
        }
    }
}

/// A message as the conversation shows it.
pub(super) fn shown(text: &str) -> String {
    match &text[..boundary(text, LONGEST_TEXT)] {
        all if all.len() == text.len() => text.to_owned(),
        beginning => format!("{beginning}\n… ({} bytes in all)", text.len()),
    }
}
