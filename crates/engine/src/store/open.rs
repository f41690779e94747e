//! Opens the database: checks it for damage, migrates it to the current schema, and configures it to be durable.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};

use super::clock::{StoreClock, StoreTime, TimeSource};
use super::database::{Database, StoreCounts};
use super::directory::{StoreDirectory, unusable};
use super::error::StoreError;
use super::schema::{self, MigrationFailure};
use super::{OpenedStore, StoreLimits, sessions, wal};

/// Settings of the connection. [`prepare`] also sets `journal_mode` to WAL: a commit is then one append to a log and
/// one sync. The hook in [`start_epoch`] replaces `wal_autocheckpoint`: the store's thread runs checkpoints after it
/// has answered the callers.
///
/// - `locking_mode`: the only connection keeps its lock, so that the index of the log is in process memory.
/// - `synchronous`: FULL syncs the log with every commit. With NORMAL, a loss of power could undo an answered job.
/// - `temp_store`: savepoints use memory, and need no space on another disk.
/// - `cache_size`: 16 MiB.
/// - `journal_size_limit`: a log that is larger than 64 MiB is truncated to this size when SQLite reuses it.
/// - `trusted_schema`, `cell_size_check`: protect against a foreign or damaged file.
const PRAGMAS: &str = "
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA synchronous = FULL;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -16384;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
";

/// Maximum number of cached prepared statements.
const STATEMENT_CACHE_SIZE: usize = 64;

/// Opens the database. A damaged database is renamed, and a new database is created.
pub(super) fn open(
    directory: &StoreDirectory,
    limits: StoreLimits,
    time_source: TimeSource,
) -> Result<(Database, OpenedStore), StoreError> {
    let mut set_aside = None;
    let disk_full = |error| match error {
        StoreError::DiskFull => StoreError::Unusable {
            path: directory.path.clone(),
            why: "no space left on device; free some space and retry".to_owned(),
        },
        other => other,
    };
    let (database, cut_off) = match attempt(directory, limits, time_source.clone()) {
        Err(StoreError::Corrupt(why)) => {
            let aside = directory.set_aside().map_err(disk_full)?;
            tracing::error!(%why, aside = %aside.display(), "the store's database was damaged and renamed; created a new database");
            set_aside = Some((aside, why));
            attempt(directory, limits, time_source)
        }
        other => other,
    }
    .map_err(disk_full)?;
    let opening = OpenedStore { epoch: database.epoch, cut_off, set_aside };
    Ok((database, opening))
}

fn attempt(
    directory: &StoreDirectory,
    limits: StoreLimits,
    time_source: TimeSource,
) -> Result<(Database, u64), StoreError> {
    check_for_damage(directory)?;
    let connection = connect(directory)?;
    directory.sync()?;
    start_epoch(connection, limits, time_source)
}

/// Checks for damage that SQLite ignores: SQLite treats an empty file as a new database, and skips a write-ahead log
/// that it cannot read.
fn check_for_damage(directory: &StoreDirectory) -> Result<(), StoreError> {
    let log = directory.log()?;
    match (directory.file()?, log.is_empty()) {
        (None, true) => return Ok(()),
        (None, false) => {
            return Err(StoreError::Corrupt(
                "the database file is missing; only its write-ahead log exists".to_owned(),
            ));
        }
        (Some(path), _) => {
            let size = fs::metadata(&path).map_err(|error| unusable(&path, &error))?.len();
            check_length(size)?;
        }
    }
    let found = wal::read(&log).map_err(StoreError::Corrupt)?;
    if found.torn {
        tracing::warn!("the last transaction of the store is incomplete and was discarded");
    }
    // Empties a log without a commit. SQLite would reuse such a log with random salts. After another kill, the old
    // frames in the log would look like damage.
    if found.database_pages == 0 && !log.is_empty() {
        directory.empty_log()?;
    }
    Ok(())
}

/// Minimum size of a database: one page of the smallest page size.
const MIN_FILE_BYTES: u64 = 512;

/// Refuses files that are too short to be a database. SQLite treats a file of at most one byte as a new database.
pub(super) fn check_length(size: u64) -> Result<(), StoreError> {
    match size {
        0 => Err(StoreError::Corrupt("the file is empty".to_owned())),
        1..MIN_FILE_BYTES => Err(StoreError::Corrupt(format!("the file has only {size} bytes"))),
        _ => Ok(()),
    }
}

fn connect(directory: &StoreDirectory) -> Result<Connection, StoreError> {
    let path = match directory.file()? {
        Some(path) => path,
        None => create(directory)?,
    };
    open_at(&path)
}

/// Creates a database under a temporary name, and renames it when it is complete. A crash or a full disk thus never
/// leaves an incomplete database, which would look damaged.
fn create(directory: &StoreDirectory) -> Result<PathBuf, StoreError> {
    let unfinished = directory.create_unfinished()?;
    let connection = open_at(&unfinished)?;
    checkpoint_all(&connection)?;
    connection.close().map_err(|(_, error)| error)?;
    directory.finish(&unfinished)
}

/// Writes the whole write-ahead log into the database, and empties the log.
pub(super) fn checkpoint_all(connection: &Connection) -> Result<(), StoreError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy == 0 { Ok(()) } else { Err(StoreError::Failed("the write-ahead log is in use".to_owned())) }
}

fn open_at(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    // Closing the connection must not run a checkpoint, so that a damaged database and its log stay unchanged.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    prepare(&mut connection).map_err(|failure| match failure {
        MigrationFailure::Newer(found) => newer(path, found),
        MigrationFailure::Store(error) => with_path(error, path),
    })?;
    Ok(connection)
}

pub(super) fn newer(path: &Path, found: u32) -> StoreError {
    let known = u32::try_from(schema::MIGRATIONS.len()).unwrap_or(u32::MAX);
    StoreError::Newer { path: path.to_owned(), found, known }
}

fn with_path(error: StoreError, path: &Path) -> StoreError {
    match error {
        StoreError::Failed(why) => StoreError::Unusable { path: path.to_owned(), why },
        other => other,
    }
}

fn prepare(connection: &mut Connection) -> Result<(), MigrationFailure> {
    connection.execute_batch(PRAGMAS)?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(StoreError::Failed(format!(
            "the file system does not support journal mode \"wal\", only {mode:?}"
        ))
        .into());
    }
    let fresh: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let owner: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if fresh == 0 && owner == 0 {
        connection.pragma_update(None, "application_id", i64::from(schema::APPLICATION_ID))?;
    } else if owner != i64::from(schema::APPLICATION_ID) {
        let why = "the file is a database of another program; move the file, or choose another directory".to_owned();
        return Err(StoreError::Failed(why).into());
    }
    let sound: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if sound != "ok" {
        return Err(StoreError::Corrupt(sound).into());
    }
    schema::migrate(connection, schema::MIGRATIONS)?;
    sessions::read_all(connection)?;
    Ok(())
}

/// Drops queued messages that cannot be delivered, because their session has ended or is unknown.
const DROP_QUEUED: &str = "UPDATE requests SET queued = NULL, place = NULL WHERE queued IS NOT NULL
    AND session NOT IN (SELECT id FROM sessions WHERE ended_at IS NULL)";

/// Marks requests as cut off if they were being executed when the store was last closed. Queued messages stay queued.
const CUT_OFF_PENDING: &str =
    "UPDATE requests SET state = 2, settled_in = ?1, stamp = ?2 WHERE state = 0 AND queued IS NULL";

/// Starts a new epoch: increments the epoch, drops messages that cannot be delivered, and marks pending requests as cut
/// off, in one commit. Returns the number of requests cut off.
fn start_epoch(
    mut connection: Connection,
    limits: StoreLimits,
    time_source: TimeSource,
) -> Result<(Database, u64), StoreError> {
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
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
    let last_position = number("SELECT coalesce(max(abs(place)), 0) FROM requests WHERE queued IS NOT NULL")?;
    let clock = StoreClock::resume(noted.max(newest) as StoreTime, time_source);
    let now = clock.now();
    let transaction = connection.transaction()?;
    transaction.execute("INSERT OR REPLACE INTO facts VALUES ('epoch', ?1), ('time', ?2)", params![epoch, now])?;
    transaction.execute(DROP_QUEUED, [])?;
    // The commands of earlier epochs make no further progress.
    transaction.execute("UPDATE requests SET open = NULL, stamp = ?1 WHERE open IS NOT NULL", [now])?;
    let cut_off = transaction.execute(CUT_OFF_PENDING, params![epoch, now])?;
    transaction.commit()?;
    let count = |table| -> Result<u64, StoreError> {
        let count = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0))?;
        Ok(count as u64)
    };
    let counts = StoreCounts { requests: count("requests")?, sessions: count("sessions")?, begun: 0 };
    let has_orphans = count("histories WHERE session IS NULL")? > 0;
    let epoch = epoch as u64;
    Ok((
        Database { connection, clock, limits, epoch, counts, has_orphans, log_pages, stored_time: now, last_position },
        cut_off as u64,
    ))
}
