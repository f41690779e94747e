//! Implements `wh new`, which creates a session in the daemon.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use wh_api::Routes;
use wh_core::terminal::Size;
use wh_wire::control::NewSessionRequest;

use super::space::ThemeChoice;
use crate::daemon::DaemonPaths;
use crate::failure::{API_CODES, CliFailure, code, with_exit_codes};
use crate::http_options::TOKEN_VARIABLE;
use crate::print::{json_line, print};
use crate::settings::Settings;
use crate::target::{ResponseTimeout, TargetArguments};

/// Create a session in the daemon
///
/// The session runs an agent, or a program in a virtual terminal. The session continues when this terminal is closed.
/// The daemon is started if it is not running. The program gets the directory and the environment of this shell.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh new --agent demo --name a\n  wh new --agent claude --model sonnet --attach\n  wh new --name build -- make -j2 watch\n  wh new --person --attach -- bash\n  wh send a 'hello'\n  wh attach a", API_CODES
))]
pub struct NewCommand {
    /// Agent to start: `demo` is built in; `wh doctor` lists the others [default: WH_AGENT, else `agent` in
    /// config.toml]
    #[arg(long, value_name = "AGENT", env = "WH_AGENT")]
    agent: Option<String>,

    /// Session name [default: generated]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Team that may control the session [default: default]
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,

    /// Start the agent with this model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Start the agent in this mode, e.g. `plan`
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,

    /// Allow modes in which the agent does not ask for permissions
    #[arg(long)]
    allow_skipping_permissions: bool,

    /// Mark the session as your own shell: its processes do not count as running inside a session, so you can use this
    /// shell to answer questions. Not for agents, and not available inside a session
    #[arg(long, requires = "command", conflicts_with_all = ["model", "mode", "allow_skipping_permissions"])]
    person: bool,

    /// Working directory of the session
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Size of the screen until a terminal is attached [default: 120x40; with --attach, the size of this terminal]
    #[arg(long, value_name = "COLSxROWS")]
    size: Option<Size>,

    /// Attach this terminal to the new session
    #[arg(long)]
    attach: bool,

    /// Idempotency key: repeating the request with the same key does not create a second session
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,

    #[command(flatten)]
    answer: ResponseTimeout,

    /// Print the session as JSON on one line
    #[arg(long)]
    json: bool,

    /// Program and its arguments; with --agent, arguments for the agent
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

impl NewCommand {
    pub fn run(self, settings: &Settings) -> Result<ExitCode, CliFailure> {
        self.check_agent(settings)?;
        let wanted = self.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
        let directory = wanted.canonicalize().ok().filter(|path| path.is_dir());
        let directory = directory
            .ok_or_else(|| CliFailure::new(code::USAGE, format!("{} is not a directory", wanted.display())))?;
        // Done before the session is created: --attach requires a terminal, and the size of this terminal is the
        // initial size of the session.
        let tty = if self.attach { Some(super::attach::require_terminal()?) } else { None };
        let size = self.size.or_else(|| tty.map(|tty| tty.size()));
        // A command on the command line takes precedence over an agent from WH_AGENT or config.toml.
        let program = !self.command.is_empty() && (self.agent.is_none() || !named_agent());
        if self.person && !program {
            return Err(CliFailure::new(code::USAGE, "--person is for terminal programs, not for agents")
                .hint("name a program, for example: wh new --person --attach -- bash"));
        }
        let (command, arguments) = if program { (Some(self.command), Vec::new()) } else { (None, self.command) };
        let environment = std::env::vars().filter(|(name, _)| name != TOKEN_VARIABLE).collect();
        let body = NewSessionRequest {
            agent: self.agent.filter(|_| command.is_none()),
            command,
            name: self.name,
            team: self.team,
            cwd: Some(directory.to_string_lossy().into_owned()),
            size: size.map(|size| size.to_string()),
            model: self.model,
            mode: self.mode,
            allow_skipping_permissions: self.allow_skipping_permissions,
            arguments,
            environment: Some(environment),
            person: self.person,
            request_id: self.request_id,
        };
        DaemonPaths::here()?.require_or_start()?;
        let daemon = TargetArguments::for_daemon(self.answer.timeout).daemon()?;
        daemon.daemon_health()?;
        let session = daemon.create_session(&body)?;
        if self.json {
            print(&json_line(&json!(session).to_string()))?;
        } else if !self.attach {
            print(&format!("{} ({})\n", session.name, session.session_id))?;
        }
        if self.attach {
            return super::attach::attach(
                &session.session_id,
                super::attach::DETACH_KEY,
                self.answer.timeout,
                ThemeChoice::by_default(settings),
                settings,
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl NewCommand {
    /// Checks that an agent or a program is given, and that agent options are given only with an agent. Clap cannot
    /// check this because the agent may come from config.toml.
    fn check_agent(&self, settings: &Settings) -> Result<(), CliFailure> {
        if self.agent.is_some() {
            return Ok(());
        }
        let wrong = match (&self.command[..], settings.names("agent")) {
            ([], [_, _, ..]) => "`agent` in config.toml names several agents, but `wh new` starts only one",
            ([], _) => "no agent and no program given",
            _ if self.model.is_some() || self.mode.is_some() || self.allow_skipping_permissions => {
                "--model, --mode and --allow-skipping-permissions require an agent"
            }
            _ => return Ok(()),
        };
        Err(CliFailure::new(code::USAGE, wrong)
            .hint("choose an agent with --agent AGENT, or run a program: wh new -- PROGRAM"))
    }
}

/// True if the command line has `--agent`. False if the agent comes from WH_AGENT or config.toml.
fn named_agent() -> bool {
    std::env::args().take_while(|word| word != "--").any(|word| word == "--agent" || word.starts_with("--agent="))
}
