//! Requests and their results. A request is begun at most once, even across a crash.

use std::time::SystemTime;

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, params};
use wh_core::request::RequestKey;

use super::database::Database;
use super::error::{StoreError, check_size};
use super::queue::HistoryAccess;
use super::{Store, from_millis, millis};

const MAX_KEY_BYTES: usize = 2048;
const MAX_FINGERPRINT_BYTES: usize = 256;
const MAX_RESULT_BYTES: usize = 64;
/// Maximum bytes of a result's detail; a longer detail is truncated.
const MAX_DETAIL_BYTES: usize = 4096;
/// Number of new requests after which expired requests are removed.
const REQUESTS_PER_SWEEP: u32 = 256;
/// Maximum number of expired requests removed at a time. Bounds the delay of other jobs. Larger than
/// [`REQUESTS_PER_SWEEP`], so that requests are removed faster than new requests arrive.
const MAX_SWEPT_REQUESTS: i64 = 1024;

const SELECT: &str =
    "SELECT fingerprint, state, result, detail, began_at, settled_at, epoch, settled_in, stamp, receipt, queued IS NOT NULL, open IS NOT NULL FROM requests
    WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4";

/// Result of [`Store::begin`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeginOutcome {
    /// The request was unknown and is now pending. Only the caller that gets this result executes the request.
    New,
    /// The request was begun before.
    Known(RequestEntry),
}

/// Stored state of a request, with its last receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestEntry {
    /// Fingerprint of the request's content. Reusing the key for other content is an error of the caller.
    pub fingerprint: String,
    /// Wall-clock time at which the request was begun.
    pub at: SystemTime,
    /// Epoch of the store in which the request was begun.
    pub epoch: u64,
    pub state: RequestState,
    /// Receipt that was stored last, as JSON.
    pub receipt: Option<String>,
    /// True if the request is a message in the queue of its agent.
    pub queued: bool,
}

/// Progress or result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestState {
    /// The request is being executed.
    Pending,
    /// The request was executed, or refused permanently.
    Done {
        result: String,
        detail: Option<String>,
        /// Wall-clock time of the result.
        at: SystemTime,
    },
    /// The engine ended before it stored a result. It is unknown whether the request was executed.
    CutOff {
        /// Epoch in which the store found the request pending.
        epoch: u64,
    },
}

impl Store {
    /// Begins a request, unless its key is known. Only one of several callers with the same key gets
    /// [`BeginOutcome::New`], once the new request is durable. If the call is cancelled, the request may have been
    /// begun.
    pub async fn begin(
        &self,
        key: RequestKey,
        fingerprint: impl Into<String>,
        at: SystemTime,
    ) -> Result<BeginOutcome, StoreError> {
        let fingerprint = fingerprint.into();
        check_size("the key of the request", size_of(&key), MAX_KEY_BYTES)?;
        check_size("the fingerprint", fingerprint.len(), MAX_FINGERPRINT_BYTES)?;
        self.queue().run(HistoryAccess::Nothing, move |database| begin(database, &key, &fingerprint, millis(at))).await
    }

    /// Returns the stored state of a request; `None` if it is unknown or has expired.
    pub async fn lookup(&self, key: RequestKey) -> Result<Option<RequestEntry>, StoreError> {
        self.queue().run(HistoryAccess::Nothing, move |database| find(database, &key)).await
    }

    /// Stores the result of a pending request. The result is final: storing it again has no effect, and storing another
    /// result is an error. A long detail is truncated.
    pub async fn finish(
        &self,
        key: RequestKey,
        result: impl Into<String>,
        detail: Option<String>,
        at: SystemTime,
    ) -> Result<(), StoreError> {
        let (result, detail) = (result.into(), detail.map(truncate_detail));
        check_size("the result", result.len(), MAX_RESULT_BYTES)?;
        let work =
            move |database: &mut Database| finish(database, &key, &result, detail.as_deref(), None, false, millis(at));
        self.queue().run(HistoryAccess::Nothing, work).await
    }

    /// Removes a request that was begun in this epoch and had no effect, so that it can be begun again. Returns true if
    /// the request was removed.
    pub async fn undo(&self, key: RequestKey) -> Result<bool, StoreError> {
        self.queue().run(HistoryAccess::Nothing, move |database| undo(database, &key)).await
    }

    /// Returns at most `most` requests that were pending when the store was last closed, and are now
    /// [`RequestState::CutOff`].
    pub async fn cut_off(&self, most: usize) -> Result<Vec<RequestKey>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.queue()
            .run(HistoryAccess::Nothing, move |database| {
                let mut statement = database.connection.prepare_cached(
                    "SELECT team, session, agent, request FROM requests WHERE state = 2 AND settled_in = ?1 LIMIT ?2",
                )?;
                let rows = statement.query_map(params![database.epoch as i64, most], |row| {
                    Ok(RequestKey { team: row.get(0)?, session: row.get(1)?, agent: row.get(2)?, request: row.get(3)? })
                })?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }
}

/// Returns the total bytes of a key.
fn size_of(key: &RequestKey) -> usize {
    key.team.len() + key.session.len() + key.agent.len() + key.request.len()
}

fn begin(database: &mut Database, key: &RequestKey, fingerprint: &str, at: i64) -> Result<BeginOutcome, StoreError> {
    if let Some(entry) = find(database, key)? {
        return Ok(BeginOutcome::Known(entry));
    }
    if database.counts.begun >= REQUESTS_PER_SWEEP || database.counts.requests >= database.limits.requests {
        sweep(database)?;
    }
    if database.counts.requests >= database.limits.requests {
        // Also removes expired requests that were begun while the wall clock was far ahead. They would otherwise fill
        // the store.
        sweep_until(database, i64::MAX)?;
    }
    if database.counts.requests >= database.limits.requests {
        return Err(StoreError::Full { what: "requests", most: database.limits.requests });
    }
    database
        .connection
        .prepare_cached(
            "INSERT INTO requests (team, session, agent, request, fingerprint, state, began_at, epoch, stamp)
             VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8)",
        )?
        .execute(params![
            key.team,
            key.session,
            key.agent,
            key.request,
            fingerprint,
            at,
            database.epoch as i64,
            database.clock.now()
        ])?;
    database.counts.requests += 1;
    database.counts.begun += 1;
    Ok(BeginOutcome::New)
}

/// Returns the stored state of a request; removes the request instead if it has expired.
fn find(database: &mut Database, key: &RequestKey) -> Result<Option<RequestEntry>, StoreError> {
    let found = database
        .connection
        .prepare_cached(SELECT)?
        .query_row(params![key.team, key.session, key.agent, key.request], |row| {
            Ok((entry(row)?, row.get::<_, i64>(8)?, row.get::<_, i64>(4)?, row.get::<_, bool>(11)?))
        })
        .optional()?;
    let Some((entry, stamp, began_at, open)) = found else { return Ok(None) };
    let alive = database.limits.alive(stamp, database.clock.now()) || database.limits.alive(began_at, wall_clock());
    if entry.state == RequestState::Pending || open || alive {
        return Ok(Some(entry));
    }
    remove(database, key)?;
    Ok(None)
}

fn remove(database: &mut Database, key: &RequestKey) -> Result<(), StoreError> {
    let gone = database
        .connection
        .prepare_cached("DELETE FROM requests WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4")?
        .execute(params![key.team, key.session, key.agent, key.request])?;
    database.counts.requests = database.counts.requests.saturating_sub(gone as u64);
    Ok(())
}

pub(super) fn finish(
    database: &mut Database,
    key: &RequestKey,
    result: &str,
    detail: Option<&str>,
    receipt: Option<&str>,
    open: bool,
    at: i64,
) -> Result<(), StoreError> {
    let settled = database
        .connection
        .prepare_cached(
            "UPDATE requests SET state = 1, result = ?5, detail = ?6, settled_at = ?7, settled_in = ?8, stamp = ?9,
             receipt = coalesce(receipt, ?10), queued = NULL, place = NULL, open = ?11
             WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4 AND state = 0",
        )?
        .execute(params![
            key.team,
            key.session,
            key.agent,
            key.request,
            result,
            detail,
            at,
            database.epoch as i64,
            database.clock.now(),
            receipt,
            open.then_some(1)
        ])?;
    if settled == 1 {
        return Ok(());
    }
    let request = key.request.clone();
    match find(database, key)?.map(|entry| entry.state) {
        None | Some(RequestState::Pending) => Err(StoreError::NoSuchRequest(request)),
        Some(RequestState::Done { result: before, .. }) if before == result => Ok(()),
        Some(RequestState::Done { result, .. }) => Err(StoreError::Settled { request, state: format!("{result:?}") }),
        Some(RequestState::CutOff { .. }) => Err(StoreError::Settled { request, state: "cut off".to_owned() }),
    }
}

pub(super) fn undo(database: &mut Database, key: &RequestKey) -> Result<bool, StoreError> {
    match find(database, key)? {
        Some(RequestEntry { state: RequestState::Pending, epoch, .. }) if epoch == database.epoch => {
            remove(database, key)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Removes the oldest expired requests. Pending requests never expire. Requests with a recent or future wall-clock time
/// are not removed either, because a retry of their messages could still pass the age limit.
pub(super) fn sweep(database: &mut Database) -> Result<(), StoreError> {
    sweep_until(database, database.limits.expired(wall_clock()))
}

/// Removes expired requests that were begun at this wall-clock time or earlier.
fn sweep_until(database: &mut Database, began: i64) -> Result<(), StoreError> {
    let until = database.limits.expired(database.clock.now());
    let gone = database
        .connection
        .prepare_cached(
            "DELETE FROM requests WHERE (team, session, agent, request) IN
             (SELECT team, session, agent, request FROM requests WHERE state <> 0 AND open IS NULL AND stamp <= ?1 AND began_at <= ?2
              ORDER BY stamp LIMIT ?3)",
        )?
        .execute(params![until, began, MAX_SWEPT_REQUESTS])?;
    database.counts.requests = database.counts.requests.saturating_sub(gone as u64);
    database.counts.begun = 0;
    Ok(())
}

/// Returns the wall-clock time in milliseconds since 1970.
fn wall_clock() -> i64 {
    millis(SystemTime::now())
}

fn entry(row: &Row<'_>) -> rusqlite::Result<RequestEntry> {
    let state = match row.get::<_, i64>(1)? {
        0 => RequestState::Pending,
        1 => RequestState::Done { result: row.get(2)?, detail: row.get(3)?, at: from_millis(row.get(5)?) },
        2 => RequestState::CutOff { epoch: row.get::<_, i64>(7)? as u64 },
        other => {
            return Err(rusqlite::Error::FromSqlConversionFailure(1, Type::Integer, format!("state {other}").into()));
        }
    };
    let (fingerprint, at, epoch) = (row.get(0)?, from_millis(row.get(4)?), row.get::<_, i64>(6)? as u64);
    Ok(RequestEntry { fingerprint, at, epoch, state, receipt: row.get(9)?, queued: row.get(10)? })
}

pub(super) fn truncate_detail(mut detail: String) -> String {
    if detail.len() > MAX_DETAIL_BYTES {
        let most = MAX_DETAIL_BYTES - '…'.len_utf8();
        let end = (0..=most).rev().find(|end| detail.is_char_boundary(*end)).unwrap_or(0);
        detail.truncate(end);
        detail.push('…');
    }
    detail
}
