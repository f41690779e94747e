//! Text that the measured programs print. The text is the same for all contenders and in every run.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use crate::BenchResult;

pub const COLUMNS: u16 = 120;
pub const ROWS: u16 = 40;

/// Marker after the last line of a large output. No line of the output contains the marker.
pub const FLOOD_END: &str = "(end of the flood)";

const WORDS: [&str; 12] = [
    "fn",
    "compiling",
    "warning:",
    "let",
    "wheelhouse",
    "src/main.rs",
    "=>",
    "ok",
    "0.42s",
    "return",
    "[INFO]",
    "→ done",
];

/// Appends a line of coloured words, similar to the output of a compiler, a test runner or an agent. The line is not
/// wider than the screen.
fn line(number: usize, out: &mut String) {
    let mut column = 0;
    for place in 0.. {
        let word = WORDS[(number * 7 + place * 5) % WORDS.len()];
        column += word.chars().count() + 1;
        if column > 100 + number % 16 {
            break;
        }
        let _ = match (number + place) % 5 {
            0 => write!(out, "\x1b[1;{}m{word}\x1b[0m ", 31 + place % 6),
            1 => write!(out, "\x1b[38;5;{}m{word}\x1b[0m ", 16 + (number + place) % 200),
            2 => write!(out, "\x1b[38;2;{};{};80m{word}\x1b[0m ", number % 256, place * 9),
            _ => write!(out, "{word} "),
        };
    }
}

/// Writes a file of coloured lines with at least `bytes` bytes.
pub fn write_flood(path: &Path, bytes: usize) -> BenchResult<()> {
    let (mut file, mut written, mut text) = (BufWriter::new(File::create(path)?), 0, String::new());
    for number in 0.. {
        if written >= bytes {
            break;
        }
        text.clear();
        line(number, &mut text);
        text.push('\n');
        file.write_all(text.as_bytes())?;
        written += text.len();
    }
    Ok(file.flush()?)
}

/// Writes a file with this number of coloured lines. The last line has no line feed, so that the text fills all rows of
/// the screen.
pub fn write_lines(path: &Path, lines: usize) -> BenchResult<()> {
    let mut text = String::new();
    for number in 0..lines {
        if number > 0 {
            text.push('\n');
        }
        line(number, &mut text);
    }
    Ok(std::fs::write(path, text)?)
}
