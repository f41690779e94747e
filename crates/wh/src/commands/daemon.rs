//! Implements `wh daemon`, which starts, stops, restarts and inspects the daemon.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, FromArgMatches, Subcommand};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use serde_json::json;

use super::restorable;
use super::wait::duration;
use crate::daemon::watchdog::{self, LastPolled};
use crate::daemon::{self, DaemonArguments, DaemonCommandLine, DaemonFile, DaemonPaths};
use crate::failure::{CliFailure, code, print_to_stderr, with_exit_codes};
use crate::print::{clean, json_line, print};
use crate::settings::Settings;
use crate::settings::arguments::with_files;
use crate::target::{ResponseTimeout, TargetArguments};
use crate::{async_runtime, log};

/// Timeout of `wh daemon restart` for the daemon and all of its processes to exit.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// Manage the daemon, which keeps sessions running in the background
///
/// There is one daemon per user and runtime directory. Its sessions are agents with their conversations, and terminal
/// programs. `wh new` creates a session and starts the daemon if it is not running. `wh ls` lists sessions, `wh attach`
/// shows a session.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh daemon start\n  wh new --agent demo --name a\n  wh daemon status --json\n  wh daemon restart\n  wh daemon stop", &[code::TIMEOUT, code::REFUSED, code::UNREACHABLE, code::STALLED]))]
pub struct DaemonCommand {
    #[command(subcommand)]
    command: DaemonSubcommand,
}

#[derive(Debug, Subcommand)]
enum DaemonSubcommand {
    /// Start the daemon in the background
    Start(DaemonStartArguments),
    /// Stop the daemon and all processes of its sessions; the next start restores agent sessions
    Stop(DaemonStopArguments),
    /// Restart the daemon with the same options; agent sessions are restored
    Restart(DaemonRestartArguments),
    /// Show the daemon's status and addresses. Exit code 3: the daemon does not answer; 6: the daemon is not running
    Status(DaemonStatusArguments),
    /// Print the daemon's log
    Logs(DaemonLogsArguments),
}

#[derive(Debug, Args)]
#[command(args_override_self = true)]
struct DaemonStartArguments {
    /// Run in the foreground, for service managers
    #[arg(long)]
    foreground: bool,

    /// Internal: this process was started by `wh daemon start`
    #[arg(long, hide = true, requires = "foreground")]
    background: bool,

    #[command(flatten)]
    arguments: DaemonArguments,
}

#[derive(Debug, Args)]
struct DaemonStopArguments {
    /// End the sessions permanently; they are not restored
    #[arg(long)]
    end_sessions: bool,

    /// Fail after this time and list the processes that still run
    #[arg(id = "stop_timeout", long = "timeout", value_name = "TIME", default_value = "30s", value_parser = duration)]
    timeout: Duration,
}

#[derive(Debug, Args)]
struct DaemonRestartArguments {
    /// Options that replace the options of the running daemon. `restart` reads them from the command line of the
    /// process, not from this field.
    #[command(flatten)]
    _replaced: DaemonArguments,
}

#[derive(Debug, Args)]
struct DaemonStatusArguments {
    #[command(flatten)]
    answer: ResponseTimeout,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct DaemonLogsArguments {
    /// Print the last N lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,

    /// Follow the log
    #[arg(short, long)]
    follow: bool,
}

impl DaemonCommand {
    pub fn run(self, settings: &Settings) -> Result<ExitCode, CliFailure> {
        let paths = DaemonPaths::here()?;
        match self.command {
            DaemonSubcommand::Start(start) => start.run(&paths, settings),
            DaemonSubcommand::Stop(stop) => {
                let ended = paths.stop(stop.end_sessions, stop.timeout)?;
                print(if ended { "the daemon has stopped\n" } else { "the daemon is not running\n" })?;
                Ok(ExitCode::SUCCESS)
            }
            DaemonSubcommand::Restart(_) => restart(&paths, settings),
            DaemonSubcommand::Status(status) => status.run(&paths),
            DaemonSubcommand::Logs(logs) => logs.run(&paths),
        }
    }
}

impl DaemonStartArguments {
    fn run(self, paths: &DaemonPaths, settings: &Settings) -> Result<ExitCode, CliFailure> {
        if self.foreground {
            let last_polled = LastPolled::default();
            log::always_to_stderr(last_polled.clone())?;
            if self.background {
                // Closing the terminal must not end the daemon.
                let _ = nix::unistd::setsid();
            }
            let started = DaemonCommandLine { arguments: options_after("start"), foreground: !self.background };
            let watched = async {
                watchdog::start(tokio::runtime::Handle::current(), last_polled)
                    .map_err(|error| CliFailure::new(code::FAILED, format!("cannot start the watchdog: {error}")))?;
                let appearance = daemon::UiAppearance::new(settings);
                daemon::serve(paths, &self.arguments, appearance, started, |file| ready(file, self.background)).await
            };
            let served = async_runtime::block_on(watched);
            if let (Err(failure), true) = (&served, self.background) {
                // Standard output is a pipe to the starting process. The log alone is not enough, because the disk that
                // contains it may be full.
                let _ = writeln!(std::io::stdout(), "{}", failure.reported());
            }
            return served.map(|()| ExitCode::SUCCESS);
        }
        if let Some(daemon) = paths.running_daemon() {
            return Err(CliFailure::new(
                code::REFUSED,
                format!("the daemon is already running (process {})", daemon.pid),
            )
            .hint("see `wh daemon status`; stop the daemon with `wh daemon stop`"));
        }
        // Invalid limits are reported here, not only in the log.
        self.arguments.limits.resolve()?;
        start(paths, &options_after("start"))
    }
}

fn start(paths: &DaemonPaths, options: &[String]) -> Result<ExitCode, CliFailure> {
    let daemon = paths.start(options)?;
    print(&format!("the daemon is running (process {}, {})\n", daemon.pid, daemon.url))?;
    daemon.warn_of_damage();
    Ok(ExitCode::SUCCESS)
}

fn restart(paths: &DaemonPaths, settings: &Settings) -> Result<ExitCode, CliFailure> {
    let running = paths.running_daemon();
    if let Some(daemon) = running.as_ref().filter(|daemon| daemon.foreground) {
        return Err(CliFailure::new(
            code::REFUSED,
            format!("cannot restart the daemon (process {}), because it was started with --foreground", daemon.pid),
        )
        .hint("restart the daemon with its service manager, e.g. systemctl --user restart wheelhouse"));
    }
    // If an option occurs twice, the last one counts, so the options of this command override the daemon's.
    let mut options = running.map(|daemon| daemon.arguments).unwrap_or_default();
    options.extend(options_after("restart"));
    check(&options, settings)?;
    paths.stop(false, STOP_TIMEOUT)?;
    start(paths, &options)
}

/// Validates the options before the running daemon is stopped.
fn check(options: &[String], settings: &Settings) -> Result<(), CliFailure> {
    let command = clap::Command::new("wh daemon restart").no_binary_name(true).args_override_self(true);
    let command = with_files(DaemonArguments::augment_args(command), settings);
    let arguments =
        command.try_get_matches_from(options).and_then(|matches| DaemonArguments::from_arg_matches(&matches));
    let arguments = arguments.map_err(|error| CliFailure::new(code::USAGE, error.to_string().trim_end()))?;
    arguments.limits.resolve().map(drop)
}

/// Returns the arguments after the subcommand `verb`, for the daemon process. Omits `--foreground` and `--background`.
fn options_after(verb: &str) -> Vec<String> {
    let words = std::env::args().skip(1).skip_while(|word| word != verb).skip(1);
    words.filter(|word| !matches!(word.as_str(), "--foreground" | "--background")).collect()
}

/// Reports that the daemon is ready. If `background` is true, sends the report to the process that started the daemon,
/// else prints it to standard error.
fn ready(file: &DaemonFile, background: bool) {
    let Ok(line) = serde_json::to_string(file) else { return };
    if !background {
        return print_to_stderr(&json!({"event": "daemon-listening", "url": file.url, "pid": file.pid}).to_string());
    }
    let _ = writeln!(std::io::stdout(), "{line}");
    // The reader closes the pipe after this line, so later output goes to /dev/null.
    if let Ok(nowhere) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = nix::unistd::dup2_stdout(nowhere);
    }
}

impl DaemonStatusArguments {
    fn run(self, paths: &DaemonPaths) -> Result<ExitCode, CliFailure> {
        let damaged = wh_engine::store::damaged_files(&paths.store());
        let Some(daemon) = paths.running_daemon() else {
            if self.json {
                print(&json_line(&json!({"running": false, "damaged_stores": damaged}).to_string()))?;
                return Ok(ExitCode::from(code::UNREACHABLE));
            }
            let outlook =
                restorable::lines(paths, true).into_iter().chain(damaged.iter().map(|path| damaged_store_notice(path)));
            let hints: Vec<String> =
                std::iter::once("start the daemon with: wh daemon start".to_owned()).chain(outlook).collect();
            return Err(CliFailure::new(code::UNREACHABLE, "the daemon is not running").hint(hints.join("\n")));
        };
        let (socket, token, log) = (paths.socket(), paths.token(), paths.log());
        let mut body = json!({
            "running": true, "answers": true, "pid": daemon.pid, "started_at": daemon.started_at,
            "version": daemon.version, "url": daemon.url, "socket": socket, "token_file": token, "log": log,
            "store_damage": daemon.store_damage, "damaged_stores": damaged,
        });
        let sessions = match TargetArguments::for_daemon(self.answer.timeout).sessions() {
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
        let live = sessions.iter().filter(|one| one.status.live).count();
        let ended = sessions.len() - live;
        if self.json {
            (body["sessions"], body["ended"]) = (json!(live), json!(ended));
            print(&json_line(&body.to_string()))?;
            return Ok(ExitCode::SUCCESS);
        }
        print(&format!(
            "the daemon is running\n  process   {}\n  since     {}\n  version   {}\n  sessions  {live} live, {ended} ended\n  http      {}\n  socket    {}\n  token     {}\n  log       {}\n",
            daemon.pid,
            daemon.started_at,
            daemon.version,
            daemon.url,
            socket.display(),
            token.display(),
            log.display(),
        ))?;
        daemon.warn_of_damage();
        let reported = daemon.store_damage.map(|damage| damage.path);
        for path in damaged.iter().filter(|path| reported.as_ref() != Some(path)) {
            print_to_stderr(&format!("wh: {}", damaged_store_notice(path)));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns a notice about a store that was found damaged at an earlier start. The notice is shown until the file is
/// removed.
fn damaged_store_notice(path: &Path) -> String {
    format!(
        "a damaged store from an earlier start is saved as {}; delete this file when you no longer need it",
        path.display()
    )
}

impl DaemonLogsArguments {
    fn run(self, paths: &DaemonPaths) -> Result<ExitCode, CliFailure> {
        let path = paths.log();
        let cannot =
            |error: &dyn std::fmt::Display| CliFailure::new(code::FAILED, format!("{}: {error}", path.display()));
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(
                    cannot(&"the daemon has not logged anything yet").hint("start the daemon with: wh daemon start")
                );
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

/// Formats the time since a timestamp, e.g. `5m`.
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
