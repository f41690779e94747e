//! Parsers for the arguments of slash commands. The caller adds the usage of the command to their errors.

use std::time::Duration;

use serde_json::{Value, json};

use super::{PaneName, SlashCommand, UiCommand, Visibility};
use crate::posted::PostedEnvelope;
use crate::space::ParticipantId;
use crate::space::command::{ConversationCommand, MessageSelector, TargetCommand};
use crate::space::harness::Call;
use crate::space::roster::AgentRequest;

/// Maximum duration of a pause, in seconds.
pub(crate) const MAX_PAUSE_SECONDS: u64 = 366 * 24 * 3600;

/// Panes that `/ui` can show and hide.
pub(super) const PANES: &[&str] = &["board", "tools"];

/// Operations of `/mcp` on a server.
pub(super) const MCP_VERBS: &[&str] = &["reconnect", "enable", "disable"];

pub(super) type SlashResult = Result<SlashCommand, &'static str>;

/// Line with a slash command, split into words.
#[derive(Debug)]
pub struct Words<'a> {
    /// Command name or alias as typed, without the slash.
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

    /// Returns the first argument as a participant id.
    pub(super) fn participant(&self) -> Option<ParticipantId> {
        self.get(0).map(ParticipantId::from)
    }

    pub(super) fn required_participant(&self) -> Result<ParticipantId, &'static str> {
        self.participant().ok_or("a participant is missing")
    }

    /// Returns the arguments from this index on, joined by blanks.
    pub(super) fn from(&self, place: usize) -> Option<String> {
        self.arguments.get(place..).filter(|rest| !rest.is_empty()).map(|rest| rest.join(" "))
    }

    pub(super) fn selector(&self) -> MessageSelector {
        match self.get(0) {
            None | Some("all") => MessageSelector::All,
            Some(name) => MessageSelector::Named(name.to_owned()),
        }
    }

    /// Returns the rest of the line after the first `count` arguments, unchanged.
    fn after(&self, count: usize) -> &'a str {
        (0..=count).fold(self.line, |rest, _| rest.find(char::is_whitespace).map_or("", |end| rest[end..].trim_start()))
    }

    /// Returns the complete line as a command that an agent may support.
    pub(super) fn as_agent_command(&self) -> SlashCommand {
        SlashCommand::Space(ConversationCommand::AgentCommand {
            name: self.name.to_owned(),
            line: self.line.to_owned(),
        })
    }
}

pub(super) fn space(command: ConversationCommand) -> SlashResult {
    Ok(SlashCommand::Space(command))
}

pub(super) fn ui(command: UiCommand) -> SlashResult {
    Ok(SlashCommand::Ui(command))
}

/// Returns the command that sends `call` to the participant named by the first argument. Without an argument, the only
/// chat target or agent is called.
pub(super) fn call(words: &Words<'_>, call: Call) -> SlashResult {
    space(ConversationCommand::Call(words.participant(), call))
}

/// Returns the command that calls a function with the name and the arguments of the slash command. The only chat target
/// or agent is called.
pub(super) fn call_by_name(words: &Words<'_>) -> SlashResult {
    space(ConversationCommand::Call(None, named_call(words.name, &words.arguments)))
}

fn named_call(name: &str, words: &[&str]) -> Call {
    Call::Other { name: name.to_owned(), parameters: json!({ "words": words }) }
}

/// Returns the command that toggles the visibility of a pane.
pub(super) fn toggle(pane: &'static str) -> SlashResult {
    ui(UiCommand::Pane(PaneName(pane), None))
}

/// Returns the command that sets the visibility of a pane to the first argument; without an argument, toggles the pane.
pub(super) fn pane(words: &Words<'_>, pane: &'static str) -> SlashResult {
    ui(UiCommand::Pane(PaneName(pane), visibility(words.get(0))?))
}

pub(super) fn ui_pane(words: &Words<'_>) -> SlashResult {
    let named = PANES.iter().find(|pane| words.get(0) == Some(pane));
    match (named, words.get(0)) {
        (Some(pane), _) => ui(UiCommand::Pane(PaneName(pane), visibility(words.get(1))?)),
        (None, Some("clear")) => ui(UiCommand::ClearView),
        _ => Err("the argument must be board, tools or clear"),
    }
}

fn visibility(word: Option<&str>) -> Result<Option<Visibility>, &'static str> {
    match word {
        None => Ok(None),
        Some("open") => Ok(Some(Visibility::Open)),
        Some("close" | "closed") => Ok(Some(Visibility::Close)),
        Some("auto") => Ok(Some(Visibility::Auto)),
        Some(_) => Err("the visibility must be open, close or auto"),
    }
}

pub(super) fn target(words: &Words<'_>) -> SlashResult {
    space(ConversationCommand::Target(match words.get(0) {
        None | Some("show") => TargetCommand::Show,
        Some("none") => TargetCommand::Default,
        Some(_) => TargetCommand::Only(words.arguments.iter().map(|word| ParticipantId::from(*word)).collect()),
    }))
}

pub(super) fn agent(words: &Words<'_>) -> SlashResult {
    if words.is_empty() { toggle("agents") } else { agents(words) }
}

pub(super) fn agents(words: &Words<'_>) -> SlashResult {
    space(match words.participant() {
        Some(id) => ConversationCommand::Manage(Some(id), AgentRequest::Invite),
        None => ConversationCommand::Manage(None, AgentRequest::Agents),
    })
}

pub(super) fn conversations(words: &Words<'_>) -> SlashResult {
    match words.participant() {
        Some(id) => space(ConversationCommand::Manage(Some(id), AgentRequest::Conversations)),
        None => toggle("conversations"),
    }
}

pub(super) fn pause(words: &Words<'_>) -> SlashResult {
    let seconds = words.get(1).and_then(|word| word.parse::<u64>().ok());
    if seconds.is_some_and(|seconds| seconds > MAX_PAUSE_SECONDS) {
        return Err("a pause can last at most one year");
    }
    let reason = words.from(if seconds.is_some() { 2 } else { 1 });
    let call = Call::Pause { timeout: seconds.map(Duration::from_secs), reason };
    space(ConversationCommand::Call(Some(words.required_participant()?), call))
}

pub(super) fn forget(words: &Words<'_>) -> SlashResult {
    let newest = match words.get(1) {
        None | Some("oldest") => false,
        Some("newest") => true,
        Some(_) => return Err("the direction must be oldest or newest"),
    };
    let count = words.get(2).map(|word| word.parse::<u64>()).transpose().map_err(|_| "the count must be a number")?;
    space(ConversationCommand::Call(Some(words.required_participant()?), Call::Forget { newest, count }))
}

pub(super) fn compact(words: &Words<'_>) -> SlashResult {
    match &words.arguments[..] {
        [] => call(words, Call::Compact { tokens: None }),
        [word] | [_, word] if word.parse::<u64>().is_ok() => {
            let participant = words.participant().filter(|_| words.arguments.len() == 2);
            space(ConversationCommand::Call(participant, Call::Compact { tokens: word.parse().ok() }))
        }
        [_] => call(words, Call::Compact { tokens: None }),
        // Several words are instructions for the summary. The complete line is passed to the agent.
        _ => Ok(words.as_agent_command()),
    }
}

pub(super) fn login(words: &Words<'_>) -> SlashResult {
    let (agent, ask) = match &words.arguments[..] {
        [] => (None, AgentRequest::LogIn),
        ["cancel"] => (None, AgentRequest::CancelLogin),
        [_] => (words.participant(), AgentRequest::LogIn),
        [_, "cancel"] => (words.participant(), AgentRequest::CancelLogin),
        [_, code] => (words.participant(), AgentRequest::SubmitLoginCode((*code).to_owned())),
        _ => return Err("the login code must be one word"),
    };
    space(ConversationCommand::Manage(agent, ask))
}

pub(super) fn logout(words: &Words<'_>) -> SlashResult {
    space(ConversationCommand::Manage(words.participant(), AgentRequest::LogOut))
}

pub(super) fn mcp(words: &Words<'_>) -> SlashResult {
    let agent = words.participant().filter(|id| !MCP_VERBS.contains(&id.as_str()));
    match &words.arguments[usize::from(agent.is_some())..] {
        change @ ([] | [_, _]) if change.first().is_none_or(|verb| MCP_VERBS.contains(verb)) => {
            space(ConversationCommand::Call(agent, named_call(words.name, change)))
        }
        _ => Err("give reconnect, enable or disable, and the server name"),
    }
}

pub(super) fn stream(words: &Words<'_>) -> SlashResult {
    match &words.arguments[..] {
        ["request", participant, "upload" | "download" | "both", ..] => {
            let call = Call::OpenStream { description: words.from(3) };
            space(ConversationCommand::Call(Some(ParticipantId::from(*participant)), call))
        }
        ["request", _, ..] => Err("the direction must be upload, download or both"),
        ["close", id, ..] => space(ConversationCommand::CloseStream((*id).into())),
        _ => Err("give request and a participant, or close and an id"),
    }
}

pub(super) fn envelope(words: &Words<'_>) -> SlashResult {
    let ["mcp/request", "tool/call" | "tools/call", participant, name, ..] = words.arguments[..] else {
        return Err("only mcp/request tool/call is supported");
    };
    let json = Some(words.after(4)).filter(|text| !text.is_empty()).unwrap_or("{}");
    let arguments: Value = serde_json::from_str(json).map_err(|_| "the arguments are not valid JSON")?;
    let posted = PostedEnvelope::tool_call(ParticipantId::from(participant), name, arguments);
    posted.command().map(SlashCommand::Space).map_err(|_| "the envelope is not valid")
}
