//! The thread that owns the database, and how it commits many jobs at once.
//!
//! All that waits is run in one transaction, each job behind a savepoint of its own, and answered after the commit that
//! holds it. A job that fails is rolled back to its savepoint and alone hears of it. Where the whole transaction fails, as
//! on a full disk, every job is run again in a transaction of its own, so that only those fail that really do not fit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::clock::{Clock, Stamp};
use super::error::StoreError;
use super::queue::{Job, Next, Queue, Touches};
use super::{Limits, history, requests};

/// Pages in the log after which they are brought into the database: 4 MiB.
const LOG_PAGES: u32 = 1000;

/// How often expired requests are looked for while nobody asks anything.
const SWEEPING: Duration = Duration::from_secs(30);

/// The pause between two pieces of a history that is cleared away.
const CLEARING: Duration = Duration::from_millis(20);

/// How much longer chores that failed are put off.
const REST: Duration = Duration::from_secs(5);

/// What jobs work with.
pub(super) struct Desk {
    pub connection: Connection,
    pub clock: Clock,
    pub limits: Limits,
    /// Which life of the store this is.
    pub epoch: u64,
    /// What is counted rather than asked for. It follows the transactions: what is rolled back has not been counted.
    pub tally: Tally,
    /// Whether a history waits to be cleared away.
    pub rubbish: bool,
    /// Pages in the log, as the last commit left it.
    pub log_pages: Arc<AtomicU32>,
    /// Store time as it was last written down.
    pub written: Stamp,
    /// The highest place of a message that waits.
    pub places: i64,
}

/// How many there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub requests: u64,
    pub sessions: u64,
    /// Since expired requests were last looked for.
    pub begun: u32,
}

impl Desk {
    /// The place of the next message that waits: after all others.
    pub fn place(&mut self) -> i64 {
        self.places += 1;
        self.places
    }

    /// Works until the queue is closed and empty. `Err` is what could not be written at the end.
    pub fn work(&mut self, queue: &Arc<Queue>) -> Result<(), StoreError> {
        let mut tidied = Instant::now();
        let mut last = Ok(());
        loop {
            let due = self.pace().map(|pace| tidied + pace);
            match queue.next(due) {
                Next::Jobs(jobs) => {
                    last = self.serve(jobs);
                    if last.is_err() && queue.is_closed() {
                        break;
                    }
                }
                Next::Chores => {}
                Next::End => break,
            }
            if due.is_some_and(|due| due <= Instant::now()) {
                tidied = Instant::now() + self.chores();
            }
        }
        self.note_time();
        last
    }

    /// How long after the last chores the next are due, if there are any.
    fn pace(&self) -> Option<Duration> {
        match (self.rubbish, self.tally.requests) {
            (true, _) => Some(CLEARING),
            (false, 0) => None,
            (false, _) => Some(SWEEPING),
        }
    }

    /// Does all of these, and answers. `Err` if history could not be written.
    fn serve(&mut self, mut jobs: Vec<Box<dyn Job>>) -> Result<(), StoreError> {
        let mut behind = None;
        let outcomes = match self.together(&mut jobs, &mut behind) {
            Ok(outcomes) => outcomes,
            Err(error) if jobs.len() == 1 => vec![Err(error)],
            Err(_) => {
                behind = None;
                jobs.chunks_mut(1).map(|job| self.alone(job, &mut behind)).collect()
            }
        };
        let drained = match (jobs.first(), outcomes.first()) {
            (Some(job), Some(outcome)) if job.touches() == Touches::Drains => outcome.clone(),
            _ => Ok(()),
        };
        for (job, outcome) in jobs.into_iter().zip(outcomes) {
            job.answer(outcome);
        }
        // After the answers, so that nobody waits for it.
        if self.log_pages.load(Ordering::Relaxed) >= LOG_PAGES {
            self.checkpoint();
        }
        drained
    }

    fn alone(&mut self, job: &mut [Box<dyn Job>], behind: &mut Option<StoreError>) -> Result<(), StoreError> {
        let drains = job.iter().any(|job| job.touches() == Touches::Drains);
        let outcome = self.together(job, behind).and_then(|outcomes| outcomes.into_iter().next().unwrap_or(Ok(())));
        if let (true, Err(error)) = (drains, &outcome) {
            *behind = Some(error.clone());
        }
        outcome
    }

    /// One transaction for all of them. `Err` means that nothing of it holds.
    fn together(
        &mut self,
        jobs: &mut [Box<dyn Job>],
        behind: &mut Option<StoreError>,
    ) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        let before = self.tally;
        let outcome = self.attempt(jobs, behind);
        if outcome.is_err() {
            self.tally = before;
            if !self.connection.is_autocommit()
                && let Err(error) = self.connection.execute_batch("ROLLBACK")
            {
                tracing::error!(%error, "the store could not roll back");
            }
        }
        outcome
    }

    fn attempt(
        &mut self,
        jobs: &mut [Box<dyn Job>],
        behind: &mut Option<StoreError>,
    ) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        self.say("BEGIN")?;
        let single = jobs.len() == 1;
        let mut outcomes = Vec::with_capacity(jobs.len());
        for job in jobs {
            if let (Touches::Follows, Some(error)) = (job.touches(), &*behind) {
                outcomes.push(Err(error.clone()));
                continue;
            }
            if single {
                job.run(self)?;
                outcomes.push(Ok(()));
                continue;
            }
            let tally = self.tally;
            self.say("SAVEPOINT job")?;
            let outcome = job.run(self);
            if let Err(error) = &outcome {
                // Some errors, as that of a full disk, take the whole transaction with them.
                if self.connection.is_autocommit() {
                    return Err(error.clone());
                }
                self.tally = tally;
                self.say("ROLLBACK TO job")?;
                if job.touches() == Touches::Drains {
                    *behind = Some(error.clone());
                }
            }
            self.say("RELEASE job")?;
            outcomes.push(outcome);
        }
        self.say("COMMIT")?;
        Ok(outcomes)
    }

    fn say(&self, statement: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached(statement)?.execute([])?;
        Ok(())
    }

    /// A bounded piece of what has to be done now and then. How much longer than usual the next has to wait.
    fn chores(&mut self) -> Duration {
        let before = self.tally;
        let done = self.within(|desk| {
            requests::sweep(desk)?;
            history::clear_away(desk)
        });
        match done {
            Ok(()) => {
                self.note_time();
                Duration::ZERO
            }
            Err(error) => {
                self.tally = before;
                tracing::warn!(%error, "the store could not tidy up");
                REST
            }
        }
    }

    fn within(&mut self, work: impl FnOnce(&mut Self) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.say("BEGIN")?;
        let outcome = work(self).and_then(|()| self.say("COMMIT"));
        if outcome.is_err() && !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        outcome
    }

    /// Writes store time down, so that the next life goes on from here.
    fn note_time(&mut self) {
        let now = self.clock.now();
        if now == self.written {
            return;
        }
        match self.connection.execute("UPDATE facts SET value = ?1 WHERE name = 'time'", [now]) {
            Ok(_) => self.written = now,
            Err(error) => tracing::debug!(%error, "store time could not be written down"),
        }
    }

    fn checkpoint(&self) {
        let outcome = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)));
        match outcome {
            Ok((log, done)) if log == done => self.log_pages.store(0, Ordering::Relaxed),
            Ok(_) => {}
            // The pages stay in the log, where they are as safe; it is tried again after the next commit.
            Err(error) => tracing::warn!(%error, "the store's log could not be brought into its database"),
        }
    }
}
