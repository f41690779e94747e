//! Mirrors a screen on another terminal: each frame becomes the escape sequences for the changes since the last drawn
//! frame. Unchanged rows and skipped frames cost nothing.

use std::fmt::Write as _;
use std::sync::Arc;

use super::ansi;
use crate::frame::{ScreenFrame, ScreenRow, Size};
use crate::modes::{MouseEncoding, MouseTracking, TerminalModes};

/// Escape sequences that switch the mirroring terminal to a blank alternate screen.
pub const ENTER_SCREEN: &str = "\x1b[?1049h\x1b[0m\x1b[H\x1b[2J";

/// Escape sequences that restore the mirroring terminal: they disable every mode that may be on, and leave the
/// alternate screen.
pub const LEAVE_SCREEN: &str = "\x1b[?2026l\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?1l\x1b>\x1b[=0u\x1b[>4;0m\x1b[?25h\x1b[0 q\x1b[?1049l";

/// State that was last drawn on the mirroring terminal.
#[derive(Debug, Default)]
pub struct ScreenMirror {
    size: Option<Size>,
    rows: Vec<Arc<ScreenRow>>,
    modes: TerminalModes,
    title: Option<String>,
    cursor: String,
}

impl ScreenMirror {
    /// Returns escape sequences that make the mirroring terminal show this frame; empty if nothing changed since the
    /// last call.
    pub fn draw(&mut self, frame: &ScreenFrame) -> String {
        let mut rows = String::new();
        let redraws_all = self.size != Some(frame.size);
        if redraws_all {
            rows.push_str("\x1b[0m\x1b[2J");
        }
        for (index, row) in frame.rows.iter().enumerate() {
            let same = |known: &Arc<ScreenRow>| Arc::ptr_eq(known, row) || known == row;
            if !redraws_all && self.rows.get(index).is_some_and(same) {
                continue;
            }
            // The old row is erased first: after a full row, erasing to the end of the line would remove its last
            // character.
            let _ = write!(rows, "\x1b[{};1H\x1b[2K{}", index + 1, row.renderings().ansi);
        }
        let mode_changes = mode_changes(self.modes, frame.modes);
        let title = (self.title != frame.title).then(|| title(frame.title.as_deref().unwrap_or_default()));
        let mut cursor = String::new();
        ansi::cursor(frame.cursor, &mut cursor);
        if rows.is_empty() && mode_changes.is_empty() && title.is_none() && cursor == self.cursor {
            return String::new();
        }
        let out = format!("\x1b[?2026h\x1b[?25l{mode_changes}{rows}{}{cursor}\x1b[?2026l", title.unwrap_or_default());
        self.size = Some(frame.size);
        self.rows.clone_from(&frame.rows);
        self.modes = frame.modes;
        self.title.clone_from(&frame.title);
        self.cursor = cursor;
        out
    }

    /// Makes the next [`draw`](Self::draw) redraw the whole frame. Required if the mirroring terminal may show
    /// something else.
    pub fn invalidate(&mut self) {
        self.size = None;
    }
}

fn title(text: &str) -> String {
    let clean: String = text.chars().filter(|letter| !letter.is_control()).collect();
    format!("\x1b]2;{clean}\x1b\\")
}

/// Returns sequences that set the mirroring terminal's modes for keys, mouse and pastes to the program's modes. The
/// program receives the input of this terminal.
fn mode_changes(from: TerminalModes, to: TerminalModes) -> String {
    let mut out = String::new();
    let mut flag = |before: bool, after: bool, on: &str, off: &str| {
        if before != after {
            out.push_str(if after { on } else { off });
        }
    };
    flag(from.application_cursor, to.application_cursor, "\x1b[?1h", "\x1b[?1l");
    flag(from.application_keypad, to.application_keypad, "\x1b=", "\x1b>");
    flag(from.bracketed_paste, to.bracketed_paste, "\x1b[?2004h", "\x1b[?2004l");
    flag(from.focus_events, to.focus_events, "\x1b[?1004h", "\x1b[?1004l");
    if from.mouse != to.mouse {
        out.push_str(match from.mouse {
            MouseTracking::Off => "",
            MouseTracking::Click => "\x1b[?1000l",
            MouseTracking::Drag => "\x1b[?1002l",
            MouseTracking::Motion => "\x1b[?1003l",
        });
        out.push_str(match to.mouse {
            MouseTracking::Off => "",
            MouseTracking::Click => "\x1b[?1000h",
            MouseTracking::Drag => "\x1b[?1002h",
            MouseTracking::Motion => "\x1b[?1003h",
        });
    }
    if from.mouse_encoding != to.mouse_encoding {
        out.push_str(match from.mouse_encoding {
            MouseEncoding::Legacy => "",
            MouseEncoding::Utf8 => "\x1b[?1005l",
            MouseEncoding::Sgr => "\x1b[?1006l",
        });
        out.push_str(match to.mouse_encoding {
            MouseEncoding::Legacy => "",
            MouseEncoding::Utf8 => "\x1b[?1005h",
            MouseEncoding::Sgr => "\x1b[?1006h",
        });
    }
    if from.kitty_keyboard != to.kitty_keyboard {
        let _ = write!(out, "\x1b[={};1u", to.kitty_keyboard);
    }
    if from.modify_other_keys != to.modify_other_keys {
        let _ = write!(out, "\x1b[>4;{}m", to.modify_other_keys);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vt::Vt;

    const SIZE: Size = Size { columns: 40, rows: 8 };

    fn vt(size: Size) -> Vt {
        Vt::new(size, 100)
    }

    /// Feeds `pieces` in order and draws each frame on another terminal, which must show the same.
    fn follows(pieces: &[&str]) {
        let (mut original, mut copy, mut redraw) = (vt(SIZE), vt(SIZE), ScreenMirror::default());
        copy.feed(ENTER_SCREEN.as_bytes());
        for piece in pieces {
            original.feed(piece.as_bytes());
            let frame = original.frame();
            copy.feed(redraw.draw(&frame).as_bytes());
            let copied = copy.frame();
            assert_eq!(super::super::lines(&copied), super::super::lines(&frame), "after {piece:?}");
            assert_eq!(super::super::fingerprint(&copied), super::super::fingerprint(&frame), "after {piece:?}");
            assert_eq!(copied.cursor, frame.cursor, "after {piece:?}");
            let expected = TerminalModes { alternate_screen: false, alternate_scroll: false, ..frame.modes };
            let copied_modes = TerminalModes { alternate_screen: false, alternate_scroll: false, ..copied.modes };
            assert_eq!(copied_modes, expected, "after {piece:?}");
        }
        assert_eq!(redraw.draw(&original.frame()), "", "nothing has changed");
    }

    #[test]
    fn another_terminal_shows_the_same_after_each_frame() {
        follows(&[
            "hello\r\nworld",
            "\x1b[31;44mred on blue\x1b[0m rest",
            "\x1b[2J\x1b[H0123456789012345678901234567890123456789full\r\n",
            "\x1b[?1049h\x1b[?1002h\x1b[?1006h\x1b[?2004h\x1b[?1h\x1b=\x1b[5;7Hin the middle",
            "\x1b[=5;1u\x1b[?25l",
            "\x1b[?1049l\x1b[?1002l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[?25h",
            "漢字 and \u{301}e\u{301}\r\n\r\n\r\n\r\n\r\n\r\nscrolled\r\n\r\n",
        ]);
    }

    #[test]
    fn only_the_rows_that_changed_are_drawn() {
        let (mut original, mut redraw) = (vt(SIZE), ScreenMirror::default());
        original.feed(b"one\r\ntwo\r\nthree");
        redraw.draw(&original.frame());
        original.feed(b"\x1b[2;1HTWO");
        let drawn = redraw.draw(&original.frame());
        assert!(drawn.contains("TWO") && !drawn.contains("one") && !drawn.contains("three"), "{drawn:?}");
    }

    #[test]
    fn a_terminal_is_restored() {
        let mut terminal = vt(SIZE);
        terminal.feed(b"before");
        terminal.feed(ENTER_SCREEN.as_bytes());
        terminal.feed(b"\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1h\x1b=\x1b[=9;1u\x1b[>4;2m\x1b[?25ldrawn");
        terminal.feed(LEAVE_SCREEN.as_bytes());
        let frame = terminal.frame();
        assert!(super::super::plain(&frame).starts_with("before"));
        let modes = TerminalModes { alternate_scroll: false, ..frame.modes };
        assert_eq!((modes, frame.cursor.visible), (TerminalModes::default(), true));
    }
}
