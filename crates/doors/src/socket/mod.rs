//! The socket door: one JSON object a line, a request and its answer, several on one connection. Described for its users in
//! `docs/socket.md`.

mod attach;
mod connection;
mod lines;
mod subscribe;

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::libc;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tracing::{debug, warn};
use wh_client::{Controller, Daemon, Opener, Session};

use crate::admission::Admission;
use crate::http::serve::{Closing, closed};

/// Connections at once. Further ones wait in the system's queue.
const MOST_CONNECTIONS: usize = 512;

/// Out of descriptors, say: others will be freed, and a tight loop would not help.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// What every connection knows.
#[derive(Clone)]
pub(crate) struct Door {
    daemon: Arc<dyn Daemon>,
    controller: Arc<dyn Controller>,
    started: Instant,
    closing: Closing,
}

impl Door {
    /// Admits callers to this session.
    fn admission(&self, session: &Arc<Session>) -> Admission {
        let (daemon, controller) = (Arc::clone(&self.daemon), Arc::clone(&self.controller));
        Admission::Session { daemon, controller, session: Arc::clone(session) }
    }
}

/// A descriptor of the process that opened the connection; `None` on systems that have none (Linux before 6.5).
fn peer_pidfd(stream: &UnixStream) -> Option<OwnedFd> {
    let mut pidfd: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of_val(&pidfd)).ok()?;
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
    if failed != 0 || pidfd < 0 {
        return None;
    }
    // SAFETY: the system has just opened this descriptor for us, and nobody else knows it.
    Some(unsafe { OwnedFd::from_raw_fd(pidfd) })
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
    let door = Door { daemon, controller, started: Instant::now(), closing: closing.clone() };
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let accept = async {
            let place = Arc::clone(&places).acquire_owned().await.ok();
            (place, listener.accept().await)
        };
        tokio::select! {
            (place, accepted) = accept => match accepted {
                Ok((stream, _)) => {
                    let door = door.clone();
                    tokio::spawn(async move {
                        welcome(stream, door).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    debug!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            },
            () = closed(&mut closing) => return,
        }
    }
}

/// Lets one in who is this user.
async fn welcome(stream: UnixStream, door: Door) {
    let peer = match stream.peer_cred() {
        Ok(peer) => peer,
        Err(error) => return debug!(%error, "a connection without a peer"),
    };
    if peer.uid() != nix::unistd::geteuid().as_raw() {
        warn!(uid = peer.uid(), "another user was turned away");
        door.controller.refused_at_the_door("another_user", &format!("uid {}", peer.uid()));
        return connection::turn_away(stream).await;
    }
    // Traced now: who connects may be gone, or have lost its supervisor, when it is asked for.
    let (pid, pidfd) = (peer.pid().unwrap_or_default(), peer_pidfd(&stream));
    let opener = tokio::task::spawn_blocking(move || Opener::trace(pid, pidfd.as_ref()));
    if let Err(error) = connection::converse(stream, opener, door).await {
        debug!(%error, "a connection broke");
    }
}
