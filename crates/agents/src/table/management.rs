//! Management columns of the table: login, models, MCP servers and conversations. A column is a function if arguments
//! and an output parser are not enough.

use std::path::PathBuf;

use wh_core::space::roster::{McpServer, ModelCard};
use wh_pipe::Launch;

use super::Entry;
use crate::acp;
use crate::interface::{BoxFuture, LoginState, ManageError, QueryContext, SavedConversation};
use crate::manage::run::{self, CommandOutput};
use crate::manage::{LoginWay, logged_in_by};

/// Query to an agent outside of a conversation.
#[derive(Clone, Copy)]
pub(crate) struct Inquiry<'a> {
    pub entry: &'a Entry,
    /// Program to query, without arguments.
    pub launch: &'a Launch,
    /// Directory and environment of the query, including the program's fixed environment.
    pub here: &'a QueryContext,
}

/// Function that performs a query.
pub(crate) type QueryFn<T> = for<'a> fn(Inquiry<'a>) -> BoxFuture<'a, T>;

/// Management functions of an agent.
pub(crate) struct Management {
    /// Adapted agent that owns the login, if this is an adapter.
    pub adapted: Option<AdaptedAgent>,
    /// Extracts the version from the output of the version command.
    pub version: fn(&CommandOutput) -> Option<String>,
    /// Environment variables that log in regardless of the agent's files. Checked first.
    pub login_variables: &'static [&'static str],
    /// Reads the login state.
    pub login: LoginCheck,
    /// Way to log in.
    pub log_in: LogIn,
    /// Way to log out.
    pub log_out: LogOut,
    /// Returns additional facts as pairs of name and value.
    pub about: Option<QueryFn<Vec<(String, String)>>>,
    /// Source of the list of models.
    pub models: ListSource<Vec<ModelCard>>,
    /// Source of the list of MCP servers.
    pub mcp: ListSource<Vec<McpServer>>,
    /// Enables or disables an MCP server.
    pub switch_mcp: McpSwitch,
    /// Lists the saved conversations of a directory, newest first.
    pub conversations: QueryFn<Result<Vec<SavedConversation>, ManageError>>,
    /// Resume, modes, models, thinking and conversations are known to work. Otherwise support is known only once the
    /// agent runs.
    pub tested: bool,
    /// The agent has modes that skip permissions beyond those listed in its [`Entry`].
    pub skips_permissions: bool,
}

/// Agent behind an adapter. Management commands run its program instead of the adapter.
pub(crate) struct AdaptedAgent {
    /// Command on the PATH.
    pub command: &'static str,
    /// Path of the credentials file, used as evidence of a login if the program is not installed.
    pub credentials: fn(&QueryContext) -> Option<PathBuf>,
}

impl AdaptedAgent {
    /// Login state if the program of the adapted agent is not installed.
    pub fn login(&self, here: &QueryContext) -> LoginState {
        logged_in_by((self.credentials)(here))
    }
}

pub(crate) enum LoginCheck {
    Unknown,
    /// Read from the agent's files.
    Files(fn(&QueryContext) -> LoginState),
    Asked(QueryFn<LoginState>),
}

pub(crate) enum LogIn {
    /// Manually on a terminal, following the login hint.
    Hint,
    /// By an environment variable, with these instructions.
    Variable(&'static str),
    /// By a command with these arguments that opens a browser.
    Command(&'static [&'static str]),
    Asked(QueryFn<LoginWay>),
}

pub(crate) enum LogOut {
    /// The agent has no logout; the text is an alternative.
    Instead(&'static str),
    Command {
        arguments: &'static [&'static str],
        still: StillLoggedIn,
    },
}

/// Finds the variable that keeps the user logged in after a logout.
pub(crate) enum StillLoggedIn {
    /// First of these variables that is set.
    Variables(&'static [&'static str]),
    Asked(QueryFn<Option<String>>),
}

/// Source of a list.
pub(crate) enum ListSource<T> {
    /// The agent has no such list.
    Unsupported,
    /// Output of a command.
    Printed {
        arguments: &'static [&'static str],
        /// Command name for error messages.
        name: &'static str,
        read: fn(&CommandOutput) -> Result<T, ManageError>,
    },
    Asked(QueryFn<Result<T, ManageError>>),
}

pub(crate) enum McpSwitch {
    /// The agent is known to have no such command.
    Never,
    /// The agent may have such a command.
    Unknown,
    /// Runs `mcp enable NAME` or `mcp disable NAME`. The function parses the output into a message, if any.
    Command(fn(&CommandOutput) -> Result<Option<String>, ManageError>),
}

/// Instructions for logging out of an agent without a known logout.
pub(crate) const LOG_OUT_BY_HAND: &str = "remove its login where it was set up";

/// Management functions of ACP agents that are not in the table, and defaults for the rows.
pub(crate) const DEFAULT_MANAGEMENT: Management = Management {
    adapted: None,
    version: |output| run::version(&output.text()),
    login_variables: &[],
    login: LoginCheck::Unknown,
    log_in: LogIn::Hint,
    log_out: LogOut::Instead(LOG_OUT_BY_HAND),
    about: None,
    models: ListSource::Unsupported,
    mcp: ListSource::Unsupported,
    switch_mcp: McpSwitch::Unknown,
    conversations: |inquiry| Box::pin(acp::conversations(inquiry)),
    tested: false,
    skips_permissions: false,
};
