//! Attaches a user's terminal to a session: draws screen changes on the terminal, and types the terminal's input into
//! the session. Several terminals can attach; the smallest determines the size.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tokio::io::AsyncReadExt;
use tokio::net::unix::OwnedWriteHalf;
use wh_client::{ConnectionOpener, ScreenReadOptions, SessionHandle, Surface};
use wh_core::caller::GuardedAction;
use wh_core::session::ScreenTiming;
use wh_core::terminal::{MAX_TERMINAL_SIZE, Size};
use wh_screen::render::{ENTER_SCREEN, LEAVE_SCREEN, ScreenMirror};
use wh_wire::attach::{ATTACH_HEADER_BYTES, AttachInput, AttachOutput, decode_header};
use wh_wire::socket::{AttachRequest, AttachResponse, ErrorCode, Failure, SocketResponse};

use super::SocketState;
use super::connection::{SocketReader, send};
use crate::bodies::summary;
use crate::closing::closed;

/// Checks that the caller may type into the session, and returns the surface to attach to.
pub(super) fn authorize(
    server: &SocketState,
    session: &Arc<SessionHandle>,
    opener: &ConnectionOpener,
) -> Result<Surface, Failure> {
    let ended = || {
        let message = format!("{} has ended; `wh logs` prints its output", session.name());
        Failure::new(ErrorCode::SessionNotFound, message)
    };
    let admitted = server.admission(session).admit(opener.origin(), GuardedAction::Attach);
    admitted.map_err(|refusal| Failure::new(ErrorCode::Unauthorized, refusal.to_string()))?;
    match (&session.surface, &session.conversation, session.ended()) {
        // A conversation can be viewed after its session has ended.
        (Some(surface), Some(_), _) | (Some(surface), None, None) => Ok(surface.clone()),
        _ => Err(ended()),
    }
}

/// Guard of the entry of a terminal or UI in a session's audience. Removes the entry when dropped.
pub(super) struct AudienceGuard<'a> {
    pub session: &'a SessionHandle,
    /// Surface to resize for the remaining terminals when the entry is removed. `None` for a UI, because a UI has its
    /// own screen.
    pub surface: Option<&'a Surface>,
    pub number: u64,
}

impl Drop for AudienceGuard<'_> {
    fn drop(&mut self) {
        let size = self.session.audience.leave(self.number);
        if let Some((size, surface)) = size.zip(self.surface.cloned()) {
            tokio::spawn(async move { surface.resize(size, None).await });
        }
    }
}

/// Returns the size of a terminal, enlarged to the minimum if needed; `None` if the size exceeds [`MAX_TERMINAL_SIZE`].
/// The limit bounds the memory for the screen.
fn plausible_size(columns: u16, rows: u16) -> Option<Size> {
    (columns <= MAX_TERMINAL_SIZE.columns && rows <= MAX_TERMINAL_SIZE.rows).then(|| Size::nearest(columns, rows))
}

pub(super) async fn serve(
    server: &SocketState,
    session: &SessionHandle,
    surface: Surface,
    wanted: AttachRequest,
    id: &str,
    mut reader: SocketReader,
    mut writer: OwnedWriteHalf,
) -> io::Result<()> {
    let (number, fits) = session.audience.enter(plausible_size(wanted.size.width, wanted.size.height));
    let guard = AudienceGuard { session, surface: Some(&surface), number };
    // A failed resize is not reported, because the user sees the actual size.
    if let Some(fits) = fits {
        let _ = surface.resize(fits, None).await;
    }
    let attached = AttachResponse { session: summary(session).await };
    send(&mut writer, &SocketResponse::ok(id, &attached).encode()).await?;
    send(&mut writer, &AttachOutput::Output(ENTER_SCREEN.as_bytes().to_vec()).encode()).await?;
    let last = show(server, &guard, &surface, &mut reader, &mut writer).await?;
    let Some(last) = last else { return Ok(()) };
    send(&mut writer, &AttachOutput::Output(LEAVE_SCREEN.as_bytes().to_vec()).encode()).await?;
    send(&mut writer, &last.encode()).await
}

/// Forwards screen changes and input until the session or the connection ends. Returns the last frame to send, or
/// `None` if the client has disconnected.
async fn show(
    server: &SocketState,
    guard: &AudienceGuard<'_>,
    surface: &Surface,
    reader: &mut SocketReader,
    writer: &mut OwnedWriteHalf,
) -> io::Result<Option<AttachOutput>> {
    let ends = |reason: &str| Ok(Some(AttachOutput::Ended(reason.to_owned())));
    let gone = || ends("the session has ended");
    let AudienceGuard { session, number, .. } = *guard;
    let Ok(watch) = surface.watch(true).await else { return gone() };
    let (mut frames, mut closing, mut redraw) = (watch.frames, server.closing.clone(), ScreenMirror::default());
    let mut over = false;
    let mut input = ClientFrames::default();
    let dismissed = session.audience.dismissed(number);
    tokio::pin!(dismissed);
    loop {
        frames.borrow_and_update();
        let Ok(shown) =
            surface.read_screen(ScreenReadOptions { timing: ScreenTiming::Now, ..ScreenReadOptions::default() }).await
        else {
            return gone();
        };
        let drawn = redraw.draw(&shown.frame);
        if !drawn.is_empty() {
            send(writer, &AttachOutput::Output(drawn.into_bytes()).encode()).await?;
        }
        if over {
            return ends(&format!("{} has ended", session.name()));
        }
        loop {
            tokio::select! {
                changed = frames.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return gone(),
                },
                said = input.next(reader) => match said? {
                    None => return Ok(None),
                    Some(AttachInput::Typed(bytes)) => {
                        session.audience.typed(number);
                        if surface.keyboard(Bytes::from(bytes)).await.is_err() {
                            return gone();
                        }
                    }
                    Some(AttachInput::Resized(columns, rows)) => {
                        if let Some(fits) = session.audience.resize(number, plausible_size(columns, rows)) {
                            let _ = surface.resize(fits, None).await;
                        }
                        redraw.invalidate();
                        break;
                    }
                    Some(AttachInput::Redraw) => {
                        redraw.invalidate();
                        break;
                    }
                },
                () = &mut dismissed => return Ok(Some(AttachOutput::Detached)),
                // A conversation can be viewed after its session has ended, a terminal program cannot.
                () = session.until_ended(), if session.conversation.is_none() => {
                    over = true;
                    break;
                }
                () = closed(&mut closing) => return ends("the daemon is stopping"),
            }
        }
    }
}

/// Buffers frames from the client, which may arrive in pieces.
#[derive(Default)]
struct ClientFrames(Vec<u8>);

impl ClientFrames {
    /// Returns the next frame; `None` at the end. Cancel safe: received bytes stay buffered.
    async fn next(&mut self, reader: &mut SocketReader) -> io::Result<Option<AttachInput>> {
        let bad = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        loop {
            if let Some(start) = self.0.first_chunk::<ATTACH_HEADER_BYTES>() {
                let (kind, length) = decode_header(*start).map_err(bad)?;
                if self.0.len() >= ATTACH_HEADER_BYTES + length {
                    let body = self.0[ATTACH_HEADER_BYTES..ATTACH_HEADER_BYTES + length].to_vec();
                    self.0.drain(..ATTACH_HEADER_BYTES + length);
                    return AttachInput::decode(kind, body).map(Some).map_err(bad);
                }
            }
            if reader.read_buf(&mut self.0).await? == 0 {
                return Ok(None);
            }
        }
    }
}
