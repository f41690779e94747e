//! The agents that are programs: a row each, with what is particular about it. An agent that behaves as the Agent Client
//! Protocol says is a row and nothing else. How all of them are used is in [`ProgramAgent`](crate::program_agent).

pub(crate) mod management;
mod rows;

use std::path::Path;

use serde::Deserialize;

use crate::program::{Program, owned};
pub(crate) use management::Management;
use rows::{AGENTS, Oddities, Row};

/// Makes a program print its version, unless a person's file says otherwise.
pub(crate) const VERSION: &[&str] = &["--version"];

/// The protocol that drives an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// The Agent Client Protocol.
    Acp,
    /// Claude Code's control protocol.
    Claude,
    /// Codex's app-server protocol.
    Codex,
}

impl Protocol {
    /// Its name in `agents.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acp => "acp",
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// First characters of a prompt that agents of this protocol interpret themselves. Which texts are commands is an ACP
    /// agent's own decision, also beyond the commands that it lists.
    pub fn interprets(self) -> &'static [char] {
        match self {
            Self::Acp | Self::Claude => &['/'],
            Self::Codex => &[],
        }
    }
}

/// Definition of an agent: a row of the table, changed by a person's `agents.toml`, or an agent that is only there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is chosen by.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// The protocol that drives it.
    pub protocol: Protocol,
    /// What it is started by, and what makes it speak its protocol.
    pub program: Program,
    /// Arguments that make it print its version.
    pub version: Vec<String>,
    /// What to do in order to log in.
    pub log_in: String,
    /// The commands about the login that a person's file names.
    pub account: Account,
    /// How it is told to use the login that is there, without asking anybody.
    pub authenticate: Option<Authenticate>,
    /// The modes of an agent of the Agent Client Protocol in which it asks nobody for permission, or another model in the
    /// place of a person.
    pub skipping: Vec<String>,
    /// Departures from the Agent Client Protocol.
    pub quirks: Quirks,
}

/// Arguments that make an agent log in, log out, and tell who is logged in. Empty: there is no such command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Logs in, on a terminal.
    pub log_in: Vec<String>,
    /// Logs out.
    pub log_out: Vec<String>,
    /// Ends well if somebody is logged in, and badly if nobody is.
    pub status: Vec<String>,
}

/// How an agent is told to use the login that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticate {
    /// The method, by the agent's name for it.
    pub method: String,
    /// Before every session; otherwise only once one was refused.
    pub always: bool,
}

/// Departures of an agent from the Agent Client Protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quirks {
    /// A change of mode is told as a message that begins like this.
    pub mode_in_words: Option<String>,
    /// A session is kept under the minute in which it began, and is lost if it is loaded within that minute.
    pub kept_by_minute: bool,
    /// It keeps conversations in files as Gemini CLI does.
    pub gemini_files: bool,
    /// Requests that only tell something: an empty answer is enough.
    pub told: Vec<String>,
    /// Client capabilities to announce, beside those of the protocol.
    pub client: Vec<String>,
    /// Tool calls are reported without a name and arguments: both are derived from the rest of the report.
    pub derives_arguments: bool,
    /// Variables of its environment, where nobody has set them.
    pub environment: Vec<(String, String)>,
    /// Lines of its standard error that report a retry of a request to the model.
    pub retry_lines: Option<RetryLines>,
    /// It shortens its conversations by itself, and cannot be told to.
    pub compacts_by_itself: bool,
}

/// Lines of standard error that report a retry of a request to the model: `Attempt 1 failed with status 429. Retrying…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryLines {
    /// Text that all of them contain, in front of the number of the attempt.
    pub marker: String,
    /// Attempts after which the agent gives up.
    pub max_attempts: u32,
}

/// The agents that wh knows by itself, in the order in which to offer them.
pub fn built_in() -> Vec<Entry> {
    AGENTS.iter().map(Row::entry).collect()
}

impl Entry {
    /// The agent that a protocol of its own is made for. `None` for the Agent Client Protocol, which many speak.
    pub fn of(protocol: Protocol) -> Option<Self> {
        row(protocol, &[]).map(Row::entry)
    }

    /// How it is asked without a conversation.
    pub(crate) fn management(&self) -> &'static Management {
        row(self.protocol, &self.program.commands).map_or(&management::PLAIN, |row| &row.management)
    }
}

/// The row of a known agent. One of the Agent Client Protocol is known by the file name of its first command, wherever
/// that is installed; the others are known by their protocol.
fn row(protocol: Protocol, commands: &[String]) -> Option<&'static Row> {
    let name = commands.first().map(Path::new).and_then(Path::file_name).and_then(|name| name.to_str());
    let is_it = |row: &&Row| match protocol {
        Protocol::Acp => name.is_some_and(|name| row.commands.contains(&name)),
        Protocol::Claude | Protocol::Codex => true,
    };
    AGENTS.iter().filter(|row| row.protocol == protocol).find(is_it)
}

impl Row {
    fn entry(&self) -> Entry {
        let Oddities { mode_in_words, kept_by_minute, gemini_files, told, client, .. } = self.quirks;
        let Oddities { derives_arguments, environment, retry_lines, compacts_by_itself, .. } = self.quirks;
        Entry {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            protocol: self.protocol,
            program: Program::built_in(self.commands, self.arguments, self.install),
            version: owned(VERSION),
            log_in: self.log_in.to_owned(),
            account: Account::default(),
            authenticate: self.authenticate.map(|(method, always)| Authenticate { method: method.to_owned(), always }),
            skipping: owned(self.skipping),
            quirks: Quirks {
                mode_in_words: mode_in_words.map(str::to_owned),
                kept_by_minute,
                gemini_files,
                told: owned(told),
                client: owned(client),
                derives_arguments,
                environment: environment.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
                retry_lines: retry_lines
                    .map(|(marker, max_attempts)| RetryLines { marker: marker.to_owned(), max_attempts }),
                compacts_by_itself,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_agent_has_an_id_of_its_own_and_says_what_to_do() {
        let ids: HashSet<&str> = AGENTS.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), AGENTS.len());
        for row in &AGENTS {
            assert!(!row.commands.is_empty() && !row.install.is_empty() && !row.log_in.is_empty(), "{}", row.id);
        }
    }

    #[test]
    fn an_agent_is_known_by_its_command_wherever_it_is() {
        let of = |protocol, command: &str| row(protocol, &[command.to_owned()]).map(|row| row.id);
        assert_eq!(of(Protocol::Acp, "/opt/bin/gemini"), Some("gemini"));
        assert_eq!(of(Protocol::Acp, "agent"), Some("cursor"));
        assert_eq!(of(Protocol::Acp, "codex-acp"), Some("codex-acp"));
        assert_eq!(of(Protocol::Acp, "mine"), None);
        assert_eq!(of(Protocol::Acp, "codex"), None, "that speaks otherwise");
        assert_eq!((of(Protocol::Codex, "mine"), of(Protocol::Claude, "codex")), (Some("codex"), Some("claude")));
        assert_eq!(row(Protocol::Acp, &[]).map(|row| row.id), None);
    }

    #[test]
    fn a_protocol_is_named_as_it_is_read() {
        for protocol in [Protocol::Acp, Protocol::Claude, Protocol::Codex] {
            let read: Protocol = serde_json::from_value(protocol.name().into()).unwrap();
            assert_eq!(read, protocol);
        }
    }
}
