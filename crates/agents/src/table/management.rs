//! Management functions of the built-in agents: login, models, MCP servers and conversations. Where possible, a
//! function is described by data (command arguments and an output parser).

use std::path::PathBuf;

use wh_core::space::roster::{McpServer, ModelCard};
use wh_pipe::LaunchSpec;

use super::AgentEntry;
use crate::acp;
use crate::interface::{BoxFuture, LoginState, ManageError, QueryContext, SavedConversation};
use crate::manage::run::{self, CommandOutput};
use crate::manage::{LoginAction, logged_in_by};

/// Query to an agent outside of a conversation, with its context.
#[derive(Clone, Copy)]
pub(crate) struct AgentQuery<'a> {
    pub entry: &'a AgentEntry,
    /// Command of the program to query, without arguments.
    pub launch: &'a LaunchSpec,
    /// Directory and environment of the query, including the program's default environment.
    pub here: &'a QueryContext,
}

/// Function that sends a query to an agent.
pub(crate) type QueryFn<T> = for<'a> fn(AgentQuery<'a>) -> BoxFuture<'a, T>;

/// Functions and data for managing an agent outside of a conversation.
pub(crate) struct Management {
    /// Agent behind this agent, if this agent is an adapter. Management commands run the program of the adapted agent.
    pub adapted: Option<AdaptedAgent>,
    /// Extracts the version from the output of the version command.
    pub version: fn(&CommandOutput) -> Option<String>,
    /// Environment variables that contain credentials. If any of them is set, the user counts as logged in.
    pub login_variables: &'static [&'static str],
    /// Method of reading the login state.
    pub login: LoginCheck,
    /// Method of logging in.
    pub log_in: LoginProcedure,
    /// Method of logging out.
    pub log_out: LogoutProcedure,
    /// Function that returns additional facts as pairs of name and value.
    pub about: Option<QueryFn<Vec<(String, String)>>>,
    /// Source of the list of models.
    pub models: ListSource<Vec<ModelCard>>,
    /// Source of the list of MCP servers.
    pub mcp: ListSource<Vec<McpServer>>,
    /// Method of enabling and disabling MCP servers.
    pub switch_mcp: McpSwitch,
    /// Function that lists the saved conversations of a directory, newest first.
    pub conversations: QueryFn<Result<Vec<SavedConversation>, ManageError>>,
    /// True if resume, modes, models, thinking and conversations are known to work. Otherwise their support is unknown
    /// until the agent runs.
    pub tested: bool,
    /// True if the agent has further modes that skip permissions, besides the `skipping_modes` of its [`AgentEntry`].
    pub skips_permissions: bool,
}

/// Agent behind an adapter. Management commands run the adapted agent's program instead of the adapter.
pub(crate) struct AdaptedAgent {
    /// Name of the command on the PATH.
    pub command: &'static str,
    /// Function that returns the path of the credentials file. If the program is not installed, the user counts as
    /// logged in if this file is not empty.
    pub credentials: fn(&QueryContext) -> Option<PathBuf>,
}

impl AdaptedAgent {
    /// Returns the login state according to the credentials file. Used if the program of the adapted agent is not
    /// installed.
    pub fn login(&self, here: &QueryContext) -> LoginState {
        logged_in_by((self.credentials)(here))
    }
}

pub(crate) enum LoginCheck {
    Unknown,
    /// The function reads the agent's files.
    Files(fn(&QueryContext) -> LoginState),
    Asked(QueryFn<LoginState>),
}

pub(crate) enum LoginProcedure {
    /// The user follows the login hint on a terminal.
    Hint,
    /// The user sets an environment variable according to these instructions.
    Variable(&'static str),
    /// A command with these arguments opens a browser.
    Command(&'static [&'static str]),
    Asked(QueryFn<LoginAction>),
}

pub(crate) enum LogoutProcedure {
    /// The agent has no logout command. The text tells the user how to log out.
    Instead(&'static str),
    Command {
        arguments: &'static [&'static str],
        still: RemainingLoginCheck,
    },
}

/// Method of finding an environment variable that keeps the user logged in after a logout.
pub(crate) enum RemainingLoginCheck {
    /// The first of these variables that is set.
    Variables(&'static [&'static str]),
    Asked(QueryFn<Option<String>>),
}

/// Source of a list, such as the models of an agent.
pub(crate) enum ListSource<T> {
    /// The agent cannot provide the list.
    Unsupported,
    /// The command with these arguments prints the list.
    Printed {
        arguments: &'static [&'static str],
        /// Command name for error messages.
        name: &'static str,
        read: fn(&CommandOutput) -> Result<T, ManageError>,
    },
    Asked(QueryFn<Result<T, ManageError>>),
}

pub(crate) enum McpSwitch {
    /// The agent cannot enable or disable MCP servers.
    Never,
    /// The agent may be able to enable or disable MCP servers, but wh does not support it.
    Unknown,
    /// Command `mcp enable NAME` or `mcp disable NAME`. The function parses the output into an optional message.
    Command(fn(&CommandOutput) -> Result<Option<String>, ManageError>),
}

/// Logout instructions for an agent whose logout is unknown to wh.
pub(crate) const LOG_OUT_BY_HAND: &str = "delete its stored credentials";

/// Management functions of ACP agents that are not built in. Also the defaults for the rows of the table.
pub(crate) const DEFAULT_MANAGEMENT: Management = Management {
    adapted: None,
    version: |output| run::version(&output.text()),
    login_variables: &[],
    login: LoginCheck::Unknown,
    log_in: LoginProcedure::Hint,
    log_out: LogoutProcedure::Instead(LOG_OUT_BY_HAND),
    about: None,
    models: ListSource::Unsupported,
    mcp: ListSource::Unsupported,
    switch_mcp: McpSwitch::Unknown,
    conversations: |inquiry| Box::pin(acp::conversations(inquiry)),
    tested: false,
    skips_permissions: false,
};
