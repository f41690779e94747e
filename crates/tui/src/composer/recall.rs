//! What was sent before, to be called up again. What is changed while leafing through, the unsent draft above all, is
//! kept until something is sent.

use std::collections::BTreeMap;

use super::text::Text;

/// So much is remembered; the oldest goes first.
const MOST_ENTRIES: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct Recall {
    sent: Vec<String>,
    /// The page shown, while it is not the draft.
    at: Option<usize>,
    /// Pages as they were left; the draft's number is that after the last entry.
    left: BTreeMap<usize, Text>,
}

impl Recall {
    /// Remembers what was sent; the next recall begins with it.
    pub(super) fn push(&mut self, content: String) {
        self.leave();
        if content.is_empty() || self.sent.last() == Some(&content) {
            return;
        }
        if self.sent.len() == MOST_ENTRIES {
            self.sent.remove(0);
        }
        self.sent.push(content);
    }

    /// Back to the draft's page, with everything on the others as it was sent.
    pub(super) fn leave(&mut self) {
        self.at = None;
        self.left.clear();
    }

    /// The page before this one.
    pub(super) fn previous(&mut self, shown: &Text) -> Option<Text> {
        let here = self.at.unwrap_or(self.sent.len());
        self.turn(here, here.checked_sub(1)?, shown)
    }

    /// The page after this one; the last is the draft.
    pub(super) fn next(&mut self, shown: &Text) -> Option<Text> {
        let here = self.at?;
        self.turn(here, here + 1, shown)
    }

    fn turn(&mut self, here: usize, there: usize, shown: &Text) -> Option<Text> {
        self.left.insert(here, shown.clone());
        self.at = (there < self.sent.len()).then_some(there);
        let as_left = self.left.get(&there).cloned();
        as_left.or_else(|| self.sent.get(there).map(|sent| Text::new(sent.clone())))
    }
}
