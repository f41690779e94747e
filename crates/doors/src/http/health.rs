//! `GET /control/health`, and `GET /health` of a daemon.

use std::time::Instant;

use axum::Json;
use axum::extract::State;
use wh_wire::control::HealthBody;

use super::Door;
use super::route::{Method, Route};
use super::sessions::DaemonDoor;

pub(super) fn routes() -> Vec<Route<Door>> {
    vec![Route::new(
        Method::Get,
        "/control/health",
        async |State(door): State<Door>| body(door.started),
        "health",
        "Whether the control plane is up.",
        |it| it.gives::<HealthBody>(200, "It is."),
    )]
}

pub(super) fn daemon_routes() -> Vec<Route<DaemonDoor>> {
    vec![Route::new(
        Method::Get,
        "/health",
        async |State(door): State<DaemonDoor>| body(door.started),
        "health",
        "Whether the daemon is well.",
        |it| it.gives::<HealthBody>(200, "It is."),
    )]
}

fn body(started: Instant) -> Json<HealthBody> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Json(HealthBody { ok: true, version, uptime: started.elapsed().as_secs() })
}
