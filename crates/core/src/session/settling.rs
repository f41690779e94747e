//! The stages of an interrupt. Unread input is discarded first. A program that was reading input is left alone until it
//! pauses: line editors notice a signal only while they wait for input. After the interrupt nothing is typed until the
//! program has written something and then been quiet, or for a second: line editors discard what they read before they have
//! handled it. A program that is quiet because it waits for a processor has not paused.

use std::time::{Duration, Instant};

/// Pause in the output after which the program is taken to have handled the interrupt.
pub const INTERRUPT_QUIET: Duration = Duration::from_millis(50);

/// Time after which a program that is silent, or that never pauses, is typed to if it has no unread input.
pub const INTERRUPT_SILENCE: Duration = Duration::from_secs(1);

/// First look at the unread input of a program that gets an interrupt as a byte. Nothing reports that a program has read:
/// each further look comes after twice the time, at most [`LONGEST_LOOK`].
const FIRST_LOOK: Duration = Duration::from_millis(20);

/// Longest time between two looks at the unread input.
const LONGEST_LOOK: Duration = Duration::from_millis(250);

/// Time after the last typed input in which a program is taken to be reading it.
const READING: Duration = Duration::from_secs(1);

/// Longest wait for a program that is reading input to pause.
const LONGEST_READING: Duration = Duration::from_millis(250);

/// The same for one that is quiet, but runs or waits for a processor.
const LONGEST_RUNNING: Duration = Duration::from_millis(750);

/// The byte that Ctrl-C types.
pub const CTRL_C: u8 = 0x03;

/// Stage of an interrupt.
#[derive(Debug)]
pub(super) enum Stage {
    /// Unread input is being discarded.
    Discarding {
        /// True if the program may be reading input that it got before.
        may_read: bool,
    },
    /// The same once more, without waiting for the program after that.
    DiscardingAgain,
    /// The program goes on with input that it has read, perhaps. `quiet_at` is when it has been quiet for long enough.
    Reading { since: Instant, quiet_at: Instant, runs: bool },
    /// The signal is being sent.
    Signalling,
    /// The program may not have handled the interrupt yet.
    Settling(Settling),
}

/// Next step after input was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Wait for the program to pause.
    Wait,
    /// Send the signal.
    Signal,
    /// Type the byte.
    Byte,
}

impl Stage {
    /// Discards input of a program to which something was last typed then; `queued` bytes are before its terminal.
    pub fn discarding(queued: usize, last_typed: Option<Instant>, now: Instant) -> Self {
        let may_read = queued > 0 || last_typed.is_some_and(|at| now < at + READING);
        Self::Discarding { may_read }
    }

    /// Input was discarded.
    pub fn discarded(&mut self, unread: UnreadInput, now: Instant) -> Next {
        let (stage, next) = match self {
            _ if !unread.signals => (Self::Settling(Settling::by_byte(now)), Next::Byte),
            Self::Discarding { may_read } if *may_read || unread.bytes > 0 => {
                (Self::Reading { since: now, quiet_at: now + INTERRUPT_QUIET, runs: false }, Next::Wait)
            }
            _ => (Self::Signalling, Next::Signal),
        };
        *self = stage;
        next
    }

    pub fn output(&mut self, now: Instant) {
        match self {
            Self::Reading { quiet_at, .. } => *quiet_at = now + INTERRUPT_QUIET,
            Self::Settling(settling) => settling.last_output = Some(now),
            Self::Discarding { .. } | Self::DiscardingAgain | Self::Signalling => {}
        }
    }

    /// True if a program that was reading is quiet, or has had the time: then it is looked at.
    pub fn is_quiet(&self, now: Instant) -> bool {
        matches!(self, Self::Reading { .. }) && self.wake_at().is_some_and(|at| now >= at)
    }

    /// True if a program that was reading has paused, as a look at it shows.
    pub fn has_paused(&mut self, unread: UnreadInput, now: Instant) -> bool {
        let Self::Reading { since, quiet_at, runs } = self else { return false };
        *runs = unread.runs;
        let waits = unread.runs && now < *since + LONGEST_RUNNING;
        if waits {
            *quiet_at = now + FIRST_LOOK;
        }
        !waits
    }

    pub fn wake_at(&self) -> Option<Instant> {
        match self {
            Self::Discarding { .. } | Self::DiscardingAgain | Self::Signalling => None,
            Self::Reading { since, quiet_at, runs } => {
                Some((*quiet_at).min(*since + if *runs { LONGEST_RUNNING } else { LONGEST_READING }))
            }
            Self::Settling(settling) => Some(settling.wake_at()),
        }
    }
}

/// Input that the program has not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadInput {
    /// Bytes that it could read now; 0 if that is not known.
    pub bytes: usize,
    /// True if Ctrl-C is a signal in the terminal's present mode.
    pub signals: bool,
    /// True if the program runs, or waits for a processor: it is not quiet because it has nothing to do.
    pub runs: bool,
}

/// Consequence of a look at the unread input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// Nothing yet.
    Wait,
    /// The byte was not read, and the program has switched signals on since: it must be interrupted again.
    Again,
}

/// An interrupt that the program may not have handled yet.
#[derive(Debug)]
pub(super) struct Settling {
    since: Instant,
    /// True if the program has the interrupt: a signal at once, a byte when it was read.
    delivered: bool,
    /// End of the last output since the interrupt was sent.
    last_output: Option<Instant>,
    look_at: Instant,
    next_pause: Duration,
    /// Earliest look at a program that is quiet.
    quiet_look_at: Instant,
    /// It was quiet after output, and not because it waited for a processor.
    paused: bool,
    /// Nothing was unread when the time of silence was over.
    silent: bool,
}

impl Settling {
    /// A signal was sent.
    pub fn by_signal(now: Instant) -> Self {
        Self::new(true, now)
    }

    /// The byte is written.
    fn by_byte(now: Instant) -> Self {
        Self::new(false, now)
    }

    fn new(delivered: bool, now: Instant) -> Self {
        let first = if delivered { INTERRUPT_SILENCE } else { FIRST_LOOK };
        Self {
            since: now,
            delivered,
            last_output: None,
            look_at: now + first,
            next_pause: FIRST_LOOK * 2,
            quiet_look_at: now,
            paused: false,
            silent: false,
        }
    }

    /// True if the program has the interrupt.
    pub fn delivered(&self) -> bool {
        self.delivered
    }

    /// True if something may be typed.
    pub fn is_over(&self) -> bool {
        self.delivered && (self.paused || self.silent)
    }

    fn is_quiet(&self, now: Instant) -> bool {
        self.last_output.is_some_and(|at| now >= at + INTERRUPT_QUIET)
    }

    /// True if nothing shows that the program goes on, though it had the time.
    pub fn is_late(&self, now: Instant) -> bool {
        now >= self.since + INTERRUPT_SILENCE
    }

    /// True if it is time to look at the unread input.
    pub fn must_look(&self, now: Instant) -> bool {
        let quiet = self.delivered && self.is_quiet(now) && now >= self.quiet_look_at;
        !self.is_over() && (quiet || now >= self.look_at)
    }

    pub fn wake_at(&self) -> Instant {
        let quiet =
            self.last_output.filter(|_| self.delivered).map(|at| (at + INTERRUPT_QUIET).max(self.quiet_look_at));
        quiet.map_or(self.look_at, |quiet| quiet.min(self.look_at))
    }

    /// Takes what a look has found; `queued` bytes of ours are before the terminal.
    pub fn looked(&mut self, unread: UnreadInput, queued: usize, now: Instant) -> Looked {
        let nothing_unread = unread.bytes == 0 && queued == 0;
        if !self.delivered && !nothing_unread && unread.signals {
            return Looked::Again;
        }
        self.delivered |= nothing_unread;
        self.paused = self.is_quiet(now) && (!unread.runs || self.is_late(now));
        self.silent = nothing_unread && self.is_late(now);
        self.quiet_look_at = now + FIRST_LOOK;
        if now < self.look_at {
            return Looked::Wait;
        }
        self.look_at =
            if self.delivered && !self.is_late(now) { self.since + INTERRUPT_SILENCE } else { now + self.next_pause };
        self.next_pause = (self.next_pause * 2).min(LONGEST_LOOK);
        Looked::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: UnreadInput = UnreadInput { bytes: 0, signals: true, runs: false };
    const RUNS: UnreadInput = UnreadInput { runs: true, ..NOTHING };

    fn after(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_program_that_was_reading_is_left_alone_until_it_pauses() {
        let start = Instant::now();
        for (queued, last_typed, waits) in
            [(1, None, true), (0, Some(start), true), (0, None, false), (0, Some(start - READING), false)]
        {
            let mut stage = Stage::discarding(queued, last_typed, start);
            let next = stage.discarded(NOTHING, start);
            assert_eq!(next, if waits { Next::Wait } else { Next::Signal }, "{queued} {last_typed:?}");
        }
        let mut stage = Stage::discarding(1, None, start);
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
        assert_eq!(Stage::discarding(1, None, start).discarded(raw, start), Next::Byte, "a byte is read in order");
    }

    #[test]
    fn it_is_over_when_the_program_pauses_after_output() {
        let start = Instant::now();
        let mut settling = Settling::by_signal(start);
        assert!(settling.delivered() && !settling.must_look(after(start, 500)));
        settling.last_output = Some(after(start, 540));
        assert_eq!(settling.wake_at(), after(start, 590));
        assert!(!settling.must_look(after(start, 589)) && settling.must_look(after(start, 590)));
        settling.looked(RUNS, 0, after(start, 590));
        assert!(!settling.is_over(), "it waits for a processor");
        assert_eq!(settling.wake_at(), after(start, 610));
        settling.looked(NOTHING, 0, after(start, 610));
        assert!(settling.is_over());
    }

    #[test]
    fn without_a_pause_it_is_over_after_a_second_if_nothing_is_unread() {
        let start = Instant::now();
        for output in [None, Some(after(start, 999))] {
            let mut settling = Settling::by_signal(start);
            settling.last_output = output;
            assert!(!settling.must_look(after(start, 999)) && settling.must_look(after(start, 1000)));
            settling.looked(UnreadInput { bytes: 5, ..NOTHING }, 0, after(start, 1000));
            assert!(!settling.silent && settling.look_at > after(start, 1000));
            settling.looked(NOTHING, 1, settling.look_at);
            assert!(!settling.silent, "our own queue counts too");
            let look_at = settling.look_at;
            settling.looked(NOTHING, 0, look_at);
            assert!(settling.is_over());
        }
    }

    #[test]
    fn a_byte_is_delivered_when_it_was_read_and_output_does_not_show_that() {
        let start = Instant::now();
        let mut settling = Settling::by_byte(start);
        settling.last_output = Some(after(start, 1));
        assert_eq!(settling.wake_at(), after(start, 20));
        let unread = UnreadInput { bytes: 1, signals: false, runs: false };
        assert_eq!(settling.looked(unread, 0, after(start, 20)), Looked::Wait);
        assert!(!settling.delivered() && !settling.is_over());
        let look_at = settling.look_at;
        assert_eq!(look_at, after(start, 60));
        settling.looked(UnreadInput { bytes: 0, signals: false, runs: false }, 0, look_at);
        assert!(settling.delivered() && settling.is_over());
    }

    #[test]
    fn a_byte_that_was_not_read_is_followed_by_a_signal_once_there_are_signals() {
        let start = Instant::now();
        let mut settling = Settling::by_byte(start);
        assert_eq!(settling.looked(UnreadInput { bytes: 1, ..NOTHING }, 0, after(start, 20)), Looked::Again);
    }
}
