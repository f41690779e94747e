//! Makes a recording, line by line. The caller owns the file and the clock.

use std::time::Duration;

use super::decoder::Decoder;
use super::{Format, Header, json, to_microseconds};
use crate::frame::Size;

/// Text beyond this many bytes goes on in another line, so that no line grows out of what readers take.
const LONGEST_TEXT: usize = 1 << 20;

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The program wrote this.
    Output(&'a [u8]),
    /// The program was sent this. It may be a password: record it only for someone who asked for it.
    Input(&'a [u8]),
    /// The terminal has another size.
    Resize(Size),
    /// A place to find again, with its name or without one.
    Mark(&'a str),
    /// The program has ended. Version 2 has no event for it: there nothing is written but what was held back.
    Exit(i32),
}

/// Turns what happened into the lines of a recording. Every answer is whole lines, to be appended in order: a file that
/// is cut between two answers is a valid recording.
///
/// One event makes one line, with two exceptions. A character that the output or input ends within is held back until
/// the rest of it comes, so an event that has nothing else makes no line; and very long text is cut into several lines of
/// the same time. Events are not merged: a caller that gets output in small pieces may join those of a few milliseconds.
#[derive(Debug)]
pub struct Writer {
    format: Format,
    header: Header,
    /// The time of the last line, in microseconds.
    written: u64,
    output: Decoder,
    input: Decoder,
}

impl Writer {
    /// A recording of which nothing is written yet.
    pub fn new(format: Format, header: Header) -> Self {
        Self { format, header, written: 0, output: Decoder::default(), input: Decoder::default() }
    }

    /// The first line.
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        let mut line = match self.format {
            Format::V2 => header_v2(&self.header),
            Format::V3 => header_v3(&self.header),
        };
        line.push('\n');
        line.into_bytes()
    }

    /// The lines for what happened `at` this long after the start. A time before the last one is taken for the last one:
    /// a recording does not go backwards.
    #[must_use]
    pub fn event(&mut self, at: Duration, event: Event<'_>) -> Vec<u8> {
        let mut lines = String::new();
        match event {
            Event::Output(bytes) => {
                let text = self.output.push(bytes);
                self.text(at, 'o', &text, &mut lines);
            }
            Event::Input(bytes) => {
                let text = self.input.push(bytes);
                self.text(at, 'i', &text, &mut lines);
            }
            Event::Resize(size) => self.line(at, 'r', &size.to_string(), &mut lines),
            Event::Mark(label) => self.line(at, 'm', label, &mut lines),
            Event::Exit(status) => {
                self.flush(at, &mut lines);
                if self.format == Format::V3 {
                    self.line(at, 'x', &status.to_string(), &mut lines);
                }
            }
        }
        lines.into_bytes()
    }

    /// The last lines: what was held back in the hope of the rest of a character.
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
            let end = (0..=LONGEST_TEXT.min(rest.len())).rev().find(|end| rest.is_char_boundary(*end));
            let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.line(at, code, piece, lines);
            rest = after;
        }
    }

    fn line(&mut self, at: Duration, code: char, data: &str, lines: &mut String) {
        let now = to_microseconds(at).max(self.written);
        let time = match self.format {
            Format::V2 => now,
            // Both ends are rounded, not the distance: the intervals add up to the time, however many they are.
            Format::V3 => now - self.written,
        };
        self.written = now;
        let (seconds, microseconds) = (time / 1_000_000, time % 1_000_000);
        lines.push_str(&format!("[{seconds}.{microseconds:06}, \"{code}\", "));
        json::push_string(data, lines);
        lines.push_str("]\n");
    }
}

fn header_v2(header: &Header) -> String {
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

fn header_v3(header: &Header) -> String {
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
