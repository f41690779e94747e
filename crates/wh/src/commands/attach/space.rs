//! An agent's conversation in a UI of its own, in this process; the daemon at the other end of the line has the
//! conversation.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use wh_client::link::{self, LINK_VERSION, LinkEnd};
use wh_client::sender::Line;
use wh_client::{Attachment, Request, Surface, Ui};
use wh_core::slash::UiCommand;
use wh_core::space::ParticipantId;
use wh_engine::terminal::HostSpec;
use wh_tui::{Left, Options};
use wh_wire::socket::Joined;

use super::{Keys, Over};
use crate::commands::space::ThemeChoice;
use crate::failure::{Failure, code};
use crate::person::Person;
use crate::settings::Settings;
use crate::shown::ShownUi;
use crate::signals::Signals;

/// Pieces of typing that may wait for the UI. Beyond that they wait in the terminal.
const INPUT_PIECES: usize = 16;

/// The request that opens a conversation.
pub fn join(session: &str) -> Value {
    json!({ "session_id": session, "link": LINK_VERSION })
}

/// Shows the conversation until the person leaves or it is over.
pub async fn show(
    joined: Joined,
    line: Line,
    person: Person,
    keys: Keys,
    (theme, settings): (ThemeChoice, &Settings),
) -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| Failure::new(code::FAILED, format!("cannot start: {error}"));
    let mut signals = Signals::new().map_err(failed)?;
    let (reader, writer) = line.into_halves();
    let (space, link) = link::connect(reader, writer);
    let link = tokio::spawn(link);
    let spec = HostSpec {
        command: vec!["wh".to_owned(), "attach".to_owned(), joined.session.name.clone()],
        size: person.size(),
        attended: true,
        screen: None,
        recording: None,
        space: space.clone(),
        ledger: None,
    };
    let options = Options {
        theme: theme.theme(true),
        keys: Arc::new(settings.keys().clone()),
        bell: settings.bell(),
        agent: Some(joined.title),
        directory: PathBuf::from(&joined.session.cwd),
        ..Options::new(ParticipantId::from(joined.participant.as_str()))
    };
    let shown = match ShownUi::start(spec, options).await {
        Ok(shown) => shown,
        Err(error) => {
            drop(space);
            return match link.await {
                Ok(LinkEnd::Over(reason)) => Over::Said(reason).tell(&joined.session.name),
                _ => Err(failed(error)),
            };
        }
    };
    drop(space);
    let front = watch_for(keys, shown.surface().clone(), shown.ui().clone());
    let end = shown.until_left(Some((person, &front)), &mut signals).await;
    match end.left {
        // The conversation is gone: the line says why.
        Some(Left::Space) => match link.await {
            Ok(LinkEnd::Over(reason)) => Over::Said(reason),
            _ => Over::Broken,
        },
        _ if end.code != 0 => {
            return Err(Failure::new(end.code, end.wrong.unwrap_or_else(|| "the UI failed".to_owned())));
        }
        _ => Over::Left,
    }
    .tell(&joined.session.name)
}

/// A surface for a person's terminal that passes everything on, and has the UI leave when one of these keys is typed.
fn watch_for(keys: Keys, surface: Surface, ui: Ui) -> Surface {
    let (front, mut requests) = Surface::new();
    tokio::spawn(async move {
        while let Some(request) = requests.recv().await {
            let request = match request {
                Request::Attach(attachment) => {
                    let (typed, input) = mpsc::channel(INPUT_PIECES);
                    let Attachment { size, output, input: keyboard, changes } = attachment;
                    tokio::spawn(pass_keys(keyboard, typed, keys.clone(), ui.clone()));
                    Request::Attach(Attachment { size, output, input, changes })
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

async fn pass_keys(mut keyboard: mpsc::Receiver<Bytes>, typed: mpsc::Sender<Bytes>, keys: Keys, ui: Ui) {
    while let Some(bytes) = keyboard.recv().await {
        if keys.leave(&bytes) {
            let _ = ui.run(UiCommand::Exit).await;
            return;
        }
        if typed.send(bytes).await.is_err() {
            return;
        }
    }
}
