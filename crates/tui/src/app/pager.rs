//! Pager for the full text of a question, because the dialog may show the text only in part. The pager loads one part
//! of the text at a time from the space.

use ratatui::text::Line;
use wh_core::input::Gesture;
use wh_core::space::ItemId;
use wh_core::space::extent::TextPiece;
use wh_screen::visible::visible;

use super::{App, AppEffect, BackgroundQuery};
use crate::theme::Theme;
use crate::wrap;

/// Size of the part that is loaded when the user jumps to the end.
const TAIL_BYTES: u64 = 64 * 1024;

/// State of the pager: the loaded part of the text and the scroll position.
#[derive(Debug)]
pub(crate) struct Pager {
    item: ItemId,
    part: Option<TextPiece>,
    /// Offsets of the parts that precede the loaded part.
    before: Vec<u64>,
    loading: Option<PendingPart>,
    problem: Option<String>,
    /// Index of the first visible row.
    top: usize,
    /// Number of rows of the pager when last drawn.
    height: usize,
    rows: Vec<PagedRow>,
    /// Width for which `rows` were wrapped; 0 if the rows must be wrapped again.
    width: usize,
}

/// Part that was requested but has not arrived, and the scroll position to set when the part arrives. The position is
/// not set earlier, because rows of the old part must not count as shown at the new position.
#[derive(Debug, Default)]
struct PendingPart {
    offset: u64,
    top: usize,
    before: Vec<u64>,
}

/// Row of the loaded part, with the offset in the full text at which the row ends.
#[derive(Debug)]
struct PagedRow {
    line: Line<'static>,
    end: u64,
}

enum PagerMove {
    Up(usize),
    Down(usize),
    Start,
    End,
}

impl Pager {
    fn new(item: ItemId) -> Self {
        Self {
            item,
            part: None,
            before: Vec::new(),
            loading: Some(PendingPart::default()),
            problem: None,
            top: 0,
            height: 1,
            rows: Vec::new(),
            width: 0,
        }
    }

    /// Returns the length of the full text in bytes, once a part of the text has arrived.
    pub(crate) fn full_length(&self) -> Option<u64> {
        self.part.as_ref().map(|part| part.extent.whole)
    }

    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub(crate) fn is_loading(&self) -> bool {
        self.loading.is_some()
    }

    /// Returns the visible rows, and the offset in the full text at which the last visible row ends.
    pub(crate) fn visible_rows(&mut self, width: usize, height: usize, theme: &Theme) -> (Vec<&Line<'static>>, u64) {
        self.height = height.max(1);
        if let Some(part) = self.part.as_ref().filter(|_| self.width != width) {
            self.rows = rows(part, width, theme);
            self.width = width;
        }
        self.top = self.top.min(self.rows.len().saturating_sub(self.height));
        let shown = &self.rows[self.top..(self.top + height).min(self.rows.len())];
        let end = shown.last().map_or(0, |row| row.end);
        (shown.iter().map(|row| &row.line).collect(), end)
    }

    /// Moves within the loaded part. If the target is outside that part, requests another part and returns its offset.
    fn go(&mut self, to: &PagerMove) -> Option<u64> {
        if self.loading.is_some() {
            return None;
        }
        let part = self.part.as_ref()?;
        let most = self.rows.len().saturating_sub(self.height);
        let with_this = || self.before.iter().copied().chain([part.offset]).collect();
        let loading = match to {
            PagerMove::Down(_) if self.top >= most => {
                part.next.map(|offset| PendingPart { offset, top: 0, before: with_this() })
            }
            PagerMove::Up(_) if self.top == 0 => self.before.split_last().map(|(offset, before)| PendingPart {
                offset: *offset,
                top: usize::MAX,
                before: before.to_vec(),
            }),
            PagerMove::Start if part.offset > 0 => Some(PendingPart::default()),
            PagerMove::End => part.next.map(|next| {
                let offset = next.max(part.extent.whole.saturating_sub(TAIL_BYTES));
                PendingPart { offset, top: usize::MAX, before: with_this() }
            }),
            PagerMove::Down(_) | PagerMove::Up(_) | PagerMove::Start => None,
        };
        if loading.is_none() {
            self.top = match to {
                PagerMove::Down(lines) => self.top.saturating_add(*lines).min(most),
                PagerMove::Up(lines) => self.top.saturating_sub(*lines),
                PagerMove::Start => 0,
                // If the part has just arrived, it is not wrapped into rows yet, and the index of the last row is
                // unknown.
                PagerMove::End => usize::MAX,
            };
        }
        self.loading = loading;
        self.loading.as_ref().map(|loading| loading.offset)
    }
}

impl App {
    /// Opens the pager with the full text of a question.
    pub(super) fn open_pager(&mut self, item: ItemId) -> Vec<AppEffect> {
        self.pager = Some(Pager::new(item.clone()));
        vec![AppEffect::Query(BackgroundQuery::ItemPart(item, 0))]
    }

    /// Handles the result of loading a part.
    pub(super) fn part_loaded(&mut self, item: &ItemId, offset: u64, result: Result<TextPiece, String>) {
        let Some(pager) = self.pager.as_mut().filter(|pager| pager.item == *item) else { return };
        let Some(loading) = pager.loading.take_if(|loading| loading.offset == offset) else { return };
        match result {
            Ok(part) => {
                (pager.part, pager.problem, pager.width) = (Some(part), None, 0);
                (pager.top, pager.before) = (loading.top, loading.before);
            }
            Err(problem) => pager.problem = Some(problem),
        }
    }

    /// Closes the pager if the dialog no longer shows the question.
    pub(super) fn close_stale_pager(&mut self) {
        if self.pager.as_ref().is_some_and(|pager| !self.dialog.shows(&pager.item)) {
            self.pager = None;
        }
    }

    /// Handles a gesture while the pager is open. Some keys scroll or close the pager; all other gestures are dropped.
    pub(crate) fn pager_gesture(&mut self, gesture: &Gesture) -> Vec<AppEffect> {
        let Some(pager) = &mut self.pager else { return Vec::new() };
        let page = pager.height.saturating_sub(1).max(1);
        let name = match gesture {
            Gesture::Key(press) => press.to_string(),
            Gesture::Text(text) => text.clone(),
            Gesture::Paste(_) | Gesture::Mouse(_) => String::new(),
        };
        let to = match name.as_str() {
            "down" => PagerMove::Down(1),
            "up" => PagerMove::Up(1),
            "pagedown" | " " => PagerMove::Down(page),
            "pageup" => PagerMove::Up(page),
            "home" => PagerMove::Start,
            "end" => PagerMove::End,
            "q" | "ctrl+o" | "enter" => {
                self.pager = None;
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        self.move_pager(&to)
    }

    pub(crate) fn wheel_pager(&mut self, lines: isize) -> Vec<AppEffect> {
        let count = lines.unsigned_abs();
        self.move_pager(&if lines < 0 { PagerMove::Up(count) } else { PagerMove::Down(count) })
    }

    fn move_pager(&mut self, to: &PagerMove) -> Vec<AppEffect> {
        let Some(pager) = &mut self.pager else { return Vec::new() };
        let item = pager.item.clone();
        pager.go(to).map(|offset| AppEffect::Query(BackgroundQuery::ItemPart(item, offset))).into_iter().collect()
    }
}

/// Wraps a part of the text to rows of this width.
fn rows(part: &TextPiece, width: usize, theme: &Theme) -> Vec<PagedRow> {
    let mut all = Vec::new();
    let mut at = part.offset;
    for line in part.text.split_inclusive('\n') {
        let text = line.strip_suffix('\n').unwrap_or(line);
        let pieces = [wrap::StyledText::new(visible(text), theme.text)];
        all.extend(wrap::verbatim(&pieces, width).into_iter().map(|line| PagedRow { line, end: at }));
        at += line.len() as u64;
        if let Some(last) = all.last_mut() {
            last.end = at;
        }
    }
    // A part that begins within a character is longer when decoded than in the full text.
    if let (Some(last), None) = (all.last_mut(), part.next) {
        last.end = part.extent.whole;
    }
    all
}
