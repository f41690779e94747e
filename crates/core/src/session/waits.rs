//! The open waits of a session: what each waits for, and whether it is over.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use super::{Ticket, View};
use crate::condition::{Condition, Facts};
use crate::space::state::Gauges;

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    /// Why it ended.
    pub why: Why,
    /// How long it took.
    pub elapsed: Duration,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// What it waited for holds.
    Matched,
    /// Its time is up.
    TimedOut,
    /// The program has ended, so it never will.
    Ended,
}

/// What is known beside the screen when waits are looked at.
pub(super) struct Seen {
    pub frames: u64,
    pub last_frame: Option<Instant>,
    pub in_burst: bool,
    /// Nothing more will come.
    pub over: bool,
    /// How the conversation stands; a plain terminal program has none.
    pub gauges: Gauges,
    /// A frame has been completed since the last time.
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
    /// What the screen looked like when it last changed; kept only while a wait asks for it.
    look: Option<u64>,
    changed_at: Instant,
    /// How long it had not changed when the waits were last looked at.
    quiet: Duration,
}

impl Waits {
    pub fn new(now: Instant) -> Self {
        Self { open: Vec::new(), look: None, changed_at: now, quiet: Duration::ZERO }
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

    /// When time alone may end a wait. While a burst goes on, its end comes first.
    pub fn wake_at(&self, in_burst: bool) -> Option<Instant> {
        let stable = |wait: &Wait| {
            let threshold = wait.condition.next_change(self.quiet);
            threshold.filter(|_| !in_burst).map(|threshold| self.changed_at + threshold)
        };
        self.open.iter().flat_map(|wait| [Some(wait.deadline), stable(wait)]).flatten().min()
    }

    /// Ends every wait that is over.
    pub fn settle(&mut self, seen: &Seen, view: &impl View) -> Vec<(Ticket, Waited)> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let quiet_for = self.quiet_for(seen, view);
        self.quiet = quiet_for;
        let now = Now { seen, view, quiet_for, text: OnceCell::new(), title: OnceCell::new() };
        let mut over = Vec::new();
        self.open.retain_mut(|wait| {
            let why = if wait.condition.holds(&now) {
                Some(Why::Matched)
            } else if seen.over {
                Some(Why::Ended)
            } else if seen.now >= wait.deadline {
                Some(Why::TimedOut)
            } else {
                None
            };
            over.extend(
                why.map(|why| (wait.ticket, Waited { why, elapsed: seen.now.saturating_duration_since(wait.since) })),
            );
            why.is_none()
        });
        if !self.open.iter().any(|wait| wait.condition.needs_stability()) {
            self.look = None;
        }
        over
    }

    /// How long the screen has looked as it does now.
    fn quiet_for(&mut self, seen: &Seen, view: &impl View) -> Duration {
        if seen.over {
            return Duration::MAX;
        }
        if !self.open.iter().any(|wait| wait.condition.needs_stability()) {
            return Duration::ZERO;
        }
        match self.look {
            // Nobody has looked so far: it has not changed since the last frame, at least.
            None => {
                self.look = Some(view.fingerprint());
                self.changed_at = seen.last_frame.unwrap_or(self.changed_at);
            }
            Some(before) if seen.changed => {
                let look = view.fingerprint();
                if look != before {
                    self.look = Some(look);
                    self.changed_at = seen.now;
                }
            }
            Some(_) => {}
        }
        if seen.in_burst { Duration::ZERO } else { seen.now.saturating_duration_since(self.changed_at) }
    }
}

struct Now<'a, V> {
    seen: &'a Seen,
    view: &'a V,
    quiet_for: Duration,
    text: OnceCell<String>,
    title: OnceCell<Option<String>>,
}

impl<V: View> Facts for Now<'_, V> {
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
