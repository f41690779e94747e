//! What the model was asked, for the test to read.

use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;

/// One request to the model.
#[derive(Debug, Clone)]
pub struct Logged {
    /// The method, in capitals.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null when it was not JSON.
    pub body: Value,
    /// The user text, when the request opened a turn.
    pub prompt: Option<String>,
}

impl Logged {
    /// The header of that name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// The requests so far. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<Logged>>>);

impl Log {
    pub(super) fn push(&self, logged: Logged) {
        self.lock().push(logged);
    }

    pub(super) fn all(&self) -> Vec<Logged> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Logged>> {
        self.0.lock().expect("nobody panics while he writes the log")
    }
}
