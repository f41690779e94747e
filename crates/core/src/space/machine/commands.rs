//! What doors ask of a space, carried out or refused.

use serde_json::json;

use super::super::command::{Command, Done, Refusal, Selector, Setting, Target};
use super::super::event::{Acknowledgement, Event, Role, Scope};
use super::super::harness::{Call, Named, Order};
use super::super::item::{Body, Level};
use super::super::name::{ItemId, ParticipantId, StreamId};
use super::super::roster::Ask;
use super::super::session::Life;
use super::deeds::Said;
use super::managing::beside;
use super::messages::Message;
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
    fn tell(&mut self, id: &RequestId, topic: &str, lines: Vec<String>) -> Outcome {
        self.accept(id);
        self.notice(Level::Info, topic, lines.clone());
        self.finish(id, lines)
    }

    /// The agents among those that a message is for; each of them can take it.
    pub(super) fn addressees(
        &self,
        to: Option<&[ParticipantId]>,
        by: &ParticipantId,
    ) -> Result<Vec<ParticipantId>, Refusal> {
        let agents: Vec<ParticipantId> = match to {
            Some(list) => self
                .known_participants(list)?
                .into_iter()
                .filter(|id| self.sessions.contains_key(id) && id != by)
                .collect(),
            None => {
                let there = |id: &&ParticipantId| !matches!(self.sessions[*id].life, Life::Gone(_)) && *id != by;
                self.sessions.keys().filter(there).cloned().collect()
            }
        };
        for id in &agents {
            if matches!(self.sessions[id].life, Life::Gone(_)) {
                return Err(Refusal::Gone(id.clone()));
            }
            if !self.sessions[id].has_room() {
                return Err(Refusal::Busy(id.clone()));
            }
        }
        Ok(agents)
    }

    fn known_participant(&self, id: &ParticipantId) -> Result<ParticipantId, Refusal> {
        let known = self.state.participants.contains_key(id);
        if known { Ok(id.clone()) } else { Err(Refusal::NoSuchParticipant(id.to_string())) }
    }

    /// Each of them once, however often it is named.
    pub(super) fn known_participants(&self, named: &[ParticipantId]) -> Result<Vec<ParticipantId>, Refusal> {
        let mut known = Vec::new();
        for id in named {
            let id = self.known_participant(id)?;
            if !known.contains(&id) {
                known.push(id);
            }
        }
        Ok(known)
    }

    /// An agent that can be told something.
    pub(super) fn agent(&self, id: &ParticipantId) -> Result<(), Refusal> {
        self.known_participant(id)?;
        let session = self.sessions.get(id).ok_or_else(|| Refusal::NotAnAgent(id.clone()))?;
        if matches!(session.life, Life::Gone(_)) { Err(Refusal::Gone(id.clone())) } else { Ok(()) }
    }

    /// The agent that is meant when none is named: the only target, or the only one there is.
    pub(super) fn meant(&self, whom: Option<ParticipantId>) -> Result<ParticipantId, Refusal> {
        let id = match whom {
            Some(id) => id,
            None => {
                let agents = self.addressees(self.state.targets.effective(), &self.state.me)?;
                match &agents[..] {
                    [] => return Err(Refusal::NoSuchParticipant("agent".to_owned())),
                    [one] => one.clone(),
                    several => {
                        let names: Vec<&str> = several.iter().map(ParticipantId::as_str).collect();
                        let names = names.join(" or ");
                        return Err(Refusal::Failed(format!("say whom, with /target: {names}")));
                    }
                }
            }
        };
        self.agent(&id)?;
        Ok(id)
    }

    fn target(&mut self, id: &RequestId, target: Target) -> Outcome {
        let change = match target {
            Target::Show => None,
            Target::Default => Some(None),
            Target::Only(list) => Some(Some(self.known_participants(&list)?)),
        };
        if let Some(chosen) = change {
            self.publish(Event::Targets(Scope::Override, chosen));
        }
        let names = |list: &[ParticipantId]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let effective = self.state.targets.effective().map_or_else(|| "everybody".to_owned(), names);
        self.tell(id, "info", vec![format!("Chat goes to {effective}.")])
    }

    fn chosen(&self, by: &ParticipantId, selector: &Selector, mine: bool) -> Result<Vec<ItemId>, Refusal> {
        let waiting =
            self.state.acknowledgements.iter().filter(|one| if mine { one.from == *by } else { one.to == *by });
        let waiting: Vec<&Acknowledgement> = waiting.collect();
        let items: Vec<ItemId> = match selector {
            Selector::All => waiting.iter().map(|one| one.item.clone()).collect(),
            Selector::Named(name) => {
                let place = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                match place.and_then(|place| waiting.get(place)) {
                    Some(one) => vec![one.item.clone()],
                    None => waiting
                        .iter()
                        .filter(|one| one.item.as_str().starts_with(name) || one.from.as_str().contains(name))
                        .map(|one| one.item.clone())
                        .collect(),
                }
            }
        };
        let said = match (selector, mine) {
            (Selector::All, false) => "your acknowledgement".to_owned(),
            (Selector::All, true) => {
                "being cancelled: nobody reasons, and all that you sent is acknowledged".to_owned()
            }
            (Selector::Named(name), false) => format!("your acknowledgement that {name:?} names"),
            (Selector::Named(name), true) => format!("an acknowledgement that {name:?} names"),
        };
        if items.is_empty() { Err(Refusal::NothingChosen(said)) } else { Ok(items) }
    }

    fn acknowledge(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        selector: &Selector,
        status: Option<String>,
    ) -> Outcome {
        let items = self.chosen(by, selector, false)?;
        self.accept(id);
        let status = status.unwrap_or_else(|| "received".to_owned());
        let lines = vec![format!("Acknowledged {} as {status}.", counted(items.len(), "message"))];
        for item in items {
            self.publish(Event::Acknowledged { item: item.clone(), by: by.clone(), granted: true });
            self.act(by.clone(), "chat/acknowledge", json!({ "status": status }), vec![item]);
        }
        self.finish(id, lines)
    }

    fn cancel(&mut self, by: &ParticipantId, id: &RequestId, selector: &Selector, reason: Option<String>) -> Outcome {
        if let (Selector::All, Some(thought)) = (selector, self.state.reasoning()) {
            let whom = thought.from.clone();
            return self.interrupt(id, Some(whom));
        }
        let items = self.chosen(by, selector, true)?;
        self.accept(id);
        let lines = vec![format!("No longer waiting for {}.", counted(items.len(), "acknowledgement"))];
        for item in items {
            self.publish(Event::AcknowledgementDropped(item.clone()));
            self.act(by.clone(), "chat/cancel", json!({ "reason": reason }), vec![item]);
        }
        self.finish(id, lines)
    }

    fn call(
        &mut self,
        ticket: Ticket,
        by: &ParticipantId,
        id: &RequestId,
        whom: Option<ParticipantId>,
        call: Call,
    ) -> Outcome {
        let name = slash::call_name(&call);
        let whom = match (whom, &call) {
            (None, Call::Resume) => match self.state.only_paused() {
                Some(paused) => Some(paused.clone()),
                None => return self.manage(ticket, id, None, Ask::Conversations),
            },
            (whom, _) => whom,
        };
        // Who does not take part, or cannot say it itself, is asked apart.
        if let Some(ask) = beside(&call)
            && whom.as_ref().is_some_and(|whom| !self.takes_part(whom))
        {
            return self.manage(ticket, id, whom, ask);
        }
        let whom = &self.meant(whom)?;
        let able = |calls: &[String]| calls.iter().any(|known| known == name);
        if !self.state.participants.get(whom).is_some_and(|one| able(&one.capabilities.calls)) {
            return match beside(&call) {
                Some(ask) => self.manage(ticket, id, Some(whom.clone()), ask),
                None => Err(Refusal::NotSupported(whom.clone(), name.to_owned())),
            };
        }
        self.accept(id);
        if let Some((kind, payload)) = slash::envelope_of(&call) {
            let body = Body::Act { kind: kind.to_owned(), payload, about: vec![] };
            self.whole('m', by.clone(), Some(vec![whom.clone()]), body);
        }
        let number = self.calls.open(whom.clone(), ticket, id.clone(), self.now.time);
        if call == Call::ReportStatus {
            self.calls.is_of_status(number);
        }
        if matches!(call, Call::Pause { .. }) {
            self.calls.is_pause(number, by.clone());
        }
        self.effects.push(Effect::Tell(whom.clone(), Order::Call { id: number, call }));
        self.reach(id, Stage::Delivered);
        Ok(Came::Later)
    }

    fn close_stream(&mut self, ticket: Ticket, by: &ParticipantId, id: &RequestId, stream: &StreamId) -> Outcome {
        let owner = self.sessions.iter().find_map(|(owner, session)| {
            let key = session.streams.iter().find(|(_, known)| *known == stream)?.0;
            Some((owner.clone(), key.clone()))
        });
        let (owner, key) = owner.ok_or_else(|| Refusal::NoSuchStream(stream.to_string()))?;
        self.call(ticket, by, id, Some(owner), Call::CloseStream(key))
    }

    fn shutdown(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        whom: &ParticipantId,
        reason: Option<String>,
    ) -> Outcome {
        self.agent(whom)?;
        self.accept(id);
        let body =
            Body::Act { kind: "participant/shutdown".to_owned(), payload: json!({ "reason": reason }), about: vec![] };
        self.whole('m', by.clone(), Some(vec![whom.clone()]), body);
        self.effects.push(Effect::Tell(whom.clone(), Order::End));
        self.finish(id, Vec::new())
    }

    fn choose(
        &mut self,
        ticket: Ticket,
        id: &RequestId,
        whom: Option<ParticipantId>,
        wanted: Option<String>,
        what: Chosen,
    ) -> Outcome {
        let (whom, wanted) = self.addressed(whom, wanted);
        if let (Some(agent), None, Chosen::Model) = (&whom, &wanted, what)
            && !self.takes_part(agent)
        {
            return self.manage(ticket, id, whom, Ask::Models);
        }
        let whom = self.meant(whom)?;
        let Some(one) = self.state.participants.get(&whom) else { return Err(Refusal::Gone(whom)) };
        let (known, current, name) = match what {
            Chosen::Model => (&one.capabilities.models, &one.capabilities.model, "model"),
            Chosen::Mode => (&one.capabilities.modes, &one.capabilities.mode, "mode"),
        };
        if known.is_empty() {
            return match (what, wanted) {
                (Chosen::Model, None) => self.manage(ticket, id, Some(whom), Ask::Models),
                _ => Err(Refusal::NotSupported(whom, format!("change its {name}"))),
            };
        }
        let Some(wanted) = wanted else {
            let width = known.iter().map(|one| one.id.chars().count()).max().unwrap_or_default();
            let lines = known.iter().map(|one| line(one, current.as_deref() == Some(&one.id), width)).collect();
            return self.tell(id, "info", lines);
        };
        let setting = match what {
            Chosen::Model => Setting::Model(wanted),
            Chosen::Mode => Setting::Mode(wanted),
        };
        self.order(id, whom, setting, (ticket, true))
    }

    fn set(&mut self, ticket: Ticket, id: &RequestId, whom: ParticipantId, setting: Setting) -> Outcome {
        self.agent(&whom)?;
        self.order(id, whom, setting, (ticket, false))
    }

    /// Tells an agent to use another model or mode, if it has it. Done once the agent has agreed.
    fn order(
        &mut self,
        id: &RequestId,
        whom: ParticipantId,
        setting: Setting,
        (ticket, aloud): (Ticket, bool),
    ) -> Outcome {
        let Some(one) = self.state.participants.get(&whom) else { return Err(Refusal::Gone(whom)) };
        let (known, name, wanted) = match &setting {
            Setting::Model(model) => (&one.capabilities.models, "model", model),
            Setting::Mode(mode) => (&one.capabilities.modes, "mode", mode),
        };
        if !known.iter().any(|one| one.id == *wanted) {
            let ids: Vec<&str> = known.iter().map(|one| one.id.as_str()).collect();
            return Err(Refusal::Failed(format!("{whom} has no {name} {wanted:?}; it has {}", ids.join(", "))));
        }
        let line = format!("{whom}: {name} {wanted}.");
        let order = match setting {
            Setting::Model(model) => Order::SetModel(model),
            Setting::Mode(mode) => Order::SetMode(mode),
        };
        self.accept(id);
        self.have_done(id, whom, order, Some(Said { ticket, line, aloud }));
        Ok(Came::Later)
    }

    fn of_agent(&mut self, by: &ParticipantId, id: &RequestId, name: &str, text: String) -> Outcome {
        let agents = self.addressees(self.state.targets.effective(), by)?;
        let knows = |id: &ParticipantId| {
            let commands = self.state.participants.get(id).map(|one| &one.capabilities.commands);
            commands.is_some_and(|commands| commands.iter().any(|command| command.id == name))
        };
        let whom: Vec<ParticipantId> = agents.into_iter().filter(knows).collect();
        if whom.is_empty() {
            return Err(Refusal::UnknownCommand(name.to_owned()));
        }
        self.say(by, id, Message { text, to: Some(whom), attachments: Vec::new(), interrupt: false, literal: false })
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

#[derive(Clone, Copy)]
enum Chosen {
    Model,
    Mode,
}

fn line(one: &Named, current: bool, width: usize) -> String {
    format!("{} {:<width$}  {}", if current { "*" } else { " " }, one.id, one.title)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
