//! Detection of complete frames. A frame is complete when a synchronized update or a burst of output has ended.

use std::time::{Duration, Instant};

/// Maximum gap between two pieces of output in the same burst. Programs write a screen in several pieces, less than a
/// millisecond apart.
const BURST_GAP_TIMEOUT: Duration = Duration::from_millis(2);

/// Maximum duration of a burst. A longer burst is split into several frames, because a program may never pause.
const MAX_BURST_DURATION: Duration = Duration::from_millis(40);

/// Frame boundaries in a piece of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameBoundaries {
    /// Number of synchronized updates that ended in the piece.
    pub updates: u32,
    /// True if a part of the piece was outside a synchronized update.
    pub unsynchronized: bool,
}

#[derive(Debug, Default)]
pub(super) struct FrameTracker {
    count: u64,
    last: Option<Instant>,
    burst: Option<(Instant, Instant)>,
}

impl FrameTracker {
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn last(&self) -> Option<Instant> {
        self.last
    }

    /// True if a burst of output is in progress.
    pub fn in_burst(&self) -> bool {
        self.burst.is_some()
    }

    /// Records a piece of output. Returns true if the piece completed a frame.
    pub fn output(&mut self, output: FrameBoundaries, now: Instant) -> bool {
        if output.unsynchronized {
            let started = self.burst.map_or(now, |(started, _)| started);
            self.burst = Some((started, now));
        }
        if output.updates > 0 {
            self.count += u64::from(output.updates);
            self.last = Some(now);
        }
        self.tick(now) || output.updates > 0
    }

    /// Returns the time at which the burst ends if no further output arrives.
    pub fn due(&self) -> Option<Instant> {
        self.burst.map(|(started, latest)| (latest + BURST_GAP_TIMEOUT).min(started + MAX_BURST_DURATION))
    }

    /// Ends the burst if the time of [`due`](Self::due) was reached. Returns true if it ended.
    pub fn tick(&mut self, now: Instant) -> bool {
        let due = self.due().is_some_and(|due| due <= now);
        if due {
            self.complete(now);
        }
        due
    }

    /// Ends the burst, if there is one, because no further output can arrive.
    pub fn complete(&mut self, now: Instant) {
        if self.burst.take().is_some() {
            self.count += 1;
            self.last = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOSE: FrameBoundaries = FrameBoundaries { updates: 0, unsynchronized: true };

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_burst_is_one_frame_when_it_pauses() {
        let (mut frames, start) = (FrameTracker::default(), Instant::now());
        assert!(!frames.output(LOOSE, start));
        assert!(!frames.output(LOOSE, start + ms(1)));
        assert!(!frames.tick(start + ms(2)));
        assert!(frames.tick(start + ms(3)));
        assert_eq!((frames.count(), frames.last()), (1, Some(start + ms(3))));
        assert!(!frames.tick(start + ms(100)));
    }

    #[test]
    fn a_synchronized_update_is_a_frame_at_once() {
        let (mut frames, start) = (FrameTracker::default(), Instant::now());
        assert!(frames.output(FrameBoundaries { updates: 2, unsynchronized: false }, start));
        assert_eq!((frames.count(), frames.due()), (2, None));
    }

    #[test]
    fn output_without_pause_is_cut_into_frames() {
        let (mut frames, start) = (FrameTracker::default(), Instant::now());
        for millisecond in 0..=200 {
            frames.output(LOOSE, start + ms(millisecond));
        }
        assert_eq!(frames.count(), 4);
    }
}
