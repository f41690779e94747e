//! When to show what, for someone who watches a recording.

use std::time::Duration;

use super::{Cast, Recorded, What};

/// How many times faster than it was recorded: more than 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed(f64);

impl Speed {
    /// As it was recorded.
    pub const NORMAL: Self = Self(1.0);

    /// The speed, if it is one.
    pub fn new(times: f64) -> Option<Self> {
        (times.is_finite() && times > 0.0).then_some(Self(times))
    }

    fn shorten(self, time: Duration) -> Duration {
        Duration::try_from_secs_f64(time.as_secs_f64() / self.0).unwrap_or(Duration::MAX)
    }
}

/// A speed at which nothing can be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("speed {0:?} is not a number above 0; write for example 2 or 0.5")]
pub struct InvalidSpeed(pub String);

impl std::str::FromStr for Speed {
    type Err = InvalidSpeed;

    fn from_str(text: &str) -> Result<Self, InvalidSpeed> {
        text.parse().ok().and_then(Self::new).ok_or_else(|| InvalidSpeed(text.to_owned()))
    }
}

/// Something to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// How long to wait since the step before.
    pub delay: Duration,
    /// The same, since the start. Waiting for this moment keeps the time that showing takes from adding up.
    pub at: Duration,
    /// What the program wrote. Empty only in the last step, if the recording went on in silence.
    pub bytes: &'a [u8],
}

/// The steps of a recording, in order. Only output is shown; input, marks and the exit are not, nor are resizes: the
/// terminal that plays it has its own size.
#[derive(Debug, Clone)]
pub struct Playback<'a> {
    events: std::slice::Iter<'a, Recorded>,
    speed: Speed,
    idle_limit: Duration,
    /// What is left after the events.
    end: Option<Duration>,
    /// The last step's time as it was recorded.
    recorded: Duration,
    /// The last step's time as it is played.
    played: Duration,
}

impl<'a> Playback<'a> {
    /// Plays it from the start. No pause is longer than the idle limit, or without one than the recording's own, if it
    /// has one. The limit is in recorded time: at double speed the longest pause takes half of it.
    pub fn new(cast: &'a Cast, speed: Speed, idle_limit: Option<Duration>) -> Self {
        Self {
            events: cast.events.iter(),
            speed,
            idle_limit: idle_limit.or(cast.header.idle_limit).unwrap_or(Duration::MAX),
            end: Some(cast.duration()),
            recorded: Duration::ZERO,
            played: Duration::ZERO,
        }
    }

    fn step(&mut self, recorded: Duration, bytes: &'a [u8]) -> Step<'a> {
        let pause = recorded.saturating_sub(self.recorded).min(self.idle_limit);
        let delay = self.speed.shorten(pause);
        self.recorded = recorded;
        self.played = self.played.saturating_add(delay);
        Step { delay, at: self.played, bytes }
    }
}

impl<'a> Iterator for Playback<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        let output = self.events.find_map(|event| match &event.what {
            What::Output(text) => Some((event.at, text.as_bytes())),
            _ => None,
        });
        if let Some((at, bytes)) = output {
            return Some(self.step(at, bytes));
        }
        let end = self.end.take()?;
        (end > self.recorded).then(|| self.step(end, b""))
    }
}
