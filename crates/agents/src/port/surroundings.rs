//! The place in which an agent is asked something without being started.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::Start;

/// Where an agent is asked something without being started: as it would be found by [`Start`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// Where it would work.
    pub directory: PathBuf,
    /// What its environment has beside what wh leaves there. `None` takes a variable away.
    pub environment: BTreeMap<OsString, Option<OsString>>,
}

impl Surroundings {
    /// This directory, and wh's own environment.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), environment: BTreeMap::new() }
    }

    /// Where wh itself was started.
    pub fn of_wh() -> Self {
        Self::new(std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")))
    }

    /// A variable as the agent would find it; one that is empty counts as not there.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let found = match self.environment.get(OsStr::new(name)) {
            Some(changed) => changed.clone(),
            None => std::env::var_os(name),
        };
        found.filter(|value| !value.is_empty())
    }

    /// A path below the home directory.
    pub fn home(&self, below: &str) -> Option<PathBuf> {
        self.variable("HOME").map(|home| PathBuf::from(home).join(below))
    }
}

impl From<&Start> for Surroundings {
    fn from(start: &Start) -> Self {
        Self { directory: start.directory.clone(), environment: start.environment.clone() }
    }
}
