//! `GET /control/metrics`: metrics in the Prometheus text format.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use wh_client::SurfaceFacts;
use wh_core::histogram::Histogram;

use super::ApiState;
use super::fault::Fault;
use super::route::{self, Route, RouteMethod};

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![Route::new(
        RouteMethod::Get,
        "/control/metrics",
        metrics,
        "metrics",
        "Get counters and latencies for Prometheus.",
        |it| it.text(200, "text/plain", "Metrics in the Prometheus text format.").gone(),
    )]
}

/// Paths with their own request counters: the paths of a session's routes.
static PATHS: LazyLock<BTreeSet<&'static str>> =
    LazyLock::new(|| route::of_session().iter().map(|route| route.path).collect());

/// Counters of this server. The mutex is held only for a few instructions.
#[derive(Debug, Default)]
pub(super) struct HttpMeters(Mutex<Counts>);

#[derive(Debug, Default, Clone)]
struct Counts {
    /// Number of requests by path and status.
    requests: BTreeMap<(&'static str, u16), u64>,
    render: Histogram,
}

impl HttpMeters {
    pub fn request(&self, path: &str, status: u16) {
        // All other paths share one counter. Otherwise callers could create any number of metrics.
        let path = PATHS.get(path).copied().unwrap_or("other");
        *self.lock().requests.entry((path, status)).or_default() += 1;
    }

    pub fn render(&self, took: Duration) {
        self.lock().render.observe(took);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn metrics(State(api): State<ApiState>) -> Result<Response, Fault> {
    let facts = api.surface.facts().await?;
    let counts = api.meters.lock().clone();
    let text = exposition(&facts, &counts, api.started.elapsed());
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

fn exposition(facts: &SurfaceFacts, counts: &Counts, up: Duration) -> String {
    let mut text = String::new();
    let mut plain = |name: &str, kind: &str, help: &str, value: f64| {
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
    };
    plain("wh_uptime_seconds", "gauge", "Seconds since the API was started.", up.as_secs_f64());
    plain("wh_output_bytes_total", "counter", "Bytes written by the program.", facts.output_bytes as f64);
    plain("wh_input_bytes_total", "counter", "Bytes typed into the program by clients.", facts.typed_bytes as f64);
    plain("wh_input_queue_bytes", "gauge", "Input bytes queued for the program.", facts.queued_input as f64);
    plain("wh_frames_total", "counter", "Frames drawn by the program.", facts.frames_rendered as f64);
    plain("wh_open_waits", "gauge", "Wait requests in progress.", facts.open_waits as f64);
    let _ = write!(text, "# HELP wh_requests_total Requests by path and status.\n# TYPE wh_requests_total counter\n");
    for ((path, status), count) in &counts.requests {
        let _ = writeln!(text, "wh_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}");
    }
    histogram(&mut text, "wh_render_seconds", "Time to render a screen for a response.", &counts.render);
    histogram(&mut text, "wh_input_to_frame_seconds", "Time from typing to the next frame.", &facts.input_to_frame);
    text
}

fn histogram(text: &mut String, name: &str, help: &str, histogram: &Histogram) {
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} histogram\n");
    for (bound, count) in histogram.cumulative() {
        let _ = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {count}");
    }
    let (count, sum) = (histogram.count(), histogram.sum());
    let _ = write!(text, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}\n");
}
