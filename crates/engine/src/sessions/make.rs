//! How a session comes to be: its program or its agent, its terminal, and who watches for its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tracing::{info, warn};
use wh_agents::port::{Harness, Resume, Start};
use wh_client::{
    Conversation, CreateError, Ending, NewSession, SESSION_VARIABLE, Session, Space, Surface, Ui, UiPort, What,
};
use wh_core::space::ParticipantId;
use wh_core::space::event::Activity;
use wh_core::terminal::Exit;
use wh_pipe::{Left, reaper};

use super::{Kept, Live, Means, UiSpec};
use crate::ledger::SessionLedger;
use crate::space::RunningSpace;
use crate::terminal::{self, HostSpec, OnDemand, TerminalSpec};

/// Longest wait for the end of a program's output once nothing of it runs.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// What a session's terminal says that it is.
const TERM: &str = "xterm-256color";

fn failed(message: impl ToString) -> CreateError {
    CreateError::Failed { message: message.to_string(), hint: None }
}

/// Starts a terminal program.
pub(super) async fn program(
    means: &Means,
    mut session: Session,
    wanted: &NewSession,
    ledger: Option<SessionLedger>,
) -> Result<Kept, CreateError> {
    let What::Program(command) = &wanted.what else { return Err(CreateError::Nothing) };
    if command.is_empty() {
        return Err(CreateError::Nothing);
    }
    let mut withheld = means.withheld.clone();
    let mut environment = Vec::new();
    if let Some(given) = &wanted.environment {
        withheld.extend(beside(given));
        environment.clone_from(given);
        // A caller inside a session passes its own variable; the new one is set below.
        environment.retain(|(name, _)| !means.withheld.contains(name) && name != SESSION_VARIABLE);
    }
    environment.push((SESSION_VARIABLE.into(), session.id.clone().into()));
    environment.push(("TERM".into(), TERM.into()));
    environment.push(("COLORTERM".into(), "truecolor".into()));
    let spec = TerminalSpec {
        command: command.clone(),
        directory: Some(wanted.directory.clone()),
        environment,
        withheld,
        session: Some(session.id.clone()),
        size: wanted.size,
        terminal: None,
        screen: Some(means.screen),
        recording: None,
        ledger,
    };
    let started = terminal::start(spec).await.map_err(|error| {
        let hint = error.program_error().map(|_| "is it installed, and on the PATH?".to_owned());
        CreateError::Failed { message: error.to_string(), hint }
    })?;
    session.surface = Some(started.surface.clone());
    let session = Arc::new(session);
    let (watched, ended, nothing_left) = (Arc::clone(&session), started.ended, started.empty);
    tokio::spawn(async move {
        // Its program may have ended before: the session has when nothing of it runs.
        let left = nothing_left.await.unwrap_or_default();
        let exit = tokio::time::timeout(LAST_OUTPUT, ended).await;
        let exit = exit.ok().and_then(Result::ok).unwrap_or(Exit::Unknown);
        info!(id = watched.id, ?exit, ?left, "a session's program has ended");
        watched.end(ending(Ending::Exited(exit), left), SystemTime::now());
    });
    Ok(Kept { session, live: Some(Live::Program { surface: started.surface }), written: None })
}

/// The ending to record: processes that are left outweigh the reported one.
fn ending(ending: Ending, left: Left) -> Ending {
    if left.is_empty() { ending } else { Ending::Left(left.0) }
}

/// The person in the conversations of a daemon.
pub(super) fn person() -> ParticipantId {
    ParticipantId::from("human")
}

/// Starts the agent of a session; with a name, and when that was first told, it goes on with the conversation that it
/// calls so.
pub(super) async fn harness(
    means: &Means,
    session: &Session,
    wanted: &NewSession,
    resume: Option<(String, Option<SystemTime>)>,
) -> Result<Harness, CreateError> {
    let What::Agent { agent: id, model, mode, may_skip_permissions, arguments } = &wanted.what else {
        return Err(CreateError::Nothing);
    };
    let catalog = (means.catalog)(&wanted.directory).map_err(failed)?;
    let agent =
        catalog.by_id(id).ok_or_else(|| CreateError::NoSuchAgent { agent: id.clone(), known: catalog.ids() })?;
    let mut start = Start::new(&wanted.directory);
    start.model.clone_from(model);
    start.mode.clone_from(mode);
    start.may_skip_permissions = *may_skip_permissions;
    start.arguments.clone_from(arguments);
    start.environment = environment(means, wanted);
    start.session = Some(session.id.clone());
    start.environment.insert(SESSION_VARIABLE.into(), Some(session.id.clone().into()));
    if let Some((name, begun)) = resume {
        (start.resume, start.begun) = (Some(Resume::Named(name)), begun);
    }
    start.keeps = means.store.is_some();
    // What was said is kept here.
    start.recalls = false;
    match agent.start(start).await {
        Ok(harness) => Ok(harness),
        Err(error) => {
            let (mut message, hint) = (error.to_string(), error.hint().map(str::to_owned));
            // An agent that did not come so far may have started something.
            let left = reaper::end_session(&session.id).await;
            if !left.is_empty() {
                message = format!("{message}; {left}");
            }
            Err(CreateError::Failed { message, hint })
        }
    }
}

/// The agent's name for people.
fn title(means: &Means, id: &str, wanted: &NewSession) -> String {
    let catalog = (means.catalog)(&wanted.directory).ok();
    let known = catalog.and_then(|catalog| catalog.by_id(id));
    known.map_or_else(|| id.to_owned(), |agent| agent.facts().title)
}

/// A screen on which a conversation is shown while somebody uses it.
async fn show(
    means: &Arc<Means>,
    id: &str,
    wanted: &NewSession,
    space: &Space,
    port: UiPort,
    leave: mpsc::Sender<()>,
    ledger: Option<SessionLedger>,
) -> Result<Surface, CreateError> {
    let command = vec!["wh".to_owned(), "--agent".to_owned(), id.to_owned()];
    let spec = HostSpec {
        command,
        size: wanted.size,
        attended: false,
        screen: None,
        recording: None,
        space: space.clone(),
        ledger,
    };
    let (shows, title, space, directory) =
        (Arc::clone(means), title(means, id, wanted), space.clone(), wanted.directory.clone());
    let start = Box::new(move |host, port| {
        (shows.show)(UiSpec {
            host,
            space: space.clone(),
            port,
            me: person(),
            title: title.clone(),
            directory: directory.clone(),
            leave: leave.clone(),
        })
    });
    let on_demand = OnDemand { port, start, screen: means.screen, unused_after: means.unused_ui_after };
    let hosted = terminal::host_on_demand(spec, on_demand).await.map_err(failed)?;
    Ok(hosted.surface)
}

/// Gives an ended session its conversation, and a screen on which that is shown once somebody looks.
pub(super) fn relic(
    means: &Arc<Means>,
    session: &mut Session,
    wanted: &NewSession,
    space: Space,
    ledger: Option<SessionLedger>,
) {
    let (surface, mut requests) = Surface::new();
    let (ui, port) = Ui::new();
    session.past = true;
    session.surface = Some(surface);
    let id = session.agent().unwrap_or_default().to_owned();
    let title = title(means, &id, wanted);
    session.conversation = Some(Conversation { space: space.clone(), ui, me: person(), title });
    let (means, wanted) = (Arc::clone(means), wanted.clone());
    tokio::spawn(async move {
        let Some(mut request) = requests.recv().await else { return };
        // Nobody is asked to leave: who looks at what is over goes when they want to.
        let (leave, _left) = mpsc::channel(1);
        match show(&means, &id, &wanted, &space, port, leave, ledger).await {
            Ok(shown) => {
                while shown.pass(request).await.is_ok() {
                    request = match requests.recv().await {
                        Some(request) => request,
                        None => return,
                    };
                }
            }
            Err(error) => warn!(%error, "an ended conversation cannot be shown"),
        }
    });
}

/// Shows an agent's conversation and watches for its end.
pub(super) async fn agent(
    means: &Arc<Means>,
    mut session: Session,
    wanted: &NewSession,
    harness: Harness,
    running: &RunningSpace,
    ledger: Option<SessionLedger>,
) -> Result<Kept, CreateError> {
    let participant = ParticipantId::from(session.agent().unwrap_or_default());
    running.enrol(participant.clone(), harness).await;
    let (ui, port) = Ui::new();
    let (leave, mut left) = mpsc::channel(1);
    let surface = show(means, participant.as_str(), wanted, &running.space, port, leave, ledger).await?;
    session.surface = Some(surface);
    let title = title(means, participant.as_str(), wanted);
    session.conversation = Some(Conversation { space: running.space.clone(), ui, me: person(), title });
    let session = Arc::new(session);
    let (watched, space) = (Arc::clone(&session), running.space.clone());
    tokio::spawn(async move {
        let reason = gone_from(&space, participant).await;
        let left = reaper::end_session(&watched.id).await;
        info!(id = watched.id, ?left, "a session's agent is gone");
        watched.end(ending(Ending::Gone(reason), left), SystemTime::now());
    });
    // The UI stays as long as its screen is held, and the session holds that: whoever waits for the UI must not hold the session.
    let audience = Arc::downgrade(&session);
    tokio::spawn(async move {
        while left.recv().await.is_some() {
            let Some(session) = audience.upgrade() else { return };
            session.audience.dismiss();
        }
    });
    Ok(Kept { session, live: Some(Live::Agent { space: running.space.clone() }), written: None })
}

/// Waits until an agent is gone; why, if nobody asked for it.
async fn gone_from(space: &Space, participant: ParticipantId) -> Option<String> {
    let gone = |activity: &Activity| match activity {
        Activity::Gone(reason) => Some(reason.clone()),
        _ => None,
    };
    until(space, &participant, gone).await.unwrap_or_else(|| Some("its space is gone".to_owned()))
}

/// Waits until an agent can be used, or is gone.
pub(super) async fn answered(space: &Space, participant: &ParticipantId) {
    let answered = |activity: &Activity| (*activity != Activity::Starting).then_some(());
    until(space, participant, answered).await;
}

/// Waits until an agent's activity is of some kind; `None`: its space is gone.
async fn until<T: Send + 'static>(
    space: &Space,
    participant: &ParticipantId,
    wanted: impl Fn(&Activity) -> Option<T> + Copy + Send + 'static,
) -> Option<T> {
    let mut watched = space.watch().await.ok()?;
    loop {
        watched.pulse.borrow_and_update();
        let view = space.participant(participant.clone()).await.ok()?;
        let activity = view.and_then(|view| view.status).map(|status| status.activity);
        if let Some(found) = activity.as_ref().and_then(wanted) {
            return Some(found);
        }
        watched.pulse.changed().await.ok()?;
    }
}

/// An agent's environment: what was given and nothing else, or what wh has.
fn environment(means: &Means, wanted: &NewSession) -> BTreeMap<OsString, Option<OsString>> {
    let mut environment: BTreeMap<OsString, Option<OsString>> = BTreeMap::new();
    if let Some(given) = &wanted.environment {
        environment.extend(beside(given).into_iter().map(|name| (name, None)));
        environment.extend(given.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
    }
    environment.extend(means.withheld.iter().map(|name| (name.clone(), None)));
    environment
}

/// Variables that wh has and the given ones do not.
fn beside(given: &[(OsString, OsString)]) -> Vec<OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| !given.iter().any(|(one, _)| one == name)).collect()
}
