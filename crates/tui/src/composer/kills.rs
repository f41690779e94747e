//! Kill ring: text that was cut and can be yanked. Consecutive cuts are joined to one entry.

/// Maximum number of stored cuts; the oldest is removed first.
const MAX_CUTS: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Back,
    Forward,
}

#[derive(Debug, Default)]
pub(super) struct KillRing {
    cuts: Vec<String>,
    /// Distance of the last yanked entry from the newest.
    yank_offset: usize,
}

impl KillRing {
    /// Stores a cut. `continues` is true if the previous edit was a cut, too.
    pub(super) fn push(&mut self, cut: String, direction: Direction, continues: bool) {
        self.yank_offset = 0;
        match self.cuts.last_mut().filter(|_| continues) {
            Some(last) if direction == Direction::Forward => last.push_str(&cut),
            Some(last) => last.insert_str(0, &cut),
            None => {
                if self.cuts.len() == MAX_CUTS {
                    self.cuts.remove(0);
                }
                self.cuts.push(cut);
            }
        }
    }

    pub(super) fn newest(&mut self) -> Option<String> {
        self.yank_offset = 0;
        self.cuts.last().cloned()
    }

    /// The entry before the one that was yanked last, wrapping around.
    pub(super) fn older(&mut self) -> Option<String> {
        self.yank_offset = (self.yank_offset + 1).checked_rem(self.cuts.len())?;
        self.cuts.iter().rev().nth(self.yank_offset).cloned()
    }
}
