//! A person's terminal on a session: its screen is drawn there by what has changed, and what is typed there is typed here. Several
//! may be attached; the smallest decides the size.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tokio::io::AsyncReadExt;
use tokio::net::unix::OwnedWriteHalf;
use wh_client::{Look, Opener, Session, Surface};
use wh_core::caller::Act;
use wh_core::session::Sight;
use wh_core::terminal::{LARGEST, Size};
use wh_screen::render::{ENTER, LEAVE, Redraw};
use wh_wire::attach::{FromPerson, HEADER, ToPerson, header};
use wh_wire::socket::{Attach, Attached, ErrorCode, Failure, Response};

use super::Door;
use super::connection::{Reader, send};
use crate::bodies::summary;
use crate::closing::closed;

/// The surface to attach to, unless the caller may not type there.
pub(super) fn may(door: &Door, session: &Arc<Session>, opener: &Opener) -> Result<Surface, Failure> {
    let ended = || {
        let message = format!("{} has ended; `wh logs` tells what it said", session.name());
        Failure::new(ErrorCode::SessionNotFound, message)
    };
    let admitted = door.admission(session).admit(opener.origin(), Act::Attach);
    admitted.map_err(|refusal| Failure::new(ErrorCode::Unauthorized, refusal.to_string()))?;
    match (&session.surface, &session.conversation, session.ended()) {
        // What was said can be looked at after the end.
        (Some(surface), Some(_), _) | (Some(surface), None, None) => Ok(surface.clone()),
        _ => Err(ended()),
    }
}

/// An entry of a session's audience, removed when it is dropped.
pub(super) struct Seat<'a> {
    pub session: &'a Session,
    /// The screen that takes the size of those who stay; `None` for a UI with a screen of its own.
    pub surface: Option<&'a Surface>,
    pub number: u64,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let size = self.session.audience.leave(self.number);
        if let Some((size, surface)) = size.zip(self.surface.cloned()) {
            tokio::spawn(async move { surface.resize(size, None).await });
        }
    }
}

/// The size of a person's terminal, if it counts: one beyond [`LARGEST`] is no terminal's, and the memory for such a screen is not spent on it.
fn counted(columns: u16, rows: u16) -> Option<Size> {
    (columns <= LARGEST.columns && rows <= LARGEST.rows).then(|| Size::nearest(columns, rows))
}

pub(super) async fn serve(
    door: &Door,
    session: &Session,
    surface: Surface,
    wanted: Attach,
    id: &str,
    mut reader: Reader,
    mut writer: OwnedWriteHalf,
) -> io::Result<()> {
    let (number, fits) = session.audience.enter(counted(wanted.size.width, wanted.size.height));
    let seat = Seat { session, surface: Some(&surface), number };
    // A size that cannot be had is seen on the screen.
    if let Some(fits) = fits {
        let _ = surface.resize(fits, None).await;
    }
    let attached = Attached { session: summary(session).await };
    send(&mut writer, &Response::ok(id, &attached).encode()).await?;
    send(&mut writer, &ToPerson::Draw(ENTER.as_bytes().to_vec()).encode()).await?;
    let last = show(door, &seat, &surface, &mut reader, &mut writer).await?;
    let Some(last) = last else { return Ok(()) };
    send(&mut writer, &ToPerson::Draw(LEAVE.as_bytes().to_vec()).encode()).await?;
    send(&mut writer, &last.encode()).await
}

/// Draws and types until it is over; the last word, if the person is still there to hear it.
async fn show(
    door: &Door,
    seat: &Seat<'_>,
    surface: &Surface,
    reader: &mut Reader,
    writer: &mut OwnedWriteHalf,
) -> io::Result<Option<ToPerson>> {
    let ends = |reason: &str| Ok(Some(ToPerson::Over(reason.to_owned())));
    let gone = || ends("the session is gone");
    let Seat { session, number, .. } = *seat;
    let Ok(watch) = surface.watch(true).await else { return gone() };
    let (mut frames, mut closing, mut redraw) = (watch.frames, door.closing.clone(), Redraw::default());
    let mut over = false;
    let mut input = Input::default();
    let dismissed = session.audience.dismissed(number);
    tokio::pin!(dismissed);
    loop {
        frames.borrow_and_update();
        let Ok(shown) = surface.look(Look { sight: Sight::Now, ..Look::default() }).await else { return gone() };
        let drawn = redraw.draw(&shown.frame);
        if !drawn.is_empty() {
            send(writer, &ToPerson::Draw(drawn.into_bytes()).encode()).await?;
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
                    Some(FromPerson::Typed(bytes)) => {
                        session.audience.typed(number);
                        if surface.keyboard(Bytes::from(bytes)).await.is_err() {
                            return gone();
                        }
                    }
                    Some(FromPerson::Resized(columns, rows)) => {
                        if let Some(fits) = session.audience.resize(number, counted(columns, rows)) {
                            let _ = surface.resize(fits, None).await;
                        }
                        redraw.forget();
                        break;
                    }
                    Some(FromPerson::Back) => {
                        redraw.forget();
                        break;
                    }
                },
                () = &mut dismissed => return Ok(Some(ToPerson::Left)),
                // What an agent has said can still be looked at; a program's terminal is over.
                () = session.until_ended(), if session.conversation.is_none() => {
                    over = true;
                    break;
                }
                () = closed(&mut closing) => return ends("the daemon is stopping"),
            }
        }
    }
}

/// Frames from the person's side; a frame may come in pieces.
#[derive(Default)]
struct Input(Vec<u8>);

impl Input {
    /// The next frame; nothing at the end. Cancel safe: what has come is kept.
    async fn next(&mut self, reader: &mut Reader) -> io::Result<Option<FromPerson>> {
        let bad = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        loop {
            if let Some(start) = self.0.first_chunk::<HEADER>() {
                let (kind, length) = header(*start).map_err(bad)?;
                if self.0.len() >= HEADER + length {
                    let body = self.0[HEADER..HEADER + length].to_vec();
                    self.0.drain(..HEADER + length);
                    return FromPerson::decode(kind, body).map(Some).map_err(bad);
                }
            }
            if reader.read_buf(&mut self.0).await? == 0 {
                return Ok(None);
            }
        }
    }
}
