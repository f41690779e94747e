//! Agents that speak the Agent Client Protocol. Which there are is in [`table`]; how they are spoken to is the same for
//! all of them, and what one can do is asked of the one that runs.

mod harness;
mod items;
mod questions;
mod settings;
pub mod table;
mod tools;

use std::ffi::OsString;
use std::sync::Arc;

use wh_core::space::harness::Named;
use wh_pipe::Launch;

use crate::claude::login;
use crate::port::{Agent, AgentFacts, BoxFuture, Harness, Installation, Login, Readiness, Start, StartError};
use crate::program::Environment;
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

    /// Who is logged in shows only when a session is begun, unless the agent has a command that tells.
    fn check(&self) -> BoxFuture<'_, Readiness> {
        Box::pin(async {
            let Entry { program, version, account, log_in, .. } = &*self.entry;
            let Some(launch) = program.aside(&Environment::new()) else {
                let hint = Some(program.hint());
                return Readiness { installation: Installation::Missing, login: Login::Unknown, hint };
            };
            let (said, status) = tokio::join!(asked(&launch, version), asked(&launch, &account.status));
            let said = said.map(|(said, _)| said).unwrap_or_default();
            let number = |word: &&str| word.trim_start_matches('v').starts_with(|first: char| first.is_ascii_digit());
            let version = said.split_whitespace().find(number).map(str::to_owned);
            let login = match status {
                Some((_, true)) => Login::Yes { account: None },
                Some((_, false)) => Login::No,
                None => Login::Unknown,
            };
            let hint = (login == Login::No).then(|| log_in.clone());
            let path = launch.program.into();
            Readiness { installation: Installation::Installed { path, version }, login, hint }
        })
    }

    /// Only a running one tells; see its capabilities.
    fn models(&self) -> BoxFuture<'_, Result<Vec<Named>, StartError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>> {
        Box::pin(async move {
            let start = self.entry.program.complete(start);
            let launch = self.launch(&start)?;
            let (harness, inside) = Harness::new();
            tokio::spawn(harness::run(self.entry.clone(), launch, start, inside));
            Ok(harness)
        })
    }
}

/// What it says to a small question, if there is a way to ask it.
async fn asked(launch: &Launch, arguments: &[String]) -> Option<(String, bool)> {
    if arguments.is_empty() { None } else { login::ask(launch, arguments).await }
}

#[cfg(test)]
mod tests;
