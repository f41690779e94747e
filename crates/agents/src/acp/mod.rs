//! Agents that speak the Agent Client Protocol. Which there are is in [`table`]; how they are spoken to is the same for
//! all of them, and what one can do is asked of the one that runs.

mod harness;
mod items;
mod questions;
mod settings;
pub mod table;
mod tools;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use wh_core::space::harness::Named;
use wh_pipe::Launch;

use crate::claude::login;
use crate::port::{Agent, AgentFacts, BoxFuture, Harness, Installation, Login, Readiness, Start, StartError};
use table::Entry;

/// An agent of the table.
#[derive(Debug, Clone)]
pub struct Acp {
    /// Which.
    pub entry: Entry,
    /// What stands in front of it, so that nothing of it outlives wh: the command of a keeper.
    pub keeper: Option<Vec<OsString>>,
}

/// What to do about a mode that may not be entered.
const ALLOW: &str = "start wh with --allow-skipping-permissions";

impl Acp {
    /// Its program and what that is called, if it is on the path.
    fn program(&self, path: Option<&OsStr>) -> Option<PathBuf> {
        let path = path?;
        self.entry.commands.iter().find_map(|command| wh_pipe::find(command.as_ref(), path))
    }

    fn launch(&self, start: &Start) -> Result<Launch, StartError> {
        let entry = self.entry;
        let path = match start.environment.get(OsStr::new("PATH")) {
            Some(changed) => changed.clone(),
            None => std::env::var_os("PATH"),
        };
        let program = self.program(path.as_deref()).ok_or_else(|| StartError::NotInstalled {
            agent: entry.title.to_owned(),
            command: entry.commands.first().copied().unwrap_or_default().to_owned(),
            hint: format!("run `{}`", entry.install),
        })?;
        if let Some(mode) = &start.mode {
            entry.allows(mode, start.may_skip_permissions)?;
        }
        let mut launch = Launch::new(program);
        launch.arguments = entry.arguments.iter().map(OsString::from).chain(start.arguments.iter().cloned()).collect();
        launch.directory = Some(start.directory.clone());
        launch.environment = start.environment.clone();
        launch.keeper.clone_from(&self.keeper);
        Ok(launch)
    }
}

impl Entry {
    /// Whether this mode asks for no permission.
    fn skips(&self, mode: &str) -> bool {
        self.skipping.contains(&mode)
    }

    fn allows(&self, mode: &str, may_skip: bool) -> Result<(), StartError> {
        if may_skip || !self.skips(mode) {
            return Ok(());
        }
        Err(StartError::SkipsPermissions {
            agent: self.title.to_owned(),
            mode: mode.to_owned(),
            hint: ALLOW.to_owned(),
        })
    }
}

impl Agent for Acp {
    fn facts(&self) -> AgentFacts {
        AgentFacts {
            id: self.entry.id.to_owned(),
            title: self.entry.title.to_owned(),
            install_hint: Some(self.entry.install.to_owned()),
            login_hint: Some(self.entry.log_in.to_owned()),
        }
    }

    /// Who is logged in shows only when a session is begun.
    fn check(&self) -> BoxFuture<'_, Readiness> {
        Box::pin(async {
            let Some(path) = self.program(std::env::var_os("PATH").as_deref()) else {
                let hint = Some(format!("run `{}`", self.entry.install));
                return Readiness { installation: Installation::Missing, login: Login::Unknown, hint };
            };
            let said = login::ask(&path, self.entry.version).await.map(|(said, _)| said).unwrap_or_default();
            let number = |word: &&str| word.trim_start_matches('v').starts_with(|first: char| first.is_ascii_digit());
            let version = said.split_whitespace().find(number).map(str::to_owned);
            Readiness { installation: Installation::Installed { path, version }, login: Login::Unknown, hint: None }
        })
    }

    /// Only a running one tells; see its capabilities.
    fn models(&self) -> BoxFuture<'_, Result<Vec<Named>, StartError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>> {
        Box::pin(async move {
            let launch = self.launch(&start)?;
            let (harness, inside) = Harness::new();
            tokio::spawn(harness::run(self.entry, launch, start, inside));
            Ok(harness)
        })
    }
}

#[cfg(test)]
mod tests;
