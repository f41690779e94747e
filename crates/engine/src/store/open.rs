//! How the database is opened: checked, brought to this version, and set up to be durable.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};

use super::clock::{Clock, Stamp, Steady};
use super::desk::{Desk, Tally};
use super::error::StoreError;
use super::place::{Place, unusable};
use super::schema::{self, Trouble};
use super::{Limits, Opening, sessions, wal};

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
    let full = |error| match error {
        StoreError::DiskFull => StoreError::Unusable {
            path: place.directory.clone(),
            why: "no space left on device; make room on that disk and try again".to_owned(),
        },
        other => other,
    };
    let (desk, cut_off) = match attempt(place, limits, steady.clone()) {
        Err(StoreError::Corrupt(why)) => {
            let aside = place.set_aside().map_err(full)?;
            tracing::error!(%why, aside = %aside.display(), "the store was damaged and set aside; a new one is begun");
            set_aside = Some((aside, why));
            attempt(place, limits, steady)
        }
        other => other,
    }
    .map_err(full)?;
    let opening = Opening { epoch: desk.epoch, cut_off, set_aside };
    Ok((desk, opening))
}

fn attempt(place: &Place, limits: Limits, steady: Steady) -> Result<(Desk, u64), StoreError> {
    inspect(place)?;
    let connection = connect(place)?;
    place.sync()?;
    begin_life(connection, limits, steady)
}

/// Looks for damage that SQLite passes over: it takes an empty file for a new database, and ignores a write-ahead log that
/// it cannot read.
fn inspect(place: &Place) -> Result<(), StoreError> {
    let log = place.log()?;
    match (place.file()?, log.is_empty()) {
        (None, true) => return Ok(()),
        (None, false) => {
            return Err(StoreError::Corrupt("its file is gone, and only the write-ahead log is left".to_owned()));
        }
        (Some(path), _) => {
            let size = fs::metadata(&path).map_err(|error| unusable(&path, &error))?.len();
            long_enough(size)?;
        }
    }
    let found = wal::read(&log).map_err(StoreError::Corrupt)?;
    if found.torn {
        tracing::warn!("the last transaction of the store was cut off while it was written; it is not kept");
    }
    // SQLite would begin such a log anew with random salts, and what is left of it would look like garbage after another kill.
    if found.database_pages == 0 && !log.is_empty() {
        place.empty_log()?;
    }
    Ok(())
}

/// The smallest database has one page of the smallest size.
const MIN_FILE_BYTES: u64 = 512;

/// SQLite takes a file of one byte or none for a new database.
pub(super) fn long_enough(size: u64) -> Result<(), StoreError> {
    match size {
        0 => Err(StoreError::Corrupt("the file is empty".to_owned())),
        1..MIN_FILE_BYTES => Err(StoreError::Corrupt(format!("the file has only {size} bytes"))),
        _ => Ok(()),
    }
}

fn connect(place: &Place) -> Result<Connection, StoreError> {
    let path = match place.file()? {
        Some(path) => path,
        None => create(place)?,
    };
    open_at(&path)
}

/// Makes a new database under another name, and gives it its own once it is complete: a crash or a full disk never leaves
/// one that would be taken for damaged.
fn create(place: &Place) -> Result<PathBuf, StoreError> {
    let unfinished = place.unfinished()?;
    let connection = open_at(&unfinished)?;
    fold_log(&connection)?;
    connection.close().map_err(|(_, error)| error)?;
    place.finish(&unfinished)
}

/// Writes all of the log into the database, and empties it.
pub(super) fn fold_log(connection: &Connection) -> Result<(), StoreError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy == 0 { Ok(()) } else { Err(StoreError::Failed("the log is in use".to_owned())) }
}

fn open_at(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    // A database that turns out to be damaged is kept as it was found, its log included.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    prepare(&mut connection).map_err(|trouble| match trouble {
        Trouble::Newer(found) => newer(path, found),
        Trouble::Store(error) => named(error, path),
    })?;
    Ok(connection)
}

pub(super) fn newer(path: &Path, found: u32) -> StoreError {
    let known = u32::try_from(schema::STEPS.len()).unwrap_or(u32::MAX);
    StoreError::Newer { path: path.to_owned(), found, known }
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
    sessions::read_all(connection)?;
    Ok(())
}

/// Messages that wait for a session which has ended, or which nobody knows any more, are delivered by nobody.
const FORGET_QUEUED: &str = "UPDATE requests SET queued = NULL, place = NULL WHERE queued IS NOT NULL
    AND session NOT IN (SELECT id FROM sessions WHERE ended_at IS NULL)";

/// Cuts off what was being carried out. A queued message was not: it still waits.
const CUT_OFF: &str = "UPDATE requests SET state = 2, settled_in = ?1, stamp = ?2 WHERE state = 0 AND queued IS NULL";

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
    let places = number("SELECT coalesce(max(place), 0) FROM requests WHERE queued IS NOT NULL")?;
    let clock = Clock::resume(noted.max(newest) as Stamp, steady);
    let now = clock.now();
    let transaction = connection.transaction()?;
    transaction.execute("INSERT OR REPLACE INTO facts VALUES ('epoch', ?1), ('time', ?2)", params![epoch, now])?;
    transaction.execute(FORGET_QUEUED, [])?;
    // Nothing more of them is to come.
    transaction.execute("UPDATE requests SET open = NULL, stamp = ?1 WHERE open IS NOT NULL", [now])?;
    let cut_off = transaction.execute(CUT_OFF, params![epoch, now])?;
    transaction.commit()?;
    let count = |table| -> Result<u64, StoreError> {
        let count = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0))?;
        Ok(count as u64)
    };
    let tally = Tally { requests: count("requests")?, sessions: count("sessions")?, begun: 0 };
    let rubbish = count("histories WHERE session IS NULL")? > 0;
    let epoch = epoch as u64;
    Ok((Desk { connection, clock, limits, epoch, tally, rubbish, log_pages, written: now, places }, cut_off as u64))
}
