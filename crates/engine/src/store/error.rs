//! Errors of the store.

use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Reason why the store cannot be opened, or a call failed. A failed call has stored nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process has the store open.
    #[error("the store in {} is in use{}; end that process first, or choose another directory", directory.display(), by_process(*pid))]
    Taken {
        /// Directory of the store.
        directory: PathBuf,
        /// Process that has it open, if known.
        pid: Option<u32>,
    },
    /// The directory cannot be used.
    #[error("{} cannot hold the store: {why}", path.display())]
    Unusable {
        /// The directory, or a file in it.
        path: PathBuf,
        /// Error of the system, or the problem.
        why: String,
    },
    /// A later version wrote the file.
    #[error("{} was written by a newer wh (schema {found}, this one knows {known}); use that wh, or another directory", path.display())]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Schema version of the file.
        found: u32,
        /// Latest schema version known here.
        known: u32,
    },
    /// The disk is full.
    #[error("the disk of the store is full and nothing was stored; free some space and retry")]
    DiskFull,
    /// A limit is reached, and nothing may be removed yet.
    #[error("the store has the maximum of {most} {what} and none can be removed yet; retry later")]
    Full {
        /// Kind of the limited entries.
        what: &'static str,
        most: u64,
    },
    /// A value is too large.
    #[error("{what} has {size} bytes; the limit is {most}")]
    TooLarge {
        /// Kind of value.
        what: &'static str,
        /// Size in bytes.
        size: usize,
        /// Maximum size in bytes.
        most: usize,
    },
    /// Another running session of the team has this name.
    #[error("a session named {name:?} is running in team {team:?}; end it first, or choose another name")]
    NameTaken {
        /// Team of the session.
        team: String,
        name: String,
    },
    /// No session has this id.
    #[error("the store has no session {0:?}")]
    NoSuchSession(String),
    /// The request was not begun, or has expired.
    #[error("the store has no pending request {0:?}")]
    NoSuchRequest(String),
    /// The request already has another result.
    #[error("request {request:?} already has the result {state}")]
    Settled {
        /// Id of the request.
        request: String,
        /// Its existing result.
        state: String,
    },
    /// Too much history waits to be written.
    #[error("more than {most} bytes of history wait to be written; wait for the disk, or for flush()")]
    Behind {
        /// Maximum number of waiting bytes.
        most: usize,
    },
    /// The file is damaged.
    #[error("the store's file is damaged ({0}); the next start sets it aside")]
    Corrupt(String),
    /// An error of the disk or of SQLite.
    #[error("cannot read or write the store: {0}")]
    Failed(String),
    /// The store was closed.
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
                // A stored value that this program cannot have written.
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

/// Returns an error if a value is too large.
pub(super) fn check_size(what: &'static str, size: usize, most: usize) -> Result<(), StoreError> {
    if size <= most { Ok(()) } else { Err(StoreError::TooLarge { what, size, most }) }
}
