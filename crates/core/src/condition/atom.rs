//! Atoms: the conditions that contain no other condition. Evaluates atoms, and writes them as text.

use std::fmt::{self, Write};
use std::time::Duration;

use regex::Regex;

use super::Facts;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Atom {
    MessageCount(Comparison),
    Frames(Comparison),
    ScreenContains(String),
    ScreenMatches(Pattern),
    ScreenStable(Duration),
    CursorAt { x: u16, y: u16 },
    TitleContains(String),
    Exited,
    ReasoningActive,
    ReasoningComplete,
    NoPendingOperations,
    Idle,
    Question,
}

impl Atom {
    pub(super) fn holds(&self, facts: &(impl Facts + ?Sized)) -> bool {
        match self {
            Self::MessageCount(comparison) => comparison.holds(facts.message_count()),
            Self::Frames(comparison) => comparison.holds(facts.frames()),
            Self::ScreenContains(text) => facts.screen_text().contains(text.as_str()),
            Self::ScreenMatches(pattern) => pattern.regex.is_match(facts.screen_text()),
            Self::ScreenStable(threshold) => facts.quiet_for() >= *threshold,
            Self::CursorAt { x, y } => facts.cursor() == Some((*x, *y)),
            Self::TitleContains(text) => facts.title().is_some_and(|title| title.contains(text.as_str())),
            Self::Exited => facts.exited(),
            Self::ReasoningActive => facts.reasoning_active(),
            Self::ReasoningComplete => !facts.reasoning_active(),
            Self::NoPendingOperations => facts.pending_operations() == 0,
            Self::Idle => !facts.busy(),
            Self::Question => facts.pending_operations() > 0,
        }
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MessageCount(comparison) => write!(formatter, "message_count {comparison}"),
            Self::Frames(comparison) => write!(formatter, "frames {comparison}"),
            Self::ScreenContains(text) => write!(formatter, "screen_contains {}", Quoted(text)),
            Self::ScreenMatches(pattern) => write!(formatter, "screen_matches {pattern}"),
            Self::ScreenStable(threshold) => {
                write!(formatter, "screen_stable {}ms", threshold.as_millis())
            }
            Self::CursorAt { x, y } => write!(formatter, "cursor_at {x},{y}"),
            Self::TitleContains(text) => write!(formatter, "title_contains {}", Quoted(text)),
            Self::Exited => formatter.write_str("exited"),
            Self::ReasoningActive => formatter.write_str("reasoning_active"),
            Self::ReasoningComplete => formatter.write_str("reasoning_complete"),
            Self::NoPendingOperations => formatter.write_str("no_pending_operations"),
            Self::Idle => formatter.write_str("idle"),
            Self::Question => formatter.write_str("question"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) operator: Operator,
    pub(super) number: u64,
}

impl Comparison {
    fn holds(self, count: u64) -> bool {
        match self.operator {
            Operator::More => count > self.number,
            Operator::AtLeast => count >= self.number,
            Operator::Less => count < self.number,
            Operator::AtMost => count <= self.number,
            Operator::Equal => count == self.number,
            Operator::Unequal => count != self.number,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.operator.sign(), self.number)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    More,
    AtLeast,
    Less,
    AtMost,
    Equal,
    Unequal,
}

impl Operator {
    /// Comparison operators and their text. A longer operator comes before its prefix, for example `>=` before `>`, so
    /// that the first match is the longest.
    pub(super) const SIGNS: [(&str, Self); 7] = [
        (">=", Self::AtLeast),
        (">", Self::More),
        ("<=", Self::AtMost),
        ("<", Self::Less),
        ("==", Self::Equal),
        ("=", Self::Equal),
        ("!=", Self::Unequal),
    ];

    fn sign(self) -> &'static str {
        match self {
            Self::More => ">",
            Self::AtLeast => ">=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Equal => "==",
            Self::Unequal => "!=",
        }
    }
}

/// Compiled regular expression with its source. Two patterns are equal if their source and flags are equal.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub(super) source: String,
    pub(super) flags: PatternFlags,
    pub(super) regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.flags == other.flags
    }
}

impl Eq for Pattern {}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_char('/')?;
        // The parser has removed the backslash before each slash.
        formatter.write_str(&self.source.replace('/', "\\/"))?;
        formatter.write_char('/')?;
        for (flag, set) in self.flags.named() {
            if set {
                formatter.write_char(flag)?;
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PatternFlags {
    pub(super) ignore_case: bool,
    pub(super) multi_line: bool,
    pub(super) dot_matches_line_break: bool,
    pub(super) ignore_blanks: bool,
}

impl PatternFlags {
    fn named(self) -> [(char, bool); 4] {
        [('i', self.ignore_case), ('m', self.multi_line), ('s', self.dot_matches_line_break), ('x', self.ignore_blanks)]
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' => formatter.write_str("\\\"")?,
                '\\' => formatter.write_str("\\\\")?,
                '\n' => formatter.write_str("\\n")?,
                '\r' => formatter.write_str("\\r")?,
                '\t' => formatter.write_str("\\t")?,
                control if control.is_control() => {
                    write!(formatter, "\\u{:04x}", u32::from(control))?;
                }
                other => formatter.write_char(other)?,
            }
        }
        formatter.write_char('"')
    }
}
