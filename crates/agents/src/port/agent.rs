//! A kind of agent: its facts, whether it can be used, and what it can be asked without being started.

use std::path::PathBuf;
use std::time::SystemTime;

use wh_core::space::roster::{Abilities, LoginMethod, LoginState, LogoutDone, McpServer, ModelCard};

use super::{BoxFuture, Harness, Start, StartError, Surroundings};
use crate::manage::{self, LoginWay};

/// A kind of program that does the work.
pub trait Agent: Send + Sync {
    /// What is always true of it.
    fn facts(&self) -> AgentFacts;

    /// What it can do.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// Looks whether it can be used now and here. Never fails: what cannot be found out is unknown.
    fn check<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Readiness>;

    /// How somebody logs in with it. Without a way of its own its login is a matter of what [`AgentFacts::login_hint`]
    /// says.
    fn login_way<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Result<LoginWay, ManageError>> {
        Box::pin(async {
            Ok(match self.facts().login_hint {
                Some(instructions) => LoginWay::ByHand { instructions, method: LoginMethod::Terminal },
                None => LoginWay::NotNeeded,
            })
        })
    }

    /// Logs out.
    fn log_out<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Result<LogoutDone, ManageError>> {
        Box::pin(async { Ok(manage::no_logout(&self.facts().title, "its login is not kept by a command")) })
    }

    /// What else it says of itself, a name and a value each. Nothing where it does not.
    fn about<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Vec<(String, String)>> {
        Box::pin(async { Vec::new() })
    }

    /// The models that it offers.
    fn models<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<ModelCard>, ManageError>> {
        Box::pin(async { Err(manage::no_models(&self.facts().title)) })
    }

    /// Its MCP servers.
    fn mcp<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<McpServer>, ManageError>> {
        Box::pin(async { Err(manage::no_mcp(&self.facts().title)) })
    }

    /// Switches one of its MCP servers on or off; what it says of that.
    fn switch_mcp<'a>(
        &'a self,
        _here: &'a Surroundings,
        _server: &'a str,
        _on: bool,
    ) -> BoxFuture<'a, Result<String, ManageError>> {
        Box::pin(async { Err(manage::no_switch(&self.facts().title)) })
    }

    /// The conversations that it keeps of a directory, the newest first. An agent without an answer of its own says that
    /// it lists none.
    fn conversations<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<Kept>, ManageError>> {
        Box::pin(async { Err(ManageError::NotSupported(format!("{} lists no conversations", self.facts().title))) })
    }

    /// Starts one. It is usable from its first [`Report::Ready`](wh_core::space::harness::Report::Ready) on; orders given before that are kept for it.
    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>>;
}

/// What is always true of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFacts {
    /// What it is chosen by, as `demo`.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// What to run in order to have it. `None`: it is always there.
    pub install_hint: Option<String>,
    /// What to run in order to log in. `None`: it needs no login.
    pub login_hint: Option<String>,
}

/// Whether an agent can be used now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// Whether it is installed.
    pub installation: Installation,
    /// Whether somebody is logged in.
    pub login: LoginState,
    /// What to run in order to use it; `None` when nothing is missing, as far as is known.
    pub hint: Option<String>,
}

/// Whether an agent is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installation {
    /// It is a part of wh.
    BuiltIn,
    /// It is there.
    Installed {
        /// Where.
        path: PathBuf,
        /// Which version, if it says.
        version: Option<String>,
    },
    /// It is not on the path.
    Missing,
}

impl Installation {
    /// Whether it can be started.
    pub fn is_present(&self) -> bool {
        !matches!(self, Self::Missing)
    }
}

/// A conversation that an agent keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The name that the agent itself has for it, as [`Resume::Named`](super::Resume::Named) takes it. It stays inside.
    pub name: String,
    /// What it is about, in a line.
    pub title: String,
    /// When something was last said in it.
    pub at: Option<SystemTime>,
    /// Where it was held.
    pub directory: Option<PathBuf>,
}

/// Why an agent did not do what it was asked beside a conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManageError {
    /// Its program is not there.
    #[error("{agent} is not installed: {hint}")]
    NotInstalled {
        /// Which agent.
        agent: String,
        /// What to run.
        hint: String,
    },
    /// It cannot do that at all; what can be done instead.
    #[error("{0}")]
    NotSupported(String),
    /// It could not, or did not in time.
    #[error("{0}")]
    Failed(String),
}
