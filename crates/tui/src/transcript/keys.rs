//! What a person does to move through the conversation, and where that leads.

use wh_core::input::{Gesture, Key, KeyPress, Modifiers, Mouse, MouseAction, MouseButton};

use super::pages::{Pages, Place};
use super::{Found, Transcript, entry, found};

/// Lines that one notch of the wheel goes.
const NOTCH: isize = 3;

/// Motions that wait for a frame. Nobody has asked for more than these between two frames who looks at them.
const MOST_MOTIONS: usize = 1_000;

/// Somewhere to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    /// So many lines down, or up.
    Lines(isize),
    /// So many windows down, or up.
    Pages(isize),
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Select the message before, or the newest in view.
    Previous,
    /// Select the message after.
    Next,
    /// Select the first message.
    First,
    /// Select the last message.
    Last,
    /// Fold or unfold what is selected.
    Toggle,
}

impl Transcript {
    /// Takes a key or the mouse if it is for the transcript. A place of the mouse is one of the buffer that was last drawn
    /// into. What comes of it is seen in the next frame.
    pub fn handle(&mut self, gesture: &Gesture) -> bool {
        match gesture {
            Gesture::Key(press) => self.press(*press),
            Gesture::Mouse(mouse) => self.mouse(*mouse),
            Gesture::Text(text) if self.navigating && text == " " => self.go(Motion::Toggle),
            // Whoever writes no longer reads.
            Gesture::Text(_) | Gesture::Paste(_) => self.leave(),
        }
    }

    fn press(&mut self, press: KeyPress) -> bool {
        let Modifiers { ctrl, alt, shift } = press.modifiers;
        let plain = press.modifiers.is_empty();
        match press.key {
            Key::PageUp if !ctrl && !alt => self.go(Motion::Pages(-1)),
            Key::PageDown if !ctrl && !alt => self.go(Motion::Pages(1)),
            Key::Home if plain && self.navigating => self.go(Motion::First),
            Key::End if plain && self.navigating => self.go(Motion::Last),
            Key::Home if ctrl || alt => self.go(Motion::Home),
            Key::End if ctrl || alt || plain && self.held.is_some() => self.go(Motion::End),
            Key::Up if alt && !ctrl && !shift || plain && self.navigating => self.step(Motion::Previous),
            Key::Down if alt && !ctrl && !shift || plain && self.navigating => self.step(Motion::Next),
            Key::Char('o') if ctrl && !alt && !shift => {
                if self.navigating {
                    return self.go(Motion::Toggle);
                }
                self.folds.toggle_all();
                true
            }
            Key::Enter | Key::Char(' ') if plain && self.navigating => self.go(Motion::Toggle),
            Key::Escape if plain && self.navigating => {
                self.leave();
                true
            }
            _ if press.text().is_some() => self.leave(),
            _ => false,
        }
    }

    fn mouse(&mut self, mouse: Mouse) -> bool {
        if !self.area.contains((mouse.x, mouse.y).into()) {
            return false;
        }
        match mouse.action {
            MouseAction::WheelUp => self.go(Motion::Lines(-NOTCH)),
            MouseAction::WheelDown => self.go(Motion::Lines(NOTCH)),
            MouseAction::Press if mouse.button == MouseButton::Left => self.click(mouse.y - self.area.y),
            _ => false,
        }
    }

    fn click(&mut self, y: u16) -> bool {
        let row = self.rows.get(usize::from(y)).filter(|row| row.header && row.folds);
        let Some(Found { id, .. }) = row.and_then(|row| row.item.clone()) else { return false };
        self.folds.toggle(&id);
        // What was clicked stays under the pointer.
        self.held = self.top.clone();
        true
    }

    /// Stops to navigate. What was pressed is for somebody else.
    fn leave(&mut self) -> bool {
        if self.navigating {
            self.navigating = false;
            self.selected = None;
            self.motions.retain(|motion| matches!(motion, Motion::Lines(_) | Motion::Pages(_)));
        }
        false
    }

    fn step(&mut self, motion: Motion) -> bool {
        self.navigating = true;
        self.go(motion)
    }

    fn go(&mut self, motion: Motion) -> bool {
        if let (Some(Motion::Lines(waiting)), Motion::Lines(more)) = (self.motions.last_mut(), motion) {
            *waiting = waiting.saturating_add(more);
        } else if self.motions.len() < MOST_MOTIONS {
            self.motions.push(motion);
        }
        true
    }
}

/// The window over the scroll while it moves.
pub(super) struct Window {
    /// Its first line; `None` follows the end.
    pub top: Option<Place>,
    /// Number of the notice at the end that is shown from its beginning.
    pub opened: Option<u64>,
    pub selected: Option<Found>,
    pub navigating: bool,
    pub rows: usize,
}

impl Window {
    /// The first line that is shown.
    pub(super) fn start(&self, pages: &mut Pages<'_>) -> Place {
        self.top.unwrap_or_else(|| {
            let end = pages.last_page(self.rows);
            self.opened.and_then(|number| pages.notice_at_end(number)).map_or(end, |notice| notice.min(end))
        })
    }

    /// A window that shows the end shows nothing beyond it, and follows it unless somebody reads.
    pub(super) fn settle(&mut self, pages: &mut Pages<'_>) {
        match self.top {
            Some(top) if pages.shows_end(top, self.rows) => {
                self.top = self.navigating.then(|| pages.last_page(self.rows));
            }
            None if self.navigating => self.top = Some(self.start(pages)),
            _ => {}
        }
    }

    pub(super) fn go(&mut self, pages: &mut Pages<'_>, motion: Motion) {
        let start = self.start(pages);
        self.opened = None;
        match motion {
            Motion::Lines(lines) => self.scroll(pages, start, lines),
            Motion::Pages(count) => {
                let page = isize::try_from(self.rows.saturating_sub(2).max(1)).unwrap_or(isize::MAX);
                self.scroll(pages, start, page.saturating_mul(count));
            }
            Motion::Home => self.top = Some(Place { index: 0, line: 0 }),
            Motion::End => {
                self.top = None;
                self.selected = None;
                self.navigating = false;
            }
            Motion::Previous => self.select(pages, |index| index.checked_sub(1)),
            Motion::Next => self.select(pages, |index| index.checked_add(1)),
            Motion::First => self.select_from(pages, Some(0), |index| index.checked_add(1)),
            Motion::Last => {
                let last = pages.shown.len().checked_sub(1);
                self.select_from(pages, last, |index| index.checked_sub(1));
            }
            Motion::Toggle => {
                if let Some(Found { number, id }) = &self.selected {
                    let index = pages.shown.index_of(*number);
                    pages.folds.toggle(id);
                    self.reveal(pages, index);
                }
            }
        }
    }

    fn scroll(&mut self, pages: &mut Pages<'_>, from: Place, lines: isize) {
        let by = lines.unsigned_abs();
        self.top = Some(if lines < 0 { pages.up(from, by) } else { pages.down(from, by) });
    }

    /// Selects the next message in a direction; the newest in view if none is selected.
    fn select(&mut self, pages: &mut Pages<'_>, step: impl Fn(usize) -> Option<usize>) {
        match &self.selected {
            Some(selected) => {
                let index = step(pages.shown.index_of(selected.number));
                self.select_from(pages, index, step);
            }
            None => {
                let top = self.top.unwrap_or_else(|| pages.last_page(self.rows));
                let last = pages.window(top, self.rows).last().map(|place| place.index);
                let last = last.map(|last| last.min(pages.shown.len().saturating_sub(1)));
                self.select_from(pages, last, |index| index.checked_sub(1));
            }
        }
    }

    /// Selects the first message from an index on.
    fn select_from(&mut self, pages: &mut Pages<'_>, from: Option<usize>, step: impl Fn(usize) -> Option<usize>) {
        let mut next = from;
        while let Some(index) = next
            && let Some((_, item)) = pages.item(index)
        {
            if entry::is_message(item) {
                self.selected = found(pages, index);
                self.reveal(pages, index);
                return;
            }
            next = step(index);
        }
        // There is nothing that way.
        self.navigating = self.selected.is_some();
    }

    /// Moves as little as is needed to show an item, its beginning at least.
    fn reveal(&mut self, pages: &mut Pages<'_>, index: usize) {
        let top = self.top.unwrap_or_else(|| pages.last_page(self.rows));
        let start = Place { index, line: 0 };
        let lowest = pages.up(Place { index: index + 1, line: 0 }, self.rows);
        self.top = Some(if start < top { start } else { top.max(lowest).min(start) });
    }
}
