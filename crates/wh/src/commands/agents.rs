//! `wh agents`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, Subcommand};
use wh_agents::manage::{Launch, LoginWay};
use wh_agents::port::{LoginState, ManageError, Start, Surroundings};
use wh_core::space::ParticipantId;
use wh_core::space::command::Refusal;
use wh_core::space::roster::{Ask, LoginDone, LoginMethod, Told};
use wh_doors::told_body;
use wh_engine::space::{Roster, RunningSpace};

use crate::agents;
use crate::failure::{Failure, code, with_exit_codes};
use crate::print::{clean_line, json_line, print};

const EXAMPLES: &str = "  wh agents
  wh agents status claude
  wh agents login codex
  wh agents models codex --json | jq -r '.models[].id'
  wh agents mcp gemini disable desk
  wh agents sessions claude";

/// List agents and manage them: logins, models, MCP servers, conversations
///
/// Each agent is asked by its own commands, and what they print is read; what an agent has no command for is said, with
/// what to do instead. The same can be done in a space, by /agent, /status, /login, /logout, /models, /mcp and /sessions.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(EXAMPLES), args_conflicts_with_subcommands = true)]
pub struct Agents {
    #[command(subcommand)]
    command: Option<AgentsCommand>,

    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args, Clone, Default)]
struct How {
    /// JSON, as the paths below /agents answer it
    #[arg(long)]
    json: bool,

    /// As if in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct About {
    /// The agent, as `claude`; `wh agents` lists them
    agent: String,

    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
struct Mcp {
    /// The agent, as `claude`; `wh agents` lists them
    agent: String,

    /// Switch a server
    #[arg(value_parser = ["enable", "disable"], requires = "server")]
    switch: Option<String>,

    /// Which
    server: Option<String>,

    #[command(flatten)]
    how: How,
}

#[derive(Debug, Subcommand)]
enum AgentsCommand {
    /// List the agents, and whether they can be used here
    List(How),
    /// How an agent is: its version, who is logged in, its MCP servers
    Status(About),
    /// Log in with an agent, on this terminal
    Login(About),
    /// Log out of an agent
    Logout(About),
    /// The models that an agent offers
    Models(About),
    /// The MCP servers of an agent; or switch one
    Mcp(Mcp),
    /// The conversations that an agent keeps of this directory
    Sessions(About),
}

impl Agents {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let (agent, ask, how) = match self.command {
            None => (None, Ask::Agents, self.how),
            Some(AgentsCommand::List(how)) => (None, Ask::Agents, how),
            Some(AgentsCommand::Status(About { agent, how })) => (Some(agent), Ask::Status, how),
            Some(AgentsCommand::Login(About { agent, how })) => (Some(agent), Ask::LogIn, how),
            Some(AgentsCommand::Logout(About { agent, how })) => (Some(agent), Ask::LogOut, how),
            Some(AgentsCommand::Models(About { agent, how })) => (Some(agent), Ask::Models, how),
            Some(AgentsCommand::Sessions(About { agent, how })) => (Some(agent), Ask::Conversations, how),
            Some(AgentsCommand::Mcp(Mcp { agent, switch, server, how })) => {
                let ask = match (switch.as_deref(), server) {
                    (Some(verb), Some(server)) => Ask::SwitchMcp { server, on: verb == "enable" },
                    _ => Ask::Mcp,
                };
                (Some(agent), ask, how)
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(code::FAILED, error))?;
        let told = runtime.block_on(answer(agent, ask, how.cwd))?;
        let failed = matches!(&told, Told::LoggedIn { done, .. } if !done.success)
            || matches!(&told, Told::LoggedOut { done, .. } if !done.success);
        if how.json {
            print(&json_line(&told_body(&told).to_string()))?;
        } else {
            print(&told.lines().iter().map(|line| clean_line(line) + "\n").collect::<String>())?;
        }
        Ok(if failed { ExitCode::from(code::REFUSED) } else { ExitCode::SUCCESS })
    }
}

async fn answer(agent: Option<String>, ask: Ask, cwd: Option<PathBuf>) -> Result<Told, Failure> {
    let wanted = cwd.unwrap_or_else(|| PathBuf::from("."));
    let directory = wanted.canonicalize().ok().filter(|path| path.is_dir());
    let directory =
        directory.ok_or_else(|| Failure::new(code::USAGE, format!("{} is not a directory", wanted.display())))?;
    let catalog = agents::catalog(&directory)?;
    if let Some(id) = &agent {
        let known = agents::named(&catalog, id)?;
        if ask == Ask::LogIn {
            return log_in(known.as_ref(), &directory).await;
        }
    }
    // The same as in a space, without one.
    let roster = Roster { catalog, start: Start::new(&directory) };
    let running = RunningSpace::with_roster("agents", ParticipantId::from("human"), roster);
    running.space.manage(agent.as_deref(), ask).await.map_err(|refusal| match refusal {
        Refusal::NoSuchAgent(_) => Failure::new(code::USAGE, refusal),
        other => Failure::new(code::REFUSED, other),
    })
}

/// By the agent's own command, which has the person's terminal to itself.
async fn log_in(agent: &dyn wh_agents::Agent, directory: &Path) -> Result<Told, Failure> {
    let here = Surroundings::new(directory);
    let way = agent.login_way(&here).await.map_err(|error| match error {
        ManageError::NotInstalled { agent, hint } => {
            Failure::new(code::REFUSED, format!("{agent} is not installed")).hint(hint)
        }
        other => Failure::new(code::REFUSED, other),
    })?;
    let (method, instructions, message) = match way {
        LoginWay::NotNeeded => (None, None, Some("It needs no login.".to_owned())),
        LoginWay::ByHand { instructions, method } => (Some(method), Some(instructions), None),
        LoginWay::Command { launch, method } => {
            let title = agent.facts().title;
            if !std::io::stdin().is_terminal() {
                return Err(Failure::new(code::USAGE, format!("logging in to {title} needs a terminal"))
                    .hint("run this command in a terminal; standard input is none"));
            }
            if method == LoginMethod::Browser {
                crate::failure::say("Opening browser…");
            }
            (Some(method), None, run(&launch)?)
        }
    };
    let (success, account) = match agent.check(&here).await.login {
        LoginState::Yes { account } => (true, account),
        LoginState::NotNeeded => (true, None),
        LoginState::No => (false, None),
        // Nothing says so; the command's own word is all there is.
        LoginState::Unknown => (message.is_none() && instructions.is_none(), None),
    };
    let instructions = instructions.filter(|_| !success);
    let done = LoginDone { success, pending: false, account, method, message, instructions };
    Ok(Told::LoggedIn { agent: agent.facts().title, done })
}

/// Runs it on the terminal that we are on. What went wrong comes back, if something did.
fn run(launch: &Launch) -> Result<Option<String>, Failure> {
    let mut command = Command::new(&launch.program);
    command.args(&launch.arguments).env_remove("CLAUDECODE");
    if let Some(directory) = &launch.directory {
        command.current_dir(directory);
    }
    for (name, value) in &launch.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    #[expect(clippy::disallowed_methods, reason = "this command is no child subreaper")]
    let status = command.status().map_err(|error| Failure::new(code::FAILED, error))?;
    Ok((!status.success()).then(|| format!("Its login ended badly: {status}.")))
}
