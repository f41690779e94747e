//! A recorded byte stream, shown by tmux exactly as it was recorded: at once, or piece by piece with a look in between.

use std::fs::{File, OpenOptions};
use std::io::Write;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tempfile::TempDir;

use super::Tmux;
use crate::eventually;

/// Raw before the first byte, or the line discipline has its say. The last `cat` swallows what tmux answers to queries.
const REPLAY: &str = r#"stty raw -echo -opost && { cat "$1" & } && exec cat >/dev/null"#;

/// A pane that shows what it is given.
pub struct Replay {
    tmux: Tmux,
    pipe: File,
    pieces: u32,
    _directory: TempDir,
}

impl Replay {
    /// Shows some more of the stream, to its last byte.
    #[track_caller]
    pub fn show(&mut self, bytes: &[u8]) {
        // The title comes through the same pipe behind the last byte, and is read where it does not touch the grid. The
        // string terminator before it closes what the bytes may have left open; by itself it shows nothing.
        self.pieces += 1;
        let shown = format!("wh-testkit: piece {} is shown", self.pieces);
        let marked = [bytes, format!("\x1b\\\x1b]2;{shown}\x1b\\").as_bytes()].concat();
        self.pipe.write_all(&marked).expect("the pane reads what it is given");
        eventually("tmux shows the stream to its end", || (self.tmux.format("#{pane_title}") == shown).then_some(()));
    }

    /// The pane.
    pub fn tmux(&self) -> &Tmux {
        &self.tmux
    }
}

impl Tmux {
    /// A pane of that size, for a stream that is shown piece by piece.
    #[track_caller]
    pub fn replay(cols: u16, rows: u16) -> Replay {
        let directory = tempfile::tempdir().expect("a directory for the pipe");
        let path = directory.path().join("stream");
        mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).expect("a pipe for the stream");
        let name = path.to_str().expect("the temp directory has a plain name");
        let tmux = Self::start(cols, rows, &["sh", "-c", REPLAY, "replay", name]);
        // For both, so that it opens whether or not the pane has opened its end.
        let pipe = OpenOptions::new().read(true).write(true).open(&path).expect("the pipe opens");
        Replay { tmux, pipe, pieces: 0, _directory: directory }
    }

    /// Shows a recorded stream in a pane of that size, to its last byte.
    #[track_caller]
    pub fn cat(bytes: &[u8], cols: u16, rows: u16) -> Self {
        let mut replay = Self::replay(cols, rows);
        replay.show(bytes);
        replay.tmux
    }
}
