//! Completion of the word at the caret: a slash command, an argument of the command, or a file name after `@`.

use wh_core::line::{LinePrefix, is_slash};

use super::fuzzy;

/// Word at the caret that can be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionToken {
    /// Kind of candidates that can complete the word.
    pub kind: TokenKind,
    /// Offset in the text at which the word begins, including its mark (`/` or `@`).
    pub start: usize,
    /// Offset in the text at which the word ends.
    pub end: usize,
    /// Part of the word between the mark and the caret.
    pub query: String,
    /// Word without the mark.
    pub word: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Name of a command: the first word of the text, if the word begins with `/`.
    Command,
    /// Name of a file: a word that begins with `@`.
    File,
    /// Argument of a command: any later word of a text that begins with `/`.
    Argument,
}

impl TokenKind {
    /// Returns the mark with which a token of this kind begins.
    #[must_use]
    pub fn mark(self) -> &'static str {
        match self {
            Self::Command => LinePrefix::Command.as_str(),
            Self::File => LinePrefix::File.as_str(),
            Self::Argument => "",
        }
    }
}

/// Returns the token at the caret; `None` if there is nothing to complete.
pub(super) fn token(content: &str, caret: usize) -> Option<CompletionToken> {
    let (before, after) = (content.get(..caret)?, content.get(caret..)?);
    let start = before.rfind(char::is_whitespace).map_or(0, |blank| {
        let width = before[blank..].chars().next().map_or(1, char::len_utf8);
        blank + width
    });
    let end = caret + after.find(char::is_whitespace).unwrap_or(after.len());
    let (command, first) = (is_slash(content), content[..start].trim().is_empty());
    let kind = match LinePrefix::of_word(&content[start..]) {
        Some(LinePrefix::Command) if first => TokenKind::Command,
        Some(LinePrefix::File) => TokenKind::File,
        _ if command && !first => TokenKind::Argument,
        _ => return None,
    };
    let word = start + kind.mark().len();
    // If the caret is before the mark, there is nothing to complete.
    let query = content.get(word..caret)?.to_owned();
    Some(CompletionToken { kind, start, end, query, word: content[word..end].to_owned() })
}

/// Text that can complete a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionCandidate {
    /// Text to insert, without the mark, such as `help` or `src/main.rs`. If the value ends with `/`, completion
    /// continues after inserting it.
    pub value: String,
    /// Text shown after the value, such as the arguments of a command.
    pub hint: String,
}

impl CompletionCandidate {
    #[must_use]
    pub fn new(value: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { value: value.into(), hint: hint.into() }
    }
}

/// Candidates that match the token, best first, and the selected candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    token: CompletionToken,
    candidates: Vec<CompletionCandidate>,
    selected: usize,
    chosen: bool,
}

impl Completion {
    /// Maximum number of candidates that are retained after ranking.
    const MAX_CANDIDATES: usize = 50;

    /// Filters and ranks the candidates. Returns `None` if no candidate matches the token.
    #[must_use]
    pub fn new(token: CompletionToken, candidates: &[CompletionCandidate]) -> Option<Self> {
        let fitting = fuzzy::rank_by(&token.query, candidates, Self::MAX_CANDIDATES, |candidate| &candidate.value);
        let candidates: Vec<CompletionCandidate> = fitting.into_iter().cloned().collect();
        (!candidates.is_empty()).then_some(Self { token, candidates, selected: 0, chosen: false })
    }

    /// Returns the token that is being completed.
    #[must_use]
    pub fn token(&self) -> &CompletionToken {
        &self.token
    }

    /// Returns the matching candidates, best first.
    #[must_use]
    pub fn candidates(&self) -> &[CompletionCandidate] {
        &self.candidates
    }

    /// Returns the index of the selected candidate.
    #[must_use]
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Selects the next candidate; after the last, the first.
    pub fn next(&mut self) {
        self.selected = (self.selected + 1) % self.candidates.len();
        self.chosen = true;
    }

    /// Selects the previous candidate; before the first, the last.
    pub fn previous(&mut self) {
        self.selected = self.selected.checked_sub(1).unwrap_or(self.candidates.len() - 1);
        self.chosen = true;
    }

    /// Returns true if the user has changed the selection.
    pub(super) fn is_chosen(&self) -> bool {
        self.chosen
    }

    /// Returns true if the word equals one of the candidates.
    pub(super) fn is_complete(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.value == self.token.word)
    }

    pub(super) fn into_chosen(self) -> Option<CompletionCandidate> {
        let selected = self.selected;
        self.candidates.into_iter().nth(selected).filter(|_| self.chosen)
    }

    /// Selects this candidate, if the list still contains it.
    pub(super) fn choose(&mut self, candidate: &CompletionCandidate) {
        if let Some(index) = self.candidates.iter().position(|other| other == candidate) {
            self.selected = index;
            self.chosen = true;
        }
    }

    /// Accepts the selected candidate: returns the token and the text that replaces it.
    pub(super) fn accept(self) -> Option<(CompletionToken, String)> {
        let candidate = self.candidates.into_iter().nth(self.selected)?;
        let space = if candidate.value.ends_with('/') { "" } else { " " };
        Some((self.token.clone(), format!("{}{}{space}", self.token.kind.mark(), candidate.value)))
    }
}
