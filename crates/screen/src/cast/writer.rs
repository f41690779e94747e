//! Writes a recording line by line. The caller owns the file and the clock.

use std::time::Duration;

use super::decoder::Utf8Decoder;
use super::{CastFormat, CastHeader, json, to_microseconds};
use crate::frame::Size;

/// Maximum bytes of text in a line. Longer text is split into several lines, since readers limit the length of a
/// line.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Event to record, passed to [`CastWriter::event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CastEvent<'a> {
    /// Output of the program.
    Output(&'a [u8]),
    /// Input to the program. It may contain passwords; record it only on request.
    Input(&'a [u8]),
    /// New size of the terminal.
    Resize(Size),
    /// Marker, with a label that may be empty.
    Mark(&'a str),
    /// Exit status of the program. Version 2 has no event for it, so only buffered text is written.
    Exit(i32),
}

/// Converts events to the lines of a recording. Each result consists of complete lines, to be appended in order: a
/// file that is truncated between two results is a valid recording.
///
/// Each event makes one line, with three exceptions. An incomplete character at the end of an event is held back until
/// the rest arrives; an event that contains only a part of a character makes no line. Very long text is split into
/// several lines with the same time. In version 2 an exit makes no line. Events are not merged; a caller that gets
/// output in small chunks may join the chunks of a few milliseconds.
#[derive(Debug)]
pub struct CastWriter {
    format: CastFormat,
    header: CastHeader,
    /// Time of the last line, in microseconds.
    written: u64,
    output: Utf8Decoder,
    input: Utf8Decoder,
}

impl CastWriter {
    /// Creates a writer. The first line to write is the [`header`](Self::header).
    pub fn new(format: CastFormat, header: CastHeader) -> Self {
        Self { format, header, written: 0, output: Utf8Decoder::default(), input: Utf8Decoder::default() }
    }

    /// Returns the header line, which must be written first.
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        let mut line = match self.format {
            CastFormat::V2 => header_v2(&self.header),
            CastFormat::V3 => header_v3(&self.header),
        };
        line.push('\n');
        line.into_bytes()
    }

    /// Returns the lines of an event at this time since the start. A time before the last event is replaced with the
    /// time of that event, since time never decreases in a recording.
    #[must_use]
    pub fn event(&mut self, at: Duration, event: CastEvent<'_>) -> Vec<u8> {
        let mut lines = String::new();
        match event {
            CastEvent::Output(bytes) => {
                let text = self.output.push(bytes);
                self.text(at, 'o', &text, &mut lines);
            }
            CastEvent::Input(bytes) => {
                let text = self.input.push(bytes);
                self.text(at, 'i', &text, &mut lines);
            }
            CastEvent::Resize(size) => self.line(at, 'r', &size.to_string(), &mut lines),
            CastEvent::Mark(label) => self.line(at, 'm', label, &mut lines),
            CastEvent::Exit(status) => {
                self.flush(at, &mut lines);
                if self.format == CastFormat::V3 {
                    self.line(at, 'x', &status.to_string(), &mut lines);
                }
            }
        }
        lines.into_bytes()
    }

    /// Returns the last lines, with incomplete characters that were held back.
    #[must_use]
    pub fn finish(&mut self, at: Duration) -> Vec<u8> {
        let mut lines = String::new();
        self.flush(at, &mut lines);
        lines.into_bytes()
    }

    fn flush(&mut self, at: Duration, lines: &mut String) {
        let (output, input) = (self.output.finish(), self.input.finish());
        self.text(at, 'o', &output, lines);
        self.text(at, 'i', &input, lines);
    }

    fn text(&mut self, at: Duration, code: char, text: &str, lines: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            let end = (0..=MAX_TEXT_BYTES.min(rest.len())).rev().find(|end| rest.is_char_boundary(*end));
            let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.line(at, code, piece, lines);
            rest = after;
        }
    }

    fn line(&mut self, at: Duration, code: char, data: &str, lines: &mut String) {
        let now = to_microseconds(at).max(self.written);
        let time = match self.format {
            CastFormat::V2 => now,
            // The absolute times are rounded, not the interval, so that the intervals add up to the exact time.
            CastFormat::V3 => now - self.written,
        };
        self.written = now;
        let (seconds, microseconds) = (time / 1_000_000, time % 1_000_000);
        lines.push_str(&format!("[{seconds}.{microseconds:06}, \"{code}\", "));
        json::push_string(data, lines);
        lines.push_str("]\n");
    }
}

fn header_v2(header: &CastHeader) -> String {
    let terminal_type = header.terminal_type.as_ref().map(|value| ("TERM", value));
    let others = header.environment.iter().map(|(name, value)| (name.as_str(), value));
    json::object([
        ("version", Some("2".to_owned())),
        ("width", Some(header.size.columns.to_string())),
        ("height", Some(header.size.rows.to_string())),
        ("timestamp", header.timestamp.map(|seconds| seconds.to_string())),
        ("idle_time_limit", header.idle_limit.map(seconds)),
        ("command", header.command.as_deref().map(json::string)),
        ("title", header.title.as_deref().map(json::string)),
        ("env", environment(others.chain(terminal_type))),
    ])
}

fn header_v3(header: &CastHeader) -> String {
    let terminal = json::object([
        ("cols", Some(header.size.columns.to_string())),
        ("rows", Some(header.size.rows.to_string())),
        ("type", header.terminal_type.as_deref().map(json::string)),
        ("version", header.terminal_version.as_deref().map(json::string)),
    ]);
    let tags = header.tags.iter().map(|tag| json::string(tag));
    json::object([
        ("version", Some("3".to_owned())),
        ("term", Some(terminal)),
        ("timestamp", header.timestamp.map(|seconds| seconds.to_string())),
        ("idle_time_limit", header.idle_limit.map(seconds)),
        ("command", header.command.as_deref().map(json::string)),
        ("title", header.title.as_deref().map(json::string)),
        ("env", environment(header.environment.iter().map(|(name, value)| (name.as_str(), value)))),
        ("tags", (!header.tags.is_empty()).then(|| json::array(tags))),
    ])
}

fn environment<'a>(variables: impl Iterator<Item = (&'a str, &'a String)>) -> Option<String> {
    let mut variables = variables.map(|(name, value)| (name, Some(json::string(value)))).peekable();
    variables.peek().is_some().then(|| json::object(variables))
}

fn seconds(time: Duration) -> String {
    time.as_secs_f64().to_string()
}
