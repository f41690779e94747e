//! What somebody waits for: a sentence like `screen_contains "ready" and not reasoning_active`, read once and then asked
//! of the facts each time they change.
//!
//! | atom | holds when |
//! |---|---|
//! | `message_count > 5` | there are so many messages; also `>=`, `<`, `<=`, `==` or `=`, `!=` |
//! | `frames > 5` | so many frames were drawn; the same comparisons |
//! | `screen_contains "text"` | the screen shows the text; escapes as in JSON, single quotes as well |
//! | `screen_matches /regex/` | the screen matches; flags `i`, `s`, `m`, `x`; a `/` inside is written `\/` |
//! | `screen_stable 500` | the screen has not changed for so many milliseconds; also `500ms`, `2s` |
//! | `cursor_at 0,3` | the cursor is in this column and row, both from 0 |
//! | `title_contains "text"` | the window's title contains the text |
//! | `exited` | the program has ended |
//! | `reasoning_active`, `reasoning_complete` | somebody reasons; nobody does |
//! | `no_pending_operations` | nothing waits for an answer |
//! | `idle` | no agent is starting, at work or waiting, and no prompt waits for one |
//! | `question` | a question is open: somebody must answer |
//!
//! They are joined by `not`, `and`, `or` (or `!`, `&&`, `||`), which bind in this order, and by parentheses. Words may be
//! in any case.

mod atom;
mod parse;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod refusals;
mod scan;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use atom::Atom;
pub use parse::{LARGEST_PATTERN, LONGEST_CONDITION, LONGEST_STABLE, MOST_NESTED, MOST_PATTERNS, ParseError};

/// What a condition is asked of: how things stand now.
pub trait Facts {
    /// How many messages the conversation has.
    fn message_count(&self) -> u64;
    /// Whether somebody is reasoning.
    fn reasoning_active(&self) -> bool;
    /// How many operations wait for an answer.
    fn pending_operations(&self) -> u64;
    /// Whether an agent is starting, at work or waiting, or a prompt waits for one.
    fn busy(&self) -> bool;
    /// How many frames were drawn so far.
    fn frames(&self) -> u64;
    /// The cursor's column and row, from 0; `None` where there is no cursor.
    fn cursor(&self) -> Option<(u16, u16)>;
    /// The window's title, if the program has set one.
    fn title(&self) -> Option<&str>;
    /// Whether the program has ended.
    fn exited(&self) -> bool;
    /// The screen's rows without their trailing blanks, joined by `\n`. Asked for only if the answer depends on it, maybe
    /// more than once: build it at the first call and keep it.
    fn screen_text(&self) -> &str;
    /// How long the screen has not changed; zero while it changes.
    fn quiet_for(&self) -> Duration;
}

/// Something that can be waited for. [`Display`](fmt::Display) writes it in its canonical form, which reads back as an
/// equal condition unless it has outgrown [`LONGEST_CONDITION`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    expression: Expression,
}

/// A joint never stands directly in a joint of its own kind, so that equal sentences are equal trees.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Expression {
    Atom(Atom),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

impl Condition {
    /// Reads a condition; the error says where it stopped making sense and what belongs there.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        let expression = parse::parse(source)?;
        Ok(Self { expression })
    }

    /// Whether it holds, as things stand.
    #[must_use]
    pub fn holds(&self, facts: &(impl Facts + ?Sized)) -> bool {
        self.expression.holds(facts)
    }

    /// Whether the screen's text may be asked for.
    #[must_use]
    pub fn needs_screen(&self) -> bool {
        let mut needs = false;
        self.expression.visit(&mut |atom| {
            needs |= matches!(atom, Atom::ScreenContains(_) | Atom::ScreenMatches(_));
        });
        needs
    }

    /// Whether it may be asked how long the screen has been quiet.
    #[must_use]
    pub fn needs_stability(&self) -> bool {
        let mut needs = false;
        self.expression.visit(&mut |atom| {
            needs |= matches!(atom, Atom::ScreenStable(_));
        });
        needs
    }

    /// The first condition in it that only a conversation can decide: `idle`, `no_pending_operations` or `question`.
    /// The screen of a terminal program says nothing about it.
    #[must_use]
    pub fn conversation_only(&self) -> Option<&'static str> {
        let mut found = None;
        self.expression.visit(&mut |atom| {
            let name = match atom {
                Atom::Idle => Some("idle"),
                Atom::NoPendingOperations => Some("no_pending_operations"),
                Atom::Question => Some("question"),
                _ => None,
            };
            found = found.or(name);
        });
        found
    }

    /// Whether it may ask for anything that the terminal shows: text, cursor, title, frames.
    #[must_use]
    pub fn needs_terminal(&self) -> bool {
        let mut needs = self.needs_screen();
        self.expression.visit(&mut |atom| {
            needs |= matches!(atom, Atom::CursorAt { .. } | Atom::TitleContains(_) | Atom::Frames(_));
        });
        needs
    }

    /// Whether it asks if the program has ended.
    #[must_use]
    pub fn asks_for_exit(&self) -> bool {
        let mut asks = false;
        self.expression.visit(&mut |atom| asks |= matches!(atom, Atom::Exited));
        asks
    }

    /// When, with nothing else changing, the answer may change by time alone: the smallest `screen_stable` threshold
    /// above `quiet_for`. It is counted, as `quiet_for` is, from the screen's last change, not from now; it is never
    /// above [`LONGEST_STABLE`].
    #[must_use]
    pub fn next_change(&self, quiet_for: Duration) -> Option<Duration> {
        let mut next: Option<Duration> = None;
        self.expression.visit(&mut |atom| {
            if let Atom::ScreenStable(threshold) = atom
                && *threshold > quiet_for
            {
                next = Some(next.map_or(*threshold, |least| least.min(*threshold)));
            }
        });
        next
    }
}

impl FromStr for Condition {
    type Err = ParseError;

    fn from_str(source: &str) -> Result<Self, ParseError> {
        Self::parse(source)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(formatter)
    }
}

impl Expression {
    fn holds(&self, facts: &(impl Facts + ?Sized)) -> bool {
        match self {
            Self::Atom(atom) => atom.holds(facts),
            Self::Not(inner) => !inner.holds(facts),
            Self::All(parts) => parts.iter().all(|part| part.holds(facts)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(facts)),
        }
    }

    fn visit(&self, see: &mut dyn FnMut(&Atom)) {
        match self {
            Self::Atom(atom) => see(atom),
            Self::Not(inner) => inner.visit(see),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.visit(see)),
        }
    }

    /// How tightly it holds together; what holds less tightly than the place it stands in needs parentheses there.
    fn tightness(&self) -> u8 {
        match self {
            Self::Any(_) => 0,
            Self::All(_) => 1,
            Self::Not(_) | Self::Atom(_) => 2,
        }
    }

    fn write_within(&self, formatter: &mut fmt::Formatter<'_>, tightness: u8) -> fmt::Result {
        if self.tightness() < tightness { write!(formatter, "({self})") } else { write!(formatter, "{self}") }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, joint) = match self {
            Self::Atom(atom) => return atom.fmt(formatter),
            Self::Not(inner) => {
                formatter.write_str("not ")?;
                return inner.write_within(formatter, 2);
            }
            Self::All(parts) => (parts, " and "),
            Self::Any(parts) => (parts, " or "),
        };
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                formatter.write_str(joint)?;
            }
            part.write_within(formatter, self.tightness() + 1)?;
        }
        Ok(())
    }
}
