//! Codex, driven by `codex app-server`: JSON-RPC over pipes. Here its words become orders and reports.

mod calls;
mod harness;
mod items;
mod login;
mod modes;
mod questions;
#[cfg(test)]
mod tests;
mod tools;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use wh_core::space::harness::Named;
use wh_pipe::Launch;

use crate::port::{Agent, AgentFacts, BoxFuture, Harness, Installation, Login, Readiness, Start, StartError};
use harness::Ways;

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
#[derive(Debug, Clone, Default)]
pub struct Codex {
    /// What stands in front of it, so that nothing of it outlives wh: the command of a keeper.
    pub keeper: Option<Vec<OsString>>,
}

impl Codex {
    /// Its program, if it is on the path.
    fn program(path: Option<&OsStr>) -> Option<PathBuf> {
        wh_pipe::find(COMMAND.as_ref(), path?)
    }

    fn launch(&self, start: &Start) -> Result<Launch, StartError> {
        let path = match start.environment.get(OsStr::new("PATH")) {
            Some(changed) => changed.clone(),
            None => std::env::var_os("PATH"),
        };
        let program = Self::program(path.as_deref()).ok_or_else(|| StartError::NotInstalled {
            agent: TITLE.to_owned(),
            command: COMMAND.to_owned(),
            hint: format!("run `{INSTALL}`"),
        })?;
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
            id: ID.to_owned(),
            title: TITLE.to_owned(),
            install_hint: Some(INSTALL.to_owned()),
            login_hint: Some(LOG_IN.to_owned()),
        }
    }

    fn check(&self) -> BoxFuture<'_, Readiness> {
        Box::pin(async {
            let Some(path) = Self::program(std::env::var_os("PATH").as_deref()) else {
                let hint = Some(format!("run `{INSTALL}`"));
                return Readiness { installation: Installation::Missing, login: Login::Unknown, hint };
            };
            let launch = Launch::new(&path);
            let (version, login) = tokio::join!(login::version(&launch), login::status(&launch));
            let hint = (login == Login::No).then(|| LOG_IN.to_owned());
            Readiness { installation: Installation::Installed { path, version }, login, hint }
        })
    }

    /// Only a running one tells; see its capabilities.
    fn models(&self) -> BoxFuture<'_, Result<Vec<Named>, StartError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>> {
        Box::pin(async move {
            let launch = self.launch(&start)?;
            let mode = start.mode.as_deref().map(|mode| modes::find(mode, start.may_skip_permissions)).transpose()?;
            let (harness, inside) = Harness::new();
            tokio::spawn(harness::run(Ways { launch, start, mode, inside, silence: SILENCE }));
            Ok(harness)
        })
    }
}
