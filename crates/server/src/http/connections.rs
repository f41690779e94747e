//! Limits the number of open TCP connections per class. The accept loop accepts every connection; if a class then has
//! too many connections, one connection of that class is closed. Idle connections therefore cannot block other classes.
//!
//! | class | members | at most | closed when full |
//! |---|---|---|---|
//! | trusted | sent the token; if none is required: of this user | 256 | longest idle, else the new one (503) |
//! | pending | of this user, no request admitted yet | 64 | oldest idle |
//! | other | of another user or machine, without a token | 16 | oldest idle of the owner with the most connections |
//! | unchecked | owner not looked up yet | 8, and 256 during an owner lookup | none; the owners are looked up |
//!
//! An untrusted connection is closed after 5 s without a request. A lookup reads the kernel's table of all TCP
//! connections, so owners are looked up only when more than 8 connections are unchecked or an unchecked one expires.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::owner::{self, PeerSocket};
use super::peer::ConnectionAddresses;
use crate::slots::{EvictionSignal, Slot, SlotTable, Slots};

const MAX_TRUSTED_CONNECTIONS: usize = 256;
const MAX_PENDING_CONNECTIONS: usize = 64;
const MAX_OTHER_CONNECTIONS: usize = 16;
/// Number of unchecked connections above which their owners are looked up.
const MAX_UNCHECKED_CONNECTIONS: usize = 8;
/// Timeout after which an untrusted connection without a request is closed.
const UNTRUSTED_IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Open TCP connections of a server, with a limit for each class.
#[derive(Debug, Clone, Default)]
pub(super) struct Connections {
    slots: Slots<ConnectionFacts>,
    /// Locked during an owner lookup, so that only one lookup runs at a time.
    looking: Arc<tokio::sync::Mutex<()>>,
}

/// Accepted TCP connection. Its slot is freed when the last clone is dropped.
#[derive(Debug, Clone)]
pub(super) struct TcpConnection {
    slot: Arc<Slot<ConnectionFacts>>,
    all: Connections,
}

#[derive(Debug)]
struct ConnectionFacts {
    ends: Option<ConnectionAddresses>,
    origin: PeerOwner,
    admission: RequestAdmission,
    /// Number of requests in progress. A request is in progress until its response body is dropped.
    requests: u32,
    idle_since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PeerOwner {
    Unchecked,
    /// The peer is a process of this user.
    Owner,
    User(u32),
    Machine(IpAddr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestAdmission {
    NoRequest,
    /// A server without a token admitted a request.
    WithoutToken,
    WithToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionClass {
    Trusted,
    Pending,
    Other,
    Unchecked,
}

/// Error for a connection without a slot: the connection was evicted, or all trusted connections are busy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConnectionsFull;

impl ConnectionFacts {
    fn class(&self) -> ConnectionClass {
        match (self.admission, self.origin) {
            (RequestAdmission::WithToken, _) | (RequestAdmission::WithoutToken, PeerOwner::Owner) => {
                ConnectionClass::Trusted
            }
            (_, PeerOwner::Unchecked) => ConnectionClass::Unchecked,
            (RequestAdmission::NoRequest, PeerOwner::Owner) => ConnectionClass::Pending,
            (_, PeerOwner::User(_) | PeerOwner::Machine(_)) => ConnectionClass::Other,
        }
    }
}

impl Connections {
    /// Adds a connection that the server has accepted. The owner of the connection is looked up later.
    pub fn enter(&self, ends: Option<ConnectionAddresses>) -> (TcpConnection, EvictionSignal) {
        // Without addresses the owner cannot be looked up.
        let origin = ends.map_or(PeerOwner::Machine(Ipv4Addr::UNSPECIFIED.into()), |_| PeerOwner::Unchecked);
        let (admission, idle_since) = (RequestAdmission::NoRequest, Instant::now());
        let (slot, evicted) = self.slots.enter(ConnectionFacts { ends, origin, admission, requests: 0, idle_since });
        (TcpConnection { slot: Arc::new(slot), all: self.clone() }, evicted)
    }

    /// True if owners must be looked up before more connections are accepted.
    pub fn needs_owner_lookup(&self) -> bool {
        count(&self.slots.lock(), ConnectionClass::Unchecked) > MAX_UNCHECKED_CONNECTIONS
    }

    /// Looks up the owners of all unchecked connections, then closes excess connections of each class.
    pub async fn look_up_owners(&self) {
        let _one = self.looking.lock().await;
        let unchecked: Vec<(u64, ConnectionAddresses)> = {
            let table = self.slots.lock();
            let unchecked = table.iter().filter(|(_, facts)| facts.class() == ConnectionClass::Unchecked);
            unchecked.filter_map(|(number, facts)| Some((number, facts.ends?))).collect()
        };
        let (numbers, peers): (Vec<u64>, Vec<ConnectionAddresses>) = unchecked.into_iter().unzip();
        let asked = peers.clone();
        let sockets = tokio::task::spawn_blocking(move || owner::sockets(&asked)).await.unwrap_or_default();
        let me = nix::unistd::geteuid().as_raw();
        let mut table = self.slots.lock();
        for (at, (number, peer)) in numbers.into_iter().zip(peers).enumerate() {
            if let Some(facts) = table.get_mut(number) {
                facts.origin = match sockets.get(at).copied().flatten().and_then(PeerSocket::owner) {
                    Some(uid) if uid == me => PeerOwner::Owner,
                    Some(uid) => PeerOwner::User(uid),
                    None => PeerOwner::Machine(peer.theirs.ip().to_canonical()),
                };
            }
        }
        for (class, most) in [
            (ConnectionClass::Trusted, MAX_TRUSTED_CONNECTIONS),
            (ConnectionClass::Pending, MAX_PENDING_CONNECTIONS),
            (ConnectionClass::Other, MAX_OTHER_CONNECTIONS),
        ] {
            while count(&table, class) > most {
                let newest = table.iter().filter(|(_, facts)| facts.class() == class).map(|(number, _)| number).last();
                let Some(number) = eviction_candidate(&table, class).or(newest) else { break };
                table.evict(number);
            }
        }
    }
}

fn count(table: &SlotTable<ConnectionFacts>, class: ConnectionClass) -> usize {
    table.iter().filter(|(_, facts)| facts.class() == class).count()
}

/// Returns the idle connection of this class to close first. `None` if all connections of the class are busy.
fn eviction_candidate(table: &SlotTable<ConnectionFacts>, class: ConnectionClass) -> Option<u64> {
    let idle = table.iter().filter(|(_, facts)| facts.class() == class && facts.requests == 0);
    match class {
        ConnectionClass::Trusted => {
            idle.min_by_key(|(number, facts)| (facts.idle_since, *number)).map(|(number, _)| number)
        }
        ConnectionClass::Other => {
            let held = |origin: PeerOwner| table.iter().filter(|(_, facts)| facts.origin == origin).count();
            idle.max_by_key(|(number, facts)| (held(facts.origin), std::cmp::Reverse(*number)))
                .map(|(number, _)| number)
        }
        ConnectionClass::Pending | ConnectionClass::Unchecked => idle.map(|(number, _)| number).min(),
    }
}

impl TcpConnection {
    /// Records that a request was admitted, either with a token or by a server that requires none.
    pub fn admitted(&self, with_token: bool) -> Result<(), ConnectionsFull> {
        let admission = if with_token { RequestAdmission::WithToken } else { RequestAdmission::WithoutToken };
        let number = self.slot.number();
        let mut table = self.slot.slots().lock();
        // The connection was evicted and is about to close.
        let Some(facts) = table.get_mut(number) else { return Err(ConnectionsFull) };
        let before = std::mem::replace(&mut facts.admission, admission);
        if facts.class() == ConnectionClass::Trusted
            && count(&table, ConnectionClass::Trusted) > MAX_TRUSTED_CONNECTIONS
        {
            match eviction_candidate(&table, ConnectionClass::Trusted) {
                Some(longest) => table.evict(longest),
                None => {
                    if let Some(facts) = table.get_mut(number) {
                        facts.admission = before;
                    }
                    return Err(ConnectionsFull);
                }
            }
        }
        Ok(())
    }

    /// Counts a request as in progress until the guard is dropped.
    pub fn request(&self) -> RequestGuard {
        self.slot.update(|facts| facts.requests += 1);
        RequestGuard(self.clone())
    }

    /// Completes when the connection is untrusted and has been idle for too long.
    pub async fn expired(&self) {
        let mut until = Instant::now() + UNTRUSTED_IDLE_TIMEOUT;
        loop {
            tokio::time::sleep_until(until).await;
            let now = Instant::now();
            let seen = self.slot.slots().lock().get(self.slot.number()).map(|facts| {
                let idle_until = if facts.requests > 0 { now } else { facts.idle_since } + UNTRUSTED_IDLE_TIMEOUT;
                (facts.class(), facts.admission, idle_until)
            });
            match seen {
                Some((ConnectionClass::Trusted, ..)) => return std::future::pending().await,
                Some((.., idle_until)) if idle_until > now => until = idle_until,
                // If the connection belongs to this user, the lookup makes the connection trusted.
                Some((ConnectionClass::Unchecked, RequestAdmission::WithoutToken, _)) => {
                    self.all.look_up_owners().await
                }
                _ => return,
            }
        }
    }
}

/// Guard of a request in progress.
#[derive(Debug)]
pub(super) struct RequestGuard(TcpConnection);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.slot.update(|facts| {
            facts.requests = facts.requests.saturating_sub(1);
            facts.idle_since = Instant::now();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(all: &Connections, origin: PeerOwner) -> (TcpConnection, EvictionSignal) {
        let (connection, evicted) = all.enter(None);
        connection.slot.update(|facts| facts.origin = origin);
        (connection, evicted)
    }

    fn is_open(evicted: &mut EvictionSignal) -> bool {
        evicted.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty)
    }

    #[tokio::test]
    async fn another_user_has_few_slots_and_takes_none_from_a_third_or_from_the_owner() {
        let all = Connections::default();
        let mut pending = enter(&all, PeerOwner::Owner);
        let mut third = enter(&all, PeerOwner::User(3));
        let mut flood: Vec<_> = (0..100).map(|_| enter(&all, PeerOwner::User(7))).collect();
        all.look_up_owners().await;
        assert!(is_open(&mut pending.1) && is_open(&mut third.1));
        let open: Vec<bool> = flood.iter_mut().map(|(_, evicted)| is_open(evicted)).collect();
        assert_eq!(open.iter().filter(|open| **open).count(), MAX_OTHER_CONNECTIONS - 1);
        assert!(open[open.len() - (MAX_OTHER_CONNECTIONS - 1)..].iter().all(|open| *open), "the oldest go");
    }

    #[tokio::test]
    async fn a_request_that_is_being_answered_is_not_closed_for_a_new_connection() {
        let all = Connections::default();
        let mut kept: Vec<_> = (0..MAX_OTHER_CONNECTIONS).map(|_| enter(&all, PeerOwner::User(7))).collect();
        let _requests: Vec<_> = kept.iter().map(|(connection, _)| connection.request()).collect();
        let mut late = enter(&all, PeerOwner::User(7));
        all.look_up_owners().await;
        assert!(kept.iter_mut().all(|(_, evicted)| is_open(evicted)));
        assert!(!is_open(&mut late.1));
    }

    #[tokio::test]
    async fn a_trusted_connection_takes_the_slot_of_the_one_idle_for_longest_and_is_refused_if_all_are_busy() {
        let all = Connections::default();
        let mut trusted: Vec<_> = (0..MAX_TRUSTED_CONNECTIONS).map(|_| enter(&all, PeerOwner::User(7))).collect();
        assert!(trusted.iter().all(|(connection, _)| connection.admitted(true).is_ok()));
        // From now on the first was used more recently than the second.
        drop(trusted[0].0.request());
        let late = enter(&all, PeerOwner::Owner);
        let _answering = late.0.request();
        assert_eq!(late.0.admitted(true), Ok(()));
        assert!(is_open(&mut trusted[0].1) && !is_open(&mut trusted[1].1));
        let _requests: Vec<_> = trusted.iter().map(|(connection, _)| connection.request()).collect();
        let refused = enter(&all, PeerOwner::Owner);
        let _refused = refused.0.request();
        assert_eq!(refused.0.admitted(true), Err(ConnectionsFull));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_not_trusted_is_closed_after_five_seconds_outside_of_a_request() {
        let all = Connections::default();
        let (pending, _evicted) = enter(&all, PeerOwner::Owner);
        let begun = Instant::now();
        pending.expired().await;
        assert_eq!(begun.elapsed(), UNTRUSTED_IDLE_TIMEOUT);
        let hour = Duration::from_secs(60 * 60);
        let (other, _evicted) = enter(&all, PeerOwner::User(7));
        let request = other.request();
        assert!(tokio::time::timeout(hour, other.expired()).await.is_err(), "it is being answered");
        drop(request);
        other.expired().await;
        let (trusted, _evicted) = enter(&all, PeerOwner::User(7));
        assert_eq!(trusted.admitted(true), Ok(()));
        assert!(tokio::time::timeout(hour, trusted.expired()).await.is_err(), "the server has its own limit for these");
    }

    #[tokio::test]
    async fn without_a_token_only_this_user_is_trusted() {
        let all = Connections::default();
        for (origin, class) in [
            (PeerOwner::Owner, ConnectionClass::Trusted),
            (PeerOwner::User(7), ConnectionClass::Other),
            (PeerOwner::Unchecked, ConnectionClass::Unchecked),
        ] {
            let (connection, _evicted) = enter(&all, origin);
            assert_eq!(connection.admitted(false), Ok(()));
            assert_eq!(connection.slot.update(|facts| facts.class()), Some(class));
        }
    }
}
