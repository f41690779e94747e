//! Kill ring: stores cut text for yanking. Consecutive cuts form one entry.

/// Maximum number of stored cuts. A further cut removes the oldest.
const MAX_CUTS: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutDirection {
    Back,
    Forward,
}

#[derive(Debug, Default)]
pub(super) struct KillRing {
    cuts: Vec<String>,
    /// Number of entries that are newer than the entry yanked last.
    yank_offset: usize,
}

impl KillRing {
    /// Stores a cut. If `continues` is true, the cut is joined to the newest entry, because the previous edit was also
    /// a cut.
    pub(super) fn push(&mut self, cut: String, direction: CutDirection, continues: bool) {
        self.yank_offset = 0;
        match self.cuts.last_mut().filter(|_| continues) {
            Some(last) if direction == CutDirection::Forward => last.push_str(&cut),
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

    /// Returns the entry that is one older than the entry yanked last. After the oldest entry, continues with the
    /// newest.
    pub(super) fn older(&mut self) -> Option<String> {
        self.yank_offset = (self.yank_offset + 1).checked_rem(self.cuts.len())?;
        self.cuts.iter().rev().nth(self.yank_offset).cloned()
    }
}
