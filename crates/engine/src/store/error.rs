//! Errors of opening and using the store.

use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Error of opening the store or of a call to the store. A failed call has stored nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process has the store open.
    #[error("the store in {} is in use{}; end that process first, or choose another directory", directory.display(), by_process(*pid))]
    Taken {
        /// Directory of the store.
        directory: PathBuf,
        /// Id of the process that has the store open, if known.
        pid: Option<u32>,
    },
    /// The directory or a file in it cannot be used.
    #[error("cannot use {} for the store: {why}", path.display())]
    Unusable {
        /// Path of the directory or file.
        path: PathBuf,
        /// System error, or description of the problem.
        why: String,
    },
    /// A newer version of wh wrote the database.
    #[error("{} was written by a newer wh (schema {found}; this version of wh supports up to {known}); use the newer version, or choose another directory", path.display())]
    Newer {
        /// Path of the database.
        path: PathBuf,
        /// Schema version of the database.
        found: u32,
        /// Latest schema version that this version of wh supports.
        known: u32,
    },
    /// The disk of the store is full.
    #[error("the disk of the store is full and nothing was stored; free some space and retry")]
    DiskFull,
    /// The store has the maximum number of these entries, and none of them can be removed yet.
    #[error("the store has {most} {what}, which is the maximum, and none can be removed yet; retry later")]
    Full {
        /// Plural name of the entries, for the error message.
        what: &'static str,
        most: u64,
    },
    #[error("{what} has {size} bytes; the limit is {most}")]
    TooLarge {
        /// Name of the value, for the error message.
        what: &'static str,
        /// Size of the value in bytes.
        size: usize,
        /// Maximum size in bytes.
        most: usize,
    },
    /// Another running session of the team has the name.
    #[error("a session named {name:?} is running in team {team:?}; end it first, or choose another name")]
    NameTaken {
        /// Team of both sessions.
        team: String,
        name: String,
    },
    #[error("the store has no session {0:?}")]
    NoSuchSession(String),
    /// The request is not pending, because it was never begun or has expired.
    #[error("the store has no pending request {0:?}")]
    NoSuchRequest(String),
    /// The request already has another result.
    #[error("request {request:?} already has the result {state}")]
    Settled {
        request: String,
        /// Result that the request already has.
        state: String,
    },
    /// The buffer of unwritten history is full.
    #[error("the buffer of unwritten history is full ({most} bytes); call flush() and retry")]
    Behind {
        /// Maximum bytes of buffered history.
        most: usize,
    },
    /// The database is damaged.
    #[error("the store's database is damaged ({0}); the next start renames it and creates a new one")]
    Corrupt(String),
    /// The disk or SQLite reported an error.
    #[error("cannot read or write the store: {0}")]
    Failed(String),
    #[error("the store is closed")]
    Closed,
}

fn by_process(pid: Option<u32>) -> String {
    pid.map_or_else(|| " by another process".to_owned(), |pid| format!(" by process {pid}"))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(error.to_string()),
            Some(_) => Self::Failed(error.to_string()),
            None => match error {
                // The column has a value that this program cannot have written.
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::Utf8Error(..) => Self::Corrupt(error.to_string()),
                _ => Self::Failed(error.to_string()),
            },
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Returns [`StoreError::TooLarge`] if a value is larger than `most` bytes.
pub(super) fn check_size(what: &'static str, size: usize, most: usize) -> Result<(), StoreError> {
    if size <= most { Ok(()) } else { Err(StoreError::TooLarge { what, size, most }) }
}
