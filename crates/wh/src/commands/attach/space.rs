//! Shows an agent's conversation in a UI in this process. The conversation itself stays in the daemon.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use wh_client::link::{self, LINK_VERSION, LinkEnd};
use wh_client::sender::DaemonConnection;
use wh_client::{Surface, SurfaceRequest, TerminalAttachment, Ui};
use wh_core::slash::UiCommand;
use wh_core::space::ParticipantId;
use wh_engine::terminal::UiTerminalSpec;
use wh_tui::{TuiExit, TuiOptions};
use wh_wire::socket::JoinResponse;

use super::{AttachEnd, DetachKeys};
use crate::commands::space::ThemeChoice;
use crate::failure::{CliFailure, code};
use crate::local_terminal::LocalTerminal;
use crate::settings::Settings;
use crate::signals::ExitSignals;
use crate::terminal_ui::TerminalUi;

/// Maximum number of keyboard reads queued for the UI. If the queue is full, input waits in the terminal.
const MAX_QUEUED_KEY_READS: usize = 16;

/// Returns the payload of the `join` request.
pub fn join(session: &str) -> Value {
    json!({ "session_id": session, "link": LINK_VERSION })
}

/// Shows the conversation until the user detaches or the conversation ends.
pub async fn show(
    joined: JoinResponse,
    line: DaemonConnection,
    tty: LocalTerminal,
    keys: DetachKeys,
    (theme, settings): (ThemeChoice, &Settings),
) -> Result<ExitCode, CliFailure> {
    let failed = |error: std::io::Error| CliFailure::new(code::FAILED, format!("cannot start the UI: {error}"));
    let mut signals = ExitSignals::new().map_err(failed)?;
    let (reader, writer) = line.into_halves();
    let (space, link) = link::connect(reader, writer);
    let link = tokio::spawn(link);
    let spec = UiTerminalSpec {
        command: vec!["wh".to_owned(), "attach".to_owned(), joined.session.name.clone()],
        size: tty.size(),
        attended: true,
        screen: None,
        recording: None,
        space: space.clone(),
        ledger: None,
    };
    let options = TuiOptions {
        theme: theme.theme(true),
        keys: Arc::new(settings.keys().clone()),
        bell: settings.bell(),
        agent: Some(joined.title),
        directory: PathBuf::from(&joined.session.cwd),
        ..TuiOptions::new(ParticipantId::from(joined.participant.as_str()))
    };
    let shown = match TerminalUi::start(spec, options).await {
        Ok(shown) => shown,
        Err(error) => {
            drop(space);
            return match link.await {
                Ok(LinkEnd::Over(reason)) => AttachEnd::Ended(reason).report(&joined.session.name),
                _ => Err(failed(error)),
            };
        }
    };
    drop(space);
    let front = intercept_detach_keys(keys, shown.surface().clone(), shown.ui().clone());
    let end = shown.until_exit(Some((tty, &front)), &mut signals).await;
    match end.reason {
        // The conversation has ended. The task of the connection returns the reason.
        Some(TuiExit::Space) => match link.await {
            Ok(LinkEnd::Over(reason)) => AttachEnd::Ended(reason),
            _ => AttachEnd::Disconnected,
        },
        _ if end.code != 0 => {
            return Err(CliFailure::new(end.code, end.error.unwrap_or_else(|| "the UI failed".to_owned())));
        }
        _ => AttachEnd::Detached,
    }
    .report(&joined.session.name)
}

/// Returns a surface that forwards all requests to `surface`, and exits the UI when a detach key is typed.
fn intercept_detach_keys(keys: DetachKeys, surface: Surface, ui: Ui) -> Surface {
    let (front, mut requests) = Surface::new();
    tokio::spawn(async move {
        while let Some(request) = requests.recv().await {
            let request = match request {
                SurfaceRequest::Attach(attachment) => {
                    let (typed, input) = mpsc::channel(MAX_QUEUED_KEY_READS);
                    let TerminalAttachment { size, output, input: keyboard, changes } = attachment;
                    tokio::spawn(pass_keys(keyboard, typed, keys.clone(), ui.clone()));
                    SurfaceRequest::Attach(TerminalAttachment { size, output, input, changes })
                }
                other => other,
            };
            if surface.pass(request).await.is_err() {
                return;
            }
        }
    });
    front
}

async fn pass_keys(mut keyboard: mpsc::Receiver<Bytes>, typed: mpsc::Sender<Bytes>, keys: DetachKeys, ui: Ui) {
    while let Some(bytes) = keyboard.recv().await {
        if keys.are_in(&bytes) {
            let _ = ui.run(UiCommand::Exit).await;
            return;
        }
        if typed.send(bytes).await.is_err() {
            return;
        }
    }
}
