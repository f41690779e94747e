//! Reports of harnesses: applies each report to the state of the space.

use std::mem::discriminant;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::command::CommandAccepted;
use super::super::event::{Acknowledgement, Pause, SpaceEvent, StreamFrame};
use super::super::extent::Extent;
use super::super::harness::{HarnessKey, PauseReport, Report, TurnOutcome};
use super::super::item::{Item, ItemBody, ItemProgress, NoticeLevel, ToolCall};
use super::super::name::{ItemId, ParticipantId, TurnId};
use super::super::question::{Question, QuestionCloseReason};
use super::super::roster::AgentRequest;
use super::super::session::Lifecycle;
use super::super::state;
use super::{SpaceEffect, SpaceMachine, TransientChange};
use crate::receipt::{CommandFailure, ReceiptStage};

/// Number of newest items that are searched for the `stream/request` of an opened stream.
const RECENT_ITEMS: usize = 64;

impl SpaceMachine {
    pub(super) fn report(&mut self, id: &ParticipantId, report: Report) {
        if !self.sessions.contains_key(id) || self.is_gone(id) {
            return;
        }
        match report {
            Report::Ready(capabilities) => {
                if let Some(session) = self.sessions.get_mut(id) {
                    session.lifecycle = Lifecycle::Ready;
                }
                self.publish(SpaceEvent::Capabilities(id.clone(), Arc::new(capabilities)));
            }
            Report::Tools(tools) => self.publish(SpaceEvent::Tools(id.clone(), tools.into())),
            Report::Delivered(turn) => self.turn_reached(&turn, ReceiptStage::Delivered),
            Report::Submitted(turn) => self.turn_reached(&turn, ReceiptStage::Submitted),
            Report::Started(turn) => self.turn_reached(&turn, ReceiptStage::Started),
            Report::Warned(turn, warning) => self.turn_warned(&turn, warning),
            Report::Ended(turn, outcome) => self.ended(id, &turn, outcome),
            Report::SelfStarted => self.self_started(id),
            Report::SelfEnded(outcome) => {
                let own = self
                    .sessions
                    .get(id)
                    .filter(|session| session.self_started)
                    .and_then(|session| session.turn.clone());
                if let Some(turn) = own {
                    self.ended(id, &turn, outcome);
                }
            }
            Report::EarlierPrompt(text) => {
                let me = self.state.me.clone();
                self.put_complete('m', me, Some(vec![id.clone()]), ItemBody::Text { text, attachments: Vec::new() });
            }
            Report::Item { key, body, done } => self.item(id, key, body, done, None),
            Report::Grew { key, text, tokens } => self.grew(id, key, &text, tokens, None),
            Report::Finished(key) => self.finished(id, &key),
            Report::Shortened(report, extent) => match *report {
                Report::Item { key, body, done } => self.item(id, key, body, done, Some(extent)),
                Report::Grew { key, text, tokens } => self.grew(id, key, &text, tokens, Some(extent)),
                Report::Asked { key, question } => self.asked(id, key, question, Some(extent)),
                other => self.report(id, other),
            },
            Report::Retracted(key) => self.retracted(id, &key),
            Report::Asked { key, question } => self.asked(id, key, question, None),
            Report::Withdrew(key) => {
                if let Some(question) = self.known(id, &key) {
                    self.close(id, &question, QuestionCloseReason::Withdrawn);
                }
            }
            Report::Acknowledged(item, granted) => self.acknowledged(id, item, granted),
            Report::WantsAcknowledgement(key) => {
                if let Some(item) = self.known(id, &key) {
                    let (from, to, at) = (id.clone(), self.state.me.clone(), self.now.time);
                    self.publish(SpaceEvent::AcknowledgementWanted(Acknowledgement { item, from, to, at }));
                }
            }
            Report::Status { status, summary } => {
                let payload = json!({ "status": status, "summary": summary });
                self.publish(SpaceEvent::StatusReported { by: id.clone(), status, summary });
                self.act(id.clone(), "participant/status", payload, vec![]);
            }
            Report::Paused(pause) => self.paused(id, pause),
            Report::StreamOpened(key) => self.stream_opened(id, key),
            Report::StreamFrame(key, payload) => self.stream_frame(id, &key, payload),
            Report::StreamClosed(key) => self.stream_closed(id, &key),
            Report::Usage(usage) => self.publish(SpaceEvent::Usage(id.clone(), usage)),
            Report::Acked(order, result) => self.acked(id, &order, result),
            Report::Called(call, result) => self.called(call, result),
            // The engine stores the resume id. The space does not use it.
            Report::ResumeId(_) => {}
            Report::Activity(report) => {
                if let Some(session) = self.sessions.get_mut(id) {
                    session.evidence = Some(report);
                }
            }
            Report::Notice(level, text) => {
                // If there are several agents, the notice names the agent.
                let text = if self.sessions.len() > 1 { format!("{id}: {text}") } else { text };
                self.notice(level, topic(level), vec![text]);
            }
            Report::Gone(reason) => self.gone(id, reason),
        }
    }

    fn is_gone(&self, id: &ParticipantId) -> bool {
        self.sessions.get(id).is_some_and(|session| matches!(session.lifecycle, Lifecycle::Gone(_)))
    }

    fn turn_of(&self, id: &ParticipantId) -> Option<TurnId> {
        self.sessions.get(id)?.turn.clone()
    }

    fn known(&self, id: &ParticipantId, key: &HarnessKey) -> Option<ItemId> {
        self.sessions.get(id)?.items.get(key).cloned()
    }

    fn asked(&mut self, from: &ParticipantId, key: HarnessKey, question: Question, extent: Option<Extent>) {
        let (id, turn) = (self.item_id('q'), self.turn_of(from));
        if let Some(session) = self.sessions.get_mut(from) {
            session.insert_key(key.clone(), id.clone());
            session.questions.insert(id.clone(), key);
        }
        let body = ItemBody::Question { question, closing: None };
        let (from, at) = (from.clone(), self.now.time);
        self.put(Item {
            id,
            from,
            to: None,
            turn,
            at,
            body,
            progress: ItemProgress::Growing,
            extent,
            listed: Vec::new(),
            starts: Vec::new(),
        });
    }

    fn item(&mut self, from: &ParticipantId, key: HarnessKey, body: ItemBody, done: bool, extent: Option<Extent>) {
        let progress = if done { ItemProgress::Done } else { ItemProgress::Growing };
        let known = self.known(from, &key).and_then(|id| self.state.items.get(&id).cloned());
        // A body of another kind under a known key becomes a new item, because listed envelopes must not change.
        let known = known.filter(|known| discriminant(&known.body) == discriminant(&body));
        let body = match (body, known.as_ref().map(|known| &known.body)) {
            // A call that has ended cannot run again.
            (ItemBody::Tool(call), Some(ItemBody::Tool(before)))
                if before.status.is_over() && !call.status.is_over() =>
            {
                ItemBody::Tool(ToolCall { status: before.status, ..call })
            }
            (body, _) => body,
        };
        let item = match known {
            Some(known) => Item { body, progress, extent, ..(*known).clone() },
            None => {
                let (id, turn) = (self.item_id('i'), self.turn_of(from));
                if let Some(session) = self.sessions.get_mut(from) {
                    session.insert_key(key, id.clone());
                }
                Item {
                    id,
                    from: from.clone(),
                    to: None,
                    turn,
                    at: self.now.time,
                    body,
                    progress,
                    extent,
                    listed: Vec::new(),
                    starts: Vec::new(),
                }
            }
        };
        self.put(item);
    }

    fn grew(&mut self, from: &ParticipantId, key: HarnessKey, more: &str, cost: Option<u64>, extent: Option<Extent>) {
        let known = self.known(from, &key).and_then(|id| self.state.items.get(&id).cloned());
        let Some(mut item) = known else {
            let body = ItemBody::Text { text: more.to_owned(), attachments: Vec::new() };
            return self.item(from, key, body, false, extent);
        };
        if item.progress != ItemProgress::Growing {
            return;
        }
        let grown = Arc::make_mut(&mut item);
        grown.extent = extent.or(grown.extent);
        match &mut grown.body {
            ItemBody::Text { text, .. } => text.push_str(more),
            ItemBody::Thought { text, tokens, .. } => {
                text.push_str(more);
                *tokens = cost.or(*tokens);
            }
            ItemBody::Tool(call) => match call.output.last_mut() {
                Some(super::super::item::ToolResultPart::Text(text)) => text.push_str(more),
                _ if more.is_empty() => {}
                _ => call.output.push(super::super::item::ToolResultPart::Text(more.to_owned())),
            },
            ItemBody::Question { .. } | ItemBody::Notice { .. } | ItemBody::Act { .. } => return,
        }
        // Output shows that the call runs, so its request is listed now.
        if matches!(item.body, ItemBody::Tool(_)) && item.listed.is_empty() {
            return self.put_running(&item);
        }
        self.state.put_at(Arc::clone(&item), self.now.time, 0);
        self.effects.push(SpaceEffect::Signal(TransientChange::Item(item)));
    }

    fn finished(&mut self, from: &ParticipantId, key: &HarnessKey) {
        let known = self.known(from, key).and_then(|id| self.state.items.get(&id).cloned());
        if let Some(item) = known.filter(|item| item.progress == ItemProgress::Growing) {
            self.put(Item { progress: ItemProgress::Done, ..(*item).clone() });
        }
    }

    fn retracted(&mut self, from: &ParticipantId, key: &HarnessKey) {
        let known = self.known(from, key).and_then(|id| self.state.items.get(&id).cloned());
        if let Some(item) = known {
            self.put(Item { progress: ItemProgress::Retracted, ..(*item).clone() });
        }
    }

    /// Closes the question of this agent, unless it is already closed.
    pub(super) fn close(&mut self, id: &ParticipantId, question: &ItemId, how: QuestionCloseReason) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.questions.remove(question);
        }
        let Some(item) = self.state.items.get(question).filter(|item| item.open_question().is_some()) else { return };
        let mut item = (**item).clone();
        if let ItemBody::Question { closing, .. } = &mut item.body {
            *closing = Some(how);
        }
        item.progress = ItemProgress::Done;
        self.put(item);
    }

    /// Starts a turn that the agent began without a prompt. The turn refers to a `participant/status` act in place of a
    /// message.
    fn self_started(&mut self, id: &ParticipantId) {
        let idle = self
            .sessions
            .get(id)
            .is_some_and(|session| session.lifecycle == Lifecycle::Ready && session.turn.is_none());
        if !idle {
            return;
        }
        let payload = json!({ "status": "working", "summary": "by itself" });
        let body = ItemBody::Act { kind: "participant/status".to_owned(), payload, about: vec![] };
        let prompt = self.put_complete('a', id.clone(), None, body);
        let turn = self.turn_id();
        if let Some(session) = self.sessions.get_mut(id) {
            (session.turn, session.self_started) = (Some(turn.clone()), true);
        }
        self.publish(SpaceEvent::TurnStarted { turn, by: id.clone(), prompt });
    }

    fn ended(&mut self, id: &ParticipantId, turn: &TurnId, outcome: TurnOutcome) {
        let Some(session) = self.sessions.get_mut(id).filter(|session| session.turn.as_ref() == Some(turn)) else {
            return;
        };
        (session.turn, session.self_started) = (None, false);
        match &outcome {
            TurnOutcome::Completed => {}
            // The unfinished item is already shown as interrupted.
            TurnOutcome::Cancelled if self.has_unfinished(turn) => {}
            TurnOutcome::Cancelled => self.notice(NoticeLevel::Info, "interrupted", vec![format!("{id}: interrupted")]),
            TurnOutcome::Failed(reason) => self.notice(NoticeLevel::Error, "error", vec![format!("{id}: {reason}")]),
        }
        let stage = match &outcome {
            TurnOutcome::Completed => ReceiptStage::Finished,
            TurnOutcome::Cancelled => ReceiptStage::Failed(CommandFailure::cancelled()),
            TurnOutcome::Failed(reason) => ReceiptStage::Failed(reason.as_str().into()),
        };
        let tally = self.state.turn_stats(turn, self.now.time);
        self.publish(SpaceEvent::TurnEnded(turn.clone(), outcome, tally));
        self.turn_reached(turn, stage);
        let (state, session) = (&self.state, self.sessions.get_mut(id));
        let open = |question: &ItemId| state.items.get(question).is_some_and(|item| item.open_question().is_some());
        session.into_iter().for_each(|session| session.questions.retain(|question, _| open(question)));
    }

    /// True if the turn contains an incomplete text, thought or tool call.
    fn has_unfinished(&self, turn: &TurnId) -> bool {
        let mut growing = self.state.items.growing().filter(|item| item.turn.as_ref() == Some(turn));
        growing.any(|item| matches!(item.body, ItemBody::Text { .. } | ItemBody::Thought { .. } | ItemBody::Tool(_)))
    }

    fn acknowledged(&mut self, by: &ParticipantId, item: ItemId, granted: bool) {
        let waits = self.state.acknowledgements.iter().any(|wanted| wanted.item == item && wanted.to == *by);
        if waits {
            self.publish(SpaceEvent::Acknowledged { item: item.clone(), by: by.clone(), granted });
            let status = if granted { "received" } else { "declined" };
            self.act(by.clone(), "chat/acknowledge", json!({ "status": status }), vec![item]);
        }
    }

    fn paused(&mut self, id: &ParticipantId, pause: Option<PauseReport>) {
        let was = self.state.participants.get(id).is_some_and(|one| one.paused.is_some());
        match pause {
            Some(PauseReport { timeout, reason }) => {
                let seconds = timeout.map(|timeout| timeout.as_secs());
                let payload = json!({ "reason": reason, "timeout_seconds": seconds });
                // A pause that would end beyond the range of the clock has no end.
                let until = timeout.and_then(|timeout| self.now.time.checked_add(timeout));
                let by = self.calls.pause_by(id).unwrap_or_else(|| id.clone());
                self.publish(SpaceEvent::Paused(id.clone(), Some(Pause { by, until, reason })));
                self.act(id.clone(), "participant/pause", payload, vec![]);
            }
            None if was => {
                self.publish(SpaceEvent::Paused(id.clone(), None));
                self.act(id.clone(), "participant/resume", json!({}), vec![]);
            }
            None => {}
        }
    }

    fn stream_opened(&mut self, id: &ParticipantId, key: HarnessKey) {
        let stream = self.stream_id();
        if let Some(session) = self.sessions.get_mut(id) {
            session.streams.insert(key, stream.clone());
        }
        let payload = json!({ "stream_id": stream.as_str(), "encoding": "json" });
        self.publish(SpaceEvent::StreamOpened(stream, id.clone()));
        let about = self.stream_request(id).into_iter().collect();
        self.act(id.clone(), "stream/open", payload, about);
    }

    /// Returns the newest `stream/request` to this agent; `None` if a stream was already opened for that request.
    fn stream_request(&self, of: &ParticipantId) -> Option<ItemId> {
        let recent = || self.state.items.iter().rev().take(RECENT_ITEMS);
        let act = |item: &Item, wanted: &str| matches!(&item.body, ItemBody::Act { kind, .. } if kind == wanted);
        let is_for = |item: &Item| item.to.as_ref().is_some_and(|to| to.contains(of));
        let request = recent().find(|item| act(item, "stream/request") && is_for(item))?.id.clone();
        let is_about = |item: &Item| matches!(&item.body, ItemBody::Act { about, .. } if about.contains(&request));
        (!recent().any(|item| act(item, "stream/open") && is_about(item))).then_some(request)
    }

    fn stream_frame(&mut self, id: &ParticipantId, key: &HarnessKey, payload: Value) {
        let Some(stream) = self.sessions.get(id).and_then(|session| session.streams.get(key)).cloned() else { return };
        let frame = StreamFrame { stream, payload, at: self.now.time };
        self.state.frame(frame.clone());
        self.effects.push(SpaceEffect::Signal(TransientChange::Frame(frame)));
    }

    fn stream_closed(&mut self, id: &ParticipantId, key: &HarnessKey) {
        let Some(stream) = self.sessions.get_mut(id).and_then(|session| session.streams.remove(key)) else { return };
        let payload = json!({ "stream_id": stream.as_str() });
        self.publish(SpaceEvent::StreamClosed(stream));
        self.act(id.clone(), "stream/close", payload, vec![]);
    }

    fn called(&mut self, call: u64, result: Result<Value, String>) {
        let Some(pending) = self.calls.close(call) else { return };
        match result {
            Ok(value) => {
                let lines: Vec<String> = match value {
                    Value::Null => Vec::new(),
                    Value::String(text) => text.lines().map(str::to_owned).collect(),
                    other => vec![other.to_string()],
                };
                if pending.of_status {
                    let agent = Some(pending.of.to_string());
                    let number = self.calls.follow_up(pending, lines, self.now.time);
                    return self.effects.push(SpaceEffect::Manage { number, agent, ask: AgentRequest::Status });
                }
                self.reach(&pending.request_id, ReceiptStage::Finished);
                // Information that an agent gives about itself is shown to all participants.
                if !lines.is_empty() {
                    self.notice(NoticeLevel::Info, "info", lines.clone());
                }
                let done = CommandAccepted {
                    receipt: self.receipt(&pending.request_id),
                    lines,
                    duplicate: false,
                    queued: false,
                };
                self.remember(&pending.request_id, Ok(done.clone()));
                self.effects.push(SpaceEffect::Answer(pending.ticket, Ok(done)));
            }
            Err(reason) => self.fail(pending.ticket, &pending.request_id, reason),
        }
    }

    fn gone(&mut self, id: &ParticipantId, reason: Option<String>) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let streams: Vec<_> = session.streams.drain().map(|(_, stream)| stream).collect();
        session.questions.clear();
        let (turn, waiting) = session.abandon(reason.clone());
        let why = reason.clone().unwrap_or_else(|| format!("{id} was shut down"));
        if let Some(turn) = turn {
            let tally = self.state.turn_stats(&turn, self.now.time);
            self.publish(SpaceEvent::TurnEnded(turn.clone(), TurnOutcome::Failed(why.clone()), tally));
            self.turn_reached(&turn, ReceiptStage::Failed(why.as_str().into()));
        }
        if !self.suspended {
            self.abandon(waiting, &why.as_str().into());
        }
        // Items outside a turn are included, because no agent will complete them.
        let unfinished: Vec<Arc<Item>> = self.state.items.growing().filter(|item| item.from == *id).cloned().collect();
        for item in unfinished {
            self.put(state::cut((*item).clone()));
        }
        for stream in streams {
            self.publish(SpaceEvent::StreamClosed(stream));
        }
        let owed: Vec<ItemId> =
            self.state.acknowledgements.iter().filter(|one| one.to == *id).map(|one| one.item.clone()).collect();
        for item in owed {
            self.publish(SpaceEvent::Acknowledged { item, by: id.clone(), granted: false });
        }
        for (ticket, request_id) in self.calls.of(id) {
            self.fail(ticket, &request_id, why.clone());
        }
        self.fail_acks(id, &why);
        if self.state.participants.get(id).is_some_and(|one| one.paused.is_some()) {
            self.publish(SpaceEvent::Paused(id.clone(), None));
        }
        if let Some(reason) = reason {
            self.notice(NoticeLevel::Error, "error", vec![format!("{id} is gone: {reason}")]);
        }
        self.publish(SpaceEvent::Left(id.clone()));
        let payload = json!({ "event": "leave", "participant": { "id": id.as_str() } });
        self.act(super::system(), "system/presence", payload, vec![]);
    }
}

fn topic(level: NoticeLevel) -> &'static str {
    match level {
        NoticeLevel::Info => "info",
        NoticeLevel::Warning => "warning",
        NoticeLevel::Error => "error",
    }
}
