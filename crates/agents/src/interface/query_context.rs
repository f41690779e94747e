//! Context for queries to an agent outside of a conversation.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::StartOptions;

/// Directory and environment of a query to an agent outside of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryContext {
    pub directory: PathBuf,
    /// Changes to the environment; `None` removes a variable.
    pub environment: BTreeMap<OsString, Option<OsString>>,
}

impl QueryContext {
    /// Creates a context for a directory, with wh's own environment.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), environment: BTreeMap::new() }
    }

    /// Creates a context for wh's working directory, with wh's own environment.
    pub fn of_wh() -> Self {
        Self::new(std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")))
    }

    /// Returns the value of a variable in the agent's environment. Empty values count as unset.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let found = match self.environment.get(OsStr::new(name)) {
            Some(changed) => changed.clone(),
            None => std::env::var_os(name),
        };
        found.filter(|value| !value.is_empty())
    }

    /// Returns a path in the home directory; `below` is relative to the home directory. `None` if `HOME` is unset.
    pub fn home(&self, below: &str) -> Option<PathBuf> {
        self.variable("HOME").map(|home| PathBuf::from(home).join(below))
    }
}

impl From<&StartOptions> for QueryContext {
    fn from(start: &StartOptions) -> Self {
        Self { directory: start.directory.clone(), environment: start.environment.clone() }
    }
}
