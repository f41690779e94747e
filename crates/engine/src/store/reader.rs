//! Reads a store that no engine has open. The database and its write-ahead log are copied into memory. Nothing is
//! locked, created or changed, so that an engine can start at any time.

use std::fs;
use std::io;
use std::path::Path;

use rusqlite::{Connection, params};

use super::directory::{suffixed, unusable};
use super::error::{StoreError, check_size};
use super::record::SessionRecord;
use super::{DATABASE_FILE, open, schema, sessions, wal};

/// Maximum size of a store that can be read into memory.
const MAX_STORE_BYTES: usize = 512 << 20;

/// Snapshot of a store in memory.
#[derive(Debug)]
pub struct StoreReader {
    connection: Connection,
}

impl StoreReader {
    /// Reads the store in a directory; `None` if there is no store. Damage is reported as [`StoreError::Corrupt`].
    pub fn read(directory: &Path) -> Result<Option<Self>, StoreError> {
        let path = directory.join(DATABASE_FILE);
        let Some(file) = read_file(&path)? else { return Ok(None) };
        open::check_length(file.len() as u64)?;
        let log = read_file(&suffixed(&path, "-wal"))?.unwrap_or_default();
        let image = merged(file, &log)?;
        let mut connection = Connection::open_in_memory()?;
        connection.deserialize_read_exact("main", image.as_slice(), image.len(), true)?;
        let owner: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        if owner != i64::from(schema::APPLICATION_ID) {
            return Err(StoreError::Unusable { path, why: "the file is a database of another program".to_owned() });
        }
        let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version as usize > schema::MIGRATIONS.len() {
            return Err(open::newer(&path, version));
        }
        Ok(Some(Self { connection }))
    }

    /// Returns all sessions in order of creation.
    pub fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        sessions::read_all(&self.connection)
    }

    /// True if `matches` returns true for the JSON of at least one item of the session.
    pub fn any_item(&self, session: &str, matches: impl Fn(&str) -> bool) -> Result<bool, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT json FROM items JOIN histories ON items.history = histories.number WHERE histories.session = ?1",
        )?;
        let mut rows = statement.query(params![session])?;
        while let Some(row) = rows.next()? {
            if matches(&row.get::<_, String>(0)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn read_file(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let failed = |error: io::Error| unusable(path, &error);
    let facts = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    if !facts.is_file() {
        return Err(failed(io::Error::other("not a regular file")));
    }
    check_size("the store", usize::try_from(facts.len()).unwrap_or(usize::MAX), MAX_STORE_BYTES)?;
    fs::read(path).map(Some).map_err(failed)
}

/// Applies the committed pages of the log to the database. The result is marked as a database without a write-ahead
/// log, because a database in memory cannot have such a log.
fn merged(mut file: Vec<u8>, log: &[u8]) -> Result<Vec<u8>, StoreError> {
    let content = wal::read(log).map_err(StoreError::Corrupt)?;
    if content.database_pages > 0 {
        let bytes = content.page_bytes;
        let size = content.database_pages as usize * bytes;
        check_size("the store", size, MAX_STORE_BYTES)?;
        file.resize(size, 0);
        for (page, offset) in content.pages.into_iter().filter(|(page, _)| *page <= content.database_pages) {
            let at = (page as usize - 1) * bytes;
            file[at..at + bytes].copy_from_slice(&log[offset..offset + bytes]);
        }
    }
    if let Some(versions) = file.get_mut(18..20) {
        versions.fill(1);
    }
    Ok(file)
}
