//! Reads recordings of any asciicast recorder. Unknown event codes, blank lines, comments and a truncated last line are
//! skipped. Any other problem is an error that names the line.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::{CastFormat, CastHeader, to_microseconds};
use crate::frame::Size;

/// Maximum length of a line in bytes.
pub const MAX_CAST_LINE_BYTES: usize = 64 << 20;

/// Recording that was read completely into memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cast {
    /// Version of the file format.
    pub format: CastFormat,
    pub header: CastHeader,
    /// Events in order of time.
    pub events: Vec<TimedEvent>,
    /// Last line, if it was truncated and skipped.
    pub truncated: Option<TruncatedLine>,
    /// Time of the last event, including events of unknown codes.
    end: Duration,
}

/// An event of a recording, with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedEvent {
    /// Time since the start. Never decreases from one event to the next.
    pub at: Duration,
    pub content: EventContent,
}

/// Content of a recorded event, by its event code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventContent {
    /// Output of the program.
    Output(String),
    /// Input to the program.
    Input(String),
    /// New size of the terminal, clamped to the sizes that the emulator supports.
    Resize(Size),
    /// Marker, with a label that may be empty.
    Mark(String),
    /// Exit status of the program.
    Exit(i32),
}

/// Incomplete last line of a recording, for example after a crash of the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TruncatedLine {
    /// Line number, from 1.
    pub line: u64,
    /// Number of bytes of the incomplete line.
    pub bytes: usize,
}

impl std::fmt::Display for TruncatedLine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "line {} is truncated after {} bytes and was skipped", self.line, self.bytes)
    }
}

/// Reason why an input cannot be read as a recording.
#[derive(Debug, thiserror::Error)]
pub enum CastReadError {
    /// The input is empty.
    #[error("the recording is empty: its first line must be a header")]
    Empty,
    /// The input cannot be read.
    #[error("line {line} cannot be read: {source}")]
    Unreadable {
        /// Line number, from 1.
        line: u64,
        /// Error of the input.
        source: std::io::Error,
    },
    /// A line exceeds [`MAX_CAST_LINE_BYTES`].
    #[error("line {line} is longer than {MAX_CAST_LINE_BYTES} bytes")]
    LongLine {
        /// Line number, from 1.
        line: u64,
    },
    /// The version is not supported.
    #[error("asciicast version {0} is not supported; convert it to version 3 with `asciinema convert`")]
    Version(u64),
    /// The first line is not a header.
    #[error("line 1 is not an asciicast header: {0}")]
    Header(String),
    /// A line is not a valid event.
    #[error("line {line} is not an event: {reason}")]
    Event {
        /// Line number, from 1.
        line: u64,
        /// Reason why the event is invalid.
        reason: String,
    },
}

impl Cast {
    /// Parses a recording to its end. `input` should be buffered.
    pub fn parse(input: impl BufRead) -> Result<Self, CastReadError> {
        let mut lines = CastLines { input, number: 0, line: Vec::new() };
        if !lines.advance()? {
            return Err(CastReadError::Empty);
        }
        let (format, header) = header(&lines.line).map_err(|problem| match problem {
            HeaderError::Version(version) => CastReadError::Version(version),
            HeaderError::Reason(reason) => CastReadError::Header(reason),
        })?;
        let mut cast = Self { format, header, events: Vec::new(), truncated: None, end: Duration::ZERO };
        let mut clock = RecordingClock { format, elapsed: Duration::ZERO };
        while lines.advance()? {
            let ignored =
                lines.line.trim_ascii().is_empty() || (format == CastFormat::V3 && lines.line.starts_with(b"#"));
            if ignored {
                continue;
            }
            match event(&lines.line, &mut clock) {
                Ok(Some(event)) => cast.events.push(event),
                Ok(None) => {}
                Err(_) if is_truncated(&lines.line) => {
                    cast.truncated = Some(TruncatedLine { line: lines.number, bytes: lines.line.len() });
                }
                Err(reason) => return Err(CastReadError::Event { line: lines.number, reason }),
            }
            cast.end = clock.now();
        }
        Ok(cast)
    }

    /// Returns the time of the last event.
    pub fn duration(&self) -> Duration {
        self.end
    }
}

/// True if the line may have been truncated by a crash: it has no line feed and is not valid JSON. An event is a JSON
/// array, so a truncated event lacks the closing `]` and is never valid JSON.
fn is_truncated(line: &[u8]) -> bool {
    !line.ends_with(b"\n") && serde_json::from_slice::<IgnoredAny>(line).is_err()
}

struct CastLines<R> {
    input: R,
    /// Number of the current line, from 1.
    number: u64,
    line: Vec<u8>,
}

impl<R: BufRead> CastLines<R> {
    /// Reads the next line, including its line feed if there is one. Returns false at the end of the input.
    fn advance(&mut self) -> Result<bool, CastReadError> {
        self.line.clear();
        self.number += 1;
        let line = self.number;
        let read = self.input.by_ref().take(MAX_CAST_LINE_BYTES as u64 + 1).read_until(b'\n', &mut self.line);
        match read {
            Ok(length) if length > MAX_CAST_LINE_BYTES => Err(CastReadError::LongLine { line }),
            Ok(length) => Ok(length > 0),
            Err(source) => Err(CastReadError::Unreadable { line, source }),
        }
    }
}

/// Converts the times in lines to the time since the start. In version 3 the times are intervals.
struct RecordingClock {
    format: CastFormat,
    elapsed: Duration,
}

impl RecordingClock {
    fn advance(&mut self, seconds: f64) -> Result<(), String> {
        let time = Duration::try_from_secs_f64(seconds).map_err(|error| format!("invalid time {seconds}: {error}"))?;
        self.elapsed = match self.format {
            CastFormat::V2 => self.elapsed.max(time),
            CastFormat::V3 => self.elapsed.checked_add(time).ok_or("the sum of the times overflows")?,
        };
        Ok(())
    }

    /// Returns the time rounded to microseconds, since the parsed floating point number is inexact. The sum itself is
    /// not rounded, or it would drift.
    fn now(&self) -> Duration {
        Duration::from_micros(to_microseconds(self.elapsed))
    }
}

/// Parses one event; `None` for an unknown code.
fn event(line: &[u8], clock: &mut RecordingClock) -> Result<Option<TimedEvent>, String> {
    let (seconds, code, data): (f64, String, Value) = decode(line)?;
    clock.advance(seconds)?;
    let text = |data: Value| match data {
        Value::String(text) => Ok(text),
        other => Err(brief(&format!("the data is {other}, not a string"))),
    };
    let what = match code.as_str() {
        "o" => EventContent::Output(text(data)?),
        "i" => EventContent::Input(text(data)?),
        "m" => EventContent::Mark(text(data)?),
        "r" => {
            let size = text(data)?;
            EventContent::Resize(parse_size(&size).ok_or_else(|| brief(&format!("{size:?} is not a size like 80x24")))?)
        }
        "x" => {
            let status = text(data)?;
            EventContent::Exit(status.parse().map_err(|_| brief(&format!("{status:?} is not an exit status")))?)
        }
        _ => return Ok(None),
    };
    Ok(Some(TimedEvent { at: clock.now(), content: what }))
}

fn parse_size(text: &str) -> Option<Size> {
    let (columns, rows) = text.split_once('x')?;
    Some(size(columns.parse().ok()?, rows.parse().ok()?))
}

/// Clamps a size, so that an untrusted recording cannot allocate a huge screen.
fn size(columns: u64, rows: u64) -> Size {
    let bounded = |number| u16::try_from(number).unwrap_or(u16::MAX);
    Size::nearest(bounded(columns), bounded(rows))
}

enum HeaderError {
    Version(u64),
    Reason(String),
}

impl From<String> for HeaderError {
    fn from(reason: String) -> Self {
        Self::Reason(reason)
    }
}

#[derive(Deserialize)]
struct HeaderVersion {
    version: u64,
}

/// Fields that the headers of versions 2 and 3 have in common.
#[derive(Deserialize)]
struct CommonHeader {
    timestamp: Option<f64>,
    idle_time_limit: Option<f64>,
    command: Option<String>,
    title: Option<String>,
    /// Environment variables. asciinema 2 writes null for unset variables.
    env: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
struct HeaderV2 {
    width: u64,
    height: u64,
}

#[derive(Deserialize)]
struct HeaderV3 {
    term: HeaderV3Terminal,
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct HeaderV3Terminal {
    cols: u64,
    rows: u64,
    #[serde(rename = "type")]
    kind: Option<String>,
    version: Option<String>,
}

fn header(line: &[u8]) -> Result<(CastFormat, CastHeader), HeaderError> {
    let version = decode::<HeaderVersion>(line)?.version;
    let common: CommonHeader = decode(line)?;
    let mut environment: BTreeMap<String, String> =
        common.env.into_iter().flatten().filter_map(|(name, value)| Some((name, value?))).collect();
    let terminal_type = environment.remove("TERM");
    let (format, size, terminal_type, terminal_version, tags) = match version {
        2 => {
            let HeaderV2 { width, height } = decode(line)?;
            (CastFormat::V2, size(width, height), terminal_type, None, None)
        }
        3 => {
            let HeaderV3 { term, tags } = decode(line)?;
            (CastFormat::V3, size(term.cols, term.rows), term.kind.or(terminal_type), term.version, tags)
        }
        other => return Err(HeaderError::Version(other)),
    };
    let header = CastHeader {
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
    // The parser sees one line only and would always report line 1.
    serde_json::from_slice(line.trim_ascii_end())
        .map_err(|error| brief(&error.to_string().replacen(" at line 1 column ", " at column ", 1)))
}

/// Truncates an error message, since the message quotes the input, and a line may have megabytes.
fn brief(reason: &str) -> String {
    const MAX_ERROR_CHARS: usize = 160;
    match reason.char_indices().nth(MAX_ERROR_CHARS) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}
