//! Pages through the whole of what a question asks, part by part as the space gives it out, also where the dialog shows
//! only the beginning.

use ratatui::text::Line;
use wh_core::input::{Gesture, MouseAction};
use wh_core::space::ItemId;
use wh_core::space::extent::Piece;
use wh_screen::visible::visible;

use super::{Act, App, Look};
use crate::theme::Theme;
use crate::wrap;

/// Bytes before the end at which the last part begins, when it is jumped to.
const TAIL_BYTES: u64 = 64 * 1024;

/// Lines by which the wheel moves.
const WHEEL: usize = 3;

/// The whole of what is asked, one part of it at a time.
#[derive(Debug)]
pub(crate) struct Pager {
    item: ItemId,
    part: Option<Piece>,
    /// Where the parts before this one begin.
    before: Vec<u64>,
    /// The offset that was asked for and has not come yet.
    loading: Option<u64>,
    problem: Option<String>,
    /// The first row that is shown.
    top: usize,
    /// Rows that fit, as drawn last.
    height: usize,
    rows: Vec<PagedRow>,
    /// The width for which `rows` were broken; 0 if they have to be broken anew.
    width: usize,
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
            loading: Some(0),
            problem: None,
            top: 0,
            height: 1,
            rows: Vec::new(),
            width: 0,
        }
    }

    /// Where this part ends and how long the whole is, in bytes.
    pub(crate) fn progress(&self) -> Option<(u64, u64)> {
        let part = self.part.as_ref()?;
        let shown = self.rows.get(self.last_row()?)?.end;
        Some((shown, part.extent.whole))
    }

    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub(crate) fn is_loading(&self) -> bool {
        self.loading.is_some()
    }

    fn last_row(&self) -> Option<usize> {
        (self.top + self.height).min(self.rows.len()).checked_sub(1)
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

    /// Moves; the offset of the part to load, if another is needed.
    fn go(&mut self, to: &Move) -> Option<u64> {
        if self.loading.is_some() {
            return None;
        }
        let part = self.part.as_ref()?;
        let most = self.rows.len().saturating_sub(self.height);
        let (offset, next, whole) = (part.offset, part.next, part.extent.whole);
        let load = match to {
            Move::Down(lines) if self.top < most => {
                self.top = (self.top + lines).min(most);
                None
            }
            Move::Down(_) => next.inspect(|_| {
                self.before.push(offset);
                self.top = 0;
            }),
            Move::Up(lines) if self.top > 0 => {
                self.top = self.top.saturating_sub(*lines);
                None
            }
            Move::Up(_) => self.before.pop().inspect(|_| self.top = usize::MAX),
            Move::Start => {
                self.before.clear();
                self.top = 0;
                (offset > 0).then_some(0)
            }
            Move::End => {
                self.top = usize::MAX;
                next.map(|next| {
                    self.before.push(offset);
                    next.max(whole.saturating_sub(TAIL_BYTES))
                })
            }
        };
        self.loading = load;
        load
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
        let Some(pager) = self.pager.as_mut().filter(|pager| pager.item == *item && pager.loading == Some(offset))
        else {
            return;
        };
        pager.loading = None;
        match came {
            Ok(part) => (pager.part, pager.problem, pager.width) = (Some(part), None, 0),
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
    pub(super) fn page(&mut self, gesture: &Gesture) -> Vec<Act> {
        let Some(pager) = &mut self.pager else { return Vec::new() };
        let page = pager.height.saturating_sub(1).max(1);
        let name = match gesture {
            Gesture::Key(press) => press.to_string(),
            Gesture::Text(text) => text.clone(),
            Gesture::Mouse(mouse) => match mouse.action {
                MouseAction::WheelUp => "wheel up".to_owned(),
                MouseAction::WheelDown => "wheel down".to_owned(),
                _ => String::new(),
            },
            Gesture::Paste(_) => String::new(),
        };
        let to = match name.as_str() {
            "down" => Move::Down(1),
            "up" => Move::Up(1),
            "pagedown" | " " => Move::Down(page),
            "pageup" => Move::Up(page),
            "wheel down" => Move::Down(WHEEL),
            "wheel up" => Move::Up(WHEEL),
            "home" => Move::Start,
            "end" => Move::End,
            "q" | "ctrl+o" | "enter" => {
                self.pager = None;
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        let item = pager.item.clone();
        pager.go(&to).map(|offset| Act::Look(Look::Part(item, offset))).into_iter().collect()
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
