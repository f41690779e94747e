//! The socket server: line-delimited JSON requests and responses. Documented in `docs/socket.md`.

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
use wh_client::{ConnectionOpener, ControlHandler, SessionHandle, SessionManager};
use wh_wire::socket::{ErrorCode, SocketResponse, UNKNOWN_REQUEST};

use crate::admission::Admission;
use crate::closing::{ShutdownWatch, closed};
use crate::slots::{EvictionSignal, Slot, SlotTable, Slots};
use lines::LineBudget;

/// Maximum number of connections of this user. At this limit, an idle connection is closed for each new connection.
const MAX_CONNECTIONS: usize = 512;

/// Maximum number of connections of other users that receive a refusal message at the same time. Further connections
/// are closed without a response.
const MAX_FOREIGN_CONNECTIONS: usize = 16;

/// Delay after a failed accept, for example when file descriptors are exhausted.
const SOCKET_ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// State of the socket server, shared by all connections.
#[derive(Clone)]
pub(crate) struct SocketState {
    daemon: Arc<dyn SessionManager>,
    controller: Arc<dyn ControlHandler>,
    started: Instant,
    closing: ShutdownWatch,
    lines: LineBudget,
}

/// State of a connection, used to choose the connection to evict.
#[derive(Debug)]
struct SocketConnectionState {
    /// True if the client has sent a request.
    asked: bool,
    /// Start of the idle time; `None` during a request, and for subscriptions and attached terminals.
    idle_since: Option<Instant>,
}

/// Chooses the idle connection to evict. Connections that never sent a request come first, then the longest idle.
fn eviction_candidate(table: &SlotTable<SocketConnectionState>) -> Option<u64> {
    let idle = table.iter().filter_map(|(number, facts)| Some((facts.asked, facts.idle_since?, number)));
    idle.min().map(|(_, _, number)| number)
}

impl SocketState {
    /// Returns the admission rules of a session.
    fn admission(&self, session: &Arc<SessionHandle>) -> Admission {
        let (daemon, controller) = (Arc::clone(&self.daemon), Arc::clone(&self.controller));
        Admission::Session { daemon, controller, session: Arc::clone(session) }
    }
}

/// Returns a pidfd of the process that opened the connection. `None` if the kernel does not support `SO_PEERPIDFD`
/// (Linux before 6.5). Fails if the process has exited.
fn peer_pidfd(stream: &UnixStream) -> Result<Option<OwnedFd>, Errno> {
    let mut pidfd: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of_val(&pidfd)).map_err(|_| Errno::EINVAL)?;
    // SAFETY: the socket is open during the call, and both pointers refer to variables of the given sizes.
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
        // SAFETY: the kernel has just opened this descriptor, and it has no other owner.
        Ok(_) => Ok(Some(unsafe { OwnedFd::from_raw_fd(pidfd) })),
    }
}

/// Creates the socket with mode 0600. Removes an existing socket file first; the caller must hold the daemon's lock.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    // The directory is private to this user, so no other user could connect before the mode was set.
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves connections until `closing` is true.
pub async fn serve(
    listener: UnixListener,
    daemon: Arc<dyn SessionManager>,
    controller: Arc<dyn ControlHandler>,
    mut closing: ShutdownWatch,
) {
    let lines = LineBudget::default();
    let server = SocketState { daemon, controller, started: Instant::now(), closing: closing.clone(), lines };
    let slots = Slots::default();
    let strangers = Arc::new(Semaphore::new(MAX_FOREIGN_CONNECTIONS));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => start_serving(stream, &server, &slots, &strangers),
                Err(error) => {
                    debug!(%error, "cannot accept a connection");
                    tokio::time::sleep(SOCKET_ACCEPT_RETRY_DELAY).await;
                }
            },
            () = closed(&mut closing) => return,
        }
    }
}

/// Starts serving a connection, or refuses it if it belongs to another user. Never blocks the accept loop.
fn start_serving(
    stream: UnixStream,
    server: &SocketState,
    slots: &Slots<SocketConnectionState>,
    strangers: &Arc<Semaphore>,
) {
    let peer = match stream.peer_cred() {
        Ok(peer) => peer,
        Err(error) => return debug!(%error, "cannot read the peer of a connection"),
    };
    if peer.uid() != nix::unistd::geteuid().as_raw() {
        warn!(uid = peer.uid(), "refused a connection of another user");
        server.controller.audit_rejected("another_user", &format!("uid {}", peer.uid()));
        if let Ok(place) = Arc::clone(strangers).try_acquire_owned() {
            tokio::spawn(async move {
                connection::refuse_foreign_user(stream).await;
                drop(place);
            });
        }
        return;
    }
    let Some((slot, evicted)) = enter(slots) else { return refuse(stream) };
    let serving = serve_one(stream, peer.pid(), server.clone(), slot, evicted);
    tokio::spawn(serving.instrument(info_span!("socket_connection")));
}

/// Takes a slot for a new connection, evicting an idle one if necessary.
fn enter(slots: &Slots<SocketConnectionState>) -> Option<(Slot<SocketConnectionState>, EvictionSignal)> {
    let mut table = slots.lock();
    if table.len() >= MAX_CONNECTIONS {
        let number = eviction_candidate(&table)?;
        table.evict(number);
    }
    drop(table);
    Some(slots.enter(SocketConnectionState { asked: false, idle_since: Some(Instant::now()) }))
}

/// Refuses a connection because all slots are in use.
fn refuse(stream: UnixStream) {
    let message = format!("all {MAX_CONNECTIONS} connections are in use; close one or retry");
    let answer = SocketResponse::failed(UNKNOWN_REQUEST, ErrorCode::Busy, message).encode();
    // The message fits into the socket buffer of a new connection, so the write does not block.
    let _ = stream.into_std().and_then(|mut stream| stream.write_all(&answer));
}

async fn serve_one(
    stream: UnixStream,
    pid: Option<i32>,
    server: SocketState,
    slot: Slot<SocketConnectionState>,
    evicted: EvictionSignal,
) {
    // The caller is traced now, because its process may exit or lose its supervisor later.
    let (pid, pidfd) = (pid.unwrap_or_default(), peer_pidfd(&stream));
    let opener = tokio::task::spawn_blocking(move || match pidfd {
        Ok(pidfd) => ConnectionOpener::trace(pid, pidfd),
        // The process has exited, and its pid may have been reused.
        Err(_) => ConnectionOpener::default(),
    });
    let ended = tokio::select! {
        ended = connection::serve_requests(stream, opener, server, &slot) => ended,
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
    fn a_full_server_evicts_idle_connections_without_requests_first() {
        let slots = Slots::default();
        let mut open: Vec<_> = (0..MAX_CONNECTIONS).map(|_| enter(&slots).unwrap()).collect();
        let is_open = |(_, evicted): &mut (Slot<SocketConnectionState>, EvictionSignal)| {
            evicted.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty)
        };
        // All but the last two have sent a request; the first has been idle for longest.
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
