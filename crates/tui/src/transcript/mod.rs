//! The conversation, as a person reads it: it follows the end until somebody scrolls, and then what is seen stays where it
//! is, whatever is added. A frame costs what it shows, however long the conversation is.

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
use wh_client::Change;
use wh_core::space::state::State;
use wh_core::space::{ItemId, ParticipantId};

use crate::theme::Theme;
use cache::Cache;
use entry::Reader;
use fold::Folds;
use keys::Motion;
use pages::{Pages, Place};
use shown::Shown;

/// How the conversation is to look.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// The colours.
    pub theme: &'a Theme,
    /// Whether every detail is shown: ids, kinds, turns, payloads, thoughts, every deed.
    pub verbose: bool,
    /// Whether what comes through streams is shown.
    pub show_streams: bool,
    /// What time it is.
    pub now: SystemTime,
    /// The person who looks.
    pub me: &'a ParticipantId,
}

/// An item, wherever it is found the next time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    number: u64,
    id: ItemId,
}

/// A line that keeps its place on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Anchor {
    /// The item that it is of; `None` is what follows the last item.
    item: Option<Found>,
    line: usize,
    /// How many lines the item had, and at which width: at another one the line is elsewhere in it, and is found by what
    /// has been read before it.
    height: usize,
    width: u16,
}

/// A row that was drawn.
#[derive(Debug, Clone)]
struct Row {
    item: Option<Found>,
    place: Place,
    header: bool,
    /// Whether it is of the item itself, and not the empty line above.
    inked: bool,
    folds: bool,
}

/// The conversation pane.
#[derive(Debug)]
pub struct Transcript {
    reader: Reader,
    shown: Shown,
    folds: Folds,
    cache: Cache,
    /// The first line of the window; `None` follows the end.
    held: Option<Anchor>,
    /// Number of the last item when the window was last arranged.
    newest: Option<u64>,
    /// Number of the last item if it is a notice that is read from its beginning, and not from its end. Any motion ends
    /// that, and so does the next item.
    opened: Option<u64>,
    /// Which message is selected. While there is none yet, navigation has only just begun.
    selected: Option<Found>,
    navigating: bool,
    /// What has been asked for since the last frame: where it leads is known when there is one.
    motions: Vec<Motion>,
    /// The state began anew: items may have other numbers.
    moved: bool,
    area: Rect,
    rows: Vec<Row>,
    top: Option<Anchor>,
    below: usize,
}

impl Default for Transcript {
    fn default() -> Self {
        Self::new()
    }
}

impl Transcript {
    /// An empty one, with the clock of the place where it runs.
    pub fn new() -> Self {
        Self::in_zone(TimeZone::system())
    }

    /// An empty one, with the clock of this zone.
    pub fn in_zone(zone: TimeZone) -> Self {
        Self {
            reader: Reader { theme: Theme::dark(), me: ParticipantId::from(""), zone },
            shown: Shown::default(),
            folds: Folds::default(),
            cache: Cache::default(),
            held: None,
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

    /// Takes note of what is different. That an item has changed is known by the item itself; this is for items that are
    /// new, and for a state that has begun anew, where everything may be different.
    pub fn sync(&mut self, state: &State, change: &Change) {
        if change.reset {
            self.moved = true;
            self.shown.forget();
            self.cache.clear();
        }
        self.shown.take_in(state);
    }

    /// Back to the end, and away from any message.
    pub fn follow(&mut self) {
        self.motions.clear();
        self.held = None;
        self.opened = None;
        self.selected = None;
        self.navigating = false;
    }

    /// Hides everything so far.
    pub fn clear_view(&mut self, state: &State) {
        self.shown.hide_all(state);
        self.follow();
    }

    /// Whether a message is selected.
    pub fn navigating(&self) -> bool {
        self.navigating
    }

    /// True if the window showed the end when it was last drawn or arranged, and follows it.
    pub fn following(&self) -> bool {
        self.held.is_none() && self.below == 0
    }

    /// How many lines were below the window when it was last drawn or arranged: counted where they are few, estimated
    /// where they are many.
    pub fn below(&self) -> usize {
        self.below
    }

    /// Draws what there is room for.
    pub fn render(&mut self, area: Rect, buf: &mut Buffer, state: &State, look: &Look<'_>) {
        let area = area.intersection(buf.area);
        self.arrange(area, state, look);
        if area.is_empty() {
            return;
        }
        let mut pages = pages(&self.shown, &mut self.folds, &mut self.cache, &self.reader, area.width, state, look);
        for (row, y) in self.rows.iter().zip(area.y..) {
            let Place { index, line } = row.place;
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

    /// Finds out what a frame of this size would show, without drawing it: [`Transcript::following`] and
    /// [`Transcript::below`] are then what they will be. Drawing does this by itself.
    pub fn arrange(&mut self, area: Rect, state: &State, look: &Look<'_>) {
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
            self.find_again(state);
        }
        let mut pages = pages(&self.shown, &mut self.folds, &mut self.cache, &self.reader, area.width, state, look);
        let rows = usize::from(area.height);
        let newest = pages.shown.len().checked_sub(1).and_then(|index| pages.shown.at(index));
        if std::mem::replace(&mut self.newest, newest) != newest {
            self.opened = newest;
        }
        let mut window = keys::Window {
            top: self.held.as_ref().map(|anchor| resolved(&mut pages, anchor)),
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
        self.held = window.top.and_then(|_| self.top.clone());
    }

    /// Finds the items that are held and selected in a state that began anew.
    fn find_again(&mut self, state: &State) {
        let first = state.items.dropped();
        let find = |found: &mut Found| {
            let place = state.items.iter().position(|item| item.id == found.id);
            place.map(|place| found.number = first + place as u64).is_some()
        };
        if let Some(Anchor { item: Some(found), .. }) = &mut self.held
            && !find(found)
        {
            self.held = None;
        }
        if self.selected.as_mut().is_some_and(|found| !find(found)) {
            self.selected = None;
            self.navigating = false;
        }
    }
}

fn pages<'a>(
    shown: &'a Shown,
    folds: &'a mut Folds,
    cache: &'a mut Cache,
    reader: &'a Reader,
    width: u16,
    state: &'a State,
    look: &Look<'_>,
) -> Pages<'a> {
    let tail = if look.show_streams { pages::tail(state, reader, width) } else { Vec::new() };
    Pages { state, reader, shown, folds, cache, width, verbose: look.verbose, today: reader.day(look.now), tail }
}

fn found(pages: &Pages<'_>, index: usize) -> Option<Found> {
    pages.item(index).map(|(number, item)| Found { number, id: item.id.clone() })
}

fn row(pages: &mut Pages<'_>, place: Place) -> Row {
    let (header, folds) = pages.lines(place.index).map_or((0, false), |lines| (lines.header, lines.folds));
    let item = found(pages, place.index);
    Row { item, place, header: header == place.line, inked: header <= place.line, folds }
}

fn anchor(pages: &mut Pages<'_>, place: Place) -> Anchor {
    let height = pages.height(place.index);
    Anchor { item: found(pages, place.index), line: place.line, height, width: pages.width }
}

/// Where a held line is now.
fn resolved(pages: &mut Pages<'_>, anchor: &Anchor) -> Place {
    let Some(found) = &anchor.item else {
        let index = pages.shown.len();
        let line = anchor.line.min(pages.height(index).saturating_sub(1));
        return Place { index, line };
    };
    let index = pages.shown.index_of(found.number);
    if pages.shown.at(index) != Some(found.number) {
        return Place { index, line: 0 };
    }
    let same_width = anchor.width == pages.width;
    let read = pages.cache.ink_before(found.number, anchor.line).filter(|_| !same_width);
    let height = pages.height(index);
    let line = match read {
        Some(read) => pages.line_after(index, read),
        None if same_width || anchor.height == 0 => anchor.line,
        None => anchor.line * height / anchor.height,
    };
    // An item that was folded meanwhile begins where it was read.
    Place { index, line: if line < height { line } else { 0 } }
}
