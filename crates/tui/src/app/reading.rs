//! Tracks how much of a question has been shown. The dialog rejects answers that grant a permission until a frame has
//! shown the end of the question.

use std::sync::Arc;

use wh_core::space::item::Item;
use wh_core::terminal::Size;

/// Progress of showing one question to the user.
#[derive(Debug, Default)]
pub(crate) struct ReadProgress {
    item: Option<Arc<Item>>,
    /// Size of the terminal in the last frame or resize.
    size: Option<Size>,
    /// True if the last line of the dialog's text has been visible since the last resize.
    end_shown: bool,
    /// Offset in the full text up to which the pager has shown the question.
    paged_to: u64,
}

impl ReadProgress {
    /// Sets the question to track. Returns true if the content has changed, in which case the progress is reset.
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

    /// Sets the size of the terminal and returns true if it changed. After a change, the end of the question must be
    /// shown again. Progress in the pager is not reset, because the user scrolled through that text.
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

    /// Records that the pager has shown the full text up to this offset in bytes.
    pub(crate) fn page_to(&mut self, byte: u64) {
        self.paged_to = self.paged_to.max(byte);
    }

    /// Returns true if the last line of the dialog's text has been visible at the current size.
    pub(crate) fn is_complete(&self) -> bool {
        self.end_shown
    }

    /// Returns the number of bytes of the full text that neither the dialog nor the pager has shown.
    pub(crate) fn unread_bytes(&self) -> u64 {
        let extent = self.item.as_ref().and_then(|item| item.extent);
        extent.map_or(0, |extent| extent.whole.saturating_sub(self.paged_to.max(extent.shown)))
    }
}
