//! The screen of a terminal program, drawn by the daemon and shown on this terminal.

use std::process::ExitCode;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use wh_client::sender::Line;
use wh_client::{Attachment, FromTerminal, Request, Surface, ToTerminal};
use wh_core::terminal::Exit;
use wh_screen::render::LEAVE;
use wh_wire::attach::{FromPerson, HEADER, ToPerson, header};
use wh_wire::socket::Attached;

use super::{Keys, Over};
use crate::failure::Failure;
use crate::person::Person;

/// Shows the session's screen until the person leaves or it is over.
pub async fn show(attached: Attached, line: Line, person: Person, keys: Keys) -> Result<ExitCode, Failure> {
    let (reader, writer) = line.into_halves();
    // What a person's terminal is attached to: here a line to the daemon stands behind it.
    let (surface, mut requests) = Surface::new();
    let bridge = tokio::spawn(async move {
        match requests.recv().await {
            Some(Request::Attach(attachment)) => bridge(attachment, reader, writer, keys).await,
            _ => Over::Broken,
        }
    });
    let on_screen = person.attach(&surface).await;
    let over = bridge.await.unwrap_or(Over::Broken);
    // A daemon that is gone has switched nothing off.
    let exit = if matches!(over, Over::Broken) { Exit::Signal(nix::libc::SIGTERM) } else { Exit::Code(0) };
    on_screen.detach(&surface, exit).await;
    over.tell(&attached.session.name)
}

async fn bridge(
    attachment: Attachment,
    reader: BufReader<OwnedReadHalf>,
    mut writer: OwnedWriteHalf,
    keys: Keys,
) -> Over {
    let Attachment { output, mut input, mut changes, .. } = attachment;
    let (tell, mut said) = mpsc::channel(1);
    let hears = tokio::spawn(hear(reader, tell));
    let over = loop {
        let frame = tokio::select! {
            heard = said.recv() => match heard {
                Some(ToPerson::Draw(bytes)) => {
                    if output.send(ToTerminal::Output(Bytes::from(bytes))).await.is_err() {
                        break Over::Left;
                    }
                    continue;
                }
                Some(ToPerson::Left) => break Over::Left,
                Some(ToPerson::Over(reason)) => break Over::Said(reason),
                None => break Over::Broken,
            },
            typed = input.recv() => match typed {
                Some(bytes) if keys.leave(&bytes) => {
                    let _ = output.send(ToTerminal::Output(Bytes::from_static(LEAVE.as_bytes()))).await;
                    break Over::Left;
                }
                Some(bytes) => FromPerson::Typed(bytes.to_vec()),
                None => break Over::Left,
            },
            change = changes.recv() => match change {
                Some(FromTerminal::Resized(size)) => FromPerson::Resized(size.columns, size.rows),
                Some(FromTerminal::Continue) => FromPerson::Back,
                None => break Over::Left,
            },
        };
        if writer.write_all(&frame.encode()).await.is_err() {
            break Over::Broken;
        }
    };
    hears.abort();
    over
}

/// Reads frames until there are no more.
async fn hear(mut reader: BufReader<OwnedReadHalf>, tell: mpsc::Sender<ToPerson>) {
    let mut start = [0; HEADER];
    while reader.read_exact(&mut start).await.is_ok() {
        let Ok((kind, length)) = header(start) else { return };
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).await.is_err() {
            return;
        }
        let Ok(frame) = ToPerson::decode(kind, body) else { return };
        if tell.send(frame).await.is_err() {
            return;
        }
    }
}
