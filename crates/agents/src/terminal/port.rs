//! Access to the terminal in which an agent shows its own UI. The owner of the terminal implements it.

use std::sync::Arc;

use wh_core::input::Gesture;
use wh_pipe::Exit;
use wh_screen::frame::ScreenFrame;

use crate::interface::BoxFuture;

/// Screen, title and input count of a terminal at one moment.
#[derive(Debug, Clone)]
pub struct TerminalView {
    /// Last complete frame of the agent's UI.
    pub frame: Arc<ScreenFrame>,
    /// Title that the agent has set.
    pub title: Option<String>,
    /// Number of inputs typed so far, by anybody.
    pub typed: u64,
    /// True if a user's terminal is attached.
    pub attached: bool,
}

/// Terminal of an agent. While the keyboard is held, input of everybody else waits.
pub trait AgentTerminal: Send + Sync + 'static {
    /// Waits until the screen has changed or something was typed. Returns the exit of the agent if it has exited. Cancel
    /// safe.
    fn changed(&mut self) -> BoxFuture<'_, Option<Exit>>;

    /// Returns the current screen; `None` if the terminal has ended.
    fn view(&mut self) -> BoxFuture<'_, Option<TerminalView>>;

    /// Reserves the keyboard, and waits until it is reserved. Returns false if the terminal has ended.
    fn hold_keyboard(&mut self) -> BoxFuture<'_, bool>;

    /// Releases the keyboard.
    fn release_keyboard(&mut self);

    /// Types while the keyboard is held. Returns the reason if the input was not delivered.
    fn type_held(&mut self, gestures: Vec<Gesture>) -> BoxFuture<'_, Result<(), String>>;

    /// Refuses text that others type while `guarded` is set, because it could answer an open question.
    fn guard_text(&mut self, guarded: bool) -> BoxFuture<'_, ()>;

    /// Asks the agent's program to end.
    fn end(&mut self) -> BoxFuture<'_, ()>;
}
