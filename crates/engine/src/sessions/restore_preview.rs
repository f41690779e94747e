//! Lists, while no daemon runs, the sessions that the next daemon would restore.

use std::path::Path;

use wh_core::space::stored_item;

use super::restore::is_content;
use crate::store::{SessionKind, SessionRecord, StoreError, StoreReader};

/// Stored sessions, grouped by the expected outcome of a restore.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestorePreview {
    /// Names of sessions that can be restored.
    pub restorable: Vec<String>,
    /// Names of sessions that would be listed as lost.
    pub lost: Vec<String>,
    /// Number of sessions that had already ended.
    pub ended: usize,
}

impl RestorePreview {
    /// Reads the store in a directory without changing it; `None` if there is no store.
    pub fn read(store: &Path) -> Result<Option<Self>, StoreError> {
        let Some(reader) = StoreReader::read(store)? else { return Ok(None) };
        let mut preview = Self::default();
        for record in reader.sessions()? {
            if record.ended.is_some() {
                preview.ended += 1;
            } else if restorable(&reader, &record)? {
                preview.restorable.push(record.name);
            } else {
                preview.lost.push(record.name);
            }
        }
        Ok(Some(preview))
    }
}

fn restorable(reader: &StoreReader, record: &SessionRecord) -> Result<bool, StoreError> {
    if record.kind == SessionKind::Terminal {
        return Ok(false);
    }
    if record.resume.is_some() || record.has_fresh_conversation() {
        return Ok(true);
    }
    // An unreadable item does not count as content.
    Ok(!reader.any_item(&record.id, |json| stored_item::read(json).is_ok_and(|item| is_content(&item)))?)
}
