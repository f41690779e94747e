//! The HTTP door: the control plane on one surface. Described for its users in `docs/agent-cli-access.md`.

mod access;
mod body;
mod fault;
mod feed;
mod input;
mod screen;
mod serve;
mod state;
mod stream;
mod time;
mod wait;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, middleware};
use wh_client::Surface;
use wh_wire::control::HealthBody;

pub use access::{Access, Token};
use fault::Fault;
pub use serve::{Closing, serve};

/// What every handler knows.
#[derive(Clone)]
struct Door {
    surface: Surface,
    access: Arc<Access>,
    started: Instant,
    closing: Closing,
}

/// The control plane of one surface. Streams end when the door closes.
pub fn router(surface: Surface, access: Access, closing: Closing) -> Router {
    let door = Door { surface, access: Arc::new(access), started: Instant::now(), closing };
    Router::new()
        .route("/control/health", get(health))
        .route("/control/send_input", post(input::send_input))
        .route("/control/resize", post(input::resize))
        .route("/control/signal", post(input::signal))
        .route("/control/screen", get(screen::screen))
        .route("/control/state", get(state::state))
        .route("/control/messages", get(state::messages))
        .route("/control/wait", post(wait::wait))
        .route("/control/events", get(stream::events))
        .route("/control/stream", get(stream::stream))
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
