//! Read progress of a question. Granting answers are rejected until a frame has shown its end.

use std::sync::Arc;

use wh_core::space::item::Item;
use wh_core::terminal::Size;

/// Read progress of one question.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    of: Option<Arc<Item>>,
    /// Size of the terminal.
    size: Option<Size>,
    /// The last line of what the dialog shows has been on the screen at this size.
    end_shown: bool,
    /// Bytes of the whole up to which the pager has shown it.
    paged_to: u64,
}

impl Reading {
    /// Follows this question. A question that asks for something else than before has to be read again; says whether that
    /// is so.
    pub(super) fn follow(&mut self, item: &Arc<Item>) -> bool {
        let same = self.of.as_ref().is_some_and(|known| {
            Arc::ptr_eq(known, item) || (known.id == item.id && known.body == item.body && known.extent == item.extent)
        });
        if !same {
            *self = Self { size: self.size, ..Self::default() };
        }
        self.of = Some(Arc::clone(item));
        !same
    }

    /// Follows the size of the terminal. The end has to be shown again at another size; says whether it is another one.
    /// What the pager has shown stays shown: somebody scrolled through it.
    pub(super) fn resize(&mut self, size: Size) -> bool {
        let other = self.size.replace(size) != Some(size);
        if other {
            self.end_shown = false;
        }
        other
    }

    /// The last line of what the dialog shows is on the screen.
    pub(super) fn show_end(&mut self) {
        self.end_shown = true;
    }

    /// The pager shows the whole up to this byte.
    pub(crate) fn page_to(&mut self, byte: u64) {
        self.paged_to = self.paged_to.max(byte);
    }

    /// True once the last line of the dialog's text was shown at the present size.
    pub(crate) fn is_complete(&self) -> bool {
        self.end_shown
    }

    /// Bytes at the end of what is asked that were never on the screen, where the dialog does not show the whole.
    pub(crate) fn unread_bytes(&self) -> u64 {
        let extent = self.of.as_ref().and_then(|item| item.extent);
        extent.map_or(0, |extent| extent.whole.saturating_sub(self.paged_to.max(extent.shown)))
    }
}
