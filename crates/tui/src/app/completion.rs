//! What the composer offers to complete: commands, whom they are for, files.

use wh_core::slash;
use wh_core::space::event::Role;
use wh_core::space::state::State;

use super::{Act, App};
use crate::composer::{Candidate, TokenKind};

/// What is known of what could be completed.
#[derive(Debug, Default)]
pub(super) struct Completions {
    files: Vec<Candidate>,
    /// A file was being named at the last look.
    naming: bool,
}

impl Completions {
    pub(super) fn files(&mut self, files: Vec<String>) {
        self.files = files.into_iter().map(|file| Candidate::new(file, "")).collect();
    }
}

impl App {
    /// Offers what fits what is being written. The files are listed anew for every name that is begun.
    pub(super) fn complete(&mut self, state: &State) -> Option<Act> {
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
        began.then_some(Act::ListFiles)
    }
}

fn commands(state: &State) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    // A line of the help that speaks for several is none of them.
    for entry in slash::COMMANDS.iter().filter(|entry| !entry.name().contains('|')) {
        let name = entry.name().trim_start_matches('/');
        if !all.iter().any(|known| known.value == name) {
            all.push(Candidate::new(name, entry.about));
        }
    }
    for (id, participant) in state.present() {
        for command in &participant.capabilities.commands {
            if !all.iter().any(|known| known.value == command.id) {
                all.push(Candidate::new(command.id.as_str(), format!("{} ({id})", command.title)));
            }
        }
    }
    all
}

/// What the word at the end of a command's line may be.
fn arguments(line: &str, state: &State) -> Vec<Candidate> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    if !line.ends_with(char::is_whitespace) {
        words.pop();
    }
    let fixed = |list: &[&str]| list.iter().map(|word| Candidate::new(*word, "")).collect::<Vec<_>>();
    let participants = |agents: bool| {
        let present =
            state.present().filter(move |(_, one)| one.role == Role::Agent || (!agents && one.role == Role::Human));
        present.map(|(id, _)| Candidate::new(id.as_str(), "")).collect::<Vec<_>>()
    };
    let named = |models: bool| {
        let mut all = Vec::new();
        for (_, one) in state.present() {
            let list = if models { &one.capabilities.models } else { &one.capabilities.modes };
            all.extend(list.iter().map(|one| Candidate::new(one.id.as_str(), one.title.as_str())));
        }
        all
    };
    match words.as_slice() {
        ["/target"] => [participants(true), fixed(&["show", "none"])].concat(),
        ["/target", ..] => participants(true),
        ["/ui"] => fixed(&["board", "tools", "clear"]),
        ["/ui", "board" | "tools"] | ["/ui-board" | "/tools"] => fixed(&["open", "close", "auto"]),
        ["/agent"] => participants(true),
        ["/model"] => named(true),
        ["/mode"] => named(false),
        ["/forget", _] => fixed(&["oldest", "newest"]),
        ["/stream"] => fixed(&["request", "close"]),
        ["/stream", "request"] => participants(true),
        ["/stream", "request", _] => fixed(&["upload", "download", "both"]),
        ["/stream", "close"] => state.streams.iter().map(|stream| Candidate::new(stream.id.as_str(), "")).collect(),
        ["/envelope"] => fixed(&["mcp/request"]),
        ["/envelope", "mcp/request"] => fixed(&["tool/call"]),
        ["/envelope", "mcp/request", "tool/call"] => participants(true),
        ["/envelope", "mcp/request", "tool/call", whom] => {
            let tools = state.present().filter(|(id, _)| id.as_str() == *whom).flat_map(|(_, one)| one.tools.iter());
            tools
                .map(|tool| Candidate::new(tool.name.as_str(), tool.description.as_deref().unwrap_or_default()))
                .collect()
        }
        [command] if for_participants(command) => participants(true),
        _ => Vec::new(),
    }
}

fn for_participants(command: &str) -> bool {
    slash::COMMANDS.iter().any(|entry| {
        let mut words = entry.usage.split(' ');
        words.next() == Some(command) && words.next().is_some_and(|word| word.trim_matches(['[', ']']) == "PARTICIPANT")
    })
}

/// What may still follow in a command's line, as its usage says.
fn ghost(line: &str) -> String {
    let written = line.split_whitespace().count();
    let Some(name) = line.split_whitespace().next().filter(|name| name.starts_with('/') && !line.contains('\n')) else {
        return String::new();
    };
    let entries = || slash::COMMANDS.iter().filter(|entry| entry.name() == name);
    let second = line.split_whitespace().nth(1);
    let fits = |entry: &&slash::Entry| second.is_some() && entry.usage.split(' ').nth(1) == second;
    let Some(entry) = entries().find(fits).or_else(|| entries().next().filter(|_| entries().count() == 1)) else {
        return String::new();
    };
    let rest: Vec<&str> = arguments_of(entry.usage).into_iter().skip(written - 1).collect();
    match (line.ends_with(' '), written) {
        (true, _) => rest.join(" "),
        (false, 1) if !rest.is_empty() => format!(" {}", rest.join(" ")),
        (false, _) => String::new(),
    }
}

/// A usage's arguments; what stands in brackets is one.
fn arguments_of(usage: &str) -> Vec<&str> {
    usage.split(' ').skip(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ghost_says_what_may_follow() {
        for (line, expected) in [
            ("/pause", " PARTICIPANT [SECONDS] [REASON]"),
            ("/pause ", "PARTICIPANT [SECONDS] [REASON]"),
            ("/pause demo ", "[SECONDS] [REASON]"),
            ("/pause demo", ""),
            ("/help", ""),
            ("/stream ", ""),
            ("/stream close ", "ID"),
            ("/nothing ", ""),
            ("hello ", ""),
            ("", ""),
        ] {
            assert_eq!(ghost(line), expected, "{line:?}");
        }
    }

    #[test]
    fn commands_for_participants_are_known_by_their_usage() {
        assert!(for_participants("/pause") && for_participants("/interrupt"));
        assert!(!for_participants("/help") && !for_participants("/ack"));
    }
}
