//! `wh run`.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use wh_core::terminal::{Exit, Size};
use wh_engine::terminal::{self, ScreenSpec, StartError, TerminalSession, TerminalSpec};
use wh_screen::pty::TERM;

use crate::control::{Control, ControlArguments, TOKEN_VARIABLE};
use crate::ending::with_nothing_left;
use crate::failure::{Failure, code, say};
use crate::log;
use crate::opened::{Opened, Stay};
use crate::person::Person;
use crate::protect;
use crate::record::RecordArguments;
use crate::signals::Signals;
use crate::waiting;

/// How long the last of the output, and of the recording, may take once the program has ended.
const LAST_RITES: Duration = Duration::from_secs(5);

/// What an outer terminal says of itself to its programs. A terminal of our own is not that one.
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

/// Run a program in a terminal under control
///
/// On a terminal you see and use the program as if it ran bare, while others may watch and type through the control
/// plane. Without a terminal, or with --headless, it runs in a virtual one. wh exits with the program's exit code, 128+n
/// if signal n ended it; nothing that the program started outlives wh.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wh run --demo --control-port 9090                         the built-in demonstration
  wh run --control-port 9090 -- claude                      any program, with a door for others
  wh run --headless --control-port 0 -- bash --norc         no terminal needed; the port is printed
  curl localhost:9090/control/send_input -d '{\"text\":\"ls\",\"key\":\"enter\"}'
  curl localhost:9090/control/wait -d '{\"condition\":\"screen_stable 300\"}'
  curl localhost:9090/control/screen | jq -r .plain

Exit codes of wh itself: 2 wrong usage, 125 wh failed (a port in use, a process that could not be
ended), 126 the program cannot be executed, 127 there is no such program. All others are the
program's.

Environment: WH_CONTROL_TOKEN (see --control-token-file), CONTROL_PLANE_BUFFER (characters of raw
output kept for ?history=1, 4000), XDG_RUNTIME_DIR (where runs are listed), WH_LOG (error, warn,
info, debug, trace: what wh itself does, on standard error, without a terminal only).")]
pub struct Run {
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

    /// Keep the control plane open for SECS seconds after the program has ended [default: until a client that used it in
    /// the last 10 seconds has read the end, for 2 seconds at most; 0 on a terminal]
    #[arg(long, value_name = "SECS")]
    linger: Option<u32>,

    /// Lines kept above the screen, for wrapping them anew when the size changes
    #[arg(long, value_name = "LINES", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    scrollback: u32,

    /// Run the program in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Set a variable for the program; may be repeated
    #[arg(long, value_name = "K=V", value_parser = variable)]
    env: Vec<(OsString, OsString)>,

    /// Run the built-in demonstration program
    #[arg(long, conflicts_with = "command")]
    demo: bool,

    /// The program and its arguments; what follows the program is its own
    #[arg(trailing_var_arg = true, value_name = "CMD", required_unless_present = "demo")]
    command: Vec<OsString>,
}

fn variable(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

impl Run {
    pub fn run(self) -> Result<ExitCode, Failure> {
        waiting::block_on(with_nothing_left(self.under_control()))
    }

    async fn under_control(self) -> Result<ExitCode, Failure> {
        protect::memory();
        let person = if self.headless { None } else { Person::here() };
        // On a person's terminal a log would be drawn over the program.
        if person.is_none() {
            log::to_stderr()?;
        }
        let mut signals = Signals::new().map_err(|error| Failure::new(code::FAILED, error))?;
        let control = self.control.open().await?;
        let recorded = self.record.wanted();
        let linger = match self.linger {
            Some(seconds) => Stay::For(Duration::from_secs(seconds.into())),
            None if person.is_some() => Stay::No,
            None => Stay::UntilRead,
        };
        let spec = self.spec(person.as_ref(), control.as_ref())?;
        let command = spec.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let session = terminal::start(spec).await.map_err(|error| cannot_start(&error))?;
        let door = control.map(|control| Opened::open(control, session.surface.clone(), None, command));
        if door.is_none() && person.is_none() && !recorded {
            say("wh: no terminal and no --control-port: the program runs, but nobody can see it");
        }
        let Lived { exit, asked } = live(session, person, &mut signals).await;
        if let Some(door) = door {
            // Who asked wh to end does not want it to stay.
            door.close(if asked { Stay::No } else { linger }, &mut signals).await;
        }
        Ok(ExitCode::from(u8::try_from(exit.code() & 0xff).unwrap_or(code::FAILED)))
    }

    fn spec(self, person: Option<&Person>, control: Option<&Control>) -> Result<TerminalSpec, Failure> {
        let command = if self.demo { demo_command(control)? } else { self.command };
        let mut environment = Vec::new();
        let mut withheld: Vec<OsString> = vec![TOKEN_VARIABLE.into()];
        if person.is_none() {
            environment = vec![("TERM".into(), TERM.into()), ("COLORTERM".into(), "truecolor".into())];
            withheld.extend(OUTER_TERMINAL.map(OsString::from));
        }
        environment.extend(self.env);
        let terminal = person.map(Person::terminal).transpose().map_err(|error| Failure::new(code::FAILED, error))?;
        let size = person.map_or(self.size, Person::size);
        let term = if person.is_none() { TERM.to_owned() } else { std::env::var("TERM").unwrap_or_default() };
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
            // With a terminal of its own and no door, nobody looks and nobody has to answer: the bytes go by unread.
            screen: match (control, person) {
                (None, Some(_)) => None,
                _ => {
                    Some(ScreenSpec { history_lines: self.scrollback as usize, log_characters: log::raw_characters()? })
                }
            },
        })
    }
}

fn demo_command(control: Option<&Control>) -> Result<Vec<OsString>, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::new(code::FAILED, format!("cannot find the demonstration: {error}")))?;
    let mut command = vec![own.into_os_string(), "demo".into()];
    command.extend(control.into_iter().flat_map(|control| [OsString::from("--url"), control.url().into()]));
    Ok(command)
}

fn cannot_start(error: &StartError) -> Failure {
    match error.program_error().map(io::Error::kind) {
        Some(io::ErrorKind::NotFound) => Failure::new(code::NOT_FOUND, error).hint("is it installed, and on the PATH?"),
        Some(_) => Failure::new(code::NOT_EXECUTABLE, error),
        None => Failure::new(code::FAILED, error),
    }
}

/// Waits for the end of the program and of all that it started, and passes on what ends it sooner.
async fn live(session: TerminalSession, person: Option<Person>, signals: &mut Signals) -> Lived {
    let TerminalSession { surface, mut ended, mut empty, recorded, .. } = session;
    let mut attached = match person {
        Some(person) => Some(person.attach(&surface).await),
        None => None,
    };
    let (mut asked, mut settled) = (false, false);
    let exit = loop {
        tokio::select! {
            exit = &mut ended => break exit.unwrap_or(Exit::Unknown),
            // Nothing runs, or something cannot be ended: how the program ended is known by now, or never will be.
            _ = &mut empty => {
                settled = true;
                let exit = tokio::time::timeout(LAST_RITES, &mut ended).await;
                break exit.ok().and_then(Result::ok).unwrap_or(Exit::Unknown);
            }
            () = signals.next() => {
                // The first asks; who asks again means it.
                let _ = surface.end(asked).await;
                asked = true;
            }
        }
    };
    if let Some(attached) = attached.take() {
        attached.detach(&surface, exit).await;
    }
    if let Some(recorded) = recorded
        && let Ok(Ok(Err(error))) = tokio::time::timeout(LAST_RITES, recorded).await
    {
        say(&format!("wh: the recording is not complete: {error}"));
    }
    // What could not be ended is tried again, and reported, by `with_nothing_left`.
    while !settled {
        tokio::select! {
            _ = &mut empty => settled = true,
            () = signals.next() => {
                let _ = surface.end(true).await;
                asked = true;
            }
        }
    }
    Lived { exit, asked }
}

/// The end of a program.
struct Lived {
    exit: Exit,
    /// wh was asked to end.
    asked: bool,
}
