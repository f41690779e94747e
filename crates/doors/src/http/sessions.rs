//! `/sessions`: the door of a daemon. What lies behind `/sessions/{session}/` is the door onto that session, the same as the one
//! that a single run has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{self, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde::Deserialize;
use serde_json::{Value, json};
use wh_client::{Controller, CreateError, Created, Daemon, EndOutcome, Left, Session};
use wh_wire::control::{LastScreenBody, NewSessionRequest, RenameRequest, SessionSummary, SessionsBody};

use super::access::{Access, guarded};
use super::body;
use super::fault::Fault;
use super::input::request_id;
use super::peer::Peer;
use super::query::Params;
use super::route::{self, Method, Route};
use super::space::RECEIPT_PATH;
use crate::Closing;
use crate::admission::Admission;
use crate::bodies::{receipt_body, summary};
use crate::{new_session, receipts};

/// The path of one session; below it is the door onto that session.
pub(super) const BELOW: &str = "/sessions/{session}";

/// What every handler knows.
#[derive(Clone)]
pub(super) struct DaemonDoor {
    daemon: Arc<dyn Daemon>,
    controller: Arc<dyn Controller>,
    access: Arc<Access>,
    pub(super) started: Instant,
    closing: Closing,
    /// The doors onto single sessions, made when first asked for.
    inner: Arc<Mutex<HashMap<String, Router>>>,
}

/// The control plane of a daemon.
pub fn daemon_router(
    daemon: Arc<dyn Daemon>,
    controller: Arc<dyn Controller>,
    access: Access,
    closing: Closing,
) -> Router {
    let (access, started, inner) = (Arc::new(access), Instant::now(), Arc::default());
    let door = DaemonDoor { daemon, controller, access, started, closing, inner };
    route::daemon_router()
        .route(&format!("{BELOW}/{{*rest}}"), any(within))
        .layer(middleware::from_fn_with_state(door.clone(), check))
        .with_state(door)
}

pub(super) fn routes() -> Vec<Route<DaemonDoor>> {
    vec![
        Route::new(Method::Get, "/sessions", list, "sessions", "Every session, those that have ended too.", |it| {
            it.gives::<SessionsBody>(200, "The sessions, oldest first.")
        }),
        // Whom it admits depends on what is to be created.
        Route::new(
            Method::Post,
            "/sessions",
            create,
            "create_session",
            "Start an agent, or a program in a terminal.",
            |it| {
                it.takes::<NewSessionRequest>()
                    .gives::<SessionSummary>(201, "It was started.")
                    .fails(408, "The body did not arrive in time.")
                    .fails(409, "The name is taken, or it could not be started; the detail says what to do.")
                    .fails(503, "There are enough sessions, or the daemon is stopping.")
            },
        ),
        Route::new(Method::Get, BELOW, one, "session", "One session.", |it| {
            it.path_parameter("session", id())
                .gives::<SessionSummary>(200, "How it stands.")
                .fails(404, "There is no such session.")
        }),
        Route::new(Method::Patch, BELOW, rename, "rename_session", "Give a session another name.", |it| {
            it.path_parameter("session", id())
                .takes::<RenameRequest>()
                .gives::<SessionSummary>(200, "It has the name.")
                .fails(404, "There is no such session.")
                .fails(408, "The body did not arrive in time.")
                .fails(409, "A session that lives has the name.")
        }),
        Route::new(Method::Delete, BELOW, end, "end_session", "End a session and all that it started.", |it| {
            it.path_parameter("session", id())
                .query("now", json!({"type": "string"}), "Kill it at once instead of asking first.")
                .query("forget", json!({"type": "string"}), "Forget it too, with its history.")
                .gives::<SessionSummary>(200, "It has ended, and nothing that it started runs.")
                .fails(404, "There is no such session.")
                .fails(500, "Some of its processes could not be ended; the message has their pids.")
        }),
        Route::new(
            Method::Get,
            "/sessions/{session}/last_screen",
            last_screen,
            "last_screen",
            "What a terminal program showed when its daemon was gone before it.",
            |it| {
                it.path_parameter("session", id())
                    .gives::<LastScreenBody>(200, "Its last screen.")
                    .fails(404, "There is no such session, or nothing of it was kept.")
            },
        ),
    ]
}

fn id() -> Value {
    json!({"type": "string", "minLength": 1, "description": "The session's id or name."})
}

async fn check(State(door): State<DaemonDoor>, request: Request, next: Next) -> Response {
    guarded(&door.access, request, next).await
}

async fn list(State(door): State<DaemonDoor>) -> Json<SessionsBody> {
    let mut sessions = Vec::new();
    for session in door.daemon.sessions() {
        sessions.push(summary(&session).await);
    }
    Json(SessionsBody { sessions, returning: door.daemon.returning() })
}

async fn create(
    State(door): State<DaemonDoor>,
    peer: Peer,
    body: Body,
) -> Result<(StatusCode, Json<SessionSummary>), Fault> {
    let wanted = new_session::read(body::json(body).await?, peer.directory()).await.map_err(Fault::Invalid)?;
    let origin = peer.origin().await;
    let Created { session, duplicate } = new_session::create(&*door.daemon, &*door.controller, origin, wanted).await?;
    let status = if duplicate { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(summary(&session).await)))
}

async fn one(State(door): State<DaemonDoor>, Path(id): Path<String>) -> Result<Json<SessionSummary>, Fault> {
    Ok(Json(summary(&*find(&door, &id)?).await))
}

async fn rename(
    State(door): State<DaemonDoor>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<SessionSummary>, Fault> {
    let RenameRequest { name } = body::json(body).await?;
    let session = find(&door, &id)?;
    door.daemon.rename(&session.id, &name)?;
    Ok(Json(summary(&session).await))
}

async fn last_screen(State(door): State<DaemonDoor>, Path(id): Path<String>) -> Result<Json<LastScreenBody>, Fault> {
    let session = find(&door, &id)?;
    let text = session.last_screen.clone().ok_or(Fault::NoSuchPath)?;
    Ok(Json(LastScreenBody { text }))
}

/// What an end may be.
#[derive(Debug, Deserialize)]
struct How {
    #[serde(default)]
    now: Option<String>,
    #[serde(default)]
    forget: Option<String>,
}

fn yes(switch: Option<&str>) -> bool {
    switch.is_some_and(|value| !matches!(value, "0" | "false" | "no"))
}

async fn end(
    State(door): State<DaemonDoor>,
    Path(id): Path<String>,
    Params(how): Params<How>,
) -> Result<Json<SessionSummary>, Fault> {
    let session = find(&door, &id)?;
    // Once it is under way it goes on, whether or not the caller still waits.
    let work = tokio::spawn(async move {
        let (name, forgets) = (session.name(), yes(how.forget.as_deref()));
        match door.daemon.end(&session.id, yes(how.now.as_deref())).await {
            EndOutcome::Left(pids) => return Err(Fault::ProcessesLeft { name, left: Left(pids).to_string() }),
            EndOutcome::NotStored(why) if !forgets => return Err(Fault::EndNotStored { name, why }),
            EndOutcome::Ended | EndOutcome::NotStored(_) | EndOutcome::NoSuchSession => {}
        }
        let last = summary(&session).await;
        if forgets {
            door.daemon.forget(&session.id).await;
            door.inner.lock().unwrap_or_else(PoisonError::into_inner).remove(&session.id);
        }
        Ok(last)
    });
    let failed = |error: tokio::task::JoinError| CreateError::Failed { message: error.to_string(), hint: None };
    Ok(Json(work.await.map_err(failed)??))
}

fn find(door: &DaemonDoor, id: &str) -> Result<Arc<Session>, Fault> {
    // Asked first: one that comes back in between is then there.
    let returning = door.daemon.is_returning(id);
    let missing = || match returning {
        true => CreateError::Returning(id.to_owned()),
        false => CreateError::NoSuchSession(id.to_owned()),
    };
    Ok(door.daemon.session(id).ok_or_else(missing)?)
}

/// Passes a request on to the door of its session.
async fn within(
    State(door): State<DaemonDoor>,
    Path((id, rest)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Fault> {
    let session = find(&door, &id)?;
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    // Taken from the path as it was sent, so that nothing is decoded twice.
    let sent = request.uri().path().splitn(4, '/').nth(3).unwrap_or(&rest);
    let target: Uri = format!("/{sent}{query}").parse().map_err(|_| Fault::NoSuchPath)?;
    // What was typed into a program that was lost is known to the store alone.
    let receipts_path = RECEIPT_PATH.trim_start_matches('/').trim_end_matches("{request_id}");
    let receipt = rest.strip_prefix(receipts_path).filter(|_| request.method() == http::Method::GET);
    if let (None, Some(id)) = (&session.surface, receipt) {
        let id = request_id(Some(id))?.ok_or(Fault::NoSuchReceipt)?;
        let receipt = receipts::of_session(&*door.daemon, &session, id).await.ok_or(Fault::NoSuchReceipt)?;
        return Ok(Json(receipt_body(&receipt)).into_response());
    }
    let router = router_of(&door, &session)?;
    match TowerToHyperService::new(router).call(readdressed(request, target)).await {
        Ok(response) => Ok(response.into_response()),
        Err(never) => match never {},
    }
}

/// The same request to another address. What this router has found in the path must not meet the next one; what a WebSocket is made
/// of, and who the caller is, must.
fn readdressed(request: Request, target: Uri) -> Request {
    let (mut parts, body) = request.into_parts();
    let upgrade = parts.extensions.remove::<hyper::upgrade::OnUpgrade>();
    let peer = parts.extensions.remove::<Peer>();
    parts.extensions.clear();
    if let Some(peer) = peer {
        parts.extensions.insert(peer);
    }
    if let Some(upgrade) = upgrade {
        parts.extensions.insert(upgrade);
    }
    parts.uri = target;
    Request::from_parts(parts, body)
}

fn router_of(door: &DaemonDoor, session: &Arc<Session>) -> Result<Router, Fault> {
    let mut inner = door.inner.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(router) = inner.get(&session.id) {
        return Ok(router.clone());
    }
    let Some(surface) = session.surface.clone() else { return Err(Fault::Lost) };
    // Who comes so far was let in by the daemon's door.
    let access = Access { token: None, any_host: true };
    let admission = Admission::Session {
        daemon: Arc::clone(&door.daemon),
        controller: Arc::clone(&door.controller),
        session: Arc::clone(session),
    };
    let usage = super::Usage::default();
    let router =
        super::session_router(surface, session.conversation.clone(), access, door.closing.clone(), admission, usage);
    // A door keeps its session's screen and conversation: those of sessions that nobody lists any more go.
    inner.retain(|id, _| door.daemon.session_by_id(id).is_some());
    inner.insert(session.id.clone(), router.clone());
    Ok(router)
}
