//! Which items are shown, in order. A conversation has many that are not, and a frame must not step over them all.

use std::collections::VecDeque;

use wh_core::space::state::State;

use super::entry;

/// The numbers of the items that are shown. An item's number is its place if none had ever been dropped.
#[derive(Debug, Default)]
pub(super) struct Shown {
    numbers: VecDeque<u64>,
    /// The first number that has not been looked at.
    next: u64,
    /// The first number that may be shown.
    floor: u64,
    verbose: bool,
    streams: bool,
}

impl Shown {
    /// Takes in what is new, after a change of what is to be shown everything.
    pub(super) fn catch_up(&mut self, state: &State, verbose: bool, streams: bool) {
        if (verbose, streams) != (self.verbose, self.streams) {
            (self.verbose, self.streams) = (verbose, streams);
            self.forget();
        }
        self.take_in(state);
    }

    /// Takes in what is new.
    pub(super) fn take_in(&mut self, state: &State) {
        let first = state.items.dropped();
        let end = first + state.items.len() as u64;
        if end < self.next {
            self.forget();
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

    /// Looks at every item again the next time.
    pub(super) fn forget(&mut self) {
        self.numbers.clear();
        self.next = 0;
    }

    /// Hides every item so far.
    pub(super) fn hide_all(&mut self, state: &State) {
        self.show_from(state.items.dropped() + state.items.len() as u64);
    }

    /// Hides every item before this number.
    pub(super) fn show_from(&mut self, number: u64) {
        self.floor = number;
        self.forget();
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The number of the one at this index.
    pub(super) fn at(&self, index: usize) -> Option<u64> {
        self.numbers.get(index).copied()
    }

    /// The index of this number, or of the next one that is shown.
    pub(super) fn index_of(&self, number: u64) -> usize {
        self.numbers.partition_point(|known| *known < number)
    }
}
