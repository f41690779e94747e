//! Interface to one kind of agent: its static facts, its readiness, and queries outside of a conversation.

use std::path::PathBuf;
use std::time::SystemTime;

use wh_core::space::roster::{LoginMethod, LoginState, LogoutResult, McpServer, ModelCard, StaticCapabilities};

use super::{AgentStartError, BoxFuture, Harness, QueryContext, StartOptions};
use crate::manage::{self, LoginAction};

/// Agent such as Claude Code, which can be queried and started. A [`Harness`] is a running agent.
pub trait Agent: Send + Sync {
    fn facts(&self) -> AgentFacts;

    /// Returns the abilities that are known without starting the agent.
    fn abilities(&self) -> StaticCapabilities {
        StaticCapabilities::default()
    }

    /// Checks whether the agent can be used in this directory and environment. Never fails: facts that cannot be
    /// determined are reported as unknown.
    fn check<'a>(&'a self, here: &'a QueryContext) -> BoxFuture<'a, Readiness>;

    /// Returns the way to log in. The default implementation returns the instructions of [`AgentFacts::login_hint`].
    fn login_way<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Result<LoginAction, ManageError>> {
        Box::pin(async {
            Ok(match self.facts().login_hint {
                Some(instructions) => LoginAction::ByHand { instructions, method: LoginMethod::Terminal },
                None => LoginAction::NotNeeded,
            })
        })
    }

    fn log_out<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Result<LogoutResult, ManageError>> {
        Box::pin(async { Ok(manage::no_logout(&self.facts().title, "wh does not manage its login")) })
    }

    /// Returns additional facts about the installation as pairs of name and value.
    fn about<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Vec<(String, String)>> {
        Box::pin(async { Vec::new() })
    }

    /// Lists the models of the agent. The default implementation returns an error.
    fn models<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Result<Vec<ModelCard>, ManageError>> {
        Box::pin(async { Err(manage::no_models(&self.facts().title)) })
    }

    /// Lists the MCP servers of the agent. The default implementation returns an error.
    fn mcp<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Result<Vec<McpServer>, ManageError>> {
        Box::pin(async { Err(manage::no_mcp(&self.facts().title)) })
    }

    /// Enables or disables an MCP server. Returns the agent's message, or a confirmation if the agent sends none. The
    /// default implementation returns an error.
    fn switch_mcp<'a>(
        &'a self,
        _here: &'a QueryContext,
        _server: &'a str,
        _on: bool,
    ) -> BoxFuture<'a, Result<String, ManageError>> {
        Box::pin(async { Err(manage::no_switch(&self.facts().title)) })
    }

    /// Lists the saved conversations of a directory, newest first. The default implementation returns an error.
    fn conversations<'a>(
        &'a self,
        _here: &'a QueryContext,
    ) -> BoxFuture<'a, Result<Vec<SavedConversation>, ManageError>> {
        Box::pin(async { Err(ManageError::NotSupported(format!("{} cannot list conversations", self.facts().title))) })
    }

    /// Starts an agent. Orders may be sent at once; the harness buffers them until the first
    /// [`Report::Ready`](wh_core::space::harness::Report::Ready).
    fn start(&self, start: StartOptions) -> BoxFuture<'_, Result<Harness, AgentStartError>>;
}

/// Static facts about an agent, the same on every machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFacts {
    /// Id of the agent on the command line and in configuration files, such as `demo`.
    pub id: String,
    pub title: String,
    /// Installation command; `None` if the agent is built in.
    pub install_hint: Option<String>,
    /// Login instructions; `None` if no login is required.
    pub login_hint: Option<String>,
}

/// Installation and login state of an agent on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    pub installation: Installation,
    pub login: LoginState,
    /// Next step that the user must take before using the agent; `None` if no such step is known.
    pub hint: Option<String>,
}

/// Installation state of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installation {
    /// The agent is part of wh.
    BuiltIn,
    /// The program was found.
    Installed {
        path: PathBuf,
        /// Version of the program, if the program reported it.
        version: Option<String>,
    },
    /// The program is not on the PATH.
    Missing,
}

impl Installation {
    /// Returns true if the program is installed or built in.
    pub fn is_present(&self) -> bool {
        !matches!(self, Self::Missing)
    }
}

/// Conversation saved by an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedConversation {
    /// Id that the agent assigned, for [`ResumeSelector::Named`](super::ResumeSelector::Named). Not exposed to clients.
    pub name: String,
    pub title: String,
    /// Time of the last message.
    pub at: Option<SystemTime>,
    /// Working directory of the conversation.
    pub directory: Option<PathBuf>,
}

/// Failure of an operation outside of a conversation, such as a logout or a list of models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManageError {
    #[error("{agent} is not installed: {hint}")]
    NotInstalled {
        agent: String,
        /// Instructions for installing the program.
        hint: String,
    },
    /// The agent does not support the operation. The text suggests an alternative.
    #[error("{0}")]
    NotSupported(String),
    /// The operation failed or timed out.
    #[error("{0}")]
    Failed(String),
}
