//! Answers requests to an ended run from the run's record in the runtime directory.

use std::time::Duration;

use serde::Serialize;
use wh_api::{EndedRun, HttpRequest};
use wh_core::condition::{Condition, Facts};
use wh_wire::control::{ErrorBody, ScreenBody, WaitBody, WaitRequest};

use super::response::ApiResponse;
use crate::failure::print_to_stderr;
use crate::print::clean_line;

/// Answers state, screen and wait requests. `None` if the record does not contain the requested data.
pub(super) fn answer(record: &EndedRun, request: &HttpRequest) -> Option<ApiResponse> {
    let answer = match request.target() {
        "/control/state" => given(200, &record.state),
        "/control/screen" => given(200, record.screen.as_ref()?),
        "/control/wait" => {
            let wait: WaitRequest = serde_json::from_slice(request.bytes()).ok()?;
            waited(record, &wait.condition)
        }
        _ => None,
    }?;
    let how = match record.exit() {
        Some(exit) => exit.signal.map_or(format!(" with code {}", exit.code), |signal| format!(" by signal {signal}")),
        None => String::new(),
    };
    print_to_stderr(&format!("wh: {} at {} has ended{how}", clean_line(&record.run.command.join(" ")), record.run.url));
    Some(answer)
}

fn given(status: u16, body: &impl Serialize) -> Option<ApiResponse> {
    Some(ApiResponse::text(status, serde_json::to_string(body).ok()?))
}

/// Evaluates a condition once, because nothing changes after the program's exit.
fn waited(record: &EndedRun, source: &str) -> Option<ApiResponse> {
    let condition = match Condition::parse(source) {
        Ok(condition) => condition,
        Err(error) => {
            let (position, detail) = (Some(error.position), Some(error.to_string()));
            return given(
                400,
                &ErrorBody {
                    error: "Invalid condition".to_owned(),
                    code: Some("invalid_condition".to_owned()),
                    detail,
                    position,
                },
            );
        }
    };
    let refused = if condition.conversation_only().is_some() {
        Some(("No conversation", "the run has ended and its conversation is no longer available"))
    } else if condition.needs_terminal() && record.screen.is_none() {
        Some(("No screen", "the run has ended and its screen is no longer available"))
    } else {
        None
    };
    let last = EndedRunState::new(record);
    let matched = refused.is_none() && condition.holds(&last);
    let ended = ("exited", "the program has exited, so the condition cannot become true");
    let (error, detail) = refused.or((!matched).then_some(ended)).unzip();
    let body = WaitBody {
        ok: matched,
        matched,
        elapsed: 0,
        error: error.map(str::to_owned),
        detail: detail.map(str::to_owned),
        screen: (!matched).then(|| last.text.lines().map(str::to_owned).collect()),
    };
    given(if matched { 200 } else { 409 }, &body)
}

/// Final state of a run, for evaluating conditions.
struct EndedRunState<'a> {
    screen: Option<&'a ScreenBody>,
    text: String,
}

impl<'a> EndedRunState<'a> {
    fn new(record: &'a EndedRun) -> Self {
        let screen = record.screen.as_ref();
        let text = screen.map(|screen| screen.plain.trim_end_matches('\n').to_owned()).unwrap_or_default();
        Self { screen, text }
    }
}

impl Facts for EndedRunState<'_> {
    fn message_count(&self) -> u64 {
        0
    }

    fn reasoning_active(&self) -> bool {
        false
    }

    fn pending_operations(&self) -> u64 {
        0
    }

    fn busy(&self) -> bool {
        false
    }

    fn frames(&self) -> u64 {
        self.screen.map_or(0, |screen| screen.frames_rendered)
    }

    fn cursor(&self) -> Option<(u16, u16)> {
        self.screen.map(|screen| (screen.cursor.x, screen.cursor.y))
    }

    fn title(&self) -> Option<&str> {
        self.screen?.title.as_deref()
    }

    fn exited(&self) -> bool {
        true
    }

    fn screen_text(&self) -> &str {
        self.screen.map_or("", |screen| &screen.plain)
    }

    fn quiet_for(&self) -> Duration {
        Duration::MAX
    }
}
