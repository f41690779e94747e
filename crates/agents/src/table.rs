//! Table of the built-in agents, one row each. A row has only data; the behaviour is in
//! [`ProgramAgent`](crate::program_agent).

pub(crate) mod management;
mod rows;

use std::path::Path;

use serde::Deserialize;

use crate::program::{Program, owned};
pub(crate) use management::Management;
use rows::{AGENTS, AgentRow, RowQuirks};

/// Default arguments that make a program print its version.
pub(crate) const VERSION: &[&str] = &["--version"];

/// Protocol that drives an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Agent Client Protocol (ACP).
    Acp,
    /// Claude Code's control protocol.
    Claude,
    /// Codex's app-server protocol.
    Codex,
}

impl Protocol {
    /// Name in `agents.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acp => "acp",
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// First characters of prompts that agents of this protocol interpret themselves. An ACP agent may
    /// interpret commands that it does not list.
    pub fn interprets(self) -> &'static [char] {
        match self {
            Self::Acp | Self::Claude => &['/'],
            Self::Codex => &[],
        }
    }
}

/// Definition of an agent: a row of the table, possibly changed by `agents.toml`, or an agent that exists only there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Id by which the agent is selected.
    pub id: String,
    pub title: String,
    /// Protocol that drives the agent.
    pub protocol: Protocol,
    /// Command that starts the agent in its protocol mode.
    pub program: Program,
    /// Arguments that print the version of the program.
    pub version: Vec<String>,
    /// Instructions for logging in.
    pub log_in: String,
    /// Account commands from `agents.toml`.
    pub account: AccountCommands,
    /// Non-interactive authentication with existing credentials.
    pub authenticate: Option<Authenticate>,
    /// Modes of an ACP agent in which permissions are not requested, or are granted by another model.
    pub skipping_modes: Vec<String>,
    /// Deviations from the Agent Client Protocol.
    pub quirks: Quirks,
}

/// Arguments of the commands for login, logout and login state. Empty if there is no such command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountCommands {
    /// Logs in on a terminal.
    pub log_in: Vec<String>,
    /// Removes the login.
    pub log_out: Vec<String>,
    /// Exits with 0 if a user is logged in.
    pub status: Vec<String>,
}

/// Non-interactive authentication with existing credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticate {
    /// Id of the authentication method, as the agent defines it.
    pub method: String,
    /// Authenticate before every session; otherwise only after a session was refused.
    pub always: bool,
}

/// Deviations of an agent from the Agent Client Protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quirks {
    /// Prefix of agent messages that announce a mode change.
    pub mode_message_prefix: Option<String>,
    /// A conversation that is loaded within the minute of its creation is lost.
    pub resume_only_after_start_minute: bool,
    /// Conversations are stored in files in the format of Gemini CLI.
    pub gemini_files: bool,
    /// Requests that are only notifications and are answered with an empty result.
    pub acknowledged_requests: Vec<String>,
    /// Client capabilities to announce in `_meta`.
    pub client_capabilities: Vec<String>,
    /// Tool calls are reported without name and arguments, which are derived from the rest of the report.
    pub derives_arguments: bool,
    /// Environment variables that are set unless the user has set them.
    pub environment: Vec<(String, String)>,
    /// Lines of standard error that report a retry of a model request.
    pub retry_lines: Option<RetryLines>,
    /// The agent compacts conversations automatically and has no command for it.
    pub compacts_by_itself: bool,
}

/// Lines of standard error that report a retry of a model request: `Attempt 1 failed with status 429. Retrying…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryLines {
    /// Text that precedes the attempt number in every such line.
    pub marker: String,
    /// Attempts after which the agent gives up.
    pub max_attempts: u32,
}

/// Built-in agents, in display order.
pub fn built_in() -> Vec<Entry> {
    AGENTS.iter().map(AgentRow::entry).collect()
}

impl Entry {
    /// Entry of the agent with a dedicated protocol. `None` for the Agent Client Protocol, which many agents speak.
    pub fn of(protocol: Protocol) -> Option<Self> {
        row(protocol, &[]).map(AgentRow::entry)
    }

    /// Management functions of the agent.
    pub(crate) fn management(&self) -> &'static Management {
        row(self.protocol, &self.program.commands).map_or(&management::DEFAULT_MANAGEMENT, |row| &row.management)
    }
}

/// Row of a known agent. ACP agents are identified by the file name of their first command, wherever it is installed;
/// the others by their protocol.
fn row(protocol: Protocol, commands: &[String]) -> Option<&'static AgentRow> {
    let name = commands.first().map(Path::new).and_then(Path::file_name).and_then(|name| name.to_str());
    let is_it = |row: &&AgentRow| match protocol {
        Protocol::Acp => name.is_some_and(|name| row.commands.contains(&name)),
        Protocol::Claude | Protocol::Codex => true,
    };
    AGENTS.iter().filter(|row| row.protocol == protocol).find(is_it)
}

impl AgentRow {
    fn entry(&self) -> Entry {
        let RowQuirks {
            mode_message_prefix,
            resume_only_after_start_minute,
            gemini_files,
            acknowledged_requests,
            client_capabilities,
            ..
        } = self.quirks;
        let RowQuirks { derives_arguments, environment, retry_lines, compacts_by_itself, .. } = self.quirks;
        Entry {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            protocol: self.protocol,
            program: Program::built_in(self.commands, self.arguments, self.install),
            version: owned(VERSION),
            log_in: self.log_in.to_owned(),
            account: AccountCommands::default(),
            authenticate: self.authenticate.map(|(method, always)| Authenticate { method: method.to_owned(), always }),
            skipping_modes: owned(self.skipping_modes),
            quirks: Quirks {
                mode_message_prefix: mode_message_prefix.map(str::to_owned),
                resume_only_after_start_minute,
                gemini_files,
                acknowledged_requests: owned(acknowledged_requests),
                client_capabilities: owned(client_capabilities),
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
