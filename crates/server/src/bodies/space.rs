//! Builds response bodies of a space's state and messages.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::SystemTime;

use wh_client::{Conversation, SessionGone, UiFacts};
use wh_core::space::ParticipantId;
use wh_core::space::envelope::{self, Envelope};
use wh_core::space::event::{Activity, AgentStatus};
use wh_core::space::harness::Usage;
use wh_core::space::item::{Item, ItemBody};
use wh_core::space::query::{EnvelopeFilter, Envelopes, Revision};
use wh_core::space::state::{Participant, SpaceState, TargetsByScope};
use wh_core::time::iso;
use wh_wire::control::{
    Acknowledgement, Acknowledgements, ActiveStream, AgentSession, AgentUsage, ChatTargets, ClientState, Message,
    ParticipantStatus, PauseState, PendingOperation, Reasoning, SignalBoard, SignalPause, StreamFrame, Streams, Tool,
    Ui,
};

use super::event::turn_body;
use super::question::kind_name;

/// Maximum length of the reasoning preview in the state, in characters. The preview is the end of the text.
const MAX_PREVIEW_CHARS: usize = 400;

/// Returns a fingerprint of the state of a conversation and its UI. The fingerprint includes the elapsed reasoning
/// time, so it changes continuously while an agent is reasoning.
fn fingerprint(revision: &Revision, ui: &UiFacts, now: SystemTime) -> u64 {
    let reasoned = revision.reasoning_since.map(|since| now.duration_since(since).unwrap_or_default().as_millis());
    let mut hasher = DefaultHasher::new();
    (revision.number, ui, reasoned).hash(&mut hasher);
    hasher.finish()
}

/// Returns the same fingerprint as [`state`], unless the state changes between the two calls.
pub(crate) async fn state_fingerprint(conversation: &Conversation) -> Result<u64, SessionGone> {
    let revision = conversation.space.revision().await?;
    Ok(fingerprint(&revision, &conversation.ui.facts(), SystemTime::now()))
}

/// Adds the state of the conversation to the state of its surface. Also returns the fingerprint of the conversation.
pub(crate) async fn state(
    conversation: &Conversation,
    surface: ClientState,
    filter: EnvelopeFilter,
) -> Result<(ClientState, u64), SessionGone> {
    let (state, envelopes) = conversation.space.outline(filter.clone()).await?;
    let (ui, now) = (conversation.ui.facts(), SystemTime::now());
    let number = fingerprint(&state.revision(), &ui, now);
    let messages = shown(&filter, &envelopes, &conversation.me);
    let width = surface.ui.terminal_width;
    let rest = rest(&state, &ui, now);
    let mut state = ClientState { messages, session: surface.session, terminal: surface.terminal, ..rest };
    state.ui.terminal_width = width;
    Ok((state, number))
}

/// Returns the messages that pass the filter, and the total number of messages in the space.
pub(crate) async fn messages(
    conversation: &Conversation,
    filter: EnvelopeFilter,
) -> Result<(Vec<Message>, usize), SessionGone> {
    let envelopes = conversation.space.envelopes(filter.clone()).await?;
    Ok((shown(&filter, &envelopes, &conversation.me), envelopes.total))
}

/// Applies the filter to the listed envelopes.
fn shown(filter: &EnvelopeFilter, envelopes: &Envelopes, me: &ParticipantId) -> Vec<Message> {
    let matches = |envelope: &Envelope| {
        filter.kind.as_ref().is_none_or(|kind| *kind == envelope.kind)
            && filter.from.as_deref().is_none_or(|from| envelope.from.as_ref().is_some_and(|by| by.as_str() == from))
    };
    let shown = |(item, place): &(Arc<Item>, usize)| envelope::at(item, *place).filter(matches);
    let limit = filter.limit.unwrap_or(usize::MAX);
    if filter.since.is_some() {
        return envelopes.listed.iter().filter_map(shown).take(limit).map(|one| message(one, me)).collect();
    }
    let newest = envelopes.listed.iter().rev().filter_map(shown).take(limit);
    let mut newest: Vec<Message> = newest.map(|one| message(one, me)).collect();
    newest.reverse();
    newest
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

/// Builds the state of the conversation without its messages.
fn rest(state: &SpaceState, ui: &UiFacts, now: SystemTime) -> ClientState {
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

fn targets(targets: &TargetsByScope) -> ChatTargets {
    ChatTargets {
        effective: targets.effective().map(names),
        override_targets: targets.chosen.as_deref().map(names),
        participant_default: targets.participant.as_deref().map(names),
        global_default: targets.global.as_deref().map(names),
    }
}

fn reasoning(state: &SpaceState, now: SystemTime) -> Reasoning {
    let Some(item) = state.reasoning() else { return Reasoning::default() };
    let ItemBody::Thought { text, tokens, .. } = &item.body else { return Reasoning::default() };
    let elapsed = now.duration_since(item.at).unwrap_or_default();
    let skipped = text.chars().count().saturating_sub(MAX_PREVIEW_CHARS);
    let preview: String = text.chars().skip(skipped).collect();
    Reasoning {
        active: true,
        participant: Some(item.from.to_string()),
        elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        tokens: *tokens,
        preview: Some(preview).filter(|preview| !preview.is_empty()),
    }
}

fn pending(state: &SpaceState) -> Option<PendingOperation> {
    let item = state.questions().next()?;
    let kind = item.open_question().map_or("question", |question| kind_name(question.kind));
    Some(PendingOperation {
        id: item.id.to_string(),
        kind: kind.to_owned(),
        requested_by: item.from.to_string(),
        created_at: iso(item.at),
    })
}

fn streams(state: &SpaceState) -> Streams {
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

fn acknowledgements(state: &SpaceState) -> Acknowledgements {
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

/// Returns the status of each participant, with the summary that the participant reported last. The status of the
/// agent's session takes precedence over a status that the participant reported.
fn statuses(state: &SpaceState) -> BTreeMap<String, ParticipantStatus> {
    let status = |one: &Participant| {
        let said = one.reported_status.as_ref().map(|(status, summary, at)| (status.as_str(), summary.clone(), *at));
        let live = one.session.as_ref().map(|session| (session.activity.name(), session.since));
        let (status, since) = live.or(said.as_ref().map(|(status, _, at)| (*status, *at)))?;
        let updated = said.as_ref().map_or(since, |(_, _, at)| since.max(*at));
        let summary = said.and_then(|(_, summary, _)| summary);
        Some(ParticipantStatus { status: status.to_owned(), summary, last_updated: Some(iso(updated)) })
    };
    state.present().filter_map(|(id, one)| Some((id.to_string(), status(one)?))).collect()
}

fn tools(state: &SpaceState) -> BTreeMap<String, Vec<Tool>> {
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

fn sessions(state: &SpaceState) -> BTreeMap<String, AgentSession> {
    let session = |id: &ParticipantId, one: &Participant| {
        let mut body = session_body(one.session.as_ref()?);
        if let (Some(question), None) = (&body.question, &body.turn) {
            let item = state.items.get(&question.as_str().into());
            body.turn = item.and_then(|item| item.turn.as_ref()).map(ToString::to_string);
        }
        let (model, mode) = (one.capabilities.model.clone(), one.capabilities.mode.clone());
        let last_turn = state.last_turn(id).and_then(|(id, turn)| {
            let ((outcome, _), tally) = turn.end.as_ref().zip(turn.stats.as_ref())?;
            Some(Box::new(turn_body(id, outcome, tally)))
        });
        Some(AgentSession { model, mode, usage: one.usage.map(usage).map(Box::new), last_turn, ..body })
    };
    state.participants.iter().filter_map(|(id, one)| Some((id.to_string(), session(id, one)?))).collect()
}

/// Converts the status of an agent session. The caller adds model, mode and usage.
pub(super) fn session_body(status: &AgentStatus) -> AgentSession {
    let (turn, question, reason) = match &status.activity {
        Activity::Working(turn) => (Some(turn.to_string()), None, None),
        Activity::Waiting(question) => (None, Some(question.to_string()), None),
        Activity::Gone(reason) => (None, None, reason.clone()),
        _ => (None, None, None),
    };
    AgentSession {
        status: status.activity.name().to_owned(),
        evidence: status.evidence.name().to_owned(),
        observation: status.observation.clone(),
        waits_for: status.waits_for.clone(),
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
