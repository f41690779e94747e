//! Compares text and cursor with tmux for recorded streams of real programs, at two sizes. `streams/record` makes the
//! recordings.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use wh_screen::frame::{ScreenFrame, Size};
use wh_screen::render;
use wh_screen::vt::Vt;
use wh_testkit::tmux::VisibleScreen;
use wh_testkit::{Tmux, tools};

/// Chunk sizes in which the stream is fed. Programs, pipes and the kernel may split it anywhere.
const CHUNK_SIZES: [usize; 5] = [1, 2, 7, 61, 4093];
/// Number of comparisons during a stream, since drawn content is often overwritten later.
const COMPARISONS_PER_STREAM: usize = 30;

macro_rules! recordings {
    ($($module:ident: $name:literal,)*) => {
        const NAMES: &[&str] = &[$($name),*];

        $(mod $module {
            #[test]
            fn matches_tmux_at_80x24() {
                super::matches_tmux($name, 80, 24);
            }

            #[test]
            fn matches_tmux_at_132x43() {
                super::matches_tmux($name, 132, 43);
            }
        })*
    };
}

recordings! {
    alternate_screen: "alternate-screen",
    autowrap: "autowrap",
    dialog: "dialog",
    git_log: "git-log",
    htop: "htop",
    insert_delete: "insert-delete",
    less: "less",
    line_drawing: "line-drawing",
    origin_mode: "origin-mode",
    readline: "readline",
    save_restore: "save-restore",
    scroll: "scroll",
    scroll_regions: "scroll-regions",
    tabs: "tabs",
    vim: "vim",
    wide: "wide",
}

#[test]
fn every_recording_is_compared() {
    let stored: BTreeSet<String> = fs::read_dir(directory())
        .expect("the recordings exist")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .filter(|name| name.ends_with(".bytes"))
        .collect();
    let compared: BTreeSet<String> =
        NAMES.iter().flat_map(|name| ["80x24", "132x43"].map(|size| format!("{name}-{size}.bytes"))).collect();
    assert_eq!(stored, compared);
}

fn directory() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "it", "streams"].iter().collect()
}

fn sight(frame: &ScreenFrame) -> VisibleScreen {
    let cursor = frame.cursor;
    VisibleScreen { rows: render::lines(frame), cursor: (cursor.x, cursor.y), cursor_visible: cursor.visible }
}

/// Splits the stream before sequences. None of the pieces begins with REP, which repeats the character just before it.
fn pieces(stream: &[u8]) -> Vec<&[u8]> {
    let begins = |at: usize| {
        let end = stream[at + 1..].iter().position(|byte| (b'@'..=b'~').contains(byte) && *byte != b'[');
        stream[at] == 0x1b && end.is_none_or(|end| stream[at + 1 + end] != b'b')
    };
    let ends: Vec<usize> = (1..stream.len()).filter(|&at| begins(at)).collect();
    let every = ends.len().div_ceil(COMPARISONS_PER_STREAM).max(1);
    let mut start = 0;
    let ends = ends.into_iter().step_by(every).chain([stream.len()]);
    ends.map(|end| &stream[std::mem::replace(&mut start, end)..end]).collect()
}

#[track_caller]
fn matches_tmux(name: &str, columns: u16, rows: u16) {
    if !tools::present(&["tmux"]) {
        return;
    }
    let size = Size { columns, rows };
    let path = directory().join(format!("{name}-{columns}x{rows}.bytes"));
    let stream = fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let mut vt = Vt::new(size, 100);
    let (mut tmux, mut redrawn) = (Tmux::replay(columns, rows), Tmux::replay(columns, rows));
    let (mut report, mut end) = (String::new(), 0);
    for piece in pieces(&stream) {
        end += piece.len();
        vt.feed(piece);
        let frame = vt.frame();
        tmux.show(piece);
        redrawn.show(render::ansi(&frame).as_bytes());
        for (what, tmux) in [("the stream", &tmux), ("the redrawn frame", &redrawn)] {
            let found = sight(&frame).differences(&tmux.tmux().visible());
            if !found.is_empty() {
                report += &format!("--- after {end} of {} bytes, {what}:\n{found}", stream.len());
            }
        }
    }
    assert!(report.is_empty(), "{name} at {columns}x{rows} differs from tmux\n{report}");
    for chunk in CHUNK_SIZES {
        let mut cut = Vt::new(size, 100);
        stream.chunks(chunk).for_each(|bytes| _ = cut.feed(bytes));
        let found = sight(&cut.frame()).differences(&tmux.tmux().visible());
        assert!(cut.frame() == vt.frame(), "{name} differs when fed in chunks of {chunk} bytes\n{found}");
    }
}
