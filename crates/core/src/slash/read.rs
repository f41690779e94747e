//! Reads the arguments of slash commands. Errors say what is wrong; the usage is added by the caller.

use std::time::Duration;

use serde_json::{Value, json};

use super::{PaneName, Slash, UiCommand, Visibility};
use crate::posted::Posted;
use crate::space::ParticipantId;
use crate::space::command::{Command, Selector, Target};
use crate::space::harness::Call;
use crate::space::roster::Ask;

/// Seconds that a pause may take.
pub(crate) const LONGEST_PAUSE: u64 = 366 * 24 * 3600;

/// Panes that `/ui` shows and hides.
pub(super) const PANES: &[&str] = &["board", "tools"];

/// Changes to an MCP server.
pub(super) const MCP_VERBS: &[&str] = &["reconnect", "enable", "disable"];

pub(super) type Read = Result<Slash, &'static str>;

/// A line with a slash command, in words.
#[derive(Debug)]
pub struct Words<'a> {
    /// The name as written, without the slash.
    pub(super) name: &'a str,
    arguments: Vec<&'a str>,
    line: &'a str,
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        let line = line.trim();
        let mut words = line.trim_start_matches('/').split_whitespace();
        let name = words.next().unwrap_or_default();
        Self { name, arguments: words.collect(), line }
    }

    fn is_empty(&self) -> bool {
        self.arguments.is_empty()
    }

    fn get(&self, place: usize) -> Option<&'a str> {
        self.arguments.get(place).copied()
    }

    /// The participant that the first argument names.
    pub(super) fn whom(&self) -> Option<ParticipantId> {
        self.get(0).map(ParticipantId::from)
    }

    pub(super) fn named(&self) -> Result<ParticipantId, &'static str> {
        self.whom().ok_or("a participant is missing")
    }

    /// The arguments from this place on, in one text.
    pub(super) fn from(&self, place: usize) -> Option<String> {
        self.arguments.get(place..).filter(|rest| !rest.is_empty()).map(|rest| rest.join(" "))
    }

    pub(super) fn selector(&self) -> Selector {
        match self.get(0) {
            None | Some("all") => Selector::All,
            Some(name) => Selector::Named(name.to_owned()),
        }
    }

    /// The text after this many arguments, as it was written.
    fn after(&self, count: usize) -> &'a str {
        (0..=count).fold(self.line, |rest, _| rest.find(char::is_whitespace).map_or("", |end| rest[end..].trim_start()))
    }

    /// The line as a command of the agent's own.
    pub(super) fn of_agent(&self) -> Slash {
        Slash::Space(Command::OfAgent { name: self.name.to_owned(), line: self.line.to_owned() })
    }
}

pub(super) fn space(command: Command) -> Read {
    Ok(Slash::Space(command))
}

pub(super) fn ui(command: UiCommand) -> Read {
    Ok(Slash::Ui(command))
}

/// A call to the participant that is named, or to the one that is meant.
pub(super) fn call(words: &Words<'_>, call: Call) -> Read {
    space(Command::Call(words.whom(), call))
}

/// A call by the command's own name, with its words.
pub(super) fn other(words: &Words<'_>) -> Read {
    space(Command::Call(None, named_call(words.name, &words.arguments)))
}

fn named_call(name: &str, words: &[&str]) -> Call {
    Call::Other { name: name.to_owned(), parameters: json!({ "words": words }) }
}

/// Toggles a pane.
pub(super) fn toggle(pane: &'static str) -> Read {
    ui(UiCommand::Pane(PaneName(pane), None))
}

/// The pane of a command.
pub(super) fn pane(words: &Words<'_>, pane: &'static str) -> Read {
    ui(UiCommand::Pane(PaneName(pane), visibility(words.get(0))?))
}

pub(super) fn ui_pane(words: &Words<'_>) -> Read {
    let named = PANES.iter().find(|pane| words.get(0) == Some(pane));
    match (named, words.get(0)) {
        (Some(pane), _) => ui(UiCommand::Pane(PaneName(pane), visibility(words.get(1))?)),
        (None, Some("clear")) => ui(UiCommand::ClearView),
        _ => Err("/ui knows board, tools and clear"),
    }
}

fn visibility(word: Option<&str>) -> Result<Option<Visibility>, &'static str> {
    match word {
        None => Ok(None),
        Some("open") => Ok(Some(Visibility::Open)),
        Some("close" | "closed") => Ok(Some(Visibility::Close)),
        Some("auto") => Ok(Some(Visibility::Auto)),
        Some(_) => Err("it is open, close or auto"),
    }
}

pub(super) fn target(words: &Words<'_>) -> Read {
    space(Command::Target(match words.get(0) {
        None | Some("show") => Target::Show,
        Some("none") => Target::Default,
        Some(_) => Target::Only(words.arguments.iter().map(|word| ParticipantId::from(*word)).collect()),
    }))
}

pub(super) fn agent(words: &Words<'_>) -> Read {
    if words.is_empty() { toggle("agents") } else { agents(words) }
}

pub(super) fn agents(words: &Words<'_>) -> Read {
    space(match words.whom() {
        Some(id) => Command::Manage(Some(id), Ask::Invite),
        None => Command::Manage(None, Ask::Agents),
    })
}

pub(super) fn conversations(words: &Words<'_>) -> Read {
    match words.whom() {
        Some(id) => space(Command::Manage(Some(id), Ask::Conversations)),
        None => toggle("conversations"),
    }
}

pub(super) fn pause(words: &Words<'_>) -> Read {
    let seconds = words.get(1).and_then(|word| word.parse::<u64>().ok());
    if seconds.is_some_and(|seconds| seconds > LONGEST_PAUSE) {
        return Err("a pause takes a year at most");
    }
    let reason = words.from(if seconds.is_some() { 2 } else { 1 });
    let call = Call::Pause { timeout: seconds.map(Duration::from_secs), reason };
    space(Command::Call(Some(words.named()?), call))
}

pub(super) fn forget(words: &Words<'_>) -> Read {
    let newest = match words.get(1) {
        None | Some("oldest") => false,
        Some("newest") => true,
        Some(_) => return Err("say oldest or newest"),
    };
    let count = words.get(2).map(|word| word.parse::<u64>()).transpose().map_err(|_| "the count must be a number")?;
    space(Command::Call(Some(words.named()?), Call::Forget { newest, count }))
}

pub(super) fn compact(words: &Words<'_>) -> Read {
    match &words.arguments[..] {
        [] => call(words, Call::Compact { tokens: None }),
        [word] | [_, word] if word.parse::<u64>().is_ok() => {
            let whom = words.whom().filter(|_| words.arguments.len() == 2);
            space(Command::Call(whom, Call::Compact { tokens: word.parse().ok() }))
        }
        [_] => call(words, Call::Compact { tokens: None }),
        // Instructions for the summary are the agent's own matter.
        _ => Ok(words.of_agent()),
    }
}

pub(super) fn login(words: &Words<'_>) -> Read {
    let (agent, ask) = match &words.arguments[..] {
        [] => (None, Ask::LogIn),
        ["cancel"] => (None, Ask::StopLogin),
        [_] => (words.whom(), Ask::LogIn),
        [_, "cancel"] => (words.whom(), Ask::StopLogin),
        [_, code] => (words.whom(), Ask::TellLogin((*code).to_owned())),
        _ => return Err("a code is one word"),
    };
    space(Command::Manage(agent, ask))
}

pub(super) fn logout(words: &Words<'_>) -> Read {
    space(Command::Manage(words.whom(), Ask::LogOut))
}

pub(super) fn mcp(words: &Words<'_>) -> Read {
    let agent = words.whom().filter(|id| !MCP_VERBS.contains(&id.as_str()));
    match &words.arguments[usize::from(agent.is_some())..] {
        change @ ([] | [_, _]) if change.first().is_none_or(|verb| MCP_VERBS.contains(verb)) => {
            space(Command::Call(agent, named_call(words.name, change)))
        }
        _ => Err("a server is missing"),
    }
}

pub(super) fn stream(words: &Words<'_>) -> Read {
    match &words.arguments[..] {
        ["request", whom, "upload" | "download" | "both", ..] => {
            let call = Call::OpenStream { description: words.from(3) };
            space(Command::Call(Some(ParticipantId::from(*whom)), call))
        }
        ["request", _, ..] => Err("the direction is upload, download or both"),
        ["close", id, ..] => space(Command::CloseStream((*id).into())),
        _ => Err("say request or close"),
    }
}

pub(super) fn envelope(words: &Words<'_>) -> Read {
    let ["mcp/request", "tool/call" | "tools/call", whom, name, ..] = words.arguments[..] else {
        return Err("only mcp/request tool/call is known");
    };
    let json = Some(words.after(4)).filter(|text| !text.is_empty()).unwrap_or("{}");
    let arguments: Value = serde_json::from_str(json).map_err(|_| "the arguments are not JSON")?;
    let posted = Posted::tool_call(ParticipantId::from(whom), name, arguments);
    posted.command().map(Slash::Space).map_err(|_| "it is not an envelope")
}
