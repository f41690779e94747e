//! Which processes are at the other end of a connection of this machine, as far as that can be seen: a process of a session may not
//! answer that session's own questions, by whatever door it comes.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use wh_client::processes_in;

/// Both ends of the connection that a request came by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    /// The caller's end.
    pub theirs: SocketAddr,
    /// Ours.
    pub ours: SocketAddr,
}

impl Peer {
    /// Whether a process of this session may be at the other end: one of its processes has the connection, or does not let itself be
    /// looked at, or whoever had the connection has closed it already. A caller on another machine is none.
    pub fn may_be_inside(self, session: &str) -> bool {
        if !self.theirs.ip().to_canonical().is_loopback() {
            return false;
        }
        let Some(inode) = self.inode() else { return true };
        let socket = format!("socket:[{inode}]");
        processes_in(session).into_iter().any(|pid| match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(open) => open.flatten().any(|entry| points_to(&entry.path(), &socket)),
            // It may have ended since.
            Err(_) => Path::new(&format!("/proc/{pid}")).exists(),
        })
    }

    /// What the system calls the caller's end.
    fn inode(self) -> Option<u64> {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
        let lines = tables.iter().flatten().flat_map(|table| table.lines().skip(1));
        lines
            .filter_map(entry)
            .find(|(theirs, ours, _)| self.is(*theirs, *ours))
            .map(|(.., inode)| inode)
            .filter(|inode| *inode != 0)
    }

    fn is(self, theirs: SocketAddr, ours: SocketAddr) -> bool {
        let same = |one: SocketAddr, other: SocketAddr| {
            one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
        };
        same(theirs, self.theirs) && same(ours, self.ours)
    }
}

fn points_to(link: &Path, socket: &str) -> bool {
    fs::read_link(link).is_ok_and(|target| target.as_os_str() == socket)
}

/// One line of the system's table of connections: its end, the other end, and what the first is called.
fn entry(line: &str) -> Option<(SocketAddr, SocketAddr, u64)> {
    let mut fields = line.split_whitespace();
    let (theirs, ours) = (address(fields.nth(1)?)?, address(fields.next()?)?);
    Some((theirs, ours, fields.nth(6)?.parse().ok()?))
}

/// An address as the table has it: groups of four bytes in the machine's own order, all in hexadecimal, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    for group in address.as_bytes().chunks(8) {
        let group = u32::from_str_radix(str::from_utf8(group).ok()?, 16).ok()?;
        bytes.extend(group.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        16 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_line_of_the_table_is_read() {
        let line = "   1: 0100007F:A1B2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 424242 1 0000000000000000 20 4 30 10 -1";
        let (theirs, ours, inode) = entry(line).unwrap();
        assert_eq!(
            (theirs, ours, inode),
            ("127.0.0.1:41394".parse().unwrap(), "127.0.0.1:8080".parse().unwrap(), 424_242)
        );
        assert_eq!(
            address("0000000000000000FFFF00000100007F:0050").unwrap().ip().to_canonical(),
            IpAddr::from([127, 0, 0, 1])
        );
        assert_eq!(entry("sl local_address rem_address st"), None);
    }

    #[test]
    fn a_connection_of_a_process_inside_is_known_and_that_of_another_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = listener.local_addr().unwrap();
        let own = TcpStream::connect(ours).unwrap();
        let mut child = Command::new("bash")
            .args(["-c", &format!("exec 3<>/dev/tcp/127.0.0.1/{}; env -u WH_SESSION cat; true", ours.port())])
            .env("WH_SESSION", "s-peer")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (_first, of_own) = listener.accept().unwrap();
        let (_second, of_child) = listener.accept().unwrap();
        assert_eq!(of_own, own.local_addr().unwrap());
        assert!(!Peer { theirs: of_own, ours }.may_be_inside("s-peer"));
        assert!(Peer { theirs: of_child, ours }.may_be_inside("s-peer"));
        assert!(!Peer { theirs: of_child, ours }.may_be_inside("s-other"));
        drop(own);
        assert!(Peer { theirs: of_own, ours }.may_be_inside("s-peer"), "who has closed it is not known");
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
