//! Runs the terminal UI in this process until the user quits.

use std::io;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use wh_client::{Surface, Ui};
use wh_core::slash::UiCommand;
use wh_core::terminal::Exit;
use wh_engine::terminal::{self, HostedTerminal, UiTerminalEnd, UiTerminalSpec};
use wh_tui::{TuiExit, TuiOptions};

use crate::failure::code;
use crate::local_terminal::LocalTerminal;
use crate::signals::ExitSignals;

/// Timeout for the UI to write its last output.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);

/// Terminal UI that runs in this process.
pub struct TerminalUi {
    hosted: HostedTerminal,
    ui: Ui,
    quit_requests: mpsc::Receiver<()>,
    exit: oneshot::Sender<Exit>,
    shown: JoinHandle<Result<TuiExit, wh_tui::TuiError>>,
}

/// Result of a terminal UI that has exited.
pub struct UiOutcome {
    /// Exit code of wh.
    pub code: u8,
    /// Reason of the exit; `None` if the UI failed.
    pub reason: Option<TuiExit>,
    /// Error message for the user.
    pub error: Option<String>,
    /// True if a signal ended the UI.
    pub signalled: bool,
    /// Result of the recording; `None` if nothing was recorded.
    pub recorded: Option<oneshot::Receiver<io::Result<()>>>,
}

impl TerminalUi {
    pub async fn start(spec: UiTerminalSpec, options: TuiOptions) -> io::Result<Self> {
        let space = spec.space.clone();
        let (hosted, host) = terminal::host(spec).await?;
        let (ui, port) = Ui::new();
        let UiTerminalEnd { line, sizes, drawn, leave: quit_requests, exit } = host;
        let shown = tokio::spawn(wh_tui::run(line, sizes, drawn, space, port, options));
        Ok(Self { hosted, ui, quit_requests, exit, shown })
    }

    /// Returns the surface of the UI's screen.
    pub fn surface(&self) -> &Surface {
        &self.hosted.surface
    }

    /// Returns the handle that controls the UI.
    pub fn ui(&self) -> &Ui {
        &self.ui
    }

    /// Waits until the user quits or a signal arrives, then restores the terminal. `tty` is the user's terminal with
    /// the surface to attach it to.
    pub async fn until_exit(self, tty: Option<(LocalTerminal, &Surface)>, signals: &mut ExitSignals) -> UiOutcome {
        let Self { hosted, ui, mut quit_requests, exit, mut shown } = self;
        let HostedTerminal { surface, ended, recorded } = hosted;
        let attached = match tty {
            Some((tty, front)) => Some(tty.attach(front).await),
            None => None,
        };
        let mut signalled = false;
        let outcome = loop {
            tokio::select! {
                outcome = &mut shown => break outcome,
                () = signals.next() => {
                    // The first signal makes the UI quit, the second aborts its task.
                    if signalled {
                        shown.abort();
                    }
                    signalled = true;
                    tokio::spawn(quit(ui.clone()));
                }
                Some(()) = quit_requests.recv() => drop(tokio::spawn(quit(ui.clone()))),
            }
        };
        let reason = match &outcome {
            Ok(Ok(reason)) => Some(*reason),
            _ => None,
        };
        let (code, error) = match outcome {
            Ok(Ok(TuiExit::UserQuit)) => (0, None),
            Ok(Ok(TuiExit::Terminal | TuiExit::Space)) if signalled => (0, None),
            Ok(Ok(TuiExit::Terminal)) => (code::FAILED, Some("lost the connection to the terminal".to_owned())),
            Ok(Ok(TuiExit::Space)) => (code::FAILED, Some("the space has ended".to_owned())),
            Ok(Err(error)) => (code::FAILED, Some(error.to_string())),
            Err(error) if error.is_panic() => (code::FAILED, Some("the UI crashed".to_owned())),
            Err(_) => (0, None),
        };
        let _ = exit.send(Exit::Code(code.into()));
        // A terminal that accepts no output must not block the exit.
        let _ = tokio::time::timeout(LAST_OUTPUT_TIMEOUT, ended).await;
        if let Some(attached) = attached {
            // A UI that failed has not reset the terminal modes. For an exit by signal, `detach` resets them.
            let exit = if reason.is_some() { Exit::Code(code.into()) } else { Exit::Signal(nix::libc::SIGTERM) };
            attached.detach(&surface, exit).await;
        }
        UiOutcome { code, reason, error, signalled, recorded }
    }
}

async fn quit(ui: Ui) {
    let _ = ui.run(UiCommand::Exit).await;
}
