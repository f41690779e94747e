//! Table of the built-in agents, one row per agent. The table contains only data;
//! [`ProgramAgent`](crate::program_agent) implements the behaviour.

pub(crate) mod management;
mod rows;

use std::path::Path;

use serde::Deserialize;

use crate::program::{Program, owned};
pub(crate) use management::Management;
use rows::{AGENTS, AgentRow, RowQuirks};

/// Default arguments that make an agent's program print its version.
pub(crate) const VERSION: &[&str] = &["--version"];

/// Protocol between wh and an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolKind {
    /// Agent Client Protocol (ACP).
    Acp,
    /// Claude Code's control protocol.
    Claude,
    /// Codex's app-server protocol.
    Codex,
}

impl ProtocolKind {
    /// Returns the name of the protocol in `agents.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acp => "acp",
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// Returns the first characters of prompts that agents of this protocol interpret as commands instead of sending
    /// them to the model. An ACP agent may interpret commands that it does not list.
    pub fn interprets(self) -> &'static [char] {
        match self {
            Self::Acp | Self::Claude => &['/'],
            Self::Codex => &[],
        }
    }
}

/// Definition of an agent: a row of the table, possibly changed by `agents.toml`, or a new agent from `agents.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    /// Id of the agent on the command line and in `agents.toml`.
    pub id: String,
    pub title: String,
    /// Protocol between wh and the agent.
    pub protocol: ProtocolKind,
    /// Program with the default arguments that make the program use the protocol.
    pub program: Program,
    /// Arguments that make the program print its version.
    pub version: Vec<String>,
    /// Login instructions for the user, shown as a hint.
    pub log_in: String,
    /// Commands for login, logout and login state from `agents.toml`.
    pub account: AccountCommands,
    /// Authentication method that works without user input. `None` if the agent has no such method.
    pub authenticate: Option<AuthenticationMethod>,
    /// Ids of an ACP agent's modes that skip permissions, including modes in which a model grants permissions.
    pub skipping_modes: Vec<String>,
    /// Deviations of the agent from the Agent Client Protocol.
    pub quirks: Quirks,
}

/// Arguments of the commands for login, logout and login state. If a field is empty, the agent has no such command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountCommands {
    /// Arguments that start an interactive login on a terminal.
    pub log_in: Vec<String>,
    /// Arguments that remove the stored login.
    pub log_out: Vec<String>,
    /// Arguments of a command that exits with 0 if a user is logged in.
    pub status: Vec<String>,
}

/// Authentication with existing credentials, without user input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticationMethod {
    /// Id that the agent defines for the authentication method.
    pub method: String,
    /// True to authenticate before every session; false to authenticate only after the agent has refused a session.
    pub always: bool,
}

/// Deviations of an agent from the Agent Client Protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quirks {
    /// Prefix of the messages by which the agent announces a change of its mode.
    pub mode_message_prefix: Option<String>,
    /// The agent loses a conversation that is loaded in the same clock minute in which it was created.
    pub resume_only_after_start_minute: bool,
    /// The agent stores conversations in files in the format of Gemini CLI.
    pub gemini_files: bool,
    /// Methods of requests that the agent uses as notifications. wh answers these requests with an empty result.
    pub acknowledged_requests: Vec<String>,
    /// Names of client capabilities that wh announces to the agent in `_meta`.
    pub client_capabilities: Vec<String>,
    /// The agent reports tool calls without name and arguments. wh derives both from other fields of the report.
    pub derives_arguments: bool,
    /// Environment variables for the agent, unless the user has set them.
    pub environment: Vec<(String, String)>,
    /// Format of the lines on standard error that report a retry of a model request.
    pub retry_lines: Option<RetryLines>,
    /// The agent compacts conversations automatically and has no command for it.
    pub compacts_by_itself: bool,
}

/// Format of lines on standard error that report a retry of a model request, such as
/// `Attempt 1 failed with status 429. Retrying…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryLines {
    /// Text before the attempt number in every such line. Lines without this text are ignored.
    pub marker: String,
    /// Number of attempts after which the agent gives up.
    pub max_attempts: u32,
}

/// Returns the built-in agents, in display order.
pub fn built_in() -> Vec<AgentEntry> {
    AGENTS.iter().map(AgentRow::entry).collect()
}

impl AgentEntry {
    /// Returns the built-in entry for a protocol that only one agent uses. `None` for the Agent Client Protocol, which
    /// several agents use.
    pub fn of(protocol: ProtocolKind) -> Option<Self> {
        row(protocol, &[]).map(AgentRow::entry)
    }

    /// Returns the management functions of the agent.
    pub(crate) fn management(&self) -> &'static Management {
        row(self.protocol, &self.program.commands).map_or(&management::DEFAULT_MANAGEMENT, |row| &row.management)
    }
}

/// Returns the row of a built-in agent. For ACP, the file name of the first command selects the row, in any directory.
/// Every other protocol has only one row.
fn row(protocol: ProtocolKind, commands: &[String]) -> Option<&'static AgentRow> {
    let name = commands.first().map(Path::new).and_then(Path::file_name).and_then(|name| name.to_str());
    let is_it = |row: &&AgentRow| match protocol {
        ProtocolKind::Acp => name.is_some_and(|name| row.commands.contains(&name)),
        ProtocolKind::Claude | ProtocolKind::Codex => true,
    };
    AGENTS.iter().filter(|row| row.protocol == protocol).find(is_it)
}

impl AgentRow {
    fn entry(&self) -> AgentEntry {
        let RowQuirks {
            mode_message_prefix,
            resume_only_after_start_minute,
            gemini_files,
            acknowledged_requests,
            client_capabilities,
            ..
        } = self.quirks;
        let RowQuirks { derives_arguments, environment, retry_lines, compacts_by_itself, .. } = self.quirks;
        AgentEntry {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            protocol: self.protocol,
            program: Program::built_in(self.commands, self.arguments, self.install),
            version: owned(VERSION),
            log_in: self.log_in.to_owned(),
            account: AccountCommands::default(),
            authenticate: self
                .authenticate
                .map(|(method, always)| AuthenticationMethod { method: method.to_owned(), always }),
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
        assert_eq!(of(ProtocolKind::Acp, "/opt/bin/gemini"), Some("gemini"));
        assert_eq!(of(ProtocolKind::Acp, "agent"), Some("cursor"));
        assert_eq!(of(ProtocolKind::Acp, "codex-acp"), Some("codex-acp"));
        assert_eq!(of(ProtocolKind::Acp, "mine"), None);
        assert_eq!(of(ProtocolKind::Acp, "codex"), None, "that speaks otherwise");
        assert_eq!(
            (of(ProtocolKind::Codex, "mine"), of(ProtocolKind::Claude, "codex")),
            (Some("codex"), Some("claude"))
        );
        assert_eq!(row(ProtocolKind::Acp, &[]).map(|row| row.id), None);
    }

    #[test]
    fn a_protocol_is_named_as_it_is_read() {
        for protocol in [ProtocolKind::Acp, ProtocolKind::Claude, ProtocolKind::Codex] {
            let read: ProtocolKind = serde_json::from_value(protocol.name().into()).unwrap();
            assert_eq!(read, protocol);
        }
    }
}
