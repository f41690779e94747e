//! Codex, driven by `codex app-server`: JSON-RPC over pipes. Here its words become orders and reports.

mod calls;
mod harness;
pub(crate) mod items;
mod manage;
mod modes;
mod questions;
#[cfg(test)]
mod tests;
mod tools;

use std::ffi::OsString;
use std::time::Duration;

use wh_core::space::roster::{Abilities, LogoutDone, McpServer, ModelCard};
use wh_pipe::Launch;

use crate::manage::LoginWay;
use crate::port::{
    Agent, AgentFacts, BoxFuture, Harness, Installation, Kept, Login, ManageError, Readiness, Start, StartError,
    Surroundings,
};
use crate::program::Program;
use harness::Ways;
pub(crate) use manage::login;

/// What it is chosen by.
pub const ID: &str = "codex";

const TITLE: &str = "Codex";

/// What it is started by.
const COMMAND: &str = "codex";

const INSTALL: &str = "npm install -g @openai/codex";

const LOG_IN: &str = "run `codex login`, or `codex login --with-api-key` with a key on its input";

/// How long a turn may be without a word while Codex works on nothing. Then its end was lost.
const SILENCE: Duration = Duration::from_secs(600);

/// Codex.
#[derive(Debug, Clone)]
pub struct Codex {
    /// What it is chosen by.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// What it is started by.
    pub program: Program,
    /// What stands in front of it, so that nothing of it outlives wh: the command of a keeper.
    pub keeper: Option<Vec<OsString>>,
}

impl Codex {
    /// As wh knows it by itself.
    pub fn new(keeper: Option<Vec<OsString>>) -> Self {
        Self {
            id: ID.to_owned(),
            title: TITLE.to_owned(),
            program: Program::built_in(&[COMMAND], &[], INSTALL),
            keeper,
        }
    }

    fn launch(&self, start: &Start) -> Result<Launch, StartError> {
        let program = self.program.locate(&self.title, &start.environment)?;
        let mut launch = Launch::new(program);
        launch.arguments = std::iter::once("app-server".into()).chain(start.arguments.iter().cloned()).collect();
        launch.directory = Some(start.directory.clone());
        launch.environment = start.environment.clone();
        launch.keeper = self.keeper.clone();
        Ok(launch)
    }
}

impl Agent for Codex {
    fn facts(&self) -> AgentFacts {
        AgentFacts {
            id: self.id.clone(),
            title: self.title.clone(),
            install_hint: self.program.install.clone(),
            login_hint: Some(LOG_IN.to_owned()),
        }
    }

    fn abilities(&self) -> Abilities {
        Abilities::ALL
    }

    fn check<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            let Some(launch) = self.program.within(here) else {
                let hint = Some(self.program.hint());
                return Readiness { installation: Installation::Missing, login: Login::Unknown, hint };
            };
            let here = self.program.around(here);
            let (version, login) = tokio::join!(manage::version(&launch), login(&launch, &here));
            let hint = (login == Login::No).then(|| LOG_IN.to_owned());
            let path = launch.program.into();
            Readiness { installation: Installation::Installed { path, version }, login, hint }
        })
    }

    fn login_way<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<LoginWay, ManageError>> {
        Box::pin(manage::login_way(self, here))
    }

    fn log_out<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<LogoutDone, ManageError>> {
        Box::pin(manage::log_out(self, here))
    }

    fn models<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<ModelCard>, ManageError>> {
        Box::pin(manage::models(self, here))
    }

    fn mcp<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<McpServer>, ManageError>> {
        Box::pin(manage::mcp(self, here))
    }

    fn conversations<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<Kept>, ManageError>> {
        Box::pin(manage::conversations(self, here))
    }

    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>> {
        Box::pin(async move {
            let start = self.program.complete(start);
            let mut launch = self.launch(&start)?;
            let mode = start.mode.as_deref().map(|mode| modes::find(mode, start.may_skip_permissions)).transpose()?;
            Ok(Harness::run(|inside| {
                launch.leash = Some(inside.leash.clone());
                harness::run(Ways { launch, start, mode, inside, silence: SILENCE })
            }))
        })
    }
}
