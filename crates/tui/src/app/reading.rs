//! Read progress of a question. Granting answers are rejected until a frame has shown its end.

use std::sync::Arc;

use wh_core::space::item::Item;
use wh_core::terminal::Size;

/// Read progress of one question.
#[derive(Debug, Default)]
pub(crate) struct ReadProgress {
    item: Option<Arc<Item>>,
    /// Size of the terminal.
    size: Option<Size>,
    /// The last line of the dialog's text has been visible at this size.
    end_shown: bool,
    /// Offset up to which the pager has shown the full text.
    paged_to: u64,
}

impl ReadProgress {
    /// Follows this question, and returns true if its content has changed. A changed question
    /// must be read again.
    pub(super) fn follow(&mut self, item: &Arc<Item>) -> bool {
        let same = self.item.as_ref().is_some_and(|known| {
            Arc::ptr_eq(known, item) || (known.id == item.id && known.body == item.body && known.extent == item.extent)
        });
        if !same {
            *self = Self { size: self.size, ..Self::default() };
        }
        self.item = Some(Arc::clone(item));
        !same
    }

    /// Follows the size of the terminal, and returns true if it changed. After a resize the end must be shown again.
    /// The progress in the pager is kept, because the user scrolled there.
    pub(super) fn resize(&mut self, size: Size) -> bool {
        let other = self.size.replace(size) != Some(size);
        if other {
            self.end_shown = false;
        }
        other
    }

    /// Records that the last line of the dialog's text is visible.
    pub(super) fn show_end(&mut self) {
        self.end_shown = true;
    }

    /// Records that the pager has shown the text up to this byte.
    pub(crate) fn page_to(&mut self, byte: u64) {
        self.paged_to = self.paged_to.max(byte);
    }

    /// True once the last line of the dialog's text was shown at the current size.
    pub(crate) fn is_complete(&self) -> bool {
        self.end_shown
    }

    /// Number of bytes at the end of the full text that were never visible; 0 if the dialog shows all of it.
    pub(crate) fn unread_bytes(&self) -> u64 {
        let extent = self.item.as_ref().and_then(|item| item.extent);
        extent.map_or(0, |extent| extent.whole.saturating_sub(self.paged_to.max(extent.shown)))
    }
}
