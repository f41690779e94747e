//! Index of the visible items in order, so that a frame need not step over the hidden ones.

use std::collections::VecDeque;

use wh_core::space::state::State;

use super::entry;

/// Numbers of the visible items. An item's number is its index if no item had ever been dropped.
#[derive(Debug, Default)]
pub(super) struct VisibleItems {
    numbers: VecDeque<u64>,
    /// First number that has not been examined.
    next: u64,
    /// Lowest number that may be visible.
    floor: u64,
    verbose: bool,
    streams: bool,
}

impl VisibleItems {
    /// Updates the index: with new items, or with all items if the filter has changed.
    pub(super) fn catch_up(&mut self, state: &State, verbose: bool, streams: bool) {
        if (verbose, streams) != (self.verbose, self.streams) {
            (self.verbose, self.streams) = (verbose, streams);
            self.reset();
        }
        self.add_new(state);
    }

    /// Adds new items.
    pub(super) fn add_new(&mut self, state: &State) {
        let first = state.items.dropped();
        let end = first + state.items.len() as u64;
        if end < self.next {
            self.reset();
        }
        while self.numbers.front().is_some_and(|number| *number < first) {
            self.numbers.pop_front();
        }
        for number in self.next.max(first).max(self.floor)..end {
            let item = usize::try_from(number - first).ok().and_then(|place| state.items.at(place));
            if item.is_some_and(|item| entry::is_shown(item, self.verbose, self.streams)) {
                self.numbers.push_back(number);
            }
        }
        self.next = end;
    }

    /// Clears the index, so that all items are examined again.
    pub(super) fn reset(&mut self) {
        self.numbers.clear();
        self.next = 0;
    }

    /// Hides all items so far.
    pub(super) fn hide_all(&mut self, state: &State) {
        self.show_from(state.items.dropped() + state.items.len() as u64);
    }

    /// Hides all items before this number.
    pub(super) fn show_from(&mut self, number: u64) {
        self.floor = number;
        self.reset();
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Number of the item at this index.
    pub(super) fn at(&self, index: usize) -> Option<u64> {
        self.numbers.get(index).copied()
    }

    /// Index of this number, or of the next visible one.
    pub(super) fn index_of(&self, number: u64) -> usize {
        self.numbers.partition_point(|known| *known < number)
    }
}
