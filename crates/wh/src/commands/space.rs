//! `wh` alone, and `wh space connect`: a space with an agent, shown in the terminal UI.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use wh_agents::Catalog;
use wh_agents::port::{Agent, AgentFacts, Harness, Resume, Start, StartError};
use wh_core::space::ParticipantId;
use wh_core::space::harness::Report;
use wh_core::space::item::Level;
use wh_core::space::state::Targets;
use wh_core::terminal::Size;
use wh_doors::http::Conversation;
use wh_engine::ledger::SessionLedger;
use wh_engine::space::{Roster, RunningSpace};
use wh_engine::terminal::{HostSpec, ScreenSpec};
use wh_tui::Options;
use wh_tui::theme::Theme;

use crate::agents;
use crate::control::{Control, ControlArguments};
use crate::ending::with_nothing_left;
use crate::failure::{Failure, code, say};
use crate::log;
use crate::opened::{Opened, Stay};
use crate::person::Person;
use crate::protect;
use crate::record::RecordArguments;
use crate::settings::{Loaded, Settings};
use crate::shown::ShownUi;
use crate::signals::Signals;
use crate::waiting;

/// Ports that the remote control of the Gemini CLI is told by.
const REMOTE_PORTS: [&str; 2] = ["GEMINI_CLI_REMOTE_PORT", "GEMINI_CLI_TUI_REMOTE_PORT"];

/// Limit for the end of a recording.
const LAST_RITES: Duration = Duration::from_secs(5);

/// Lines kept above the screen; the UI draws on the alternate screen, which has none.
const HISTORY_LINES: usize = 0;

/// What the help says beside the options.
pub const HELP: &str = "\
Examples:
  wh --control-port 9090                                    the built-in agent, and a door for others
  wh --agent claude --model sonnet                          Claude Code, which must be installed
  wh --agent claude --continue                              the newest conversation of this directory
  wh --agent claude --agent demo                            both in one space; /target says who is meant
  wh space connect --headless --control-port 9090 &         no terminal needed
  curl localhost:9090/message -d '{\"message\":\"hello\"}'
  curl localhost:9090/history

Exit codes: 0 you left, or wh was asked to end; 2 wrong usage; 125 wh failed (a port in use, the
agent could not be started, the terminal is gone).

Settings: theme, agent, target, space_target, keys.* and notifications.bell; see wh config.

Environment: WH_AGENT, WH_AGENTS_FILE (see docs/agents.md), WH_MODEL, WH_TARGET, WH_SPACE_TARGET,
WH_THEME, NO_COLOR, WH_CONTROL_TOKEN, GEMINI_CLI_REMOTE_PORT (the port when
there is no --control-port), WH_LOG (error to trace: what wh itself does, on a terminal in
$XDG_STATE_HOME/wheelhouse/wh.log, else on standard error).";

/// Talk to agents in a space
#[derive(Debug, Args)]
pub struct Space {
    #[command(subcommand)]
    command: SpaceCommand,
}

#[derive(Debug, Subcommand)]
enum SpaceCommand {
    /// Open a space with an agent in the terminal UI; the same as `wh` alone
    #[command(after_help = HELP)]
    Connect(SpaceArguments),
}

impl Space {
    pub fn run(self, loaded: Loaded) -> Result<ExitCode, Failure> {
        let SpaceCommand::Connect(arguments) = self.command;
        arguments.run(loaded)
    }
}

/// The colours of the UI, as they are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThemeChoice {
    /// What suits the terminal
    Auto,
    Dark,
    Light,
    /// No colours; NO_COLOR does the same
    None,
}

/// How a space is opened.
#[derive(Debug, Args)]
pub struct SpaceArguments {
    /// The agent to talk to: `demo` is built in, `claude`, `codex`, `gemini` and others must be installed, and
    /// agents.toml can add more (`wh doctor` lists them); may be repeated
    #[arg(long = "agent", value_name = "AGENT", default_value = "demo", env = "WH_AGENT", value_delimiter = ',')]
    agents: Vec<String>,

    /// The model that the agent begins with [default: its own choice]
    #[arg(long, value_name = "MODEL", env = "WH_MODEL")]
    model: Option<String>,

    /// The mode that the agent begins in, as `plan` [default: its own choice]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,

    /// Go on with this conversation, by its id of `wh agents sessions` or the name that the agent itself has for it
    #[arg(long, value_name = "ID", conflicts_with = "latest")]
    resume: Option<String>,

    /// Go on with the newest conversation in the directory
    #[arg(long = "continue")]
    latest: bool,

    /// Let the agent enter modes in which it asks for no permission, now or later
    #[arg(long)]
    allow_skipping_permissions: bool,

    #[command(flatten)]
    control: ControlArguments,

    #[command(flatten)]
    record: RecordArguments,

    /// Size of the virtual terminal; a real one has its own
    #[arg(long, value_name = "COLSxROWS", default_value = "120x40")]
    size: Size,

    /// Use a virtual terminal even on a real one
    #[arg(long)]
    headless: bool,

    /// The colours of the UI
    #[arg(long, value_name = "THEME", default_value = "auto", env = "WH_THEME")]
    theme: ThemeChoice,

    /// The agent works in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// The space's name
    #[arg(long, value_name = "NAME", default_value = "local")]
    name: String,

    /// Your name in the space
    #[arg(long = "as", value_name = "NAME", default_value = "human")]
    me: String,

    /// Send chat to these participants unless `/target` says otherwise [default: everybody]
    #[arg(long = "target", value_name = "NAME", env = "WH_TARGET", value_delimiter = ',')]
    targets: Vec<String>,

    /// Default targets of the space, used where there is no --target
    #[arg(long = "space-target", value_name = "NAME", env = "WH_SPACE_TARGET", value_delimiter = ',')]
    space_targets: Vec<String>,

    /// Arguments for the agent itself
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

impl SpaceArguments {
    pub fn run(self, loaded: Loaded) -> Result<ExitCode, Failure> {
        waiting::block_on(with_nothing_left(self.converse(loaded)))
    }

    /// The colours that were chosen.
    pub fn theme(&self) -> ThemeChoice {
        self.theme
    }

    async fn converse(mut self, mut loaded: Loaded) -> Result<ExitCode, Failure> {
        protect::memory();
        let person = if self.headless { None } else { Person::here() };
        if person.is_some() { log::to_file() } else { log::to_stderr() }?;
        self.control.control_port = self.control.control_port.map_or_else(remote_port, |port| Ok(Some(port)))?;
        if person.is_none() && self.control.control_port.is_none() && !self.record.wanted() {
            let what = if self.headless {
                "with --headless nobody can see the space"
            } else {
                "there is no terminal to show the space on"
            };
            return Err(Failure::new(code::USAGE, what)
                .hint("run wh on a terminal without --headless, or open a door for others with --control-port 9090"));
        }
        let mut signals = Signals::new().map_err(|error| Failure::new(code::FAILED, error))?;
        self.own_name()?;
        self.drop_absent_targets(&mut loaded);
        self.default_targets()?;
        let directory = self.directory()?;
        let mut catalog = agents::catalog(&directory)?;
        loaded.notices.drain(..).for_each(|notice| catalog.warn(notice));
        let agents = self.known_agents(&catalog)?;
        if person.is_none() {
            agents::tell(&catalog);
        }
        let control = self.control.open().await?;
        let mut start = Start::new(&directory);
        start.arguments = std::mem::take(&mut self.arguments);
        (start.model, start.mode) = (self.model.take(), self.mode.take());
        start.resume = match self.resume.take() {
            Some(id) => Some(Resume::Named(id)),
            None => self.latest.then_some(Resume::Latest),
        };
        start.may_skip_permissions = self.allow_skipping_permissions;
        if let (Some(Resume::Named(given)), [agent]) = (&start.resume, &agents[..]) {
            start.resume = Some(Resume::Named(agents::conversation(agent.as_ref(), &directory, given).await));
        }
        // Who is invited later works in the same place under the same rules, and chooses everything else itself.
        let later = Start { may_skip_permissions: start.may_skip_permissions, ..Start::new(&directory) };
        let mut started = Vec::new();
        for agent in agents {
            let mut harness = agent.start(start.clone()).await.map_err(|error| cannot_start(&error))?;
            if started.is_empty() && !catalog.warnings().is_empty() {
                let warning = |text: &String| Report::Notice(Level::Warning, text.clone());
                harness = harness.announcing(catalog.warnings().iter().map(warning).collect());
            }
            started.push((agent.facts(), harness));
        }
        let roster = Roster { catalog, start: later };
        let opened = self.open(started, roster, person.as_ref(), control, &loaded.settings).await?;
        let code = opened.live(person, &mut signals).await;
        Ok(ExitCode::from(code))
    }

    /// The agents that were asked for, each once.
    fn known_agents(&self, catalog: &Catalog) -> Result<Vec<Arc<dyn Agent>>, Failure> {
        let mut ids: Vec<&str> = Vec::new();
        for id in self.agents.iter().map(String::as_str) {
            if ids.contains(&id) {
                return Err(Failure::new(code::USAGE, format!("the agent {id:?} is named twice")));
            }
            ids.push(id);
        }
        let for_one =
            self.model.is_some() || self.mode.is_some() || self.resume.is_some() || !self.arguments.is_empty();
        if ids.len() > 1 && for_one {
            return Err(Failure::new(code::USAGE, "--model, --mode, --resume and ARGS are for one agent")
                .hint("name one agent, or choose later, with /target and /model"));
        }
        ids.into_iter().map(|id| agents::named(catalog, id)).collect()
    }

    fn own_name(&self) -> Result<ParticipantId, Failure> {
        let taken = self.me == "system" || self.agents.contains(&self.me);
        if taken || self.me.is_empty() || self.me.contains(|letter: char| letter.is_whitespace() || letter.is_control())
        {
            return Err(Failure::new(code::USAGE, format!("{:?} cannot be your name in the space", self.me))
                .hint("choose one word with --as that no agent has, for example --as human"));
        }
        Ok(ParticipantId::from(self.me.as_str()))
    }

    /// Drops targets of a settings file that do not take part: the file is for every space, also for one without them.
    fn drop_absent_targets(&mut self, loaded: &mut Loaded) {
        for (key, names) in [("target", &mut self.targets), ("space_target", &mut self.space_targets)] {
            if !loaded.is_from_file(key) {
                continue;
            }
            names.retain(|name| {
                let present = self.agents.contains(name);
                if !present {
                    loaded.notices.push(format!("{key} {name:?} of config.toml is not used: it is not in this space"));
                }
                present
            });
        }
    }

    /// The default chat targets. A name that nobody here has is refused.
    fn default_targets(&self) -> Result<Targets, Failure> {
        let checked = |option: &str, names: &[String]| {
            let names: Vec<&str> = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
            if let Some(unknown) = names.iter().find(|name| !self.agents.iter().any(|agent| agent == *name)) {
                return Err(Failure::new(code::USAGE, format!("{option}: there is no participant {unknown:?}"))
                    .hint(format!("the agents of this space are {}", self.agents.join(", "))));
            }
            Ok((!names.is_empty()).then(|| names.into_iter().map(ParticipantId::from).collect()))
        };
        let participant = checked("--target or WH_TARGET", &self.targets)?;
        let global = checked("--space-target or WH_SPACE_TARGET", &self.space_targets)?;
        Ok(Targets { chosen: None, participant, global })
    }

    fn directory(&self) -> Result<PathBuf, Failure> {
        let wanted = self.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
        let entered = wanted.canonicalize().ok().filter(|path| path.is_dir());
        entered.ok_or_else(|| Failure::new(code::USAGE, format!("{} is not a directory", wanted.display())))
    }

    /// Makes the space, its terminal and its door, and has the agents take part.
    async fn open(
        self,
        started: Vec<(AgentFacts, Harness)>,
        roster: Roster,
        person: Option<&Person>,
        control: Option<Control>,
        settings: &Settings,
    ) -> Result<OpenSpace, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::new(code::FAILED, format!("cannot start: {error}"));
        let me = self.own_name()?;
        let directory = roster.start.directory.clone();
        let (targets, ledger) = (self.default_targets()?, Some(SessionLedger::in_memory()));
        let running = RunningSpace::with_targets(&self.name, me.clone(), roster, targets, ledger.clone());
        let mut titles = Vec::new();
        for (facts, harness) in started {
            running.enrol(ParticipantId::from(facts.id.as_str()), harness).await;
            titles.push(facts.title);
        }
        let size = person.map_or(self.size, Person::size);
        let words: Vec<OsString> = std::iter::once("wh".into()).chain(std::env::args_os().skip(1)).collect();
        let command: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let recording = self.record.open(&words, size, "xterm-256color".to_owned())?;
        let screen = ScreenSpec { history_lines: HISTORY_LINES, log_characters: log::raw_characters()? };
        let spec = HostSpec {
            command: command.clone(),
            size,
            attended: person.is_some(),
            screen: (control.is_some() || person.is_none()).then_some(screen),
            recording,
            space: running.space.clone(),
            ledger,
        };
        let title = titles.join(", ");
        let options = Options {
            theme: self.theme.theme(person.is_some()),
            agent: Some(title.clone()),
            keys: Arc::new(settings.keys().clone()),
            bell: settings.bell(),
            directory,
            door: control.as_ref().map(|control| control.address.port()),
            ..Options::new(me.clone())
        };
        let shown = ShownUi::start(spec, options).await.map_err(|error| failed(&error))?;
        let conversation = Conversation { space: running.space.clone(), ui: shown.ui().clone(), me, title };
        let door = control.map(|control| Opened::open(control, shown.surface().clone(), Some(conversation), command));
        Ok(OpenSpace { running, shown, door })
    }
}

impl ThemeChoice {
    /// The choice of the variable WH_THEME, else of the settings; what they do not name is no choice.
    pub fn by_default(settings: &Settings) -> Self {
        let variable = std::env::var("WH_THEME").ok().filter(|name| !name.is_empty());
        let name = variable.or_else(|| settings.choice("theme").map(str::to_owned));
        name.and_then(|name| Self::from_str(&name, false).ok()).unwrap_or(Self::Auto)
    }

    /// The colours, for a person's terminal or one of our own.
    pub fn theme(self, attended: bool) -> Theme {
        match self {
            Self::Dark => Theme::dark(),
            Self::Light => Theme::light(),
            Self::None => Theme::colourless(),
            // A terminal of our own is what it is, whatever the one around us says of itself.
            Self::Auto => {
                Theme::from_environment(|name| std::env::var(name).ok().filter(|_| attended || name == "NO_COLOR"))
            }
        }
    }
}

/// The port that a variable names, if one does.
fn remote_port() -> Result<Option<u16>, Failure> {
    let set = REMOTE_PORTS.iter().find_map(|name| std::env::var(name).ok().map(|value| (name, value)));
    let Some((name, value)) = set.filter(|(_, value)| !value.is_empty()) else { return Ok(None) };
    value
        .trim()
        .parse()
        .map(Some)
        .map_err(|_| Failure::new(code::USAGE, format!("{name} is {value:?}")).hint("give a port, for example 3000"))
}

fn cannot_start(error: &StartError) -> Failure {
    let failure = Failure::new(code::FAILED, error);
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// A space that is shown.
struct OpenSpace {
    running: RunningSpace,
    shown: ShownUi,
    door: Option<Opened>,
}

impl OpenSpace {
    /// Waits until the person leaves or wh is asked to end; then closes everything in order.
    async fn live(self, person: Option<Person>, signals: &mut Signals) -> u8 {
        let Self { running, shown, door } = self;
        let attended = person.is_some();
        let front = shown.surface().clone();
        let end = shown.until_left(person.map(|person| (person, &front)), signals).await;
        drop(front);
        if let Some(wrong) = end.wrong {
            say(&format!("wh: {wrong}"));
        }
        let _ = running.space.end(false).await;
        if let Some(recorded) = end.recorded
            && let Ok(Ok(Err(error))) = tokio::time::timeout(LAST_RITES, recorded).await
        {
            say(&format!("wh: the recording is not complete: {error}"));
        }
        if let Some(door) = door {
            let stay = if end.asked || attended { Stay::No } else { Stay::UntilRead };
            door.close(stay, signals).await;
        }
        end.code
    }
}
