//! Schema of the database, and the migrations from older versions.

use rusqlite::{Connection, TransactionBehavior};

use super::error::StoreError;

/// SQLite application id ("whst") that marks a file as a store of wh.
pub(super) const APPLICATION_ID: u32 = 0x7768_7374;

/// Migration steps in order. `user_version` of a file is the number of steps that were applied to it. A released step
/// is never edited; each change of the schema is a new step.
pub(super) const MIGRATIONS: &[&str] = &["
    CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

    -- state: 0 pending, 1 done, 2 cut off. Times of the wall clock are in milliseconds since 1970; stamp is store time.
    CREATE TABLE requests (
        team TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL, request TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        state INTEGER NOT NULL,
        result TEXT, detail TEXT,
        began_at INTEGER NOT NULL, settled_at INTEGER,
        epoch INTEGER NOT NULL, settled_in INTEGER,
        stamp INTEGER NOT NULL,
        PRIMARY KEY (team, session, agent, request)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX requests_settled ON requests (stamp) WHERE state <> 0;
    CREATE INDEX requests_pending ON requests (epoch) WHERE state = 0;

    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, team TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
        agent TEXT, command TEXT NOT NULL, directory TEXT NOT NULL,
        columns INTEGER, rows INTEGER,
        model TEXT, mode TEXT,
        created_at INTEGER NOT NULL, ended_at INTEGER, ended TEXT,
        resume TEXT, extra TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX sessions_live ON sessions (team, name) WHERE ended_at IS NULL;
    CREATE INDEX sessions_ended ON sessions (ended_at) WHERE ended_at IS NOT NULL;

    -- A history whose session is NULL belonged to a removed session; its rows are removed in steps.
    CREATE TABLE histories (
        number INTEGER PRIMARY KEY, session TEXT UNIQUE,
        items INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, output INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE items (
        number INTEGER PRIMARY KEY, history INTEGER NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, json TEXT NOT NULL,
        UNIQUE (history, id)
    ) STRICT;
    CREATE INDEX items_place ON items (history, seq, number);
    CREATE TABLE outputs (number INTEGER PRIMARY KEY, history INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;
    CREATE INDEX outputs_place ON outputs (history, number);
","
    -- queued: message that was not delivered to its agent yet, as JSON; place: position of the message in the queue.
    -- receipt: last receipt of the command, as JSON; open: 1 if another receipt follows, so that the request is kept.
    ALTER TABLE requests ADD COLUMN queued TEXT;
    ALTER TABLE requests ADD COLUMN place INTEGER;
    ALTER TABLE requests ADD COLUMN receipt TEXT;
    ALTER TABLE requests ADD COLUMN open INTEGER;
    CREATE INDEX requests_queued ON requests (team, session, agent, place) WHERE queued IS NOT NULL;
"];

/// Applies the missing migration steps, each in a transaction that also sets `user_version`. Returns the number of
/// steps that had been applied before.
pub(super) fn migrate(connection: &mut Connection, steps: &[&str]) -> Result<usize, MigrationFailure> {
    let seen: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let seen =
        usize::try_from(seen).map_err(|_| StoreError::Corrupt(format!("the schema version {seen} is invalid")))?;
    if seen > steps.len() {
        return Err(MigrationFailure::Newer(u32::try_from(seen).unwrap_or(u32::MAX)));
    }
    for (number, step) in steps.iter().enumerate().skip(seen) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", number as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(seen)
}

/// Reason why a file could not be migrated.
#[derive(Debug)]
pub(super) enum MigrationFailure {
    /// More steps were applied to the file than this version of wh has.
    Newer(u32),
    /// The store cannot be read or written.
    Store(StoreError),
}

impl From<StoreError> for MigrationFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for MigrationFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_applied_once_and_a_failed_one_has_no_effect() {
        let mut connection = Connection::open_in_memory().unwrap();
        let steps =
            ["CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y", "CREATE TABLE b (z); INSERT INTO nowhere VALUES (1)"];
        assert_eq!(migrate(&mut connection, &steps[..1]).unwrap(), 0);
        connection.execute("INSERT INTO a (x) VALUES (7)", []).unwrap();
        assert_eq!(migrate(&mut connection, &steps[..2]).unwrap(), 1);
        assert_eq!(migrate(&mut connection, &steps[..2]).unwrap(), 2);
        let kept: (i64, Option<i64>) =
            connection.query_row("SELECT x, y FROM a", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(kept, (7, None));

        assert!(matches!(migrate(&mut connection, &steps), Err(MigrationFailure::Store(StoreError::Failed(_)))));
        assert_eq!(migrate(&mut connection, &steps[..2]).unwrap(), 2, "the failed step does not count");
        assert!(connection.prepare("SELECT * FROM b").is_err());
        assert!(matches!(migrate(&mut connection, &steps[..1]), Err(MigrationFailure::Newer(2))));
    }
}
