//! `POST /control/wait`: waits until a condition on the screen, the program or the conversation is true.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use wh_core::condition::Condition;
use wh_core::session::{ProgramStatus, WaitOutcome};
use wh_wire::control::{WaitBody, WaitRequest};

use super::fault::Fault;
use super::route::{Route, RouteMethod};
use super::{ApiState, body};

/// Default timeout of a wait, in milliseconds.
const DEFAULT_WAIT_TIMEOUT_MS: u64 = 5_000;
/// Maximum timeout of a wait, in milliseconds.
pub(super) const MAX_WAIT_TIMEOUT_MS: u64 = 3_600_000;

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![Route::new(RouteMethod::Post, "/control/wait", wait, "wait", "Wait for a condition.", |it| {
        it.accepts::<WaitRequest>()
            .returns::<WaitBody>(200, "The condition is true.")
            .returns::<WaitBody>(408, "The condition did not become true in time.")
            .returns::<WaitBody>(
                409,
                "`exited`: the program has exited, so the condition cannot become true. `No conversation`: `idle`, \
                `no_pending_operations` and `question` are not available for a terminal program.",
            )
            .fails(503, "Too many open waits, or the session has ended.")
    })]
}

async fn wait(State(api): State<ApiState>, body: Body) -> Result<(StatusCode, Json<WaitBody>), Fault> {
    let request: WaitRequest = body::json(body).await?;
    let condition = Condition::parse(&request.condition)
        .map_err(|error| Fault::Condition { message: error.to_string(), position: error.position })?;
    let timeout = request.timeout.unwrap_or(DEFAULT_WAIT_TIMEOUT_MS);
    if timeout > MAX_WAIT_TIMEOUT_MS {
        return Err(Fault::Refused(
            "Invalid timeout",
            format!("timeout must be at most {MAX_WAIT_TIMEOUT_MS} milliseconds"),
        ));
    }
    if api.conversation.is_none()
        && let Some(name) = condition.conversation_only()
    {
        let body = WaitBody {
            ok: false,
            matched: false,
            elapsed: 0,
            error: Some("No conversation".to_owned()),
            detail: Some(format!(
                "{name} needs a conversation, which a terminal program does not have; \
                wait for screen_stable or screen_contains instead"
            )),
            screen: None,
        };
        return Ok((StatusCode::CONFLICT, Json(body)));
    }
    let asks_for_exit = condition.asks_for_exit();
    let end = api.surface.wait(condition, Duration::from_millis(timeout)).await?;
    let (status, error, detail) = match end.waited.outcome {
        WaitOutcome::Matched => (StatusCode::OK, None, None),
        WaitOutcome::TimedOut => {
            (StatusCode::REQUEST_TIMEOUT, Some("timeout"), Some("the condition did not become true in time"))
        }
        WaitOutcome::Ended => {
            (StatusCode::CONFLICT, Some("exited"), Some("the program has exited, so the condition cannot become true"))
        }
    };
    let matched = end.waited.outcome == WaitOutcome::Matched;
    let ended =
        || async { api.surface.facts().await.is_ok_and(|facts| matches!(facts.status, ProgramStatus::Exited(_))) };
    if end.waited.outcome == WaitOutcome::Ended || (matched && asks_for_exit && ended().await) {
        api.usage.end_was_read();
    }
    let body = WaitBody {
        ok: matched,
        matched,
        elapsed: u64::try_from(end.waited.elapsed.as_millis()).unwrap_or(u64::MAX),
        error: error.map(str::to_owned),
        detail: detail.map(str::to_owned),
        screen: (!matched).then_some(end.screen),
    };
    Ok((status, Json(body)))
}
