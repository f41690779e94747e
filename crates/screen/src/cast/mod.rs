//! Terminal recordings in asciicast versions [2] and [3]: a header line of JSON, then a line for each event.
//! [`CastWriter`] writes them, [`Cast`] reads them, [`screen_at`] reconstructs the screen at a time, [`Playback`]
//! schedules the output and [`PlayFilter`] makes it safe for a terminal. Pure: no file, no clock.
//!
//! ```
//! use std::time::Duration;
//! use wh_screen::cast::{Cast, CastEvent, CastFormat, CastHeader, CastWriter, screen_at};
//! use wh_screen::{frame::Size, render};
//!
//! let mut writer = CastWriter::new(CastFormat::V3, CastHeader::new(Size { columns: 80, rows: 24 }));
//! let mut file = writer.header();
//! file.extend(writer.event(Duration::from_millis(1500), CastEvent::Output(b"hello")));
//! file.extend(writer.event(Duration::from_secs(2), CastEvent::Exit(0)));
//! file.extend(writer.finish(Duration::from_secs(2)));
//!
//! let cast = Cast::parse(&file[..])?;
//! assert_eq!(cast.duration(), Duration::from_secs(2));
//! let vt = screen_at(&cast, Duration::from_millis(1500), 0);
//! assert_eq!(render::plain(&vt.frame()).trim_end(), "hello");
//! # Ok::<(), wh_screen::cast::CastReadError>(())
//! ```
//!
//! [2]: https://docs.asciinema.org/manual/asciicast/v2/
//! [3]: https://docs.asciinema.org/manual/asciicast/v3/

mod decoder;
mod filter;
mod json;
mod playback;
mod reader;
mod screen;
mod writer;

use std::collections::BTreeMap;
use std::time::Duration;

pub use self::filter::PlayFilter;
pub use self::playback::{InvalidSpeed, Playback, PlaybackSpeed, PlaybackStep};
pub use self::reader::{Cast, CastReadError, EventContent, MAX_CAST_LINE_BYTES, TimedEvent, TruncatedLine};
pub use self::screen::screen_at;
pub use self::writer::{CastEvent, CastWriter};
use crate::frame::Size;

/// Interval to which times in a recording are rounded.
pub const TIME_ROUNDING_INTERVAL: Duration = Duration::from_micros(1);

/// Version of the asciicast format, 2 or 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CastFormat {
    /// Written by asciinema 2 and supported by most tools. The format has no event for the exit status.
    V2,
    /// Written by asciinema 3.
    #[default]
    V3,
}

/// Metadata of a recording, written as its first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CastHeader {
    /// Initial size of the terminal.
    pub size: Size,
    /// Start of the recording, in seconds since 1970.
    pub timestamp: Option<u64>,
    /// Maximum pause during playback.
    pub idle_limit: Option<Duration>,
    /// Command that was recorded.
    pub command: Option<String>,
    pub title: Option<String>,
    /// Value of `TERM` in the program's environment.
    pub terminal_type: Option<String>,
    /// Name and version that the terminal reports. Written only in version 3.
    pub terminal_version: Option<String>,
    /// Variables of the program's environment, without `TERM`. Recorders should include only `SHELL` and variables that
    /// the user named, since the environment holds secrets.
    pub environment: BTreeMap<String, String>,
    /// Tags for search. Written only in version 3.
    pub tags: Vec<String>,
}

impl CastHeader {
    /// Creates a header with the required fields only.
    pub fn new(size: Size) -> Self {
        Self {
            size,
            timestamp: None,
            idle_limit: None,
            command: None,
            title: None,
            terminal_type: None,
            terminal_version: None,
            environment: BTreeMap::new(),
            tags: Vec::new(),
        }
    }
}

/// Rounds a time to microseconds. Rounding preserves the order of times.
fn to_microseconds(time: Duration) -> u64 {
    u64::try_from((time.as_nanos() + 500) / 1000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
