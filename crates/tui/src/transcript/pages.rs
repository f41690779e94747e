//! The conversation as one long scroll of lines of which only the looked-at part exists. A place in it is an item and a
//! line of that item; going from one place to another costs what lies between.

use std::sync::Arc;

use ratatui::text::{Line, Span};
use wh_core::space::ParticipantId;
use wh_core::space::event::Role;
use wh_core::space::item::{Body, Item, Progress};
use wh_core::space::state::State;

use super::cache::{self, Cache};
use super::entry::{self, Lines, Reader, Setting};
use super::fold::Folds;
use super::shown::Shown;
use super::text;

/// What came through streams last, of all streams together.
const FRAMES_SHOWN: usize = 3;

/// Items behind which one looks for the last that is not retracted.
const NEAR: usize = 16;

/// A line of an item: the item's index among those that are shown, and the line's index in the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub index: usize,
    pub line: usize,
}

/// The scroll.
pub(super) struct Pages<'a> {
    pub state: &'a State,
    pub reader: &'a Reader,
    pub shown: &'a Shown,
    pub folds: &'a mut Folds,
    pub cache: &'a mut Cache,
    pub width: u16,
    pub verbose: bool,
    /// The day that it is.
    pub today: Option<i64>,
    /// What follows the last item.
    pub tail: Vec<Line<'static>>,
}

impl Pages<'_> {
    /// How many parts there are: the items, and what follows them.
    pub(super) fn count(&self) -> usize {
        self.shown.len() + usize::from(!self.tail.is_empty())
    }

    /// The item at this index, and where it is in the conversation.
    pub(super) fn item(&self, index: usize) -> Option<(u64, &Arc<Item>)> {
        let number = self.shown.at(index)?;
        let place = usize::try_from(number.checked_sub(self.state.items.dropped())?).ok()?;
        Some((number, self.state.items.at(place)?))
    }

    /// How many lines the part at this index has.
    pub(super) fn height(&mut self, index: usize) -> usize {
        if index == self.shown.len() {
            return self.tail.len();
        }
        self.lines(index).map_or(0, |lines| lines.lines.len())
    }

    /// The item at this index, drawn; `None` if it was taken back.
    pub(super) fn lines(&mut self, index: usize) -> Option<&Lines> {
        let number = self.shown.at(index)?;
        let place = usize::try_from(number.checked_sub(self.state.items.dropped())?).ok()?;
        let state = self.state;
        let item = state.items.at(place)?;
        if item.progress == Progress::Retracted {
            return None;
        }
        let is_text = matches!(item.body, Body::Text { .. });
        let setting = Setting {
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
        *id == self.reader.me || self.state.participants.get(id).is_some_and(|one| one.role == Role::Human)
    }

    /// Whether an empty line parts an item from what is above it.
    fn gap(&self, index: usize, item: &Item) -> bool {
        let above = (index.saturating_sub(NEAR)..index).rev().filter_map(|above| self.item(above));
        let above = above.map(|(_, above)| above).find(|above| above.progress != Progress::Retracted);
        match above {
            Some(above) => !(entry::is_slight(above, self.verbose) && entry::is_slight(item, self.verbose)),
            None => index > NEAR,
        }
    }

    /// The line of an item before which so many characters have been read.
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

    /// So many lines above.
    pub(super) fn up(&mut self, mut from: Place, mut lines: usize) -> Place {
        while lines > from.line {
            lines -= from.line;
            let Some(above) = from.index.checked_sub(1) else { return Place { index: 0, line: 0 } };
            from = Place { index: above, line: self.height(above) };
        }
        Place { line: from.line - lines, ..from }
    }

    /// So many lines below, but not beyond the end.
    pub(super) fn down(&mut self, mut from: Place, mut lines: usize) -> Place {
        while from.index < self.count() {
            let left = self.height(from.index).saturating_sub(from.line);
            if lines < left {
                return Place { line: from.line + lines, ..from };
            }
            lines -= left;
            from = Place { index: from.index + 1, line: 0 };
        }
        from
    }

    /// Where a window of so many rows stands that shows the end.
    pub(super) fn last_page(&mut self, rows: usize) -> Place {
        let end = Place { index: self.count(), line: 0 };
        self.up(end, rows)
    }

    /// First line of the last item, if it has this number and is a notice of several lines.
    pub(super) fn notice_at_end(&mut self, number: u64) -> Option<Place> {
        let index = self.shown.len().checked_sub(1)?;
        let (last, item) = self.item(index)?;
        let long = matches!(&item.body, Body::Notice { lines, .. } if lines.len() > 1);
        let header = self.lines(index).filter(|_| long && last == number)?.header;
        Some(Place { index, line: header })
    }

    /// Whether a window of so many rows that begins here shows the end.
    pub(super) fn shows_end(&mut self, from: Place, rows: usize) -> bool {
        self.down(from, rows).index >= self.count()
    }

    /// The lines that a window of so many rows shows.
    pub(super) fn window(&mut self, from: Place, rows: usize) -> Vec<Place> {
        let mut window = Vec::with_capacity(rows);
        let (mut index, mut line) = (from.index, from.line);
        while window.len() < rows && index < self.count() {
            let height = self.height(index);
            let take = height.saturating_sub(line).min(rows - window.len());
            window.extend((line..line + take).map(|line| Place { index, line }));
            (index, line) = (index + 1, 0);
        }
        window
    }

    /// How many lines follow this one: counted where they are near, estimated beyond.
    pub(super) fn below(&mut self, last: Place) -> usize {
        const COUNTED: usize = 64;
        let mut lines = self.height(last.index).saturating_sub(last.line + 1);
        let counted = (last.index + 1 + COUNTED).min(self.count());
        for index in last.index + 1..counted {
            lines += self.height(index);
        }
        let rest = self.count().saturating_sub(counted.max(last.index + 1));
        lines + (rest as f64 * self.cache.mean()).round() as usize
    }
}

/// What came through streams last, if that is wanted.
pub(super) fn tail(state: &State, reader: &Reader, width: u16) -> Vec<Line<'static>> {
    let skipped = state.frames.len().saturating_sub(FRAMES_SHOWN);
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
