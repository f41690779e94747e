//! Items that have been drawn, so that a frame draws only what is new in it.

use std::collections::HashMap;
use std::sync::Arc;

use ratatui::text::Line;
use wh_core::space::item::Item;

use super::entry::{self, Lines, Reader, Setting};

/// Items that are kept. Beyond that the half that has not been seen for longest goes.
const MOST_ITEMS: usize = 2_000;

/// Lines that are kept, of all items together: an unfolded card may have very many.
const MOST_LINES: usize = 200_000;

#[derive(Debug)]
struct Kept {
    item: Arc<Item>,
    setting: Setting,
    lines: Lines,
    seen: u64,
}

/// Items that have been drawn, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Cache {
    kept: HashMap<u64, Kept>,
    lines: usize,
    frame: u64,
    #[cfg(test)]
    pub(super) drawn: usize,
}

impl Cache {
    /// A new frame begins. What only earlier ones needed may go.
    pub(super) fn begin(&mut self) {
        self.frame += 1;
        if self.kept.len() <= MOST_ITEMS && self.lines <= MOST_LINES {
            return;
        }
        let mut seen: Vec<u64> = self.kept.values().map(|kept| kept.seen).collect();
        let middle = seen.len() / 2;
        let (_, middle, _) = seen.select_nth_unstable(middle);
        let (middle, last) = (*middle, self.frame - 1);
        self.kept.retain(|_, kept| kept.seen > middle || kept.seen == last);
        self.lines = self.kept.values().map(|kept| kept.lines.lines.len()).sum();
    }

    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.lines = 0;
    }

    /// The lines of an item, drawn only if it or how it is to look has changed.
    pub(super) fn lines(&mut self, number: u64, item: &Arc<Item>, setting: Setting, reader: &Reader) -> &Lines {
        let frame = self.frame;
        let fresh = |kept: &Kept| Arc::ptr_eq(&kept.item, item) && kept.setting == setting;
        if !self.kept.get(&number).is_some_and(fresh) {
            #[cfg(test)]
            {
                self.drawn += 1;
            }
            let lines = entry::draw(item, &setting, reader);
            self.lines += lines.lines.len();
            let kept = Kept { item: Arc::clone(item), setting, lines, seen: frame };
            if let Some(old) = self.kept.insert(number, kept) {
                self.lines -= old.lines.lines.len();
            }
        }
        static NONE: Lines = Lines { lines: Vec::new(), header: 0, folds: false };
        match self.kept.get_mut(&number) {
            Some(kept) => {
                kept.seen = frame;
                &kept.lines
            }
            None => &NONE,
        }
    }

    /// How many characters an item had before a line when it was last drawn, whatever it is to look like now.
    pub(super) fn ink_before(&self, number: u64, line: usize) -> Option<usize> {
        self.kept.get(&number).map(|kept| kept.lines.lines.iter().take(line).map(ink).sum())
    }

    /// How many lines an item has, on the average of those that are kept.
    pub(super) fn mean(&self) -> f64 {
        if self.kept.is_empty() { 1.0 } else { self.lines as f64 / self.kept.len() as f64 }
    }
}

/// How many characters of a line are more than room.
pub(super) fn ink(line: &Line<'_>) -> usize {
    let characters = line.spans.iter().flat_map(|span| span.content.chars());
    characters.filter(|character| !character.is_whitespace()).count()
}

#[cfg(test)]
impl Cache {
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }
}
