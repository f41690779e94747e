//! Open waits of a session, and the evaluation of their conditions.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use super::{ScreenAccess, Ticket};
use crate::condition::{Condition, Facts};
use crate::space::state::SpaceGauges;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitResult {
    pub outcome: WaitOutcome,
    /// Duration of the wait.
    pub elapsed: Duration,
}

/// Reason why a wait has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitOutcome {
    Matched,
    /// The condition did not become true within the timeout.
    TimedOut,
    /// The program has exited, and the condition is false.
    Ended,
}

/// State of the session, apart from the screen, for the evaluation of waits.
pub(super) struct WaitContext {
    pub frames: u64,
    pub last_frame: Option<Instant>,
    pub in_burst: bool,
    /// True if no further output can arrive.
    pub over: bool,
    /// State of the conversation; the default values for a plain terminal program.
    pub gauges: SpaceGauges,
    /// True if a frame was completed since the last evaluation.
    pub changed: bool,
    pub now: Instant,
}

#[derive(Debug)]
struct Wait {
    ticket: Ticket,
    condition: Condition,
    since: Instant,
    deadline: Instant,
}

#[derive(Debug)]
pub(super) struct Waits {
    open: Vec<Wait>,
    /// Fingerprint of the screen after its last change; `None` if no wait needs the fingerprint.
    fingerprint: Option<u64>,
    changed_at: Instant,
    /// Time since the last change of the screen, measured at the latest evaluation.
    quiet: Duration,
}

impl Waits {
    pub fn new(now: Instant) -> Self {
        Self { open: Vec::new(), fingerprint: None, changed_at: now, quiet: Duration::ZERO }
    }

    pub fn count(&self) -> usize {
        self.open.len()
    }

    pub fn add(&mut self, ticket: Ticket, condition: Condition, now: Instant, timeout: Duration) {
        self.open.push(Wait { ticket, condition, since: now, deadline: now + timeout });
    }

    pub fn remove(&mut self, ticket: Ticket) {
        self.open.retain(|wait| wait.ticket != ticket);
    }

    /// Returns the earliest time at which a wait can end without another input: its timeout, or a `screen_stable`
    /// threshold. Within a burst of output, only timeouts count.
    pub fn wake_at(&self, in_burst: bool) -> Option<Instant> {
        let stable = |wait: &Wait| {
            let threshold = wait.condition.next_change(self.quiet);
            threshold.filter(|_| !in_burst).map(|threshold| self.changed_at + threshold)
        };
        self.open.iter().flat_map(|wait| [Some(wait.deadline), stable(wait)]).flatten().min()
    }

    /// Removes and returns the waits that are over: the condition is true, the timeout has passed, or the program has
    /// exited.
    pub fn settle(&mut self, seen: &WaitContext, view: &impl ScreenAccess) -> Vec<(Ticket, WaitResult)> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let quiet_for = self.quiet_for(seen, view);
        self.quiet = quiet_for;
        let now = WaitFacts { seen, view, quiet_for, text: OnceCell::new(), title: OnceCell::new() };
        let mut over = Vec::new();
        self.open.retain_mut(|wait| {
            let why = if wait.condition.holds(&now) {
                Some(WaitOutcome::Matched)
            } else if seen.over {
                Some(WaitOutcome::Ended)
            } else if seen.now >= wait.deadline {
                Some(WaitOutcome::TimedOut)
            } else {
                None
            };
            over.extend(why.map(|why| {
                (wait.ticket, WaitResult { outcome: why, elapsed: seen.now.saturating_duration_since(wait.since) })
            }));
            why.is_none()
        });
        if !self.open.iter().any(|wait| wait.condition.needs_stability()) {
            self.fingerprint = None;
        }
        over
    }

    /// Returns the time since the last change of the screen: zero during a burst of output or if no wait needs the
    /// time, [`Duration::MAX`] if no further output can arrive.
    fn quiet_for(&mut self, seen: &WaitContext, view: &impl ScreenAccess) -> Duration {
        if seen.over {
            return Duration::MAX;
        }
        if !self.open.iter().any(|wait| wait.condition.needs_stability()) {
            return Duration::ZERO;
        }
        match self.fingerprint {
            // No fingerprint yet: the screen has been unchanged at least since the last frame.
            None => {
                self.fingerprint = Some(view.fingerprint());
                self.changed_at = seen.last_frame.unwrap_or(self.changed_at);
            }
            Some(before) if seen.changed => {
                let look = view.fingerprint();
                if look != before {
                    self.fingerprint = Some(look);
                    self.changed_at = seen.now;
                }
            }
            Some(_) => {}
        }
        if seen.in_burst { Duration::ZERO } else { seen.now.saturating_duration_since(self.changed_at) }
    }
}

struct WaitFacts<'a, V> {
    seen: &'a WaitContext,
    view: &'a V,
    quiet_for: Duration,
    text: OnceCell<String>,
    title: OnceCell<Option<String>>,
}

impl<V: ScreenAccess> Facts for WaitFacts<'_, V> {
    fn message_count(&self) -> u64 {
        self.seen.gauges.messages
    }

    fn reasoning_active(&self) -> bool {
        self.seen.gauges.reasoning
    }

    fn busy(&self) -> bool {
        self.seen.gauges.busy
    }

    fn pending_operations(&self) -> u64 {
        self.seen.gauges.pending
    }

    fn frames(&self) -> u64 {
        self.seen.frames
    }

    fn cursor(&self) -> Option<(u16, u16)> {
        Some(self.view.cursor())
    }

    fn title(&self) -> Option<&str> {
        self.title.get_or_init(|| self.view.title()).as_deref()
    }

    fn exited(&self) -> bool {
        self.seen.over
    }

    fn screen_text(&self) -> &str {
        self.text.get_or_init(|| self.view.text())
    }

    fn quiet_for(&self) -> Duration {
        self.quiet_for
    }
}
