//! Handle on a UI that shows a space. Clients read the UI's display state and send it commands.

use tokio::sync::{mpsc, oneshot, watch};
use wh_core::slash::{UiCommand, Visibility};

use crate::surface::SessionGone;

/// Maximum number of commands queued for a busy UI. Further callers wait.
const MAX_QUEUED_UI_COMMANDS: usize = 16;

/// Display settings and state of a UI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct UiFacts {
    /// True if the signal board is expanded.
    pub board_expanded: bool,
    /// Visibility of the signal board that the user has chosen; `None` if the user has not chosen.
    pub board_override: Option<Visibility>,
    /// True if details are shown.
    pub verbose: bool,
    /// True if stream frames are shown.
    pub show_streams: bool,
    /// True if the composer is empty and no dialog is open, so that ending the UI loses nothing.
    pub at_rest: bool,
}

/// Drawing progress of a UI: the input and the changes whose effect is on its screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DrawProgress {
    /// Bytes of input whose effect is drawn.
    pub typed: u64,
    /// [`ChangeNotice::change_count`](crate::ChangeNotice::change_count) of the newest drawn change of the space.
    pub change_count: u64,
}

/// Command for a UI, with a reply that is sent once the effect of the command is drawn.
#[derive(Debug)]
pub struct UiOrder {
    pub command: UiCommand,
    pub reply: oneshot::Sender<()>,
}

/// Client end of a UI: reads its facts and sends it commands.
#[derive(Debug, Clone)]
pub struct Ui {
    facts: watch::Receiver<UiFacts>,
    orders: mpsc::Sender<UiOrder>,
}

/// Server end of a [`Ui`], owned by the UI itself.
#[derive(Debug)]
pub struct UiPort {
    /// Publishes the UI's facts.
    pub facts: watch::Sender<UiFacts>,
    pub orders: mpsc::Receiver<UiOrder>,
}

impl Ui {
    /// Creates the client end and the server end of a UI.
    pub fn new() -> (Self, UiPort) {
        let (facts_sender, facts) = watch::channel(UiFacts::default());
        let (order, orders) = mpsc::channel(MAX_QUEUED_UI_COMMANDS);
        (Self { facts, orders: order }, UiPort { facts: facts_sender, orders })
    }

    pub fn facts(&self) -> UiFacts {
        *self.facts.borrow()
    }

    /// Runs a command. Returns once the effect of the command is drawn.
    pub async fn run(&self, command: UiCommand) -> Result<(), SessionGone> {
        let (reply, done) = oneshot::channel();
        self.orders.send(UiOrder { command, reply }).await.map_err(|_| SessionGone)?;
        done.await.map_err(|_| SessionGone)
    }
}
