//! A space as the contract's state shows it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::SystemTime;

use wh_client::{Gone, UiFacts};
use wh_core::space::ParticipantId;
use wh_core::space::envelope::{self, Envelope};
use wh_core::space::event::{Activity, Status};
use wh_core::space::harness::Usage;
use wh_core::space::item::{Body, Item};
use wh_core::space::question::QuestionKind;
use wh_core::space::state::{Participant, State, Targets};
use wh_wire::control::{
    Acknowledgement, Acknowledgements, ActiveStream, AgentSession, AgentUsage, ChatTargets, ClientState, Message,
    ParticipantStatus, PauseState, PendingOperation, Reasoning, SignalBoard, SignalPause, StreamFrame, Streams, Tool,
    Ui,
};

use super::Conversation;
use super::happened::turn_body;
use crate::time::iso;

/// Characters of a thought that the state shows.
const LONGEST_PREVIEW: usize = 400;

/// Which envelopes are shown.
#[derive(Debug, Default, Hash)]
pub(in crate::http) struct Wanted {
    /// At most so many: the newest, or the first after `since`.
    pub limit: Option<usize>,
    /// Only those that were listed after this time.
    pub since: Option<SystemTime>,
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only from this sender.
    pub from: Option<String>,
}

/// Envelopes of a space, taken in one step; the work of showing them is done elsewhere.
struct Taken {
    envelopes: Vec<(Arc<Item>, usize)>,
    total: usize,
}

impl Wanted {
    fn take(&self, state: &State) -> Taken {
        let envelopes = state.items.envelopes(self.since).map(|(item, place)| (Arc::clone(item), place));
        let envelopes = match self.limit {
            // A filter decides later which count.
            Some(limit) if self.kind.is_none() && self.from.is_none() && self.since.is_some() => {
                envelopes.take(limit).collect()
            }
            Some(limit) if self.kind.is_none() && self.from.is_none() => {
                let mut newest: Vec<_> = envelopes.rev().take(limit).collect();
                newest.reverse();
                newest
            }
            _ => envelopes.collect(),
        };
        Taken { envelopes, total: state.items.envelope_count() }
    }

    fn show(&self, taken: &Taken, me: &ParticipantId) -> Vec<Message> {
        let matches = |envelope: &Envelope| {
            self.kind.as_ref().is_none_or(|kind| *kind == envelope.kind)
                && self.from.as_deref().is_none_or(|from| envelope.from.as_ref().is_some_and(|by| by.as_str() == from))
        };
        let shown = |(item, place): &(Arc<Item>, usize)| envelope::at(item, *place).filter(matches);
        let limit = self.limit.unwrap_or(usize::MAX);
        if self.since.is_some() {
            return taken.envelopes.iter().filter_map(shown).take(limit).map(|one| message(one, me)).collect();
        }
        let newest = taken.envelopes.iter().rev().filter_map(shown).take(limit);
        let mut newest: Vec<Message> = newest.map(|one| message(one, me)).collect();
        newest.reverse();
        newest
    }
}

/// The envelopes that are wanted, and how many there are in all.
pub(in crate::http) async fn messages(
    conversation: &Conversation,
    wanted: Wanted,
) -> Result<(Vec<Message>, usize), Gone> {
    let (taken, wanted) = conversation.space.look(|state| (wanted.take(state), wanted)).await?;
    Ok((wanted.show(&taken, &conversation.me), taken.total))
}

/// The state of a surface with what its conversation knows. `decide` gets a number that is another one after every change of
/// the conversation, and says beside its own answer whether the caller has this state already: then it is not shown again.
pub(in crate::http) async fn state<T: Send + 'static>(
    conversation: &Conversation,
    surface: ClientState,
    wanted: Wanted,
    decide: impl FnOnce(u64) -> (T, bool) + Send + 'static,
) -> Result<(T, Option<ClientState>), Gone> {
    let (ui, now) = (conversation.ui.facts(), SystemTime::now());
    let look = move |state: &State| {
        let mut hasher = DefaultHasher::new();
        (state.revision, ui).hash(&mut hasher);
        // The time of a thought goes on by itself.
        reasoning(state, now).elapsed_ms.hash(&mut hasher);
        let (answer, unchanged) = decide(hasher.finish());
        (answer, (!unchanged).then(|| (wanted.take(state), rest(state, &ui, now), wanted)))
    };
    let (answer, taken) = conversation.space.look(look).await?;
    let state = taken.map(|(taken, rest, wanted)| {
        let width = surface.ui.terminal_width;
        let messages = wanted.show(&taken, &conversation.me);
        let mut state = ClientState { messages, session: surface.session, terminal: surface.terminal, ..rest };
        state.ui.terminal_width = width;
        state
    });
    Ok((answer, state))
}

/// The state of a surface with all that its conversation knows.
pub(in crate::http) async fn whole_state(
    conversation: &Conversation,
    surface: ClientState,
) -> Result<ClientState, Gone> {
    let (_, state) = state(conversation, surface, Wanted::default(), |_| ((), false)).await?;
    Ok(state.unwrap_or_default())
}

pub(super) fn projected(item: &Item, me: &ParticipantId) -> Vec<Message> {
    envelope::project(item).into_iter().map(|envelope| message(envelope, me)).collect()
}

fn message(envelope: Envelope, me: &ParticipantId) -> Message {
    let at = iso(envelope.at);
    Message {
        id: envelope.id,
        kind: envelope.kind,
        sent: envelope.from.as_ref() == Some(me),
        from: envelope.from.map(|from| from.to_string()),
        to: envelope.to.as_deref().map(names),
        payload: envelope.payload,
        received_at: at.clone(),
        protocol: envelope::PROTOCOL.to_owned(),
        ts: at,
        correlation_id: envelope.correlation_id,
        context: envelope.context,
    }
}

fn names(list: &[ParticipantId]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// All but the messages.
fn rest(state: &State, ui: &UiFacts, now: SystemTime) -> ClientState {
    let statuses = statuses(state);
    let pause = state.pause();
    ClientState {
        participants: state.present().map(|(id, _)| id.to_string()).collect(),
        chat_targets: targets(&state.targets),
        ui: Ui {
            reasoning: reasoning(state, now),
            pending_operation: pending(state),
            signal_board: SignalBoard {
                expanded: ui.board_expanded,
                override_mode: ui.board_override.map(|board| board.name().to_owned()),
                ack_count: state.acknowledgements.len() as u64,
                status_count: statuses.len() as u64,
                pause_state: pause
                    .map(|(id, pause)| SignalPause { participant: id.to_string(), reason: pause.reason.clone() }),
            },
            verbose_mode: ui.verbose,
            show_streams: ui.show_streams,
            terminal_width: None,
        },
        streams: streams(state),
        acknowledgements: acknowledgements(state),
        participant_statuses: statuses,
        tool_catalog: tools(state),
        pause_state: pause.map(|(_, pause)| PauseState {
            active: true,
            requested_by: Some(pause.by.to_string()),
            expires_at: pause.until.map(iso),
            reason: pause.reason.clone(),
        }),
        sessions: Some(sessions(state)),
        ..ClientState::default()
    }
}

fn targets(targets: &Targets) -> ChatTargets {
    ChatTargets {
        effective: targets.effective().map(names),
        override_targets: targets.chosen.as_deref().map(names),
        participant_default: targets.participant.as_deref().map(names),
        global_default: targets.global.as_deref().map(names),
    }
}

fn reasoning(state: &State, now: SystemTime) -> Reasoning {
    let Some(item) = state.reasoning() else { return Reasoning::default() };
    let Body::Thought { text, tokens, .. } = &item.body else { return Reasoning::default() };
    let elapsed = now.duration_since(item.at).unwrap_or_default();
    let skipped = text.chars().count().saturating_sub(LONGEST_PREVIEW);
    let preview: String = text.chars().skip(skipped).collect();
    Reasoning {
        active: true,
        participant: Some(item.from.to_string()),
        elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        tokens: *tokens,
        preview: Some(preview).filter(|preview| !preview.is_empty()),
    }
}

fn pending(state: &State) -> Option<PendingOperation> {
    let item = state.questions().next()?;
    let kind = item.open_question().map_or("question", |question| kind_name(question.kind));
    Some(PendingOperation {
        id: item.id.to_string(),
        kind: kind.to_owned(),
        requested_by: item.from.to_string(),
        created_at: iso(item.at),
    })
}

pub(super) fn kind_name(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Permission => "permission",
        QuestionKind::Choice => "choice",
        QuestionKind::Text => "text",
        QuestionKind::Secret => "secret",
    }
}

fn streams(state: &State) -> Streams {
    let active = state.streams.iter().map(|stream| ActiveStream {
        stream_id: stream.id.to_string(),
        opened_by: stream.by.to_string(),
        opened_at: iso(stream.at),
        last_activity_at: iso(stream.last),
    });
    let frames = state.frames.iter().map(|frame| StreamFrame {
        stream_id: frame.stream.to_string(),
        payload: frame.payload.clone(),
        timestamp: iso(frame.at),
    });
    Streams { active: active.collect(), recent_frames: frames.collect() }
}

fn acknowledgements(state: &State) -> Acknowledgements {
    let pending = state.acknowledgements.iter().map(|one| Acknowledgement {
        id: one.item.to_string(),
        from: one.from.to_string(),
        to: one.to.to_string(),
        requested_at: iso(one.at),
        status: "pending".to_owned(),
    });
    let mine = state.acknowledgements.iter().filter(|one| one.to == state.me).map(|one| one.item.to_string());
    Acknowledgements { pending: pending.collect(), my_pending: mine.collect() }
}

/// The status of each participant: that of its session, if it has one, with the summary that it gave last; otherwise what it
/// said of itself.
fn statuses(state: &State) -> BTreeMap<String, ParticipantStatus> {
    let status = |one: &Participant| {
        let said = one.said.as_ref().map(|(status, summary, at)| (status.as_str(), summary.clone(), *at));
        let live = one.session.as_ref().map(|session| (session.activity.name(), session.since));
        let (status, since) = live.or(said.as_ref().map(|(status, _, at)| (*status, *at)))?;
        let updated = said.as_ref().map_or(since, |(_, _, at)| since.max(*at));
        let summary = said.and_then(|(_, summary, _)| summary);
        Some(ParticipantStatus { status: status.to_owned(), summary, last_updated: Some(iso(updated)) })
    };
    state.present().filter_map(|(id, one)| Some((id.to_string(), status(one)?))).collect()
}

fn tools(state: &State) -> BTreeMap<String, Vec<Tool>> {
    let list = |one: &Participant| -> Vec<Tool> {
        let tool = |tool: &wh_core::space::harness::Tool| Tool {
            name: tool.name.clone(),
            display_name: tool.title.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
        };
        one.tools.iter().map(tool).collect()
    };
    state.present().filter(|(_, one)| !one.tools.is_empty()).map(|(id, one)| (id.to_string(), list(one))).collect()
}

fn sessions(state: &State) -> BTreeMap<String, AgentSession> {
    let session = |id: &ParticipantId, one: &Participant| {
        let mut body = session_body(one.session.as_ref()?);
        if let (Some(question), None) = (&body.question, &body.turn) {
            let item = state.items.get(&question.as_str().into());
            body.turn = item.and_then(|item| item.turn.as_ref()).map(ToString::to_string);
        }
        let (model, mode) = (one.capabilities.model.clone(), one.capabilities.mode.clone());
        let last_turn = state.last_turn(id).and_then(|(id, turn)| {
            let ((outcome, _), tally) = turn.end.as_ref().zip(turn.tally.as_ref())?;
            Some(Box::new(turn_body(id, outcome, tally)))
        });
        Some(AgentSession { model, mode, usage: one.usage.map(usage).map(Box::new), last_turn, ..body })
    };
    state.participants.iter().filter_map(|(id, one)| Some((id.to_string(), session(id, one)?))).collect()
}

/// How a session fares, as far as its status alone says.
pub(super) fn session_body(status: &Status) -> AgentSession {
    let (turn, question, reason) = match &status.activity {
        Activity::Working(turn) => (Some(turn.to_string()), None, None),
        Activity::Waiting(question) => (None, Some(question.to_string()), None),
        Activity::Gone(reason) => (None, None, reason.clone()),
        _ => (None, None, None),
    };
    AgentSession {
        status: status.activity.name().to_owned(),
        evidence: status.evidence.name().to_owned(),
        since: iso(status.since),
        turn,
        question,
        reason,
        model: None,
        mode: None,
        usage: None,
        last_turn: None,
    }
}

fn usage(usage: Usage) -> AgentUsage {
    AgentUsage {
        context_tokens: usage.context_tokens,
        context_limit: usage.context_limit,
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cost: usage.cost,
    }
}
