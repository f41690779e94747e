//! Agents that speak the Agent Client Protocol. Which there are is in [`table`]; how they are spoken to is the same for
//! all of them, and what one can do is asked of the one that runs.

mod harness;
pub(crate) mod items;
mod manage;
mod questions;
mod settings;
pub mod table;
mod tools;

use std::ffi::OsString;
use std::sync::Arc;

use wh_core::space::roster::{Abilities, LogoutDone, McpServer, ModelCard};
use wh_pipe::Launch;

use crate::manage::LoginWay;
use crate::manage::run::{self, run};
use crate::port::{
    Agent, AgentFacts, BoxFuture, Harness, Installation, Kept, Login, ManageError, Readiness, Start, StartError,
    Surroundings,
};
use table::Entry;

/// An agent of the table.
#[derive(Debug, Clone)]
pub struct Acp {
    /// Which.
    pub entry: Arc<Entry>,
    /// What stands in front of it, so that nothing of it outlives wh: the command of a keeper.
    pub keeper: Option<Vec<OsString>>,
}

/// What to do about a mode that may not be entered.
const ALLOW: &str = "start wh with --allow-skipping-permissions";

impl Acp {
    fn launch(&self, start: &Start) -> Result<Launch, StartError> {
        let entry = &self.entry;
        let mut launch = Launch::new(entry.program.locate(&entry.title, &start.environment)?);
        if let Some(mode) = &start.mode {
            entry.allows(mode, start.may_skip_permissions)?;
        }
        launch.arguments.clone_from(&start.arguments);
        launch.directory = Some(start.directory.clone());
        launch.environment = start.environment.clone();
        launch.keeper.clone_from(&self.keeper);
        Ok(launch)
    }
}

impl Entry {
    /// Whether this mode asks for no permission.
    fn skips(&self, mode: &str) -> bool {
        self.skipping.iter().any(|one| one == mode)
    }

    fn allows(&self, mode: &str, may_skip: bool) -> Result<(), StartError> {
        if may_skip || !self.skips(mode) {
            return Ok(());
        }
        Err(StartError::SkipsPermissions { agent: self.title.clone(), mode: mode.to_owned(), hint: ALLOW.to_owned() })
    }
}

impl Agent for Acp {
    fn facts(&self) -> AgentFacts {
        AgentFacts {
            id: self.entry.id.clone(),
            title: self.entry.title.clone(),
            install_hint: self.entry.program.install.clone(),
            login_hint: Some(self.entry.log_in.clone()),
        }
    }

    fn abilities(&self) -> Abilities {
        manage::abilities(self)
    }

    /// Who is logged in shows for some only when a session is begun.
    fn check<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Readiness> {
        Box::pin(async move {
            let Entry { program, version, log_in, .. } = &*self.entry;
            let Some(launch) = program.within(here) else {
                let hint = Some(program.hint());
                return Readiness { installation: Installation::Missing, login: Login::Unknown, hint };
            };
            let here = program.around(here);
            let told = async { if version.is_empty() { None } else { run(&launch, version).await.ok() } };
            let (said, login) = tokio::join!(told, self.login(&launch, &here));
            let version = said.and_then(|said| run::version(&said.text()));
            let hint = (login == Login::No).then(|| log_in.clone());
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

    fn about<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Vec<(String, String)>> {
        Box::pin(manage::about(self, here))
    }

    fn models<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<ModelCard>, ManageError>> {
        Box::pin(manage::models(self, here))
    }

    fn mcp<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<McpServer>, ManageError>> {
        Box::pin(manage::mcp(self, here))
    }

    fn switch_mcp<'a>(
        &'a self,
        here: &'a Surroundings,
        server: &'a str,
        on: bool,
    ) -> BoxFuture<'a, Result<String, ManageError>> {
        Box::pin(manage::switch_mcp(self, here, server, on))
    }

    fn conversations<'a>(&'a self, here: &'a Surroundings) -> BoxFuture<'a, Result<Vec<Kept>, ManageError>> {
        Box::pin(manage::conversations(self, here))
    }

    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>> {
        Box::pin(async move {
            let start = self.entry.program.complete(start);
            let mut launch = self.launch(&start)?;
            let entry = self.entry.clone();
            Ok(Harness::run(|inside| {
                launch.leash = Some(inside.leash.clone());
                harness::run(entry, launch, start, inside)
            }))
        })
    }
}

#[cfg(test)]
mod tests;
