//! Completion candidates for the composer: commands, arguments of commands, and files.

use wh_core::slash::{self, CompletionSource, HelpListing};
use wh_core::space::event::ParticipantRole;
use wh_core::space::harness::AgentOption;
use wh_core::space::state::SpaceState;

use super::{App, AppEffect};
use crate::composer::{CompletionCandidate, TokenKind};

/// Completion data that is not part of the mirrored state.
#[derive(Debug, Default)]
pub(super) struct CompletionFiles {
    files: Vec<CompletionCandidate>,
    /// True if the token at the caret was a file name after the last edit.
    naming: bool,
}

impl CompletionFiles {
    pub(super) fn files(&mut self, files: Vec<String>) {
        self.files = files.into_iter().map(|file| CompletionCandidate::new(file, "")).collect();
    }
}

impl App {
    /// Offers candidates for the token at the caret. Returns the effect that lists the files if the user has just begun
    /// a file name.
    pub(super) fn complete(&mut self, state: &SpaceState) -> Option<AppEffect> {
        let token = self.composer.token();
        let kind = token.as_ref().map(|token| token.kind);
        let began = kind == Some(TokenKind::File) && !self.completions.naming;
        self.completions.naming = kind == Some(TokenKind::File);
        match kind {
            Some(TokenKind::Command) => self.composer.offer(&commands(state)),
            Some(TokenKind::Argument) => self.composer.offer(&arguments(&self.composer.text(), state)),
            Some(TokenKind::File) => self.composer.offer(&self.completions.files),
            None => self.composer.offer(&[]),
        }
        self.composer.set_ghost(&ghost(&self.composer.text()));
        began.then_some(AppEffect::ListFiles)
    }
}

fn commands(state: &SpaceState) -> Vec<CompletionCandidate> {
    let mut all: Vec<CompletionCandidate> =
        slash::ROWS.iter().map(|row| CompletionCandidate::new(row.name(), row.about())).collect();
    for (id, participant) in state.present() {
        for command in &participant.capabilities.commands {
            if !all.iter().any(|known| known.value == command.id) {
                all.push(CompletionCandidate::new(command.id.as_str(), format!("{} ({id})", command.title)));
            }
        }
    }
    all
}

/// Splits a command line into the name of the command, without the slash, and the arguments.
fn words(line: &str) -> Option<(&str, Vec<&str>)> {
    let mut words = line.split_whitespace();
    let name = words.next()?.strip_prefix('/')?;
    Some((name, words.collect()))
}

/// Returns candidates for the last argument of a command line.
fn arguments(line: &str, state: &SpaceState) -> Vec<CompletionCandidate> {
    let Some((row, mut words)) = words(line).and_then(|(name, words)| Some((slash::find(name)?, words))) else {
        return Vec::new();
    };
    if !line.ends_with(char::is_whitespace) {
        words.pop();
    }
    let sources = row.forms.iter().flat_map(|form| form.completes(&words));
    sources.flat_map(|source| candidates(*source, words.last().copied(), state)).collect()
}

fn candidates(source: CompletionSource, before: Option<&str>, state: &SpaceState) -> Vec<CompletionCandidate> {
    let named = |list: &[AgentOption]| {
        list.iter().map(|one| CompletionCandidate::new(one.id.as_str(), one.title.as_str())).collect::<Vec<_>>()
    };
    let present = || state.present().map(|(_, one)| &one.capabilities);
    match source {
        CompletionSource::Words(words) => words.iter().map(|word| CompletionCandidate::new(*word, "")).collect(),
        CompletionSource::Agents => {
            let agents = state.present().filter(|(_, one)| one.role == ParticipantRole::Agent);
            agents.map(|(id, _)| CompletionCandidate::new(id.as_str(), "")).collect()
        }
        CompletionSource::Models => present().flat_map(|able| named(&able.models)).collect(),
        CompletionSource::Modes => present().flat_map(|able| named(&able.modes)).collect(),
        CompletionSource::Streams => {
            state.streams.iter().map(|stream| CompletionCandidate::new(stream.id.as_str(), "")).collect()
        }
        CompletionSource::Tools => {
            let whose = state.present().filter(|(id, _)| Some(id.as_str()) == before);
            let tools = whose.flat_map(|(_, one)| one.tools.iter());
            tools
                .map(|tool| {
                    CompletionCandidate::new(tool.name.as_str(), tool.description.as_deref().unwrap_or_default())
                })
                .collect()
        }
    }
}

/// Returns the usage of the remaining arguments of a command line. The composer shows the usage dimmed after the text.
fn ghost(line: &str) -> String {
    let Some((name, words)) = words(line).filter(|_| !line.contains('\n')) else { return String::new() };
    let Some(row) = slash::find(name) else { return String::new() };
    // If the help lists the forms of a command separately, there is no usage to show until an argument selects a form.
    let form = match (row.forms, row.listing) {
        ([_, _, ..], HelpListing::Own(_)) if words.is_empty() => None,
        (forms, _) => forms.iter().find(|form| form.fits(&words)),
    };
    let Some(form) = form else { return String::new() };
    let rest: Vec<&str> = form.arguments.iter().skip(words.len()).map(|argument| argument.written).collect();
    match (line.ends_with(' '), words.len()) {
        (true, _) => rest.join(" "),
        (false, 0) if !rest.is_empty() => format!(" {}", rest.join(" ")),
        (false, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use wh_core::space::event::SpaceEvent;

    use super::*;

    #[test]
    fn a_ghost_shows_the_remaining_arguments() {
        for (line, expected) in [
            ("/pause", " PARTICIPANT [SECONDS] [REASON]"),
            ("/pause ", "PARTICIPANT [SECONDS] [REASON]"),
            ("/pause demo ", "[SECONDS] [REASON]"),
            ("/pause demo", ""),
            ("/help", ""),
            ("/stream ", ""),
            ("/ui", " board|tools [open|close|auto]"),
            ("/ui board ", "[open|close|auto]"),
            ("/ui clear ", ""),
            ("/stream close ", "ID"),
            ("/nothing ", ""),
            ("hello ", ""),
            ("", ""),
        ] {
            assert_eq!(ghost(line), expected, "{line:?}");
        }
    }

    #[test]
    fn arguments_complete_as_their_row_says() {
        let mut state = SpaceState::new("test", "me".into());
        let joined = SpaceEvent::Joined("demo".into(), ParticipantRole::Agent);
        state.apply(&joined, std::time::SystemTime::UNIX_EPOCH);
        let offered = |line: &str| -> Vec<String> {
            arguments(line, &state).into_iter().map(|candidate| candidate.value).collect()
        };
        for (line, expected) in [
            ("/pause ", &["demo"][..]),
            ("/pause d", &["demo"]),
            ("/interrupt ", &["demo"]),
            ("/target ", &["demo", "show", "none"]),
            ("/target demo ", &["demo"]),
            ("/ui ", &["board", "tools", "clear"]),
            ("/ui board ", &["open", "close", "auto"]),
            ("/ui clear ", &[]),
            ("/forget demo ", &["oldest", "newest"]),
            ("/stream ", &["request", "close"]),
            ("/stream request demo ", &["upload", "download", "both"]),
            ("/envelope mcp/request tool/call ", &["demo"]),
            ("/help ", &[]),
            ("/ack ", &[]),
            ("/nothing ", &[]),
        ] {
            assert_eq!(offered(line), expected, "{line:?}");
        }
    }
}
