//! Wait conditions such as `screen_contains "ready" and not reasoning_active`. A condition is parsed once and evaluated
//! each time the state of the session changes.
//!
//! | atom | true when |
//! |---|---|
//! | `message_count > 5` | the conversation has more than 5 messages; also `>=`, `<`, `<=`, `==` or `=`, `!=` |
//! | `frames > 5` | more than 5 frames were drawn; the same comparisons |
//! | `screen_contains "text"` | the screen contains the text; escapes as in JSON, single quotes are allowed |
//! | `screen_matches /regex/` | the screen matches; flags `i`, `s`, `m`, `x`; a `/` inside is written `\/` |
//! | `screen_stable 500` | the screen has not changed for 500 milliseconds; also `500ms`, `2s` |
//! | `cursor_at 0,3` | the cursor is in this column and row, both from 0 |
//! | `title_contains "text"` | the window title contains the text |
//! | `exited` | the program has exited |
//! | `reasoning_active`, `reasoning_complete` | a participant is reasoning; no participant is reasoning |
//! | `no_pending_operations` | no operation is waiting for an answer |
//! | `idle` | no agent is starting, working or waiting, and no prompt is queued |
//! | `question` | a question is open |
//!
//! Conditions are combined with `not`, `and`, `or` (or `!`, `&&`, `||`), in this order of precedence (highest first),
//! and with parentheses. Operators and the names of atoms are case-insensitive.

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
pub use parse::{
    MAX_COMPILED_PATTERN_BYTES, MAX_CONDITION_BYTES, MAX_NESTING_DEPTH, MAX_PATTERNS, MAX_STABLE_DURATION, ParseError,
};

/// State of a session against which conditions are evaluated.
pub trait Facts {
    /// Number of messages in the conversation.
    fn message_count(&self) -> u64;
    /// True if a participant is reasoning.
    fn reasoning_active(&self) -> bool;
    /// Number of operations that wait for an answer: the open questions.
    fn pending_operations(&self) -> u64;
    /// True if an agent is starting, working or waiting, or a prompt is queued.
    fn busy(&self) -> bool;
    /// Number of frames drawn so far.
    fn frames(&self) -> u64;
    /// Column and row of the cursor, from 0; `None` if there is no cursor.
    fn cursor(&self) -> Option<(u16, u16)>;
    /// Window title, if the program has set one.
    fn title(&self) -> Option<&str>;
    /// True if the program has exited.
    fn exited(&self) -> bool;
    /// Rows of the screen without trailing blanks, joined by `\n`. Called only if the result depends on the text. May
    /// be called several times for one evaluation: an implementation should cache the text.
    fn screen_text(&self) -> &str;
    /// Time since the last change of the screen; zero while output arrives.
    fn quiet_for(&self) -> Duration;
}

/// Parsed wait condition. [`Display`](fmt::Display) writes the canonical form. The canonical form parses to an equal
/// condition, unless it is longer than [`MAX_CONDITION_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    expression: Expression,
}

/// Tree of a condition. An `All` is never a direct child of an `All`, and an `Any` never of an `Any`. Conditions that
/// differ only in redundant parentheses therefore have equal trees.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Expression {
    Atom(Atom),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

impl Condition {
    /// Parses a condition. The error contains the position and the expected input.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        let expression = parse::parse(source)?;
        Ok(Self { expression })
    }

    /// Evaluates the condition in this state.
    #[must_use]
    pub fn holds(&self, facts: &(impl Facts + ?Sized)) -> bool {
        self.expression.holds(facts)
    }

    /// True if the evaluation may need the text of the screen.
    #[must_use]
    pub fn needs_screen(&self) -> bool {
        let mut needs = false;
        self.expression.visit(&mut |atom| {
            needs |= matches!(atom, Atom::ScreenContains(_) | Atom::ScreenMatches(_));
        });
        needs
    }

    /// True if the evaluation may need the time since the last change of the screen.
    #[must_use]
    pub fn needs_stability(&self) -> bool {
        let mut needs = false;
        self.expression.visit(&mut |atom| {
            needs |= matches!(atom, Atom::ScreenStable(_));
        });
        needs
    }

    /// Returns the first atom that needs a conversation: `idle`, `no_pending_operations` or `question`. For a terminal
    /// program, a wait with such an atom is refused.
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

    /// True if the evaluation may need the state of the terminal: text, cursor, title or number of frames.
    #[must_use]
    pub fn needs_terminal(&self) -> bool {
        let mut needs = self.needs_screen();
        self.expression.visit(&mut |atom| {
            needs |= matches!(atom, Atom::CursorAt { .. } | Atom::TitleContains(_) | Atom::Frames(_));
        });
        needs
    }

    /// True if the condition contains `exited`.
    #[must_use]
    pub fn asks_for_exit(&self) -> bool {
        let mut asks = false;
        self.expression.visit(&mut |atom| asks |= matches!(atom, Atom::Exited));
        asks
    }

    /// Returns the smallest `screen_stable` threshold above `quiet_for`; `None` if there is none. When the screen has
    /// been unchanged for that time, the result may change. No threshold exceeds [`MAX_STABLE_DURATION`].
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

    /// Returns the precedence of the operator. An operand with a lower precedence than the enclosing operator is
    /// written in parentheses.
    fn precedence(&self) -> u8 {
        match self {
            Self::Any(_) => 0,
            Self::All(_) => 1,
            Self::Not(_) | Self::Atom(_) => 2,
        }
    }

    fn write_within(&self, formatter: &mut fmt::Formatter<'_>, tightness: u8) -> fmt::Result {
        if self.precedence() < tightness { write!(formatter, "({self})") } else { write!(formatter, "{self}") }
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
            part.write_within(formatter, self.precedence() + 1)?;
        }
        Ok(())
    }
}
