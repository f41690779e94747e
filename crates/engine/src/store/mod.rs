//! Durable store of requests, sessions and histories, in one SQLite file per engine.
//!
//! One thread owns the database. Callers send jobs to this thread and wait; waiting jobs are committed together, and
//! each job is answered after its commit. An answered job survives a crash of the engine and a loss of power. A failed
//! job has no effect. History without a waiting caller ([`Store::append_later`] and similar) is buffered for 50 ms and
//! written with the next commit; [`Store::flush`] waits for it.
//!
//! - **Queue**: 1024 jobs; further callers wait. 16 MiB of buffered history; more is refused.
//! - **Limits**: see [`StoreLimits`]. A request is never removed early to make room for another.
//! - **Age**: measured in store time, see `clock.rs`. Setting the wall clock never makes a request expire earlier, but
//!   the request may be remembered for longer.
//! - **Exclusive use**: the directory is locked. A second engine gets an error with the process id of the first.
//! - **Damage**: a damaged file and its log are renamed to names with the date, and a new file is created.
//!   [`OpenedStore`] reports the damage: the requests in the damaged file are no longer known. SQLite has no page
//!   checksums, so changed content is not detected.
//! - **Shutdown**: an orderly shutdown writes the whole log into the file, so that a copy of the file alone is
//!   complete.

mod clock;
mod database;
mod directory;
mod error;
mod history;
mod messages;
mod open;
mod queue;
mod reader;
mod record;
mod requests;
mod schema;
mod sessions;
#[cfg(test)]
mod tests;
mod wal;
mod write_buffer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

pub use directory::{DATABASE_FILE, damaged_files};
pub use error::StoreError;
pub use history::{ItemPage, ItemPosition, MAX_READ_ITEMS, MAX_STORED_ITEM_BYTES, StoredItem};
pub use queue::StoreFuture;
pub use reader::StoreReader;
pub use record::{IdempotentCreate, ResumeId, SessionEnd, SessionKind, SessionRecord};
pub use requests::{BeginOutcome, RequestEntry, RequestState};
pub use sessions::SessionFilter;
pub use wh_core::request::RequestKey;

use clock::{StoreTime, TimeSource};
use database::Database;
use queue::StoreQueue;
use write_buffer::WriteBuffer;

/// Limits of the data in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    /// Maximum number of requests. At the limit, new requests are refused until the oldest request has expired.
    pub requests: u64,
    /// Duration for which a settled request is remembered, in store time.
    pub remembered: Duration,
    /// Maximum number of sessions. At the limit, the session that ended first is removed.
    pub sessions: u64,
    /// Maximum number of items per session. Beyond the limit, the oldest items are removed.
    pub history_items: u64,
    /// Maximum bytes of all items of a session. Beyond the limit, the oldest items are removed.
    pub history_bytes: u64,
    /// Maximum bytes of a session's raw output. Beyond the limit, the beginning is removed.
    pub output: usize,
    /// Maximum bytes of buffered history. Beyond the limit, writes are refused.
    pub waiting: usize,
}

impl Default for StoreLimits {
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

impl StoreLimits {
    fn remembered(&self) -> StoreTime {
        StoreTime::try_from(self.remembered.as_millis()).unwrap_or(StoreTime::MAX)
    }

    /// Returns the newest time that counts as expired at `now`: requests with this or an earlier stamp have expired.
    fn expired(&self, now: StoreTime) -> StoreTime {
        now.saturating_sub(self.remembered())
    }

    fn alive(&self, stamp: StoreTime, now: StoreTime) -> bool {
        stamp > self.expired(now)
    }
}

/// Result of opening the store, including a report of damage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedStore {
    /// Epoch of the store: 1 after the first opening, incremented by each further opening.
    pub epoch: u64,
    /// Number of requests that were pending when the store was last closed, without queued messages; see
    /// [`Store::cut_off`].
    pub cut_off: u64,
    /// New path of a damaged database that was renamed, and a description of the damage.
    pub set_aside: Option<(PathBuf, String)>,
}

/// Handle of the store. Dropping the last handle writes buffered history and closes the store in the background;
/// [`Store::close`] waits until the store is closed.
#[derive(Clone)]
pub struct Store(Arc<StoreShared>);

struct StoreShared {
    queue: Arc<StoreQueue>,
    limits: StoreLimits,
    opening: OpenedStore,
    ended: watch::Receiver<Option<Result<(), StoreError>>>,
}

impl Drop for StoreShared {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Store {
    /// Opens the store in a directory, which is created if needed. Blocks while the database is checked.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(directory, StoreLimits::default())
    }

    /// Opens the store with limits other than the default.
    pub fn open_with(directory: impl AsRef<Path>, limits: StoreLimits) -> Result<Self, StoreError> {
        Self::start(directory.as_ref(), limits, TimeSource::System(Instant::now()))
    }

    fn start(directory: &Path, limits: StoreLimits, time_source: TimeSource) -> Result<Self, StoreError> {
        let locked = directory::StoreDirectory::lock(directory)?;
        let (database, opening) = open::open(&locked, limits, time_source)?;
        let queue = Arc::new(StoreQueue::new(WriteBuffer::new(limits.waiting, limits.output)));
        let (end, ended) = watch::channel(None);
        let thread_queue = Arc::clone(&queue);
        let thread = move || {
            // These values are dropped in this order, even after a panic: the database is closed, then waiting callers
            // get an error, and the lock is released last.
            let held = locked;
            let release = ReleaseOnDrop(Arc::clone(&thread_queue));
            let mut database = database;
            let outcome = database.run(&thread_queue);
            let outcome = finish(database).and(outcome);
            drop(release);
            drop(held);
            let _ = end.send(Some(outcome));
        };
        std::thread::Builder::new().name("wh-store".to_owned()).spawn(thread).map_err(|error| {
            StoreError::Unusable { path: directory.to_owned(), why: format!("cannot start a thread: {error}") }
        })?;
        Ok(Self(Arc::new(StoreShared { queue, limits, opening, ended })))
    }

    /// Returns the result of opening the store.
    pub fn opening(&self) -> &OpenedStore {
        &self.0.opening
    }

    /// Writes buffered history, and closes the store for all handles. Returns when the store can be opened again, with
    /// the error of the last write if it failed.
    pub async fn close(self) -> Result<(), StoreError> {
        self.0.queue.close();
        let mut ended = self.0.ended.clone();
        let outcome = ended.wait_for(Option::is_some).await.map_err(|_| StoreError::Closed)?;
        outcome.clone().unwrap_or(Ok(()))
    }

    fn queue(&self) -> &StoreQueue {
        &self.0.queue
    }

    /// Returns the limits that the store was opened with.
    pub fn limits(&self) -> &StoreLimits {
        &self.0.limits
    }
}

/// Answers all waiting callers with an error when the store's thread ends, even by a panic.
struct ReleaseOnDrop(Arc<StoreQueue>);

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        self.0.close();
        if self.0.abandon() {
            tracing::error!("the store was closed before all history was written");
        }
    }
}

fn finish(database: Database) -> Result<(), StoreError> {
    if let Err(error) = open::checkpoint_all(&database.connection) {
        tracing::warn!(%error, "cannot checkpoint the write-ahead log; keep the database file and its -wal file together");
    }
    database.connection.close().map_err(|(_, error)| error.into())
}

/// Converts a wall-clock time to milliseconds since 1970.
fn millis(at: SystemTime) -> i64 {
    let whole = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    at.duration_since(UNIX_EPOCH).map_or_else(|before| -whole(before.duration()), whole)
}

fn from_millis(millis: i64) -> SystemTime {
    let distance = Duration::from_millis(millis.unsigned_abs());
    let at = if millis < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    at.unwrap_or(UNIX_EPOCH)
}
