//! Terminal session as the terminal of an agent that runs in its own UI.

use wh_agents::interface::BoxFuture;
use wh_agents::terminal::port::{AgentTerminal, TerminalView};
use wh_client::{KeyboardReservation, ScreenReadOptions, Surface, SurfaceWatch};
use wh_core::input::Gesture;
use wh_core::session::{DeliveryState, ProgramStatus, ScreenTiming};
use wh_pipe::Exit;

/// Terminal of an agent, with the reservation of its keyboard while one is held.
pub struct SurfaceTerminal {
    surface: Surface,
    watch: SurfaceWatch,
    reservation: Option<KeyboardReservation>,
    /// True if an event has arrived that may be the exit of the program.
    may_have_exited: bool,
}

impl SurfaceTerminal {
    /// Watches the screen of a session; `None` if the session has ended.
    pub async fn open(surface: Surface) -> Option<Self> {
        let watch = surface.watch(true).await.ok()?;
        Some(Self { surface, watch, reservation: None, may_have_exited: true })
    }

    async fn wait_for_change(&mut self) -> Option<Exit> {
        if !self.may_have_exited {
            let SurfaceWatch { events, frames, typed, .. } = &mut self.watch;
            let outcome = tokio::select! {
                event = events.changed() => event.map(|()| true),
                frame = frames.changed() => frame.map(|()| false),
                input = typed.changed() => input.map(|()| false),
            };
            match outcome {
                Ok(may_have_exited) => self.may_have_exited = may_have_exited,
                Err(_) => return Some(Exit::Unknown),
            }
        }
        if self.may_have_exited {
            let facts = self.surface.facts().await;
            self.may_have_exited = false;
            return match facts.map(|facts| facts.status) {
                Ok(ProgramStatus::Exited(exit)) => Some(exit),
                Ok(_) => None,
                Err(_) => Some(Exit::Unknown),
            };
        }
        None
    }

    async fn read(&mut self) -> Option<TerminalView> {
        let typed = *self.watch.typed.borrow();
        let read = ScreenReadOptions { history: false, timing: ScreenTiming::Settled };
        let snapshot = self.surface.read_screen(read).await.ok()?;
        let facts = self.surface.facts().await.ok()?;
        Some(TerminalView { frame: snapshot.frame, title: facts.title, typed, attached: facts.attached })
    }
}

impl AgentTerminal for SurfaceTerminal {
    fn changed(&mut self) -> BoxFuture<'_, Option<Exit>> {
        Box::pin(self.wait_for_change())
    }

    fn view(&mut self) -> BoxFuture<'_, Option<TerminalView>> {
        Box::pin(self.read())
    }

    fn hold_keyboard(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            if self.reservation.is_none() {
                self.reservation = self.surface.reserve_keyboard().await.ok();
            }
            self.reservation.is_some()
        })
    }

    fn release_keyboard(&mut self) {
        self.reservation = None;
    }

    fn type_held(&mut self, gestures: Vec<Gesture>) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let Some(reservation) = &self.reservation else { return Err("the keyboard is not reserved".to_owned()) };
            let accepted =
                self.surface.type_reserved(reservation, gestures).await.map_err(|error| error.to_string())?;
            match accepted.delivery {
                DeliveryState::Lost(loss) => Err(loss.to_string()),
                DeliveryState::Queued | DeliveryState::Delivered(_) => Ok(()),
            }
        })
    }

    fn guard_text(&mut self, guarded: bool) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let _ = self.surface.guard_text(guarded).await;
        })
    }

    fn end(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let _ = self.surface.end(false).await;
        })
    }
}
