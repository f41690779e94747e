//! The columns of the table that are about an agent without a conversation: its login, its models, its MCP servers, its
//! conversations. Where arguments and a reader of the output are not enough, a column is a function.

use std::path::PathBuf;

use wh_core::space::roster::{McpServer, ModelCard};
use wh_pipe::Launch;

use super::Entry;
use crate::acp;
use crate::manage::run::{self, Said};
use crate::manage::{LoginWay, logged_in_by};
use crate::port::{BoxFuture, Kept, LoginState, ManageError, Surroundings};

/// An agent that is asked something without a conversation.
#[derive(Clone, Copy)]
pub(crate) struct Inquiry<'a> {
    pub entry: &'a Entry,
    /// The program to ask, without arguments.
    pub launch: &'a Launch,
    /// The place in which it is asked, with the environment that it always has.
    pub here: &'a Surroundings,
}

/// A question that a function asks.
pub(crate) type Ask<T> = for<'a> fn(Inquiry<'a>) -> BoxFuture<'a, T>;

/// How an agent is managed without a conversation.
pub(crate) struct Management {
    /// The agent that keeps the login, for an adapter.
    pub behind: Option<Behind>,
    /// Reads the version from what the command prints.
    pub version: fn(&Said) -> Option<String>,
    /// Variables that log in, whatever its files say. They count before it is asked.
    pub login_variables: &'static [&'static str],
    /// Finds out who is logged in.
    pub login: LoginCheck,
    /// Logs in.
    pub log_in: LogIn,
    /// Logs out.
    pub log_out: LogOut,
    /// Further facts, a name and a value each.
    pub about: Option<Ask<Vec<(String, String)>>>,
    /// Lists its models.
    pub models: Source<Vec<ModelCard>>,
    /// Lists its MCP servers.
    pub mcp: Source<Vec<McpServer>>,
    /// Switches an MCP server on or off.
    pub switch_mcp: McpSwitch,
    /// Lists the conversations that it keeps of a directory, the newest first.
    pub conversations: Ask<Result<Vec<Kept>, ManageError>>,
    /// Resume, modes, models, thinking and conversations are known to work; otherwise the running one tells.
    pub tested: bool,
    /// It has modes that skip permissions, beside those that its [`Entry`] names.
    pub skips_permissions: bool,
}

/// The agent that an adapter stands before. Its commands are run in the place of the adapter's.
pub(crate) struct Behind {
    /// Its command, on the path.
    pub command: &'static str,
    /// The file that it keeps its login in: all there is to see if it is not installed on its own.
    pub credentials: fn(&Surroundings) -> Option<PathBuf>,
}

impl Behind {
    /// The login of one that is not installed on its own.
    pub fn login(&self, here: &Surroundings) -> LoginState {
        logged_in_by((self.credentials)(here))
    }
}

pub(crate) enum LoginCheck {
    Unknown,
    /// Its files tell.
    Files(fn(&Surroundings) -> LoginState),
    Asked(Ask<LoginState>),
}

pub(crate) enum LogIn {
    /// By hand on a terminal, as its login hint says.
    Hint,
    /// By a variable, with these instructions.
    Variable(&'static str),
    /// By a command with these arguments, which opens a browser.
    Command(&'static [&'static str]),
    Asked(Ask<LoginWay>),
}

pub(crate) enum LogOut {
    /// It has no logout; what to do instead.
    Instead(&'static str),
    Command {
        arguments: &'static [&'static str],
        still: StillLoggedIn,
    },
}

/// The variable that logs in even after a logout.
pub(crate) enum StillLoggedIn {
    /// The first of these that is set.
    Variables(&'static [&'static str]),
    Asked(Ask<Option<String>>),
}

/// Where a list comes from.
pub(crate) enum Source<T> {
    /// It lists none.
    Unsupported,
    /// A command prints it.
    Printed {
        arguments: &'static [&'static str],
        /// The command, as a failure names it.
        name: &'static str,
        read: fn(&Said) -> Result<T, ManageError>,
    },
    Asked(Ask<Result<T, ManageError>>),
}

pub(crate) enum McpSwitch {
    /// The agent has no such command, installed or not.
    Never,
    /// No such command is known.
    Unknown,
    /// `mcp enable NAME` and `mcp disable NAME`; what it prints, if anything, as the outcome.
    Command(fn(&Said) -> Result<Option<String>, ManageError>),
}

/// Tells how to log out of an agent without a logout of which no more is known.
pub(crate) const LOG_OUT_BY_HAND: &str = "take its login away where it was set up";

/// An agent of the Agent Client Protocol of which no more is known.
pub(crate) const PLAIN: Management = Management {
    behind: None,
    version: |said| run::version(&said.text()),
    login_variables: &[],
    login: LoginCheck::Unknown,
    log_in: LogIn::Hint,
    log_out: LogOut::Instead(LOG_OUT_BY_HAND),
    about: None,
    models: Source::Unsupported,
    mcp: Source::Unsupported,
    switch_mcp: McpSwitch::Unknown,
    conversations: |inquiry| Box::pin(acp::conversations(inquiry)),
    tested: false,
    skips_permissions: false,
};
