//! What is known of a session beyond its life: enough to list it, and to start it again.

use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::desk::Desk;
use super::error::{StoreError, fits};
use super::queue::Touches;
use super::{Store, from_millis, millis};

/// The largest record, in bytes.
const LARGEST: usize = 1 << 20;

const COLUMNS: &str =
    "id, team, name, kind, agent, command, directory, columns, rows, model, mode, created_at, ended_at,
    ended, resume, extra";

/// A session, as it is kept. Times are kept to the millisecond.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    /// Our id of it.
    pub id: String,
    /// What it is called. Of those in a team that have not ended, one has the name.
    pub name: String,
    /// Whose it is.
    pub team: String,
    /// What it is.
    pub kind: SessionKind,
    /// Which agent, if one.
    pub agent: Option<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it was started.
    pub directory: PathBuf,
    /// Columns and rows of its terminal, if it has one.
    pub size: Option<(u16, u16)>,
    /// The model that it uses.
    pub model: Option<String>,
    /// The mode that it is in.
    pub mode: Option<String>,
    /// When it was made.
    pub created_at: SystemTime,
    /// When and how it ended, if it has.
    pub ended: Option<Ended>,
    /// What its harness needs to go on with the same conversation.
    pub resume: Option<Resume>,
    /// Whatever else its owner wants to keep.
    pub extra: Value,
}

/// What a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// An agent that is spoken to by its protocol.
    Agent,
    /// A program in a terminal.
    Terminal,
}

/// The end of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// When.
    pub at: SystemTime,
    /// How: an exit, or a reason.
    pub how: Value,
}

/// What a provider calls a conversation. It is for the harness alone: it is not written into logs, and there is no way to
/// make JSON of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Resume(String);

impl Resume {
    /// Wraps it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// For the harness.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Resume {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Resume(…)")
    }
}

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
                let rows = statement.query_map(params![which.team, which.live], record)?;
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
    let rows = statement.query_map([], record)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn put(desk: &mut Desk, record: &SessionRecord) -> Result<(), StoreError> {
    let command = serde_json::to_string(&record.command)?;
    let extra = record.extra.to_string();
    let ended = record.ended.as_ref().map(|ended| ended.how.to_string());
    let directory = record.directory.to_str().ok_or_else(|| {
        StoreError::Failed(format!("the directory {} has a name that is no text", record.directory.display()))
    })?;
    let resume = record.resume.as_ref().map(Resume::reveal);
    let texts =
        [Some(record.id.as_str()), Some(&record.name), Some(&record.team), record.agent.as_deref(), Some(directory)];
    let more =
        [record.model.as_deref(), record.mode.as_deref(), resume, Some(&command), Some(&extra), ended.as_deref()];
    fits("the session", texts.iter().chain(&more).flatten().map(|text| text.len()).sum(), LARGEST)?;

    let known = get(desk, &record.id)?.is_some();
    if !known && desk.tally.sessions >= desk.limits.sessions {
        make_room(desk)?;
    }
    let (columns, rows) = record.size.unzip();
    let kept = desk
        .connection
        .prepare_cached(&format!(
            "INSERT INTO sessions ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
             ON CONFLICT (id) DO UPDATE SET team = ?2, name = ?3, kind = ?4, agent = ?5, command = ?6, directory = ?7,
             columns = ?8, rows = ?9, model = ?10, mode = ?11, created_at = ?12, ended_at = ?13, ended = ?14, resume = ?15,
             extra = ?16"
        ))?
        .execute(params![
            record.id,
            record.team,
            record.name,
            record.kind.word(),
            record.agent,
            command,
            directory,
            columns,
            rows,
            record.model,
            record.mode,
            millis(record.created_at),
            record.ended.as_ref().map(|ended| millis(ended.at)),
            ended,
            resume,
            extra
        ]);
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
    Ok(statement.query_row([id], record).optional()?)
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

impl SessionKind {
    fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Terminal => "terminal",
        }
    }
}

fn record(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    let wrong = |column, error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error)
    };
    let json = |column: usize| -> rusqlite::Result<Option<Value>> {
        let text: Option<String> = row.get(column)?;
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| wrong(column, error.into()))
    };
    let kind = match row.get_ref(3)?.as_str().map_err(|error| wrong(3, error.into()))? {
        "agent" => SessionKind::Agent,
        "terminal" => SessionKind::Terminal,
        other => return Err(wrong(3, format!("a session of kind {other:?}").into())),
    };
    let command: String = row.get(5)?;
    let ended = match (row.get::<_, Option<i64>>(12)?, json(13)?) {
        (Some(at), how) => Some(Ended { at: from_millis(at), how: how.unwrap_or_default() }),
        (None, _) => None,
    };
    Ok(SessionRecord {
        id: row.get(0)?,
        team: row.get(1)?,
        name: row.get(2)?,
        kind,
        agent: row.get(4)?,
        command: serde_json::from_str(&command).map_err(|error| wrong(5, error.into()))?,
        directory: PathBuf::from(row.get::<_, String>(6)?),
        size: row.get::<_, Option<u16>>(7)?.zip(row.get(8)?),
        model: row.get(9)?,
        mode: row.get(10)?,
        created_at: from_millis(row.get(11)?),
        ended,
        resume: row.get::<_, Option<String>>(14)?.map(Resume),
        extra: json(15)?.unwrap_or_default(),
    })
}
