//! What must survive: requests and what became of them, sessions, and what they said. One SQLite file per engine.
//!
//! One thread owns the database. Whoever wants something sends it a job and waits; all jobs that wait are committed
//! together, and each is answered after the commit that holds it. What is answered is on the disk, and survives a crash of
//! the engine and a loss of power. A job that cannot be done has left nothing behind.
//!
//! What of a session's history nobody waits for is left ([`Store::append_later`] and its like), gathered for 50 ms, and
//! written with whatever is committed next; [`Store::flush`] waits for it.
//!
//! - **Depth**: 1024 jobs may wait; the next asker waits to be let in. 16 MiB of history may wait; more is refused.
//! - **Bounds**: [`Limits`]. A request is never forgotten early to make room for another.
//! - **Age** is told by store time, see `clock.rs`: no setting of the wall clock makes anything older, though it may make a
//!   request be remembered longer.
//! - **One engine**: a lock on the directory. A second engine is told who has it.
//! - **Damage**: a file that fails its check is set aside with its log under a name with the date, and a new one begun;
//!   [`Opening`] says so, because the requests in it are then not known any more. Content is not checked: SQLite has no
//!   checksum of its pages.
//! - **End**: an orderly end writes the whole log into the file, so that a copy of the file alone is complete.

mod clock;
mod desk;
mod error;
mod history;
mod later;
mod messages;
mod open;
mod peek;
mod place;
mod queue;
mod record;
mod requests;
mod schema;
mod sessions;
#[cfg(test)]
mod tests;
mod wal;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

pub use error::StoreError;
pub use history::{KeptItem, LARGEST_ITEM, MOST_READ, Page, Place};
pub use peek::Peek;
pub use place::{FILE, damaged};
pub use queue::Durable;
pub use record::{Ended, IdempotentCreate, Resume, SessionKind, SessionRecord};
pub use requests::{Begun, Entry, State};
pub use sessions::Which;
pub use wh_core::request::Key;

use clock::{Stamp, Steady};
use desk::Desk;
use later::Later;
use queue::Queue;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many requests. Beyond that a new one is refused until the oldest has expired.
    pub requests: u64,
    /// How long a request is remembered after it was settled, in store time.
    pub remembered: Duration,
    /// How many sessions. Beyond that the one that ended first goes.
    pub sessions: u64,
    /// How many items of a session. Beyond that the first go.
    pub history_items: u64,
    /// How many bytes of items of a session. Beyond that the first go.
    pub history_bytes: u64,
    /// How many bytes of a session's raw output: its end.
    pub output: usize,
    /// How many bytes may wait that nobody waits for. More is refused.
    pub waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 200_000,
            remembered: Duration::from_secs(600),
            sessions: 10_000,
            history_items: 200_000,
            history_bytes: 64 << 20,
            output: 256 << 10,
            waiting: 16 << 20,
        }
    }
}

impl Limits {
    fn remembered(&self) -> Stamp {
        Stamp::try_from(self.remembered.as_millis()).unwrap_or(Stamp::MAX)
    }

    /// What was stamped then or before has expired.
    fn expired(&self, now: Stamp) -> Stamp {
        now.saturating_sub(self.remembered())
    }

    fn alive(&self, stamp: Stamp, now: Stamp) -> bool {
        stamp > self.expired(now)
    }
}

/// What was found when the store was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Which life of the store this is, from 1.
    pub epoch: u64,
    /// How many requests were being carried out when the last life ended, see [`Store::cut_off`].
    pub cut_off: u64,
    /// Where a damaged file is now, and what was wrong with it.
    pub set_aside: Option<(PathBuf, String)>,
}

/// A handle on the store. When the last one goes, what waits is written and the store closed; [`Store::close`] waits for it.
#[derive(Clone)]
pub struct Store(Arc<Shared>);

struct Shared {
    queue: Arc<Queue>,
    limits: Limits,
    opening: Opening,
    ended: watch::Receiver<Option<Result<(), StoreError>>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Store {
    /// Opens the store in this directory, which is made if there is none. Blocks while the file is checked.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(directory, Limits::default())
    }

    /// As [`Store::open`], with other bounds.
    pub fn open_with(directory: impl AsRef<Path>, limits: Limits) -> Result<Self, StoreError> {
        Self::start(directory.as_ref(), limits, Steady::System(Instant::now()))
    }

    fn start(directory: &Path, limits: Limits, steady: Steady) -> Result<Self, StoreError> {
        let place = place::Place::take(directory)?;
        let (desk, opening) = open::open(&place, limits, steady)?;
        let queue = Arc::new(Queue::new(Later::new(limits.waiting, limits.output)));
        let (end, ended) = watch::channel(None);
        let theirs = Arc::clone(&queue);
        let thread = move || {
            // Whatever happens in here: the database goes first, then nobody is left waiting, and the lock goes last.
            let held = place;
            let closing = Closing(Arc::clone(&theirs));
            let mut desk = desk;
            let outcome = desk.work(&theirs);
            let outcome = finish(desk).and(outcome);
            drop(closing);
            drop(held);
            let _ = end.send(Some(outcome));
        };
        std::thread::Builder::new().name("wh-store".to_owned()).spawn(thread).map_err(|error| {
            StoreError::Unusable { path: directory.to_owned(), why: format!("no thread can be started: {error}") }
        })?;
        Ok(Self(Arc::new(Shared { queue, limits, opening, ended })))
    }

    /// What was found when it was opened.
    pub fn opening(&self) -> &Opening {
        &self.0.opening
    }

    /// Writes what waits, and closes the store for all who have a handle on it. When it returns, another may open it.
    /// `Err` is what could not be written.
    pub async fn close(self) -> Result<(), StoreError> {
        self.0.queue.close();
        let mut ended = self.0.ended.clone();
        let outcome = ended.wait_for(Option::is_some).await.map_err(|_| StoreError::Closed)?;
        outcome.clone().unwrap_or(Ok(()))
    }

    fn queue(&self) -> &Queue {
        &self.0.queue
    }

    /// The bounds that it was opened with.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }
}

/// Lets go of all who wait, also when the thread panics.
struct Closing(Arc<Queue>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
        if self.0.abandon() {
            tracing::error!("the store was closed before all of the history was written");
        }
    }
}

fn finish(desk: Desk) -> Result<(), StoreError> {
    if let Err(error) = open::fold_log(&desk.connection) {
        tracing::warn!(%error, "the store's log could not be written into its file; both are needed to read it");
    }
    desk.connection.close().map_err(|(_, error)| error.into())
}

/// Milliseconds since 1970, of the wall clock.
fn millis(at: SystemTime) -> i64 {
    let whole = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    at.duration_since(UNIX_EPOCH).map_or_else(|before| -whole(before.duration()), whole)
}

fn from_millis(millis: i64) -> SystemTime {
    let distance = Duration::from_millis(millis.unsigned_abs());
    let at = if millis < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    at.unwrap_or(UNIX_EPOCH)
}
