//! Input history. Retains the unsent draft and edited entries until a text is submitted.

use std::collections::BTreeMap;

use super::text::EditableText;

/// Maximum number of entries. A further entry removes the oldest.
const MAX_HISTORY_ENTRIES: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct InputHistory {
    entries: Vec<String>,
    /// Index of the entry that the composer shows; `None` if it shows the draft.
    at: Option<usize>,
    /// Edited entries by index. The draft has the index after the last entry.
    edited: BTreeMap<usize, EditableText>,
}

impl InputHistory {
    /// Appends a submitted text to the history and returns to the draft.
    pub(super) fn push(&mut self, content: String) {
        self.leave();
        if content.is_empty() || self.entries.last() == Some(&content) {
            return;
        }
        if self.entries.len() == MAX_HISTORY_ENTRIES {
            self.entries.remove(0);
        }
        self.entries.push(content);
    }

    /// Returns to the draft and discards all edits of entries.
    pub(super) fn leave(&mut self) {
        self.at = None;
        self.edited.clear();
    }

    /// Moves to the previous entry and returns its text. `shown` is the text in the composer, which is retained as an
    /// edit of the current entry.
    pub(super) fn previous(&mut self, shown: &EditableText) -> Option<EditableText> {
        let here = self.at.unwrap_or(self.entries.len());
        self.turn(here, here.checked_sub(1)?, shown)
    }

    /// Moves to the next entry and returns its text, like [`previous`](Self::previous). The draft follows the last
    /// entry.
    pub(super) fn next(&mut self, shown: &EditableText) -> Option<EditableText> {
        let here = self.at?;
        self.turn(here, here + 1, shown)
    }

    fn turn(&mut self, here: usize, there: usize, shown: &EditableText) -> Option<EditableText> {
        self.edited.insert(here, shown.clone());
        self.at = (there < self.entries.len()).then_some(there);
        let as_left = self.edited.get(&there).cloned();
        as_left.or_else(|| self.entries.get(there).map(|sent| EditableText::new(sent.clone())))
    }
}
