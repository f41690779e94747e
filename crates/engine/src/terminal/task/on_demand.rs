//! A UI that runs on demand: requests that need its screen start it, and wait for its first frame.

use std::time::{Duration, Instant};

use wh_client::Request;
use wh_core::request::RequestId;

use super::Task;
use crate::terminal::hosted::Screen;

/// Limit for the first frame of a UI. After that its screen is used as it is.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Requests that wait for the first frame of a UI.
#[derive(Default)]
pub(super) struct Waiting {
    /// Each with the id under which it was stored just now.
    requests: Vec<(Request, Option<RequestId>)>,
    deadline: Option<Instant>,
}

impl Waiting {
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline.filter(|_| !self.requests.is_empty())
    }
}

/// True if the request needs the screen.
fn needs_screen(request: &Request) -> bool {
    match request {
        Request::Type { .. } | Request::Keyboard { .. } | Request::Look { .. } | Request::Attach(_) => true,
        Request::Watch { screen, .. } => *screen,
        Request::Wait { condition, .. } => condition.needs_terminal() || condition.needs_stability(),
        _ => false,
    }
}

impl Task {
    /// The request, unless it has to wait for the first frame of a UI.
    pub(super) fn after_first_frame(
        &mut self,
        request: Request,
        begun: Option<RequestId>,
    ) -> Option<(Request, Option<RequestId>)> {
        if !needs_screen(&request) || self.has_screen() {
            return Some((request, begun));
        }
        self.waiting.requests.push((request, begun));
        None
    }

    /// Uses the screen: starts a UI that runs on demand. True if there is a frame already.
    pub(super) fn has_screen(&mut self) -> bool {
        match self.behind.use_screen(self.outbox.pushed()) {
            Screen::Drawn => true,
            Screen::Starting => false,
            Screen::Started(terminal, spec) => {
                self.terminal = terminal;
                self.keeper.open_screen(self.size, spec);
                self.waiting.deadline = Some(Instant::now() + START_TIMEOUT);
                false
            }
        }
    }

    /// Carries out what has waited for the first frame.
    pub(super) async fn carry_out_waiting(&mut self) {
        for (request, begun) in std::mem::take(&mut self.waiting.requests) {
            self.carry_out(request, begun).await;
        }
    }

    /// The time has come: a UI that draws nothing is not waited for, and one that is not needed any more ends.
    pub(super) async fn check_ui(&mut self, now: Instant) {
        if self.waiting.deadline().is_some_and(|deadline| deadline <= now) {
            self.behind.take_as_drawn();
            self.carry_out_waiting().await;
        }
        let in_use = self.keeper.session.open_waits() > 0
            || !self.outbox.is_empty()
            || !self.undrawn.is_empty()
            || !self.undrawn_looks.is_empty();
        if !in_use && self.behind.end_unused(now) {
            self.keeper.close_screen();
        }
    }
}
