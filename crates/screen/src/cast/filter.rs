//! Filters the output of a recording for playback on a user's terminal. Text, control characters such as the bell,
//! colours, character sets, cursor movement and shape, erasing, scrolling and the alternate screen pass. Everything
//! else is dropped: strings (OSC, DCS, APC, PM, SOS), queries, window operations, and modes that change the terminal's
//! input. Pure.
//!
//! Sequences are parsed and written again, never copied, so no byte of an unknown sequence reaches the terminal.

/// Maximum length of a sequence's parameters; a longer sequence is dropped.
const MAX_PARAMETER_BYTES: usize = 256;

/// Private modes (`CSI ? n h`) that only change what is displayed.
const DISPLAY_MODES: [u16; 10] = [5, 6, 7, 12, 25, 47, 1047, 1048, 1049, 2026];

/// Private modes that are on by default. [`PlayFilter::finish`] enables them again if the recording leaves them off.
const DEFAULT_ON_MODES: [u16; 2] = [7, 25];

/// Filters output in chunks, which may split sequences anywhere.
#[derive(Debug, Default)]
pub struct PlayFilter {
    state: FilterState,
    changes: TerminalChanges,
}

#[derive(Debug, Default)]
enum FilterState {
    #[default]
    Ground,
    /// After ESC, with the intermediate characters read so far.
    Escape(String),
    Csi(Csi),
    /// Within an OSC, DCS or other string. Strings are dropped. `escape` is true after an ESC, which may begin the
    /// terminator.
    Text {
        bell_ends: bool,
        escape: bool,
    },
}

/// A partially read CSI sequence: its parameters and intermediate characters so far.
#[derive(Debug, Default)]
struct Csi {
    parameters: String,
    intermediates: String,
    /// True if the sequence is malformed or too long. Such a sequence is dropped when it ends.
    dropped: bool,
}

/// Changes of the terminal's state by the recording, which must be undone at the end of the recording.
#[derive(Debug, Default)]
struct TerminalChanges {
    /// Private modes whose state differs from their default.
    modes: Vec<u16>,
    colours: bool,
    margins: bool,
    insert: bool,
    cursor_shape: bool,
    charset: bool,
}

impl PlayFilter {
    /// Creates a filter for the beginning of a recording.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the part of the next chunk of output that may reach a terminal.
    #[must_use]
    pub fn pass(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for character in text.chars() {
            self.step(character, &mut out);
        }
        out
    }

    /// Returns sequences that undo the remaining changes of the recording: the alternate screen, colours, margins, a
    /// hidden cursor.
    #[must_use]
    pub fn finish(&mut self) -> String {
        let changes = std::mem::take(&mut self.changes);
        self.state = FilterState::Ground;
        let mut out = String::new();
        // Leaves the alternate screen first, since margins and colours belong to the main screen.
        for mode in changes.modes.iter().rev() {
            let letter = if DEFAULT_ON_MODES.contains(mode) { 'h' } else { 'l' };
            out.push_str(&format!("\x1b[?{mode}{letter}"));
        }
        if changes.margins || changes.modes.contains(&6) {
            // Both resets move the cursor to the top, so it is moved back to the last line.
            out.push_str("\x1b[r\x1b[9999;1H");
        }
        for (changed, reset) in [
            (changes.insert, "\x1b[4l"),
            (changes.cursor_shape, "\x1b[0 q"),
            (changes.charset, "\x1b(B\x1b)B\x0f"),
            (changes.colours, "\x1b[0m"),
        ] {
            out.push_str(if changed { reset } else { "" });
        }
        out
    }

    fn step(&mut self, character: char, out: &mut String) {
        if let FilterState::Text { bell_ends, escape } = &mut self.state {
            match (character, *escape) {
                ('\\', true) | ('\x18' | '\x1a', _) => self.state = FilterState::Ground,
                ('\x07', _) if *bell_ends => self.state = FilterState::Ground,
                ('\x1b', _) => *escape = true,
                (_, false) => {}
                // The ESC did not end the string. It begins another sequence, which cancels the string.
                (other, true) => {
                    self.state = FilterState::Escape(String::new());
                    self.step(other, out);
                }
            }
            return;
        }
        match character {
            '\x1b' => self.state = FilterState::Escape(String::new()),
            '\x18' | '\x1a' => self.state = FilterState::Ground,
            // Terminals execute these controls at once, even within a sequence.
            '\x07'..='\x0f' => {
                self.changes.charset |= character == '\x0e';
                out.push(character);
            }
            // Dropped: NUL, ENQ (requests the terminal's identification), flow control and C1 controls.
            '\0'..='\x1f' | '\x7f'..='\u{9f}' => {}
            _ => match std::mem::take(&mut self.state) {
                FilterState::Escape(intermediates) => self.escape(intermediates, character, out),
                FilterState::Csi(csi) => self.csi(csi, character, out),
                FilterState::Ground | FilterState::Text { .. } => out.push(character),
            },
        }
    }

    fn escape(&mut self, mut intermediates: String, character: char, out: &mut String) {
        match (intermediates.as_str(), character) {
            ("", '[') => self.state = FilterState::Csi(Csi::default()),
            ("", ']') => self.state = FilterState::Text { bell_ends: true, escape: false },
            ("", 'P' | 'X' | '^' | '_') => self.state = FilterState::Text { bell_ends: false, escape: false },
            ("", '7' | '8' | 'D' | 'E' | 'M') => out.extend(['\x1b', character]),
            // A full reset would also clear the scrollback and the settings of the terminal.
            ("", 'c') => {
                out.push_str(&self.finish());
                out.push_str("\x1b[0m\x1b[H\x1b[2J");
            }
            ("(" | ")", '0' | 'A' | 'B') => {
                self.changes.charset = true;
                out.push('\x1b');
                out.push_str(&intermediates);
                out.push(character);
            }
            ("#", '8') => out.push_str("\x1b#8"),
            (_, ' '..='/') if intermediates.len() < 4 => {
                intermediates.push(character);
                self.state = FilterState::Escape(intermediates);
            }
            _ => {}
        }
    }

    fn csi(&mut self, mut csi: Csi, character: char, out: &mut String) {
        match character {
            '0'..='?' if csi.parameters.len() < MAX_PARAMETER_BYTES => {
                csi.dropped |= !csi.intermediates.is_empty();
                csi.parameters.push(character);
            }
            ' '..='/' if csi.intermediates.len() < 4 => csi.intermediates.push(character),
            '@'..='~' => {
                if !csi.dropped {
                    self.finished_csi(&csi, character, out);
                }
                return;
            }
            ' '..='?' => csi.dropped = true,
            // Not part of a sequence: terminals drop the sequence and print the character.
            _ => return out.push(character),
        }
        self.state = FilterState::Csi(csi);
    }

    fn finished_csi(&mut self, csi: &Csi, last: char, out: &mut String) {
        let parameters = csi.parameters.as_str();
        let numbers = parameters.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'));
        let count = parameters.split(';').filter(|part| !part.is_empty()).count();
        let passes = match (csi.intermediates.as_str(), last) {
            ("", 'h' | 'l') => return self.modes(parameters, last, out),
            // Selective erase.
            ("", 'J' | 'K') if parameters.starts_with('?') => matches!(&parameters[1..], "" | "0" | "1" | "2"),
            ("" | " " | "!", _) if !numbers => false,
            // Erasing the scrollback (3) would delete lines that are not part of the recording.
            ("", 'J') => matches!(parameters, "" | "0" | "1" | "2"),
            // With more parameters `T` starts mouse highlight tracking, and `s` sets the left and right margins.
            ("", 'T') => count <= 1,
            ("", 's' | 'u') => parameters.is_empty(),
            ("", '@'..='I' | 'K'..='M' | 'P' | 'S' | 'X' | 'Z' | '`' | 'a' | 'b' | 'd'..='f' | 'm' | 'r') => true,
            (" ", 'q') => true,
            ("!", 'p') => parameters.is_empty(),
            _ => false,
        };
        if !passes {
            return;
        }
        match last {
            'm' => self.changes.colours = !matches!(parameters, "" | "0"),
            'r' => self.changes.margins = !parameters.is_empty(),
            'q' => self.changes.cursor_shape = !matches!(parameters, "" | "0"),
            _ => {}
        }
        out.push_str("\x1b[");
        out.push_str(parameters);
        out.push_str(&csi.intermediates);
        out.push(last);
    }

    /// Passes only modes that affect the display.
    fn modes(&mut self, parameters: &str, last: char, out: &mut String) {
        let set = last == 'h';
        let Some(private) = parameters.strip_prefix('?') else {
            if parameters == "4" {
                self.changes.insert = set;
                out.push_str(&format!("\x1b[4{last}"));
            }
            return;
        };
        for mode in private.split(';').filter_map(|mode| mode.parse::<u16>().ok()) {
            if DISPLAY_MODES.contains(&mode) {
                self.changes.modes.retain(|known| *known != mode);
                if set != DEFAULT_ON_MODES.contains(&mode) {
                    self.changes.modes.push(mode);
                }
                out.push_str(&format!("\x1b[?{mode}{last}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pass(text: &str) -> String {
        PlayFilter::new().pass(text)
    }

    #[test]
    fn the_display_passes() {
        for text in [
            "hello é日👩‍👩‍👧\r\n\tx\x08\x07",
            "\x1b[1;38;5;208;48:2::1:2:3mred\x1b[m",
            "\x1b[H\x1b[2J\x1b[10;20H\x1b[3A\x1b[K\x1b[1K\x1b[?K\x1b[4X\x1b[2P\x1b[5@\x1b[2L\x1b[3M\x1b[12b",
            "\x1b[2;20r\x1b[3S\x1b[2T\x1b7\x1b8\x1b[s\x1b[u\x1bM\x1bD\x1bE",
            "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2026h\x1b[?2026l\x1b[4h\x1b[4l",
            "\x1b(0lqk\x1b(B\x0e\x0f\x1b[3 q\x1b[!p\x1b#8",
        ] {
            assert_eq!(pass(text), text);
        }
    }

    #[test]
    fn strings_are_dropped_with_their_content() {
        for text in [
            "\x1b]52;c;aGk=\x07",
            "\x1b]52;c;aGk=\x1b\\",
            "\x1b]0;title\x07",
            "\x1b]8;;http://evil\x1b\\",
            "\x1b]4;1;?\x1b\\",
            "\x1b]1337;File=x:AAAA\x07",
            "\x1bP+q544e\x1b\\",
            "\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\",
            "\x1b_Gq\x07a=T\x1b\\",
            "\x1b^private\x1b\\",
            "\x1bXstring\x1b\\",
        ] {
            assert_eq!(pass(&format!("a{text}b")), "ab", "{text:?}");
        }
        assert_eq!(pass("a\x1b]0;cancelled\x18b"), "ab");
        assert_eq!(pass("a\x1b]0;never ended \x1b[31mred"), "a\x1b[31mred", "another sequence ends a string");
    }

    #[test]
    fn no_query_or_input_mode_reaches_the_terminal() {
        let queries = "\x05 \x1bZ \x1b[c \x1b[0c \x1b[>c \x1b[=c \x1b[5n \x1b[6n \x1b[?6n \x1b[?1$p \x1b[4$p \x1b[>q \x1b[>0q \
            \x1b[x \x1b[18t \x1b[21t \x1b[14t \x1b[?u \x1b[?4m \x1b[1;1;1;1;1;1*y \x1b[?1;1;0S \x1b[1$w";
        let keys = "\x1b[?1h \x1b[?66h \x1b= \x1b> \x1b[?9h \x1b[?1000h \x1b[?1002h \x1b[?1003;1006h \x1b[?1004h \x1b[?2004h \
            \x1b[>1u \x1b[<u \x1b[=1u \x1b[>4;2m \x1b[?2031h \x1b[?2048h \x1b[1;2;3;4;5T";
        let outlive = "\x1b[8;1;1t \x1b[2t \x1b[3J \x1b[5i \x1b[?5i \x1b[4i \x1b[1q \x1b[?3h \x1b[?69h \x1b[2;3s \x1b[?1s \x1b[12h \x1b F \x1b%@ \
            \x1bn \x1bl \x1b[1\"p \x1b[0;0;0;0$z \x1bH \x1b[g \x1b[3g";
        for sequence in queries.split(' ').chain(keys.split(' ')).chain(outlive.split(' ')) {
            let passed = pass(&format!("a{sequence}b"));
            assert!(!passed.contains('\x1b') && !passed.contains('\x05'), "{sequence:?} gives {passed:?}");
        }
    }

    #[test]
    fn of_several_modes_only_those_of_the_display_pass() {
        assert_eq!(pass("\x1b[?1000;25;2004;1049h"), "\x1b[?25h\x1b[?1049h");
    }

    #[test]
    fn c1_controls_start_no_sequence() {
        assert_eq!(pass("a\u{9b}6n\u{9d}0;t\u{9c}\u{90}b"), "a6n0;tb");
    }

    #[test]
    fn a_full_reset_clears_the_screen_and_no_more() {
        assert_eq!(pass("\x1b[?25l\x1bc"), "\x1b[?25l\x1b[?25h\x1b[0m\x1b[H\x1b[2J");
    }

    #[test]
    fn a_broken_sequence_is_dropped() {
        assert_eq!(pass("\x1b[1\x1b[31mx"), "\x1b[31mx");
        assert_eq!(pass("\x1b[3\r1mx"), "\r\x1b[31mx", "a control within a sequence is executed");
        assert_eq!(pass(&format!("\x1b[{}mx", "1;".repeat(1000))), "x");
        assert_eq!(pass("\x1b[ 1qx"), "x");
        assert_eq!(pass("\x1b[<1;2mx"), "x");
    }

    #[test]
    fn the_terminal_state_is_restored() {
        let mut filter = PlayFilter::new();
        let _ = filter.pass("\x1b[31mred\x1b[m done\x1b[?25l\x1b[?25h\x1b[?1049h\x1b[?1049l\x1b[4h\x1b[4l");
        assert_eq!(filter.finish(), "", "there is nothing to undo");
        let _ = filter.pass("\x1b[?1049h\x1b[?25l\x1b[2;5r\x1b[31m\x1b(0\x1b[4 q\x1b]0;unfinished");
        let undone = filter.finish();
        assert_eq!(undone, "\x1b[?25h\x1b[?1049l\x1b[r\x1b[9999;1H\x1b[0 q\x1b(B\x1b)B\x0f\x1b[0m");
        assert_eq!(pass(&undone), undone);
        assert_eq!(filter.finish(), "");
        assert_eq!(filter.pass("x"), "x", "an unfinished string does not swallow what follows");
    }

    /// Chunks from which streams are built that reach every state.
    const PIECES: [&str; 24] = [
        "\x1b", "[", "]", "P", "?", "1049", "25", ";", "h", "l", "m", "6n", "\x07", "\\", "é", "52;c;", "(", "0", " ",
        "q", "\x18", "\r", "\u{9b}", "c",
    ];

    proptest! {
        #[test]
        fn the_result_does_not_depend_on_where_the_stream_is_split(
            pieces in proptest::collection::vec(0..PIECES.len(), 0..40),
        ) {
            let stream: String = pieces.iter().map(|piece| PIECES[*piece]).collect();
            let (mut whole, end) = (PlayFilter::new(), |filter: &mut PlayFilter, passed: String| passed + &filter.finish());
            let passed = whole.pass(&stream);
            let expected = end(&mut whole, passed);
            for (at, _) in stream.char_indices() {
                let mut filter = PlayFilter::new();
                let passed = filter.pass(&stream[..at]) + &filter.pass(&stream[at..]);
                prop_assert_eq!(end(&mut filter, passed), expected.clone(), "split at {} of {:?}", at, &stream);
            }
            prop_assert_eq!(pass(&expected), expected.clone(), "filtered output passes unchanged");
        }

        #[test]
        fn only_known_sequences_leave_the_filter(text in "([\x1b\\[\\]P?>=!$ a-z0-9;:\x05\x07\\\\]|\\PC){0,80}") {
            let passed = pass(&text);
            for sequence in passed.split('\x1b').skip(1) {
                let allowed = sequence.starts_with(['7', '8', 'D', 'E', 'M', '(', ')', '#']) || sequence.starts_with('[');
                prop_assert!(allowed, "{:?} of {:?}", passed, text);
                if let Some(csi) = sequence.strip_prefix('[') {
                    let last = csi.chars().find(|one| ('@'..='~').contains(one));
                    prop_assert!(last.is_some_and(|last| !"cntixyzu".contains(last) || csi.starts_with('u')), "{:?}", passed);
                }
            }
        }
    }
}
