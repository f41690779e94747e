//! The table of sessions: stores, changes, lists and removes [`SessionRecord`]s. `record.rs` maps a record to its row.

use rusqlite::{Connection, OptionalExtension, params};

use super::Store;
use super::desk::Desk;
use super::error::{StoreError, fits};
use super::queue::Touches;
use super::record::{COLUMNS, SessionRecord, StoredRow, read_row};

/// The largest record, in bytes.
const LARGEST: usize = 1 << 20;

/// Which sessions are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Which {
    /// Only those of this team.
    pub team: Option<String>,
    /// Only those that have not ended.
    pub live: bool,
}

impl Store {
    /// Keeps a session, in the place of an older record of the same id. When as many are kept as may be, the one that
    /// ended first goes, with its history; if none has ended, this one is refused.
    pub async fn put_session(&self, record: SessionRecord) -> Result<(), StoreError> {
        self.queue().ask(Touches::Nothing, move |desk| put(desk, &record)).await
    }

    /// Changes a session in one step. The id stays what it is. The function may be called more than once, each time with
    /// the record as it is kept.
    pub async fn change_session(
        &self,
        id: impl Into<String>,
        mut change: impl FnMut(&mut SessionRecord) + Send + 'static,
    ) -> Result<SessionRecord, StoreError> {
        let id = id.into();
        self.queue()
            .ask(Touches::Nothing, move |desk| {
                let mut record = get(desk, &id)?.ok_or_else(|| StoreError::NoSuchSession(id.clone()))?;
                change(&mut record);
                record.id.clone_from(&id);
                put(desk, &record)?;
                Ok(record)
            })
            .await
    }

    /// A session by its id.
    pub async fn session(&self, id: impl Into<String>) -> Result<Option<SessionRecord>, StoreError> {
        let id = id.into();
        self.queue().ask(Touches::Nothing, move |desk| get(desk, &id)).await
    }

    /// The sessions, in the order in which they were made.
    pub async fn sessions(&self, which: Which) -> Result<Vec<SessionRecord>, StoreError> {
        self.queue()
            .ask(Touches::Nothing, move |desk| {
                let mut statement = desk.connection.prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM sessions WHERE (?1 IS NULL OR team = ?1) AND (NOT ?2 OR ended_at IS NULL)
                     ORDER BY created_at, id"
                ))?;
                let rows = statement.query_map(params![which.team, which.live], read_row)?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// Forgets a session and its history. Whether there was one.
    pub async fn remove_session(&self, id: impl Into<String>) -> Result<bool, StoreError> {
        let id = id.into();
        self.queue().ask(Touches::Follows, move |desk| remove(desk, &id)).await
    }
}

/// Every session, in the order in which they were made. A row that is not as it was written is damage.
pub(super) fn read_all(connection: &Connection) -> Result<Vec<SessionRecord>, StoreError> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM sessions ORDER BY created_at, id"))?;
    let rows = statement.query_map([], read_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn put(desk: &mut Desk, record: &SessionRecord) -> Result<(), StoreError> {
    let stored = StoredRow::of(record)?;
    fits("the session", stored.text_bytes(), LARGEST)?;

    let known = get(desk, &record.id)?.is_some();
    if !known && desk.tally.sessions >= desk.limits.sessions {
        make_room(desk)?;
    }
    let kept = desk
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
        desk.connection.prepare_cached("INSERT INTO histories (session) VALUES (?1)")?.execute([&record.id])?;
        desk.tally.sessions += 1;
    }
    Ok(())
}

fn get(desk: &Desk, id: &str) -> Result<Option<SessionRecord>, StoreError> {
    let mut statement = desk.connection.prepare_cached(&format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1"))?;
    Ok(statement.query_row([id], read_row).optional()?)
}

fn make_room(desk: &mut Desk) -> Result<(), StoreError> {
    let oldest: Option<String> = desk
        .connection
        .prepare_cached("SELECT id FROM sessions WHERE ended_at IS NOT NULL ORDER BY ended_at, id LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let Some(oldest) = oldest else {
        return Err(StoreError::Full { what: "sessions that have not ended", most: desk.limits.sessions });
    };
    remove(desk, &oldest).map(|_| ())
}

fn remove(desk: &mut Desk, id: &str) -> Result<bool, StoreError> {
    if desk.connection.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id])? == 0 {
        return Ok(false);
    }
    // The history may be long: it is cut loose here, and cleared away when there is time.
    desk.connection.prepare_cached("UPDATE histories SET session = NULL WHERE session = ?1")?.execute([id])?;
    desk.tally.sessions = desk.tally.sessions.saturating_sub(1);
    desk.rubbish = true;
    Ok(true)
}
