//! Cache of drawn items: a frame only draws the items that have changed.

use std::collections::HashMap;
use std::sync::Arc;

use ratatui::text::Line;
use wh_core::space::item::Item;

use super::entry::{self, EntrySettings, ItemLines, ViewerSettings};

/// Maximum number of cached items. If the cache exceeds this number, the least recently shown half is removed.
const MAX_CACHED_ITEMS: usize = 2_000;

/// Maximum total number of cached lines. Limits the memory used by expanded cards, which can be very long.
const MAX_CACHED_LINES: usize = 200_000;

#[derive(Debug)]
struct CachedEntry {
    item: Arc<Item>,
    setting: EntrySettings,
    lines: ItemLines,
    seen: u64,
}

/// Cached lines of items, by the number of the item.
#[derive(Debug, Default)]
pub(super) struct EntryCache {
    entries: HashMap<u64, CachedEntry>,
    lines: usize,
    frame: u64,
    #[cfg(test)]
    pub(super) drawn: usize,
}

impl EntryCache {
    /// Begins a frame. If the cache is too large, removes the least recently shown half, except items of the previous
    /// frame.
    pub(super) fn begin(&mut self) {
        self.frame += 1;
        if self.entries.len() <= MAX_CACHED_ITEMS && self.lines <= MAX_CACHED_LINES {
            return;
        }
        let mut seen: Vec<u64> = self.entries.values().map(|kept| kept.seen).collect();
        let middle = seen.len() / 2;
        let (_, middle, _) = seen.select_nth_unstable(middle);
        let (middle, last) = (*middle, self.frame - 1);
        self.entries.retain(|_, kept| kept.seen > middle || kept.seen == last);
        self.lines = self.entries.values().map(|kept| kept.lines.lines.len()).sum();
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.lines = 0;
    }

    /// Returns the lines of an item. Draws the item only if the item or its settings have changed.
    pub(super) fn lines(
        &mut self,
        number: u64,
        item: &Arc<Item>,
        setting: EntrySettings,
        reader: &ViewerSettings,
    ) -> &ItemLines {
        let frame = self.frame;
        let fresh = |kept: &CachedEntry| Arc::ptr_eq(&kept.item, item) && kept.setting == setting;
        if !self.entries.get(&number).is_some_and(fresh) {
            #[cfg(test)]
            {
                self.drawn += 1;
            }
            let lines = entry::draw(item, &setting, reader);
            self.lines += lines.lines.len();
            let kept = CachedEntry { item: Arc::clone(item), setting, lines, seen: frame };
            if let Some(old) = self.entries.insert(number, kept) {
                self.lines -= old.lines.lines.len();
            }
        }
        static NONE: ItemLines = ItemLines { lines: Vec::new(), header: 0, folds: false };
        match self.entries.get_mut(&number) {
            Some(kept) => {
                kept.seen = frame;
                &kept.lines
            }
            None => &NONE,
        }
    }

    /// Returns the number of non-blank characters before a line of an item, as last drawn.
    pub(super) fn ink_before(&self, number: u64, line: usize) -> Option<usize> {
        self.entries.get(&number).map(|kept| kept.lines.lines.iter().take(line).map(ink).sum())
    }

    /// Returns the average number of lines of the cached items.
    pub(super) fn mean_height(&self) -> f64 {
        if self.entries.is_empty() { 1.0 } else { self.lines as f64 / self.entries.len() as f64 }
    }
}

/// Returns the number of non-blank characters in a line.
pub(super) fn ink(line: &Line<'_>) -> usize {
    let characters = line.spans.iter().flat_map(|span| span.content.chars());
    characters.filter(|character| !character.is_whitespace()).count()
}

#[cfg(test)]
impl EntryCache {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
