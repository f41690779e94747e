//! `GET /control/health`, and `GET /health` of a daemon.

use std::time::Instant;

use axum::Json;
use axum::extract::State;
use wh_wire::control::HealthBody;

use super::ApiState;
use super::route::{Route, RouteMethod};
use super::sessions::DaemonApiState;

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![Route::new(
        RouteMethod::Get,
        "/control/health",
        async |State(api): State<ApiState>| body(api.started),
        "health",
        "Check that the API is up.",
        |it| it.returns::<HealthBody>(200, "Healthy."),
    )]
}

pub(super) fn daemon_routes() -> Vec<Route<DaemonApiState>> {
    vec![Route::new(
        RouteMethod::Get,
        "/health",
        async |State(api): State<DaemonApiState>| body(api.started),
        "health",
        "Check that the daemon is healthy.",
        |it| it.returns::<HealthBody>(200, "Healthy."),
    )]
}

fn body(started: Instant) -> Json<HealthBody> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Json(HealthBody { ok: true, version, uptime: started.elapsed().as_secs() })
}
