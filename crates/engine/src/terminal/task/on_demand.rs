//! UIs that run on demand: a request that needs the screen starts the UI and waits for its first frame.

use std::time::{Duration, Instant};

use wh_client::SurfaceRequest;
use wh_core::request::RequestId;

use super::TerminalTask;
use crate::terminal::hosted::ScreenReadiness;

/// Timeout for the first frame of a UI. After the timeout, held requests use the screen as it is.
const FIRST_FRAME_TIMEOUT: Duration = Duration::from_secs(10);

/// Requests that wait for the first frame of a UI.
#[derive(Default)]
pub(super) struct FirstFrameWaiters {
    /// Requests, each with the request id under which it is stored; `None` if it is not stored.
    requests: Vec<(SurfaceRequest, Option<RequestId>)>,
    deadline: Option<Instant>,
}

impl FirstFrameWaiters {
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline.filter(|_| !self.requests.is_empty())
    }
}

/// True if the request types input, or reads or watches the screen, or waits for a condition on the screen. Such a
/// request needs a running UI.
fn needs_screen(request: &SurfaceRequest) -> bool {
    match request {
        SurfaceRequest::Type { .. }
        | SurfaceRequest::Keyboard { .. }
        | SurfaceRequest::ReadScreen { .. }
        | SurfaceRequest::Attach(_) => true,
        SurfaceRequest::Watch { screen, .. } => *screen,
        SurfaceRequest::Wait { condition, .. } => condition.needs_terminal() || condition.needs_stability(),
        _ => false,
    }
}

impl TerminalTask {
    /// Returns the request if it can be executed now. Otherwise holds it until the first frame of a UI, and returns
    /// `None`.
    pub(super) fn after_first_frame(
        &mut self,
        request: SurfaceRequest,
        begun: Option<RequestId>,
    ) -> Option<(SurfaceRequest, Option<RequestId>)> {
        if !needs_screen(&request) || self.has_screen() {
            return Some((request, begun));
        }
        self.first_frame_waiters.requests.push((request, begun));
        None
    }

    /// Records a use of the screen, which starts a UI that runs on demand. Returns true if the screen can be read.
    pub(super) fn has_screen(&mut self) -> bool {
        match self.peer.use_screen(self.input_queue.pushed()) {
            ScreenReadiness::Drawn => true,
            ScreenReadiness::Starting => false,
            ScreenReadiness::Started(terminal, spec) => {
                self.terminal = terminal;
                self.screened.open_screen(self.size, spec);
                self.first_frame_waiters.deadline = Some(Instant::now() + FIRST_FRAME_TIMEOUT);
                false
            }
        }
    }

    /// Executes the requests that were held until the first frame.
    pub(super) async fn execute_first_frame_waiters(&mut self) {
        for (request, begun) in std::mem::take(&mut self.first_frame_waiters.requests) {
            self.execute(request, begun).await;
        }
    }

    /// Handles timers: executes held requests if the first frame is late, and ends an unused UI.
    pub(super) async fn check_ui(&mut self, now: Instant) {
        if self.first_frame_waiters.deadline().is_some_and(|deadline| deadline <= now) {
            self.peer.assume_drawn();
            self.execute_first_frame_waiters().await;
        }
        let in_use = self.screened.session.open_waits() > 0
            || !self.input_queue.is_empty()
            || !self.undrawn.is_empty()
            || !self.undrawn_reads.is_empty();
        if !in_use && self.peer.end_if_unused(now) {
            self.screened.close_screen();
        }
    }
}
