//! wh's own UI on a terminal of this process, from its start until the person leaves.

use std::io;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use wh_client::{Surface, Ui};
use wh_core::slash::UiCommand;
use wh_core::terminal::Exit;
use wh_engine::terminal::{self, Host, HostSpec, Hosted};
use wh_tui::{Left, Options};

use crate::failure::code;
use crate::person::Person;
use crate::signals::Signals;

/// Limit for the last output of the UI.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);

/// A UI that is shown.
pub struct ShownUi {
    hosted: Hosted,
    ui: Ui,
    leave: mpsc::Receiver<()>,
    exit: oneshot::Sender<Exit>,
    shown: JoinHandle<Result<Left, wh_tui::Error>>,
}

/// The end of a UI.
pub struct UiEnd {
    /// Exit code of wh.
    pub code: u8,
    /// Why it ended; `None` if it failed.
    pub left: Option<Left>,
    /// What went wrong, for the person.
    pub wrong: Option<String>,
    /// A signal has asked for it.
    pub asked: bool,
    /// How the recording ended, if there was one.
    pub recorded: Option<oneshot::Receiver<io::Result<()>>>,
}

impl ShownUi {
    /// Starts a UI.
    pub async fn start(spec: HostSpec, options: Options) -> io::Result<Self> {
        let space = spec.space.clone();
        let (hosted, host) = terminal::host(spec).await?;
        let (ui, port) = Ui::new();
        let Host { line, sizes, drawn, leave, exit } = host;
        let shown = tokio::spawn(wh_tui::run(line, sizes, drawn, space, port, options));
        Ok(Self { hosted, ui, leave, exit, shown })
    }

    /// Its screen.
    pub fn surface(&self) -> &Surface {
        &self.hosted.surface
    }

    /// The handle on it.
    pub fn ui(&self) -> &Ui {
        &self.ui
    }

    /// Waits until the person leaves or wh is asked to end, and gives the person's terminal back. The terminal is attached
    /// to the surface beside it.
    pub async fn until_left(self, person: Option<(Person, &Surface)>, signals: &mut Signals) -> UiEnd {
        let Self { hosted, ui, mut leave, exit, mut shown } = self;
        let Hosted { surface, ended, recorded } = hosted;
        let attached = match person {
            Some((person, front)) => Some(person.attach(front).await),
            None => None,
        };
        let mut asked = false;
        let outcome = loop {
            tokio::select! {
                outcome = &mut shown => break outcome,
                () = signals.next() => {
                    // The first asks; who asks again means it.
                    if asked {
                        shown.abort();
                    }
                    asked = true;
                    tokio::spawn(go(ui.clone()));
                }
                Some(()) = leave.recv() => drop(tokio::spawn(go(ui.clone()))),
            }
        };
        let left = match &outcome {
            Ok(Ok(left)) => Some(*left),
            _ => None,
        };
        let (code, wrong) = match outcome {
            Ok(Ok(Left::Person)) => (0, None),
            Ok(Ok(Left::Terminal | Left::Space)) if asked => (0, None),
            Ok(Ok(Left::Terminal)) => (code::FAILED, Some("the terminal is gone".to_owned())),
            Ok(Ok(Left::Space)) => (code::FAILED, Some("the space is gone".to_owned())),
            Ok(Err(error)) => (code::FAILED, Some(error.to_string())),
            Err(error) if error.is_panic() => (code::FAILED, Some("the UI has failed".to_owned())),
            Err(_) => (0, None),
        };
        let _ = exit.send(Exit::Code(code.into()));
        // A terminal that takes nothing must not keep us.
        let _ = tokio::time::timeout(LAST_OUTPUT_TIMEOUT, ended).await;
        if let Some(attached) = attached {
            // A UI that did not leave by itself has switched nothing off.
            let exit = if left.is_some() { Exit::Code(code.into()) } else { Exit::Signal(nix::libc::SIGTERM) };
            attached.detach(&surface, exit).await;
        }
        UiEnd { code, left, wrong, asked, recorded }
    }
}

async fn go(ui: Ui) {
    let _ = ui.run(UiCommand::Exit).await;
}
