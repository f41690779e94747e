//! Idempotent create requests: a retry with the same idempotency key returns the session that the first request
//! created.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::OnceCell;
use wh_client::{CreateError, CreateSessionRequest, Workload};

use crate::store::IdempotentCreate;

/// Maximum number of create requests that are remembered; the oldest are dropped.
const MAX_CREATE_REQUESTS: usize = 4096;

/// Earlier create request, for comparison with retries.
#[derive(Debug)]
struct KnownCreateRequest {
    team: String,
    key: String,
    /// Result of [`terms`] for the request. A request with the same key but other terms is not a retry.
    terms: Value,
    /// Id of the created session, once the session exists.
    cell: SessionIdCell,
}

/// Id of the created session. One request at a time creates the session and sets the id, while retries wait.
pub(super) type SessionIdCell = Arc<OnceCell<String>>;

/// Remembered create requests, by team and idempotency key.
#[derive(Debug, Default)]
pub(super) struct CreateRequests(Mutex<VecDeque<KnownCreateRequest>>);

impl CreateRequests {
    /// Returns the cell for the session id of the request with this key. The cell is empty until a request with this
    /// key has created the session. Fails if the key was used for a request with other terms, unless that request has
    /// failed.
    pub fn cell(&self, team: &str, key: &str, terms: &Value) -> Result<SessionIdCell, CreateError> {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = requests.iter_mut().find(|known| known.team == team && known.key == key) {
            // If the earlier request has failed, the key may be used for another request.
            if known.cell.get().is_none() && Arc::strong_count(&known.cell) == 1 {
                known.terms.clone_from(terms);
            }
            return match known.terms == *terms {
                true => Ok(Arc::clone(&known.cell)),
                false => Err(CreateError::IdempotencyKeyReused(key.to_owned())),
            };
        }
        if requests.len() >= MAX_CREATE_REQUESTS {
            requests.pop_front();
        }
        let cell = SessionIdCell::default();
        let (team, key, terms) = (team.to_owned(), key.to_owned(), terms.clone());
        requests.push_back(KnownCreateRequest { team, key, terms, cell: Arc::clone(&cell) });
        Ok(cell)
    }

    /// Adds the request that created a session in a previous daemon.
    pub fn add_stored(&self, team: &str, create: &IdempotentCreate, id: &str) {
        if let Ok(cell) = self.cell(team, &create.key, &create.terms) {
            let _ = cell.set(id.to_owned());
        }
    }
}

/// Returns the fields that a retry must repeat. The environment is excluded, because it differs from shell to shell.
pub(super) fn terms(wanted: &CreateSessionRequest) -> Value {
    let words = |words: &[std::ffi::OsString]| -> Vec<String> {
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    };
    let what = match &wanted.workload {
        Workload::Agent { agent, model, mode, may_skip_permissions, arguments } => {
            json!({ "agent": agent, "model": model, "mode": mode, "skips": may_skip_permissions, "arguments": words(arguments) })
        }
        Workload::Program(command) => json!({ "command": words(command) }),
    };
    let mut terms = json!({
        "what": what,
        "name": wanted.name,
        "directory": wanted.directory.to_string_lossy(),
        "size": wanted.size.to_string(),
    });
    if wanted.person {
        terms["person"] = json!(true);
    }
    terms
}

/// Returns the create request to store with the new session; `None` without an idempotency key.
pub(super) fn create_request(wanted: &CreateSessionRequest) -> Option<IdempotentCreate> {
    let key = wanted.idempotency_key.clone()?;
    Some(IdempotentCreate { key, terms: terms(wanted) })
}
