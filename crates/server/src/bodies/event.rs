//! Builds the bodies of events of a session and its space.

use std::sync::Arc;

use wh_client::Conversation;
use wh_core::event::{Event, TerminalNotice};
use wh_core::space::event::{SpaceEvent, TurnStats};
use wh_core::space::harness::TurnOutcome;
use wh_core::space::item::{Item, ItemProgress};
use wh_core::space::{ParticipantId, TurnId};
use wh_wire::control::{EventBody, TurnBody};

use super::receipt::receipt_body;
use super::space::{projected, session_body};

/// Converts an event to a response body. Messages from the participant `me` of `conversation` are marked as sent.
pub(crate) fn event_body(event: &Event, conversation: Option<&Conversation>) -> EventBody {
    match event {
        Event::Space(event) => {
            let nobody = ParticipantId::from("");
            space_event_body(&event.event, conversation.map_or(&nobody, |conversation| &conversation.me))
        }
        Event::SpaceMissed => EventBody::Changed { part: "messages".to_owned() },
        Event::Started { command, pid } => EventBody::Started { command: command.clone(), pid: *pid },
        Event::Typed { bytes } => EventBody::Typed { bytes: *bytes },
        Event::Resized(size) => EventBody::Resized { width: size.columns, height: size.rows },
        Event::Marked(label) => EventBody::Marked { label: label.clone() },
        Event::Attached(true) => EventBody::Attached,
        Event::Attached(false) => EventBody::Detached,
        Event::Stopped(true) => EventBody::Stopped,
        Event::Stopped(false) => EventBody::Continued,
        Event::Exited(exit) => EventBody::Exited { code: exit.code(), signal: exit.signal() },
        Event::Noticed(notice) => match notice.clone() {
            TerminalNotice::Title(title) => EventBody::Title { title },
            TerminalNotice::Bell(count) => EventBody::Bell { count },
            TerminalNotice::Directory(directory) => EventBody::Directory { directory },
            TerminalNotice::Notification(text) => EventBody::Notification { text },
            TerminalNotice::Progress(progress) => EventBody::Progress { progress },
            TerminalNotice::ShellMark(mark) => EventBody::ShellMark { mark },
        },
    }
}

/// Converts a space event. Messages from participant `me` are marked as sent.
fn space_event_body(event: &SpaceEvent, me: &ParticipantId) -> EventBody {
    let changed = |part: &str| EventBody::Changed { part: part.to_owned() };
    match event {
        SpaceEvent::Item(item) => item_body(item, me),
        SpaceEvent::TurnStarted { turn, by, prompt } => {
            EventBody::TurnStarted { turn: turn.to_string(), participant: by.to_string(), message: prompt.to_string() }
        }
        SpaceEvent::TurnEnded(turn, outcome, tally) => EventBody::TurnEnded(turn_body(turn, outcome, tally)),
        SpaceEvent::Session(id, status) => {
            EventBody::Session { participant: id.to_string(), session: Box::new(session_body(status)) }
        }
        SpaceEvent::Receipt(receipt) => EventBody::Receipt(receipt_body(receipt)),
        SpaceEvent::Joined(..) | SpaceEvent::Left(_) => changed("participants"),
        SpaceEvent::Capabilities(..) | SpaceEvent::Usage(..) => changed("sessions"),
        SpaceEvent::Tools(..) => changed("toolCatalog"),
        SpaceEvent::StatusReported { .. } => changed("participantStatuses"),
        SpaceEvent::AcknowledgementWanted(_)
        | SpaceEvent::Acknowledged { .. }
        | SpaceEvent::AcknowledgementDropped(_) => changed("acknowledgements"),
        SpaceEvent::StreamOpened(..) | SpaceEvent::StreamClosed(_) => changed("streams"),
        SpaceEvent::Paused(..) => changed("pauseState"),
        SpaceEvent::Targets(..) => changed("chatTargets"),
    }
}

/// Builds the body for the end of a turn.
pub(super) fn turn_body(turn: &TurnId, outcome: &TurnOutcome, tally: &TurnStats) -> TurnBody {
    let (outcome, reason) = match outcome {
        TurnOutcome::Completed => ("completed", None),
        TurnOutcome::Cancelled => ("cancelled", None),
        TurnOutcome::Failed(reason) => ("failed", Some(reason.clone())),
    };
    TurnBody {
        turn: turn.to_string(),
        outcome: outcome.to_owned(),
        reason,
        duration_ms: u64::try_from(tally.duration.as_millis()).unwrap_or(u64::MAX),
        tool_calls: tally.tool_calls,
        model: tally.model.clone(),
    }
}

fn item_body(item: &Arc<Item>, me: &ParticipantId) -> EventBody {
    let progress = match item.progress {
        ItemProgress::Growing => "growing",
        ItemProgress::Done => "done",
        ItemProgress::Queued => "queued",
        ItemProgress::Cut => "cut",
        ItemProgress::Retracted => "retracted",
    };
    EventBody::Item {
        item: item.id.to_string(),
        turn: item.turn.as_ref().map(ToString::to_string),
        progress: progress.to_owned(),
        messages: projected(item, me),
    }
}
