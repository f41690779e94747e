//! `wh` without a command, and `wh space connect`: a space with agents in the terminal UI.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use wh_agents::Catalog;
use wh_agents::interface::{Agent, AgentFacts, AgentStartError, Harness, ResumeSelector, StartOptions};
use wh_core::space::ParticipantId;
use wh_core::space::harness::Report;
use wh_core::space::item::NoticeLevel;
use wh_core::space::state::TargetsByScope;
use wh_core::terminal::Size;
use wh_engine::ledger::SessionLedger;
use wh_engine::space::{Roster, RunningSpace};
use wh_engine::terminal::{ScreenSpec, UiTerminalSpec};
use wh_server::http::Conversation;
use wh_tui::TuiOptions;
use wh_tui::theme::Theme;

use crate::agents;
use crate::async_runtime;
use crate::child_cleanup::with_child_cleanup;
use crate::failure::{CliFailure, code, print_to_stderr};
use crate::http_options::{ApiListener, HttpApiOptions};
use crate::local_terminal::LocalTerminal;
use crate::log;
use crate::protect;
use crate::record::RecordArguments;
use crate::running_api::{LingerTime, RunningApi};
use crate::settings::{LoadedSettings, Settings};
use crate::signals::ExitSignals;
use crate::terminal_agent::REMOTE_PORTS;
use crate::terminal_ui::TerminalUi;

/// Timeout for writing the end of the recording after the UI has exited.
const RECORDING_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of scrollback lines of the UI's screen: the UI draws on the alternate screen, which has no scrollback.
const UI_SCROLLBACK_LINES: usize = 0;

/// Help text after the options.
pub const HELP: &str = "\
Examples:
  wh --control-port 9090                                    the demo agent, with an HTTP API
  wh --agent claude --model sonnet                          Claude Code (must be installed)
  wh --agent claude --continue                              resume the newest conversation here
  wh --agent claude --agent demo                            two agents; /target chooses one
  wh space connect --headless --control-port 9090 &         no terminal needed
  curl localhost:9090/message -d '{\"message\":\"hello\"}'
  curl localhost:9090/history

Exit codes:
  0    quit, or ended by a signal
  2    usage error
  125  internal error, for example a port in use or an agent that cannot be started

Settings: theme, agent, target, space_target, keys.* and notifications.bell; see `wh config`.

Environment:
  WH_AGENT, WH_MODEL, WH_TARGET, WH_SPACE_TARGET, WH_THEME, NO_COLOR, WH_CONTROL_TOKEN
  WH_AGENTS_FILE          agents.toml to use, see docs/agents.md
  GEMINI_CLI_REMOTE_PORT  port of the HTTP API if there is no --control-port
  WH_LOG                  log level (error, warn, info, debug, trace); logs to
                          $XDG_STATE_HOME/wheelhouse/wh.log on a terminal, else to standard error";

/// Talk to agents in a space
#[derive(Debug, Args)]
pub struct SpaceCommand {
    #[command(subcommand)]
    command: SpaceSubcommand,
}

#[derive(Debug, Subcommand)]
enum SpaceSubcommand {
    /// Open a space with an agent in the terminal UI; the same as `wh` without a command
    #[command(after_help = HELP)]
    Connect(SpaceArguments),
}

impl SpaceCommand {
    pub fn run(self, loaded: LoadedSettings) -> Result<ExitCode, CliFailure> {
        let SpaceSubcommand::Connect(arguments) = self.command;
        arguments.run(loaded)
    }
}

/// Choice of the UI's colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThemeChoice {
    /// Match the terminal
    Auto,
    Dark,
    Light,
    /// No colours, like NO_COLOR
    None,
}

/// Options of a space.
#[derive(Debug, Args)]
pub struct SpaceArguments {
    /// Start this agent: `demo` is built in; `claude`, `codex`, `gemini` and others must be installed; agents.toml can
    /// add more (`wh doctor` lists them). May be repeated
    #[arg(long = "agent", value_name = "AGENT", default_value = "demo", env = "WH_AGENT", value_delimiter = ',')]
    agents: Vec<String>,

    /// Start the agent with this model [default: chosen by the agent]
    #[arg(long, value_name = "MODEL", env = "WH_MODEL")]
    model: Option<String>,

    /// Start the agent in this mode, e.g. `plan` [default: chosen by the agent]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,

    /// Resume a conversation by its wh id (see `wh agents sessions`) or the agent's own session id
    #[arg(long, value_name = "ID", conflicts_with = "latest")]
    resume: Option<String>,

    /// Resume the newest conversation of the directory
    #[arg(long = "continue")]
    latest: bool,

    /// Allow modes in which the agent does not ask for permissions
    #[arg(long)]
    allow_skipping_permissions: bool,

    #[command(flatten)]
    control: HttpApiOptions,

    #[command(flatten)]
    record: RecordArguments,

    /// Size of the virtual terminal; ignored on a real terminal
    #[arg(long, value_name = "COLSxROWS", default_value = "120x40")]
    size: Size,

    /// Use a virtual terminal even if there is a real terminal
    #[arg(long)]
    headless: bool,

    /// Colours of the UI
    #[arg(long, value_name = "THEME", default_value = "auto", env = "WH_THEME")]
    theme: ThemeChoice,

    /// Working directory of the agent
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Name of the space
    #[arg(long, value_name = "NAME", default_value = "local")]
    name: String,

    /// Your name in the space
    #[arg(long = "as", value_name = "NAME", default_value = "human")]
    me: String,

    /// Send messages to these participants unless `/target` selects others [default: all]
    #[arg(long = "target", value_name = "NAME", env = "WH_TARGET", value_delimiter = ',')]
    targets: Vec<String>,

    /// Default targets of the space, which receive your messages if there is no --target
    #[arg(long = "space-target", value_name = "NAME", env = "WH_SPACE_TARGET", value_delimiter = ',')]
    space_targets: Vec<String>,

    /// Arguments for the agent
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

impl SpaceArguments {
    pub fn run(self, loaded: LoadedSettings) -> Result<ExitCode, CliFailure> {
        async_runtime::block_on(with_child_cleanup(self.run_space(loaded)))
    }

    /// Returns the colours selected on the command line.
    pub fn theme(&self) -> ThemeChoice {
        self.theme
    }

    async fn run_space(mut self, mut loaded: LoadedSettings) -> Result<ExitCode, CliFailure> {
        protect::memory();
        let tty = if self.headless { None } else { LocalTerminal::here() };
        if tty.is_some() { log::to_file() } else { log::to_stderr() }?;
        self.control.control_port = self.control.control_port.map_or_else(remote_port, |port| Ok(Some(port)))?;
        if tty.is_none() && self.control.control_port.is_none() && !self.record.wanted() {
            let what = if self.headless {
                "--headless needs --control-port or --record: without them the space is not accessible"
            } else {
                "there is no terminal to show the space"
            };
            return Err(CliFailure::new(code::USAGE, what)
                .hint("run wh in a terminal without --headless, or serve the HTTP API with --control-port 9090"));
        }
        let mut signals = ExitSignals::new().map_err(|error| CliFailure::new(code::FAILED, error))?;
        self.own_name()?;
        self.drop_absent_targets(&mut loaded);
        self.default_targets()?;
        let directory = self.directory()?;
        let mut catalog = agents::catalog(&directory)?;
        loaded.notices.drain(..).for_each(|notice| catalog.warn(notice));
        let agents = self.known_agents(&catalog)?;
        if tty.is_none() {
            agents::print_notices(&catalog);
        }
        let control = self.control.open().await?;
        let mut start = StartOptions::new(&directory);
        start.arguments = std::mem::take(&mut self.arguments);
        (start.model, start.mode) = (self.model.take(), self.mode.take());
        start.resume = match self.resume.take() {
            Some(id) => Some(ResumeSelector::Named(id)),
            None => self.latest.then_some(ResumeSelector::Latest),
        };
        start.may_skip_permissions = self.allow_skipping_permissions;
        if let (Some(ResumeSelector::Named(given)), [agent]) = (&start.resume, &agents[..]) {
            start.resume = Some(ResumeSelector::Named(agents::conversation(agent.as_ref(), &directory, given).await));
        }
        // An agent that is added later starts with the same directory and permissions, but with its own default model
        // and mode.
        let later = StartOptions { may_skip_permissions: start.may_skip_permissions, ..StartOptions::new(&directory) };
        let mut started = Vec::new();
        for agent in agents {
            let mut harness = agent.start(start.clone()).await.map_err(|error| cannot_start(&error))?;
            if started.is_empty() && !catalog.warnings().is_empty() {
                let warning = |text: &String| Report::Notice(NoticeLevel::Warning, text.clone());
                harness = harness.with_first_reports(catalog.warnings().iter().map(warning).collect());
            }
            started.push((agent.facts(), harness));
        }
        let roster = Roster { catalog, start: later };
        let opened = self.open(started, roster, tty.as_ref(), control, &loaded.settings).await?;
        let code = opened.wait_for_end(tty, &mut signals).await;
        Ok(ExitCode::from(code))
    }

    /// Looks up the agents to start. Fails if an agent is unknown or given twice, or if options that require a single
    /// agent are given with several agents.
    fn known_agents(&self, catalog: &Catalog) -> Result<Vec<Arc<dyn Agent>>, CliFailure> {
        let mut ids: Vec<&str> = Vec::new();
        for id in self.agents.iter().map(String::as_str) {
            if ids.contains(&id) {
                return Err(CliFailure::new(code::USAGE, format!("the agent {id:?} is given twice")));
            }
            ids.push(id);
        }
        let for_one =
            self.model.is_some() || self.mode.is_some() || self.resume.is_some() || !self.arguments.is_empty();
        if ids.len() > 1 && for_one {
            return Err(CliFailure::new(code::USAGE, "--model, --mode, --resume and ARGS require a single agent")
                .hint("start one agent, or leave out these options and use /model and /mode in the space"));
        }
        ids.into_iter().map(|id| agents::named(catalog, id)).collect()
    }

    fn own_name(&self) -> Result<ParticipantId, CliFailure> {
        let taken = self.me == "system" || self.agents.contains(&self.me);
        if taken || self.me.is_empty() || self.me.contains(|letter: char| letter.is_whitespace() || letter.is_control())
        {
            return Err(CliFailure::new(code::USAGE, format!("{:?} cannot be your name in the space", self.me)).hint(
                "give another name with --as: one word, not \"system\" or the name of an agent, for example --as human",
            ));
        }
        Ok(ParticipantId::from(self.me.as_str()))
    }

    /// Drops the targets that come from a settings file and are not participants of this space. Adds a notice instead
    /// of failing, because the file applies to all spaces.
    fn drop_absent_targets(&mut self, loaded: &mut LoadedSettings) {
        for (key, names) in [("target", &mut self.targets), ("space_target", &mut self.space_targets)] {
            if !loaded.is_from_file(key) {
                continue;
            }
            names.retain(|name| {
                let present = self.agents.contains(name);
                if !present {
                    loaded
                        .notices
                        .push(format!("{key} {name:?} in config.toml is not used: no such participant in this space"));
                }
                present
            });
        }
    }

    /// Returns the default targets of messages. An unknown name is refused.
    fn default_targets(&self) -> Result<TargetsByScope, CliFailure> {
        let checked = |option: &str, names: &[String]| {
            let names: Vec<&str> = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
            if let Some(unknown) = names.iter().find(|name| !self.agents.iter().any(|agent| agent == *name)) {
                return Err(CliFailure::new(code::USAGE, format!("{option}: there is no participant {unknown:?}"))
                    .hint(format!("the agents of this space are {}", self.agents.join(", "))));
            }
            Ok((!names.is_empty()).then(|| names.into_iter().map(ParticipantId::from).collect()))
        };
        let participant = checked("--target or WH_TARGET", &self.targets)?;
        let global = checked("--space-target or WH_SPACE_TARGET", &self.space_targets)?;
        Ok(TargetsByScope { chosen: None, participant, global })
    }

    fn directory(&self) -> Result<PathBuf, CliFailure> {
        let wanted = self.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
        let entered = wanted.canonicalize().ok().filter(|path| path.is_dir());
        entered.ok_or_else(|| CliFailure::new(code::USAGE, format!("{} is not a directory", wanted.display())))
    }

    /// Creates the space, its terminal and its HTTP API, and adds the agents.
    async fn open(
        self,
        started: Vec<(AgentFacts, Harness)>,
        roster: Roster,
        tty: Option<&LocalTerminal>,
        control: Option<ApiListener>,
        settings: &Settings,
    ) -> Result<SpaceRun, CliFailure> {
        let failed =
            |error: &dyn std::fmt::Display| CliFailure::new(code::FAILED, format!("cannot start the space: {error}"));
        let me = self.own_name()?;
        let directory = roster.start.directory.clone();
        let (targets, ledger) = (self.default_targets()?, Some(SessionLedger::in_memory()));
        let running = RunningSpace::with_targets(&self.name, me.clone(), roster, targets, ledger.clone());
        let mut titles = Vec::new();
        for (facts, harness) in started {
            running.enrol(ParticipantId::from(facts.id.as_str()), harness).await;
            titles.push(facts.title);
        }
        let size = tty.map_or(self.size, LocalTerminal::size);
        let words: Vec<OsString> = std::iter::once("wh".into()).chain(std::env::args_os().skip(1)).collect();
        let command: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let recording = self.record.open(&words, size, "xterm-256color".to_owned())?;
        let screen = ScreenSpec { history_lines: UI_SCROLLBACK_LINES, log_characters: log::raw_characters()? };
        let spec = UiTerminalSpec {
            command: command.clone(),
            size,
            attended: tty.is_some(),
            screen: (control.is_some() || tty.is_none()).then_some(screen),
            recording,
            space: running.space.clone(),
            ledger,
        };
        let title = titles.join(", ");
        let options = TuiOptions {
            theme: self.theme.theme(tty.is_some()),
            agent: Some(title.clone()),
            keys: Arc::new(settings.keys().clone()),
            bell: settings.bell(),
            directory,
            control_port: control.as_ref().map(|control| control.address.port()),
            ..TuiOptions::new(me.clone())
        };
        let shown = TerminalUi::start(spec, options).await.map_err(|error| failed(&error))?;
        let conversation = Conversation {
            space: running.space.clone(),
            ui: shown.ui().clone(),
            me,
            title,
            refuses_until_ready: false,
        };
        let api =
            control.map(|control| RunningApi::open(control, shown.surface().clone(), Some(conversation), command));
        Ok(SpaceRun { running, shown, api })
    }
}

impl ThemeChoice {
    /// Returns the theme of WH_THEME, else of the settings. An unknown name counts as `auto`.
    pub fn by_default(settings: &Settings) -> Self {
        let variable = std::env::var("WH_THEME").ok().filter(|name| !name.is_empty());
        let name = variable.or_else(|| settings.choice("theme").map(str::to_owned));
        name.and_then(|name| Self::from_str(&name, false).ok()).unwrap_or(Self::Auto)
    }

    /// Converts the choice to a theme. `attended` is true on a user's terminal, false on a virtual terminal.
    pub fn theme(self, attended: bool) -> Theme {
        match self {
            Self::Dark => Theme::dark(),
            Self::Light => Theme::light(),
            Self::None => Theme::colourless(),
            // On a virtual terminal, only NO_COLOR is used: the other variables describe a different terminal.
            Self::Auto => {
                Theme::from_environment(|name| std::env::var(name).ok().filter(|_| attended || name == "NO_COLOR"))
            }
        }
    }
}

/// Reads the port from [`REMOTE_PORTS`].
pub(super) fn remote_port() -> Result<Option<u16>, CliFailure> {
    let set = REMOTE_PORTS.iter().find_map(|name| std::env::var(name).ok().map(|value| (name, value)));
    let Some((name, value)) = set.filter(|(_, value)| !value.is_empty()) else { return Ok(None) };
    value.trim().parse().map(Some).map_err(|_| {
        CliFailure::new(code::USAGE, format!("{name} is {value:?}, which is not a port"))
            .hint("set the variable to a port, for example 3000")
    })
}

fn cannot_start(error: &AgentStartError) -> CliFailure {
    let failure = CliFailure::new(code::FAILED, error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// A space with its UI and its HTTP API.
struct SpaceRun {
    running: RunningSpace,
    shown: TerminalUi,
    api: Option<RunningApi>,
}

impl SpaceRun {
    /// Waits until the user quits or a signal arrives. Then closes the UI, the space, the recording and the HTTP API,
    /// in this order.
    async fn wait_for_end(self, tty: Option<LocalTerminal>, signals: &mut ExitSignals) -> u8 {
        let Self { running, shown, api } = self;
        let attended = tty.is_some();
        let front = shown.surface().clone();
        let end = shown.until_exit(tty.map(|tty| (tty, &front)), signals).await;
        drop(front);
        if let Some(error) = end.error {
            print_to_stderr(&format!("wh: {error}"));
        }
        let _ = running.space.end(false).await;
        if let Some(recorded) = end.recorded
            && let Ok(Ok(Err(error))) = tokio::time::timeout(RECORDING_CLOSE_TIMEOUT, recorded).await
        {
            print_to_stderr(&format!("wh: the recording is incomplete: {error}"));
        }
        if let Some(api) = api {
            let linger = if end.signalled || attended { LingerTime::No } else { LingerTime::UntilRead };
            api.close(linger, signals).await;
        }
        end.code
    }
}
