//! Virtual list of the lines of the conversation: only the visible lines are drawn. A position consists of an item and
//! a line of that item. The cost of moving from one position to another is proportional to the number of lines between
//! them.

use std::sync::Arc;

use ratatui::text::{Line, Span};
use wh_core::space::ParticipantId;
use wh_core::space::event::ParticipantRole;
use wh_core::space::item::{Item, ItemBody, ItemProgress};
use wh_core::space::state::SpaceState;

use super::cache::{self, EntryCache};
use super::entry::{self, EntrySettings, ItemLines, ViewerSettings};
use super::fold::ExpandedItems;
use super::shown::VisibleItems;
use super::text;

/// Maximum number of stream frames shown at the end, over all streams.
const MAX_TAIL_FRAMES: usize = 3;

/// Maximum number of preceding items to search for an item that is not retracted.
const MAX_LOOKBACK: usize = 16;

/// Position of a line: the index of the item among the visible items, and the index of the line within the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LinePosition {
    pub index: usize,
    pub line: usize,
}

/// Visible items of the conversation with the settings and caches for drawing them.
pub(super) struct VirtualList<'a> {
    pub state: &'a SpaceState,
    pub reader: &'a ViewerSettings,
    pub shown: &'a VisibleItems,
    pub folds: &'a mut ExpandedItems,
    pub cache: &'a mut EntryCache,
    pub width: u16,
    pub verbose: bool,
    /// Number of the current day in the viewer's time zone.
    pub today: Option<i64>,
    /// Lines of stream frames, shown after the last item.
    pub tail: Vec<Line<'static>>,
}

impl VirtualList<'_> {
    /// Returns the number of parts: the visible items, and the tail if it is not empty.
    pub(super) fn count(&self) -> usize {
        self.shown.len() + usize::from(!self.tail.is_empty())
    }

    /// Returns the item at this index with its number.
    pub(super) fn item(&self, index: usize) -> Option<(u64, &Arc<Item>)> {
        let number = self.shown.at(index)?;
        let place = usize::try_from(number.checked_sub(self.state.items.dropped())?).ok()?;
        Some((number, self.state.items.at(place)?))
    }

    /// Returns the number of lines of the part at this index.
    pub(super) fn height(&mut self, index: usize) -> usize {
        if index == self.shown.len() {
            return self.tail.len();
        }
        self.lines(index).map_or(0, |lines| lines.lines.len())
    }

    /// Returns the drawn item at this index; `None` if the item was retracted or there is no item at this index.
    pub(super) fn lines(&mut self, index: usize) -> Option<&ItemLines> {
        let number = self.shown.at(index)?;
        let place = usize::try_from(number.checked_sub(self.state.items.dropped())?).ok()?;
        let state = self.state;
        let item = state.items.at(place)?;
        if item.progress == ItemProgress::Retracted {
            return None;
        }
        let is_text = matches!(item.body, ItemBody::Text { .. });
        let setting = EntrySettings {
            width: self.width,
            verbose: self.verbose,
            expanded: self.folds.is_open(&item.id),
            gap: self.gap(index, item),
            human: is_text && self.is_human(&item.from),
            today: !is_text || self.today == self.reader.day(item.at),
            took: entry::took(state, place, item),
        };
        Some(self.cache.lines(number, item, setting, self.reader))
    }

    fn is_human(&self, id: &ParticipantId) -> bool {
        *id == self.reader.me || self.state.participants.get(id).is_some_and(|one| one.role == ParticipantRole::Human)
    }

    /// Returns true if a blank line separates an item from the item above.
    fn gap(&self, index: usize, item: &Item) -> bool {
        let above = (index.saturating_sub(MAX_LOOKBACK)..index).rev().filter_map(|above| self.item(above));
        let above = above.map(|(_, above)| above).find(|above| above.progress != ItemProgress::Retracted);
        match above {
            Some(above) => !(entry::is_single_line(above, self.verbose) && entry::is_single_line(item, self.verbose)),
            None => index > MAX_LOOKBACK,
        }
    }

    /// Returns the index of the line that follows the first `read` non-blank characters of the item.
    pub(super) fn line_after(&mut self, index: usize, read: usize) -> usize {
        let Some(lines) = self.lines(index) else { return 0 };
        let mut left = read;
        for (number, line) in lines.lines.iter().enumerate() {
            let ink = cache::ink(line);
            if left < ink || left == 0 {
                return number;
            }
            left -= ink;
        }
        lines.lines.len().saturating_sub(1)
    }

    /// Returns the position `lines` lines above `from`, or the beginning of the conversation if there are fewer lines.
    pub(super) fn up(&mut self, mut from: LinePosition, mut lines: usize) -> LinePosition {
        while lines > from.line {
            lines -= from.line;
            let Some(above) = from.index.checked_sub(1) else { return LinePosition { index: 0, line: 0 } };
            from = LinePosition { index: above, line: self.height(above) };
        }
        LinePosition { line: from.line - lines, ..from }
    }

    /// Returns the position `lines` lines below `from`, or the end of the conversation if there are fewer lines.
    pub(super) fn down(&mut self, mut from: LinePosition, mut lines: usize) -> LinePosition {
        while from.index < self.count() {
            let left = self.height(from.index).saturating_sub(from.line);
            if lines < left {
                return LinePosition { line: from.line + lines, ..from };
            }
            lines -= left;
            from = LinePosition { index: from.index + 1, line: 0 };
        }
        from
    }

    /// Returns the first position of a window with this many rows that ends at the end of the conversation.
    pub(super) fn last_page(&mut self, rows: usize) -> LinePosition {
        let end = LinePosition { index: self.count(), line: 0 };
        self.up(end, rows)
    }

    /// Returns the position of the header of the last item, if that item has this number and is a notice with several
    /// lines.
    pub(super) fn notice_at_end(&mut self, number: u64) -> Option<LinePosition> {
        let index = self.shown.len().checked_sub(1)?;
        let (last, item) = self.item(index)?;
        let long = matches!(&item.body, ItemBody::Notice { lines, .. } if lines.len() > 1);
        let header = self.lines(index).filter(|_| long && last == number)?.header;
        Some(LinePosition { index, line: header })
    }

    /// Returns true if a window with this many rows that begins at `from` contains the end of the conversation.
    pub(super) fn shows_end(&mut self, from: LinePosition, rows: usize) -> bool {
        self.down(from, rows).index >= self.count()
    }

    /// Returns the positions of the lines in a window with this many rows that begins at `from`.
    pub(super) fn window(&mut self, from: LinePosition, rows: usize) -> Vec<LinePosition> {
        let mut window = Vec::with_capacity(rows);
        let (mut index, mut line) = (from.index, from.line);
        while window.len() < rows && index < self.count() {
            let height = self.height(index);
            let take = height.saturating_sub(line).min(rows - window.len());
            window.extend((line..line + take).map(|line| LinePosition { index, line }));
            (index, line) = (index + 1, 0);
        }
        window
    }

    /// Returns the number of lines below the line `last`. The lines of nearby items are counted, and all other lines
    /// are estimated.
    pub(super) fn below(&mut self, last: LinePosition) -> usize {
        const MAX_COUNTED_ITEMS: usize = 64;
        let mut lines = self.height(last.index).saturating_sub(last.line + 1);
        let counted = (last.index + 1 + MAX_COUNTED_ITEMS).min(self.count());
        for index in last.index + 1..counted {
            lines += self.height(index);
        }
        let rest = self.count().saturating_sub(counted.max(last.index + 1));
        lines + (rest as f64 * self.cache.mean_height()).round() as usize
    }
}

/// Returns the lines for the most recent stream frames.
pub(super) fn tail(state: &SpaceState, reader: &ViewerSettings, width: u16) -> Vec<Line<'static>> {
    let skipped = state.frames.len().saturating_sub(MAX_TAIL_FRAMES);
    let mut lines = Vec::new();
    for frame in state.frames.iter().skip(skipped) {
        if lines.is_empty() {
            lines.push(Line::default());
        }
        let said = format!(" ≋ {} {}", frame.stream, frame.payload);
        let line = Line::from(Span::styled(text::visible(&said).into_owned(), reader.theme.dim));
        lines.push(text::clip(line, usize::from(width)));
    }
    lines
}
