//! A look into a store that no engine has open. The file and its log are read into memory: nothing is locked, created or
//! changed, so an engine may be started meanwhile.

use std::fs;
use std::io;
use std::path::Path;

use rusqlite::{Connection, params};

use super::error::{StoreError, fits};
use super::place::{suffixed, unusable};
use super::record::SessionRecord;
use super::{FILE, open, schema, sessions, wal};

/// The largest store that is read into memory.
const MAX_STORE_BYTES: usize = 512 << 20;

/// A store, as it was when it was read.
#[derive(Debug)]
pub struct Peek {
    connection: Connection,
}

impl Peek {
    /// Reads the store in this directory; `None` if there is none. Damage is [`StoreError::Corrupt`].
    pub fn read(directory: &Path) -> Result<Option<Self>, StoreError> {
        let path = directory.join(FILE);
        let Some(file) = content(&path)? else { return Ok(None) };
        open::long_enough(file.len() as u64)?;
        let log = content(&suffixed(&path, "-wal"))?.unwrap_or_default();
        let image = merged(file, &log)?;
        let mut connection = Connection::open_in_memory()?;
        connection.deserialize_read_exact("main", image.as_slice(), image.len(), true)?;
        let owner: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        if owner != i64::from(schema::APPLICATION) {
            return Err(StoreError::Unusable { path, why: "it is a database of another program".to_owned() });
        }
        let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version as usize > schema::STEPS.len() {
            return Err(open::newer(&path, version));
        }
        Ok(Some(Self { connection }))
    }

    /// Every session, in the order in which they were made.
    pub fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        sessions::read_all(&self.connection)
    }

    /// True if one of a session's items, as JSON, is of some kind.
    pub fn any_item(&self, session: &str, kind: impl Fn(&str) -> bool) -> Result<bool, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT json FROM items JOIN histories ON items.history = histories.number WHERE histories.session = ?1",
        )?;
        let mut rows = statement.query(params![session])?;
        while let Some(row) = rows.next()? {
            if kind(&row.get::<_, String>(0)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn content(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let failed = |error: io::Error| unusable(path, &error);
    let facts = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    if !facts.is_file() {
        return Err(failed(io::Error::other("it is not a regular file")));
    }
    fits("the store", usize::try_from(facts.len()).unwrap_or(usize::MAX), MAX_STORE_BYTES)?;
    fs::read(path).map(Some).map_err(failed)
}

/// The database with what its log has committed. It is marked as one without a log, which a database in memory must be.
fn merged(mut file: Vec<u8>, log: &[u8]) -> Result<Vec<u8>, StoreError> {
    let content = wal::read(log).map_err(StoreError::Corrupt)?;
    if content.database_pages > 0 {
        let bytes = content.page_bytes;
        let size = content.database_pages as usize * bytes;
        fits("the store", size, MAX_STORE_BYTES)?;
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
