//! How the database is opened: checked, brought to this version, and set up to be durable.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::{Connection, OpenFlags, params};

use super::clock::{Clock, Stamp, Steady};
use super::desk::{Desk, Tally};
use super::error::StoreError;
use super::place::Place;
use super::schema::{self, Trouble};
use super::{Limits, Opening};

/// - `locking_mode`: the one connection there is keeps its lock, and the index of the log lies in its own memory.
/// - `journal_mode`: a commit is one append to a log and one sync.
/// - `synchronous`: FULL syncs the log with every commit; with NORMAL a loss of power could take back what was answered.
/// - `temp_store`: what savepoints need is kept in memory, and asks no other disk for room.
/// - `cache_size`: 16 MiB.
/// - `trusted_schema`, `cell_size_check`: a damaged or foreign file is noticed rather than believed.
/// - `wal_autocheckpoint`: off; the thread does it after it has answered.
const PRAGMAS: &str = "
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA synchronous = FULL;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -16384;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
";

/// Statements that are kept prepared.
const STATEMENTS: usize = 64;

/// Opens the database, and sets a damaged one aside.
pub(super) fn open(place: &Place, limits: Limits, steady: Steady) -> Result<(Desk, Opening), StoreError> {
    let mut set_aside = None;
    let connection = match connect(place) {
        Err(StoreError::Corrupt(why)) => {
            let aside = place.set_aside()?;
            tracing::error!(%why, aside = %aside.display(), "the store was damaged and set aside; a new one is begun");
            set_aside = Some((aside, why));
            connect(place)?
        }
        other => other?,
    };
    place.sync()?;
    let (desk, cut_off) = begin_life(connection, limits, steady)?;
    let opening = Opening { epoch: desk.epoch, cut_off, set_aside };
    Ok((desk, opening))
}

fn connect(place: &Place) -> Result<Connection, StoreError> {
    let path = place.file()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags)?;
    prepare(&mut connection).map_err(|trouble| match trouble {
        Trouble::Newer(found) => {
            let known = u32::try_from(schema::STEPS.len()).unwrap_or(u32::MAX);
            StoreError::Newer { path: path.clone(), found, known }
        }
        Trouble::Store(error) => named(error, &path),
    })?;
    Ok(connection)
}

fn named(error: StoreError, path: &Path) -> StoreError {
    match error {
        StoreError::Failed(why) => StoreError::Unusable { path: path.to_owned(), why },
        other => other,
    }
}

fn prepare(connection: &mut Connection) -> Result<(), Trouble> {
    connection.execute_batch(PRAGMAS)?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(StoreError::Failed(format!("its file system gives no write-ahead log, only {mode:?}")).into());
    }
    let fresh: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let owner: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if fresh == 0 && owner == 0 {
        connection.pragma_update(None, "application_id", i64::from(schema::APPLICATION))?;
    } else if owner != i64::from(schema::APPLICATION) {
        let why = "it is a database of another program; move it away, or choose another directory".to_owned();
        return Err(StoreError::Failed(why).into());
    }
    let sound: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if sound != "ok" {
        return Err(StoreError::Corrupt(sound).into());
    }
    schema::migrate(connection, schema::STEPS)?;
    Ok(())
}

/// Counts what there is, and begins a new life: in one commit the epoch goes up and what was being carried out is cut off.
fn begin_life(mut connection: Connection, limits: Limits, steady: Steady) -> Result<(Desk, u64), StoreError> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    let log_pages = Arc::new(AtomicU32::new(0));
    let pages = Arc::clone(&log_pages);
    connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, now: i32| {
        pages.store(now.unsigned_abs(), Ordering::Relaxed);
        Ok(())
    }))?;
    let number = |statement: &str| connection.query_row(statement, [], |row| row.get::<_, i64>(0));
    let noted = number("SELECT coalesce(max(value), 0) FROM facts WHERE name = 'time'")?;
    let newest = number("SELECT coalesce(max(stamp), 0) FROM requests")?;
    let epoch = number("SELECT coalesce(max(value), 0) FROM facts WHERE name = 'epoch'")?.saturating_add(1);
    let clock = Clock::resume(noted.max(newest) as Stamp, steady);
    let now = clock.now();
    let transaction = connection.transaction()?;
    transaction.execute("INSERT OR REPLACE INTO facts VALUES ('epoch', ?1), ('time', ?2)", params![epoch, now])?;
    let cut_off = transaction
        .execute("UPDATE requests SET state = 2, settled_in = ?1, stamp = ?2 WHERE state = 0", params![epoch, now])?;
    transaction.commit()?;
    let count = |table| -> Result<u64, StoreError> {
        let count = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0))?;
        Ok(count as u64)
    };
    let tally = Tally { requests: count("requests")?, sessions: count("sessions")?, begun: 0 };
    let rubbish = count("histories WHERE session IS NULL")? > 0;
    let epoch = epoch as u64;
    Ok((Desk { connection, clock, limits, epoch, tally, rubbish, log_pages, written: now }, cut_off as u64))
}
