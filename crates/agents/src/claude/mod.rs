//! Drives Claude Code through its control protocol. The crate `wh-claude` implements the connection. This module
//! translates between Claude Code's messages and wh's orders and reports.

mod calls;
pub(crate) mod history;
pub(crate) mod items;
pub(crate) mod manage;
mod protocol;
mod questions;
#[cfg(test)]
mod tests;
mod tools;

use std::ffi::OsStr;

use wh_claude::{Options, PermissionMode};
use wh_core::space::harness::AgentOption;
use wh_pipe::LaunchSpec;

use crate::driver;
use crate::interface::{ALLOW_SKIPPING, AgentStartError, Harness, ResumeSelector, StartOptions};
use crate::table::AgentEntry;
use protocol::ClaudeProtocol;

pub(crate) const TITLE: &str = "Claude Code";

pub(crate) const LOG_IN: &str = "run `claude auth login`, or set ANTHROPIC_API_KEY";

/// Permission modes: id, description, and true if the mode skips permissions.
const MODES: [(&str, &str, bool); 6] = [
    ("default", "asks before it changes or runs anything", false),
    ("acceptEdits", "edits files without asking", false),
    ("plan", "plans, and changes nothing", false),
    ("dontAsk", "runs only actions that are already allowed", false),
    ("auto", "decides by itself which actions to allow", true),
    ("bypassPermissions", "never asks", true),
];

/// Starts a harness that runs Claude Code for one conversation.
pub(crate) fn start(entry: &AgentEntry, launch: &LaunchSpec, start: StartOptions) -> Result<Harness, AgentStartError> {
    let options = conversation(launch, &start)?;
    let (program, may_skip) = (entry.program.clone(), start.may_skip_permissions);
    Ok(Harness::run(|task| {
        let options = options.kill_switch(task.kill_switch.clone());
        driver::run(ClaudeProtocol::new(options, program, start), may_skip, task)
    }))
}

/// Converts a launch to connection options. The arguments of the launch are not included.
fn options(launch: &LaunchSpec) -> Options {
    let mut options = Options::new().program(&launch.program);
    if let Some(directory) = &launch.directory {
        options = options.directory(directory);
    }
    if let Some(supervisor) = &launch.supervisor {
        options = options.supervisor(supervisor.iter().cloned());
    }
    if let Some(session) = &launch.session {
        options = options.owner_session(session);
    }
    for (name, value) in &launch.environment {
        options = match value {
            Some(value) => options.env(name, value),
            None => options.without_env(name),
        };
    }
    options
}

fn conversation(launch: &LaunchSpec, start: &StartOptions) -> Result<Options, AgentStartError> {
    let mut options = options(launch).forward_asks();
    options = options.file_checkpoints(true).may_skip_permissions(start.may_skip_permissions);
    if let Some(model) = &start.model {
        options = options.model(model);
    }
    match &start.mode {
        Some(mode) => options = options.permission_mode(mode_of(mode, start.may_skip_permissions)?),
        // The user's settings for Claude Code may contain a mode that skips permissions. This option overrides them.
        None if !start.may_skip_permissions => options = options.permission_mode(PermissionMode::Default),
        None => {}
    }
    options = match &start.resume {
        Some(ResumeSelector::Latest) => options.resume(wh_claude::Resume::Latest),
        Some(ResumeSelector::Named(id)) => options.resume(wh_claude::Resume::Session(id.clone())),
        None => options,
    };
    if let Some(skips) = launch.arguments.iter().find(|argument| !start.may_skip_permissions && skips(argument)) {
        return Err(skipping(&skips.to_string_lossy()));
    }
    Ok(launch.arguments.iter().fold(options, |options, argument| options.argument(argument)))
}

/// Returns true if a command-line argument selects a mode that skips permissions.
fn skips(argument: &OsStr) -> bool {
    let argument = argument.to_string_lossy();
    argument.contains("dangerously") || MODES.iter().any(|(id, _, skips)| *skips && argument.ends_with(id))
}

fn skipping(mode: &str) -> AgentStartError {
    AgentStartError::SkipsPermissions {
        agent: TITLE.to_owned(),
        mode: mode.to_owned(),
        hint: ALLOW_SKIPPING.to_owned(),
    }
}

/// Parses a mode name. Fails if the mode is unknown or if it skips permissions and `may_skip` is false.
fn mode_of(name: &str, may_skip: bool) -> Result<PermissionMode, AgentStartError> {
    let Some((_, _, skips)) = MODES.iter().find(|(id, ..)| *id == name) else {
        let known: Vec<&str> = MODES.iter().map(|(id, ..)| *id).collect();
        return Err(AgentStartError::Unknown {
            agent: TITLE.to_owned(),
            what: "mode",
            given: name.to_owned(),
            hint: format!("available modes: {}", known.join(", ")),
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

/// Returns true if the mode skips permissions or if another model grants them instead of the user.
fn skips_permissions(mode: &str) -> bool {
    MODES.iter().any(|(id, _, skips)| *skips && *id == mode)
}

/// Returns the available modes. Modes that skip permissions are included only if `may_skip` is true.
fn modes(may_skip: bool) -> Vec<AgentOption> {
    let open = MODES.iter().filter(|(_, _, skips)| may_skip || !skips);
    open.map(|(id, title, _)| AgentOption { id: (*id).to_owned(), title: (*title).to_owned() }).collect()
}
