//! Runs the daemon: its store, its sessions, the HTTP API and the control socket.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;
use nix::fcntl::Flock;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::{Instrument, info, info_span, warn};
use wh_client::{ControlHandler, SessionManager};
use wh_core::terminal::Exit;
use wh_engine::control::audit::{self, AuditWriter, LoggedText};
use wh_engine::control::content_ref::ContentRefFolder;
use wh_engine::control::teams::{self, Teams};
use wh_engine::control::{Controller, ControllerParts};
use wh_engine::sessions::{SessionServices, Sessions, UiSpec};
use wh_engine::store::{Store, StoreLimits};
use wh_engine::terminal::{ScreenSpec, UiTerminalEnd};
use wh_pipe::reaper;
use wh_server::http::{self, AccessRules, ApiToken};
use wh_server::socket;
use wh_tui::bell::BellSetting;
use wh_tui::keymap::KeyMap;
use wh_tui::theme::Theme;
use wh_tui::{TuiExit, TuiOptions};

use super::limits::{ControlLimitValues, ControlLimits, raise_descriptor_limit};
use super::stop::END_SESSIONS;
use super::{DaemonFile, DaemonPaths, StoreDamage, write_private};
use crate::child_cleanup::not_ended;
use crate::failure::{CliFailure, code};
use crate::http_options::TOKEN_VARIABLE;
use crate::runtime::{self, process_start};
use crate::settings::Settings;
use crate::signals::ExitSignals;
use crate::{agents, log, protect};

/// Scrollback lines of a terminal session.
const SESSION_SCROLLBACK_LINES: usize = 2000;

/// Time after which the UI of an agent session is closed if no client uses its screen.
const UNUSED_UI_TTL: Duration = Duration::from_secs(10 * 60);

/// Timeout for closing the servers, and for closing the store, when the daemon ends.
const DAEMON_CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval for deleting expired text files.
const CONTENT_SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Options of the daemon.
#[derive(Debug, Args)]
pub struct DaemonArguments {
    /// Serve the HTTP API on this port of 127.0.0.1; 0 picks a free port. Clients need the token in the file that `wh
    /// daemon status` shows
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub control_port: u16,

    #[command(flatten)]
    pub limits: ControlLimits,
}

/// Settings of the terminal UI of every session.
#[derive(Debug, Clone)]
pub struct UiAppearance {
    theme: Theme,
    keys: Arc<KeyMap>,
    bell: BellSetting,
}

impl UiAppearance {
    /// Reads the appearance from settings files. There is no terminal to match, so `auto` means dark. Environment
    /// variables are ignored: they belong to the shell that started the daemon, not to the viewer.
    pub fn new(settings: &Settings) -> Self {
        let theme = settings.choice_of_file("theme").and_then(Theme::named).unwrap_or(Theme::dark());
        Self { theme, keys: Arc::new(settings.keys().clone()), bell: settings.bell() }
    }
}

fn failed(error: &dyn std::fmt::Display) -> CliFailure {
    CliFailure::new(code::FAILED, format!("the daemon cannot start: {error}"))
}

/// Command line of a daemon.
#[derive(Debug)]
pub struct DaemonCommandLine {
    /// Options as given on the command line.
    pub arguments: Vec<String>,
    /// True with `--foreground`.
    pub foreground: bool,
}

/// Returns a function that adds a path to an error.
fn failed_at<E: std::fmt::Display>(path: PathBuf) -> impl FnOnce(E) -> CliFailure {
    move |error| failed(&format!("{}: {error}", path.display()))
}

/// Runs the daemon until a signal ends it. Calls `ready` when it accepts connections.
pub async fn serve(
    paths: &DaemonPaths,
    arguments: &DaemonArguments,
    appearance: UiAppearance,
    started: DaemonCommandLine,
    ready: impl FnOnce(&DaemonFile),
) -> Result<(), CliFailure> {
    protect::memory();
    let mut signals = ExitSignals::new().map_err(|error| failed(&error))?;
    let mut end_sessions = signal(SignalKind::from_raw(END_SESSIONS as i32)).map_err(|error| failed(&error))?;
    let _lock: Flock<std::fs::File> = match paths.claim().map_err(|error| failed(&error))? {
        Some(lock) => lock,
        None => {
            let whose = paths.running_daemon().map_or_else(String::new, |daemon| format!(" (process {})", daemon.pid));
            return Err(CliFailure::new(code::REFUSED, format!("the daemon is already running{whose}"))
                .hint("see `wh daemon status`; stop the daemon with `wh daemon stop`"));
        }
    };
    let chosen = arguments.limits.resolve()?;
    raise_descriptor_limit();
    reaper::adopt_orphans().map_err(|error| failed(&error))?;
    let (store, store_damage) = open_store(paths, &chosen)?;
    // Reports errors in the user's agents.toml now. The file is read again for each session.
    agents::catalog(std::path::Path::new("/"))?;
    let screen = ScreenSpec { history_lines: SESSION_SCROLLBACK_LINES, log_characters: log::raw_characters()? };
    let sessions = Sessions::new(SessionServices {
        catalog: Box::new(|directory| agents::catalog(directory).map_err(|failure| failure.one_line())),
        show: Box::new(move |spec| show(spec, &appearance)),
        unused_ui_after: UNUSED_UI_TTL,
        screen,
        withheld: vec![TOKEN_VARIABLE.into()],
        store: Some(store.clone()),
        is_team: is_team(paths),
    });
    let recalled = sessions.begin_restore().await.map_err(|error| failed(&error))?;
    // A request during the restore finds only the sessions that are already restored.
    let restorer = Arc::clone(&sessions);
    let restoring = tokio::spawn(async move { restorer.finish_restore(recalled).await });
    let controller = controller(paths, Arc::clone(&sessions) as Arc<dyn SessionManager>, store.clone(), &chosen)?;
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.control_port));
    let listener = http::bind(wanted).map_err(|error| failed(&format!("{wanted}: {error}")))?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let secret = teams::MemberToken::new().map_err(|error| failed(&error))?;
    write_private(&paths.token(), secret.as_str().as_bytes()).map_err(failed_at(paths.token()))?;
    let (stop, closing) = watch::channel(false);
    let daemon: Arc<dyn SessionManager> = sessions.clone();
    let socket_listener =
        socket::bind(&paths.socket()).map_err(|error| failed(&format!("{}: {error}", paths.socket().display())))?;
    let at_socket =
        tokio::spawn(socket::serve(socket_listener, Arc::clone(&daemon), Arc::clone(&controller), closing.clone()));
    let access = AccessRules { token: ApiToken::new(secret.as_str()), any_host: false };
    let router = http::daemon_router(Arc::clone(&daemon), controller, access, closing.clone());
    let served = tokio::spawn(http::serve(listener, router, closing.clone()));

    let pid = std::process::id();
    let file = DaemonFile {
        pid,
        process_start: process_start(pid).unwrap_or(0),
        url: format!("http://{address}"),
        started_at: runtime::now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        arguments: started.arguments,
        foreground: started.foreground,
        store_damage,
    };
    let text = serde_json::to_vec(&file).map_err(|error| failed(&error))?;
    write_private(&paths.file(), &text).map_err(failed_at(paths.file()))?;
    info!(pid, url = file.url, "the daemon is ready");
    ready(&file);

    let end_sessions = tokio::select! {
        () = signals.next() => false,
        _ = end_sessions.recv() => true,
    };
    info!(end_sessions, "the daemon received a signal to stop");
    restoring.abort();
    let _ = restoring.await;
    tokio::select! {
        () = sessions.stop(end_sessions) => {}
        // A second signal skips the graceful stop.
        () = signals.next() => {}
    }
    stop.send_replace(true);
    if tokio::time::timeout(DAEMON_CLOSE_TIMEOUT, async { tokio::join!(served, at_socket) }).await.is_err() {
        warn!("timed out closing the servers");
    }
    match tokio::time::timeout(DAEMON_CLOSE_TIMEOUT, store.close()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => warn!(%error, "cannot close the store cleanly"),
        Err(_) => warn!("timed out closing the store"),
    }
    let left = reaper::end_everything().await;
    if let Err(error) = paths.save_unended(&left) {
        warn!(%error, ?left, "cannot save the list of processes that could not be ended");
    }
    // Other processes consider the daemon running until these files are removed.
    for path in [paths.file(), paths.token(), paths.socket()] {
        let _ = std::fs::remove_file(path);
    }
    info!("the daemon exits");
    if left.is_empty() { Ok(()) } else { Err(not_ended(&left)) }
}

/// Returns a function that checks if a team exists. The function reads the team files on each call.
fn is_team(paths: &DaemonPaths) -> Box<dyn Fn(&str) -> bool + Send + Sync> {
    let folder = paths.teams();
    Box::new(move |team| match Teams::open(&folder) {
        Ok(teams) => teams.policy().teams.contains_key(team),
        Err(error) => {
            warn!(%error, "cannot read the teams");
            false
        }
    })
}

fn open_store(paths: &DaemonPaths, chosen: &ControlLimitValues) -> Result<(Store, Option<StoreDamage>), CliFailure> {
    let (remembered, requests) = (chosen.times.dedupe_window(), chosen.capacity);
    let limits = StoreLimits { remembered, requests, ..StoreLimits::default() };
    let store = Store::open_with(paths.store(), limits).map_err(|error| failed(&error))?;
    let opening = store.opening();
    if let Some((path, reason)) = &opening.set_aside {
        warn!(path = %path.display(), reason, "the store was damaged and renamed; its sessions and request ids are lost");
    }
    if opening.cut_off > 0 {
        warn!(
            count = opening.cut_off,
            "requests were in progress when the last daemon ended; their delivery is unknown"
        );
    }
    let damage = opening.set_aside.clone().map(|(path, reason)| StoreDamage { path, reason });
    Ok((store, damage))
}

fn controller(
    paths: &DaemonPaths,
    daemon: Arc<dyn SessionManager>,
    store: Store,
    chosen: &ControlLimitValues,
) -> Result<Arc<dyn ControlHandler>, CliFailure> {
    let ControlLimitValues { times, limits, .. } = *chosen;
    let teams = Teams::open(paths.teams()).map_err(failed_at(paths.teams()))?;
    let mut options = audit::AuditOptions::new("wh-daemon");
    options.texts = texts()?;
    let audit = AuditWriter::open(paths.audit(), options).map_err(failed_at(paths.audit()))?;
    let references = ContentRefFolder::new(paths.contents(), limits.reference).map_err(failed_at(paths.contents()))?;
    tokio::spawn(sweep(references.clone()));
    let parts = ControllerParts { daemon, store, teams, audit, references, times, limits };
    Ok(Arc::new(Controller::new(parts)))
}

/// Deletes expired text files of senders, at startup and then once per [`CONTENT_SWEEP_INTERVAL`].
async fn sweep(references: ContentRefFolder) {
    let mut hours = tokio::time::interval(CONTENT_SWEEP_INTERVAL);
    loop {
        hours.tick().await;
        let references = references.clone();
        match tokio::task::spawn_blocking(move || references.sweep(SystemTime::now())).await {
            Ok(Ok(0)) | Err(_) => {}
            Ok(Ok(count)) => info!(count, "deleted expired texts"),
            Ok(Err(error)) => warn!(%error, "cannot delete expired texts"),
        }
    }
}

/// Reads `WH_AUDIT_TEXT`, which selects the part of each message text to log. The default is to log no text.
pub fn texts() -> Result<LoggedText, CliFailure> {
    match std::env::var("WH_AUDIT_TEXT").as_deref() {
        Err(_) | Ok("" | "0" | "none") => Ok(LoggedText::Omitted),
        Ok("1" | "all") => Ok(LoggedText::Whole),
        Ok(other) => match other.parse() {
            Ok(bytes) => Ok(LoggedText::Beginning(bytes)),
            Err(_) => Err(CliFailure::new(code::USAGE, format!("WH_AUDIT_TEXT has the invalid value {other:?}"))
                .hint("set the variable to none, all, or the maximum number of bytes to log per text")),
        },
    }
}

/// Runs the UI of a session's conversation on its virtual terminal.
fn show(spec: UiSpec, appearance: &UiAppearance) -> tokio::task::JoinHandle<()> {
    let UiSpec { host, space, port, me, title, directory, leave } = spec;
    let span = info_span!("session_ui", title);
    let UiAppearance { theme, keys, bell } = appearance.clone();
    let options = TuiOptions {
        theme,
        keys,
        bell,
        agent: Some(title),
        directory,
        quit_requests: Some(leave),
        ..TuiOptions::new(me)
    };
    let shown = async move {
        let UiTerminalEnd { line, sizes, drawn, leave: _asked, exit } = host;
        let left = wh_tui::run(line, sizes, drawn, space, port, options).await;
        let code = if matches!(left, Ok(TuiExit::UserQuit | TuiExit::Space)) { 0 } else { 1 };
        let _ = exit.send(Exit::Code(code));
    };
    tokio::spawn(shown.instrument(span))
}
