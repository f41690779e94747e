//! Recordings of a terminal as asciicast, versions [2] and [3]: a line of JSON that describes the terminal, then a line
//! for each thing that happened. [`Writer`] makes them, [`Cast`] reads them, [`screen_at`] shows a moment of one,
//! [`Playback`] says when to show what, [`PlayFilter`] what of it may reach a terminal. Pure: no file, no clock.
//!
//! ```
//! use std::time::Duration;
//! use wh_screen::cast::{Cast, Event, Format, Header, Writer, screen_at};
//! use wh_screen::{frame::Size, render};
//!
//! let mut writer = Writer::new(Format::V3, Header::new(Size { columns: 80, rows: 24 }));
//! let mut file = writer.header();
//! file.extend(writer.event(Duration::from_millis(1500), Event::Output(b"hello")));
//! file.extend(writer.event(Duration::from_secs(2), Event::Exit(0)));
//! file.extend(writer.finish(Duration::from_secs(2)));
//!
//! let cast = Cast::parse(&file[..])?;
//! assert_eq!(cast.duration(), Duration::from_secs(2));
//! let vt = screen_at(&cast, Duration::from_millis(1500), 0);
//! assert_eq!(render::plain(&vt.frame()).trim_end(), "hello");
//! # Ok::<(), wh_screen::cast::ReadError>(())
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
pub use self::playback::{InvalidSpeed, Playback, Speed, Step};
pub use self::reader::{Cast, Dropped, LONGEST_LINE, ReadError, Recorded, What};
pub use self::screen::screen_at;
pub use self::writer::{Event, Writer};
use crate::frame::Size;

/// Times in a recording are rounded to this.
pub const PRECISION: Duration = Duration::from_micros(1);

/// The version of asciicast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// What asciinema 2 writes, and most tools read. It has no exit status.
    V2,
    /// What asciinema 3 writes.
    #[default]
    V3,
}

/// What is known before anything happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The size at the start.
    pub size: Size,
    /// When the recording began, in seconds since 1970.
    pub timestamp: Option<u64>,
    /// No pause is to be played longer than this.
    pub idle_limit: Option<Duration>,
    /// The command that was recorded.
    pub command: Option<String>,
    /// What the recording is called.
    pub title: Option<String>,
    /// What the program was told that its terminal is: `TERM`.
    pub terminal_type: Option<String>,
    /// What the terminal says that it is. Version 2 has no place for it.
    pub terminal_version: Option<String>,
    /// Variables of the program's environment, without `TERM`. Recorders are asked to keep `SHELL` and no other that
    /// the user did not name: the environment holds secrets.
    pub environment: BTreeMap<String, String>,
    /// For finding it again. Version 2 has no place for them.
    pub tags: Vec<String>,
}

impl Header {
    /// Only what every recording must have.
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

/// The nearest time that a recording can hold, in microseconds. Keeps the order of times, so that what happened by a
/// moment is also recorded as having happened by it.
fn to_microseconds(time: Duration) -> u64 {
    u64::try_from((time.as_nanos() + 500) / 1000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
