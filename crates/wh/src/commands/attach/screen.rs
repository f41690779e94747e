//! Attaches this terminal to a terminal program in the daemon. The daemon sends the terminal output to draw.

use std::process::ExitCode;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use wh_client::sender::DaemonConnection;
use wh_client::{Surface, SurfaceRequest, TerminalAttachment, UserTerminalEvent, UserTerminalMessage};
use wh_core::terminal::Exit;
use wh_screen::render::LEAVE_SCREEN;
use wh_wire::attach::{ATTACH_HEADER_BYTES, AttachInput, AttachOutput, decode_header};
use wh_wire::socket::AttachResponse;

use super::{AttachEnd, DetachKeys};
use crate::failure::CliFailure;
use crate::local_terminal::LocalTerminal;

/// Shows the session's screen until the user detaches or the session ends.
pub async fn show(
    attached: AttachResponse,
    line: DaemonConnection,
    tty: LocalTerminal,
    keys: DetachKeys,
) -> Result<ExitCode, CliFailure> {
    let (reader, writer) = line.into_halves();
    // A local terminal attaches to a surface. The task below serves this surface over the connection to the daemon.
    let (surface, mut requests) = Surface::new();
    let bridge = tokio::spawn(async move {
        match requests.recv().await {
            Some(SurfaceRequest::Attach(attachment)) => bridge(attachment, reader, writer, keys).await,
            _ => AttachEnd::Disconnected,
        }
    });
    let on_screen = tty.attach(&surface).await;
    let over = bridge.await.unwrap_or(AttachEnd::Disconnected);
    // If the connection broke, nothing has reset the terminal modes. For an exit by signal, `detach` resets them.
    let exit = if matches!(over, AttachEnd::Disconnected) { Exit::Signal(nix::libc::SIGTERM) } else { Exit::Code(0) };
    on_screen.detach(&surface, exit).await;
    over.report(&attached.session.name)
}

async fn bridge(
    attachment: TerminalAttachment,
    reader: BufReader<OwnedReadHalf>,
    mut writer: OwnedWriteHalf,
    keys: DetachKeys,
) -> AttachEnd {
    let TerminalAttachment { output, mut input, mut changes, .. } = attachment;
    let (frames, mut received) = mpsc::channel(1);
    let forwarding = tokio::spawn(forward_frames(reader, frames));
    let over = loop {
        let frame = tokio::select! {
            frame = received.recv() => match frame {
                Some(AttachOutput::Output(bytes)) => {
                    if output.send(UserTerminalMessage::Output(Bytes::from(bytes))).await.is_err() {
                        break AttachEnd::Detached;
                    }
                    continue;
                }
                Some(AttachOutput::Detached) => break AttachEnd::Detached,
                Some(AttachOutput::Ended(reason)) => break AttachEnd::Ended(reason),
                None => break AttachEnd::Disconnected,
            },
            typed = input.recv() => match typed {
                Some(bytes) if keys.are_in(&bytes) => {
                    let _ = output.send(UserTerminalMessage::Output(Bytes::from_static(LEAVE_SCREEN.as_bytes()))).await;
                    break AttachEnd::Detached;
                }
                Some(bytes) => AttachInput::Typed(bytes.to_vec()),
                None => break AttachEnd::Detached,
            },
            change = changes.recv() => match change {
                Some(UserTerminalEvent::Resized(size)) => AttachInput::Resized(size.columns, size.rows),
                Some(UserTerminalEvent::Continue) => AttachInput::Redraw,
                None => break AttachEnd::Detached,
            },
        };
        if writer.write_all(&frame.encode()).await.is_err() {
            break AttachEnd::Disconnected;
        }
    };
    forwarding.abort();
    over
}

/// Forwards frames from the daemon until the connection ends.
async fn forward_frames(mut reader: BufReader<OwnedReadHalf>, frames: mpsc::Sender<AttachOutput>) {
    let mut start = [0; ATTACH_HEADER_BYTES];
    while reader.read_exact(&mut start).await.is_ok() {
        let Ok((kind, length)) = decode_header(start) else { return };
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).await.is_err() {
            return;
        }
        let Ok(frame) = AttachOutput::decode(kind, body) else { return };
        if frames.send(frame).await.is_err() {
            return;
        }
    }
}
