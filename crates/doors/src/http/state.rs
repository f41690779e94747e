//! `GET /control/state` and `GET /control/messages`.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use jiff::Timestamp;
use serde::Deserialize;
use wh_client::Facts;
use wh_core::session::Status;
use wh_wire::control::{ClientState, ExitBody, Message, MessagesBody, SessionFacts, TerminalFacts, Ui};

use super::Door;
use super::fault::Fault;
use crate::time::iso;

/// Messages returned unless the caller wants another number.
const USUAL_MESSAGES: usize = 100;

pub(super) async fn state(State(door): State<Door>) -> Result<Json<ClientState>, Fault> {
    let facts = door.surface.facts().await?;
    let mut state = client_state(&facts);
    if let Some(conversation) = &door.conversation {
        super::space::fill(conversation, &mut state).await?;
    }
    if matches!(facts.status, Status::Exited(_)) {
        door.usage.end_was_read();
    }
    Ok(Json(state))
}

/// What is known of a surface alone: its process and its terminal.
pub(super) fn client_state(facts: &Facts) -> ClientState {
    let (status, exit) = match facts.status {
        Status::Running => ("running", None),
        Status::Stopped => ("stopped", None),
        Status::Exited(exit) => ("exited", Some(ExitBody { code: exit.code(), signal: exit.signal() })),
    };
    ClientState {
        ui: Ui { terminal_width: Some(facts.size.columns), ..Ui::default() },
        session: Some(SessionFacts {
            id: facts.id.clone(),
            command: facts.command.clone(),
            status: status.to_owned(),
            evidence: "process".to_owned(),
            since: iso(facts.since),
            pid: facts.pid,
            exit,
            open_waits: facts.open_waits,
            queued_input: facts.queued_input,
        }),
        terminal: Some(TerminalFacts {
            width: facts.size.columns,
            height: facts.size.rows,
            attached: facts.attached,
            title: facts.title.clone(),
            alternate_screen: facts.alternate_screen,
            directory: facts.reports.directory.clone(),
            notification: facts.reports.notification.clone(),
            progress: facts.reports.progress.clone(),
            shell_mark: facts.reports.shell_mark.clone(),
            bells: facts.reports.bells,
            output_bytes: facts.output_bytes,
            frames_rendered: facts.frames_rendered,
        }),
        ..ClientState::default()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessagesQuery {
    limit: Option<usize>,
    kind: Option<String>,
    from: Option<String>,
    since: Option<String>,
}

pub(super) async fn messages(
    State(door): State<Door>,
    query: Result<Query<MessagesQuery>, QueryRejection>,
) -> Result<Json<MessagesBody>, Fault> {
    let Query(query) = query.map_err(|error| Fault::Invalid(error.body_text()))?;
    let since = query.since.as_deref().map(|text| text.parse::<Timestamp>()).transpose();
    let since = since.map_err(|_| Fault::Invalid("since must be a time like 2025-01-06T10:00:00Z".to_owned()))?;
    let all = match &door.conversation {
        Some(conversation) => super::space::messages(conversation).await?,
        None => Vec::new(),
    };
    Ok(Json(select(all, &query, since)))
}

fn select(all: Vec<Message>, query: &MessagesQuery, since: Option<Timestamp>) -> MessagesBody {
    let total = all.len();
    let wanted = |message: &Message| {
        query.kind.as_ref().is_none_or(|kind| *kind == message.kind)
            && query.from.as_ref().is_none_or(|from| Some(from) == message.from.as_ref())
            && since.is_none_or(|since| message.received_at.parse::<Timestamp>().is_ok_and(|at| at >= since))
    };
    let mut messages: Vec<Message> = all.into_iter().filter(wanted).collect();
    let surplus = messages.len().saturating_sub(query.limit.unwrap_or(USUAL_MESSAGES));
    messages.drain(..surplus);
    MessagesBody { filtered: messages.len(), messages, total }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(number: usize, kind: &str, from: &str) -> Message {
        Message {
            id: format!("m{number}"),
            kind: kind.to_owned(),
            from: Some(from.to_owned()),
            to: None,
            payload: json!({}),
            sent: false,
            received_at: format!("2025-01-06T10:00:0{number}.000Z"),
        }
    }

    #[test]
    fn messages_are_filtered_and_the_newest_are_kept() {
        let all = || {
            vec![
                message(1, "chat", "human"),
                message(2, "chat", "agent"),
                message(3, "mcp/request", "agent"),
                message(4, "chat", "agent"),
            ]
        };
        let ids = |body: &MessagesBody| body.messages.iter().map(|message| message.id.clone()).collect::<Vec<_>>();
        let query = MessagesQuery { kind: Some("chat".into()), from: Some("agent".into()), ..Default::default() };
        let body = select(all(), &query, None);
        assert_eq!((ids(&body), body.total, body.filtered), (vec!["m2".into(), "m4".into()], 4, 2));
        let query = MessagesQuery { limit: Some(1), ..Default::default() };
        assert_eq!(ids(&select(all(), &query, None)), ["m4"]);
        let since = Some("2025-01-06T10:00:03Z".parse().unwrap());
        assert_eq!(ids(&select(all(), &MessagesQuery::default(), since)), ["m3", "m4"]);
    }
}
