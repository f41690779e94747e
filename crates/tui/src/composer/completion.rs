//! What a word under the caret may become: a slash command, or a file after an `@`.

use wh_core::line::{Prefix, is_slash};

use super::fuzzy;

/// What is being written at the caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Whose names complete it.
    pub kind: TokenKind,
    /// Where it begins in the text, with its mark.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What is written of it up to the caret, without its mark.
    pub query: String,
    /// All of it, without its mark.
    pub word: String,
}

/// What a token names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A command: a `/` at the beginning of the text.
    Command,
    /// A file: an `@` at the beginning of a word.
    File,
    /// What a command is told: any other word of a text that begins with `/`.
    Argument,
}

impl TokenKind {
    /// What announces it.
    #[must_use]
    pub fn mark(self) -> &'static str {
        match self {
            Self::Command => Prefix::Command.as_str(),
            Self::File => Prefix::File.as_str(),
            Self::Argument => "",
        }
    }
}

/// The token that the caret is in.
pub(super) fn token(content: &str, caret: usize) -> Option<Token> {
    let (before, after) = (content.get(..caret)?, content.get(caret..)?);
    let start = before.rfind(char::is_whitespace).map_or(0, |blank| {
        let width = before[blank..].chars().next().map_or(1, char::len_utf8);
        blank + width
    });
    let end = caret + after.find(char::is_whitespace).unwrap_or(after.len());
    let (command, first) = (is_slash(content), content[..start].trim().is_empty());
    let kind = match Prefix::of_word(&content[start..]) {
        Some(Prefix::Command) if first => TokenKind::Command,
        Some(Prefix::File) => TokenKind::File,
        _ if command && !first => TokenKind::Argument,
        _ => return None,
    };
    let word = start + kind.mark().len();
    // With the caret before the mark nothing of it is written.
    let query = content.get(word..caret)?.to_owned();
    Some(Token { kind, start, end, query, word: content[word..end].to_owned() })
}

/// Something that a token may become.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidate {
    /// What is put in, without the mark: `help`, `src/main.rs`. One that ends with `/` can be completed further.
    pub value: String,
    /// What is said beside it: a command's arguments or purpose.
    pub hint: String,
}

impl Candidate {
    /// A candidate with something said beside it.
    #[must_use]
    pub fn new(value: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { value: value.into(), hint: hint.into() }
    }
}

/// The list of what fits, best first, and which one is selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    token: Token,
    candidates: Vec<Candidate>,
    selected: usize,
    chosen: bool,
}

impl Completion {
    /// As many are kept as anybody would look through.
    const MOST: usize = 50;

    /// Those of the candidates that fit the token; `None` if none does.
    #[must_use]
    pub fn new(token: Token, candidates: &[Candidate]) -> Option<Self> {
        let fitting = fuzzy::rank_by(&token.query, candidates, Self::MOST, |candidate| &candidate.value);
        let candidates: Vec<Candidate> = fitting.into_iter().cloned().collect();
        (!candidates.is_empty()).then_some(Self { token, candidates, selected: 0, chosen: false })
    }

    /// What is completed.
    #[must_use]
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// What fits, best first.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The place of the selected one among them.
    #[must_use]
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Selects the next, after the last the first.
    pub fn next(&mut self) {
        self.selected = (self.selected + 1) % self.candidates.len();
        self.chosen = true;
    }

    /// Selects the one before, before the first the last.
    pub fn previous(&mut self) {
        self.selected = self.selected.checked_sub(1).unwrap_or(self.candidates.len() - 1);
        self.chosen = true;
    }

    /// Whether somebody went through the list to the selected one.
    pub(super) fn is_chosen(&self) -> bool {
        self.chosen
    }

    /// Whether the token is written out as one of the candidates already.
    pub(super) fn is_complete(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.value == self.token.word)
    }

    pub(super) fn into_chosen(self) -> Option<Candidate> {
        let selected = self.selected;
        self.candidates.into_iter().nth(selected).filter(|_| self.chosen)
    }

    /// Selects this one again, if it still fits.
    pub(super) fn choose(&mut self, candidate: &Candidate) {
        if let Some(index) = self.candidates.iter().position(|other| other == candidate) {
            self.selected = index;
            self.chosen = true;
        }
    }

    /// The token, and what takes its place.
    pub(super) fn accept(self) -> Option<(Token, String)> {
        let candidate = self.candidates.into_iter().nth(self.selected)?;
        let space = if candidate.value.ends_with('/') { "" } else { " " };
        Some((self.token.clone(), format!("{}{}{space}", self.token.kind.mark(), candidate.value)))
    }
}
