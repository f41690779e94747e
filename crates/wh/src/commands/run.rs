//! Implements `wh run`, which runs a program with an HTTP API to its terminal.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use wh_core::terminal::{Exit, Size};
use wh_engine::terminal::{self, ProgramStartError, ScreenSpec, TerminalSession, TerminalSpec};
use wh_screen::pty::TERM;

use crate::async_runtime;
use crate::child_cleanup::with_child_cleanup;
use crate::commands::space::remote_port;
use crate::failure::{CliFailure, code, print_to_stderr};
use crate::http_options::{ApiListener, HttpApiOptions, TOKEN_VARIABLE};
use crate::local_terminal::LocalTerminal;
use crate::log;
use crate::protect;
use crate::record::RecordArguments;
use crate::running_api::{LingerTime, RunningApi};
use crate::signals::ExitSignals;
use crate::terminal_agent::{self, REMOTE_PORTS, TerminalAgentLaunch};

/// Timeout after the program's exit for writing its last output and the end of the recording.
const EXIT_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Environment variables that describe the user's terminal. Removed in a virtual terminal, because the values would be
/// wrong.
const OUTER_TERMINAL: [&str; 16] = [
    "COLUMNS",
    "LINES",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TMUX",
    "TMUX_PANE",
    "STY",
    "VTE_VERSION",
    "KITTY_WINDOW_ID",
    "KITTY_PID",
    "WEZTERM_PANE",
    "ALACRITTY_WINDOW_ID",
    "ITERM_SESSION_ID",
    "LC_TERMINAL",
    "WT_SESSION",
    "KONSOLE_VERSION",
];

/// Run a program with an HTTP API to its terminal
///
/// In a terminal, you use the program as usual while HTTP clients see its screen and type into it. Without a terminal,
/// or with --headless, the program runs in a virtual terminal. wh exits with the program's exit code, or with 128+n if
/// signal n ended the program. Before wh exits, it also ends the processes that the program started.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wh run --demo --control-port 9090                         the built-in demo program
  wh run --control-port 9090 -- claude                      any program, with an HTTP API
  wh run --headless --control-port 0 -- bash --norc         no terminal needed; prints the port
  curl localhost:9090/control/send_input -d '{\"text\":\"ls\",\"key\":\"enter\"}'
  curl localhost:9090/control/wait -d '{\"condition\":\"screen_stable 300\"}'
  curl localhost:9090/control/screen | jq -r .plain

Exit codes:
  2    usage error
  125  internal error, for example a port in use or a process that cannot be ended
  126  the program cannot be executed
  127  program not found
All other exit codes are those of the program.

Environment:
  WH_CONTROL_TOKEN      API token, see --control-token-file
  CONTROL_PLANE_BUFFER  number of characters of raw output kept for /control/screen?history=1
                        (default 4000)
  XDG_RUNTIME_DIR       directory with the files that other commands use to find the run
  WH_LOG                log level on standard error (error, warn, info, debug, trace); only
                        without a terminal")]
pub struct RunCommand {
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

    /// Keep the HTTP API open for SECS seconds after the program's exit [default: 0 on a real terminal, or if no client
    /// used the API in the last 10 seconds; else until a client has read the exit status, at most 2 seconds]
    #[arg(long, value_name = "SECS")]
    linger: Option<u32>,

    /// Number of scrollback lines to store; a resize rewraps these lines
    #[arg(long, value_name = "LINES", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    scrollback: u32,

    /// Run the program in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Set an environment variable for the program; may be repeated
    #[arg(long, value_name = "K=V", value_parser = variable)]
    env: Vec<(OsString, OsString)>,

    /// Run the built-in demo program
    #[arg(long, conflicts_with = "command")]
    demo: bool,

    /// Serve the conversation of this agent beside its own UI: claude, codex or gemini; `none` treats the command as
    /// any other program [default: with an HTTP API, recognised by the name of the command]
    #[arg(long = "as", value_name = "AGENT", value_parser = ["claude", "codex", "gemini", "none"], conflicts_with = "demo")]
    agent: Option<String>,

    /// Program and its arguments
    #[arg(trailing_var_arg = true, value_name = "CMD", required_unless_present = "demo")]
    command: Vec<OsString>,
}

fn variable(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

impl RunCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        async_runtime::block_on(with_child_cleanup(self.under_control()))
    }

    async fn under_control(mut self) -> Result<ExitCode, CliFailure> {
        protect::memory();
        let tty = if self.headless { None } else { LocalTerminal::here() };
        // A log on the user's terminal would overwrite the program's screen.
        if tty.is_none() {
            log::to_stderr()?;
        }
        let mut signals = ExitSignals::new().map_err(|error| CliFailure::new(code::FAILED, error))?;
        let mut withheld = Vec::new();
        if self.agent.as_deref() == Some("gemini") {
            // Gemini CLI would serve the same port itself.
            self.control.control_port = self.control.control_port.map_or_else(remote_port, |port| Ok(Some(port)))?;
            withheld = REMOTE_PORTS.map(OsString::from).to_vec();
        }
        let control = self.control.open().await?;
        let profile = match (self.agent.as_deref(), &control) {
            (None, None) | (Some("none"), _) => None,
            (wanted, _) => terminal_agent::recognise(wanted, &self.command),
        };
        let mut launch = profile.map(|profile| {
            let command = std::mem::take(&mut self.command);
            TerminalAgentLaunch::prepare(profile, command, self.cwd.as_deref(), &self.env)
        });
        if let Some(launch) = &mut launch {
            self.command = std::mem::take(&mut launch.command);
            self.env.append(&mut launch.environment);
        }
        let recorded = self.record.wanted();
        let linger = match self.linger {
            Some(seconds) => LingerTime::For(Duration::from_secs(seconds.into())),
            None if tty.is_some() => LingerTime::No,
            None => LingerTime::UntilRead,
        };
        let mut spec = self.spec(tty.as_ref(), control.as_ref(), launch.is_some())?;
        spec.withheld.append(&mut withheld);
        let command = spec.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let session = terminal::start(spec).await.map_err(|error| cannot_start(&error))?;
        let opened = match launch {
            Some(launch) => launch.open(&session).await,
            None => None,
        };
        let (running, conversation) = opened.unzip();
        let api = control.map(|control| RunningApi::open(control, session.surface.clone(), conversation, command));
        if api.is_none() && tty.is_none() && !recorded {
            print_to_stderr("wh: no terminal and no --control-port; the program runs but its screen is not accessible");
        }
        let RunOutcome { exit, signalled } = wait_for_end(session, tty, &mut signals).await;
        if let Some(running) = running {
            let _ = running.space.end(false).await;
        }
        if let Some(api) = api {
            // A signal ends wh without lingering.
            api.close(if signalled { LingerTime::No } else { linger }, &mut signals).await;
        }
        Ok(ExitCode::from(u8::try_from(exit.code() & 0xff).unwrap_or(code::FAILED)))
    }

    fn spec(
        self,
        tty: Option<&LocalTerminal>,
        control: Option<&ApiListener>,
        is_agent: bool,
    ) -> Result<TerminalSpec, CliFailure> {
        let command = if self.demo { demo_command(control)? } else { self.command };
        let mut environment = Vec::new();
        let mut withheld: Vec<OsString> = vec![TOKEN_VARIABLE.into()];
        if tty.is_none() {
            environment = vec![("TERM".into(), TERM.into()), ("COLORTERM".into(), "truecolor".into())];
            withheld.extend(OUTER_TERMINAL.map(OsString::from));
        }
        environment.extend(self.env);
        let terminal =
            tty.map(LocalTerminal::terminal).transpose().map_err(|error| CliFailure::new(code::FAILED, error))?;
        let size = tty.map_or(self.size, LocalTerminal::size);
        let term = if tty.is_none() { TERM.to_owned() } else { std::env::var("TERM").unwrap_or_default() };
        let recording = self.record.open(&command, size, term)?;
        Ok(TerminalSpec {
            command,
            directory: self.cwd,
            environment,
            withheld,
            session: None,
            size,
            terminal,
            recording,
            ledger: None,
            // On a real terminal without an API, nothing reads the screen, so the output is not parsed.
            screen: match (control, tty) {
                (None, Some(_)) if !is_agent => None,
                _ => {
                    Some(ScreenSpec { history_lines: self.scrollback as usize, log_characters: log::raw_characters()? })
                }
            },
        })
    }
}

fn demo_command(control: Option<&ApiListener>) -> Result<Vec<OsString>, CliFailure> {
    let own = std::env::current_exe()
        .map_err(|error| CliFailure::new(code::FAILED, format!("cannot find the demo program: {error}")))?;
    let mut command = vec![own.into_os_string(), "demo".into()];
    command.extend(control.into_iter().flat_map(|control| [OsString::from("--url"), control.url().into()]));
    Ok(command)
}

fn cannot_start(error: &ProgramStartError) -> CliFailure {
    match error.program_error().map(io::Error::kind) {
        Some(io::ErrorKind::NotFound) => {
            CliFailure::new(code::NOT_FOUND, error).hint("check that the program is installed and on the PATH")
        }
        Some(_) => CliFailure::new(code::NOT_EXECUTABLE, error),
        None => CliFailure::new(code::FAILED, error),
    }
}

/// Waits until the program and all of its processes have ended. A signal to wh terminates the program; a second signal
/// kills it.
async fn wait_for_end(session: TerminalSession, tty: Option<LocalTerminal>, signals: &mut ExitSignals) -> RunOutcome {
    let TerminalSession { surface, mut ended, mut empty, recorded, .. } = session;
    let mut attached = match tty {
        Some(tty) => Some(tty.attach(&surface).await),
        None => None,
    };
    let (mut signalled, mut settled) = (false, false);
    let exit = loop {
        tokio::select! {
            exit = &mut ended => break exit.unwrap_or(Exit::Unknown),
            // No process is left, or the remaining processes cannot be ended. The exit status arrives within the
            // timeout or never.
            _ = &mut empty => {
                settled = true;
                let exit = tokio::time::timeout(EXIT_FLUSH_TIMEOUT, &mut ended).await;
                break exit.ok().and_then(Result::ok).unwrap_or(Exit::Unknown);
            }
            () = signals.next() => {
                // The first signal terminates the program, the second kills it.
                let _ = surface.end(signalled).await;
                signalled = true;
            }
        }
    };
    if let Some(attached) = attached.take() {
        attached.detach(&surface, exit).await;
    }
    if let Some(recorded) = recorded
        && let Ok(Ok(Err(error))) = tokio::time::timeout(EXIT_FLUSH_TIMEOUT, recorded).await
    {
        print_to_stderr(&format!("wh: the recording is incomplete: {error}"));
    }
    // Later, `with_child_cleanup` tries again to end the remaining processes, and reports processes that it cannot end.
    while !settled {
        tokio::select! {
            _ = &mut empty => settled = true,
            () = signals.next() => {
                let _ = surface.end(true).await;
                signalled = true;
            }
        }
    }
    RunOutcome { exit, signalled }
}

/// Exit status of the program, and the cause of the exit.
struct RunOutcome {
    exit: Exit,
    /// True if a signal to wh ended the run.
    signalled: bool,
}
