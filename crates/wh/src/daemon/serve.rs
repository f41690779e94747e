//! The daemon itself: sessions that outlive the terminal they were started from, and the doors onto them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;
use nix::fcntl::Flock;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::{Instrument, info, info_span, warn};
use wh_client::{Controller as Port, Daemon};
use wh_core::terminal::Exit;
use wh_doors::http::{self, Access, Token};
use wh_doors::socket;
use wh_engine::control::audit::{self, Audit, Texts};
use wh_engine::control::content_ref::References;
use wh_engine::control::teams::{self, Teams};
use wh_engine::control::{Controller, Parts};
use wh_engine::sessions::{Means, Sessions, UiSpec};
use wh_engine::store::{Limits as StoreLimits, Store};
use wh_engine::terminal::{Host, ScreenSpec};
use wh_pipe::reaper;
use wh_tui::bell::Bell;
use wh_tui::keymap::KeyMap;
use wh_tui::theme::Theme;
use wh_tui::{Left, Options};

use super::limits::{Chosen, ControlLimits, raise_descriptor_limit};
use super::stop::END_SESSIONS;
use super::{DaemonFile, Place, StoreDamage, write_private};
use crate::control::TOKEN_VARIABLE;
use crate::ending::not_ended;
use crate::failure::{Failure, code};
use crate::runtime::{self, process_start};
use crate::settings::Settings;
use crate::signals::Signals;
use crate::{agents, log, protect};

/// Lines kept above the screen of a terminal program.
const HISTORY_LINES: usize = 2000;

/// Time after the last use of its screen at which the UI of an agent's session is ended.
const UNUSED_UI_AFTER: Duration = Duration::from_secs(10 * 60);

/// Limit for closing the store at the end.
const LONGEST_CLOSE: Duration = Duration::from_secs(10);

/// How often texts that were left behind are looked for.
const SWEEP: Duration = Duration::from_secs(60 * 60);

/// How a daemon is opened.
#[derive(Debug, Args)]
pub struct DaemonArguments {
    /// The port of the HTTP door on 127.0.0.1; 0 picks a free one. It always wants the token in the file that
    /// `wh daemon status` names
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub control_port: u16,

    #[command(flatten)]
    pub limits: ControlLimits,
}

/// The settings of the terminal UI of every session.
#[derive(Debug, Clone)]
pub struct Appearance {
    theme: Theme,
    keys: Arc<KeyMap>,
    bell: Bell,
}

impl Appearance {
    /// By the files of these settings. The daemon knows no terminal to suit: `auto` is dark. Variables are those of the
    /// shell that started it, and not of who looks.
    pub fn new(settings: &Settings) -> Self {
        let theme = settings.choice_of_file("theme").and_then(Theme::named).unwrap_or(Theme::dark());
        Self { theme, keys: Arc::new(settings.keys().clone()), bell: settings.bell() }
    }
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(code::FAILED, format!("the daemon cannot start: {error}"))
}

/// The command line of a daemon.
#[derive(Debug)]
pub struct Started {
    /// Its options, as they stood on the command line.
    pub arguments: Vec<String>,
    /// It stays in the foreground of whoever started it.
    pub foreground: bool,
}

/// A failure with the file that it is about.
fn failed_at<E: std::fmt::Display>(path: PathBuf) -> impl FnOnce(E) -> Failure {
    move |error| failed(&format!("{}: {error}", path.display()))
}

/// Runs the daemon until it is asked to end. `ready` is told once it can be asked.
pub async fn serve(
    place: &Place,
    arguments: &DaemonArguments,
    appearance: Appearance,
    started: Started,
    ready: impl FnOnce(&DaemonFile),
) -> Result<(), Failure> {
    protect::memory();
    let mut signals = Signals::new().map_err(|error| failed(&error))?;
    let mut end_sessions = signal(SignalKind::from_raw(END_SESSIONS as i32)).map_err(|error| failed(&error))?;
    let _lock: Flock<std::fs::File> = match place.claim().map_err(|error| failed(&error))? {
        Some(lock) => lock,
        None => {
            let whose = place.living().map_or_else(String::new, |daemon| format!(" (process {})", daemon.pid));
            return Err(Failure::new(code::REFUSED, format!("a daemon runs here already{whose}"))
                .hint("`wh daemon status` tells more, `wh daemon stop` ends it"));
        }
    };
    let chosen = arguments.limits.chosen()?;
    raise_descriptor_limit();
    reaper::adopt_orphans().map_err(|error| failed(&error))?;
    let (store, store_damage) = open_store(place, &chosen)?;
    // What is wrong in the person's own file is said now; it is read anew for each session.
    agents::catalog(std::path::Path::new("/"))?;
    let screen = ScreenSpec { history_lines: HISTORY_LINES, log_characters: log::raw_characters()? };
    let sessions = Sessions::new(Means {
        catalog: Box::new(|directory| agents::catalog(directory).map_err(|failure| failure.told())),
        show: Box::new(move |spec| show(spec, &appearance)),
        unused_ui_after: UNUSED_UI_AFTER,
        screen,
        withheld: vec![TOKEN_VARIABLE.into()],
        store: Some(store.clone()),
        is_team: is_team(place),
    });
    let recalled = sessions.recall().await.map_err(|error| failed(&error))?;
    // Whoever asks meanwhile is answered with what is there so far.
    let bringing = Arc::clone(&sessions);
    let restoring = tokio::spawn(async move { bringing.bring_back(recalled).await });
    let controller = controller(place, Arc::clone(&sessions) as Arc<dyn Daemon>, store.clone(), &chosen)?;
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.control_port));
    let listener = http::bind(wanted).map_err(|error| failed(&format!("{wanted}: {error}")))?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let secret = teams::Token::new().map_err(|error| failed(&error))?;
    write_private(&place.token(), secret.as_str().as_bytes()).map_err(failed_at(place.token()))?;
    let (stop, closing) = watch::channel(false);
    let daemon: Arc<dyn Daemon> = sessions.clone();
    let door =
        socket::bind(&place.socket()).map_err(|error| failed(&format!("{}: {error}", place.socket().display())))?;
    let at_socket = tokio::spawn(socket::serve(door, Arc::clone(&daemon), Arc::clone(&controller), closing.clone()));
    let access = Access { token: Token::new(secret.as_str()), any_host: false };
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
    write_private(&place.file(), &text).map_err(failed_at(place.file()))?;
    info!(pid, url = file.url, "the daemon is ready");
    ready(&file);

    let end_sessions = tokio::select! {
        () = signals.next() => false,
        _ = end_sessions.recv() => true,
    };
    info!(end_sessions, "the daemon was asked to end");
    restoring.abort();
    let _ = restoring.await;
    tokio::select! {
        () = sessions.stop(end_sessions) => {}
        // Who asks again means it.
        () = signals.next() => {}
    }
    stop.send_replace(true);
    if tokio::time::timeout(LONGEST_CLOSE, async { tokio::join!(served, at_socket) }).await.is_err() {
        warn!("the servers took too long to close");
    }
    match tokio::time::timeout(LONGEST_CLOSE, store.close()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => warn!(%error, "the store could not be closed in order"),
        Err(_) => warn!("the store took too long to be closed"),
    }
    let left = reaper::end_everything().await;
    if let Err(error) = place.note_left(&left) {
        warn!(%error, ?left, "it cannot be noted which processes could not be ended");
    }
    // Until here the daemon counts as running.
    for path in [place.file(), place.token(), place.socket()] {
        let _ = std::fs::remove_file(path);
    }
    info!("the daemon ends");
    if left.is_empty() { Ok(()) } else { Err(not_ended(&left)) }
}

/// Whether there is a team, as the files are now.
fn is_team(place: &Place) -> Box<dyn Fn(&str) -> bool + Send + Sync> {
    let folder = place.teams();
    Box::new(move |team| match Teams::open(&folder) {
        Ok(teams) => teams.policy().teams.contains_key(team),
        Err(error) => {
            warn!(%error, "the teams cannot be read");
            false
        }
    })
}

fn open_store(place: &Place, chosen: &Chosen) -> Result<(Store, Option<StoreDamage>), Failure> {
    let (remembered, requests) = (chosen.times.remembered(), chosen.capacity);
    let limits = StoreLimits { remembered, requests, ..StoreLimits::default() };
    let store = Store::open_with(place.store(), limits).map_err(|error| failed(&error))?;
    let opening = store.opening();
    if let Some((path, reason)) = &opening.set_aside {
        warn!(path = %path.display(), reason, "the store was damaged and was set aside; what was heard before is not known any more");
    }
    if opening.cut_off > 0 {
        warn!(
            count = opening.cut_off,
            "requests were under way when the last daemon ended; it is not known whether they arrived"
        );
    }
    let damage = opening.set_aside.clone().map(|(kept, reason)| StoreDamage { kept, reason });
    Ok((store, damage))
}

fn controller(place: &Place, daemon: Arc<dyn Daemon>, store: Store, chosen: &Chosen) -> Result<Arc<dyn Port>, Failure> {
    let Chosen { times, limits, .. } = *chosen;
    let teams = Teams::open(place.teams()).map_err(failed_at(place.teams()))?;
    let mut options = audit::Options::new("wh-daemon");
    options.texts = texts()?;
    let audit = Audit::open(place.audit(), options).map_err(failed_at(place.audit()))?;
    let references = References::new(place.contents(), limits.reference).map_err(failed_at(place.contents()))?;
    tokio::spawn(sweep(references.clone()));
    let parts = Parts { daemon, store, teams, audit, references, times, limits };
    Ok(Arc::new(Controller::new(parts)))
}

/// Takes away texts that senders have left behind, now and every hour.
async fn sweep(references: References) {
    let mut hours = tokio::time::interval(SWEEP);
    loop {
        hours.tick().await;
        let references = references.clone();
        match tokio::task::spawn_blocking(move || references.sweep(SystemTime::now())).await {
            Ok(Ok(0)) | Err(_) => {}
            Ok(Ok(count)) => info!(count, "texts that were left behind were taken away"),
            Ok(Err(error)) => warn!(%error, "texts that were left behind cannot be taken away"),
        }
    }
}

/// How much of the messages' texts is written down: nothing, unless somebody wants it.
pub fn texts() -> Result<Texts, Failure> {
    match std::env::var("WH_AUDIT_TEXT").as_deref() {
        Err(_) | Ok("" | "0" | "none") => Ok(Texts::Omitted),
        Ok("1" | "all") => Ok(Texts::Whole),
        Ok(other) => match other.parse() {
            Ok(bytes) => Ok(Texts::Beginning(bytes)),
            Err(_) => Err(Failure::new(code::USAGE, format!("WH_AUDIT_TEXT is {other:?}"))
                .hint("give none, all, or how many bytes of each text to write down")),
        },
    }
}

/// Shows a session's conversation on its terminal, for as long as there is one.
fn show(spec: UiSpec, appearance: &Appearance) -> tokio::task::JoinHandle<()> {
    let UiSpec { host, space, port, me, title, directory, leave } = spec;
    let span = info_span!("session_ui", title);
    let Appearance { theme, keys, bell } = appearance.clone();
    let options = Options { theme, keys, bell, agent: Some(title), directory, stays: Some(leave), ..Options::new(me) };
    let shown = async move {
        let Host { line, sizes, drawn, leave: _asked, exit } = host;
        let left = wh_tui::run(line, sizes, drawn, space, port, options).await;
        let code = if matches!(left, Ok(Left::Person | Left::Space)) { 0 } else { 1 };
        let _ = exit.send(Exit::Code(code));
    };
    tokio::spawn(shown.instrument(span))
}
