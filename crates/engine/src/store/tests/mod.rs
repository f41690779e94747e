//! Tests of the store with a clock that the test controls.

mod damage;
mod history;
mod model;
mod opening;
mod requests;
mod sessions;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use super::clock::TimeSource;
use super::*;

/// A directory for a store, and its clock.
pub struct Bench {
    pub home: TempDir,
    pub clock: Arc<AtomicI64>,
    pub limits: StoreLimits,
}

impl Bench {
    pub fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), clock: Arc::new(AtomicI64::new(0)), limits: StoreLimits::default() }
    }

    /// Opens the store. The monotonic clock starts at zero again.
    pub fn open(&self) -> Store {
        self.clock.store(0, Ordering::SeqCst);
        Store::start(&self.directory(), self.limits, TimeSource::Manual(Arc::clone(&self.clock))).unwrap()
    }

    pub fn directory(&self) -> PathBuf {
        self.home.path().join("store")
    }

    pub fn wait(&self, duration: Duration) {
        self.clock.fetch_add(duration.as_millis() as i64, Ordering::SeqCst);
    }
}

pub fn key(request: impl ToString) -> RequestKey {
    let request = request.to_string();
    RequestKey { team: "team".to_owned(), session: "session".to_owned(), agent: "agent".to_owned(), request }
}

/// Seconds after 1970.
pub fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

pub fn record(id: &str, name: &str) -> SessionRecord {
    SessionRecord {
        id: id.to_owned(),
        name: name.to_owned(),
        team: "team".to_owned(),
        kind: SessionKind::Agent,
        agent: Some("claude".to_owned()),
        command: vec!["claude".to_owned(), "--verbose".to_owned()],
        directory: PathBuf::from("/somewhere"),
        size: Some((80, 24)),
        model: None,
        mode: Some("plan".to_owned()),
        may_skip_permissions: false,
        environment: BTreeMap::from([("LANG".to_owned(), "C".to_owned())]),
        creators: Vec::new(),
        person: false,
        idempotency: None,
        created_at: at(100),
        ended: None,
        resume: Some(ResumeId::new("secret-of-the-provider")),
        resume_changed: None,
    }
}
