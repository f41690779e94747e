//! Index of the visible items in display order, so that drawing a frame does not have to skip hidden items one by one.

use std::collections::VecDeque;

use wh_core::space::state::SpaceState;

use super::entry;

/// Numbers of the visible items. Items are numbered consecutively from the beginning of the conversation, including
/// items that the state has dropped.
#[derive(Debug, Default)]
pub(super) struct VisibleItems {
    numbers: VecDeque<u64>,
    /// Number of the first item that has not been added or skipped yet.
    next: u64,
    /// Lowest number of an item that is shown; all earlier items are hidden.
    floor: u64,
    verbose: bool,
    streams: bool,
}

impl VisibleItems {
    /// Adds new items to the index, or rebuilds the index if the filter has changed.
    pub(super) fn catch_up(&mut self, state: &SpaceState, verbose: bool, streams: bool) {
        if (verbose, streams) != (self.verbose, self.streams) {
            (self.verbose, self.streams) = (verbose, streams);
            self.reset();
        }
        self.add_new(state);
    }

    /// Adds new items to the index.
    pub(super) fn add_new(&mut self, state: &SpaceState) {
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

    /// Clears the index. The next update examines all items again.
    pub(super) fn reset(&mut self) {
        self.numbers.clear();
        self.next = 0;
    }

    /// Hides all items that the conversation contains now.
    pub(super) fn hide_all(&mut self, state: &SpaceState) {
        self.show_from(state.items.dropped() + state.items.len() as u64);
    }

    /// Hides all items with a number lower than this number.
    pub(super) fn show_from(&mut self, number: u64) {
        self.floor = number;
        self.reset();
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the number of the visible item at this index.
    pub(super) fn at(&self, index: usize) -> Option<u64> {
        self.numbers.get(index).copied()
    }

    /// Returns the index of the item with this number, or of the next visible item.
    pub(super) fn index_of(&self, number: u64) -> usize {
        self.numbers.partition_point(|known| *known < number)
    }
}
