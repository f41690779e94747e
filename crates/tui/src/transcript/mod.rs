//! Conversation pane. The pane stays at the end of the conversation until the user scrolls; after that, the visible
//! lines keep their place when items are added. The cost of drawing a frame depends on the visible items, not on the
//! length of the conversation.

mod bubble;
mod cache;
mod card;
mod entry;
mod fold;
mod keys;
mod pages;
mod remark;
mod shown;
#[cfg(test)]
mod tests;
mod text;

use std::time::SystemTime;

use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use wh_client::MirrorChange;
use wh_core::space::state::SpaceState;
use wh_core::space::{ItemId, ParticipantId};

use crate::theme::Theme;
use cache::EntryCache;
use entry::ViewerSettings;
use fold::ExpandedItems;
use keys::TranscriptAction;
use pages::{LinePosition, VirtualList};
use shown::VisibleItems;

/// Settings for drawing the conversation.
#[derive(Debug, Clone, Copy)]
pub struct TranscriptView<'a> {
    pub theme: &'a Theme,
    /// True if details are shown: ids, kinds, turns, payloads, thoughts, and all kinds of events.
    pub verbose: bool,
    /// True if stream data is shown.
    pub show_streams: bool,
    /// Time at which the frame is drawn.
    pub now: SystemTime,
    /// Participant that is shown as "you".
    pub me: &'a ParticipantId,
}

/// Reference to an item that stays valid when a reset of the state changes the numbers of items.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ItemRef {
    number: u64,
    id: ItemId,
}

/// Position of a line, stored so that the line stays in place on the screen when items are added.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineAnchor {
    /// Item that contains the line; `None` for the lines after the last item.
    item: Option<ItemRef>,
    line: usize,
    /// Number of lines of the item when the anchor was set. If the width has changed since then, the line is found by
    /// the number of characters before it, or is estimated from this height if the item is not cached.
    height: usize,
    width: u16,
}

/// Row of the last frame, for mouse clicks.
#[derive(Debug, Clone)]
struct TranscriptRow {
    item: Option<ItemRef>,
    place: LinePosition,
    header: bool,
    /// True if the row belongs to the item itself; false if it is the blank line above the item.
    inked: bool,
    folds: bool,
}

#[derive(Debug)]
pub struct Transcript {
    reader: ViewerSettings,
    shown: VisibleItems,
    folds: ExpandedItems,
    cache: EntryCache,
    /// First visible line; `None` if the window stays at the end.
    anchored: Option<LineAnchor>,
    /// Number of the last item when the layout was last computed.
    newest: Option<u64>,
    /// Number of the last item until the next motion. If this item is a notice with several lines, the window shows it
    /// from its beginning.
    opened: Option<u64>,
    /// Selected message; `None` if no message is selected. Can be `None` while `navigating` is true.
    selected: Option<ItemRef>,
    navigating: bool,
    /// Motions since the last frame, applied by the next frame.
    motions: Vec<TranscriptAction>,
    /// True if the state was reset since the last frame. The numbers of items may have changed.
    moved: bool,
    area: Rect,
    rows: Vec<TranscriptRow>,
    top: Option<LineAnchor>,
    below: usize,
}

impl Default for Transcript {
    fn default() -> Self {
        Self::new()
    }
}

impl Transcript {
    /// Creates an empty transcript that shows times in the time zone of the system.
    pub fn new() -> Self {
        Self::in_zone(TimeZone::system())
    }

    /// Creates an empty transcript that shows times in this time zone.
    pub fn in_zone(zone: TimeZone) -> Self {
        Self {
            reader: ViewerSettings { theme: Theme::dark(), me: ParticipantId::from(""), zone },
            shown: VisibleItems::default(),
            folds: ExpandedItems::default(),
            cache: EntryCache::default(),
            anchored: None,
            newest: None,
            opened: None,
            selected: None,
            navigating: false,
            motions: Vec::new(),
            moved: false,
            area: Rect::ZERO,
            rows: Vec::new(),
            top: None,
            below: 0,
        }
    }

    /// Adds new items to the transcript, or all items after a reset of the state. A changed item is detected when it is
    /// drawn.
    pub fn sync(&mut self, state: &SpaceState, change: &MirrorChange) {
        if change.reset {
            self.moved = true;
            self.shown.reset();
            self.cache.clear();
        }
        self.shown.add_new(state);
    }

    /// Scrolls to the end and clears the selection.
    pub fn follow(&mut self) {
        self.motions.clear();
        self.anchored = None;
        self.opened = None;
        self.selected = None;
        self.navigating = false;
    }

    /// Hides all items that the conversation contains now. Later items are shown.
    pub fn clear_view(&mut self, state: &SpaceState) {
        self.shown.hide_all(state);
        self.follow();
    }

    /// Returns true while the user selects messages.
    pub fn navigating(&self) -> bool {
        self.navigating
    }

    /// Returns true if the window stays at the end, according to the last [`render`](Self::render) or
    /// [`arrange`](Self::arrange).
    pub fn following(&self) -> bool {
        self.anchored.is_none() && self.below == 0
    }

    /// Returns the number of lines below the window, according to the last [`render`](Self::render) or
    /// [`arrange`](Self::arrange). A large number is an estimate.
    pub fn below(&self) -> usize {
        self.below
    }

    /// Draws the visible part of the conversation.
    pub fn render(&mut self, area: Rect, buf: &mut Buffer, state: &SpaceState, look: &TranscriptView<'_>) {
        let area = area.intersection(buf.area);
        self.arrange(area, state, look);
        if area.is_empty() {
            return;
        }
        let mut pages = pages(&self.shown, &mut self.folds, &mut self.cache, &self.reader, area.width, state, look);
        for (row, y) in self.rows.iter().zip(area.y..) {
            let LinePosition { index, line } = row.place;
            if row.item.is_some() {
                if let Some(line) = pages.lines(index).and_then(|lines| lines.lines.get(line)) {
                    buf.set_line(area.x, y, line, area.width);
                }
            } else if let Some(line) = pages.tail.get(line) {
                buf.set_line(area.x, y, line, area.width);
            }
            if row.inked
                && row.item.is_some()
                && row.item == self.selected
                && let Some(cell) = buf.cell_mut((area.x, y))
            {
                cell.set_symbol(if row.header { "▶" } else { "▎" }).set_style(self.reader.theme.accent);
            }
        }
    }

    /// Computes the layout of a frame without drawing it. [`Transcript::following`] and [`Transcript::below`] then
    /// refer to this layout. [`Transcript::render`] computes the layout itself.
    pub fn arrange(&mut self, area: Rect, state: &SpaceState, look: &TranscriptView<'_>) {
        self.area = area;
        if area.is_empty() {
            self.rows.clear();
            return;
        }
        if self.reader.theme != *look.theme || self.reader.me != *look.me {
            (self.reader.theme, self.reader.me) = (*look.theme, look.me.clone());
            self.cache.clear();
        }
        self.cache.begin();
        self.shown.catch_up(state, look.verbose, look.show_streams);
        if std::mem::take(&mut self.moved) {
            self.relocate(state);
        }
        let mut pages = pages(&self.shown, &mut self.folds, &mut self.cache, &self.reader, area.width, state, look);
        let rows = usize::from(area.height);
        let newest = pages.shown.len().checked_sub(1).and_then(|index| pages.shown.at(index));
        if std::mem::replace(&mut self.newest, newest) != newest {
            self.opened = newest;
        }
        let mut window = keys::TranscriptViewport {
            top: self.anchored.as_ref().map(|anchor| resolve_anchor(&mut pages, anchor)),
            opened: self.opened,
            selected: self.selected.take(),
            navigating: self.navigating,
            rows,
        };
        window.settle(&mut pages);
        for motion in self.motions.drain(..) {
            window.go(&mut pages, motion);
            window.settle(&mut pages);
        }
        let top = window.start(&mut pages);
        (self.opened, self.navigating, self.selected) = (window.opened, window.navigating, window.selected);
        self.rows = pages.window(top, rows).into_iter().map(|place| row(&mut pages, place)).collect();
        let last = self.rows.last().map(|row| row.place);
        self.below = last.map_or(0, |last| pages.below(last));
        self.top = Some(anchor(&mut pages, top));
        self.anchored = window.top.and_then(|_| self.top.clone());
    }

    /// Finds the anchored item and the selected item again after a reset of the state.
    fn relocate(&mut self, state: &SpaceState) {
        let first = state.items.dropped();
        let find = |found: &mut ItemRef| {
            let place = state.items.iter().position(|item| item.id == found.id);
            place.map(|place| found.number = first + place as u64).is_some()
        };
        if let Some(LineAnchor { item: Some(found), .. }) = &mut self.anchored
            && !find(found)
        {
            self.anchored = None;
        }
        if self.selected.as_mut().is_some_and(|found| !find(found)) {
            self.selected = None;
            self.navigating = false;
        }
    }
}

fn pages<'a>(
    shown: &'a VisibleItems,
    folds: &'a mut ExpandedItems,
    cache: &'a mut EntryCache,
    reader: &'a ViewerSettings,
    width: u16,
    state: &'a SpaceState,
    look: &TranscriptView<'_>,
) -> VirtualList<'a> {
    let tail = if look.show_streams { pages::tail(state, reader, width) } else { Vec::new() };
    VirtualList { state, reader, shown, folds, cache, width, verbose: look.verbose, today: reader.day(look.now), tail }
}

fn found(pages: &VirtualList<'_>, index: usize) -> Option<ItemRef> {
    pages.item(index).map(|(number, item)| ItemRef { number, id: item.id.clone() })
}

fn row(pages: &mut VirtualList<'_>, place: LinePosition) -> TranscriptRow {
    let (header, folds) = pages.lines(place.index).map_or((0, false), |lines| (lines.header, lines.folds));
    let item = found(pages, place.index);
    TranscriptRow { item, place, header: header == place.line, inked: header <= place.line, folds }
}

fn anchor(pages: &mut VirtualList<'_>, place: LinePosition) -> LineAnchor {
    let height = pages.height(place.index);
    LineAnchor { item: found(pages, place.index), line: place.line, height, width: pages.width }
}

/// Returns the current position of an anchored line.
fn resolve_anchor(pages: &mut VirtualList<'_>, anchor: &LineAnchor) -> LinePosition {
    let Some(found) = &anchor.item else {
        let index = pages.shown.len();
        let line = anchor.line.min(pages.height(index).saturating_sub(1));
        return LinePosition { index, line };
    };
    let index = pages.shown.index_of(found.number);
    if pages.shown.at(index) != Some(found.number) {
        return LinePosition { index, line: 0 };
    }
    let same_width = anchor.width == pages.width;
    let read = pages.cache.ink_before(found.number, anchor.line).filter(|_| !same_width);
    let height = pages.height(index);
    let line = match read {
        Some(read) => pages.line_after(index, read),
        None if same_width || anchor.height == 0 => anchor.line,
        None => anchor.line * height / anchor.height,
    };
    // If the item was collapsed after the anchor was set, the position is the beginning of the item.
    LinePosition { index, line: if line < height { line } else { 0 } }
}
