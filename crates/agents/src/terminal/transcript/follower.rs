//! Follows a transcript as it grows: line by line, through replacement, truncation and deletion, without polling and
//! without reading any byte twice.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::lines::{BufferedLine, LineBuffer, MAX_TRANSCRIPT_LINE_BYTES};
use super::watch::PathWatch;

/// Maximum number of bytes per read from a transcript.
const READ_BYTES: usize = 64 * 1024;

/// Change of a followed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowEvent {
    /// Complete line without its line terminator.
    Line(Vec<u8>),
    /// This number of bytes was skipped: a line over the limit, or the unfinished last line of a file that was
    /// replaced, truncated or deleted.
    Skipped { bytes: u64 },
    /// The file was opened, because it was created or replaced, or it is read from its start again, because it was
    /// truncated. All further lines are from this file.
    Opened,
    /// The file was deleted or moved away. It is followed again if it is created again.
    Gone,
}

/// Position at which a file is opened first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstPosition {
    Start,
    /// Line that contains the byte at this offset.
    LineAt(u64),
}

/// Open file and the position in it.
#[derive(Debug)]
struct FollowedFile {
    file: File,
    /// Device and inode of the file.
    identity: (u64, u64),
    /// Offset of the next byte to read.
    offset: u64,
}

/// Reads the lines of one file as it grows.
#[derive(Debug)]
pub struct TranscriptFollower {
    path: PathBuf,
    watch: PathWatch,
    first: FirstPosition,
    open: Option<FollowedFile>,
    lines: LineBuffer,
    /// Events that precede the next line.
    events: Vec<FollowEvent>,
}

impl TranscriptFollower {
    /// Follows a file from its first line. The file need not exist yet. Must be called within a tokio runtime.
    pub fn from_start(path: impl Into<PathBuf>) -> io::Result<Self> {
        Self::new(path.into(), FirstPosition::Start, MAX_TRANSCRIPT_LINE_BYTES)
    }

    /// Follows a file from its current end. An unfinished last line is returned once it is complete. If the file does
    /// not exist yet, follows it from its first line.
    pub fn from_end(path: impl Into<PathBuf>) -> io::Result<Self> {
        Self::from_tail(path, 0)
    }

    /// Follows a file from the line that contains the byte `max_bytes` before its current end, so that the newest lines
    /// of a long file can be read without the file's beginning.
    pub fn from_tail(path: impl Into<PathBuf>, max_bytes: u64) -> io::Result<Self> {
        let path = path.into();
        let first = match std::fs::metadata(&path) {
            Ok(facts) => FirstPosition::LineAt(facts.len().saturating_sub(max_bytes)),
            Err(_) => FirstPosition::Start,
        };
        Self::new(path, first, MAX_TRANSCRIPT_LINE_BYTES)
    }

    /// Follows a file from the line that contains the byte at this offset. A smaller file is followed from its start.
    pub fn from_offset(path: impl Into<PathBuf>, offset: u64) -> io::Result<Self> {
        Self::new(path.into(), FirstPosition::LineAt(offset), MAX_TRANSCRIPT_LINE_BYTES)
    }

    fn new(path: PathBuf, first: FirstPosition, max_line_bytes: usize) -> io::Result<Self> {
        let watch = PathWatch::new(&path)?;
        let lines = LineBuffer::new(max_line_bytes);
        let mut follower = Self { path, watch, first, open: None, lines, events: Vec::new() };
        // Opened at once, so that a replacement that follows is noticed.
        follower.open();
        Ok(follower)
    }

    /// Returns the path of the followed file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the next event. Cancel safe: no event is lost if the future is dropped.
    pub async fn next(&mut self) -> FollowEvent {
        loop {
            // A long file is read in one go. Other tasks of the thread must run meanwhile.
            tokio::task::consume_budget().await;
            if let Some(event) = self.buffered() {
                return event;
            }
            self.watch.arm();
            if let Some(event) = self.try_next() {
                return event;
            }
            if let Err(error) = self.watch.changed().await {
                tracing::warn!(path = %self.path.display(), %error, "cannot wait for changes of a transcript");
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns the next event that needs no waiting. `None` if the file has no more complete line now.
    pub fn try_next(&mut self) -> Option<FollowEvent> {
        loop {
            if let Some(event) = self.buffered() {
                return Some(event);
            }
            if !self.read() && !self.reopen() {
                return None;
            }
        }
    }

    fn buffered(&mut self) -> Option<FollowEvent> {
        if !self.events.is_empty() {
            return Some(self.events.remove(0));
        }
        self.lines.take().map(|line| match line {
            BufferedLine::Complete(line) => FollowEvent::Line(line),
            BufferedLine::TooLong(bytes) => FollowEvent::Skipped { bytes },
        })
    }

    /// Reads more of the open file. Returns false at the end of the file.
    fn read(&mut self) -> bool {
        let Some(open) = &mut self.open else { return false };
        let mut bytes = [0; READ_BYTES];
        loop {
            match open.file.read_at(&mut bytes, open.offset) {
                Ok(0) => return false,
                Ok(count) => {
                    open.offset += count as u64;
                    self.lines.push(&bytes[..count]);
                    return true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::debug!(path = %self.path.display(), %error, "cannot read a transcript");
                    return false;
                }
            }
        }
    }

    /// Checks if the path still names the open file. Returns true if there is an event or something to read.
    fn reopen(&mut self) -> bool {
        let facts = std::fs::metadata(&self.path).ok().filter(Metadata::is_file);
        let Some(open) = &mut self.open else { return facts.is_some() && self.open() };
        match facts {
            Some(facts) if (facts.dev(), facts.ino()) == open.identity => {
                if facts.len() >= open.offset {
                    return facts.len() > open.offset;
                }
                open.offset = 0;
                self.drop_unfinished();
                self.events.push(FollowEvent::Opened);
            }
            // Lines that were written before the file was replaced or deleted.
            _ if self.read() => {}
            facts => {
                self.open = None;
                self.drop_unfinished();
                if facts.is_none() || !self.open() {
                    self.events.push(FollowEvent::Gone);
                }
            }
        }
        true
    }

    fn drop_unfinished(&mut self) {
        let bytes = self.lines.reset();
        if bytes > 0 {
            self.events.push(FollowEvent::Skipped { bytes });
        }
    }

    /// Opens the file. Returns false if that is not possible.
    fn open(&mut self) -> bool {
        let opened = open_regular(&self.path);
        let (file, facts) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::debug!(path = %self.path.display(), %error, "cannot open a transcript");
                }
                // The position belongs to a file that existed at the beginning.
                self.first = FirstPosition::Start;
                return false;
            }
        };
        let offset = match std::mem::replace(&mut self.first, FirstPosition::Start) {
            FirstPosition::LineAt(offset) if offset <= facts.len() => self.line_start(&file, offset),
            FirstPosition::LineAt(_) | FirstPosition::Start => 0,
        };
        self.open = Some(FollowedFile { file, identity: (facts.dev(), facts.ino()), offset });
        self.events.push(FollowEvent::Opened);
        true
    }

    /// Returns the start of the line that contains the byte at `offset`. Reads backwards, at most the length of the
    /// longest line. Of a longer line only the rest is skipped.
    fn line_start(&mut self, file: &File, offset: u64) -> u64 {
        let limit = offset.saturating_sub(MAX_TRANSCRIPT_LINE_BYTES as u64);
        let mut end = offset;
        let mut bytes = [0; READ_BYTES];
        while end > limit {
            let start = end.saturating_sub(READ_BYTES as u64).max(limit);
            let chunk = &mut bytes[..(end - start) as usize];
            if file.read_exact_at(chunk, start).is_err() {
                return offset;
            }
            if let Some(place) = chunk.iter().rposition(|byte| *byte == b'\n') {
                return start + place as u64 + 1;
            }
            end = start;
        }
        if limit > 0 {
            self.lines.skip_rest_of_line();
            return offset;
        }
        0
    }
}

/// Opens a regular file. Opening a named pipe would block.
fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let file = File::open(path)?;
    let facts = file.metadata()?;
    Ok((file, facts))
}

#[cfg(test)]
mod tests;
