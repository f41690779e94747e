//! State and messages: `GET /control/state` and `GET /control/messages`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;
use std::time::SystemTime;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use wh_core::session::ProgramStatus;
use wh_core::space::query::EnvelopeFilter;
use wh_wire::control::{ClientState, MessagesBody};

use super::ApiState;
use super::fault::Fault;
use super::query::QueryParams;
use super::route::{Route, RouteMethod};
use super::screen::{matches_etag, not_modified};
use crate::bodies::{self, client_state};

/// Default number of messages in a response.
const DEFAULT_MESSAGE_LIMIT: usize = 100;

/// Start time of this process, part of every ETag. ETags of an earlier process on the same port therefore never match.
static PROCESS: LazyLock<SystemTime> = LazyLock::new(SystemTime::now);

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![
        Route::new(
            RouteMethod::Get,
            "/control/state",
            state,
            "state",
            "Get the state of the process, the terminal and the conversation.",
            |it| {
                it.query(
                    "limit",
                    json!({"type": "integer", "minimum": 0}),
                    "Maximum number of messages. Without `since`, the newest messages are returned; with `since`, the oldest messages after that time. Default: all.",
                )
                .query(
                    "since",
                    json!({"type": "string", "format": "date-time"}),
                    "Only messages added after this time.",
                )
                .returns::<ClientState>(200, "The state. Its ETag changes when the state changes.")
                .returns_empty(304, "The state has not changed: If-None-Match contains its ETag.")
                .fails(400, "The query is invalid.")
                .gone()
            },
        ),
        Route::new(
            RouteMethod::Get,
            "/control/messages",
            messages,
            "messages",
            "List messages of the conversation.",
            |it| {
                it.query(
                    "limit",
                    json!({"type": "integer", "minimum": 0}),
                    "Maximum number of messages. Without `since`, the newest messages are returned; with `since`, the oldest messages after that time. Default: 100.",
                )
                .query("kind", json!({"type": "string"}), "Only messages of this kind.")
                .query("from", json!({"type": "string"}), "Only messages from this sender.")
                .query(
                    "since",
                    json!({"type": "string", "format": "date-time"}),
                    "Only messages added after this time.",
                )
                .returns::<MessagesBody>(200, "The messages.")
                .fails(400, "The query is invalid.")
                .gone()
            },
        ),
    ]
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateQuery {
    limit: Option<usize>,
    since: Option<String>,
}

async fn state(
    State(api): State<ApiState>,
    headers: HeaderMap,
    QueryParams(query): QueryParams<StateQuery>,
) -> Result<Response, Fault> {
    let wanted =
        EnvelopeFilter { limit: query.limit, since: since(query.since.as_deref())?, ..EnvelopeFilter::default() };
    let facts = api.surface.facts().await?;
    let surface = client_state(&facts);
    if matches!(facts.status, ProgramStatus::Exited(_)) {
        api.usage.end_was_read();
    }
    let mut seed = DefaultHasher::new();
    (*PROCESS, &wanted).hash(&mut seed);
    serde_json::to_string(&surface).unwrap_or_default().hash(&mut seed);
    let Some(conversation) = &api.conversation else {
        let tag = tag(&seed)?;
        let unchanged = matches_etag(&headers, &tag);
        return Ok(if unchanged { not_modified(&tag) } else { answer(tag, &surface) });
    };
    let tag_of = |number: u64| {
        let mut hasher = seed.clone();
        number.hash(&mut hasher);
        tag(&hasher)
    };
    // Skips building the state if the state has not changed.
    if headers.contains_key(header::IF_NONE_MATCH) {
        let tag = tag_of(bodies::state_fingerprint(conversation).await?)?;
        if matches_etag(&headers, &tag) {
            return Ok(not_modified(&tag));
        }
    }
    let (state, number) = bodies::state(conversation, surface, wanted).await?;
    Ok(answer(tag_of(number)?, &state))
}

fn answer(tag: HeaderValue, state: &ClientState) -> Response {
    let headers = [(header::ETAG, tag), (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    (headers, Json(state)).into_response()
}

fn tag(seed: &DefaultHasher) -> Result<HeaderValue, Fault> {
    let text = format!("\"{:016x}\"", seed.finish());
    HeaderValue::from_str(&text).map_err(|error| Fault::Undrawable(error.to_string()))
}

fn since(text: Option<&str>) -> Result<Option<SystemTime>, Fault> {
    let time = text.map(|text| text.parse::<Timestamp>()).transpose();
    let time = time.map_err(|_| Fault::Invalid("since must be a time like 2025-01-06T10:00:00Z".to_owned()))?;
    Ok(time.map(SystemTime::from))
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessagesQuery {
    limit: Option<usize>,
    kind: Option<String>,
    from: Option<String>,
    since: Option<String>,
}

async fn messages(
    State(api): State<ApiState>,
    QueryParams(query): QueryParams<MessagesQuery>,
) -> Result<Json<MessagesBody>, Fault> {
    let wanted = EnvelopeFilter {
        limit: Some(query.limit.unwrap_or(DEFAULT_MESSAGE_LIMIT)),
        since: since(query.since.as_deref())?,
        kind: query.kind,
        from: query.from,
    };
    let (messages, total) = match &api.conversation {
        Some(conversation) => bodies::messages(conversation, wanted).await?,
        None => (Vec::new(), 0),
    };
    Ok(Json(MessagesBody { filtered: messages.len(), messages, total }))
}
