//! Pages through the whole of what a question asks, part by part as the space gives it out, also where the dialog shows
//! only the beginning.

use ratatui::text::Line;
use wh_core::input::Gesture;
use wh_core::space::ItemId;
use wh_core::space::extent::Piece;
use wh_screen::visible::visible;

use super::{Act, App, Look};
use crate::theme::Theme;
use crate::wrap;

/// Bytes before the end at which the last part begins, when it is jumped to.
const TAIL_BYTES: u64 = 64 * 1024;

/// The whole of what is asked, one part of it at a time.
#[derive(Debug)]
pub(crate) struct Pager {
    item: ItemId,
    part: Option<Piece>,
    /// Offsets of the parts before this one.
    before: Vec<u64>,
    loading: Option<Loading>,
    problem: Option<String>,
    /// The first row that is shown.
    top: usize,
    /// Rows that fit, as drawn last.
    height: usize,
    rows: Vec<PagedRow>,
    /// The width for which `rows` were broken; 0 if they have to be broken anew.
    width: usize,
}

/// A part that was requested and has not arrived, and the position to take when it does. Until then the old position
/// stays: rows of the old part must not count as shown at the new one.
#[derive(Debug, Default)]
struct Loading {
    offset: u64,
    top: usize,
    before: Vec<u64>,
}

/// A row, and the byte of the whole up to which everything has been shown once it was.
#[derive(Debug)]
struct PagedRow {
    line: Line<'static>,
    end: u64,
}

enum Move {
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
            loading: Some(Loading::default()),
            problem: None,
            top: 0,
            height: 1,
            rows: Vec::new(),
            width: 0,
        }
    }

    /// Length of the whole in bytes, once a part of it has arrived.
    pub(crate) fn whole(&self) -> Option<u64> {
        self.part.as_ref().map(|part| part.extent.whole)
    }

    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub(crate) fn is_loading(&self) -> bool {
        self.loading.is_some()
    }

    /// The rows that fit into this room, and the byte up to which the whole has been shown with them.
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

    /// Moves within this part, or begins to load another and returns its offset.
    fn go(&mut self, to: &Move) -> Option<u64> {
        if self.loading.is_some() {
            return None;
        }
        let part = self.part.as_ref()?;
        let most = self.rows.len().saturating_sub(self.height);
        let with_this = || self.before.iter().copied().chain([part.offset]).collect();
        let loading = match to {
            Move::Down(_) if self.top >= most => {
                part.next.map(|offset| Loading { offset, top: 0, before: with_this() })
            }
            Move::Up(_) if self.top == 0 => self.before.split_last().map(|(offset, before)| Loading {
                offset: *offset,
                top: usize::MAX,
                before: before.to_vec(),
            }),
            Move::Start if part.offset > 0 => Some(Loading::default()),
            Move::End => part.next.map(|next| {
                let offset = next.max(part.extent.whole.saturating_sub(TAIL_BYTES));
                Loading { offset, top: usize::MAX, before: with_this() }
            }),
            Move::Down(_) | Move::Up(_) | Move::Start => None,
        };
        if loading.is_none() {
            self.top = match to {
                Move::Down(lines) => self.top.saturating_add(*lines).min(most),
                Move::Up(lines) => self.top.saturating_sub(*lines),
                Move::Start => 0,
                // A part that has just arrived is not broken into rows yet.
                Move::End => usize::MAX,
            };
        }
        self.loading = loading;
        self.loading.as_ref().map(|loading| loading.offset)
    }
}

impl App {
    /// Opens the whole of a question.
    pub(super) fn open_pager(&mut self, item: ItemId) -> Vec<Act> {
        self.pager = Some(Pager::new(item.clone()));
        vec![Act::Look(Look::Part(item, 0))]
    }

    /// A part has come, or could not be had.
    pub(super) fn part_came(&mut self, item: &ItemId, offset: u64, came: Result<Piece, String>) {
        let Some(pager) = self.pager.as_mut().filter(|pager| pager.item == *item) else { return };
        let Some(loading) = pager.loading.take_if(|loading| loading.offset == offset) else { return };
        match came {
            Ok(part) => {
                (pager.part, pager.problem, pager.width) = (Some(part), None, 0);
                (pager.top, pager.before) = (loading.top, loading.before);
            }
            Err(problem) => pager.problem = Some(problem),
        }
    }

    /// Closes the pager if it is not about the question that is shown.
    pub(super) fn settle_pager(&mut self) {
        if self.pager.as_ref().is_some_and(|pager| !self.dialog.shows(&pager.item)) {
            self.pager = None;
        }
    }

    /// Pages, or closes the pager. Everything that means nothing here is dropped.
    pub(crate) fn page(&mut self, gesture: &Gesture) -> Vec<Act> {
        let Some(pager) = &mut self.pager else { return Vec::new() };
        let page = pager.height.saturating_sub(1).max(1);
        let name = match gesture {
            Gesture::Key(press) => press.to_string(),
            Gesture::Text(text) => text.clone(),
            Gesture::Paste(_) | Gesture::Mouse(_) => String::new(),
        };
        let to = match name.as_str() {
            "down" => Move::Down(1),
            "up" => Move::Up(1),
            "pagedown" | " " => Move::Down(page),
            "pageup" => Move::Up(page),
            "home" => Move::Start,
            "end" => Move::End,
            "q" | "ctrl+o" | "enter" => {
                self.pager = None;
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        self.turn(&to)
    }

    pub(crate) fn wheel_pager(&mut self, lines: isize) -> Vec<Act> {
        let count = lines.unsigned_abs();
        self.turn(&if lines < 0 { Move::Up(count) } else { Move::Down(count) })
    }

    fn turn(&mut self, to: &Move) -> Vec<Act> {
        let Some(pager) = &mut self.pager else { return Vec::new() };
        let item = pager.item.clone();
        pager.go(to).map(|offset| Act::Look(Look::Part(item, offset))).into_iter().collect()
    }
}

/// A part as rows of this width.
fn rows(part: &Piece, width: usize, theme: &Theme) -> Vec<PagedRow> {
    let mut all = Vec::new();
    let mut at = part.offset;
    for line in part.text.split_inclusive('\n') {
        let text = line.strip_suffix('\n').unwrap_or(line);
        let pieces = [wrap::Piece::new(visible(text), theme.text)];
        all.extend(wrap::verbatim(&pieces, width).into_iter().map(|line| PagedRow { line, end: at }));
        at += line.len() as u64;
        if let Some(last) = all.last_mut() {
            last.end = at;
        }
    }
    // A part that began within a character is read as longer than it is.
    if let (Some(last), None) = (all.last_mut(), part.next) {
        last.end = part.extent.whole;
    }
    all
}
