//! The socket door: one JSON object a line, a request and its answer, several on one connection. Described for its users in
//! `docs/socket.md`.

mod attach;
mod connection;
mod join;
mod lines;
mod reader;
mod subscribe;

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tracing::{Instrument, debug, info_span, warn};
use wh_client::{Controller, Daemon, Opener, Session};
use wh_wire::socket::{ErrorCode, Response, UNKNOWN_REQUEST};

use crate::admission::Admission;
use crate::closing::{Closing, closed};
use crate::slots::{Evicted, Slot, Slots, Table};
use lines::LineBudget;

/// Connections of this user at once. For one more, one that waits for a request is closed.
const MAX_CONNECTIONS: usize = 512;

/// Connections of other users that are told at once that they are not admitted. Further ones are closed without an answer.
const MAX_STRANGERS: usize = 16;

/// Out of descriptors, say: others will be freed, and a tight loop would not help.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// What every connection knows.
#[derive(Clone)]
pub(crate) struct Door {
    daemon: Arc<dyn Daemon>,
    controller: Arc<dyn Controller>,
    started: Instant,
    closing: Closing,
    lines: LineBudget,
}

/// State of a connection, by which one is chosen to be closed for another.
#[derive(Debug)]
struct Facts {
    /// It has sent a request.
    asked: bool,
    /// Since when it has waited for a request; `None` while one is being answered, and for subscriptions and attached terminals.
    idle_since: Option<Instant>,
}

/// The connection that is closed for a new one: of those that never asked, and else of those that wait, the one that has waited for longest.
fn closed_first(table: &Table<Facts>) -> Option<u64> {
    let idle = table.iter().filter_map(|(number, facts)| Some((facts.asked, facts.idle_since?, number)));
    idle.min().map(|(_, _, number)| number)
}

impl Door {
    /// Admits callers to this session.
    fn admission(&self, session: &Arc<Session>) -> Admission {
        let (daemon, controller) = (Arc::clone(&self.daemon), Arc::clone(&self.controller));
        Admission::Session { daemon, controller, session: Arc::clone(session) }
    }
}

/// A descriptor of the process that opened the connection; `None` on systems that have none (Linux before 6.5). Fails if the process
/// has ended.
fn peer_pidfd(stream: &UnixStream) -> Result<Option<OwnedFd>, Errno> {
    let mut pidfd: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of_val(&pidfd)).map_err(|_| Errno::EINVAL)?;
    // SAFETY: the socket is open for the call, and both pointers are to variables of the sizes that are given.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            (&raw mut pidfd).cast(),
            &raw mut length,
        )
    };
    match Errno::result(failed) {
        Err(Errno::ENOPROTOOPT) => Ok(None),
        Err(error) => Err(error),
        Ok(_) if pidfd < 0 => Err(Errno::ESRCH),
        // SAFETY: the system has just opened this descriptor for us, and nobody else knows it.
        Ok(_) => Ok(Some(unsafe { OwnedFd::from_raw_fd(pidfd) })),
    }
}

/// Makes the socket, for this user alone. One that is there already is taken away: its owner is known to be gone.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    // The directory is this user's alone; nobody else has come so far.
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves until `closing` says so.
pub async fn serve(
    listener: UnixListener,
    daemon: Arc<dyn Daemon>,
    controller: Arc<dyn Controller>,
    mut closing: Closing,
) {
    let lines = LineBudget::default();
    let door = Door { daemon, controller, started: Instant::now(), closing: closing.clone(), lines };
    let slots = Slots::default();
    let strangers = Arc::new(Semaphore::new(MAX_STRANGERS));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => welcome(stream, &door, &slots, &strangers),
                Err(error) => {
                    debug!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            },
            () = closed(&mut closing) => return,
        }
    }
}

/// Admits a connection of this user. Never waits: the next one is accepted after it.
fn welcome(stream: UnixStream, door: &Door, slots: &Slots<Facts>, strangers: &Arc<Semaphore>) {
    let peer = match stream.peer_cred() {
        Ok(peer) => peer,
        Err(error) => return debug!(%error, "a connection without a peer"),
    };
    if peer.uid() != nix::unistd::geteuid().as_raw() {
        warn!(uid = peer.uid(), "another user was turned away");
        door.controller.refused_at_the_door("another_user", &format!("uid {}", peer.uid()));
        if let Ok(place) = Arc::clone(strangers).try_acquire_owned() {
            tokio::spawn(async move {
                connection::turn_away(stream).await;
                drop(place);
            });
        }
        return;
    }
    let Some((slot, evicted)) = enter(slots) else { return refuse(stream) };
    let serving = serve_one(stream, peer.pid(), door.clone(), slot, evicted);
    tokio::spawn(serving.instrument(info_span!("socket_connection")));
}

/// A slot for a new connection, if need be that of one that waits for a request.
fn enter(slots: &Slots<Facts>) -> Option<(Slot<Facts>, Evicted)> {
    let mut table = slots.lock();
    if table.len() >= MAX_CONNECTIONS {
        let number = closed_first(&table)?;
        table.evict(number);
    }
    drop(table);
    Some(slots.enter(Facts { asked: false, idle_since: Some(Instant::now()) }))
}

/// Says that every connection is in use.
fn refuse(stream: UnixStream) {
    let message = format!("all {MAX_CONNECTIONS} connections are in use; close one, or try again");
    let answer = Response::failed(UNKNOWN_REQUEST, ErrorCode::Busy, message).encode();
    // It fits into the buffer of a new connection; nobody waits for the peer.
    let _ = stream.into_std().and_then(|mut stream| stream.write_all(&answer));
}

async fn serve_one(stream: UnixStream, pid: Option<i32>, door: Door, slot: Slot<Facts>, evicted: Evicted) {
    // Traced now: who connects may be gone, or have lost its supervisor, when it is asked for.
    let (pid, pidfd) = (pid.unwrap_or_default(), peer_pidfd(&stream));
    let opener = tokio::task::spawn_blocking(move || match pidfd {
        Ok(pidfd) => Opener::trace(pid, pidfd),
        // It has ended, and its pid may be another's by now.
        Err(_) => Opener::default(),
    });
    let ended = tokio::select! {
        ended = connection::converse(stream, opener, door, &slot) => ended,
        _ = evicted => return debug!("a connection was closed to make room"),
    };
    if let Err(error) = ended {
        debug!(%error, "a connection broke");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_server_closes_who_waits_longest_and_those_first_that_never_asked() {
        let slots = Slots::default();
        let mut open: Vec<_> = (0..MAX_CONNECTIONS).map(|_| enter(&slots).unwrap()).collect();
        let is_open = |(_, evicted): &mut (Slot<Facts>, Evicted)| {
            evicted.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty)
        };
        // All but the last two have asked; the first of all waits for longest.
        for (slot, _) in &open[..MAX_CONNECTIONS - 2] {
            slot.update(|facts| facts.asked = true);
        }
        let mut late = Vec::new();
        for gone in [MAX_CONNECTIONS - 2, MAX_CONNECTIONS - 1] {
            late.push(enter(&slots).unwrap());
            late.last().unwrap().0.update(|facts| facts.idle_since = None);
            assert!(!is_open(&mut open[gone]));
        }
        assert!(open[..MAX_CONNECTIONS - 2].iter_mut().all(is_open));
        late.push(enter(&slots).unwrap());
        assert!(!is_open(&mut open[0]) && is_open(&mut open[1]));
        for (slot, _) in open.iter().chain(&late) {
            slot.update(|facts| facts.idle_since = None);
        }
        assert!(enter(&slots).is_none(), "nobody is closed who is being answered");
    }
}
