//! Limits on open TCP connections. The accept loop never waits for a free slot: every connection is accepted, and where there are too
//! many of a class, one of that class is closed. So whoever opens connections and says nothing takes slots from nobody but their own kind:
//!
//! | class | at most | closed when full |
//! |---|---|---|
//! | trusted: has shown the token; without a token, this user's | 256 | the one idle for longest; if none is idle, a new one is answered 503 |
//! | pending: this user's, no request admitted yet | 64 | the oldest idle |
//! | other: of other users and machines, without the token | 16 | the oldest idle of whoever has most |
//! | unchecked: it is not known yet whose it is | 8, and 256 while the owners are looked up | none; they are looked up |
//!
//! A connection that is not trusted is closed after 5 s outside of a request. The owners are looked up only when more than 8 connections
//! are unchecked: the look-up reads the table of all connections of the machine.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::owner::{self, Socket};
use super::peer::Ends;
use crate::slots::{Evicted, Slot, Slots, Table};

const MAX_TRUSTED: usize = 256;
const MAX_PENDING: usize = 64;
const MAX_OTHER: usize = 16;
/// Connections whose owner is not looked up.
const MAX_UNCHECKED: usize = 8;
/// Time outside of a request after which a connection that is not trusted is closed.
const UNTRUSTED_IDLE: Duration = Duration::from_secs(5);

/// The open connections of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Connections {
    slots: Slots<Facts>,
    /// Held during a look-up: there is one at a time.
    looking: Arc<tokio::sync::Mutex<()>>,
}

/// One connection; its slot is free when the last clone is dropped.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    slot: Arc<Slot<Facts>>,
    all: Connections,
}

#[derive(Debug)]
struct Facts {
    ends: Option<Ends>,
    origin: Origin,
    admission: Admission,
    /// Requests that are being answered, until the end of the answer's body.
    requests: u32,
    idle_since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Unchecked,
    /// A process of this user.
    Owner,
    User(u32),
    Machine(IpAddr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Admission {
    NoRequest,
    /// A request was admitted by a server that wants no token.
    WithoutToken,
    WithToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Trusted,
    Pending,
    Other,
    Unchecked,
}

/// All slots of trusted connections have requests that are being answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Facts {
    fn class(&self) -> Class {
        match (self.admission, self.origin) {
            (Admission::WithToken, _) | (Admission::WithoutToken, Origin::Owner) => Class::Trusted,
            (_, Origin::Unchecked) => Class::Unchecked,
            (Admission::NoRequest, Origin::Owner) => Class::Pending,
            (_, Origin::User(_) | Origin::Machine(_)) => Class::Other,
        }
    }
}

impl Connections {
    /// Adds a connection that was accepted.
    pub fn enter(&self, ends: Option<Ends>) -> (Connection, Evicted) {
        // Without its addresses nothing can be looked up.
        let origin = ends.map_or(Origin::Machine(Ipv4Addr::UNSPECIFIED.into()), |_| Origin::Unchecked);
        let (admission, idle_since) = (Admission::NoRequest, Instant::now());
        let (slot, evicted) = self.slots.enter(Facts { ends, origin, admission, requests: 0, idle_since });
        (Connection { slot: Arc::new(slot), all: self.clone() }, evicted)
    }

    /// True if the owners have to be looked up before more connections are accepted.
    pub fn must_check(&self) -> bool {
        count(&self.slots.lock(), Class::Unchecked) > MAX_UNCHECKED
    }

    /// Looks up the owners of all unchecked connections, then closes connections of every class over its limit.
    pub async fn check(&self) {
        let _one = self.looking.lock().await;
        let unchecked: Vec<(u64, Ends)> = {
            let table = self.slots.lock();
            let unchecked = table.iter().filter(|(_, facts)| facts.class() == Class::Unchecked);
            unchecked.filter_map(|(number, facts)| Some((number, facts.ends?))).collect()
        };
        let (numbers, peers): (Vec<u64>, Vec<Ends>) = unchecked.into_iter().unzip();
        let asked = peers.clone();
        let sockets = tokio::task::spawn_blocking(move || owner::sockets(&asked)).await.unwrap_or_default();
        let me = nix::unistd::geteuid().as_raw();
        let mut table = self.slots.lock();
        for (at, (number, peer)) in numbers.into_iter().zip(peers).enumerate() {
            if let Some(facts) = table.get_mut(number) {
                facts.origin = match sockets.get(at).copied().flatten().and_then(Socket::owner) {
                    Some(uid) if uid == me => Origin::Owner,
                    Some(uid) => Origin::User(uid),
                    None => Origin::Machine(peer.theirs.ip().to_canonical()),
                };
            }
        }
        for (class, most) in [(Class::Trusted, MAX_TRUSTED), (Class::Pending, MAX_PENDING), (Class::Other, MAX_OTHER)] {
            while count(&table, class) > most {
                let newest = table.iter().filter(|(_, facts)| facts.class() == class).map(|(number, _)| number).last();
                let Some(number) = idle(&table, class).or(newest) else { break };
                table.evict(number);
            }
        }
    }
}

fn count(table: &Table<Facts>, class: Class) -> usize {
    table.iter().filter(|(_, facts)| facts.class() == class).count()
}

/// The connection of this class that is closed first, if one is outside of a request.
fn idle(table: &Table<Facts>, class: Class) -> Option<u64> {
    let idle = table.iter().filter(|(_, facts)| facts.class() == class && facts.requests == 0);
    match class {
        Class::Trusted => idle.min_by_key(|(number, facts)| (facts.idle_since, *number)).map(|(number, _)| number),
        Class::Other => {
            let held = |origin: Origin| table.iter().filter(|(_, facts)| facts.origin == origin).count();
            idle.max_by_key(|(number, facts)| (held(facts.origin), std::cmp::Reverse(*number)))
                .map(|(number, _)| number)
        }
        Class::Pending | Class::Unchecked => idle.map(|(number, _)| number).min(),
    }
}

impl Connection {
    /// A request of this connection was admitted, with a token or by a server that wants none.
    pub fn admitted(&self, with_token: bool) -> Result<(), Full> {
        let admission = if with_token { Admission::WithToken } else { Admission::WithoutToken };
        let number = self.slot.number();
        let mut table = self.slot.slots().lock();
        // One that was evicted meanwhile is about to be closed.
        let Some(facts) = table.get_mut(number) else { return Err(Full) };
        let before = std::mem::replace(&mut facts.admission, admission);
        if facts.class() == Class::Trusted && count(&table, Class::Trusted) > MAX_TRUSTED {
            match idle(&table, Class::Trusted) {
                Some(longest) => table.evict(longest),
                None => {
                    if let Some(facts) = table.get_mut(number) {
                        facts.admission = before;
                    }
                    return Err(Full);
                }
            }
        }
        Ok(())
    }

    /// Marks a request as being answered until the guard is dropped.
    pub fn request(&self) -> InRequest {
        self.slot.update(|facts| facts.requests += 1);
        InRequest(self.clone())
    }

    /// Completes when a connection that is not trusted has been outside of a request for too long.
    pub async fn expired(&self) {
        let mut until = Instant::now() + UNTRUSTED_IDLE;
        loop {
            tokio::time::sleep_until(until).await;
            let now = Instant::now();
            let seen = self.slot.slots().lock().get(self.slot.number()).map(|facts| {
                let idle_until = if facts.requests > 0 { now } else { facts.idle_since } + UNTRUSTED_IDLE;
                (facts.class(), facts.admission, idle_until)
            });
            match seen {
                Some((Class::Trusted, ..)) => return std::future::pending().await,
                Some((.., idle_until)) if idle_until > now => until = idle_until,
                // This user's, perhaps: then it is trusted.
                Some((Class::Unchecked, Admission::WithoutToken, _)) => self.all.check().await,
                _ => return,
            }
        }
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct InRequest(Connection);

impl Drop for InRequest {
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

    fn enter(all: &Connections, origin: Origin) -> (Connection, Evicted) {
        let (connection, evicted) = all.enter(None);
        connection.slot.update(|facts| facts.origin = origin);
        (connection, evicted)
    }

    fn is_open(evicted: &mut Evicted) -> bool {
        evicted.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty)
    }

    #[tokio::test]
    async fn another_user_has_few_slots_and_takes_none_from_a_third_or_from_the_owner() {
        let all = Connections::default();
        let mut pending = enter(&all, Origin::Owner);
        let mut third = enter(&all, Origin::User(3));
        let mut flood: Vec<_> = (0..100).map(|_| enter(&all, Origin::User(7))).collect();
        all.check().await;
        assert!(is_open(&mut pending.1) && is_open(&mut third.1));
        let open: Vec<bool> = flood.iter_mut().map(|(_, evicted)| is_open(evicted)).collect();
        assert_eq!(open.iter().filter(|open| **open).count(), MAX_OTHER - 1);
        assert!(open[open.len() - (MAX_OTHER - 1)..].iter().all(|open| *open), "the oldest go");
    }

    #[tokio::test]
    async fn a_request_that_is_being_answered_is_not_closed_for_a_new_connection() {
        let all = Connections::default();
        let mut kept: Vec<_> = (0..MAX_OTHER).map(|_| enter(&all, Origin::User(7))).collect();
        let _requests: Vec<_> = kept.iter().map(|(connection, _)| connection.request()).collect();
        let mut late = enter(&all, Origin::User(7));
        all.check().await;
        assert!(kept.iter_mut().all(|(_, evicted)| is_open(evicted)));
        assert!(!is_open(&mut late.1));
    }

    #[tokio::test]
    async fn a_trusted_connection_takes_the_slot_of_the_one_idle_for_longest_and_is_refused_if_all_are_busy() {
        let all = Connections::default();
        let mut trusted: Vec<_> = (0..MAX_TRUSTED).map(|_| enter(&all, Origin::User(7))).collect();
        assert!(trusted.iter().all(|(connection, _)| connection.admitted(true).is_ok()));
        // The first is idle for less long than the second from now on.
        drop(trusted[0].0.request());
        let late = enter(&all, Origin::Owner);
        let _answering = late.0.request();
        assert_eq!(late.0.admitted(true), Ok(()));
        assert!(is_open(&mut trusted[0].1) && !is_open(&mut trusted[1].1));
        let _requests: Vec<_> = trusted.iter().map(|(connection, _)| connection.request()).collect();
        let refused = enter(&all, Origin::Owner);
        let _refused = refused.0.request();
        assert_eq!(refused.0.admitted(true), Err(Full));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_not_trusted_is_closed_after_five_seconds_outside_of_a_request() {
        let all = Connections::default();
        let (pending, _evicted) = enter(&all, Origin::Owner);
        let begun = Instant::now();
        pending.expired().await;
        assert_eq!(begun.elapsed(), UNTRUSTED_IDLE);
        let hour = Duration::from_secs(60 * 60);
        let (other, _evicted) = enter(&all, Origin::User(7));
        let request = other.request();
        assert!(tokio::time::timeout(hour, other.expired()).await.is_err(), "it is being answered");
        drop(request);
        other.expired().await;
        let (trusted, _evicted) = enter(&all, Origin::User(7));
        assert_eq!(trusted.admitted(true), Ok(()));
        assert!(tokio::time::timeout(hour, trusted.expired()).await.is_err(), "the server has its own limit for these");
    }

    #[tokio::test]
    async fn without_a_token_only_this_user_is_trusted() {
        let all = Connections::default();
        for (origin, class) in
            [(Origin::Owner, Class::Trusted), (Origin::User(7), Class::Other), (Origin::Unchecked, Class::Unchecked)]
        {
            let (connection, _evicted) = enter(&all, origin);
            assert_eq!(connection.admitted(false), Ok(()));
            assert_eq!(connection.slot.update(|facts| facts.class()), Some(class));
        }
    }
}
