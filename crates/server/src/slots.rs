//! Table of a server's open connections. A connection can be evicted to make room for another; the server chooses the
//! connection to evict.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Open connections by number, in order of acceptance.
#[derive(Debug)]
pub(crate) struct Slots<T>(Arc<Mutex<SlotTable<T>>>);

impl<T> Clone for Slots<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(SlotTable { next: 0, open: BTreeMap::new() })))
    }
}

#[derive(Debug)]
pub(crate) struct SlotTable<T> {
    next: u64,
    open: BTreeMap<u64, SlotEntry<T>>,
}

#[derive(Debug)]
struct SlotEntry<T> {
    facts: T,
    /// Closes the connection when dropped.
    _keep: oneshot::Sender<()>,
}

/// Entry of one connection. Removed from the table when dropped.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    slots: Slots<T>,
    number: u64,
}

/// Completes when the connection is evicted.
pub(crate) type EvictionSignal = oneshot::Receiver<()>;

impl<T> Slots<T> {
    pub fn lock(&self) -> MutexGuard<'_, SlotTable<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection. The caller enforces limits.
    pub fn enter(&self, facts: T) -> (Slot<T>, EvictionSignal) {
        let (keep, evicted) = oneshot::channel();
        let mut table = self.lock();
        let number = table.next;
        table.next += 1;
        table.open.insert(number, SlotEntry { facts, _keep: keep });
        (Slot { slots: self.clone(), number }, evicted)
    }
}

impl<T> SlotTable<T> {
    /// Lists all connections, oldest first.
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

    /// Removes the entry of a connection, which closes the connection.
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

    /// Updates the entry of this connection with `change`. Returns `None` if the connection was evicted.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.slots.lock().get_mut(self.number).map(change)
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        self.slots.lock().evict(self.number);
    }
}
