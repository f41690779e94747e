//! Replays a recorded byte stream in tmux, in one piece or in chunks.

use std::fs::{File, OpenOptions};
use std::io::Write;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tempfile::TempDir;

use super::Tmux;
use crate::eventually;

/// Shell script that prints the stream from a pipe. Raw mode prevents changes of the stream by the line discipline. The
/// last `cat` consumes tmux's responses to queries.
const REPLAY: &str = r#"stty raw -echo -opost && { cat "$1" & } && exec cat >/dev/null"#;

/// Pane that displays a byte stream.
pub struct TmuxReplay {
    tmux: Tmux,
    pipe: File,
    pieces: u32,
    _directory: TempDir,
}

impl TmuxReplay {
    /// Displays the next bytes of the stream, and waits until tmux has processed all of them.
    #[track_caller]
    pub fn show(&mut self, bytes: &[u8]) {
        // The title follows the last byte through the same pipe, so the new title shows that tmux has processed all
        // bytes. The title does not affect the grid. The string terminator before the title closes a sequence that the
        // bytes may have left open, and has no effect otherwise.
        self.pieces += 1;
        let shown = format!("wh-testkit: piece {} is shown", self.pieces);
        let marked = [bytes, format!("\x1b\\\x1b]2;{shown}\x1b\\").as_bytes()].concat();
        self.pipe.write_all(&marked).expect("the pipe of the pane can be written");
        eventually("tmux has processed all bytes", || (self.tmux.format("#{pane_title}") == shown).then_some(()));
    }

    /// Returns the pane that displays the stream.
    pub fn tmux(&self) -> &Tmux {
        &self.tmux
    }
}

impl Tmux {
    /// Starts a pane of the given size that displays a stream piece by piece, see [`TmuxReplay::show`].
    #[track_caller]
    pub fn replay(cols: u16, rows: u16) -> TmuxReplay {
        let directory = tempfile::tempdir().expect("a temporary directory can be created");
        let path = directory.path().join("stream");
        mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).expect("the pipe can be created");
        let name = path.to_str().expect("the path of the temporary directory is UTF-8");
        let tmux = Self::start(cols, rows, &["sh", "-c", REPLAY, "replay", name]);
        // Opened for both reading and writing, so that opening does not wait for the pane.
        let pipe = OpenOptions::new().read(true).write(true).open(&path).expect("the pipe can be opened");
        TmuxReplay { tmux, pipe, pieces: 0, _directory: directory }
    }

    /// Displays a complete recorded stream in a pane of the given size.
    #[track_caller]
    pub fn cat(bytes: &[u8], cols: u16, rows: u16) -> Self {
        let mut replay = Self::replay(cols, rows);
        replay.show(bytes);
        replay.tmux
    }
}
