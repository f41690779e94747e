//! Slash commands: a line that begins with `/`, read into what it asks for. Some are for the space, some for whoever shows
//! it; what is neither may be a command of the agent's own.

use serde_json::{Value, json};

use crate::posted::Posted;
use crate::space::ParticipantId;
use crate::space::command::{Command, Selector, Target};
use crate::space::harness::{Call, Named};
use crate::space::roster::Ask;
use std::time::Duration;

/// What a line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Slash {
    /// Something for the space.
    Space(Command),
    /// Something for whoever shows it.
    Ui(UiCommand),
}

/// Something for whoever shows a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UiCommand {
    /// Show details, or no longer.
    Verbose,
    /// Show what comes through streams, or no longer.
    Streams,
    /// Open or close the signal board, or let it decide; `None` turns it over.
    Board(Option<Board>),
    /// Open or close the tool sidebar, or let it decide; `None` turns it over.
    Tools(Option<Board>),
    /// List something to choose from.
    Pick(Pick),
    /// Clear what is shown. The conversation stays.
    ClearView,
    /// List the keys.
    Keys,
    /// Leave.
    Exit,
}

/// What a person chooses from a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// The agent that chat goes to.
    Agent,
    /// The model of the agent that chat goes to.
    Model,
    /// Its mode.
    Mode,
    /// A conversation that it keeps, to go on with.
    Conversation,
}

/// What the person wants of the signal board, or of the tool sidebar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Board {
    /// Always there.
    Open,
    /// Never there.
    Close,
    /// There when there is something to show.
    Auto,
}

impl Board {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Close => "close",
            Self::Auto => "auto",
        }
    }
}

/// A line that asks for nothing that can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; usage: {usage}")]
pub struct Mistake {
    /// What is wrong.
    pub problem: String,
    /// How it would be right.
    pub usage: &'static str,
}

/// One command, for help and completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// How it is written.
    pub usage: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Under which heading; none for what is completed and not listed, because another line speaks for it.
    pub group: &'static str,
}

impl Entry {
    /// Its name, with the slash.
    pub fn name(&self) -> &'static str {
        self.usage.split(' ').next().unwrap_or(self.usage)
    }
}

const fn entry(group: &'static str, usage: &'static str, about: &'static str) -> Entry {
    Entry { usage, about, group }
}

/// One that is completed, and stands in the help only together with others.
const fn unlisted(usage: &'static str, about: &'static str) -> Entry {
    Entry { usage, about, group: "" }
}

/// Every command, in the order of the help.
pub const COMMANDS: &[Entry] = &[
    entry("General", "/help", "Show this list"),
    entry("General", "/participants", "List who takes part, and how they are"),
    entry("General", "/verbose", "Show or hide details"),
    entry("General", "/streams", "Show or hide what comes through streams"),
    entry("General", "/target [show|none|PARTICIPANT...]", "Whom chat goes to"),
    entry("General", "/agent|sessions", "Choose the agent that chat goes to, or a conversation that it keeps"),
    unlisted("/agent [AGENT]", "Have chat go to an agent, which is started if need be"),
    unlisted("/sessions", "Go on with a conversation that the agent keeps"),
    entry("General", "/ui board|tools [open|close|auto]", "The signal board, or what agents do with their tools"),
    unlisted("/ui-board [open|close|auto]", "The signal board"),
    unlisted("/tools [open|close|auto]", "What agents do with their tools"),
    entry("General", "/ui-clear", "Clear what is shown; the conversation stays"),
    entry("General", "/keys", "List the keys"),
    entry("General", "/exit", "Leave"),
    entry("Chat Queue", "/ack [SELECTOR] [STATUS]", "Acknowledge messages that wait for it"),
    entry("Chat Queue", "/cancel [SELECTOR] [REASON]", "Interrupt reasoning, or drop acknowledgements you wait for"),
    entry("Chat Queue", "/interrupt [PARTICIPANT]", "Stop the turn that is under way"),
    entry("Participant Controls", "/model|mode [NAME]", "List the agent's models or modes, or choose one"),
    unlisted("/model [AGENT] [MODEL]", "List the agent's models, or choose one"),
    unlisted("/models [AGENT]", "List the agent's models"),
    unlisted("/mode [MODE]", "List the agent's modes, or choose one"),
    entry("Participant Controls", "/status [PARTICIPANT]", "Ask how it is"),
    entry("Participant Controls", "/pause PARTICIPANT [SECONDS] [REASON]", "Ask it to wait"),
    entry("Participant Controls", "/resume [PARTICIPANT]", "Resume it; no name: the one paused, or /sessions"),
    entry("Participant Controls", "/forget PARTICIPANT [oldest|newest] [COUNT]", "Have it forget entries"),
    entry(
        "Participant Controls",
        "/clear|compact|restart [PARTICIPANT]",
        "Have it forget, shorten its context, or begin anew",
    ),
    unlisted("/clear [PARTICIPANT]", "Have it forget everything"),
    unlisted("/compact [PARTICIPANT] [TOKENS]", "Have it shorten its context"),
    unlisted("/restart [PARTICIPANT]", "Begin anew with it"),
    entry("Participant Controls", "/shutdown PARTICIPANT [REASON]", "End it"),
    entry(
        "Participant Controls",
        "/mcp [AGENT] [reconnect|enable|disable SERVER]",
        "How its MCP servers fare, or change that",
    ),
    entry("Participant Controls", "/context", "What fills its context"),
    entry("Participant Controls", "/rewind [NUMBER [now]]", "List the prompts that files can go back to, or go back"),
    entry("Participant Controls", "/login|logout [AGENT]", "Log in with it, or out"),
    unlisted("/agents", "List the agents"),
    unlisted("/login [AGENT] [cancel|CODE]", "Log in with it; stop that, or give it the code that it wants"),
    unlisted("/logout [AGENT]", "Log out of it"),
    entry("Streams", "/stream request PARTICIPANT DIRECTION [DESCRIPTION]", "Ask for a stream"),
    entry("Streams", "/stream close ID", "Close one"),
    entry("Streams", "/envelope mcp/request tool/call PARTICIPANT TOOL [JSON]", "Have it use a tool"),
];

/// The help's first line.
pub const HELP_TITLE: &str = "Available Commands";

/// Seconds that a pause may take.
pub(crate) const LONGEST_PAUSE: u64 = 366 * 24 * 3600;

/// Columns that a usage takes in the help at least.
const USAGE_WIDTH: usize = 48;

/// The help, line by line.
pub fn help(of_agents: &[(ParticipantId, Vec<Named>)]) -> Vec<String> {
    let mut lines = vec![HELP_TITLE.to_owned()];
    let mut group = "";
    let listed =
        COMMANDS.iter().filter(|command| !command.group.is_empty()).map(|command| command.usage.chars().count());
    let width = listed.fold(USAGE_WIDTH, usize::max);
    for command in COMMANDS.iter().filter(|command| !command.group.is_empty()) {
        if command.group != group {
            group = command.group;
            lines.push(group.to_owned());
        }
        lines.push(format!("  {:<width$} {}", command.usage, command.about));
    }
    for (agent, commands) in of_agents.iter().filter(|(_, commands)| !commands.is_empty()) {
        lines.push(format!("Commands of {agent}"));
        for command in commands {
            lines.push(format!("  {:<width$} {}", format!("/{}", command.id), command.title));
        }
    }
    lines
}

/// Reads a line that begins with `/`.
pub fn parse(line: &str) -> Result<Slash, Mistake> {
    let line = line.trim();
    let mut words = line.trim_start_matches('/').split_whitespace();
    let name = words.next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    let usage = COMMANDS.iter().find(|entry| entry.name() == format!("/{name}")).map_or("/help", |entry| entry.usage);
    let wrong = |problem: &str| Mistake { problem: problem.to_owned(), usage };
    let whom = || words.first().map(|word| ParticipantId::from(*word)).ok_or_else(|| wrong("a participant is missing"));
    let rest = |from: usize| (words.len() > from).then(|| words[from..].join(" "));
    let call = |call: Call| whom().map(|whom| Slash::Space(Command::Call(Some(whom), call)));
    let call_any = |call: Call| Slash::Space(Command::Call(whom().ok(), call));
    Ok(match name {
        "help" | "?" => Slash::Space(Command::Help),
        "participants" | "who" => Slash::Space(Command::Participants),
        "verbose" => Slash::Ui(UiCommand::Verbose),
        "streams" => Slash::Ui(UiCommand::Streams),
        "keys" => Slash::Ui(UiCommand::Keys),
        "ui-clear" => Slash::Ui(UiCommand::ClearView),
        "exit" | "quit" => Slash::Ui(UiCommand::Exit),
        "ui-board" => Slash::Ui(UiCommand::Board(board(words.first().copied()).map_err(wrong)?)),
        "agent" if words.is_empty() => Slash::Ui(UiCommand::Pick(Pick::Agent)),
        "sessions" | "conversations" if words.is_empty() => Slash::Ui(UiCommand::Pick(Pick::Conversation)),
        "tools" => Slash::Ui(UiCommand::Tools(board(words.first().copied()).map_err(wrong)?)),
        "ui" => match words.first().copied() {
            Some("board") => Slash::Ui(UiCommand::Board(board(words.get(1).copied()).map_err(wrong)?)),
            Some("tools") => Slash::Ui(UiCommand::Tools(board(words.get(1).copied()).map_err(wrong)?)),
            Some("clear") => Slash::Ui(UiCommand::ClearView),
            _ => return Err(wrong("/ui knows board, tools and clear")),
        },
        "target" => Slash::Space(Command::Target(match words.first().copied() {
            None | Some("show") => Target::Show,
            Some("none") => Target::Default,
            Some(_) => Target::Only(words.iter().map(|word| ParticipantId::from(*word)).collect()),
        })),
        "ack" => Slash::Space(Command::Acknowledge { selector: selector(words.first().copied()), status: rest(1) }),
        "cancel" | "reason-cancel" => {
            Slash::Space(Command::Cancel { selector: selector(words.first().copied()), reason: rest(1) })
        }
        "interrupt" => Slash::Space(Command::Interrupt(whom().ok())),
        "agent" | "agents" => Slash::Space(match words.first() {
            Some(id) => Command::Manage(Some(ParticipantId::from(*id)), Ask::Invite),
            None => Command::Manage(None, Ask::Agents),
        }),
        "model" => Slash::Space(Command::Model(None, rest(0))),
        "models" => Slash::Space(Command::Model(whom().ok(), None)),
        "mode" | "modes" => Slash::Space(Command::Mode(None, rest(0))),
        "status" => call_any(Call::ReportStatus),
        "pause" => {
            let seconds = words.get(1).and_then(|word| word.parse::<u64>().ok());
            if seconds.is_some_and(|seconds| seconds > LONGEST_PAUSE) {
                return Err(wrong("a pause takes a year at most"));
            }
            let reason = rest(if seconds.is_some() { 2 } else { 1 });
            call(Call::Pause { timeout: seconds.map(Duration::from_secs), reason })?
        }
        "resume" => call_any(Call::Resume),
        "forget" => {
            let newest = match words.get(1).copied() {
                None | Some("oldest") => false,
                Some("newest") => true,
                Some(_) => return Err(wrong("say oldest or newest")),
            };
            let count = words.get(2).map(|word| word.parse::<u64>()).transpose();
            call(Call::Forget { newest, count: count.map_err(|_| wrong("the count must be a number"))? })?
        }
        "clear" => call_any(Call::Clear),
        "compact" => match &words[..] {
            [] => call_any(Call::Compact { tokens: None }),
            [word] | [_, word] if word.parse::<u64>().is_ok() => {
                let whom = (words.len() == 2).then(|| ParticipantId::from(words[0]));
                Slash::Space(Command::Call(whom, Call::Compact { tokens: word.parse().ok() }))
            }
            [_] => call_any(Call::Compact { tokens: None }),
            // What an agent is to keep in mind while it does so is its own matter.
            _ => Slash::Space(Command::OfAgent { name: name.to_owned(), line: line.to_owned() }),
        },
        "restart" => call_any(Call::Restart),
        "login" => {
            let agent = |word: &&str| Some(ParticipantId::from(*word));
            let (agent, ask) = match &words[..] {
                [] => (None, Ask::LogIn),
                ["cancel"] => (None, Ask::StopLogin),
                [word] => (agent(word), Ask::LogIn),
                [word, "cancel"] => (agent(word), Ask::StopLogin),
                [word, code] => (agent(word), Ask::TellLogin((*code).to_owned())),
                _ => return Err(wrong("a code is one word")),
            };
            Slash::Space(Command::Manage(agent, ask))
        }
        "logout" => Slash::Space(Command::Manage(whom().ok(), Ask::LogOut)),
        "sessions" | "conversations" => Slash::Space(Command::Manage(whom().ok(), Ask::Conversations)),
        "mcp" => {
            let does = ["reconnect", "enable", "disable"];
            let agent = words.first().filter(|word| !does.contains(word)).map(|word| ParticipantId::from(*word));
            let words = &words[usize::from(agent.is_some())..];
            match words {
                [] | [_, _] if words.first().is_none_or(|verb| does.contains(verb)) => {}
                _ => return Err(wrong("a server is missing")),
            }
            let call = Call::Other { name: name.to_owned(), parameters: json!({ "words": words }) };
            Slash::Space(Command::Call(agent, call))
        }
        "context" | "rewind" => {
            let call = Call::Other { name: name.to_owned(), parameters: json!({ "words": words }) };
            Slash::Space(Command::Call(None, call))
        }
        "shutdown" => Slash::Space(Command::Shutdown(whom()?, rest(1))),
        "stream" => stream(&words).map_err(wrong)?,
        "envelope" => envelope(&words, line).map_err(wrong)?,
        _ => Slash::Space(Command::OfAgent { name: name.to_owned(), line: line.to_owned() }),
    })
}

fn board(word: Option<&str>) -> Result<Option<Board>, &'static str> {
    match word {
        None => Ok(None),
        Some("open") => Ok(Some(Board::Open)),
        Some("close" | "closed") => Ok(Some(Board::Close)),
        Some("auto") => Ok(Some(Board::Auto)),
        Some(_) => Err("it is open, close or auto"),
    }
}

fn selector(word: Option<&str>) -> Selector {
    match word {
        None | Some("all") => Selector::All,
        Some(name) => Selector::Named(name.to_owned()),
    }
}

fn stream(words: &[&str]) -> Result<Slash, &'static str> {
    match words {
        ["request", whom, "upload" | "download" | "both", rest @ ..] => {
            let description = (!rest.is_empty()).then(|| rest.join(" "));
            Ok(Slash::Space(Command::Call(Some(ParticipantId::from(*whom)), Call::OpenStream { description })))
        }
        ["request", _, ..] => Err("the direction is upload, download or both"),
        ["close", id, ..] => Ok(Slash::Space(Command::CloseStream((*id).into()))),
        _ => Err("say request or close"),
    }
}

fn envelope(words: &[&str], line: &str) -> Result<Slash, &'static str> {
    let ["mcp/request", "tool/call" | "tools/call", whom, name, ..] = words else {
        return Err("only mcp/request tool/call is known");
    };
    let json = Some(after_words(line, 5)).filter(|text| !text.is_empty()).unwrap_or("{}");
    let arguments: Value = serde_json::from_str(json).map_err(|_| "the arguments are not JSON")?;
    let posted = Posted::tool_call(ParticipantId::from(*whom), name, arguments);
    posted.command().map(Slash::Space).map_err(|_| "it is not an envelope")
}

/// What follows the first so many words, as it was written.
fn after_words(line: &str, count: usize) -> &str {
    (0..count).fold(line.trim(), |rest, _| rest.find(char::is_whitespace).map_or("", |end| rest[end..].trim_start()))
}

/// What a call is called among an agent's capabilities.
pub fn call_name(call: &Call) -> &str {
    match call {
        Call::Pause { .. } => "pause",
        Call::Resume => "resume",
        Call::ReportStatus => "status",
        Call::Forget { .. } => "forget",
        Call::Clear => "clear",
        Call::Compact { .. } => "compact",
        Call::Restart => "restart",
        Call::OpenStream { .. } => "stream",
        Call::CloseStream(_) => "close",
        Call::UseTool { .. } => "tool",
        Call::Other { name, .. } => name,
    }
}

/// The envelope that a call is in the conversation, where it is one.
pub fn envelope_of(call: &Call) -> Option<(&'static str, Value)> {
    Some(match call {
        Call::Pause { timeout, reason } => {
            let seconds = timeout.map(|timeout| timeout.as_secs());
            ("participant/pause", json!({ "timeout_seconds": seconds, "reason": reason }))
        }
        Call::Resume => ("participant/resume", json!({})),
        Call::ReportStatus => ("participant/request-status", json!({})),
        Call::Forget { newest, count } => {
            let direction = if *newest { "newest" } else { "oldest" };
            ("participant/forget", json!({ "direction": direction, "entries": count }))
        }
        Call::Clear => ("participant/clear", json!({})),
        Call::Compact { tokens } => ("participant/compact", json!({ "target_tokens": tokens })),
        Call::Restart => ("participant/restart", json!({})),
        Call::OpenStream { description } => ("stream/request", json!({ "description": description })),
        Call::UseTool { name, arguments } => {
            ("mcp/request", json!({ "method": "tools/call", "params": { "name": name, "arguments": arguments } }))
        }
        // That a stream was closed is said when it is.
        Call::CloseStream(_) | Call::Other { .. } => return None,
    })
}
