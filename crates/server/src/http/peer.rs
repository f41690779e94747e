//! Finds the process at the other end of a TCP connection: looks up the socket in the kernel's connection table, and
//! then the process that has the socket open. [`wh_core::caller`] decides which actions the caller may perform.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use wh_client::trace::{self, TRACE_TIMEOUT};
use wh_core::caller::Origin;

use super::owner::{PeerSocket, sockets};

/// Addresses of both ends of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionAddresses {
    /// Address of the caller.
    pub theirs: SocketAddr,
    /// Address of the server.
    pub ours: SocketAddr,
}

/// Caller of a connection. The caller's origin is determined at the first request that needs the origin, and is cached
/// for the connection. The cached origin stays correct: a process cannot leave its session, and only the process that
/// opened a connection can pass the connection to another process.
#[derive(Debug, Clone, Default)]
pub(super) struct Peer {
    /// Addresses of the connection. `None` if they are unknown; the caller is then untraceable.
    ends: Option<ConnectionAddresses>,
    origin: Arc<OnceCell<Origin>>,
}

impl Peer {
    pub fn of(stream: &TcpStream) -> Self {
        let ends = match (stream.peer_addr(), stream.local_addr()) {
            (Ok(theirs), Ok(ours)) => Some(ConnectionAddresses { theirs, ours }),
            _ => None,
        };
        Self { ends, origin: Arc::default() }
    }

    /// Returns the addresses of the connection.
    pub fn ends(&self) -> Option<ConnectionAddresses> {
        self.ends
    }

    pub async fn origin(&self) -> Origin {
        let Some(ends) = self.ends else { return Origin::Untraceable };
        let trace = async {
            let looking = tokio::task::spawn_blocking(move || ends.origin());
            match tokio::time::timeout(TRACE_TIMEOUT, looking).await {
                Ok(Ok(origin)) => origin,
                _ => Origin::Untraceable,
            }
        };
        self.origin.get_or_init(|| trace).await.clone()
    }
}

impl Peer {
    /// Returns the caller's working directory; `None` if the caller is on another machine or cannot be traced.
    pub async fn directory(&self) -> Option<PathBuf> {
        let ends = self.ends?;
        let looking = tokio::task::spawn_blocking(move || ends.directory());
        tokio::time::timeout(TRACE_TIMEOUT, looking).await.ok()?.ok()?
    }
}

impl<S: Sync> FromRequestParts<S> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

impl ConnectionAddresses {
    /// Finds the caller's working directory, if the caller is a process of this machine. Blocks.
    fn directory(self) -> Option<PathBuf> {
        let socket = sockets(&[self]).into_iter().next().flatten()?;
        if socket.inode == 0 { None } else { trace::directory_of_socket(socket.inode) }
    }

    /// Finds the caller's origin. Blocks. A caller on another machine counts as outside of all sessions. A local caller
    /// is untraceable if it has closed the connection or its process cannot be found.
    pub fn origin(self) -> Origin {
        match sockets(&[self]).into_iter().next().flatten() {
            Some(PeerSocket { inode: 0, .. }) => Origin::Untraceable,
            Some(PeerSocket { inode, .. }) => trace::origin_of_socket(inode),
            None if is_local(self.theirs) => Origin::Untraceable,
            None => Origin::Outside,
        }
    }
}

/// Returns false if the address certainly belongs to another machine. Tries to bind a socket to the address, which the
/// kernel allows only for local addresses.
fn is_local(address: SocketAddr) -> bool {
    let mut wanted = SocketAddr::new(address.ip().to_canonical(), 0);
    if let (SocketAddr::V6(wanted), SocketAddr::V6(given)) = (&mut wanted, address) {
        wanted.set_scope_id(given.scope_id());
    }
    match UdpSocket::bind(wanted) {
        Err(error) => error.kind() != io::ErrorKind::AddrNotAvailable,
        Ok(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_connection_is_traced_to_the_process_that_has_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = listener.local_addr().unwrap();
        let own = TcpStream::connect(ours).unwrap();
        let mut child = Command::new("bash")
            .args(["-c", &format!("exec 3<>/dev/tcp/127.0.0.1/{}; cat; true", ours.port())])
            .current_dir("/")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (_first, of_own) = listener.accept().unwrap();
        let (_second, of_child) = listener.accept().unwrap();
        assert_eq!(of_own, own.local_addr().unwrap());
        let origin = |theirs| ConnectionAddresses { theirs, ours }.origin();
        assert_eq!(origin(of_own), Origin::Outside);
        // Child of this process, without a supervisor.
        assert_eq!(origin(of_child), Origin::Elsewhere);
        let directory = |theirs| ConnectionAddresses { theirs, ours }.directory();
        assert_eq!(directory(of_own), std::env::current_dir().ok());
        assert_eq!(directory(of_child), Some(PathBuf::from("/")));
        drop(own);
        assert_eq!(origin(of_own), Origin::Untraceable, "it was closed, and nobody knows by whom");
        assert_eq!(directory(of_own), None);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn only_a_caller_on_another_machine_needs_no_process() {
        let ours = "127.0.0.1:1".parse().unwrap();
        for (address, expected) in [
            ("127.0.0.1:9", Origin::Untraceable),
            ("127.3.2.1:9", Origin::Untraceable),
            ("[::ffff:127.0.0.1]:9", Origin::Untraceable),
            ("203.0.113.7:9", Origin::Outside),
            ("[::ffff:203.0.113.7]:9", Origin::Outside),
        ] {
            assert_eq!(ConnectionAddresses { theirs: address.parse().unwrap(), ours }.origin(), expected, "{address}");
        }
    }
}
