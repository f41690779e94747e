//! What was cut out, to be put in again. Cuts that follow one another are one.

/// So many cuts are kept; the oldest goes first.
const MOST_CUTS: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Back,
    Forward,
}

#[derive(Debug, Default)]
pub(super) struct Kills {
    cuts: Vec<String>,
    /// How far back from the newest the last one put in was.
    turned: usize,
}

impl Kills {
    /// Keeps a cut; `goes_on` if nothing was done since the last.
    pub(super) fn push(&mut self, cut: String, direction: Direction, goes_on: bool) {
        self.turned = 0;
        match self.cuts.last_mut().filter(|_| goes_on) {
            Some(last) if direction == Direction::Forward => last.push_str(&cut),
            Some(last) => last.insert_str(0, &cut),
            None => {
                if self.cuts.len() == MOST_CUTS {
                    self.cuts.remove(0);
                }
                self.cuts.push(cut);
            }
        }
    }

    pub(super) fn newest(&mut self) -> Option<String> {
        self.turned = 0;
        self.cuts.last().cloned()
    }

    /// The one before that which was put in last, in a circle.
    pub(super) fn older(&mut self) -> Option<String> {
        self.turned = (self.turned + 1).checked_rem(self.cuts.len())?;
        self.cuts.iter().rev().nth(self.turned).cloned()
    }
}
