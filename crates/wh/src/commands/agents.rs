//! Implements `wh agents`, which lists and manages agents.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Args, Subcommand};
use wh_agents::interface::{LoginState, ManageError, QueryContext, StartOptions};
use wh_agents::manage::{LaunchSpec, LoginAction};
use wh_core::space::ParticipantId;
use wh_core::space::command::SpaceRefusal;
use wh_core::space::roster::{AgentReply, AgentRequest, LoginMethod, LoginStatus};
use wh_engine::space::{Roster, RunningSpace};
use wh_server::agent_reply_body;

use crate::agents;
use crate::failure::{CliFailure, code, with_exit_codes};
use crate::print::{clean_line, json_line, print};

const EXAMPLES: &str = "  wh agents
  wh agents status claude
  wh agents login codex
  wh agents models codex --json | jq -r '.models[].id'
  wh agents mcp gemini disable desk
  wh agents sessions claude";

/// List and manage agents: logins, models, MCP servers, sessions
///
/// wh calls each agent's own CLI. If the CLI has no command for a task, wh tells you what to do instead. In a space,
/// use the slash commands /agent, /status, /login, /logout, /models, /mcp and /sessions.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(EXAMPLES, &[code::REFUSED]), args_conflicts_with_subcommands = true)]
pub struct AgentsCommand {
    #[command(subcommand)]
    command: Option<AgentsSubcommand>,

    #[command(flatten)]
    options: AgentsOptions,
}

#[derive(Debug, Args, Clone, Default)]
struct AgentsOptions {
    /// Print JSON, in the format of the HTTP API's /agents paths
    #[arg(long)]
    json: bool,

    /// Use this directory instead of the current directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct AgentArguments {
    /// Agent id, e.g. `claude`; `wh agents` lists the agents
    agent: String,

    #[command(flatten)]
    options: AgentsOptions,
}

#[derive(Debug, Args)]
struct McpArguments {
    /// Agent id, e.g. `claude`; `wh agents` lists the agents
    agent: String,

    /// Enable or disable the MCP server
    #[arg(value_parser = ["enable", "disable"], requires = "server")]
    switch: Option<String>,

    /// Name of the MCP server
    server: Option<String>,

    #[command(flatten)]
    options: AgentsOptions,
}

#[derive(Debug, Subcommand)]
enum AgentsSubcommand {
    /// List agents with their version and login status
    List(AgentsOptions),
    /// Show an agent's version, login and MCP servers
    Status(AgentArguments),
    /// Log in to an agent on this terminal
    Login(AgentArguments),
    /// Log out of an agent
    Logout(AgentArguments),
    /// List the models of an agent
    Models(AgentArguments),
    /// List the MCP servers of an agent, or enable or disable a server
    Mcp(McpArguments),
    /// List the conversations that an agent has saved for this directory
    Sessions(AgentArguments),
}

impl AgentsCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let (agent, ask, options) = match self.command {
            None => (None, AgentRequest::Agents, self.options),
            Some(AgentsSubcommand::List(options)) => (None, AgentRequest::Agents, options),
            Some(AgentsSubcommand::Status(AgentArguments { agent, options })) => {
                (Some(agent), AgentRequest::Status, options)
            }
            Some(AgentsSubcommand::Login(AgentArguments { agent, options })) => {
                (Some(agent), AgentRequest::LogIn, options)
            }
            Some(AgentsSubcommand::Logout(AgentArguments { agent, options })) => {
                (Some(agent), AgentRequest::LogOut, options)
            }
            Some(AgentsSubcommand::Models(AgentArguments { agent, options })) => {
                (Some(agent), AgentRequest::Models, options)
            }
            Some(AgentsSubcommand::Sessions(AgentArguments { agent, options })) => {
                (Some(agent), AgentRequest::Conversations, options)
            }
            Some(AgentsSubcommand::Mcp(McpArguments { agent, switch, server, options })) => {
                let ask = match (switch.as_deref(), server) {
                    (Some(verb), Some(server)) => AgentRequest::SwitchMcp { server, on: verb == "enable" },
                    _ => AgentRequest::Mcp,
                };
                (Some(agent), ask, options)
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| CliFailure::new(code::FAILED, error))?;
        let reply = runtime.block_on(answer(agent, ask, options.cwd))?;
        let failed = matches!(&reply, AgentReply::LoggedIn { done, .. } if !done.success)
            || matches!(&reply, AgentReply::LoggedOut { done, .. } if !done.success);
        if options.json {
            print(&json_line(&agent_reply_body(&reply).to_string()))?;
        } else {
            print(&reply.lines().iter().map(|line| clean_line(line) + "\n").collect::<String>())?;
        }
        Ok(if failed { ExitCode::from(code::REFUSED) } else { ExitCode::SUCCESS })
    }
}

async fn answer(agent: Option<String>, ask: AgentRequest, cwd: Option<PathBuf>) -> Result<AgentReply, CliFailure> {
    let wanted = cwd.unwrap_or_else(|| PathBuf::from("."));
    let directory = wanted.canonicalize().ok().filter(|path| path.is_dir());
    let directory =
        directory.ok_or_else(|| CliFailure::new(code::USAGE, format!("{} is not a directory", wanted.display())))?;
    let catalog = agents::catalog(&directory)?;
    if let Some(id) = &agent {
        let known = agents::named(&catalog, id)?;
        if ask == AgentRequest::LogIn {
            return log_in(known.as_ref(), &directory).await;
        }
    }
    // Runs the request in a temporary space, so that the reply is the same as for a slash command.
    let roster = Roster { catalog, start: StartOptions::new(&directory) };
    let running = RunningSpace::with_roster("agents", ParticipantId::from("human"), roster);
    running.space.manage(agent.as_deref(), ask).await.map_err(|refusal| match refusal {
        SpaceRefusal::NoSuchAgent(_) => CliFailure::new(code::USAGE, refusal),
        other => CliFailure::new(code::REFUSED, other),
    })
}

/// Logs in to an agent. Runs the agent's login command on the user's terminal, or returns instructions if the agent has
/// no login command.
async fn log_in(agent: &dyn wh_agents::Agent, directory: &Path) -> Result<AgentReply, CliFailure> {
    let here = QueryContext::new(directory);
    let way = agent.login_way(&here).await.map_err(|error| match error {
        ManageError::NotInstalled { agent, hint } => {
            CliFailure::new(code::REFUSED, format!("{agent} is not installed")).hint(hint)
        }
        other => CliFailure::new(code::REFUSED, other),
    })?;
    let (method, instructions, message) = match way {
        LoginAction::NotNeeded => (None, None, Some("No login required.".to_owned())),
        LoginAction::ByHand { instructions, method } => (Some(method), Some(instructions), None),
        LoginAction::Command { launch, method } => {
            let title = agent.facts().title;
            if !std::io::stdin().is_terminal() {
                return Err(CliFailure::new(code::USAGE, format!("logging in to {title} requires a terminal"))
                    .hint("standard input is not a terminal; run this command in a terminal"));
            }
            if method == LoginMethod::Browser {
                crate::failure::print_to_stderr("Opening browser…");
            }
            (Some(method), None, run(&launch)?)
        }
    };
    let (success, account) = match agent.check(&here).await.login {
        LoginState::Yes { account } => (true, account),
        LoginState::NotNeeded => (true, None),
        LoginState::No => (false, None),
        // The agent does not report its login state, so only the exit status of the login command is known.
        LoginState::Unknown => (message.is_none() && instructions.is_none(), None),
    };
    let instructions = instructions.filter(|_| !success);
    let done = LoginStatus { success, pending: false, account, method, message, instructions };
    Ok(AgentReply::LoggedIn { agent: agent.facts().title, done })
}

/// Runs a login command on this terminal. Returns an error message if the command fails.
fn run(launch: &LaunchSpec) -> Result<Option<String>, CliFailure> {
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
    #[expect(
        clippy::disallowed_methods,
        reason = "`wh agents login` is not a child subreaper, so no reaper ends this child"
    )]
    let status = command.status().map_err(|error| CliFailure::new(code::FAILED, error))?;
    Ok((!status.success()).then(|| format!("Login command failed: {status}.")))
}
