//! Completion of the word at the caret: a slash command, its argument, or a file after an `@`.

use wh_core::line::{Prefix, is_slash};

use super::fuzzy;

/// The word at the caret, if it can be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionToken {
    /// Kind of candidates that complete it.
    pub kind: TokenKind,
    /// Start offset in the text, including the mark.
    pub start: usize,
    /// End offset in the text.
    pub end: usize,
    /// The part between the mark and the caret.
    pub query: String,
    /// The whole word without its mark.
    pub word: String,
}

/// Kind of a [`CompletionToken`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A command: a `/` at the beginning of the text.
    Command,
    /// A file: an `@` at the beginning of a word.
    File,
    /// An argument: any later word of a text that begins with `/`.
    Argument,
}

impl TokenKind {
    /// The mark that begins a token of this kind.
    #[must_use]
    pub fn mark(self) -> &'static str {
        match self {
            Self::Command => Prefix::Command.as_str(),
            Self::File => Prefix::File.as_str(),
            Self::Argument => "",
        }
    }
}

/// Returns the token that contains the caret.
pub(super) fn token(content: &str, caret: usize) -> Option<CompletionToken> {
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
    // With the caret before the mark, there is nothing to complete.
    let query = content.get(word..caret)?.to_owned();
    Some(CompletionToken { kind, start, end, query, word: content[word..end].to_owned() })
}

/// Candidate for completing a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidate {
    /// The text to insert, without the mark: `help`, `src/main.rs`. A value that ends with `/` can be completed
    /// further.
    pub value: String,
    /// Text shown after the value: a command's arguments or purpose.
    pub hint: String,
}

impl Candidate {
    #[must_use]
    pub fn new(value: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { value: value.into(), hint: hint.into() }
    }
}

/// The list of matching candidates, best first, and the selection in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    token: CompletionToken,
    candidates: Vec<Candidate>,
    selected: usize,
    chosen: bool,
}

impl Completion {
    /// Maximum number of candidates that are stored.
    const MAX_CANDIDATES: usize = 50;

    /// Filters and ranks the candidates; `None` if none matches the token.
    #[must_use]
    pub fn new(token: CompletionToken, candidates: &[Candidate]) -> Option<Self> {
        let fitting = fuzzy::rank_by(&token.query, candidates, Self::MAX_CANDIDATES, |candidate| &candidate.value);
        let candidates: Vec<Candidate> = fitting.into_iter().cloned().collect();
        (!candidates.is_empty()).then_some(Self { token, candidates, selected: 0, chosen: false })
    }

    /// The token that is completed.
    #[must_use]
    pub fn token(&self) -> &CompletionToken {
        &self.token
    }

    /// The matching candidates, best first.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Index of the selected candidate.
    #[must_use]
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Selects the next candidate, wrapping around.
    pub fn next(&mut self) {
        self.selected = (self.selected + 1) % self.candidates.len();
        self.chosen = true;
    }

    /// Selects the previous candidate, wrapping around.
    pub fn previous(&mut self) {
        self.selected = self.selected.checked_sub(1).unwrap_or(self.candidates.len() - 1);
        self.chosen = true;
    }

    /// True if the user has moved the selection.
    pub(super) fn is_chosen(&self) -> bool {
        self.chosen
    }

    /// True if the token already equals one of the candidates.
    pub(super) fn is_complete(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.value == self.token.word)
    }

    pub(super) fn into_chosen(self) -> Option<Candidate> {
        let selected = self.selected;
        self.candidates.into_iter().nth(selected).filter(|_| self.chosen)
    }

    /// Selects this candidate again, if it still matches.
    pub(super) fn choose(&mut self, candidate: &Candidate) {
        if let Some(index) = self.candidates.iter().position(|other| other == candidate) {
            self.selected = index;
            self.chosen = true;
        }
    }

    /// Returns the token and its replacement.
    pub(super) fn accept(self) -> Option<(CompletionToken, String)> {
        let candidate = self.candidates.into_iter().nth(self.selected)?;
        let space = if candidate.value.ends_with('/') { "" } else { " " };
        Some((self.token.clone(), format!("{}{}{space}", self.token.kind.mark(), candidate.value)))
    }
}
