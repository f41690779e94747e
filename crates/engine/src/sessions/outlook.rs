//! The sessions that the next daemon would find, seen while none runs.

use std::path::Path;

use wh_core::space::kept;

use super::restore::was_said;
use crate::store::{Peek, SessionKind, SessionRecord, StoreError};

/// Sessions of earlier daemons, by what the next one would do with them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outlook {
    /// Names of those that it would restore.
    pub restorable: Vec<String>,
    /// Names of those that it could only list as lost.
    pub lost: Vec<String>,
    /// The number of those that have ended.
    pub ended: usize,
}

impl Outlook {
    /// Reads the store in this directory, and changes nothing there. `None`: there is no store.
    pub fn read(store: &Path) -> Result<Option<Self>, StoreError> {
        let Some(peek) = Peek::read(store)? else { return Ok(None) };
        let mut outlook = Self::default();
        for record in peek.sessions()? {
            if record.ended.is_some() {
                outlook.ended += 1;
            } else if restorable(&peek, &record)? {
                outlook.restorable.push(record.name);
            } else {
                outlook.lost.push(record.name);
            }
        }
        Ok(Some(outlook))
    }
}

fn restorable(peek: &Peek, record: &SessionRecord) -> Result<bool, StoreError> {
    if record.kind == SessionKind::Terminal {
        return Ok(false);
    }
    if record.resume.is_some() || record.has_fresh_conversation() {
        return Ok(true);
    }
    // An item that cannot be read stands for something that was said, or for nothing.
    Ok(!peek.any_item(&record.id, |json| kept::read(json).is_ok_and(|item| was_said(&item)))?)
}
