//! Playback schedule of a recording: the output to show, and the time at which to show each part.

use std::time::Duration;

use super::{Cast, EventContent, TimedEvent};

/// Playback speed as a factor above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlaybackSpeed(f64);

impl PlaybackSpeed {
    /// Recorded speed (factor 1).
    pub const NORMAL: Self = Self(1.0);

    /// Creates a speed; `None` unless the factor is finite and above 0.
    pub fn new(times: f64) -> Option<Self> {
        (times.is_finite() && times > 0.0).then_some(Self(times))
    }

    fn shorten(self, time: Duration) -> Duration {
        Duration::try_from_secs_f64(time.as_secs_f64() / self.0).unwrap_or(Duration::MAX)
    }
}

/// Error for text that is not a valid speed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid speed {0:?}; give a number above 0, such as 2 or 0.5")]
pub struct InvalidSpeed(pub String);

impl std::str::FromStr for PlaybackSpeed {
    type Err = InvalidSpeed;

    fn from_str(text: &str) -> Result<Self, InvalidSpeed> {
        text.parse().ok().and_then(Self::new).ok_or_else(|| InvalidSpeed(text.to_owned()))
    }
}

/// Output of the program to show at one time of the playback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaybackStep<'a> {
    /// Delay since the previous step.
    pub delay: Duration,
    /// Time since the start of the playback. A player should wait until this time. A player that waits for each `delay`
    /// is late, since the time to write the output adds up.
    pub at: Duration,
    /// Output of the program. Empty only in the last step, if the recording ended after a pause.
    pub bytes: &'a [u8],
}

/// Iterates over the steps of a recording, in order. Only output is played. Input, markers, the exit status and resizes
/// are skipped, since the playing terminal has its own size.
#[derive(Debug, Clone)]
pub struct Playback<'a> {
    events: std::slice::Iter<'a, TimedEvent>,
    speed: PlaybackSpeed,
    idle_limit: Duration,
    /// Time of the end of the recording; `None` after the last step.
    end: Option<Duration>,
    /// Recorded time of the last step.
    recorded: Duration,
    /// Playback time of the last step.
    played: Duration,
}

impl<'a> Playback<'a> {
    /// Creates the schedule from the beginning of the recording. Pauses are shortened to `idle_limit`; if it is `None`,
    /// to the limit in the recording's header. The limit is in recorded time: at double speed the longest pause takes
    /// half of the limit.
    pub fn new(cast: &'a Cast, speed: PlaybackSpeed, idle_limit: Option<Duration>) -> Self {
        Self {
            events: cast.events.iter(),
            speed,
            idle_limit: idle_limit.or(cast.header.idle_limit).unwrap_or(Duration::MAX),
            end: Some(cast.duration()),
            recorded: Duration::ZERO,
            played: Duration::ZERO,
        }
    }

    fn step(&mut self, recorded: Duration, bytes: &'a [u8]) -> PlaybackStep<'a> {
        let pause = recorded.saturating_sub(self.recorded).min(self.idle_limit);
        let delay = self.speed.shorten(pause);
        self.recorded = recorded;
        self.played = self.played.saturating_add(delay);
        PlaybackStep { delay, at: self.played, bytes }
    }
}

impl<'a> Iterator for Playback<'a> {
    type Item = PlaybackStep<'a>;

    fn next(&mut self) -> Option<PlaybackStep<'a>> {
        let output = self.events.find_map(|event| match &event.content {
            EventContent::Output(text) => Some((event.at, text.as_bytes())),
            _ => None,
        });
        if let Some((at, bytes)) = output {
            return Some(self.step(at, bytes));
        }
        let end = self.end.take()?;
        (end > self.recorded).then(|| self.step(end, b""))
    }
}
