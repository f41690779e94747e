//! Starts the program or agent of a session, opens the session's terminal, and watches for the session's end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tracing::{info, warn};
use wh_agents::interface::{Harness, ResumeSelector, StartOptions};
use wh_client::{
    Conversation, CreateError, CreateSessionRequest, EndCause, SESSION_VARIABLE, SessionHandle, Space, Surface, Ui,
    UiPort, Workload,
};
use wh_core::space::ParticipantId;
use wh_core::space::event::Activity;
use wh_core::terminal::Exit;
use wh_pipe::{Survivors, reaper};

use super::{LiveBackend, ManagedSession, SessionServices, UiSpec};
use crate::ledger::SessionLedger;
use crate::space::RunningSpace;
use crate::terminal::{self, OnDemandUiSpec, TerminalSpec, UiTerminalSpec};

/// Time to wait for the remaining output of a program after all of its processes have ended.
const OUTPUT_END_TIMEOUT: Duration = Duration::from_secs(2);

/// Value of the variable `TERM` in terminal sessions.
const SESSION_TERM: &str = "xterm-256color";

fn failed(message: impl ToString) -> CreateError {
    CreateError::Failed { message: message.to_string(), hint: None }
}

/// Starts the program of a terminal session.
pub(super) async fn start_program(
    services: &SessionServices,
    mut session: SessionHandle,
    wanted: &CreateSessionRequest,
    ledger: Option<SessionLedger>,
) -> Result<ManagedSession, CreateError> {
    let Workload::Program(command) = &wanted.workload else { return Err(CreateError::Nothing) };
    if command.is_empty() {
        return Err(CreateError::Nothing);
    }
    let mut withheld = services.withheld.clone();
    let mut environment = Vec::new();
    if let Some(given) = &wanted.environment {
        withheld.extend(unlisted_variables(given));
        environment.clone_from(given);
        // If the caller runs inside a session, this variable has the id of that session. The id of the new session is
        // set below.
        environment.retain(|(name, _)| !services.withheld.contains(name) && name != SESSION_VARIABLE);
    }
    environment.push((SESSION_VARIABLE.into(), session.id.clone().into()));
    environment.push(("TERM".into(), SESSION_TERM.into()));
    environment.push(("COLORTERM".into(), "truecolor".into()));
    let spec = TerminalSpec {
        command: command.clone(),
        directory: Some(wanted.directory.clone()),
        environment,
        withheld,
        session: Some(session.id.clone()),
        size: wanted.size,
        terminal: None,
        screen: Some(services.screen),
        recording: None,
        ledger,
    };
    let started = terminal::start(spec).await.map_err(|error| {
        let hint = error.program_error().map(|_| "check that the program is installed and on the PATH".to_owned());
        CreateError::Failed { message: error.to_string(), hint }
    })?;
    session.surface = Some(started.surface.clone());
    let session = Arc::new(session);
    let (watched, ended, nothing_left) = (Arc::clone(&session), started.ended, started.empty);
    tokio::spawn(async move {
        // The session ends when all of its processes have ended. This may be later than the exit of its program.
        let left = nothing_left.await.unwrap_or_default();
        let exit = tokio::time::timeout(OUTPUT_END_TIMEOUT, ended).await;
        let exit = exit.ok().and_then(Result::ok).unwrap_or(Exit::Unknown);
        info!(id = watched.id, ?exit, ?left, "a session's program has exited");
        watched.end(ending(EndCause::Exited(exit), left), SystemTime::now());
    });
    Ok(ManagedSession { session, live: Some(LiveBackend::Program { surface: started.surface }), written: None })
}

/// Returns [`EndCause::Left`] if processes could not be ended, otherwise `ending`.
fn ending(ending: EndCause, left: Survivors) -> EndCause {
    if left.is_empty() { ending } else { EndCause::Left(left.0) }
}

/// Returns the participant id of the user in a daemon's conversations.
pub(super) fn user() -> ParticipantId {
    ParticipantId::from("human")
}

/// Starts the agent of a session. `resume` is the resume id of the conversation to resume, with the time at which the
/// agent reported the id.
pub(super) async fn start_agent(
    services: &SessionServices,
    session: &SessionHandle,
    wanted: &CreateSessionRequest,
    resume: Option<(String, Option<SystemTime>)>,
) -> Result<Harness, CreateError> {
    let Workload::Agent { agent: id, model, mode, may_skip_permissions, arguments } = &wanted.workload else {
        return Err(CreateError::Nothing);
    };
    let catalog = (services.catalog)(&wanted.directory).map_err(failed)?;
    let agent =
        catalog.by_id(id).ok_or_else(|| CreateError::NoSuchAgent { agent: id.clone(), known: catalog.ids() })?;
    let mut start = StartOptions::new(&wanted.directory);
    start.model.clone_from(model);
    start.mode.clone_from(mode);
    start.may_skip_permissions = *may_skip_permissions;
    start.arguments.clone_from(arguments);
    start.environment = environment(services, wanted);
    start.session = Some(session.id.clone());
    start.environment.insert(SESSION_VARIABLE.into(), Some(session.id.clone().into()));
    if let Some((name, begun)) = resume {
        (start.resume, start.conversation_created_at) = (Some(ResumeSelector::Named(name)), begun);
    }
    start.may_store_state = services.store.is_some();
    // The conversation is restored from the store, so the agent need not report it.
    start.reports_history = false;
    match agent.start(start).await {
        Ok(harness) => Ok(harness),
        Err(error) => {
            let (mut message, hint) = (error.to_string(), error.hint().map(str::to_owned));
            // A failed start may have left processes behind.
            let left = reaper::end_session(&session.id).await;
            if !left.is_empty() {
                message = format!("{message}; {left}");
            }
            Err(CreateError::Failed { message, hint })
        }
    }
}

/// Returns the agent's title from the catalog, or its id if the catalog does not list it.
fn title(services: &SessionServices, id: &str, wanted: &CreateSessionRequest) -> String {
    let catalog = (services.catalog)(&wanted.directory).ok();
    let known = catalog.and_then(|catalog| catalog.by_id(id));
    known.map_or_else(|| id.to_owned(), |agent| agent.facts().title)
}

/// Opens a terminal whose UI shows a conversation and runs on demand.
async fn open_screen(
    services: &Arc<SessionServices>,
    id: &str,
    wanted: &CreateSessionRequest,
    space: &Space,
    port: UiPort,
    leave: mpsc::Sender<()>,
    ledger: Option<SessionLedger>,
) -> Result<Surface, CreateError> {
    let command = vec!["wh".to_owned(), "--agent".to_owned(), id.to_owned()];
    let spec = UiTerminalSpec {
        command,
        size: wanted.size,
        attended: false,
        screen: None,
        recording: None,
        space: space.clone(),
        ledger,
    };
    let (shows, title, space, directory) =
        (Arc::clone(services), title(services, id, wanted), space.clone(), wanted.directory.clone());
    let start = Box::new(move |host, port| {
        (shows.show)(UiSpec {
            host,
            space: space.clone(),
            port,
            me: user(),
            title: title.clone(),
            directory: directory.clone(),
            leave: leave.clone(),
        })
    });
    let on_demand = OnDemandUiSpec { port, start, screen: services.screen, unused_after: services.unused_ui_after };
    let hosted = terminal::host_on_demand(spec, on_demand).await.map_err(failed)?;
    Ok(hosted.surface)
}

/// Attaches the stored conversation to an ended session, and a terminal with an on-demand UI that shows it.
pub(super) fn attach_archived_conversation(
    services: &Arc<SessionServices>,
    session: &mut SessionHandle,
    wanted: &CreateSessionRequest,
    space: Space,
    ledger: Option<SessionLedger>,
) {
    let (surface, mut requests) = Surface::new();
    let (ui, port) = Ui::new();
    session.past = true;
    session.surface = Some(surface);
    let id = session.agent().unwrap_or_default().to_owned();
    let title = title(services, &id, wanted);
    session.conversation =
        Some(Conversation { space: space.clone(), ui, me: user(), title, refuses_until_ready: false });
    let (services, wanted) = (Arc::clone(services), wanted.clone());
    tokio::spawn(async move {
        let Some(mut request) = requests.recv().await else { return };
        // Requests to detach are never read: a client that shows an ended conversation detaches without the session.
        let (leave, _left) = mpsc::channel(1);
        match open_screen(&services, &id, &wanted, &space, port, leave, ledger).await {
            Ok(shown) => {
                while shown.pass(request).await.is_ok() {
                    request = match requests.recv().await {
                        Some(request) => request,
                        None => return,
                    };
                }
            }
            Err(error) => warn!(%error, "cannot show an ended conversation"),
        }
    });
}

/// Adds a started agent to its space, opens a terminal for the UI of the conversation, and watches for the agent's end.
pub(super) async fn attach_agent(
    services: &Arc<SessionServices>,
    mut session: SessionHandle,
    wanted: &CreateSessionRequest,
    harness: Harness,
    running: &RunningSpace,
    ledger: Option<SessionLedger>,
) -> Result<ManagedSession, CreateError> {
    let participant = ParticipantId::from(session.agent().unwrap_or_default());
    running.enrol(participant.clone(), harness).await;
    let (ui, port) = Ui::new();
    let (leave, mut left) = mpsc::channel(1);
    let surface = open_screen(services, participant.as_str(), wanted, &running.space, port, leave, ledger).await?;
    session.surface = Some(surface);
    let title = title(services, participant.as_str(), wanted);
    session.conversation =
        Some(Conversation { space: running.space.clone(), ui, me: user(), title, refuses_until_ready: false });
    let session = Arc::new(session);
    let (watched, space) = (Arc::clone(&session), running.space.clone());
    tokio::spawn(async move {
        let reason = until_gone(&space, participant).await;
        let left = reaper::end_session(&watched.id).await;
        info!(id = watched.id, ?left, "a session's agent has ended");
        watched.end(ending(EndCause::Gone(reason), left), SystemTime::now());
    });
    // The task has only a weak reference. A strong reference would be a cycle: the session owns the screen, and the
    // screen owns the sender of the channel that this task reads.
    let audience = Arc::downgrade(&session);
    tokio::spawn(async move {
        while left.recv().await.is_some() {
            let Some(session) = audience.upgrade() else { return };
            session.audience.dismiss();
        }
    });
    Ok(ManagedSession { session, live: Some(LiveBackend::Agent { space: running.space.clone() }), written: None })
}

/// Waits until an agent has ended. Returns the reason if its end was not requested.
async fn until_gone(space: &Space, participant: ParticipantId) -> Option<String> {
    let gone = |activity: &Activity| match activity {
        Activity::Gone(reason) => Some(reason.clone()),
        _ => None,
    };
    wait_for_activity(space, &participant, gone).await.unwrap_or_else(|| Some("the agent's space has ended".to_owned()))
}

/// Waits until an agent is ready or has ended.
pub(super) async fn until_started(space: &Space, participant: &ParticipantId) {
    let answered = |activity: &Activity| (*activity != Activity::Starting).then_some(());
    wait_for_activity(space, participant, answered).await;
}

/// Waits until `wanted` returns a value for the agent's activity, and returns this value; `None` if the space has
/// ended.
async fn wait_for_activity<T: Send + 'static>(
    space: &Space,
    participant: &ParticipantId,
    wanted: impl Fn(&Activity) -> Option<T> + Copy + Send + 'static,
) -> Option<T> {
    let mut watched = space.watch().await.ok()?;
    loop {
        watched.changes.borrow_and_update();
        let view = space.participant(participant.clone()).await.ok()?;
        let activity = view.and_then(|view| view.status).map(|status| status.activity);
        if let Some(found) = activity.as_ref().and_then(wanted) {
            return Some(found);
        }
        watched.changes.changed().await.ok()?;
    }
}

/// Returns the environment of an agent as changes to the environment of wh; `None` removes a variable. If the request
/// has an environment, the agent gets only the variables of the request. It never gets the withheld variables.
fn environment(services: &SessionServices, wanted: &CreateSessionRequest) -> BTreeMap<OsString, Option<OsString>> {
    let mut environment: BTreeMap<OsString, Option<OsString>> = BTreeMap::new();
    if let Some(given) = &wanted.environment {
        environment.extend(unlisted_variables(given).into_iter().map(|name| (name, None)));
        environment.extend(given.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
    }
    environment.extend(services.withheld.iter().map(|name| (name.clone(), None)));
    environment
}

/// Returns the names of the environment variables of this process that are not in `given`.
fn unlisted_variables(given: &[(OsString, OsString)]) -> Vec<OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| !given.iter().any(|(one, _)| one == name)).collect()
}
