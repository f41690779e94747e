//! Handles scrolling, selection and expansion in the conversation.

use wh_core::input::{Gesture, KeyCode, KeyPress, Modifiers, Mouse, MouseAction, MouseButton};

use super::pages::{LinePosition, VirtualList};
use super::{ItemRef, Transcript, entry, found};

/// Number of lines that one step of the mouse wheel scrolls.
const WHEEL_STEP_LINES: isize = 3;

/// Maximum number of motions queued for the next frame.
const MAX_QUEUED_MOTIONS: usize = 1_000;

/// Change of the scroll position, the selection or the expanded items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TranscriptAction {
    /// Scroll by this number of lines; a negative number scrolls up.
    Lines(isize),
    /// Scroll by this number of pages; a negative number scrolls up.
    Pages(isize),
    /// Scroll to the beginning of the conversation.
    Home,
    /// Scroll to the end of the conversation.
    End,
    /// Select the previous message; the newest visible message if none is selected.
    Previous,
    /// Select the next message; the newest visible message if none is selected.
    Next,
    /// Select the first message.
    First,
    /// Select the last message.
    Last,
    /// Expand or collapse the selected item.
    Toggle,
}

impl Transcript {
    /// Handles a gesture. Returns false if the gesture is not for the conversation. Mouse positions refer to the last
    /// frame. The next frame shows the effect.
    pub fn handle(&mut self, gesture: &Gesture) -> bool {
        match gesture {
            Gesture::Key(press) => self.press(*press),
            Gesture::Mouse(mouse) => self.mouse(*mouse),
            Gesture::Text(text) if self.navigating && text == " " => self.go(TranscriptAction::Toggle),
            // Typing text ends the navigation.
            Gesture::Text(_) | Gesture::Paste(_) => self.leave(),
        }
    }

    fn press(&mut self, press: KeyPress) -> bool {
        let Modifiers { ctrl, alt, shift } = press.modifiers;
        let plain = press.modifiers.is_empty();
        match press.key {
            KeyCode::PageUp if !ctrl && !alt => self.go(TranscriptAction::Pages(-1)),
            KeyCode::PageDown if !ctrl && !alt => self.go(TranscriptAction::Pages(1)),
            KeyCode::Home if plain && self.navigating => self.go(TranscriptAction::First),
            KeyCode::End if plain && self.navigating => self.go(TranscriptAction::Last),
            KeyCode::Home if ctrl || alt => self.go(TranscriptAction::Home),
            KeyCode::End if ctrl || alt || plain && self.anchored.is_some() => self.go(TranscriptAction::End),
            KeyCode::Up if alt && !ctrl && !shift || plain && self.navigating => self.step(TranscriptAction::Previous),
            KeyCode::Down if alt && !ctrl && !shift || plain && self.navigating => self.step(TranscriptAction::Next),
            KeyCode::Char('o') if ctrl && !alt && !shift => {
                if self.navigating {
                    return self.go(TranscriptAction::Toggle);
                }
                self.folds.toggle_all();
                true
            }
            KeyCode::Enter | KeyCode::Char(' ') if plain && self.navigating => self.go(TranscriptAction::Toggle),
            KeyCode::Escape if plain && self.navigating => {
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
            MouseAction::WheelUp => self.go(TranscriptAction::Lines(-WHEEL_STEP_LINES)),
            MouseAction::WheelDown => self.go(TranscriptAction::Lines(WHEEL_STEP_LINES)),
            MouseAction::Press if mouse.button == MouseButton::Left => self.click(mouse.y - self.area.y),
            _ => false,
        }
    }

    fn click(&mut self, y: u16) -> bool {
        let row = self.rows.get(usize::from(y)).filter(|row| row.header && row.folds);
        let Some(ItemRef { id, .. }) = row.and_then(|row| row.item.clone()) else { return false };
        self.folds.toggle(&id);
        // The clicked header stays under the pointer.
        self.anchored = self.top.clone();
        true
    }

    /// Ends the selection of messages. Returns false, because the composer must handle the gesture.
    fn leave(&mut self) -> bool {
        if self.navigating {
            self.navigating = false;
            self.selected = None;
            self.motions.retain(|motion| matches!(motion, TranscriptAction::Lines(_) | TranscriptAction::Pages(_)));
        }
        false
    }

    fn step(&mut self, motion: TranscriptAction) -> bool {
        self.navigating = true;
        self.go(motion)
    }

    fn go(&mut self, motion: TranscriptAction) -> bool {
        if let (Some(TranscriptAction::Lines(waiting)), TranscriptAction::Lines(more)) =
            (self.motions.last_mut(), motion)
        {
            *waiting = waiting.saturating_add(more);
        } else if self.motions.len() < MAX_QUEUED_MOTIONS {
            self.motions.push(motion);
        }
        true
    }
}

/// Part of the conversation that is visible, changed by each [`TranscriptAction`].
pub(super) struct TranscriptViewport {
    /// First visible line; `None` if the window stays at the end.
    pub top: Option<LinePosition>,
    /// Number of the last item until the next motion. If this item is a notice with several lines, the window shows it
    /// from its beginning.
    pub opened: Option<u64>,
    pub selected: Option<ItemRef>,
    pub navigating: bool,
    pub rows: usize,
}

impl TranscriptViewport {
    /// Returns the position of the first visible line.
    pub(super) fn start(&self, pages: &mut VirtualList<'_>) -> LinePosition {
        self.top.unwrap_or_else(|| {
            let end = pages.last_page(self.rows);
            self.opened.and_then(|number| pages.notice_at_end(number)).map_or(end, |notice| notice.min(end))
        })
    }

    /// Limits the scroll position to the end of the conversation. At the end, the window follows new items unless a
    /// message is selected.
    pub(super) fn settle(&mut self, pages: &mut VirtualList<'_>) {
        match self.top {
            Some(top) if pages.shows_end(top, self.rows) => {
                self.top = self.navigating.then(|| pages.last_page(self.rows));
            }
            None if self.navigating => self.top = Some(self.start(pages)),
            _ => {}
        }
    }

    pub(super) fn go(&mut self, pages: &mut VirtualList<'_>, motion: TranscriptAction) {
        let start = self.start(pages);
        self.opened = None;
        match motion {
            TranscriptAction::Lines(lines) => self.scroll(pages, start, lines),
            TranscriptAction::Pages(count) => {
                let page = isize::try_from(self.rows.saturating_sub(2).max(1)).unwrap_or(isize::MAX);
                self.scroll(pages, start, page.saturating_mul(count));
            }
            TranscriptAction::Home => self.top = Some(LinePosition { index: 0, line: 0 }),
            TranscriptAction::End => {
                self.top = None;
                self.selected = None;
                self.navigating = false;
            }
            TranscriptAction::Previous => self.select(pages, |index| index.checked_sub(1)),
            TranscriptAction::Next => self.select(pages, |index| index.checked_add(1)),
            TranscriptAction::First => self.select_from(pages, Some(0), |index| index.checked_add(1)),
            TranscriptAction::Last => {
                let last = pages.shown.len().checked_sub(1);
                self.select_from(pages, last, |index| index.checked_sub(1));
            }
            TranscriptAction::Toggle => {
                if let Some(ItemRef { number, id }) = &self.selected {
                    let index = pages.shown.index_of(*number);
                    pages.folds.toggle(id);
                    self.reveal(pages, index);
                }
            }
        }
    }

    fn scroll(&mut self, pages: &mut VirtualList<'_>, from: LinePosition, lines: isize) {
        let by = lines.unsigned_abs();
        self.top = Some(if lines < 0 { pages.up(from, by) } else { pages.down(from, by) });
    }

    /// Selects the message that `step` reaches from the selected message. If no message is selected, selects the newest
    /// visible message.
    fn select(&mut self, pages: &mut VirtualList<'_>, step: impl Fn(usize) -> Option<usize>) {
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

    /// Selects the message at the index `from`, or else the next message in the direction of `step`.
    fn select_from(&mut self, pages: &mut VirtualList<'_>, from: Option<usize>, step: impl Fn(usize) -> Option<usize>) {
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
        // There is no message in that direction.
        self.navigating = self.selected.is_some();
    }

    /// Scrolls as little as possible to show an item, or the beginning of an item that is higher than the window.
    fn reveal(&mut self, pages: &mut VirtualList<'_>, index: usize) {
        let top = self.top.unwrap_or_else(|| pages.last_page(self.rows));
        let start = LinePosition { index, line: 0 };
        let lowest = pages.up(LinePosition { index: index + 1, line: 0 }, self.rows);
        self.top = Some(if start < top { start } else { top.max(lowest).min(start) });
    }
}
