//! `/sessions` of a daemon. Below `/sessions/{session}/` each session has the same API as a single run.

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
use wh_client::{ControlHandler, CreateError, CreateOutcome, EndOutcome, SessionHandle, SessionManager, Survivors};
use wh_wire::control::{LastScreenBody, NewSessionRequest, RenameRequest, SessionSummary, SessionsBody};

use super::access::{AccessRules, guarded};
use super::body;
use super::fault::Fault;
use super::input::request_id;
use super::peer::Peer;
use super::query::QueryParams;
use super::route::{self, Route, RouteMethod};
use super::space::RECEIPT_PATH;
use crate::ShutdownWatch;
use crate::admission::Admission;
use crate::bodies::{receipt_body, summary};
use crate::{new_session, receipts};

/// Path of one session. All paths of the session's API begin with this path.
pub(super) const SESSION_PATH: &str = "/sessions/{session}";

/// State of the handlers for a daemon's own routes.
#[derive(Clone)]
pub(super) struct DaemonApiState {
    daemon: Arc<dyn SessionManager>,
    controller: Arc<dyn ControlHandler>,
    access: Arc<AccessRules>,
    pub(super) started: Instant,
    closing: ShutdownWatch,
    /// Routers of the sessions by session id, created on first use.
    inner: Arc<Mutex<HashMap<String, Router>>>,
}

/// Returns the router of a daemon.
pub fn daemon_router(
    daemon: Arc<dyn SessionManager>,
    controller: Arc<dyn ControlHandler>,
    access: AccessRules,
    closing: ShutdownWatch,
) -> Router {
    let (access, started, inner) = (Arc::new(access), Instant::now(), Arc::default());
    let api = DaemonApiState { daemon, controller, access, started, closing, inner };
    route::daemon_router()
        .route(&format!("{SESSION_PATH}/{{*rest}}"), any(forward))
        .layer(middleware::from_fn_with_state(api.clone(), check))
        .with_state(api)
}

pub(super) fn routes() -> Vec<Route<DaemonApiState>> {
    vec![
        Route::new(RouteMethod::Get, "/sessions", list, "sessions", "List all sessions, including ended ones.", |it| {
            it.returns::<SessionsBody>(200, "The sessions, oldest first.")
        }),
        // The handler itself checks the caller, because the result depends on the requested session.
        Route::new(
            RouteMethod::Post,
            "/sessions",
            create,
            "create_session",
            "Create a session with an agent or a terminal program.",
            |it| {
                it.accepts::<NewSessionRequest>()
                    .returns::<SessionSummary>(
                        200,
                        "The session that an earlier request with the same request_id created.",
                    )
                    .returns::<SessionSummary>(201, "The created session.")
                    .fails(408, "The body did not arrive in time.")
                    .fails(
                        409,
                        "The name is taken, the request_id was used for another session, or the program could not be \
                         started; see the detail.",
                    )
                    .fails(
                        503,
                        "There are too many sessions, the session could not be stored, or the daemon is stopping.",
                    )
            },
        ),
        Route::new(RouteMethod::Get, SESSION_PATH, get_session, "session", "Get a session.", |it| {
            it.path_parameter("session", id())
                .returns::<SessionSummary>(200, "The session.")
                .fails(404, "No such session.")
        }),
        Route::new(RouteMethod::Patch, SESSION_PATH, rename, "rename_session", "Rename a session.", |it| {
            it.path_parameter("session", id())
                .accepts::<RenameRequest>()
                .returns::<SessionSummary>(200, "The renamed session.")
                .fails(404, "No such session.")
                .fails(408, "The body did not arrive in time.")
                .fails(409, "Another live session already has this name.")
        }),
        Route::new(
            RouteMethod::Delete,
            SESSION_PATH,
            end,
            "end_session",
            "End a session and all of its processes.",
            |it| {
                it.path_parameter("session", id())
                    .query("now", json!({"type": "string"}), "`1` kills the processes immediately.")
                    .query("forget", json!({"type": "string"}), "`1` also deletes the session's history.")
                    .returns::<SessionSummary>(200, "The ended session. None of its processes is running.")
                    .fails(404, "No such session.")
                    .fails(500, "Some processes could not be killed, or the end could not be stored; see the detail.")
            },
        ),
        Route::new(
            RouteMethod::Get,
            "/sessions/{session}/last_screen",
            last_screen,
            "last_screen",
            "Get the last screen of a terminal program that ran under an earlier daemon.",
            |it| {
                it.path_parameter("session", id())
                    .returns::<LastScreenBody>(200, "The last screen.")
                    .fails(404, "No such session, or no stored screen.")
            },
        ),
    ]
}

fn id() -> Value {
    json!({"type": "string", "minLength": 1, "description": "Session id or name."})
}

async fn check(State(api): State<DaemonApiState>, request: Request, next: Next) -> Response {
    guarded(&api.access, request, next).await
}

async fn list(State(api): State<DaemonApiState>) -> Json<SessionsBody> {
    let mut sessions = Vec::new();
    for session in api.daemon.sessions() {
        sessions.push(summary(&session).await);
    }
    Json(SessionsBody { sessions, returning: api.daemon.restoring() })
}

async fn create(
    State(api): State<DaemonApiState>,
    peer: Peer,
    body: Body,
) -> Result<(StatusCode, Json<SessionSummary>), Fault> {
    let wanted = new_session::read(body::json(body).await?, peer.directory()).await.map_err(Fault::Invalid)?;
    let origin = peer.origin().await;
    let CreateOutcome { session, duplicate } =
        new_session::create(&*api.daemon, &*api.controller, origin, wanted).await?;
    let status = if duplicate { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(summary(&session).await)))
}

async fn get_session(State(api): State<DaemonApiState>, Path(id): Path<String>) -> Result<Json<SessionSummary>, Fault> {
    Ok(Json(summary(&*find(&api, &id)?).await))
}

async fn rename(
    State(api): State<DaemonApiState>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<SessionSummary>, Fault> {
    let RenameRequest { name } = body::json(body).await?;
    let session = find(&api, &id)?;
    api.daemon.rename(&session.id, &name)?;
    Ok(Json(summary(&session).await))
}

async fn last_screen(State(api): State<DaemonApiState>, Path(id): Path<String>) -> Result<Json<LastScreenBody>, Fault> {
    let session = find(&api, &id)?;
    let text = session.last_screen.clone().ok_or(Fault::NoLastScreen)?;
    Ok(Json(LastScreenBody { text }))
}

/// Query of `DELETE /sessions/{session}`.
#[derive(Debug, Deserialize)]
struct EndSessionQuery {
    #[serde(default)]
    now: Option<String>,
    #[serde(default)]
    forget: Option<String>,
}

fn is_enabled(switch: Option<&str>) -> bool {
    switch.is_some_and(|value| !matches!(value, "0" | "false" | "no"))
}

async fn end(
    State(api): State<DaemonApiState>,
    Path(id): Path<String>,
    QueryParams(query): QueryParams<EndSessionQuery>,
) -> Result<Json<SessionSummary>, Fault> {
    let session = find(&api, &id)?;
    // Runs in a separate task, so that the session is ended even if the caller disconnects.
    let work = tokio::spawn(async move {
        let (name, forgets) = (session.name(), is_enabled(query.forget.as_deref()));
        match api.daemon.end(&session.id, is_enabled(query.now.as_deref())).await {
            EndOutcome::Left(pids) => return Err(Fault::ProcessesLeft { name, left: Survivors(pids).to_string() }),
            EndOutcome::NotStored(why) if !forgets => return Err(Fault::EndNotStored { name, why }),
            EndOutcome::Ended | EndOutcome::NotStored(_) | EndOutcome::NoSuchSession => {}
        }
        let last = summary(&session).await;
        if forgets {
            api.daemon.forget(&session.id).await;
            api.inner.lock().unwrap_or_else(PoisonError::into_inner).remove(&session.id);
        }
        Ok(last)
    });
    let failed = |error: tokio::task::JoinError| CreateError::Failed { message: error.to_string(), hint: None };
    Ok(Json(work.await.map_err(failed)??))
}

fn find(api: &DaemonApiState, id: &str) -> Result<Arc<SessionHandle>, Fault> {
    // Sessions being restored are checked first. A session that becomes ready after this check is found below.
    let returning = api.daemon.is_restoring(id);
    let missing = || match returning {
        true => CreateError::Returning(id.to_owned()),
        false => CreateError::NoSuchSession(id.to_owned()),
    };
    Ok(api.daemon.session(id).ok_or_else(missing)?)
}

/// Forwards a request to the router of its session.
async fn forward(
    State(api): State<DaemonApiState>,
    Path((id, rest)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Fault> {
    let session = find(&api, &id)?;
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    // Uses the percent-encoded path, because the router of the session decodes the path.
    let sent = request.uri().path().splitn(4, '/').nth(3).unwrap_or(&rest);
    let target: Uri = format!("/{sent}{query}").parse().map_err(|_| Fault::NoSuchPath)?;
    // The receipts of a lost terminal program exist only in the store.
    let receipts_path = RECEIPT_PATH.trim_start_matches('/').trim_end_matches("{request_id}");
    let receipt = rest.strip_prefix(receipts_path).filter(|_| request.method() == http::Method::GET);
    if let (None, Some(id)) = (&session.surface, receipt) {
        let id = request_id(Some(id))?.ok_or(Fault::NoSuchReceipt)?;
        let receipt = receipts::of_session(&*api.daemon, &session, id).await.ok_or(Fault::NoSuchReceipt)?;
        return Ok(Json(receipt_body(&receipt)).into_response());
    }
    let router = router_of(&api, &session)?;
    match TowerToHyperService::new(router).call(with_uri(request, target)).await {
        Ok(response) => Ok(response.into_response()),
        Err(never) => match never {},
    }
}

/// Returns the request with another URI. Removes the path parameters of the daemon's router, and keeps the WebSocket
/// upgrade and the caller.
fn with_uri(request: Request, target: Uri) -> Request {
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

fn router_of(api: &DaemonApiState, session: &Arc<SessionHandle>) -> Result<Router, Fault> {
    let mut inner = api.inner.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(router) = inner.get(&session.id) {
        return Ok(router.clone());
    }
    let Some(surface) = session.surface.clone() else { return Err(Fault::Lost) };
    // The daemon's router has already checked access.
    let access = AccessRules { token: None, any_host: true };
    let admission = Admission::Session {
        daemon: Arc::clone(&api.daemon),
        controller: Arc::clone(&api.controller),
        session: Arc::clone(session),
    };
    let usage = super::ApiUsage::default();
    let router =
        super::session_router(surface, session.conversation.clone(), access, api.closing.clone(), admission, usage);
    // A router keeps its session's screen and conversation alive, so routers of removed sessions are dropped.
    inner.retain(|id, _| api.daemon.session_by_id(id).is_some());
    inner.insert(session.id.clone(), router.clone());
    Ok(router)
}
