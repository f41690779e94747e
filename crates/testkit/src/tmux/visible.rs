//! Visible content of a terminal, and its comparison with the content that tmux shows.

use std::fmt::Write as _;

use super::Tmux;

/// Visible text and cursor of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleScreen {
    /// Rows from top to bottom, padded with blanks to the width.
    pub rows: Vec<String>,
    /// Column and row of the cursor, from zero.
    pub cursor: (u16, u16),
    pub cursor_visible: bool,
}

impl VisibleScreen {
    /// Lists all differences from tmux's screen, one per line. Empty if there are none.
    pub fn differences(&self, tmux: &Self) -> String {
        let mut report = String::new();
        if self.rows.len() != tmux.rows.len() {
            let _ = writeln!(report, "number of rows: ours {}, tmux {}", self.rows.len(), tmux.rows.len());
        }
        for (number, (ours, tmux)) in self.rows.iter().zip(&tmux.rows).enumerate() {
            if ours != tmux {
                let same = ours.chars().zip(tmux.chars()).take_while(|(ours, tmux)| ours == tmux).count();
                let _ = writeln!(report, "row {number}, from character {same}:\n  ours {ours:?}\n  tmux {tmux:?}");
            }
        }
        if (self.cursor, self.cursor_visible) != (tmux.cursor, tmux.cursor_visible) {
            let cursor =
                |sight: &Self| format!("{:?} {}", sight.cursor, if sight.cursor_visible { "shown" } else { "hidden" });
            let _ = writeln!(report, "cursor: ours {}, tmux {}", cursor(self), cursor(tmux));
        }
        report
    }
}

impl Tmux {
    /// Returns the visible content of the pane.
    #[track_caller]
    pub fn visible(&self) -> VisibleScreen {
        let (cursor, cursor_visible) = self.cursor_and_visibility();
        VisibleScreen { rows: self.capture(), cursor, cursor_visible }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(rows: &[&str], cursor: (u16, u16), cursor_visible: bool) -> VisibleScreen {
        VisibleScreen { rows: rows.iter().map(|&row| row.to_owned()).collect(), cursor, cursor_visible }
    }

    #[test]
    fn every_difference_is_told_with_both_sides() {
        let ours = sight(&["same", "then this"], (1, 2), true);
        assert_eq!(ours.differences(&ours), "");
        assert_eq!(
            ours.differences(&sight(&["same", "then that"], (1, 2), false)),
            "row 1, from character 7:\n  ours \"then this\"\n  tmux \"then that\"\n\
             cursor: ours (1, 2) shown, tmux (1, 2) hidden\n"
        );
        assert_eq!(ours.differences(&sight(&["same"], (1, 2), true)), "number of rows: ours 2, tmux 1\n");
    }
}
