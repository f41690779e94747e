//! Claude Code, driven by its control protocol. The line to it is `wh-claude`'s; here its words become orders and reports.

mod calls;
mod harness;
mod history;
pub(crate) mod items;
mod manage;
mod questions;
#[cfg(test)]
mod tests;
mod tools;

use std::ffi::{OsStr, OsString};

use wh_claude::{Options, PermissionMode};
use wh_core::space::harness::Named;
use wh_core::space::roster::{Abilities, LogoutDone, McpServer, ModelCard};

use crate::manage::LoginWay;
use crate::port::{
    Agent, AgentFacts, BoxFuture, Harness, Installation, Kept, Login, ManageError, Readiness, Resume, Start,
    StartError, Surroundings,
};
use crate::program::Program;

/// What it is chosen by.
pub const ID: &str = "claude";

const TITLE: &str = "Claude Code";

/// What it is started by.
const COMMAND: &str = "claude";

const INSTALL: &str = "npm install -g @anthropic-ai/claude-code";

const LOG_IN: &str = "run `claude auth login`, or set ANTHROPIC_API_KEY";

/// The modes that there are, and whether one skips permissions.
const MODES: [(&str, &str, bool); 6] = [
    ("default", "asks before it changes or runs anything", false),
    ("acceptEdits", "edits files without asking", false),
    ("plan", "plans, and changes nothing", false),
    ("dontAsk", "does what is allowed already, and nothing else", false),
    ("auto", "decides by itself what needs no question", true),
    ("bypassPermissions", "asks nothing", true),
];

/// Claude Code.
#[derive(Debug, Clone)]
pub struct Claude {
    /// What it is chosen by.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// What it is started by.
    pub program: Program,
    /// What stands in front of it, so that nothing of it outlives wh: the command of a keeper.
    pub keeper: Option<Vec<OsString>>,
}

impl Claude {
    /// As wh knows it by itself.
    pub fn new(keeper: Option<Vec<OsString>>) -> Self {
        Self {
            id: ID.to_owned(),
            title: TITLE.to_owned(),
            program: Program::built_in(&[COMMAND], &[], INSTALL),
            keeper,
        }
    }

    fn options(&self, start: &Start) -> Result<Options, StartError> {
        let program = self.program.locate(&self.title, &start.environment)?;
        let mut options = Options::new().program(program).directory(&start.directory).forward_asks();
        options = options.file_checkpoints(true).may_skip_permissions(start.may_skip_permissions);
        if let Some(keeper) = &self.keeper {
            options = options.keeper(keeper.iter().cloned());
        }
        if let Some(model) = &start.model {
            options = options.model(model);
        }
        match &start.mode {
            Some(mode) => options = options.permission_mode(mode_of(mode, start.may_skip_permissions)?),
            // A person's own settings may name a mode that skips permissions; what stands here counts more.
            None if !start.may_skip_permissions => options = options.permission_mode(PermissionMode::Default),
            None => {}
        }
        options = match &start.resume {
            Some(Resume::Latest) => options.resume(wh_claude::Resume::Latest),
            Some(Resume::Named(id)) => options.resume(wh_claude::Resume::Session(id.clone())),
            None => options,
        };
        for (name, value) in &start.environment {
            options = match value {
                Some(value) => options.env(name, value),
                None => options.without_env(name),
            };
        }
        if let Some(skips) = start.arguments.iter().find(|argument| !start.may_skip_permissions && skips(argument)) {
            return Err(skipping(&skips.to_string_lossy()));
        }
        Ok(start.arguments.iter().fold(options, |options, argument| options.argument(argument)))
    }
}

/// Whether an argument of its command line is about a mode without permissions.
fn skips(argument: &OsStr) -> bool {
    let argument = argument.to_string_lossy();
    argument.contains("dangerously") || MODES.iter().any(|(id, _, skips)| *skips && argument.ends_with(id))
}

fn skipping(mode: &str) -> StartError {
    StartError::SkipsPermissions {
        agent: TITLE.to_owned(),
        mode: mode.to_owned(),
        hint: "start wh with --allow-skipping-permissions".to_owned(),
    }
}

/// The mode of this name, if it may be entered.
fn mode_of(name: &str, may_skip: bool) -> Result<PermissionMode, StartError> {
    let Some((_, _, skips)) = MODES.iter().find(|(id, ..)| *id == name) else {
        let known: Vec<&str> = MODES.iter().map(|(id, ..)| *id).collect();
        return Err(StartError::Unknown {
            agent: TITLE.to_owned(),
            what: "mode",
            given: name.to_owned(),
            hint: format!("it has {}", known.join(", ")),
        });
    };
    if *skips && !may_skip {
        return Err(skipping(name));
    }
    Ok(match name {
        "acceptEdits" => PermissionMode::AcceptEdits,
        "plan" => PermissionMode::Plan,
        "dontAsk" => PermissionMode::DontAsk,
        "auto" => PermissionMode::Auto,
        "bypassPermissions" => PermissionMode::BypassPermissions,
        _ => PermissionMode::Default,
    })
}

/// Whether nothing, or another model, grants permissions in it.
fn skips_permissions(mode: &str) -> bool {
    MODES.iter().any(|(id, _, skips)| *skips && *id == mode)
}

/// The modes that may be entered.
fn modes(may_skip: bool) -> Vec<Named> {
    let open = MODES.iter().filter(|(_, _, skips)| may_skip || !skips);
    open.map(|(id, title, _)| Named { id: (*id).to_owned(), title: (*title).to_owned() }).collect()
}

impl Agent for Claude {
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
            let (version, login) = tokio::join!(manage::version(&launch), manage::login(&launch));
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
            let options = self.options(&start)?;
            let program = self.program.clone();
            Ok(Harness::run(|inside| harness::run(options.leash(inside.leash.clone()), program, start, inside)))
        })
    }
}
