//! Stores, changes, lists and removes session records. `record.rs` maps a [`SessionRecord`] to a row of the table.

use rusqlite::{Connection, OptionalExtension, params};

use super::Store;
use super::database::Database;
use super::error::{StoreError, check_size};
use super::queue::HistoryAccess;
use super::record::{COLUMNS, SessionRecord, StoredRow, read_row};

const MAX_SESSION_RECORD_BYTES: usize = 1 << 20;

/// Conditions for the sessions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionFilter {
    /// Team of the sessions; `None` for all teams.
    pub team: Option<String>,
    /// True to list only sessions that have not ended.
    pub live: bool,
}

impl Store {
    /// Stores a session; a record with the same id is replaced. When the limit is reached, the session that ended first
    /// is removed with its history. If no session has ended, the new session is refused.
    pub async fn put_session(&self, record: SessionRecord) -> Result<(), StoreError> {
        self.queue().run(HistoryAccess::Nothing, move |database| put(database, &record)).await
    }

    /// Changes the record of a session atomically; the id cannot be changed. `change` gets the stored record, and may
    /// be called more than once.
    pub async fn change_session(
        &self,
        id: impl Into<String>,
        mut change: impl FnMut(&mut SessionRecord) + Send + 'static,
    ) -> Result<SessionRecord, StoreError> {
        let id = id.into();
        self.queue()
            .run(HistoryAccess::Nothing, move |database| {
                let mut record = get(database, &id)?.ok_or_else(|| StoreError::NoSuchSession(id.clone()))?;
                change(&mut record);
                record.id.clone_from(&id);
                put(database, &record)?;
                Ok(record)
            })
            .await
    }

    /// Returns the session with this id.
    pub async fn session(&self, id: impl Into<String>) -> Result<Option<SessionRecord>, StoreError> {
        let id = id.into();
        self.queue().run(HistoryAccess::Nothing, move |database| get(database, &id)).await
    }

    /// Lists sessions in order of creation.
    pub async fn sessions(&self, filter: SessionFilter) -> Result<Vec<SessionRecord>, StoreError> {
        self.queue()
            .run(HistoryAccess::Nothing, move |database| {
                let mut statement = database.connection.prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM sessions WHERE (?1 IS NULL OR team = ?1) AND (NOT ?2 OR ended_at IS NULL)
                     ORDER BY created_at, id"
                ))?;
                let rows = statement.query_map(params![filter.team, filter.live], read_row)?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// Removes a session and its history. Returns true if the session existed.
    pub async fn remove_session(&self, id: impl Into<String>) -> Result<bool, StoreError> {
        let id = id.into();
        self.queue().run(HistoryAccess::Follows, move |database| remove(database, &id)).await
    }
}

/// Reads all sessions in order of creation. A malformed row is reported as damage.
pub(super) fn read_all(connection: &Connection) -> Result<Vec<SessionRecord>, StoreError> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM sessions ORDER BY created_at, id"))?;
    let rows = statement.query_map([], read_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn put(database: &mut Database, record: &SessionRecord) -> Result<(), StoreError> {
    let stored = StoredRow::of(record)?;
    check_size("the session", stored.text_bytes(), MAX_SESSION_RECORD_BYTES)?;

    let known = get(database, &record.id)?.is_some();
    if !known && database.counts.sessions >= database.limits.sessions {
        remove_oldest_ended(database)?;
    }
    let kept = database
        .connection
        .prepare_cached(&format!(
            "INSERT INTO sessions ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
             ON CONFLICT (id) DO UPDATE SET team = ?2, name = ?3, kind = ?4, agent = ?5, command = ?6, directory = ?7,
             columns = ?8, rows = ?9, model = ?10, mode = ?11, created_at = ?12, ended_at = ?13, ended = ?14, resume = ?15,
             extra = ?16"
        ))?
        .execute(stored.columns().as_slice());
    match kept {
        Ok(_) => {}
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
            return Err(StoreError::NameTaken { team: record.team.clone(), name: record.name.clone() });
        }
        Err(error) => return Err(error.into()),
    }
    if !known {
        database.connection.prepare_cached("INSERT INTO histories (session) VALUES (?1)")?.execute([&record.id])?;
        database.counts.sessions += 1;
    }
    Ok(())
}

fn get(database: &Database, id: &str) -> Result<Option<SessionRecord>, StoreError> {
    let mut statement = database.connection.prepare_cached(&format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1"))?;
    Ok(statement.query_row([id], read_row).optional()?)
}

fn remove_oldest_ended(database: &mut Database) -> Result<(), StoreError> {
    let oldest: Option<String> = database
        .connection
        .prepare_cached("SELECT id FROM sessions WHERE ended_at IS NOT NULL ORDER BY ended_at, id LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let Some(oldest) = oldest else {
        return Err(StoreError::Full { what: "sessions that have not ended", most: database.limits.sessions });
    };
    remove(database, &oldest).map(|_| ())
}

fn remove(database: &mut Database, id: &str) -> Result<bool, StoreError> {
    if database.connection.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id])? == 0 {
        return Ok(false);
    }
    // The history may be long: it is only detached here, and removed in steps later.
    database.connection.prepare_cached("UPDATE histories SET session = NULL WHERE session = ?1")?.execute([id])?;
    database.counts.sessions = database.counts.sessions.saturating_sub(1);
    database.has_orphans = true;
    Ok(true)
}
