//! When a frame is complete: a synchronized update that ended, or a burst of output that ended.

use std::time::{Duration, Instant};

/// Output is one burst as long as no pause in it is longer than this. Programs write a screen in several pieces, but
/// with less than a millisecond between them.
const PAUSE: Duration = Duration::from_millis(2);

/// A burst that goes on for longer is cut: who watches a program that never pauses must see it move.
const LONGEST_BURST: Duration = Duration::from_millis(40);

/// What some output did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Output {
    /// Synchronized updates that ended in it.
    pub updates: u32,
    /// Whether some of it was shown at once.
    pub loose: bool,
}

/// Counts frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    count: u64,
    last: Option<Instant>,
    burst: Option<(Instant, Instant)>,
}

impl Frames {
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn last(&self) -> Option<Instant> {
        self.last
    }

    /// Whether output has come that is not yet part of a frame.
    pub fn in_burst(&self) -> bool {
        self.burst.is_some()
    }

    /// Takes note of output; true when it completed a frame.
    pub fn output(&mut self, output: Output, now: Instant) -> bool {
        if output.loose {
            let started = self.burst.map_or(now, |(started, _)| started);
            self.burst = Some((started, now));
        }
        if output.updates > 0 {
            self.count += u64::from(output.updates);
            self.last = Some(now);
        }
        self.tick(now) || output.updates > 0
    }

    /// When the burst will be complete if nothing more comes.
    pub fn due(&self) -> Option<Instant> {
        self.burst.map(|(started, latest)| (latest + PAUSE).min(started + LONGEST_BURST))
    }

    /// Completes the burst if its time has come.
    pub fn tick(&mut self, now: Instant) -> bool {
        let due = self.due().is_some_and(|due| due <= now);
        if due {
            self.complete(now);
        }
        due
    }

    /// Completes the burst, if there is one: there will be no more output.
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

    const LOOSE: Output = Output { updates: 0, loose: true };

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_burst_is_one_frame_when_it_pauses() {
        let (mut frames, start) = (Frames::default(), Instant::now());
        assert!(!frames.output(LOOSE, start));
        assert!(!frames.output(LOOSE, start + ms(1)));
        assert!(!frames.tick(start + ms(2)));
        assert!(frames.tick(start + ms(3)));
        assert_eq!((frames.count(), frames.last()), (1, Some(start + ms(3))));
        assert!(!frames.tick(start + ms(100)));
    }

    #[test]
    fn a_synchronized_update_is_a_frame_at_once() {
        let (mut frames, start) = (Frames::default(), Instant::now());
        assert!(frames.output(Output { updates: 2, loose: false }, start));
        assert_eq!((frames.count(), frames.due()), (2, None));
    }

    #[test]
    fn output_without_pause_is_cut_into_frames() {
        let (mut frames, start) = (Frames::default(), Instant::now());
        for millisecond in 0..=200 {
            frames.output(LOOSE, start + ms(millisecond));
        }
        assert_eq!(frames.count(), 4);
    }
}
