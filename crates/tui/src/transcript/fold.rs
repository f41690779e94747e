//! Tracks which items of the conversation are expanded.

use std::collections::HashSet;

use wh_core::space::ItemId;

/// Expanded items: a default for all items, and the items that differ from the default.
#[derive(Debug, Default)]
pub(super) struct ExpandedItems {
    all_open: bool,
    others: HashSet<ItemId>,
}

impl ExpandedItems {
    pub(super) fn is_open(&self, id: &ItemId) -> bool {
        self.all_open != self.others.contains(id)
    }

    pub(super) fn toggle(&mut self, id: &ItemId) {
        if !self.others.remove(id) {
            self.others.insert(id.clone());
        }
    }

    pub(super) fn toggle_all(&mut self) {
        self.all_open = !self.all_open;
        self.others.clear();
    }
}
