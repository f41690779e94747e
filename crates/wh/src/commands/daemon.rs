//! `wh daemon`.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, FromArgMatches, Subcommand};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use serde_json::json;

use super::outlook;
use super::wait::duration;
use crate::daemon::watchdog::{self, LastPolled};
use crate::daemon::{self, DaemonArguments, DaemonFile, Place, Started};
use crate::door::{AnswerTimeout, DoorArguments};
use crate::failure::{Failure, code, say, with_exit_codes};
use crate::print::{clean, json_line, print};
use crate::settings::Settings;
use crate::settings::arguments::with_files;
use crate::{log, waiting};

/// Limit for the end of the daemon and everything that it has started.
const LONGEST_STOP: Duration = Duration::from_secs(30);

/// Keep sessions that outlive the terminal they were started from
///
/// One daemon per user (and runtime directory) keeps sessions: agents with their conversations, and terminal programs.
/// `wh new` makes one and starts the daemon if need be; `wh ls` lists them, `wh attach` shows one.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh daemon start\n  wh new --agent demo --name a\n  wh daemon status --json\n  wh daemon restart\n  wh daemon stop"))]
pub struct Daemon {
    #[command(subcommand)]
    command: DaemonCommand,
}

#[derive(Debug, Subcommand)]
enum DaemonCommand {
    /// Start it, in the background
    Start(Start),
    /// End it with every process of its sessions. The next start restores the agent sessions
    Stop(Stop),
    /// Stop it and start it again with the same options; agent sessions are restored
    Restart(Restart),
    /// Say whether it runs, since when, and where its doors are. Exit code 3: it runs and does not answer; 6: none runs
    Status(Status),
    /// Print what it has written about what it does
    Logs(Logs),
}

#[derive(Debug, Args)]
#[command(args_override_self = true)]
struct Start {
    /// Stay in the foreground, as a service manager wants it
    #[arg(long)]
    foreground: bool,

    /// This process was started by another for the background
    #[arg(long, hide = true, requires = "foreground")]
    background: bool,

    #[command(flatten)]
    arguments: DaemonArguments,
}

#[derive(Debug, Args)]
struct Stop {
    /// End the sessions, too: they are not restored
    #[arg(long)]
    end_sessions: bool,

    /// Fail if it has not ended within this time, and list what still runs
    #[arg(id = "stop_timeout", long = "timeout", value_name = "TIME", default_value = "30s", value_parser = duration)]
    timeout: Duration,
}

#[derive(Debug, Args)]
struct Restart {
    /// Options that are given replace those that the running daemon was started with
    #[command(flatten)]
    _replaced: DaemonArguments,
}

#[derive(Debug, Args)]
struct Status {
    #[command(flatten)]
    answer: AnswerTimeout,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Logs {
    /// The last so many lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,

    /// Go on with what is written from now on
    #[arg(short, long)]
    follow: bool,
}

impl Daemon {
    pub fn run(self, settings: &Settings) -> Result<ExitCode, Failure> {
        let place = Place::here()?;
        match self.command {
            DaemonCommand::Start(start) => start.run(&place, settings),
            DaemonCommand::Stop(stop) => {
                let ended = place.stop(stop.end_sessions, stop.timeout)?;
                print(if ended { "the daemon has ended\n" } else { "no daemon runs here\n" })?;
                Ok(ExitCode::SUCCESS)
            }
            DaemonCommand::Restart(_) => restart(&place, settings),
            DaemonCommand::Status(status) => status.run(&place),
            DaemonCommand::Logs(logs) => logs.run(&place),
        }
    }
}

impl Start {
    fn run(self, place: &Place, settings: &Settings) -> Result<ExitCode, Failure> {
        if self.foreground {
            let last_polled = LastPolled::default();
            log::always_to_stderr(last_polled.clone())?;
            if self.background {
                // A terminal that goes away must not take us along.
                let _ = nix::unistd::setsid();
            }
            let started = Started { arguments: options_after("start"), foreground: !self.background };
            let watched = async {
                watchdog::start(tokio::runtime::Handle::current(), last_polled)
                    .map_err(|error| Failure::new(code::FAILED, format!("cannot start the watchdog: {error}")))?;
                let appearance = daemon::Appearance::new(settings);
                daemon::serve(place, &self.arguments, appearance, started, |file| ready(file, self.background)).await
            };
            let served = waiting::block_on(watched);
            if let (Err(failure), true) = (&served, self.background) {
                // The log may be on a disk that is full.
                let _ = writeln!(std::io::stdout(), "{}", failure.reported());
            }
            return served.map(|()| ExitCode::SUCCESS);
        }
        if let Some(daemon) = place.living() {
            return Err(Failure::new(code::REFUSED, format!("a daemon runs here already (process {})", daemon.pid))
                .hint("`wh daemon status` tells more, `wh daemon stop` ends it"));
        }
        // What is wrong is said here, and not only in the log.
        self.arguments.limits.chosen()?;
        start(place, &options_after("start"))
    }
}

fn start(place: &Place, options: &[String]) -> Result<ExitCode, Failure> {
    let daemon = place.start(options)?;
    print(&format!("the daemon runs (process {}, {})\n", daemon.pid, daemon.url))?;
    daemon.warn_of_damage();
    Ok(ExitCode::SUCCESS)
}

fn restart(place: &Place, settings: &Settings) -> Result<ExitCode, Failure> {
    let running = place.living();
    if let Some(daemon) = running.as_ref().filter(|daemon| daemon.foreground) {
        return Err(Failure::new(
            code::REFUSED,
            format!("the daemon (process {}) was started with --foreground", daemon.pid),
        )
        .hint("restart it where it was started, as with: systemctl --user restart wheelhouse"));
    }
    // The last of two equal options counts.
    let mut options = running.map(|daemon| daemon.arguments).unwrap_or_default();
    options.extend(options_after("restart"));
    check(&options, settings)?;
    place.stop(false, LONGEST_STOP)?;
    start(place, &options)
}

/// Checks the options of a daemon before the running one is stopped for it.
fn check(options: &[String], settings: &Settings) -> Result<(), Failure> {
    let command = clap::Command::new("wh daemon restart").no_binary_name(true).args_override_self(true);
    let command = with_files(DaemonArguments::augment_args(command), settings);
    let arguments =
        command.try_get_matches_from(options).and_then(|matches| DaemonArguments::from_arg_matches(&matches));
    let arguments = arguments.map_err(|error| Failure::new(code::USAGE, error.to_string().trim_end()))?;
    arguments.limits.chosen().map(drop)
}

/// The options of this command as they stand on the command line, to be passed on. Those that say only where a daemon runs
/// are left out.
fn options_after(verb: &str) -> Vec<String> {
    let words = std::env::args().skip(1).skip_while(|word| word != verb).skip(1);
    words.filter(|word| !matches!(word.as_str(), "--foreground" | "--background")).collect()
}

/// Tells whoever started us that we can be asked.
fn ready(file: &DaemonFile, background: bool) {
    let Ok(line) = serde_json::to_string(file) else { return };
    if !background {
        return say(&json!({"event": "daemon-listening", "url": file.url, "pid": file.pid}).to_string());
    }
    let _ = writeln!(std::io::stdout(), "{line}");
    // The other end is closed when it has heard; what is printed by mistake later must not meet a broken pipe.
    if let Ok(nowhere) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = nix::unistd::dup2_stdout(nowhere);
    }
}

impl Status {
    fn run(self, place: &Place) -> Result<ExitCode, Failure> {
        let damaged = wh_engine::store::damaged(&place.store());
        let Some(daemon) = place.living() else {
            if self.json {
                print(&json_line(&json!({"running": false, "damaged_stores": damaged}).to_string()))?;
                return Ok(ExitCode::from(code::UNREACHABLE));
            }
            let outlook = outlook::lines(place, true).into_iter().chain(damaged.iter().map(|path| kept(path)));
            let hints: Vec<String> =
                std::iter::once("start it with: wh daemon start".to_owned()).chain(outlook).collect();
            return Err(Failure::new(code::UNREACHABLE, "no daemon runs here").hint(hints.join("\n")));
        };
        let (socket, token, log) = (place.socket(), place.token(), place.log());
        let mut body = json!({
            "running": true, "answers": true, "pid": daemon.pid, "started_at": daemon.started_at,
            "version": daemon.version, "url": daemon.url, "socket": socket, "token_file": token, "log": log,
            "store_damage": daemon.store_damage, "damaged_stores": damaged,
        });
        let sessions = match DoorArguments::for_daemon(self.answer.timeout).sessions() {
            Ok(sessions) => sessions,
            Err(failure) if failure.code() == code::UNREACHABLE => {
                if self.json {
                    body["answers"] = json!(false);
                    print(&json_line(&body.to_string()))?;
                }
                return Err(failure.with_code(code::TIMEOUT));
            }
            Err(failure) => return Err(failure),
        };
        let living = sessions.iter().filter(|one| one.status.live).count();
        let ended = sessions.len() - living;
        if self.json {
            (body["sessions"], body["ended"]) = (json!(living), json!(ended));
            print(&json_line(&body.to_string()))?;
            return Ok(ExitCode::SUCCESS);
        }
        print(&format!(
            "the daemon runs\n  process   {}\n  since     {}\n  version   {}\n  sessions  {living} live, {ended} ended\n  http      {}\n  socket    {}\n  token     {}\n  log       {}\n",
            daemon.pid,
            daemon.started_at,
            daemon.version,
            daemon.url,
            socket.display(),
            token.display(),
            log.display(),
        ))?;
        daemon.warn_of_damage();
        let said = daemon.store_damage.map(|damage| damage.kept);
        for path in damaged.iter().filter(|path| said.as_ref() != Some(path)) {
            say(&format!("wh: {}", kept(path)));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A damaged store of an earlier start. It is mentioned until it is removed.
fn kept(path: &Path) -> String {
    format!("a damaged store of an earlier start is kept as {}; remove it when it is not needed", path.display())
}

impl Logs {
    fn run(self, place: &Place) -> Result<ExitCode, Failure> {
        let path = place.log();
        let cannot = |error: &dyn std::fmt::Display| Failure::new(code::FAILED, format!("{}: {error}", path.display()));
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(cannot(&"the daemon has written nothing yet").hint("start it with: wh daemon start"));
            }
            Err(error) => return Err(cannot(&error)),
        };
        let lines: Vec<String> = BufReader::new(&file).lines().map_while(Result::ok).collect();
        for line in &lines[lines.len().saturating_sub(self.lines)..] {
            print(&format!("{}\n", clean(line)))?;
        }
        if !self.follow {
            return Ok(ExitCode::SUCCESS);
        }
        let watch = Inotify::init(InitFlags::IN_CLOEXEC).map_err(|error| cannot(&error))?;
        watch.add_watch(&path, AddWatchFlags::IN_MODIFY).map_err(|error| cannot(&error))?;
        loop {
            let end = file.stream_position().map_err(|error| cannot(&error))?;
            let length = file.metadata().map_err(|error| cannot(&error))?.len();
            if length < end {
                file.seek(SeekFrom::Start(0)).map_err(|error| cannot(&error))?;
            }
            for line in BufReader::new(&file).lines().map_while(Result::ok) {
                print(&format!("{}\n", clean(&line)))?;
            }
            watch.read_events().map_err(|error| cannot(&error))?;
        }
    }
}

/// How long ago something was, in a word or two.
pub fn ago(since: &str) -> String {
    let Ok(then) = since.parse::<jiff::Timestamp>() else { return since.to_owned() };
    let seconds = Duration::try_from(jiff::Timestamp::now() - then).map_or(0, |gone| gone.as_secs());
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}
