//! A table of the open connections of one server, from which a connection can be closed to make room for another. The policy (which
//! connection has to go) is the server's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The open connections by number; a higher number was accepted later.
#[derive(Debug)]
pub(crate) struct Slots<T>(Arc<Mutex<Table<T>>>);

impl<T> Clone for Slots<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Table { next: 0, open: BTreeMap::new() })))
    }
}

/// The table, locked.
#[derive(Debug)]
pub(crate) struct Table<T> {
    next: u64,
    open: BTreeMap<u64, Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    facts: T,
    /// Dropped to close the connection.
    _keep: oneshot::Sender<()>,
}

/// One connection's entry, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    slots: Slots<T>,
    number: u64,
}

/// Completes when the connection has to close.
pub(crate) type Evicted = oneshot::Receiver<()>;

impl<T> Slots<T> {
    pub fn lock(&self) -> MutexGuard<'_, Table<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection. Limits are the caller's.
    pub fn enter(&self, facts: T) -> (Slot<T>, Evicted) {
        let (keep, evicted) = oneshot::channel();
        let mut table = self.lock();
        let number = table.next;
        table.next += 1;
        table.open.insert(number, Entry { facts, _keep: keep });
        (Slot { slots: self.clone(), number }, evicted)
    }
}

impl<T> Table<T> {
    /// All connections, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.open.iter().map(|(number, entry)| (*number, &entry.facts))
    }

    pub fn get(&self, number: u64) -> Option<&T> {
        self.open.get(&number).map(|entry| &entry.facts)
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.open.get_mut(&number).map(|entry| &mut entry.facts)
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Closes a connection.
    pub fn evict(&mut self, number: u64) {
        self.open.remove(&number);
    }
}

impl<T> Slot<T> {
    pub fn slots(&self) -> &Slots<T> {
        &self.slots
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// Changes this connection's facts; nothing if it was evicted.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.slots.lock().get_mut(self.number).map(change)
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        self.slots.lock().evict(self.number);
    }
}
