//! What can go wrong with the store, in words that say what to do.

use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Why the store could not be opened, or did not do what it was asked. Where it is the answer to a call, nothing of that
/// call was kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another engine has it.
    #[error("the store in {} is in use{}; end that one first, or choose another directory", directory.display(), by(*pid))]
    Taken {
        /// Where it is.
        directory: PathBuf,
        /// Who has it, if it said so.
        pid: Option<u32>,
    },
    /// The directory cannot be used.
    #[error("{} cannot hold the store: {why}", path.display())]
    Unusable {
        /// The directory, or a file in it.
        path: PathBuf,
        /// What the system says, or what is wrong with it.
        why: String,
    },
    /// It was written by a later version.
    #[error("{} was written by a newer wh (schema {found}, this one knows {known}); use that wh, or another directory", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version that it has.
        found: u32,
        /// The version that is known here.
        known: u32,
    },
    /// There is no room on the disk.
    #[error("the disk that holds the store is full, and nothing was kept; make room and try again")]
    DiskFull,
    /// As many are kept as may be, and none of them may go yet.
    #[error("the store holds {most} {what} and none of them may be forgotten yet; try again later")]
    Full {
        /// What there are too many of.
        what: &'static str,
        /// How many may be kept.
        most: u64,
    },
    /// Something is larger than it may be.
    #[error("{what} has {size} bytes, and may have {most}")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How large it is.
        size: usize,
        /// How large it may be.
        most: usize,
    },
    /// Another session of the team that has not ended has this name.
    #[error("a session named {name:?} is running in team {team:?}; end it first, or choose another name")]
    NameTaken {
        /// The team.
        team: String,
        /// The name.
        name: String,
    },
    /// There is no session of this id.
    #[error("the store has no session {0:?}")]
    NoSuchSession(String),
    /// The request was not begun, or was forgotten since.
    #[error("the store has no request {0:?} to finish")]
    NoSuchRequest(String),
    /// The request has another result already.
    #[error("request {request:?} was settled before, as {state}")]
    Settled {
        /// The request.
        request: String,
        /// What became of it.
        state: String,
    },
    /// Too much waits to be written without anybody waiting for it.
    #[error("the store is behind with {most} bytes of history; wait for the disk, or for flush()")]
    Behind {
        /// How much may wait.
        most: usize,
    },
    /// The file is damaged.
    #[error("the store's file is damaged ({0}); when it is next opened it is set aside")]
    Corrupt(String),
    /// The disk, or SQLite, said no.
    #[error("the store could not be written or read: {0}")]
    Failed(String),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

fn by(pid: Option<u32>) -> String {
    pid.map_or_else(|| " by another process".to_owned(), |pid| format!(" by process {pid}"))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(error.to_string()),
            Some(_) => Self::Failed(error.to_string()),
            None => match error {
                // A value that is there and cannot be what was written.
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

/// Refuses what is too large.
pub(super) fn fits(what: &'static str, size: usize, most: usize) -> Result<(), StoreError> {
    if size <= most { Ok(()) } else { Err(StoreError::TooLarge { what, size, most }) }
}
