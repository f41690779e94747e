//! Reads a recording, ours or anyone's. What newer recorders may add is passed over, and so is a last line that a crash
//! cut off; anything else that is wrong is an error that names its line.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::{Format, Header, to_microseconds};
use crate::frame::Size;

/// No line may have more bytes.
pub const LONGEST_LINE: usize = 64 << 20;

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cast {
    /// Its version.
    pub format: Format,
    /// What was known before anything happened.
    pub header: Header,
    /// What happened, in order.
    pub events: Vec<Recorded>,
    /// The last line, if it was cut off and so is not among the events.
    pub dropped: Option<Dropped>,
    /// The time of the last event, known or not.
    end: Duration,
}

/// One thing that happened, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// How long after the start. Never less than that of the event before.
    pub at: Duration,
    /// What it was.
    pub what: What,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The program wrote this.
    Output(String),
    /// The program was sent this.
    Input(String),
    /// The terminal has another size: the nearest that a terminal of ours may have.
    Resize(Size),
    /// A place to find again; its name may be empty.
    Mark(String),
    /// The program has ended.
    Exit(i32),
}

/// A line that ended before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// Its number, from 1.
    pub line: u64,
    /// How many bytes there were of it.
    pub bytes: usize,
}

impl std::fmt::Display for Dropped {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "line {} is cut off after {} bytes and was left out", self.line, self.bytes)
    }
}

/// Why this is not a recording.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is nothing.
    #[error("the recording is empty: its first line must be a header")]
    Empty,
    /// It cannot be read at all.
    #[error("line {line} cannot be read: {source}")]
    Unreadable {
        /// Where.
        line: u64,
        /// Why.
        source: std::io::Error,
    },
    /// A line would take too much memory.
    #[error("line {line} has more than {LONGEST_LINE} bytes")]
    LongLine {
        /// Where.
        line: u64,
    },
    /// It has another version.
    #[error("asciicast version {0} is not supported, only 2 and 3 are; `asciinema convert` makes 3 of it")]
    Version(u64),
    /// It does not begin as it must.
    #[error("line 1 is not an asciicast header: {0}")]
    Header(String),
    /// A line makes no sense.
    #[error("line {line} is not an event: {reason}")]
    Event {
        /// Where.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
}

impl Cast {
    /// Reads it to its end. Give it a buffered file, or bytes.
    pub fn parse(input: impl BufRead) -> Result<Self, ReadError> {
        let mut lines = Lines { input, number: 0, line: Vec::new() };
        if !lines.advance()? {
            return Err(ReadError::Empty);
        }
        let (format, header) = header(&lines.line).map_err(|problem| match problem {
            HeaderProblem::Version(version) => ReadError::Version(version),
            HeaderProblem::Reason(reason) => ReadError::Header(reason),
        })?;
        let mut cast = Self { format, header, events: Vec::new(), dropped: None, end: Duration::ZERO };
        let mut clock = Clock { format, elapsed: Duration::ZERO };
        while lines.advance()? {
            let ignored = lines.line.trim_ascii().is_empty() || (format == Format::V3 && lines.line.starts_with(b"#"));
            if ignored {
                continue;
            }
            match event(&lines.line, &mut clock) {
                Ok(Some(event)) => cast.events.push(event),
                Ok(None) => {}
                Err(_) if is_cut_off(&lines.line) => {
                    cast.dropped = Some(Dropped { line: lines.number, bytes: lines.line.len() });
                }
                Err(reason) => return Err(ReadError::Event { line: lines.number, reason }),
            }
            cast.end = clock.now();
        }
        Ok(cast)
    }

    /// How long it is: the time of its last event.
    pub fn duration(&self) -> Duration {
        self.end
    }
}

/// Whether a crash may have ended the line. Not if it has its end, nor if it is JSON: an array is whole only with its last
/// character.
fn is_cut_off(line: &[u8]) -> bool {
    !line.ends_with(b"\n") && serde_json::from_slice::<IgnoredAny>(line).is_err()
}

struct Lines<R> {
    input: R,
    /// Of the present line, from 1.
    number: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Goes to the next line, with its end if it has one. False if there is none.
    fn advance(&mut self) -> Result<bool, ReadError> {
        self.line.clear();
        self.number += 1;
        let line = self.number;
        let read = self.input.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut self.line);
        match read {
            Ok(length) if length > LONGEST_LINE => Err(ReadError::LongLine { line }),
            Ok(length) => Ok(length > 0),
            Err(source) => Err(ReadError::Unreadable { line, source }),
        }
    }
}

/// Turns what the lines say into the time since the start.
struct Clock {
    format: Format,
    elapsed: Duration,
}

impl Clock {
    fn advance(&mut self, seconds: f64) -> Result<(), String> {
        let told = Duration::try_from_secs_f64(seconds).map_err(|error| format!("its time is {seconds}: {error}"))?;
        self.elapsed = match self.format {
            Format::V2 => self.elapsed.max(told),
            Format::V3 => self.elapsed.checked_add(told).ok_or("the times add up to more than can be counted")?,
        };
        Ok(())
    }

    /// Rounded, since a floating point number is a little beside what was written. The sum is not, or it would drift.
    fn now(&self) -> Duration {
        Duration::from_micros(to_microseconds(self.elapsed))
    }
}

/// None for a code that is not known.
fn event(line: &[u8], clock: &mut Clock) -> Result<Option<Recorded>, String> {
    let (seconds, code, data): (f64, String, Value) = decode(line)?;
    clock.advance(seconds)?;
    let text = |data: Value| match data {
        Value::String(text) => Ok(text),
        other => Err(brief(&format!("its data is {other}, not a string"))),
    };
    let what = match code.as_str() {
        "o" => What::Output(text(data)?),
        "i" => What::Input(text(data)?),
        "m" => What::Mark(text(data)?),
        "r" => {
            let size = text(data)?;
            What::Resize(parse_size(&size).ok_or_else(|| brief(&format!("{size:?} is not a size like 80x24")))?)
        }
        "x" => {
            let status = text(data)?;
            What::Exit(status.parse().map_err(|_| brief(&format!("{status:?} is not an exit status")))?)
        }
        _ => return Ok(None),
    };
    Ok(Some(Recorded { at: clock.now(), what }))
}

fn parse_size(text: &str) -> Option<Size> {
    let (columns, rows) = text.split_once('x')?;
    Some(size(columns.parse().ok()?, rows.parse().ok()?))
}

/// A recording may come from anywhere: nothing in it makes a screen too large to keep.
fn size(columns: u64, rows: u64) -> Size {
    let bounded = |number| u16::try_from(number).unwrap_or(u16::MAX);
    Size::nearest(bounded(columns), bounded(rows))
}

enum HeaderProblem {
    Version(u64),
    Reason(String),
}

impl From<String> for HeaderProblem {
    fn from(reason: String) -> Self {
        Self::Reason(reason)
    }
}

#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

/// What both versions have.
#[derive(Deserialize)]
struct Common {
    timestamp: Option<f64>,
    idle_time_limit: Option<f64>,
    command: Option<String>,
    title: Option<String>,
    /// asciinema 2 writes null for what is not set.
    env: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
struct Dimensions {
    width: u64,
    height: u64,
}

#[derive(Deserialize)]
struct Terminal {
    term: Term,
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Term {
    cols: u64,
    rows: u64,
    #[serde(rename = "type")]
    kind: Option<String>,
    version: Option<String>,
}

fn header(line: &[u8]) -> Result<(Format, Header), HeaderProblem> {
    let version = decode::<Versioned>(line)?.version;
    let common: Common = decode(line)?;
    let mut environment: BTreeMap<String, String> =
        common.env.into_iter().flatten().filter_map(|(name, value)| Some((name, value?))).collect();
    let terminal_type = environment.remove("TERM");
    let (format, size, terminal_type, terminal_version, tags) = match version {
        2 => {
            let Dimensions { width, height } = decode(line)?;
            (Format::V2, size(width, height), terminal_type, None, None)
        }
        3 => {
            let Terminal { term, tags } = decode(line)?;
            (Format::V3, size(term.cols, term.rows), term.kind.or(terminal_type), term.version, tags)
        }
        other => return Err(HeaderProblem::Version(other)),
    };
    let header = Header {
        size,
        timestamp: common.timestamp.map(|seconds| seconds as u64),
        idle_limit: common.idle_time_limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        command: common.command,
        title: common.title,
        terminal_type,
        terminal_version,
        environment,
        tags: tags.unwrap_or_default(),
    };
    Ok((format, header))
}

fn decode<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    // The parser sees one line and would call each the first.
    serde_json::from_slice(line.trim_ascii_end())
        .map_err(|error| brief(&error.to_string().replacen(" at line 1 column ", " at column ", 1)))
}

/// An error quotes what it found, and a line may hold megabytes.
fn brief(reason: &str) -> String {
    const LONGEST: usize = 160;
    match reason.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}
