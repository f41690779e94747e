//! `wh new`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use wh_api::Routes;
use wh_core::terminal::Size;
use wh_wire::control::NewSessionRequest;

use super::space::ThemeChoice;
use crate::control::TOKEN_VARIABLE;
use crate::daemon::Place;
use crate::door::{AnswerTimeout, DoorArguments};
use crate::failure::{Failure, code, with_exit_codes};
use crate::print::{json_line, print};
use crate::settings::Settings;

/// Make a session that outlives this terminal
///
/// Starts an agent, or a program in a terminal of its own, under the daemon; the daemon is started if need be. What runs has this
/// shell's directory and environment.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh new --agent demo --name a\n  wh new --agent claude --model sonnet --attach\n  wh new --name build -- make -j2 watch\n  wh new --person --attach -- bash\n  wh send a 'hello'\n  wh attach a"
))]
pub struct New {
    /// The agent: `demo` is built in; `wh doctor` lists the others [default: that of config.toml]
    #[arg(long, value_name = "AGENT", env = "WH_AGENT")]
    agent: Option<String>,

    /// What to call it [default: found by wh]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The team that it belongs to [default: default]
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,

    /// The model that the agent begins with
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// The mode that the agent begins in
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,

    /// Let the agent enter modes in which it asks for no permission
    #[arg(long)]
    allow_skipping_permissions: bool,

    /// Count everything inside as outside every session, so that you can answer questions in it: for a shell that you use
    /// yourself. Not for agents, and not from inside a session
    #[arg(long, requires = "command", conflicts_with_all = ["model", "mode", "allow_skipping_permissions"])]
    person: bool,

    /// It works in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// The size of its screen until a terminal is attached [default: 120x40; with --attach, this terminal's]
    #[arg(long, value_name = "COLSxROWS")]
    size: Option<Size>,

    /// Attach this terminal to it at once
    #[arg(long)]
    attach: bool,

    /// A name for this wish: under the same name no second session is made, so it can be repeated
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,

    #[command(flatten)]
    answer: AnswerTimeout,

    /// Print the session as JSON on one line
    #[arg(long)]
    json: bool,

    /// The program and its arguments; with --agent, arguments for the agent itself
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

impl New {
    pub fn run(self, settings: &Settings) -> Result<ExitCode, Failure> {
        self.check_agent(settings)?;
        let wanted = self.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
        let directory = wanted.canonicalize().ok().filter(|path| path.is_dir());
        let directory =
            directory.ok_or_else(|| Failure::new(code::USAGE, format!("{} is not a directory", wanted.display())))?;
        // Nothing is made that could not be attached to, and what runs does not begin at a size that it does not stay at.
        let person = if self.attach { Some(super::attach::person()?) } else { None };
        let size = self.size.or_else(|| person.map(|person| person.size()));
        // What runs there is a command if one is given, whatever agent a variable names.
        let program = !self.command.is_empty() && (self.agent.is_none() || !named_agent());
        if self.person && !program {
            return Err(Failure::new(code::USAGE, "--person is for a terminal program, and not for an agent")
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
        Place::here()?.or_started()?;
        let daemon = DoorArguments::for_daemon(self.answer.timeout).daemon()?;
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

impl New {
    /// Checks that something is to be started, and that options of agents are for one. Clap cannot: for it an agent of
    /// config.toml was not given.
    fn check_agent(&self, settings: &Settings) -> Result<(), Failure> {
        if self.agent.is_some() {
            return Ok(());
        }
        let wrong = match (&self.command[..], settings.names("agent")) {
            ([], [_, _, ..]) => "agent in config.toml names several, and wh new starts one",
            ([], _) => "neither an agent nor a program is named",
            _ if self.model.is_some() || self.mode.is_some() || self.allow_skipping_permissions => {
                "--model, --mode and --allow-skipping-permissions are for an agent"
            }
            _ => return Ok(()),
        };
        Err(Failure::new(code::USAGE, wrong).hint("name an agent with --agent AGENT, or a program: wh new -- PROGRAM"))
    }
}

/// Whether the agent was named on the command line, and not by the variable.
fn named_agent() -> bool {
    std::env::args().take_while(|word| word != "--").any(|word| word == "--agent" || word.starts_with("--agent="))
}
