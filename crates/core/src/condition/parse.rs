//! Parser of conditions. The size of a condition is limited, because any client may send a condition, and the session
//! stores it and evaluates it often.

use std::time::Duration;

use regex::RegexBuilder;

use super::Expression;
use super::atom::{Atom, Comparison, Operator, Pattern, PatternFlags};
use super::scan::{Tokenizer, echo};
use crate::input::closest;

/// Maximum length of a condition in bytes.
pub const MAX_CONDITION_BYTES: usize = 4096;

/// Maximum nesting depth of parentheses and `not`. Parsing, evaluating and dropping a condition are recursive, so a
/// deeper condition could overflow the stack.
pub const MAX_NESTING_DEPTH: usize = 32;

/// Maximum size of a compiled pattern, and maximum size of the cache that the regex engine uses to match it. Without a
/// maximum, a short pattern such as `\w{1000}{1000}` would use all memory.
pub const MAX_COMPILED_PATTERN_BYTES: usize = 1 << 18;

/// Maximum number of patterns in a condition. Each pattern may need [`MAX_COMPILED_PATTERN_BYTES`].
pub const MAX_PATTERNS: usize = 8;

/// Maximum duration of `screen_stable`. A much longer duration could exceed the range of the clock.
pub const MAX_STABLE_DURATION: Duration = Duration::from_secs(24 * 60 * 60);

/// Error for a text that is not a valid condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at character {position}: {message}")]
pub struct ParseError {
    /// Position at which the error begins, in characters from 0. Equal to the length of the condition if more input was
    /// expected.
    pub position: usize,
    /// Description of the error and the expected input.
    pub message: String,
}

impl ParseError {
    pub(super) fn new(position: usize, message: impl Into<String>) -> Self {
        Self { position, message: message.into() }
    }
}

const ATOMS: [&str; 13] = [
    "message_count",
    "frames",
    "screen_contains",
    "screen_matches",
    "screen_stable",
    "cursor_at",
    "title_contains",
    "exited",
    "reasoning_active",
    "reasoning_complete",
    "no_pending_operations",
    "idle",
    "question",
];

pub(super) fn parse(source: &str) -> Result<Expression, ParseError> {
    if source.len() > MAX_CONDITION_BYTES {
        let length = source.len();
        let message = format!("the condition has {length} bytes; shorten it to at most {MAX_CONDITION_BYTES} bytes");
        return Err(ParseError::new(0, message));
    }
    let mut parser = Parser { scanner: Tokenizer::new(source), depth: 0, patterns: 0 };
    let expression = parser.any()?;
    parser.end()?;
    Ok(expression)
}

struct Parser {
    scanner: Tokenizer,
    depth: usize,
    patterns: usize,
}

impl Parser {
    fn any(&mut self) -> Result<Expression, ParseError> {
        let mut parts = vec![self.all()?];
        while self.scanner.take_word("or") || self.scanner.take_sign("||") {
            parts.push(self.all()?);
        }
        Ok(any_of(parts))
    }

    fn all(&mut self) -> Result<Expression, ParseError> {
        let mut parts = vec![self.unary()?];
        while self.scanner.take_word("and") || self.scanner.take_sign("&&") {
            parts.push(self.unary()?);
        }
        Ok(all_of(parts))
    }

    fn unary(&mut self) -> Result<Expression, ParseError> {
        let start = self.scanner.here();
        if self.scanner.take_word("not") || self.scanner.take_sign("!") {
            let inner = self.nested(start, Self::unary)?;
            return Ok(Expression::Not(Box::new(inner)));
        }
        if self.scanner.take_sign("(") {
            let inner = self.nested(start, Self::any)?;
            if !self.scanner.take_sign(")") {
                let expected = format!("`and`, `or`, or the `)` that closes the `(` at character {start}");
                return Err(self.connective_expected(&expected));
            }
            return Ok(inner);
        }
        self.atom().map(Expression::Atom)
    }

    fn nested<T>(
        &mut self,
        start: usize,
        read: impl FnOnce(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        if self.depth == MAX_NESTING_DEPTH {
            let message = format!(
                "the condition nests parentheses and `not` deeper than {MAX_NESTING_DEPTH} levels; simplify it"
            );
            return Err(ParseError::new(start, message));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn end(&mut self) -> Result<(), ParseError> {
        if self.scanner.at_end() {
            return Ok(());
        }
        Err(self.connective_expected("`and`, `or`, or the end of the condition"))
    }

    fn connective_expected(&mut self, expected: &str) -> ParseError {
        let position = self.scanner.here();
        let found = self.scanner.word().unwrap_or_default();
        let message = match closest(&found, ["and", "or"]) {
            Some(joint) => format!("expected {expected}; did you mean `{joint}`?"),
            None => format!("expected {expected}"),
        };
        ParseError::new(position, message)
    }

    fn atom(&mut self) -> Result<Atom, ParseError> {
        let position = self.scanner.here();
        let Some(word) = self.scanner.word() else {
            let message = "expected a condition, such as `message_count > 5`";
            return Err(ParseError::new(position, message));
        };
        let name = word.to_ascii_lowercase();
        Ok(match name.as_str() {
            "message_count" => Atom::MessageCount(self.comparison(&name)?),
            "frames" => Atom::Frames(self.comparison(&name)?),
            "screen_contains" => Atom::ScreenContains(self.scanner.text(&name)?),
            "title_contains" => Atom::TitleContains(self.scanner.text(&name)?),
            "screen_matches" => Atom::ScreenMatches(self.pattern()?),
            "screen_stable" => Atom::ScreenStable(self.duration()?),
            "cursor_at" => self.cell()?,
            "exited" => Atom::Exited,
            "reasoning_active" => Atom::ReasoningActive,
            "reasoning_complete" => Atom::ReasoningComplete,
            "no_pending_operations" => Atom::NoPendingOperations,
            "idle" => Atom::Idle,
            "question" => Atom::Question,
            _ => return Err(unknown(position, &word)),
        })
    }

    fn comparison(&mut self, name: &str) -> Result<Comparison, ParseError> {
        let position = self.scanner.here();
        let mut signs = Operator::SIGNS.iter();
        let Some((sign, operator)) = signs.find(|(sign, _)| self.scanner.take_sign(sign)) else {
            let message = format!("expected >, >=, <, <=, == or != after `{name}`");
            return Err(ParseError::new(position, message));
        };
        let after = format!("after `{name} {sign}`");
        let number = self.scanner.number(&after, u64::MAX)?;
        Ok(Comparison { operator: *operator, number })
    }

    fn duration(&mut self) -> Result<Duration, ParseError> {
        let after = "of milliseconds after `screen_stable`";
        let position = self.scanner.here();
        let number = self.scanner.number(after, u64::MAX)?;
        let milliseconds = match self.scanner.unit()? {
            Some(per_unit) => number.saturating_mul(per_unit),
            None => number,
        };
        let duration = Duration::from_millis(milliseconds);
        if duration > MAX_STABLE_DURATION {
            let message = "`screen_stable` accepts at most one day (86400s); use a shorter time";
            return Err(ParseError::new(position, message));
        }
        Ok(duration)
    }

    fn cell(&mut self) -> Result<Atom, ParseError> {
        let largest = u64::from(u16::MAX);
        let x = self.scanner.number("for the column after `cursor_at`", largest)?;
        let position = self.scanner.here();
        if !self.scanner.take_sign(",") {
            let message = "expected a comma and the row, as in `cursor_at 0,3`";
            return Err(ParseError::new(position, message));
        }
        let y = self.scanner.number("for the row after `cursor_at`", largest)?;
        match (u16::try_from(x), u16::try_from(y)) {
            (Ok(x), Ok(y)) => Ok(Atom::CursorAt { x, y }),
            _ => Err(ParseError::new(position, "the column and the row must be at most 65535")),
        }
    }

    fn pattern(&mut self) -> Result<Pattern, ParseError> {
        let position = self.scanner.here();
        let (source, letters) = self.scanner.pattern()?;
        let flags = flags(&letters)?;
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            let message =
                format!("a condition may have at most {MAX_PATTERNS} patterns; combine several into one with |");
            return Err(ParseError::new(position, message));
        }
        let regex = RegexBuilder::new(&source)
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .dot_matches_new_line(flags.dot_matches_line_break)
            .ignore_whitespace(flags.ignore_blanks)
            .size_limit(MAX_COMPILED_PATTERN_BYTES)
            .dfa_size_limit(MAX_COMPILED_PATTERN_BYTES)
            .build()
            .map_err(|error| ParseError::new(position, regex_message(&error)))?;
        Ok(Pattern { source, flags, regex })
    }
}

fn any_of(parts: Vec<Expression>) -> Expression {
    let flat = parts.into_iter().flat_map(|part| match part {
        Expression::Any(inner) => inner,
        other => vec![other],
    });
    joined(flat.collect(), Expression::Any)
}

fn all_of(parts: Vec<Expression>) -> Expression {
    let flat = parts.into_iter().flat_map(|part| match part {
        Expression::All(inner) => inner,
        other => vec![other],
    });
    joined(flat.collect(), Expression::All)
}

fn joined(mut parts: Vec<Expression>, join: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            join(parts)
        }
    }
}

fn flags(letters: &[(usize, char)]) -> Result<PatternFlags, ParseError> {
    let mut flags = PatternFlags::default();
    for (position, letter) in letters {
        match letter {
            'i' => flags.ignore_case = true,
            'm' => flags.multi_line = true,
            's' => flags.dot_matches_line_break = true,
            'x' => flags.ignore_blanks = true,
            _ => {
                let message =
                    format!("unknown flag `{letter}`; use i, m, s or x, and write a space after the last flag");
                return Err(ParseError::new(*position, message));
            }
        }
    }
    Ok(flags)
}

/// Returns the message of a regex error: only the last line, because the lines before it show the pattern.
fn regex_message(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("the compiled pattern takes more than {limit} bytes; use smaller repetition counts or shorten it")
        }
        other => {
            let drawn = other.to_string();
            let reason = drawn.rsplit("error: ").next().unwrap_or(&drawn).trim();
            format!("the pattern is not a valid regular expression: {reason}")
        }
    }
}

fn unknown(position: usize, word: &str) -> ParseError {
    let known = ATOMS.into_iter().chain(["not"]);
    let advice = match closest(word, known) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("use one of {}", ATOMS.join(", ")),
    };
    ParseError::new(position, format!("unknown condition {:?}; {advice}", echo(word)))
}
