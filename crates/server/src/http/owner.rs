//! Finds the socket at the other end of a TCP connection in the kernel's connection tables. Sockets of other machines
//! are not listed there.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};

use super::peer::ConnectionAddresses;

/// Owner and inode of a socket, as listed in the kernel's connection tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PeerSocket {
    /// User id of the socket's owner; 0 (root) after the socket is closed.
    uid: u32,
    /// Inode of the socket; 0 if no process has it open.
    pub inode: u64,
}

impl PeerSocket {
    /// Returns the user id of the process that has the socket open; `None` if no process has it open.
    pub fn owner(self) -> Option<u32> {
        (self.inode != 0).then_some(self.uid)
    }
}

/// Returns the sockets at the other ends of these connections, in order. `None` if a connection is not in the tables.
/// Blocks for a time proportional to the number of connections of the machine; call only on a blocking thread.
pub(super) fn sockets(peers: &[ConnectionAddresses]) -> Vec<Option<PeerSocket>> {
    let mut wanted: HashMap<(SocketAddr, SocketAddr), Vec<usize>> = HashMap::new();
    for (number, peer) in peers.iter().enumerate() {
        wanted.entry((canonical(peer.theirs), canonical(peer.ours))).or_default().push(number);
    }
    let ports: BTreeSet<u16> = peers.iter().map(|peer| peer.ours.port()).collect();
    let mut found = vec![None; peers.len()];
    let mut line = String::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let Ok(file) = File::open(table) else { continue };
        let mut lines = BufReader::with_capacity(64 << 10, file);
        loop {
            line.clear();
            if wanted.is_empty() || !matches!(lines.read_line(&mut line), Ok(1..)) {
                break;
            }
            let Some((ends, socket)) = row(&line, |port| ports.contains(&port)) else { continue };
            for number in wanted.remove(&ends).unwrap_or_default() {
                found[number] = Some(socket);
            }
        }
    }
    found
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Parses a row of a connection table. Returns the socket's own address, its remote address, and the socket. Returns
/// `None` if the row is malformed or `is_ours` is false for the remote port.
fn row(line: &str, is_ours: impl Fn(u16) -> bool) -> Option<((SocketAddr, SocketAddr), PeerSocket)> {
    let mut fields = line.split_whitespace().skip(1);
    let (theirs, ours) = (fields.next()?, fields.next()?);
    let port = u16::from_str_radix(ours.rsplit_once(':')?.1, 16).ok()?;
    if !is_ours(port) {
        return None;
    }
    let ends = (canonical(address(theirs)?), canonical(address(ours)?));
    let uid = fields.nth(4)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    Some((ends, PeerSocket { uid, inode }))
}

/// Parses an address of the table: the IP address in hexadecimal, in groups of four bytes in native byte order, and the
/// port.
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

    use super::*;

    #[test]
    fn a_row_has_both_ends_and_the_owner() {
        let row = |line: &str| row(line, |port| port == 8080);
        let line = "   1: 0100007F:A1B2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 424242 1 0000000000000000 20 4 30 10 -1";
        let ends = ("127.0.0.1:41394".parse().unwrap(), "127.0.0.1:8080".parse().unwrap());
        assert_eq!(row(line), Some((ends, PeerSocket { uid: 1000, inode: 424_242 })));
        let (_, closed) = row(&line.replace("424242", "0")).unwrap();
        assert_eq!(closed.owner(), None, "nobody has it open");
        let mapped = address("0000000000000000FFFF00000100007F:0050").unwrap();
        assert_eq!(mapped.ip().to_canonical(), IpAddr::from([127, 0, 0, 1]));
        assert_eq!(row(&line.replace("1F90", "1F91")), None);
        assert_eq!(row("  sl  local_address rem_address   st"), None);
    }

    #[test]
    fn the_owners_of_several_connections_are_found_in_one_reading() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = listener.local_addr().unwrap();
        let (_one, _two) = (TcpStream::connect(ours).unwrap(), TcpStream::connect(ours).unwrap());
        let accepted: Vec<_> = (0..2).map(|_| listener.accept().unwrap()).collect();
        let mut peers: Vec<ConnectionAddresses> =
            accepted.iter().map(|(_, theirs)| ConnectionAddresses { theirs: *theirs, ours }).collect();
        peers.push(ConnectionAddresses { theirs: "192.0.2.1:1".parse().unwrap(), ours });
        let me = nix::unistd::geteuid().as_raw();
        let owners: Vec<Option<u32>> = sockets(&peers).into_iter().map(|socket| socket?.owner()).collect();
        assert_eq!(owners, [Some(me), Some(me), None]);
    }
}
