//! What can be taken back, in the steps that a person would call one: a word typed, a run of deletions, a paste.

use super::text::Text;

/// So many steps can be taken back; the oldest go first.
const MOST_STEPS: usize = 256;

/// What an edit was, to tell whether it goes on with the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    Typing,
    Deleting,
    /// A step of its own.
    Single,
}

#[derive(Debug, Default)]
pub(super) struct Undo {
    past: Vec<Text>,
    future: Vec<Text>,
    last: Option<Edit>,
}

impl Undo {
    /// Call before an edit, with the text as it is.
    pub(super) fn record(&mut self, edit: Edit, text: &Text) {
        self.future.clear();
        let goes_on = self.last == Some(edit) && edit != Edit::Single;
        self.last = Some(edit);
        if goes_on {
            return;
        }
        if self.past.len() == MOST_STEPS {
            self.past.remove(0);
        }
        self.past.push(text.clone());
    }

    /// What comes next is a step of its own, even if it is of the same kind.
    pub(super) fn pause(&mut self) {
        self.last = None;
    }

    pub(super) fn undo(&mut self, text: &mut Text) -> bool {
        step(&mut self.past, &mut self.future, text, &mut self.last)
    }

    pub(super) fn redo(&mut self, text: &mut Text) -> bool {
        step(&mut self.future, &mut self.past, text, &mut self.last)
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

fn step(from: &mut Vec<Text>, to: &mut Vec<Text>, text: &mut Text, last: &mut Option<Edit>) -> bool {
    *last = None;
    let Some(other) = from.pop() else { return false };
    to.push(std::mem::replace(text, other));
    true
}
