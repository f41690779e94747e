//! How a session comes to be: its program or its agent, its terminal, and who watches for its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::{mpsc, oneshot, watch};
use tracing::info;
use wh_agents::port::Start;
use wh_client::{Conversation, CreateError, Ending, NewSession, SESSION_VARIABLE, Session, Space, Ui, What};
use wh_core::space::ParticipantId;
use wh_core::space::event::Activity;
use wh_core::terminal::Exit;

use super::{Kept, Live, Means, UiSpec};
use crate::space::RunningSpace;
use crate::terminal::{self, HostSpec, TerminalSpec};

/// What a session's terminal says that it is.
const TERM: &str = "xterm-256color";

/// The person in the conversations of a daemon.
const PERSON: &str = "human";

fn failed(message: impl ToString) -> CreateError {
    CreateError::Failed { message: message.to_string(), hint: None }
}

/// Starts a terminal program.
pub(super) async fn program(means: &Means, mut session: Session, wanted: &NewSession) -> Result<Kept, CreateError> {
    let What::Program(command) = &wanted.what else { return Err(CreateError::Nothing) };
    if command.is_empty() {
        return Err(CreateError::Nothing);
    }
    let mut withheld = means.withheld.clone();
    let mut environment = Vec::new();
    if let Some(given) = &wanted.environment {
        withheld.extend(beside(given));
        environment.clone_from(given);
        environment.retain(|(name, _)| !means.withheld.contains(name));
    }
    environment.push((SESSION_VARIABLE.into(), session.id.clone().into()));
    environment.push(("TERM".into(), TERM.into()));
    environment.push(("COLORTERM".into(), "truecolor".into()));
    let spec = TerminalSpec {
        command: command.clone(),
        directory: Some(wanted.directory.clone()),
        environment,
        withheld,
        size: wanted.size,
        terminal: None,
        screen: Some(means.screen),
        recording: None,
    };
    let started = terminal::start(spec).await.map_err(|error| {
        let hint = error.program_error().map(|_| "is it installed, and on the PATH?".to_owned());
        CreateError::Failed { message: error.to_string(), hint }
    })?;
    session.surface = Some(started.surface.clone());
    let session = Arc::new(session);
    let (tell_empty, empty) = watch::channel(false);
    let (watched, ended, nothing_left) = (Arc::clone(&session), started.ended, started.empty);
    tokio::spawn(async move {
        let exit = ended.await.unwrap_or(Exit::Unknown);
        info!(id = watched.id, ?exit, "a session's program has ended");
        watched.end(Ending::Exited(exit), SystemTime::now());
        let _ = nothing_left.await;
        tell_empty.send_replace(true);
    });
    Ok(Kept { session, live: Some(Live::Program { surface: started.surface, empty }) })
}

/// Starts an agent, its conversation, and the UI that shows it.
pub(super) async fn agent(means: &Means, mut session: Session, wanted: &NewSession) -> Result<Kept, CreateError> {
    let What::Agent { agent: id, model, mode, may_skip_permissions, arguments } = &wanted.what else {
        return Err(CreateError::Nothing);
    };
    let agent = means
        .catalog
        .by_id(id)
        .ok_or_else(|| CreateError::NoSuchAgent { agent: id.clone(), known: means.catalog.ids() })?;
    let mut start = Start::new(&wanted.directory);
    start.model.clone_from(model);
    start.mode.clone_from(mode);
    start.may_skip_permissions = *may_skip_permissions;
    start.arguments.clone_from(arguments);
    start.environment = environment(means, wanted);
    start.environment.insert(SESSION_VARIABLE.into(), Some(session.id.clone().into()));
    let harness = agent
        .start(start)
        .await
        .map_err(|error| CreateError::Failed { message: error.to_string(), hint: error.hint().map(str::to_owned) })?;
    let me = ParticipantId::from(PERSON);
    let running = RunningSpace::start(&session.name(), me.clone());
    let participant = ParticipantId::from(id.as_str());
    running.enrol(participant.clone(), harness).await;
    let command = vec!["wh".to_owned(), "--agent".to_owned(), id.clone()];
    let spec = HostSpec {
        command,
        size: wanted.size,
        attended: false,
        screen: Some(means.screen),
        recording: None,
        space: running.space.clone(),
    };
    let (hosted, host) = terminal::host(spec).await.map_err(failed)?;
    let (ui, port) = Ui::new();
    let (leave, mut left) = mpsc::channel(1);
    let shown = (means.show)(UiSpec {
        host,
        space: running.space.clone(),
        port,
        me: me.clone(),
        title: agent.facts().title,
        directory: wanted.directory.clone(),
        leave,
    });
    session.surface = Some(hosted.surface.clone());
    session.conversation = Some(Conversation { space: running.space.clone(), ui, me });
    let session = Arc::new(session);
    let (tell_ended, ended) = watch::channel(false);
    let (watched, space) = (Arc::clone(&session), running.space.clone());
    let (tell_gone, gone) = oneshot::channel();
    tokio::spawn(async move {
        let reason = gone_from(&space, participant).await;
        info!(id = watched.id, "a session's agent is gone");
        watched.end(Ending::Gone(reason), SystemTime::now());
        let _ = tell_gone.send(());
        tell_ended.send_replace(true);
    });
    let audience = Arc::clone(&session);
    tokio::spawn(async move {
        let mut gone = gone;
        loop {
            tokio::select! {
                left = left.recv() => match left {
                    Some(()) => audience.audience.dismiss(),
                    None => return,
                },
                // What it said can still be looked at: the UI stays as long as the session is kept.
                _ = &mut gone => break,
            }
        }
        while left.recv().await.is_some() {
            audience.audience.dismiss();
        }
    });
    drop(shown);
    Ok(Kept { session, live: Some(Live::Agent { space: running.space, ended }) })
}

/// Waits until an agent is gone; why, if nobody asked for it.
async fn gone_from(space: &Space, participant: ParticipantId) -> Option<String> {
    let Ok(mut watched) = space.watch().await else { return None };
    loop {
        watched.pulse.borrow_and_update();
        let id = participant.clone();
        let look = space.look(move |state| match state.activity(&id) {
            Some(Activity::Gone(reason)) => Some(reason.clone()),
            _ => None,
        });
        match look.await {
            Ok(Some(reason)) => return reason,
            Ok(None) => {}
            Err(_) => return Some("its space is gone".to_owned()),
        }
        if watched.pulse.changed().await.is_err() {
            return Some("its space is gone".to_owned());
        }
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
