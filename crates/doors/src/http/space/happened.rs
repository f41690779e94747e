//! What happens in a space, as those who watch are told.

use std::sync::Arc;

use wh_core::space::event::{Event, Tally};
use wh_core::space::harness::Outcome;
use wh_core::space::item::{Item, Progress};
use wh_core::space::{ParticipantId, TurnId};
use wh_wire::control::{EventBody, TurnBody};

use super::commands::receipt_body;
use super::state::{projected, session_body};

/// An event as it is sent to somebody who takes part as `me`.
pub(in crate::http) fn event_body(event: &Event, me: &ParticipantId) -> EventBody {
    let changed = |part: &str| EventBody::Changed { part: part.to_owned() };
    match event {
        Event::Item(item) => item_body(item, me),
        Event::TurnStarted { turn, by, prompt } => {
            EventBody::TurnStarted { turn: turn.to_string(), participant: by.to_string(), message: prompt.to_string() }
        }
        Event::TurnEnded(turn, outcome, tally) => EventBody::TurnEnded(turn_body(turn, outcome, tally)),
        Event::Session(id, status) => EventBody::Session { participant: id.to_string(), session: session_body(status) },
        Event::Receipt(receipt) => EventBody::Receipt(receipt_body(receipt)),
        Event::Joined(..) | Event::Left(_) => changed("participants"),
        Event::Capabilities(..) | Event::Usage(..) => changed("sessions"),
        Event::Tools(..) => changed("toolCatalog"),
        Event::Said { .. } => changed("participantStatuses"),
        Event::AcknowledgementWanted(_) | Event::Acknowledged { .. } | Event::AcknowledgementDropped(_) => {
            changed("acknowledgements")
        }
        Event::StreamOpened(..) | Event::StreamClosed(_) => changed("streams"),
        Event::Paused(..) => changed("pauseState"),
        Event::Targets(..) => changed("chatTargets"),
    }
}

/// How a turn ended.
pub(super) fn turn_body(turn: &TurnId, outcome: &Outcome, tally: &Tally) -> TurnBody {
    let (outcome, reason) = match outcome {
        Outcome::Completed => ("completed", None),
        Outcome::Cancelled => ("cancelled", None),
        Outcome::Failed(reason) => ("failed", Some(reason.clone())),
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
        Progress::Growing => "growing",
        Progress::Done => "done",
        Progress::Queued => "queued",
        Progress::Cut => "cut",
        Progress::Retracted => "retracted",
    };
    EventBody::Item {
        item: item.id.to_string(),
        turn: item.turn.as_ref().map(ToString::to_string),
        progress: progress.to_owned(),
        messages: projected(item, me),
    }
}
