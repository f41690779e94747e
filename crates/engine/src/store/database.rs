//! Thread that owns the database, and its group commits.
//!
//! All queued jobs run in one transaction, each in a separate savepoint, and are answered after the commit. A failed
//! job is rolled back to its savepoint, and its caller gets the error. If the whole transaction fails, for example
//! because the disk is full, each job is run again in a separate transaction. Then only the jobs that cannot be
//! committed fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::clock::{StoreClock, StoreTime};
use super::error::StoreError;
use super::queue::{HistoryAccess, QueueEvent, StoreJob, StoreQueue};
use super::{StoreLimits, history, requests};

/// Number of pages in the write-ahead log (4 MiB) at which the log is checkpointed.
const MAX_LOG_PAGES: u32 = 1000;

/// Interval at which expired requests are removed while the store is idle.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// Interval between two steps of removing an orphaned history.
const CLEAR_INTERVAL: Duration = Duration::from_millis(20);

/// Additional delay before the next chores if a chore has failed.
const CHORE_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Open database, with the state that jobs use.
pub(super) struct Database {
    pub connection: Connection,
    pub clock: StoreClock,
    pub limits: StoreLimits,
    /// Epoch of the store, incremented each time it is opened.
    pub epoch: u64,
    /// Cached row counts. A rollback of a transaction also restores the earlier counts.
    pub counts: StoreCounts,
    /// True if there may be an orphaned history to remove.
    pub has_orphans: bool,
    /// Number of pages in the write-ahead log after the last commit.
    pub log_pages: Arc<AtomicU32>,
    /// Last store time that was written to the database.
    pub stored_time: StoreTime,
    /// Highest absolute value of a position in the message queue. Messages queued ahead of all others have negative
    /// positions.
    pub last_position: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct StoreCounts {
    pub requests: u64,
    pub sessions: u64,
    /// Number of requests begun since expired requests were last removed.
    pub begun: u32,
}

impl Database {
    /// Returns a new queue position, behind all other messages.
    pub fn next_position(&mut self) -> i64 {
        self.last_position += 1;
        self.last_position
    }

    /// Runs jobs until the queue is closed and empty. Returns an error if the last write of history failed.
    pub fn run(&mut self, queue: &Arc<StoreQueue>) -> Result<(), StoreError> {
        let mut chores_done = Instant::now();
        let mut last = Ok(());
        loop {
            let due = self.chore_interval().map(|pace| chores_done + pace);
            match queue.next(due) {
                QueueEvent::Jobs(jobs) => {
                    last = self.run_batch(jobs);
                    if last.is_err() && queue.is_closed() {
                        break;
                    }
                }
                QueueEvent::Chores => {}
                QueueEvent::End => break,
            }
            if due.is_some_and(|due| due <= Instant::now()) {
                chores_done = Instant::now() + self.run_chores();
            }
        }
        self.store_time();
        last
    }

    /// Returns the interval between two runs of the chores; `None` if no chore is needed.
    fn chore_interval(&self) -> Option<Duration> {
        match (self.has_orphans, self.counts.requests) {
            (true, _) => Some(CLEAR_INTERVAL),
            (false, 0) => None,
            (false, _) => Some(SWEEP_INTERVAL),
        }
    }

    /// Runs jobs in one batch and answers them. Returns an error if buffered history could not be written.
    fn run_batch(&mut self, mut jobs: Vec<Box<dyn StoreJob>>) -> Result<(), StoreError> {
        let mut behind = None;
        let outcomes = match self.transact(&mut jobs, &mut behind) {
            Ok(outcomes) => outcomes,
            Err(error) if jobs.len() == 1 => vec![Err(error)],
            Err(_) => {
                behind = None;
                jobs.chunks_mut(1).map(|job| self.transact_alone(job, &mut behind)).collect()
            }
        };
        let drained = match (jobs.first(), outcomes.first()) {
            (Some(job), Some(outcome)) if job.history_access() == HistoryAccess::Drains => outcome.clone(),
            _ => Ok(()),
        };
        for (job, outcome) in jobs.into_iter().zip(outcomes) {
            job.answer(outcome);
        }
        // The checkpoint runs after the answers, so that no caller waits for it.
        if self.log_pages.load(Ordering::Relaxed) >= MAX_LOG_PAGES {
            self.checkpoint();
        }
        drained
    }

    fn transact_alone(
        &mut self,
        job: &mut [Box<dyn StoreJob>],
        behind: &mut Option<StoreError>,
    ) -> Result<(), StoreError> {
        let drains = job.iter().any(|job| job.history_access() == HistoryAccess::Drains);
        let outcome = self.transact(job, behind).and_then(|outcomes| outcomes.into_iter().next().unwrap_or(Ok(())));
        if let (true, Err(error)) = (drains, &outcome) {
            *behind = Some(error.clone());
        }
        outcome
    }

    /// Runs all jobs in one transaction. Returns the outcome of each job, or an error if the whole transaction was
    /// rolled back.
    fn transact(
        &mut self,
        jobs: &mut [Box<dyn StoreJob>],
        behind: &mut Option<StoreError>,
    ) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        let before = self.counts;
        let outcome = self.attempt(jobs, behind);
        if outcome.is_err() {
            self.counts = before;
            if !self.connection.is_autocommit()
                && let Err(error) = self.connection.execute_batch("ROLLBACK")
            {
                tracing::error!(%error, "cannot roll back a transaction of the store");
            }
        }
        outcome
    }

    fn attempt(
        &mut self,
        jobs: &mut [Box<dyn StoreJob>],
        behind: &mut Option<StoreError>,
    ) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        self.execute("BEGIN")?;
        let single = jobs.len() == 1;
        let mut outcomes = Vec::with_capacity(jobs.len());
        for job in jobs {
            if let (HistoryAccess::Follows, Some(error)) = (job.history_access(), &*behind) {
                outcomes.push(Err(error.clone()));
                continue;
            }
            if single {
                job.run(self)?;
                outcomes.push(Ok(()));
                continue;
            }
            let counts = self.counts;
            self.execute("SAVEPOINT job")?;
            let outcome = job.run(self);
            if let Err(error) = &outcome {
                // Some errors, such as a full disk, roll back the whole transaction.
                if self.connection.is_autocommit() {
                    return Err(error.clone());
                }
                self.counts = counts;
                self.execute("ROLLBACK TO job")?;
                if job.history_access() == HistoryAccess::Drains {
                    *behind = Some(error.clone());
                }
            }
            self.execute("RELEASE job")?;
            outcomes.push(outcome);
        }
        self.execute("COMMIT")?;
        Ok(outcomes)
    }

    fn execute(&self, statement: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached(statement)?.execute([])?;
        Ok(())
    }

    /// Runs one bounded step of each chore. Returns the additional delay before the next chores.
    fn run_chores(&mut self) -> Duration {
        let before = self.counts;
        let done = self.in_transaction(|database| {
            requests::sweep(database)?;
            history::clear_orphans(database)
        });
        match done {
            Ok(()) => {
                self.store_time();
                Duration::ZERO
            }
            Err(error) => {
                self.counts = before;
                tracing::warn!(%error, "cannot remove expired data from the store");
                CHORE_RETRY_DELAY
            }
        }
    }

    fn in_transaction(&mut self, work: impl FnOnce(&mut Self) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.execute("BEGIN")?;
        let outcome = work(self).and_then(|()| self.execute("COMMIT"));
        if outcome.is_err() && !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        outcome
    }

    /// Writes the store time to the database. The clock continues from this time when the store is opened again.
    fn store_time(&mut self) {
        let now = self.clock.now();
        if now == self.stored_time {
            return;
        }
        match self.connection.execute("UPDATE facts SET value = ?1 WHERE name = 'time'", [now]) {
            Ok(_) => self.stored_time = now,
            Err(error) => tracing::debug!(%error, "cannot store the store time"),
        }
    }

    fn checkpoint(&self) {
        let outcome = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)));
        match outcome {
            Ok((log, done)) if log == done => self.log_pages.store(0, Ordering::Relaxed),
            Ok(_) => {}
            // The log stays valid; the checkpoint is retried after the next commit.
            Err(error) => tracing::warn!(%error, "cannot checkpoint the store's write-ahead log"),
        }
    }
}
