//! Which wish for a session has made which: a wish that is repeated under its name starts nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::OnceCell;
use wh_client::{CreateError, NewSession, What};

use crate::store::IdempotentCreate;

/// Wishes that are remembered. Beyond that the oldest is forgotten.
const MOST_WISHES: usize = 4096;

/// One wish.
#[derive(Debug)]
struct Wish {
    team: String,
    name: String,
    /// What was wished for.
    terms: Value,
    /// The session that it has made, once it has.
    place: Place,
}

/// Where the id of a session stands, once it is made.
pub(super) type Place = Arc<OnceCell<String>>;

/// Wishes by their teams and names.
#[derive(Debug, Default)]
pub(super) struct Made(Mutex<VecDeque<Wish>>);

impl Made {
    /// The place of the wish of this name. Whoever finds it empty may fill it, one at a time. The same name for something else is refused.
    pub fn place(&self, team: &str, name: &str, terms: &Value) -> Result<Place, CreateError> {
        let mut wishes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = wishes.iter_mut().find(|known| known.team == team && known.name == name) {
            // What has come to nothing binds nobody.
            if known.place.get().is_none() && Arc::strong_count(&known.place) == 1 {
                known.terms.clone_from(terms);
            }
            return match known.terms == *terms {
                true => Ok(Arc::clone(&known.place)),
                false => Err(CreateError::WishReused(name.to_owned())),
            };
        }
        if wishes.len() >= MOST_WISHES {
            wishes.pop_front();
        }
        let place = Place::default();
        let (team, name, terms) = (team.to_owned(), name.to_owned(), terms.clone());
        wishes.push_back(Wish { team, name, terms, place: Arc::clone(&place) });
        Ok(place)
    }

    /// Enters the request that created this session in an earlier life.
    pub fn remember(&self, team: &str, create: &IdempotentCreate, id: &str) {
        if let Ok(place) = self.place(team, &create.key, &create.terms) {
            let _ = place.set(id.to_owned());
        }
    }
}

/// What is wished for, apart from the environment, which differs from shell to shell.
pub(super) fn terms(wanted: &NewSession) -> Value {
    let words = |words: &[std::ffi::OsString]| -> Vec<String> {
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    };
    let what = match &wanted.what {
        What::Agent { agent, model, mode, may_skip_permissions, arguments } => {
            json!({ "agent": agent, "model": model, "mode": mode, "skips": may_skip_permissions, "arguments": words(arguments) })
        }
        What::Program(command) => json!({ "command": words(command) }),
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

/// The request, as it is stored with the session that it creates; `None` if it has no key.
pub(super) fn create_request(wanted: &NewSession) -> Option<IdempotentCreate> {
    let key = wanted.wish.clone()?;
    Some(IdempotentCreate { key, terms: terms(wanted) })
}
