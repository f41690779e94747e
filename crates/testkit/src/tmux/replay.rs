//! A recorded byte stream, shown by tmux exactly as it was recorded.

use std::io::Write;

use super::Tmux;
use crate::eventually;

/// The pane's title once the whole stream is shown. It comes through the same pipe behind the last byte, and is read
/// where it does not touch the grid.
const SHOWN: &str = "wh-testkit: shown to the end";

/// Raw before the first byte, or the line discipline has its say. The string terminator in front of the title closes what
/// the stream may have left open; by itself it shows nothing. The last `cat` swallows what tmux answers to queries.
const REPLAY: &str =
    r#"stty raw -echo -opost && cat "$1" && printf '\033\\\033]2;%s\033\\' "$2" && exec cat >/dev/null"#;

impl Tmux {
    /// Shows a recorded stream in a pane of that size, to its last byte.
    #[track_caller]
    pub fn cat(bytes: &[u8], cols: u16, rows: u16) -> Self {
        let mut stream = tempfile::NamedTempFile::new().expect("a file for the stream");
        stream.write_all(bytes).expect("the stream is written");
        let path = stream.path().to_str().expect("the temp directory has a plain name");
        let tmux = Self::start(cols, rows, &["sh", "-c", REPLAY, "replay", path, SHOWN]);
        eventually("tmux shows the stream to its end", || (tmux.format("#{pane_title}") == SHOWN).then_some(()));
        tmux
    }
}
