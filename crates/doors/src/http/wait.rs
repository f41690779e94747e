//! `POST /control/wait`.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use wh_core::condition::Condition;
use wh_core::session::{Status, Why};
use wh_wire::control::{WaitBody, WaitRequest};

use super::fault::Fault;
use super::route::{Method, Route};
use super::{Door, body};

/// Milliseconds that a wait takes at most unless the caller says otherwise.
const USUAL_TIMEOUT: u64 = 5_000;
/// What the caller may say.
pub(super) const LONGEST_TIMEOUT: u64 = 3_600_000;

pub(super) fn routes() -> Vec<Route<Door>> {
    vec![Route::new(Method::Post, "/control/wait", wait, "wait", "Wait until a condition holds.", |it| {
        it.takes::<WaitRequest>()
            .gives::<WaitBody>(200, "The condition holds.")
            .gives::<WaitBody>(408, "It did not in time.")
            .gives::<WaitBody>(
                409,
                "`exited`: the program has ended, so it never will. `No conversation`: `idle`, `no_pending_operations` and \
                 `question` are not known of a terminal program.",
            )
            .fails(503, "Too many waits are open, or the session is gone.")
    })]
}

async fn wait(State(door): State<Door>, body: Body) -> Result<(StatusCode, Json<WaitBody>), Fault> {
    let request: WaitRequest = body::json(body).await?;
    let condition = Condition::parse(&request.condition)
        .map_err(|error| Fault::Condition { message: error.to_string(), position: error.position })?;
    let timeout = request.timeout.unwrap_or(USUAL_TIMEOUT);
    if timeout > LONGEST_TIMEOUT {
        return Err(Fault::Refused(
            "Invalid timeout",
            format!("timeout is in milliseconds and at most {LONGEST_TIMEOUT}"),
        ));
    }
    if door.conversation.is_none()
        && let Some(name) = condition.conversation_only()
    {
        let body = WaitBody {
            ok: false,
            matched: false,
            elapsed: 0,
            error: Some("No conversation".to_owned()),
            detail: Some(format!(
                "{name} needs a conversation, and of a terminal program only the screen is known; \
                 wait for screen_stable or for a text"
            )),
            screen: None,
        };
        return Ok((StatusCode::CONFLICT, Json(body)));
    }
    let asks_for_exit = condition.asks_for_exit();
    let end = door.surface.wait(condition, Duration::from_millis(timeout)).await?;
    let (status, error, detail) = match end.waited.why {
        Why::Matched => (StatusCode::OK, None, None),
        Why::TimedOut => (StatusCode::REQUEST_TIMEOUT, Some("timeout"), Some("the condition did not hold in time")),
        Why::Ended => {
            (StatusCode::CONFLICT, Some("exited"), Some("the program has ended, so the condition will never hold"))
        }
    };
    let matched = end.waited.why == Why::Matched;
    let ended = || async { door.surface.facts().await.is_ok_and(|facts| matches!(facts.status, Status::Exited(_))) };
    if end.waited.why == Why::Ended || (matched && asks_for_exit && ended().await) {
        door.usage.end_was_read();
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
