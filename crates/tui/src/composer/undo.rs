//! Undo history. One step undoes a typed word, a series of deletions, or a paste.

use super::text::EditableText;

/// Maximum number of undo steps. A further step removes the oldest.
const MAX_UNDO_STEPS: usize = 256;

/// Kind of an edit. Consecutive edits of the same kind form one undo step, except for `Single`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditKind {
    Typing,
    Deleting,
    /// Edit that is always a separate undo step.
    Single,
}

#[derive(Debug, Default)]
pub(super) struct UndoHistory {
    past: Vec<EditableText>,
    future: Vec<EditableText>,
    last: Option<EditKind>,
}

impl UndoHistory {
    /// Records an edit before it is made. `text` is the text before the edit.
    pub(super) fn record(&mut self, edit: EditKind, text: &EditableText) {
        self.future.clear();
        let continues = self.last == Some(edit) && edit != EditKind::Single;
        self.last = Some(edit);
        if continues {
            return;
        }
        if self.past.len() == MAX_UNDO_STEPS {
            self.past.remove(0);
        }
        self.past.push(text.clone());
    }

    /// Makes the next edit a separate step, even if it has the same kind as the last edit.
    pub(super) fn pause(&mut self) {
        self.last = None;
    }

    pub(super) fn undo(&mut self, text: &mut EditableText) -> bool {
        step(&mut self.past, &mut self.future, text, &mut self.last)
    }

    pub(super) fn redo(&mut self, text: &mut EditableText) -> bool {
        step(&mut self.future, &mut self.past, text, &mut self.last)
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

fn step(
    from: &mut Vec<EditableText>,
    to: &mut Vec<EditableText>,
    text: &mut EditableText,
    last: &mut Option<EditKind>,
) -> bool {
    *last = None;
    let Some(other) = from.pop() else { return false };
    to.push(std::mem::replace(text, other));
    true
}
