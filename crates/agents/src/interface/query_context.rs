//! Directory and environment for queries outside of a conversation.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::Start;

/// Directory and environment in which an agent is queried without being started by [`Start`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryContext {
    pub directory: PathBuf,
    /// Changes to the environment; `None` removes a variable.
    pub environment: BTreeMap<OsString, Option<OsString>>,
}

impl QueryContext {
    /// This directory with wh's own environment.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), environment: BTreeMap::new() }
    }

    /// Current directory of wh.
    pub fn of_wh() -> Self {
        Self::new(std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")))
    }

    /// Value of a variable as the agent would see it. Empty values count as unset.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let found = match self.environment.get(OsStr::new(name)) {
            Some(changed) => changed.clone(),
            None => std::env::var_os(name),
        };
        found.filter(|value| !value.is_empty())
    }

    /// Path below the home directory.
    pub fn home(&self, below: &str) -> Option<PathBuf> {
        self.variable("HOME").map(|home| PathBuf::from(home).join(below))
    }
}

impl From<&Start> for QueryContext {
    fn from(start: &Start) -> Self {
        Self { directory: start.directory.clone(), environment: start.environment.clone() }
    }
}
