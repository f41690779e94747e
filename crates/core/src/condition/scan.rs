//! Tokenizer of conditions: words, operators, numbers, string literals and patterns.

use super::ParseError;

/// Maximum number of characters of an unknown word in an error message.
const MAX_ECHOED_WORD_CHARS: usize = 40;

/// Truncates a word for an error message.
pub(super) fn echo(word: &str) -> String {
    let mut echoed: String = word.chars().take(MAX_ECHOED_WORD_CHARS).collect();
    if echoed.len() < word.len() {
        echoed.push('…');
    }
    echoed
}

/// Tokenizer of a condition. Skips blanks before each token.
pub(super) struct Tokenizer {
    characters: Vec<char>,
    position: usize,
}

impl Tokenizer {
    pub(super) fn new(source: &str) -> Self {
        Self { characters: source.chars().collect(), position: 0 }
    }

    /// Skips blanks, and returns the index of the next token, in characters from 0.
    pub(super) fn here(&mut self) -> usize {
        while self.peek().is_some_and(char::is_whitespace) {
            self.position += 1;
        }
        self.position
    }

    pub(super) fn at_end(&mut self) -> bool {
        self.here() == self.characters.len()
    }

    /// Consumes the next word, if there is one. Hyphens belong to the word, so that an error shows a name with hyphens
    /// completely.
    pub(super) fn word(&mut self) -> Option<String> {
        let (word, end) = self.word_ahead()?;
        self.position = end;
        Some(word)
    }

    /// Consumes the next word if it is `expected`, ignoring case. Returns true if it was consumed.
    pub(super) fn take_word(&mut self, expected: &str) -> bool {
        match self.word_ahead() {
            Some((word, end)) if word.eq_ignore_ascii_case(expected) => {
                self.position = end;
                true
            }
            _ => false,
        }
    }

    /// Consumes an operator or punctuation mark if it is next. Returns true if it was consumed.
    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let start = self.here();
        let mut end = start;
        for character in sign.chars() {
            if self.characters.get(end) != Some(&character) {
                return false;
            }
            end += 1;
        }
        self.position = end;
        true
    }

    /// Consumes a whole number, at most `largest`. `place` is the end of the error message, such as
    /// "for the column".
    pub(super) fn number(&mut self, place: &str, largest: u64) -> Result<u64, ParseError> {
        let start = self.here();
        let mut number = Some(0_u64);
        while let Some(digit) = self.peek().and_then(|character| character.to_digit(10)) {
            self.position += 1;
            number = number
                .and_then(|number| number.checked_mul(10)?.checked_add(digit.into()))
                .filter(|number| *number <= largest);
        }
        if self.position == start || self.peek() == Some('.') {
            let message = format!("expected a whole number {place}");
            return Err(ParseError::new(start, message));
        }
        number.ok_or_else(|| {
            let message = format!("the number is too large; give at most {largest}");
            ParseError::new(start, message)
        })
    }

    /// Consumes the time unit after a number, if there is one. Returns the milliseconds of one unit.
    pub(super) fn unit(&mut self) -> Result<Option<u64>, ParseError> {
        let adjacent = self.position;
        for (unit, milliseconds) in [("ms", 1), ("s", 1000)] {
            if self.take_word(unit) {
                return Ok(Some(milliseconds));
            }
        }
        match self.word_ahead() {
            Some((word, _)) if self.position == adjacent && !is_connective(&word) => {
                let message = format!("unknown unit {:?}; use ms or s", echo(&word));
                Err(ParseError::new(adjacent, message))
            }
            _ => Ok(None),
        }
    }

    /// Consumes a string literal with JSON escapes and returns its value. `name` is the atom that the error message
    /// names.
    pub(super) fn text(&mut self, name: &str) -> Result<String, ParseError> {
        let start = self.here();
        let Some(quote @ ('"' | '\'')) = self.next() else {
            let message = format!("expected a quoted text after `{name}`");
            return Err(ParseError::new(start, message));
        };
        let mut text = String::new();
        loop {
            let position = self.position;
            match self.next() {
                Some('\\') => text.push(self.escape(position)?),
                Some(character) if character == quote => break,
                Some(character) => text.push(character),
                None => {
                    let message = format!("the closing quotation mark is missing; end the text with {quote}");
                    return Err(ParseError::new(start, message));
                }
            }
        }
        if text.is_empty() {
            let message = format!("an empty text always matches; give `{name}` a text to find");
            return Err(ParseError::new(start, message));
        }
        Ok(text)
    }

    /// Consumes a pattern between slashes. Returns the pattern, and the flags after it with their positions.
    pub(super) fn pattern(&mut self) -> Result<(String, Vec<(usize, char)>), ParseError> {
        let start = self.here();
        if !self.take_sign("/") {
            let message = "expected a /pattern/ after `screen_matches`";
            return Err(ParseError::new(start, message));
        }
        let mut source = String::new();
        loop {
            match self.next() {
                Some('/') => break,
                Some('\\') => match self.next() {
                    Some('/') => source.push('/'),
                    Some(escaped) => source.extend(['\\', escaped]),
                    None => return Err(unclosed_pattern(start)),
                },
                Some(character) => source.push(character),
                None => return Err(unclosed_pattern(start)),
            }
        }
        if source.is_empty() {
            let message = "an empty pattern always matches; give `screen_matches` a pattern to find";
            return Err(ParseError::new(start, message));
        }
        let mut letters = Vec::new();
        while let Some(letter) = self.peek().filter(char::is_ascii_alphabetic) {
            letters.push((self.position, letter));
            self.position += 1;
        }
        Ok((source, letters))
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.position).copied()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.position += 1;
        Some(character)
    }

    fn word_ahead(&mut self) -> Option<(String, usize)> {
        let start = self.here();
        let rest = self.characters.get(start..)?;
        let starts = |character: &char| character.is_alphabetic() || *character == '_';
        if !rest.first().is_some_and(starts) {
            return None;
        }
        let continues = |character: &&char| character.is_alphanumeric() || matches!(character, '_' | '-');
        let word: String = rest.iter().take_while(continues).collect();
        let end = start + word.chars().count();
        Some((word, end))
    }

    /// Consumes the rest of an escape and returns its character. `position` is the index of the backslash.
    fn escape(&mut self, position: usize) -> Result<char, ParseError> {
        Ok(match self.next() {
            Some(itself @ ('"' | '\'' | '\\' | '/')) => itself,
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('u') => return self.unicode_escape(position),
            _ => {
                let message = r#"unknown escape; use \" \' \\ \/ \n \r \t \b \f or \uXXXX"#;
                return Err(ParseError::new(position, message));
            }
        })
    }

    /// Consumes the rest of a `\uXXXX` escape and returns its character. A character above U+FFFF needs two escapes, a
    /// surrogate pair.
    fn unicode_escape(&mut self, position: usize) -> Result<char, ParseError> {
        let unit = self.hexadecimal(position)?;
        let mut units = vec![unit];
        let paired = (0xd800..0xdc00).contains(&unit) && self.follows_immediately("\\u");
        if paired {
            units.push(self.hexadecimal(position)?);
        }
        let mut decoded = char::decode_utf16(units);
        match (decoded.next(), decoded.next()) {
            (Some(Ok(character)), None) => Ok(character),
            _ => {
                let message = r"incomplete surrogate pair; write both \uXXXX escapes, or the character itself";
                Err(ParseError::new(position, message))
            }
        }
    }

    fn hexadecimal(&mut self, position: usize) -> Result<u16, ParseError> {
        let digits: String = self.characters.iter().skip(self.position).take(4).collect();
        let complete = digits.len() == 4 && digits.chars().all(|digit| digit.is_ascii_hexdigit());
        match u16::from_str_radix(&digits, 16) {
            Ok(unit) if complete => {
                self.position += 4;
                Ok(unit)
            }
            _ => {
                let message = r"expected four hexadecimal digits after \u, as in \u00e9";
                Err(ParseError::new(position, message))
            }
        }
    }

    fn follows_immediately(&mut self, sign: &str) -> bool {
        let end = self.position + sign.chars().count();
        let follows = self.characters.get(self.position..end);
        let follows = follows.is_some_and(|found| found.iter().copied().eq(sign.chars()));
        if follows {
            self.position = end;
        }
        follows
    }
}

fn is_connective(word: &str) -> bool {
    word.eq_ignore_ascii_case("and") || word.eq_ignore_ascii_case("or")
}

fn unclosed_pattern(start: usize) -> ParseError {
    let message = r"the closing / is missing; end the pattern with /, and write a / inside the pattern as \/";
    ParseError::new(start, message)
}
