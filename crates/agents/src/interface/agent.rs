//! Kind of agent: its facts, its readiness, and queries that do not require a running agent.

use std::path::PathBuf;
use std::time::SystemTime;

use wh_core::space::roster::{Abilities, LoginMethod, LoginState, LogoutResult, McpServer, ModelCard};

use super::{BoxFuture, Harness, QueryContext, Start, StartError};
use crate::manage::{self, LoginWay};

/// Kind of agent that can be started.
pub trait Agent: Send + Sync {
    fn facts(&self) -> AgentFacts;

    /// Capabilities known without starting it.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// Checks whether the agent can be used here. Never fails; facts that cannot be determined are reported as unknown.
    fn check<'a>(&'a self, here: &'a QueryContext) -> BoxFuture<'a, Readiness>;

    /// Way to log in. By default the instructions of [`AgentFacts::login_hint`].
    fn login_way<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Result<LoginWay, ManageError>> {
        Box::pin(async {
            Ok(match self.facts().login_hint {
                Some(instructions) => LoginWay::ByHand { instructions, method: LoginMethod::Terminal },
                None => LoginWay::NotNeeded,
            })
        })
    }

    fn log_out<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Result<LogoutResult, ManageError>> {
        Box::pin(async { Ok(manage::no_logout(&self.facts().title, "its login is not managed by a command")) })
    }

    /// Additional facts as pairs of name and value; may be empty.
    fn about<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Vec<(String, String)>> {
        Box::pin(async { Vec::new() })
    }

    /// Lists the models.
    fn models<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Result<Vec<ModelCard>, ManageError>> {
        Box::pin(async { Err(manage::no_models(&self.facts().title)) })
    }

    /// Lists the MCP servers.
    fn mcp<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Result<Vec<McpServer>, ManageError>> {
        Box::pin(async { Err(manage::no_mcp(&self.facts().title)) })
    }

    /// Enables or disables an MCP server. Returns the agent's message.
    fn switch_mcp<'a>(
        &'a self,
        _here: &'a QueryContext,
        _server: &'a str,
        _on: bool,
    ) -> BoxFuture<'a, Result<String, ManageError>> {
        Box::pin(async { Err(manage::no_switch(&self.facts().title)) })
    }

    /// Lists the saved conversations of a directory, newest first. Not supported by default.
    fn conversations<'a>(
        &'a self,
        _here: &'a QueryContext,
    ) -> BoxFuture<'a, Result<Vec<SavedConversation>, ManageError>> {
        Box::pin(async { Err(ManageError::NotSupported(format!("{} lists no conversations", self.facts().title))) })
    }

    /// Starts an agent. Orders may be sent at once; they are buffered until its first
    /// [`Report::Ready`](wh_core::space::harness::Report::Ready).
    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>>;
}

/// Static facts of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFacts {
    /// Id by which the agent is selected, such as `demo`.
    pub id: String,
    pub title: String,
    /// Installation command; `None` if the agent is built in.
    pub install_hint: Option<String>,
    /// Login instructions; `None` if no login is required.
    pub login_hint: Option<String>,
}

/// State of an agent on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    pub installation: Installation,
    pub login: LoginState,
    /// Next step towards using the agent; `None` if nothing is known to be missing.
    pub hint: Option<String>,
}

/// Installation state of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installation {
    /// Part of wh.
    BuiltIn,
    /// The program was found.
    Installed {
        /// Path of the program.
        path: PathBuf,
        /// Version, if it was reported.
        version: Option<String>,
    },
    /// The program is not on the PATH.
    Missing,
}

impl Installation {
    /// True if the agent can be started.
    pub fn is_present(&self) -> bool {
        !matches!(self, Self::Missing)
    }
}

/// Conversation saved by an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedConversation {
    /// The agent's own id, as [`Resume::Named`](super::Resume::Named) takes it. Not exposed to clients.
    pub name: String,
    pub title: String,
    /// Time of the last message.
    pub at: Option<SystemTime>,
    /// Working directory of the conversation.
    pub directory: Option<PathBuf>,
}

/// Failure of a management operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManageError {
    /// The program is not installed.
    #[error("{agent} is not installed: {hint}")]
    NotInstalled {
        /// Name of the agent.
        agent: String,
        /// Instructions for installing the program.
        hint: String,
    },
    /// The agent does not support the operation. The text includes an alternative.
    #[error("{0}")]
    NotSupported(String),
    /// The operation failed or timed out.
    #[error("{0}")]
    Failed(String),
}
