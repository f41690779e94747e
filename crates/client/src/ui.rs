//! Whoever shows a space: what is known of it outside, and what it can be asked to do.

use tokio::sync::{mpsc, oneshot, watch};
use wh_core::slash::{UiCommand, Visibility};

use crate::surface::Gone;

/// Commands that may wait for a busy UI. Beyond that the asker waits in turn.
const ORDERS: usize = 16;

/// How a UI shows a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct UiFacts {
    /// The signal board is open.
    pub board_expanded: bool,
    /// What the person wants of the board, if they have said.
    pub board_override: Option<Visibility>,
    /// Details are shown.
    pub verbose: bool,
    /// What comes through streams is shown.
    pub show_streams: bool,
    /// Its composer is empty and no dialog is open: nothing is lost if it ends.
    pub at_rest: bool,
}

/// Progress of a UI's drawing: everything up to here is on its screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drawn {
    /// Bytes of input whose effect is drawn.
    pub typed: u64,
    /// [`Pulse::beat`](crate::Pulse::beat) of the space's newest change that is drawn.
    pub beat: u64,
}

/// A command for a UI. The reply comes once its effect is drawn.
#[derive(Debug)]
pub struct UiOrder {
    /// What to do.
    pub command: UiCommand,
    /// The way back.
    pub reply: oneshot::Sender<()>,
}

/// The handle on a UI.
#[derive(Debug, Clone)]
pub struct Ui {
    facts: watch::Receiver<UiFacts>,
    orders: mpsc::Sender<UiOrder>,
}

/// The other end of the handle, as the UI holds it.
#[derive(Debug)]
pub struct UiPort {
    /// Where it says how it shows the space.
    pub facts: watch::Sender<UiFacts>,
    /// What it is asked to do.
    pub orders: mpsc::Receiver<UiOrder>,
}

impl Ui {
    /// Both ends.
    pub fn new() -> (Self, UiPort) {
        let (tell, facts) = watch::channel(UiFacts::default());
        let (order, orders) = mpsc::channel(ORDERS);
        (Self { facts, orders: order }, UiPort { facts: tell, orders })
    }

    /// How it shows the space now.
    pub fn facts(&self) -> UiFacts {
        *self.facts.borrow()
    }

    /// Has it do something; returns once the effect is drawn.
    pub async fn run(&self, command: UiCommand) -> Result<(), Gone> {
        let (reply, done) = oneshot::channel();
        self.orders.send(UiOrder { command, reply }).await.map_err(|_| Gone)?;
        done.await.map_err(|_| Gone)
    }
}
