//! Reservation of the keyboard for the harness of an agent that runs in its own terminal UI. While the harness types a
//! message, input of everybody else waits, so that the two are not mixed.

use std::collections::VecDeque;
use std::convert::Infallible;

use tokio::sync::oneshot;
use wh_client::{KeyboardReservation, SurfaceRequest};
use wh_core::input::Gesture;
use wh_core::request::RequestId;
use wh_core::session::TerminalRefusal;

use super::TerminalTask;

/// Maximum number of input requests that wait for the release of the keyboard.
const MAX_DEFERRED_INPUTS: usize = 256;

/// Input request that waits for the release of the keyboard, with its request id if it is stored.
type DeferredInput = (SurfaceRequest, Option<RequestId>);

/// State of the keyboard: reserved or not, and guarded against typed text or not.
#[derive(Default)]
pub(super) struct Keyboard {
    /// Closed when the current reservation is released; `None` if the keyboard is not reserved.
    reservation: Option<oneshot::Receiver<Infallible>>,
    deferred: VecDeque<DeferredInput>,
    /// True if text is refused because a question of the agent is open on its screen.
    refuses_text: bool,
}

impl Keyboard {
    pub fn is_reserved(&self) -> bool {
        self.reservation.is_some()
    }

    /// Grants the reservation. The keyboard must be free; [`defer`](Self::defer) holds back a second reservation.
    pub fn reserve(&mut self, reply: oneshot::Sender<KeyboardReservation>) {
        let (reservation, released) = KeyboardReservation::new();
        if reply.send(reservation).is_ok() {
            self.reservation = Some(released);
        }
    }

    /// Waits until the reservation is released; forever if there is none. Cancel safe.
    pub async fn released(&mut self) {
        match &mut self.reservation {
            Some(released) => {
                let _ = released.await;
                self.reservation = None;
            }
            None => std::future::pending().await,
        }
    }

    pub fn guard_text(&mut self, refuses_text: bool) {
        self.refuses_text = refuses_text;
    }

    /// Returns an error if the gestures contain text, and text could answer an open question.
    pub fn check_text(&self, gestures: &[Gesture], forced: bool) -> Result<(), TerminalRefusal> {
        let has_text = gestures.iter().any(|gesture| matches!(gesture, Gesture::Text(_) | Gesture::Paste(_)));
        if self.refuses_text && has_text && !forced { Err(TerminalRefusal::QuestionOpen) } else { Ok(()) }
    }

    /// Holds back input while the keyboard is reserved. Returns every other request.
    pub fn defer(&mut self, request: SurfaceRequest, begun: Option<RequestId>) -> Option<DeferredInput> {
        let waits = matches!(
            request,
            SurfaceRequest::Type { .. }
                | SurfaceRequest::Keyboard { .. }
                | SurfaceRequest::Interrupt { .. }
                | SurfaceRequest::ReserveKeyboard { .. }
        );
        if waits && self.is_reserved() && self.deferred.len() < MAX_DEFERRED_INPUTS {
            self.deferred.push_back((request, begun));
            return None;
        }
        Some((request, begun))
    }
}

impl TerminalTask {
    /// Executes the input that waited for the release of the keyboard, in order.
    pub(super) async fn execute_deferred(&mut self) {
        while !self.keyboard.is_reserved()
            && let Some((request, begun)) = self.keyboard.deferred.pop_front()
        {
            self.execute(request, begun).await;
        }
    }
}
