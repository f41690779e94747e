//! Stored form of a session, with the fields needed to list and restart it. Converts a [`SessionRecord`] to a row and
//! back; `sessions.rs` contains the SQL statements.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::types::Type;
use rusqlite::{Row, ToSql};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wh_client::EndCause;
use wh_core::terminal::Exit;

use super::error::StoreError;
use super::{from_millis, millis};

/// Columns of a row, in the order used by [`StoredRow::columns`] and [`read_row`].
pub(super) const COLUMNS: &str =
    "id, team, name, kind, agent, command, directory, columns, rows, model, mode, created_at, ended_at,
    ended, resume, extra";

/// Stored form of a session. Times are rounded to milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    pub id: String,
    /// Name of the session, unique among the running sessions of a team.
    pub name: String,
    /// Team that the session belongs to.
    pub team: String,
    pub kind: SessionKind,
    /// Id of the session's agent; `None` for a terminal program.
    pub agent: Option<String>,
    /// Program and its arguments; for an agent, only the arguments.
    pub command: Vec<String>,
    pub directory: PathBuf,
    /// Columns and rows of the session's terminal; `None` for a session without a terminal.
    pub size: Option<(u16, u16)>,
    /// Model of the agent; `None` for the agent's default.
    pub model: Option<String>,
    /// Mode of the agent; `None` for the agent's default.
    pub mode: Option<String>,
    /// True if clients may switch the agent to a mode without permission requests.
    pub may_skip_permissions: bool,
    /// Environment variables of the session whose names are in a fixed list; the list excludes
    /// variables that may contain secrets. Empty if the session has the environment of the daemon.
    pub environment: BTreeMap<String, String>,
    /// Ids of the sessions that created this session: its creator first, then the creator's creator, and so on.
    pub creators: Vec<String>,
    /// True if the session is the user's own shell. Callers inside such a session are treated like callers outside any
    /// session.
    pub person: bool,
    /// Idempotency key and terms of the create request; `None` if the request had no key.
    pub idempotency: Option<IdempotentCreate>,
    pub created_at: SystemTime,
    /// Time and cause of the session's end; `None` while it runs.
    pub ended: Option<SessionEnd>,
    /// Resume id of the agent's conversation; `None` before the agent has reported it.
    pub resume: Option<ResumeId>,
    /// Time of the last change of `resume`, rounded to seconds; `None` before the first change.
    pub resume_changed: Option<SystemTime>,
}

impl SessionRecord {
    /// True if the agent has started a new conversation that has no message yet. Such a session has no resume id, and
    /// can be restarted without losing anything.
    pub fn has_fresh_conversation(&self) -> bool {
        self.resume.is_none() && self.resume_changed.is_some()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// Agent that is controlled through a protocol.
    Agent,
    /// Program that runs in a terminal.
    Terminal,
}

impl SessionKind {
    fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Terminal => "terminal",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Agent, Self::Terminal].into_iter().find(|kind| kind.word() == word)
    }
}

/// Time and cause of a session's end.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEnd {
    pub at: SystemTime,
    /// Cause of the end. [`EndCause::Suspended`] is stored as [`EndCause::Lost`].
    pub how: EndCause,
}

/// Create request with an idempotency key; a retry with the same key creates no second session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotentCreate {
    /// Idempotency key chosen by the caller, unique in a team.
    #[serde(rename = "name")]
    pub key: String,
    /// Fields that a retry must repeat; a request with other fields is refused.
    pub terms: Value,
}

/// Agent's own id of a conversation, with which the agent resumes the conversation. Only the harness uses the id; it is
/// never logged or serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct ResumeId(String);

impl ResumeId {
    /// Creates a resume id from its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text of the id, for the harness.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ResumeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ResumeId(…)")
    }
}

/// Fields without a separate column, stored as JSON in the column `extra`. The field names are part of the stored
/// format.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ExtraColumn {
    environment: BTreeMap<String, String>,
    wish: Option<IdempotentCreate>,
    creators: Vec<String>,
    person: bool,
    may_skip_permissions: bool,
    /// Value of [`SessionRecord::has_fresh_conversation`]; `None` before the first change of the resume id.
    #[serde(skip_serializing_if = "Option::is_none")]
    anew: Option<bool>,
    /// Time of the last change of the resume id, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    named_at: Option<u64>,
}

impl ExtraColumn {
    fn of(record: &SessionRecord) -> Self {
        Self {
            environment: record.environment.clone(),
            wish: record.idempotency.clone(),
            creators: record.creators.clone(),
            person: record.person,
            may_skip_permissions: record.may_skip_permissions,
            anew: record.resume_changed.is_some().then(|| record.has_fresh_conversation()),
            named_at: record.resume_changed.map(seconds),
        }
    }

    fn resume_changed(&self) -> Option<SystemTime> {
        let at = self.named_at.or_else(|| (self.anew == Some(true)).then_some(0))?;
        UNIX_EPOCH.checked_add(Duration::from_secs(at))
    }
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Session record with the values computed for its row.
pub(super) struct StoredRow<'a> {
    record: &'a SessionRecord,
    kind: &'static str,
    command: String,
    directory: &'a str,
    columns: Option<u16>,
    rows: Option<u16>,
    created_at: i64,
    ended_at: Option<i64>,
    ended: Option<String>,
    resume: Option<&'a str>,
    extra: String,
}

impl<'a> StoredRow<'a> {
    pub fn of(record: &'a SessionRecord) -> Result<Self, StoreError> {
        let directory = record.directory.to_str().ok_or_else(|| {
            StoreError::Failed(format!("the directory {} is not valid UTF-8", record.directory.display()))
        })?;
        let (columns, rows) = record.size.unzip();
        Ok(Self {
            record,
            kind: record.kind.word(),
            command: serde_json::to_string(&record.command)?,
            directory,
            columns,
            rows,
            created_at: millis(record.created_at),
            ended_at: record.ended.as_ref().map(|ended| millis(ended.at)),
            ended: record.ended.as_ref().map(|ended| write_ending(&ended.how).to_string()),
            resume: record.resume.as_ref().map(ResumeId::reveal),
            extra: serde_json::to_string(&ExtraColumn::of(record))?,
        })
    }

    /// Returns the values of the row, in the order of [`COLUMNS`].
    pub fn columns(&self) -> [&dyn ToSql; 16] {
        let record = self.record;
        [
            &record.id,
            &record.team,
            &record.name,
            &self.kind,
            &record.agent,
            &self.command,
            &self.directory,
            &self.columns,
            &self.rows,
            &record.model,
            &record.mode,
            &self.created_at,
            &self.ended_at,
            &self.ended,
            &self.resume,
            &self.extra,
        ]
    }

    /// Returns the total bytes of all text values.
    pub fn text_bytes(&self) -> usize {
        let record = self.record;
        let always = [&record.id, &record.name, &record.team, self.directory, &self.command, &self.extra];
        let sometimes = [
            record.agent.as_deref(),
            record.model.as_deref(),
            record.mode.as_deref(),
            self.resume,
            self.ended.as_deref(),
        ];
        always.into_iter().chain(sometimes.into_iter().flatten()).map(str::len).sum()
    }
}

/// Converts a row with [`COLUMNS`] to a record. A row that [`StoredRow`] cannot have written is reported as damage.
pub(super) fn read_row(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    let wrong = |column, error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error)
    };
    let kind: String = row.get(3)?;
    let kind =
        SessionKind::from_word(&kind).ok_or_else(|| wrong(3, format!("unknown session kind {kind:?}").into()))?;
    let command: String = row.get(5)?;
    let ended: Option<String> = row.get(13)?;
    let ended: Option<Value> =
        ended.map(|ended| serde_json::from_str(&ended)).transpose().map_err(|error| wrong(13, error.into()))?;
    let extra: String = row.get(15)?;
    let extra: Option<ExtraColumn> = serde_json::from_str(&extra).map_err(|error| wrong(15, error.into()))?;
    let extra = extra.unwrap_or_default();
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
        ended: row
            .get::<_, Option<i64>>(12)?
            .map(|at| SessionEnd { at: from_millis(at), how: read_ending(&ended.unwrap_or_default()) }),
        resume: row.get::<_, Option<String>>(14)?.map(ResumeId),
        resume_changed: extra.resume_changed(),
        may_skip_permissions: extra.may_skip_permissions,
        environment: extra.environment,
        creators: extra.creators,
        person: extra.person,
        idempotency: extra.wish,
    })
}

fn write_ending(how: &EndCause) -> Value {
    match how {
        EndCause::Exited(Exit::Code(code)) => json!({ "exited": { "code": code } }),
        EndCause::Exited(Exit::Signal(signal)) => json!({ "exited": { "signal": signal } }),
        EndCause::Exited(Exit::Unknown) => json!({ "exited": {} }),
        EndCause::Gone(reason) => json!({ "gone": reason }),
        EndCause::Left(pids) => json!({ "left": pids }),
        EndCause::Lost | EndCause::Suspended => json!("lost"),
    }
}

fn read_ending(how: &Value) -> EndCause {
    let number = |name: &str| how["exited"][name].as_i64().and_then(|number| i32::try_from(number).ok());
    match (how.get("exited"), how.get("gone")) {
        (Some(_), _) => EndCause::Exited(match (number("code"), number("signal")) {
            (Some(code), _) => Exit::Code(code),
            (_, Some(signal)) => Exit::Signal(signal),
            _ => Exit::Unknown,
        }),
        (_, Some(reason)) => EndCause::Gone(reason.as_str().map(str::to_owned)),
        _ => match how["left"].as_array() {
            Some(pids) => {
                let pids = pids.iter().filter_map(|pid| i32::try_from(pid.as_i64()?).ok());
                EndCause::Left(pids.collect())
            }
            None => EndCause::Lost,
        },
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params_from_iter};

    use super::*;
    use crate::store::schema;

    fn record() -> SessionRecord {
        SessionRecord {
            id: "s1".to_owned(),
            name: "one".to_owned(),
            team: "team".to_owned(),
            kind: SessionKind::Agent,
            agent: Some("claude".to_owned()),
            command: vec!["--verbose".to_owned()],
            directory: PathBuf::from("/somewhere"),
            size: Some((80, 24)),
            model: Some("opus".to_owned()),
            mode: Some("plan".to_owned()),
            may_skip_permissions: true,
            environment: BTreeMap::from([("HOME".to_owned(), "/home/ada".to_owned())]),
            creators: vec!["s0".to_owned()],
            person: true,
            idempotency: Some(IdempotentCreate { key: "once".to_owned(), terms: json!({"what": {"agent": "claude"}}) }),
            created_at: UNIX_EPOCH + Duration::from_millis(1_500),
            ended: None,
            resume: Some(ResumeId::new("abc")),
            resume_changed: Some(UNIX_EPOCH + Duration::from_secs(1_700_000_000)),
        }
    }

    fn table() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        assert!(schema::migrate(&mut connection, schema::MIGRATIONS).is_ok());
        connection
    }

    fn read(connection: &Connection) -> SessionRecord {
        connection.query_row(&format!("SELECT {COLUMNS} FROM sessions"), [], read_row).unwrap()
    }

    fn round_trip(record: &SessionRecord) -> SessionRecord {
        let connection = table();
        let values = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16";
        let stored = StoredRow::of(record).unwrap();
        connection
            .execute(&format!("INSERT INTO sessions ({COLUMNS}) VALUES ({values})"), stored.columns().as_slice())
            .unwrap();
        read(&connection)
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let full = record();
        let fresh = SessionRecord { resume: None, ..record() };
        let bare = SessionRecord {
            kind: SessionKind::Terminal,
            agent: None,
            command: Vec::new(),
            size: None,
            model: None,
            mode: None,
            may_skip_permissions: false,
            environment: BTreeMap::new(),
            creators: Vec::new(),
            person: false,
            idempotency: None,
            resume: None,
            resume_changed: None,
            ..record()
        };
        for record in [&full, &fresh, &bare] {
            assert_eq!(round_trip(record), *record);
        }
        assert!(fresh.has_fresh_conversation() && !full.has_fresh_conversation() && !bare.has_fresh_conversation());
    }

    #[test]
    fn every_end_is_read_as_it_was_written() {
        let ends = [
            EndCause::Exited(Exit::Code(3)),
            EndCause::Exited(Exit::Signal(9)),
            EndCause::Exited(Exit::Unknown),
            EndCause::Gone(None),
            EndCause::Gone(Some("it broke".to_owned())),
            EndCause::Lost,
            EndCause::Left(vec![12, 34]),
        ];
        for how in ends {
            let ended = Some(SessionEnd { at: UNIX_EPOCH + Duration::from_secs(60), how });
            let record = SessionRecord { ended, ..record() };
            assert_eq!(round_trip(&record), record);
        }
        assert_eq!(read_ending(&Value::Null), EndCause::Lost);
    }

    /// Rows from before `extra` had a type.
    #[test]
    fn rows_of_earlier_versions_are_read() {
        let fixture = r#"["s1", "team", "one", "agent", "claude", "[\"--verbose\"]", "/somewhere", 80, 24, "opus", "plan",
            1500, 60000, "{\"gone\":null}", "abc",
            "{\"anew\":false,\"creators\":[\"s0\"],\"environment\":{\"HOME\":\"/home/ada\"},\"may_skip_permissions\":true,\"named_at\":1700000000,\"person\":true,\"wish\":{\"name\":\"once\",\"terms\":{\"what\":{\"agent\":\"claude\"}}}}"]"#;
        let read_with = |extra: Option<&str>, resume: Option<&str>| {
            let mut values: Vec<Value> = serde_json::from_str(fixture).unwrap();
            values[15] = extra.map_or_else(|| values[15].clone(), |extra| json!(extra));
            values[14] = json!(resume);
            let values = values.into_iter().map(|value| match value {
                Value::Null => rusqlite::types::Value::Null,
                Value::Number(number) => number.as_i64().unwrap().into(),
                Value::String(text) => text.into(),
                other => panic!("{other}"),
            });
            let connection = table();
            let places = ["?"; 16].join(", ");
            let insert = format!("INSERT INTO sessions ({COLUMNS}) VALUES ({places})");
            connection.execute(&insert, params_from_iter(values)).unwrap();
            read(&connection)
        };
        let ended = Some(SessionEnd { at: UNIX_EPOCH + Duration::from_secs(60), how: EndCause::Gone(None) });
        assert_eq!(read_with(None, Some("abc")), SessionRecord { ended, ..record() });

        let terminal = r#"{"creators":[],"environment":{},"person":false,"wish":null}"#;
        for extra in [terminal, "{}", "null", r#"{"anew":false,"of_tomorrow":[1]}"#] {
            let record = read_with(Some(extra), None);
            assert!(record.idempotency.is_none() && record.creators.is_empty() && !record.may_skip_permissions);
            assert!(record.environment.is_empty() && record.resume_changed.is_none(), "{record:?}");
        }
        for extra in [r#"{"anew":true}"#, r#"{"anew":true,"named_at":1700000000}"#] {
            assert!(read_with(Some(extra), None).has_fresh_conversation(), "{extra}");
        }
        let named = read_with(Some(r#"{"anew":true}"#), Some("abc"));
        assert!(!named.has_fresh_conversation(), "it has a conversation to continue");
    }
}
