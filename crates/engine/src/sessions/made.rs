//! Which wish for a session has made which: a wish that is repeated under its name starts nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

/// Names that are remembered. Beyond that the oldest is forgotten.
const MOST_NAMES: usize = 1024;

/// The session that a wish has made, once it has.
type Place = Arc<OnceCell<String>>;

/// Wishes by their names.
#[derive(Debug, Default)]
pub(super) struct Made(Mutex<VecDeque<(String, Place)>>);

impl Made {
    /// The place of the wish of this name. Whoever finds it empty may fill it, one at a time.
    pub fn place(&self, name: &str) -> Place {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, place)) = names.iter().find(|(known, _)| known == name) {
            return Arc::clone(place);
        }
        if names.len() >= MOST_NAMES {
            names.pop_front();
        }
        let place = Place::default();
        names.push_back((name.to_owned(), Arc::clone(&place)));
        place
    }

    /// The wish of this name has made this session, in an earlier life.
    pub fn remember(&self, name: &str, id: &str) {
        let _ = self.place(name).set(id.to_owned());
    }
}
