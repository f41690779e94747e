//! Agents in their own terminal UI under `wh run`: recognises the agent, prepares its hooks, and serves its
//! conversation beside its screen.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wh_agents::hooks::{CodexHooks, HookInstallation, HookListener, HookProgram};
use wh_agents::interface::QueryContext;
use wh_agents::terminal::profile::AgentProfile;
use wh_agents::terminal::profiles::profile;
use wh_agents::terminal::task::TerminalTaskParts;
use wh_agents::terminal::transcript::{TranscriptFormat, TranscriptSearch};
use wh_agents::terminal::{self, TerminalAgent};
use wh_client::{Conversation, Ui};
use wh_core::space::ParticipantId;
use wh_engine::space::RunningSpace;
use wh_engine::terminal::{SurfaceTerminal, TerminalSession};
use wh_wire::hook::HookAgent;

use crate::directories;
use crate::failure::print_to_stderr;
use crate::runtime;

/// Maximum length of the path of the directory for hook sockets. The path of a socket has at most 107 bytes.
const MAX_HOOK_DIRECTORY_BYTES: usize = 80;

/// Name of the user in the conversation.
const USER: &str = "human";

/// Variables from which Gemini CLI takes the port of its own remote control. wh serves this port itself.
pub const REMOTE_PORTS: [&str; 2] = ["GEMINI_CLI_REMOTE_PORT", "GEMINI_CLI_TUI_REMOTE_PORT"];

/// Returns the profile of the agent that a command starts: the value of `--as`, or the name of the program.
pub fn recognise(wanted: Option<&str>, command: &[OsString]) -> Option<&'static AgentProfile> {
    let program = command.first().and_then(|program| Path::new(program).file_name()).and_then(OsStr::to_str);
    profile(wanted.or(program)?)
}

/// Agent that is about to be started in a terminal, with its hooks.
pub struct TerminalAgentLaunch {
    profile: &'static AgentProfile,
    title: &'static str,
    format: TranscriptFormat,
    context: QueryContext,
    started: SystemTime,
    hooks: Option<HookListener>,
    has_prompt_hook: bool,
    /// Command with the arguments that make the agent call its hooks.
    pub command: Vec<OsString>,
    /// Variables for the hooks.
    pub environment: Vec<(OsString, OsString)>,
}

impl TerminalAgentLaunch {
    /// Prepares the hooks of an agent. Without hooks, for example because a settings file cannot be read, the agent
    /// starts all the same, and a warning names the reason.
    pub fn prepare(
        profile: &'static AgentProfile,
        command: Vec<OsString>,
        directory: Option<&Path>,
        environment: &[(OsString, OsString)],
    ) -> Self {
        let (title, format, agent) = match profile.id {
            "codex" => ("Codex", TranscriptFormat::Codex, HookAgent::Codex),
            "gemini" => ("Gemini CLI", TranscriptFormat::Gemini, HookAgent::Gemini),
            _ => ("Claude Code", TranscriptFormat::Claude, HookAgent::Claude),
        };
        let directory = directory.map_or_else(|| std::env::current_dir().unwrap_or_else(|_| ".".into()), PathBuf::from);
        let changes: BTreeMap<_, _> =
            environment.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        let context = QueryContext { environment: changes, ..QueryContext::new(directory) };
        let mut launch = Self {
            profile,
            title,
            format,
            context,
            started: SystemTime::now(),
            hooks: None,
            has_prompt_hook: false,
            command,
            environment: Vec::new(),
        };
        if let Err(problem) = launch.install_hooks(agent) {
            print_to_stderr(&format!("wh: {title} runs without hooks, so wh learns of its work later: {problem}"));
        }
        launch
    }

    fn install_hooks(&mut self, agent: HookAgent) -> Result<(), String> {
        let directory = hook_directory().map_err(|error| error.to_string())?;
        let (listener, socket) = HookListener::open(&directory).map_err(|error| error.to_string())?;
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let program = HookProgram::beside(&own).map_err(|error| error.to_string())?;
        let Some((program_name, arguments)) = self.command.split_first() else { return Ok(()) };
        let installation = HookInstallation {
            agent,
            program: &program,
            socket: &socket,
            directory: listener.directory(),
            context: &self.context,
            arguments,
            codex_hooks: CodexHooks::IfReviewed,
        };
        let hooked = installation.install().map_err(|error| error.to_string())?;
        self.command = std::iter::once(program_name.clone()).chain(hooked.arguments).collect();
        self.environment = hooked.environment.into_iter().map(|(name, value)| (name.into(), value)).collect();
        self.has_prompt_hook = hooked.calls_hooks;
        self.hooks = Some(listener);
        Ok(())
    }

    /// Serves the conversation of the agent, which now runs in this terminal. `None` if the terminal has ended.
    pub async fn open(self, session: &TerminalSession) -> Option<(RunningSpace, Conversation)> {
        let me = ParticipantId::from(USER);
        let running = RunningSpace::start("local", me.clone());
        session.surface.show_space(running.space.clone()).await.ok()?;
        let process = u32::try_from(session.pid).unwrap_or_default();
        let parts = TerminalTaskParts {
            terminal: Box::new(SurfaceTerminal::open(session.surface.clone()).await?),
            profile: self.profile,
            hooks: self.hooks,
            search: Some(TranscriptSearch::new(self.format, self.context, process, self.started)),
        };
        let agent = TerminalAgent {
            title: self.title.to_owned(),
            format: self.format,
            has_prompt_hook: self.has_prompt_hook,
            parts,
        };
        running.enrol(ParticipantId::from(self.profile.id), terminal::start(agent)).await;
        let (space, title) = (running.space.clone(), self.title.to_owned());
        let conversation = Conversation { space, ui: Ui::new().0, me, title, refuses_until_ready: true };
        Some((running, conversation))
    }
}

/// Returns the directory for hook sockets and settings files: the state directory, because Gemini CLI reads no settings
/// file below a directory that others may write, such as /tmp. The runtime directory if the path would be too long for a
/// socket.
fn hook_directory() -> io::Result<PathBuf> {
    match directories::state() {
        Some(state) if state.as_os_str().len() <= MAX_HOOK_DIRECTORY_BYTES => Ok(state),
        _ => runtime::directory(),
    }
}
