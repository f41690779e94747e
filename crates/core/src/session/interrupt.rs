//! Stages of an interrupt: unread input is discarded, the interrupt is sent, and further input is held back until the
//! program has handled the interrupt.

use std::time::{Duration, Instant};

/// Time without output after which the program counts as quiet. An interrupt counts as handled when the program has
/// written output and is then quiet.
pub const INTERRUPT_QUIET_PERIOD: Duration = Duration::from_millis(50);

/// Time after which an interrupt counts as handled although the program wrote no output or never paused. Held input is
/// then sent, unless the program still has unread input.
pub const INTERRUPT_SILENCE_TIMEOUT: Duration = Duration::from_secs(1);

/// Delay of the first check for unread input after the Ctrl-C byte was written. No event reports that a program has
/// read its input: the check is repeated with doubled intervals, up to [`MAX_UNREAD_CHECK_INTERVAL`].
const FIRST_UNREAD_CHECK_DELAY: Duration = Duration::from_millis(20);

/// Maximum interval between two checks for unread input.
const MAX_UNREAD_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Period after the latest input in which the program may still be reading that input.
const READING_WINDOW: Duration = Duration::from_secs(1);

/// Maximum delay of an interrupt while the program may be reading and writes output without a pause.
const READING_PAUSE_TIMEOUT: Duration = Duration::from_millis(250);

/// Maximum delay of an interrupt while the program is quiet but still runs or waits for CPU time.
const RUNNABLE_PAUSE_TIMEOUT: Duration = Duration::from_millis(750);

/// Byte that Ctrl-C types in a terminal.
pub const CTRL_C: u8 = 0x03;

/// Stage of an interrupt in progress.
///
/// A line editor notices a signal only while it waits for input. If the program may still be reading, the interrupt is
/// therefore sent only when the program pauses. A line editor also discards input that arrives before it has handled
/// the interrupt. Further input is therefore held back until the program has written output and then been quiet, or
/// until a timeout. A program that is quiet only because it waits for CPU time does not count as paused.
#[derive(Debug)]
pub(super) enum InterruptStage {
    /// The input that the program has not read is being discarded.
    Discarding {
        /// True if the program may still be reading earlier input.
        may_read: bool,
    },
    /// Input is being discarded a second time. The interrupt then follows without waiting for a pause.
    DiscardingAgain,
    /// The program may still be processing earlier input. If it writes no output until `quiet_at`, it counts as quiet.
    Reading {
        since: Instant,
        quiet_at: Instant,
        runnable: bool,
    },
    Signalling,
    /// The interrupt was sent. The program may not have handled it yet.
    Settling(SentInterrupt),
}

/// Next step of an interrupt after input was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InterruptStep {
    Wait,
    /// Send the interrupt as a signal.
    Signal,
    /// Send the interrupt as the Ctrl-C byte.
    Byte,
}

impl InterruptStage {
    /// Creates the first stage of an interrupt. `queued` is the number of bytes not yet written to the terminal, and
    /// `last_typed` the time of the latest input.
    pub fn discarding(queued: usize, last_typed: Option<Instant>, now: Instant) -> Self {
        let may_read = queued > 0 || last_typed.is_some_and(|at| now < at + READING_WINDOW);
        Self::Discarding { may_read }
    }

    /// Moves to the next stage after input was discarded. Returns the next step.
    pub fn discarded(&mut self, unread: UnreadInput, now: Instant) -> InterruptStep {
        let (stage, next) = match self {
            _ if !unread.signals => (Self::Settling(SentInterrupt::by_byte(now)), InterruptStep::Byte),
            Self::Discarding { may_read } if *may_read || unread.bytes > 0 => (
                Self::Reading { since: now, quiet_at: now + INTERRUPT_QUIET_PERIOD, runnable: false },
                InterruptStep::Wait,
            ),
            _ => (Self::Signalling, InterruptStep::Signal),
        };
        *self = stage;
        next
    }

    pub fn output(&mut self, now: Instant) {
        match self {
            Self::Reading { quiet_at, .. } => *quiet_at = now + INTERRUPT_QUIET_PERIOD,
            Self::Settling(settling) => settling.last_output = Some(now),
            Self::Discarding { .. } | Self::DiscardingAgain | Self::Signalling => {}
        }
    }

    /// True in the stage `Reading` if the program has been quiet, or if the maximum delay is over. The caller must then
    /// check for unread input.
    pub fn is_quiet(&self, now: Instant) -> bool {
        matches!(self, Self::Reading { .. }) && self.wake_at().is_some_and(|at| now >= at)
    }

    /// Handles the result of a check in the stage `Reading`. Returns true if the program has paused or the maximum
    /// delay is over.
    pub fn has_paused(&mut self, unread: UnreadInput, now: Instant) -> bool {
        let Self::Reading { since, quiet_at, runnable } = self else { return false };
        *runnable = unread.runnable;
        let waits = unread.runnable && now < *since + RUNNABLE_PAUSE_TIMEOUT;
        if waits {
            *quiet_at = now + FIRST_UNREAD_CHECK_DELAY;
        }
        !waits
    }

    pub fn wake_at(&self) -> Option<Instant> {
        match self {
            Self::Discarding { .. } | Self::DiscardingAgain | Self::Signalling => None,
            Self::Reading { since, quiet_at, runnable } => {
                Some((*quiet_at).min(*since + if *runnable { RUNNABLE_PAUSE_TIMEOUT } else { READING_PAUSE_TIMEOUT }))
            }
            Self::Settling(settling) => Some(settling.wake_at()),
        }
    }
}

/// Number of bytes that the program has not read, and the state of the program when they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadInput {
    /// Number of unread bytes; 0 if it is unknown.
    pub bytes: usize,
    /// True if the current terminal mode converts Ctrl-C to a signal.
    pub signals: bool,
    /// True if the program runs or waits for CPU time. Such a program does not count as paused, even if it writes no
    /// output.
    pub runnable: bool,
}

/// Result of a check for unread input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnreadCheck {
    /// The interrupt waits for the next check.
    Wait,
    /// The program has not read the Ctrl-C byte, and the terminal mode now converts Ctrl-C to a signal. The interrupt
    /// must be sent again.
    Again,
}

/// State of an interrupt that was sent, until the program has handled it.
#[derive(Debug)]
pub(super) struct SentInterrupt {
    since: Instant,
    /// True if the interrupt reached the program. A signal reaches the program immediately, the Ctrl-C byte when the
    /// program has read it.
    delivered: bool,
    /// Time of the latest output since the interrupt was sent.
    last_output: Option<Instant>,
    check_at: Instant,
    check_interval: Duration,
    /// Earliest time of the next check while the program is quiet.
    quiet_check_at: Instant,
    /// True if the program was quiet after its output, and either was not runnable or the silence timeout had passed.
    paused: bool,
    /// True if the silence timeout has passed and the program had no unread input.
    silent: bool,
}

impl SentInterrupt {
    /// Creates the state after a signal was sent.
    pub fn by_signal(now: Instant) -> Self {
        Self::new(true, now)
    }

    /// Creates the state after the Ctrl-C byte was written.
    fn by_byte(now: Instant) -> Self {
        Self::new(false, now)
    }

    fn new(delivered: bool, now: Instant) -> Self {
        let first = if delivered { INTERRUPT_SILENCE_TIMEOUT } else { FIRST_UNREAD_CHECK_DELAY };
        Self {
            since: now,
            delivered,
            last_output: None,
            check_at: now + first,
            check_interval: FIRST_UNREAD_CHECK_DELAY * 2,
            quiet_check_at: now,
            paused: false,
            silent: false,
        }
    }

    pub fn delivered(&self) -> bool {
        self.delivered
    }

    /// True if the program has handled the interrupt and held input may be sent.
    pub fn is_over(&self) -> bool {
        self.delivered && (self.paused || self.silent)
    }

    fn is_quiet(&self, now: Instant) -> bool {
        self.last_output.is_some_and(|at| now >= at + INTERRUPT_QUIET_PERIOD)
    }

    pub fn is_late(&self, now: Instant) -> bool {
        now >= self.since + INTERRUPT_SILENCE_TIMEOUT
    }

    /// True if the caller must check for unread input now.
    pub fn must_check(&self, now: Instant) -> bool {
        let quiet = self.delivered && self.is_quiet(now) && now >= self.quiet_check_at;
        !self.is_over() && (quiet || now >= self.check_at)
    }

    pub fn wake_at(&self) -> Instant {
        let quiet = self
            .last_output
            .filter(|_| self.delivered)
            .map(|at| (at + INTERRUPT_QUIET_PERIOD).max(self.quiet_check_at));
        quiet.map_or(self.check_at, |quiet| quiet.min(self.check_at))
    }

    /// Handles the result of a check for unread input. `queued` is the number of bytes not yet written to the terminal.
    pub fn checked(&mut self, unread: UnreadInput, queued: usize, now: Instant) -> UnreadCheck {
        let nothing_unread = unread.bytes == 0 && queued == 0;
        if !self.delivered && !nothing_unread && unread.signals {
            return UnreadCheck::Again;
        }
        self.delivered |= nothing_unread;
        self.paused = self.is_quiet(now) && (!unread.runnable || self.is_late(now));
        self.silent = nothing_unread && self.is_late(now);
        self.quiet_check_at = now + FIRST_UNREAD_CHECK_DELAY;
        if now < self.check_at {
            return UnreadCheck::Wait;
        }
        self.check_at = if self.delivered && !self.is_late(now) {
            self.since + INTERRUPT_SILENCE_TIMEOUT
        } else {
            now + self.check_interval
        };
        self.check_interval = (self.check_interval * 2).min(MAX_UNREAD_CHECK_INTERVAL);
        UnreadCheck::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: UnreadInput = UnreadInput { bytes: 0, signals: true, runnable: false };
    const RUNS: UnreadInput = UnreadInput { runnable: true, ..NOTHING };

    fn after(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_program_that_was_reading_is_left_alone_until_it_pauses() {
        let start = Instant::now();
        for (queued, last_typed, waits) in
            [(1, None, true), (0, Some(start), true), (0, None, false), (0, Some(start - READING_WINDOW), false)]
        {
            let mut stage = InterruptStage::discarding(queued, last_typed, start);
            let next = stage.discarded(NOTHING, start);
            assert_eq!(
                next,
                if waits { InterruptStep::Wait } else { InterruptStep::Signal },
                "{queued} {last_typed:?}"
            );
        }
        let mut stage = InterruptStage::discarding(1, None, start);
        stage.discarded(NOTHING, start);
        assert_eq!(stage.wake_at(), Some(after(start, 50)));
        stage.output(after(start, 40));
        assert!(!stage.is_quiet(after(start, 89)) && stage.is_quiet(after(start, 90)));
        assert!(!stage.has_paused(RUNS, after(start, 90)), "it waits for a processor");
        assert!(!stage.is_quiet(after(start, 109)) && stage.is_quiet(after(start, 110)));
        stage.output(after(start, 700));
        assert!(stage.has_paused(RUNS, after(start, 750)), "it may never pause");
        assert!(stage.has_paused(NOTHING, after(start, 120)));
        let raw = UnreadInput { signals: false, ..NOTHING };
        assert_eq!(
            InterruptStage::discarding(1, None, start).discarded(raw, start),
            InterruptStep::Byte,
            "a byte is read in order"
        );
    }

    #[test]
    fn it_is_over_when_the_program_pauses_after_output() {
        let start = Instant::now();
        let mut settling = SentInterrupt::by_signal(start);
        assert!(settling.delivered() && !settling.must_check(after(start, 500)));
        settling.last_output = Some(after(start, 540));
        assert_eq!(settling.wake_at(), after(start, 590));
        assert!(!settling.must_check(after(start, 589)) && settling.must_check(after(start, 590)));
        settling.checked(RUNS, 0, after(start, 590));
        assert!(!settling.is_over(), "it waits for a processor");
        assert_eq!(settling.wake_at(), after(start, 610));
        settling.checked(NOTHING, 0, after(start, 610));
        assert!(settling.is_over());
    }

    #[test]
    fn without_a_pause_it_is_over_after_a_second_if_nothing_is_unread() {
        let start = Instant::now();
        for output in [None, Some(after(start, 999))] {
            let mut settling = SentInterrupt::by_signal(start);
            settling.last_output = output;
            assert!(!settling.must_check(after(start, 999)) && settling.must_check(after(start, 1000)));
            settling.checked(UnreadInput { bytes: 5, ..NOTHING }, 0, after(start, 1000));
            assert!(!settling.silent && settling.check_at > after(start, 1000));
            settling.checked(NOTHING, 1, settling.check_at);
            assert!(!settling.silent, "the queue of wh counts too");
            let check_at = settling.check_at;
            settling.checked(NOTHING, 0, check_at);
            assert!(settling.is_over());
        }
    }

    #[test]
    fn a_byte_is_delivered_when_it_was_read_and_output_does_not_show_that() {
        let start = Instant::now();
        let mut settling = SentInterrupt::by_byte(start);
        settling.last_output = Some(after(start, 1));
        assert_eq!(settling.wake_at(), after(start, 20));
        let unread = UnreadInput { bytes: 1, signals: false, runnable: false };
        assert_eq!(settling.checked(unread, 0, after(start, 20)), UnreadCheck::Wait);
        assert!(!settling.delivered() && !settling.is_over());
        let check_at = settling.check_at;
        assert_eq!(check_at, after(start, 60));
        settling.checked(UnreadInput { bytes: 0, signals: false, runnable: false }, 0, check_at);
        assert!(settling.delivered() && settling.is_over());
    }

    #[test]
    fn a_byte_that_was_not_read_is_followed_by_a_signal_once_there_are_signals() {
        let start = Instant::now();
        let mut settling = SentInterrupt::by_byte(start);
        assert_eq!(settling.checked(UnreadInput { bytes: 1, ..NOTHING }, 0, after(start, 20)), UnreadCheck::Again);
    }
}
