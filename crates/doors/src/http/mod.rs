//! The HTTP door: the control plane on one surface. Described for its users in `docs/agent-cli-access.md`.

mod access;
mod body;
mod connections;
mod drawn;
mod fault;
mod input;
mod metrics;
mod openapi;
mod owner;
mod patient;
mod peer;
mod screen;
mod screenshot;
mod serve;
mod sessions;
mod space;
mod state;
mod stream;
mod usage;
mod wait;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, middleware};
use tokio::sync::Semaphore;
use wh_client::{Gone, Look, Surface};
use wh_core::caller::Act;
use wh_core::session::Sight;
use wh_wire::control::{ClientState, HealthBody, ScreenBody};

use crate::Closing;
use crate::admission::Admission;
use crate::bodies::{client_state, plain_body};
pub use access::{Access, Token};
use drawn::Drawn;
use fault::Fault;
use metrics::Meters;
use peer::Peer;
pub use serve::{bind, serve};
pub use sessions::daemon_router;
pub use usage::Usage;
pub use wh_client::Conversation;

/// What every handler knows.
#[derive(Clone)]
struct Door {
    surface: Surface,
    admission: Admission,
    /// The conversation that the surface shows, if it shows one.
    conversation: Option<Conversation>,
    access: Arc<Access>,
    started: Instant,
    closing: Closing,
    meters: Arc<Meters>,
    usage: Usage,
    drawn: Arc<Drawn>,
    /// Places for those who watch: a stream may stay open for long.
    watchers: Arc<Semaphore>,
    /// Places for those who draw: a picture of a large screen takes much memory and work.
    painters: Arc<Semaphore>,
}

/// Pictures that are drawn at once; further ones wait.
const MOST_PAINTERS: usize = 2;

/// Streams that may be open at once.
const MOST_WATCHERS: usize = 64;

/// Every path of this door.
const PATHS: [&str; 32] = [
    "/control/health",
    "/control/send_input",
    "/control/resize",
    "/control/signal",
    "/control/mark",
    "/control/screen",
    "/control/screenshot.svg",
    "/control/screenshot.png",
    "/control/state",
    "/control/messages",
    "/control/wait",
    "/control/events",
    "/control/stream",
    "/control/metrics",
    "/control/questions",
    "/control/answer",
    "/control/interrupt",
    "/control/command",
    "/control/receipts/{request_id}",
    "/control/items/{id}/output",
    "/agents",
    "/agents/{id}",
    "/agents/{id}/models",
    "/agents/{id}/mcp",
    "/agents/{id}/sessions",
    "/agents/{id}/login",
    "/agents/{id}/logout",
    "/agents/{id}/start",
    "/message",
    "/history",
    "/openapi.json",
    "/docs",
];

/// The sender of everything that comes here: who has the token is the owner, and is the default team's own member.
const SENDER: &str = "local";

impl Door {
    /// True if these are the participants that a message goes to anyway: the session's own agent.
    fn is_usual(&self, to: &[String]) -> bool {
        matches!((&self.admission, to), (Admission::Session { session, .. }, [one]) if session.agent() == Some(one))
    }

    /// Refuses a caller that may not do this here.
    async fn admit(&self, peer: &Peer, act: Act) -> Result<(), Fault> {
        if self.admission.depends_on_caller(act) {
            self.admission.admit(peer.origin().await, act)?;
        }
        Ok(())
    }
}

/// The control plane of a single run: one surface, and the conversation that it shows if it shows one. Streams end when the door
/// closes.
pub fn router(
    surface: Surface,
    conversation: Option<Conversation>,
    access: Access,
    closing: Closing,
    usage: Usage,
) -> Router {
    session_router(surface, conversation, access, closing, Admission::Run, usage)
}

/// The state of a surface, and its screen as it is at this moment: what the API would answer, without the conversation.
pub async fn snapshot(surface: &Surface) -> Result<(ClientState, ScreenBody), Gone> {
    let shown = surface.look(Look { history: false, sight: Sight::Now }).await?;
    Ok((client_state(&surface.facts().await?), plain_body(&shown)))
}

/// The same for one session of a daemon.
fn session_router(
    surface: Surface,
    conversation: Option<Conversation>,
    access: Access,
    closing: Closing,
    admission: Admission,
    usage: Usage,
) -> Router {
    let door = Door {
        surface,
        admission,
        conversation,
        access: Arc::new(access),
        started: Instant::now(),
        closing,
        meters: Arc::default(),
        usage,
        drawn: Arc::default(),
        watchers: Arc::new(Semaphore::new(MOST_WATCHERS)),
        painters: Arc::new(Semaphore::new(MOST_PAINTERS)),
    };
    Router::new()
        .route("/control/health", get(health))
        .route("/control/send_input", post(input::send_input))
        .route("/control/resize", post(input::resize))
        .route("/control/signal", post(input::signal))
        .route("/control/mark", post(input::mark))
        .route("/control/screen", get(screen::screen))
        .route("/control/screenshot.svg", get(screenshot::svg))
        .route("/control/screenshot.png", get(screenshot::png))
        .route("/control/state", get(state::state))
        .route("/control/messages", get(state::messages))
        .route("/control/wait", post(wait::wait))
        .route("/control/events", get(stream::events))
        .route("/control/stream", get(stream::stream))
        .route("/control/metrics", get(metrics::metrics))
        .route("/control/questions", get(space::questions))
        .route("/control/answer", post(space::answer))
        .route("/control/interrupt", post(space::interrupt))
        .route("/control/command", post(space::command))
        .route("/control/receipts/{request_id}", get(space::receipt))
        .route("/control/items/{id}/output", get(space::output))
        .route("/agents", get(space::agents))
        .route("/agents/{id}", get(space::agent))
        .route("/agents/{id}/models", get(space::models))
        .route("/agents/{id}/mcp", get(space::mcp))
        .route("/agents/{id}/sessions", get(space::sessions))
        .route("/agents/{id}/login", post(space::login))
        .route("/agents/{id}/logout", post(space::logout))
        .route("/agents/{id}/start", post(space::start))
        .route("/message", post(space::message))
        .route("/history", get(space::history))
        .route("/openapi.json", get(openapi::description))
        .route("/docs", get(openapi::page))
        .fallback(|| async { Fault::NoSuchPath })
        .method_not_allowed_fallback(|| async { Fault::NoSuchMethod })
        .layer(middleware::from_fn_with_state(door.clone(), access::check))
        .with_state(door)
}

async fn health(State(door): State<Door>) -> Json<HealthBody> {
    Json(HealthBody {
        ok: true,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime: door.started.elapsed().as_secs(),
    })
}
