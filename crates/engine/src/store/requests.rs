//! Requests and what became of them: the same request is begun once, also across a crash.

use std::time::SystemTime;

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, params};
use wh_core::request::Key;

use super::desk::Desk;
use super::error::{StoreError, fits};
use super::queue::Touches;
use super::{Store, from_millis, millis};

/// The longest key, in bytes.
const LONGEST_KEY: usize = 2048;
/// The longest fingerprint, in bytes.
const LONGEST_FINGERPRINT: usize = 256;
/// The longest result, in bytes.
const LONGEST_RESULT: usize = 64;
/// The longest detail, in bytes; a longer one is cut.
const LONGEST_DETAIL: usize = 4096;
/// After so many new requests, expired ones are looked for.
const SWEEP_EVERY: u32 = 256;
/// So many expired ones go at a time, so that nobody waits long for it. More than come in the same time.
const SWEEP_AT_ONCE: i64 = 1024;

const SELECT: &str =
    "SELECT fingerprint, state, result, detail, began_at, settled_at, epoch, settled_in, stamp, receipt, queued IS NOT NULL, open IS NOT NULL FROM requests
    WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4";

/// What [`Store::begin`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It was not known, and is now: whoever hears this, and nobody else, carries it out.
    New,
    /// It was begun before.
    Known(Entry),
}

/// What is known of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it asked for, as the caller put it: the same request with another fingerprint is a mistake.
    pub fingerprint: String,
    /// When it was begun, by the wall clock.
    pub at: SystemTime,
    /// The life of the store in which it was begun.
    pub epoch: u64,
    /// What became of it.
    pub state: State,
    /// The receipt, as JSON, as it was stored last.
    pub receipt: Option<String>,
    /// It is a message that waits for its agent.
    pub queued: bool,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is being carried out.
    Pending,
    /// It was carried out, or refused for good.
    Done {
        /// What came of it, in a word.
        result: String,
        /// In more words.
        detail: Option<String>,
        /// When, by the wall clock.
        at: SystemTime,
    },
    /// The engine ended while it was being carried out: whether it was is not known.
    CutOff {
        /// The life of the store that found it so.
        epoch: u64,
    },
}

impl Store {
    /// Begins a request, unless it is known. Looking and entering are one step: of many who begin the same key, one hears
    /// [`Begun::New`], and only after it is on the disk. A call that is given up on may still have begun it.
    pub async fn begin(&self, key: Key, fingerprint: impl Into<String>, at: SystemTime) -> Result<Begun, StoreError> {
        let fingerprint = fingerprint.into();
        fits("the key of the request", size_of(&key), LONGEST_KEY)?;
        fits("the fingerprint", fingerprint.len(), LONGEST_FINGERPRINT)?;
        self.queue().ask(Touches::Nothing, move |desk| begin(desk, &key, &fingerprint, millis(at))).await
    }

    /// What is known of a request.
    pub async fn lookup(&self, key: Key) -> Result<Option<Entry>, StoreError> {
        self.queue().ask(Touches::Nothing, move |desk| find(desk, &key)).await
    }

    /// Says what became of a request that was begun. The first result counts: saying the same again changes nothing, and
    /// saying another is an error. A detail that is too long is cut.
    pub async fn finish(
        &self,
        key: Key,
        result: impl Into<String>,
        detail: Option<String>,
        at: SystemTime,
    ) -> Result<(), StoreError> {
        let (result, detail) = (result.into(), detail.map(shortened));
        fits("the result", result.len(), LONGEST_RESULT)?;
        let work = move |desk: &mut Desk| finish(desk, &key, &result, detail.as_deref(), None, false, millis(at));
        self.queue().ask(Touches::Nothing, work).await
    }

    /// Takes back a beginning of this life after which nothing was done: the same request may then be begun anew. Whether
    /// there was one.
    pub async fn undo(&self, key: Key) -> Result<bool, StoreError> {
        self.queue().ask(Touches::Nothing, move |desk| undo(desk, &key)).await
    }

    /// The requests that were being carried out when an earlier life of the store ended, as this opening found them; at
    /// most `most`. They have become [`State::CutOff`] before anybody could ask.
    pub async fn cut_off(&self, most: usize) -> Result<Vec<Key>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.queue()
            .ask(Touches::Nothing, move |desk| {
                let mut statement = desk.connection.prepare_cached(
                    "SELECT team, session, agent, request FROM requests WHERE state = 2 AND settled_in = ?1 LIMIT ?2",
                )?;
                let rows = statement.query_map(params![desk.epoch as i64, most], |row| {
                    Ok(Key { team: row.get(0)?, session: row.get(1)?, agent: row.get(2)?, request: row.get(3)? })
                })?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }
}

/// Bytes of a key.
fn size_of(key: &Key) -> usize {
    key.team.len() + key.session.len() + key.agent.len() + key.request.len()
}

fn begin(desk: &mut Desk, key: &Key, fingerprint: &str, at: i64) -> Result<Begun, StoreError> {
    if let Some(entry) = find(desk, key)? {
        return Ok(Begun::Known(entry));
    }
    if desk.tally.begun >= SWEEP_EVERY || desk.tally.requests >= desk.limits.requests {
        sweep(desk)?;
    }
    if desk.tally.requests >= desk.limits.requests {
        // A clock that was far ahead once must not fill it for good.
        sweep_until(desk, i64::MAX)?;
    }
    if desk.tally.requests >= desk.limits.requests {
        return Err(StoreError::Full { what: "requests", most: desk.limits.requests });
    }
    desk.connection
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
            desk.epoch as i64,
            desk.clock.now()
        ])?;
    desk.tally.requests += 1;
    desk.tally.begun += 1;
    Ok(Begun::New)
}

/// What is known of a request. One that has expired is no longer known, and goes.
fn find(desk: &mut Desk, key: &Key) -> Result<Option<Entry>, StoreError> {
    let found = desk
        .connection
        .prepare_cached(SELECT)?
        .query_row(params![key.team, key.session, key.agent, key.request], |row| {
            Ok((entry(row)?, row.get::<_, i64>(8)?, row.get::<_, i64>(4)?, row.get::<_, bool>(11)?))
        })
        .optional()?;
    let Some((entry, stamp, began_at, open)) = found else { return Ok(None) };
    let alive = desk.limits.alive(stamp, desk.clock.now()) || desk.limits.alive(began_at, wall());
    if entry.state == State::Pending || open || alive {
        return Ok(Some(entry));
    }
    remove(desk, key)?;
    Ok(None)
}

fn remove(desk: &mut Desk, key: &Key) -> Result<(), StoreError> {
    let gone = desk
        .connection
        .prepare_cached("DELETE FROM requests WHERE team = ?1 AND session = ?2 AND agent = ?3 AND request = ?4")?
        .execute(params![key.team, key.session, key.agent, key.request])?;
    desk.tally.requests = desk.tally.requests.saturating_sub(gone as u64);
    Ok(())
}

pub(super) fn finish(
    desk: &mut Desk,
    key: &Key,
    result: &str,
    detail: Option<&str>,
    receipt: Option<&str>,
    open: bool,
    at: i64,
) -> Result<(), StoreError> {
    let settled = desk
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
            desk.epoch as i64,
            desk.clock.now(),
            receipt,
            open.then_some(1)
        ])?;
    if settled == 1 {
        return Ok(());
    }
    let request = key.request.clone();
    match find(desk, key)?.map(|entry| entry.state) {
        None | Some(State::Pending) => Err(StoreError::NoSuchRequest(request)),
        Some(State::Done { result: before, .. }) if before == result => Ok(()),
        Some(State::Done { result, .. }) => Err(StoreError::Settled { request, state: format!("{result:?}") }),
        Some(State::CutOff { .. }) => Err(StoreError::Settled { request, state: "cut off".to_owned() }),
    }
}

pub(super) fn undo(desk: &mut Desk, key: &Key) -> Result<bool, StoreError> {
    match find(desk, key)? {
        Some(Entry { state: State::Pending, epoch, .. }) if epoch == desk.epoch => {
            remove(desk, key)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Forgets the oldest of the requests that have expired. Those that are being carried out never expire, and neither do those of which the wall
/// clock says that they began a short while ago, or have yet to begin: it was ahead then, and their messages would be fresh again.
pub(super) fn sweep(desk: &mut Desk) -> Result<(), StoreError> {
    sweep_until(desk, desk.limits.expired(wall()))
}

/// The same, of those that began by then on the wall clock.
fn sweep_until(desk: &mut Desk, began: i64) -> Result<(), StoreError> {
    let until = desk.limits.expired(desk.clock.now());
    let gone = desk
        .connection
        .prepare_cached(
            "DELETE FROM requests WHERE (team, session, agent, request) IN
             (SELECT team, session, agent, request FROM requests WHERE state <> 0 AND open IS NULL AND stamp <= ?1 AND began_at <= ?2
              ORDER BY stamp LIMIT ?3)",
        )?
        .execute(params![until, began, SWEEP_AT_ONCE])?;
    desk.tally.requests = desk.tally.requests.saturating_sub(gone as u64);
    desk.tally.begun = 0;
    Ok(())
}

/// The wall clock, in milliseconds since 1970.
fn wall() -> i64 {
    millis(SystemTime::now())
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let state = match row.get::<_, i64>(1)? {
        0 => State::Pending,
        1 => State::Done { result: row.get(2)?, detail: row.get(3)?, at: from_millis(row.get(5)?) },
        2 => State::CutOff { epoch: row.get::<_, i64>(7)? as u64 },
        other => {
            return Err(rusqlite::Error::FromSqlConversionFailure(1, Type::Integer, format!("state {other}").into()));
        }
    };
    let (fingerprint, at, epoch) = (row.get(0)?, from_millis(row.get(4)?), row.get::<_, i64>(6)? as u64);
    Ok(Entry { fingerprint, at, epoch, state, receipt: row.get(9)?, queued: row.get(10)? })
}

pub(super) fn shortened(mut detail: String) -> String {
    if detail.len() > LONGEST_DETAIL {
        let most = LONGEST_DETAIL - '…'.len_utf8();
        let end = (0..=most).rev().find(|end| detail.is_char_boundary(*end)).unwrap_or(0);
        detail.truncate(end);
        detail.push('…');
    }
    detail
}
