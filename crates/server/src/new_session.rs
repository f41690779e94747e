//! Reads requests to create a session, for both servers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use wh_client::{ControlHandler, CreateError, CreateOutcome, CreateSessionRequest, SessionManager, Workload};
use wh_core::caller::Origin;
use wh_core::terminal::{InvalidSize, Size};
use wh_wire::control::NewSessionRequest;

use crate::admission::enter_creators;

/// Default size of a session's screen.
const DEFAULT_SESSION_SIZE: Size = Size { columns: 120, rows: 40 };

/// Creates the session if the access rules permit the request to a caller of this origin.
pub(crate) async fn create(
    daemon: &dyn SessionManager,
    controller: &dyn ControlHandler,
    origin: Origin,
    mut wanted: CreateSessionRequest,
) -> Result<CreateOutcome, CreateError> {
    enter_creators(daemon, controller, origin, &mut wanted)?;
    daemon.create(wanted).await
}

/// Converts a create request from its wire form. `callers` resolves to the caller's working directory. An error is a
/// message for the caller.
pub(crate) async fn read(
    request: NewSessionRequest,
    callers: impl Future<Output = Option<PathBuf>>,
) -> Result<CreateSessionRequest, String> {
    let directory = directory(request.cwd.as_deref(), callers).await?;
    if let Some(problem) = request.problem() {
        return Err(problem.to_owned());
    }
    let what = match request.agent {
        Some(agent) => Workload::Agent {
            agent,
            model: request.model,
            mode: request.mode,
            may_skip_permissions: request.allow_skipping_permissions,
            arguments: request.arguments.into_iter().map(OsString::from).collect(),
        },
        None => Workload::Program(request.command.unwrap_or_default().into_iter().map(OsString::from).collect()),
    };
    let size = request.size.map_or(Ok(DEFAULT_SESSION_SIZE), |size| size.parse());
    Ok(CreateSessionRequest {
        workload: what,
        name: request.name,
        team: request.team,
        directory,
        size: size.map_err(|error: InvalidSize| error.to_string())?,
        environment: request.environment.map(environment).transpose()?,
        idempotency_key: request.request_id,
        creators: Vec::new(),
        person: request.person,
    })
}

/// Returns the canonical path of the requested working directory. Default: the caller's working directory.
async fn directory(wanted: Option<&str>, callers: impl Future<Output = Option<PathBuf>>) -> Result<PathBuf, String> {
    let path = match wanted {
        Some(wanted) => PathBuf::from(wanted),
        None => callers.await.ok_or("the caller's working directory is unknown; set cwd to an absolute path")?,
    };
    if !path.is_absolute() {
        return Err(format!("cwd must be an absolute path: {path:?}"));
    }
    let entered = path.canonicalize().ok().filter(|path| path.is_dir());
    entered.ok_or_else(|| format!("{} is not a directory", path.display()))
}

fn environment(given: BTreeMap<String, String>) -> Result<Vec<(OsString, OsString)>, String> {
    let wrong = given
        .iter()
        .find(|(name, value)| name.is_empty() || name.contains('=') || name.contains('\0') || value.contains('\0'));
    match wrong {
        Some((name, _)) => Err(format!("invalid environment variable {name:?}")),
        None => Ok(given.into_iter().map(|(name, value)| (name.into(), value.into())).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_from(request: NewSessionRequest, callers: Option<&str>) -> Result<CreateSessionRequest, String> {
        read(request, async { callers.map(PathBuf::from) }).await
    }

    fn agent() -> NewSessionRequest {
        NewSessionRequest { agent: Some("demo".to_owned()), ..NewSessionRequest::default() }
    }

    #[tokio::test]
    async fn every_field_arrives() {
        let request = NewSessionRequest {
            name: Some("a".to_owned()),
            team: Some("red".to_owned()),
            cwd: Some("/proc/..".to_owned()),
            size: Some("90x30".to_owned()),
            model: Some("small".to_owned()),
            mode: Some("plan".to_owned()),
            allow_skipping_permissions: true,
            arguments: vec!["-x".to_owned()],
            environment: Some(BTreeMap::from([("A".to_owned(), "b".to_owned())])),
            person: true,
            request_id: Some("r1".to_owned()),
            ..agent()
        };
        let read = read_from(request, None).await.unwrap();
        let what = Workload::Agent {
            agent: "demo".to_owned(),
            model: Some("small".to_owned()),
            mode: Some("plan".to_owned()),
            may_skip_permissions: true,
            arguments: vec!["-x".into()],
        };
        assert_eq!((read.workload, read.name.as_deref(), read.team.as_deref()), (what, Some("a"), Some("red")));
        assert_eq!((read.directory, read.size), (PathBuf::from("/"), Size { columns: 90, rows: 30 }));
        assert_eq!(read.environment, Some(vec![("A".into(), "b".into())]));
        assert_eq!((read.person, read.idempotency_key.as_deref(), read.creators.len()), (true, Some("r1"), 0));
        let command = Some(vec!["cat".to_owned(), "-u".to_owned()]);
        let program =
            read_from(NewSessionRequest { command, ..NewSessionRequest::default() }, Some("/")).await.unwrap();
        assert_eq!(program.workload, Workload::Program(vec!["cat".into(), "-u".into()]));
        assert_eq!(
            (program.directory, program.size, program.environment),
            (PathBuf::from("/"), DEFAULT_SESSION_SIZE, None)
        );
    }

    #[tokio::test]
    async fn a_directory_is_absolute_and_there() {
        let at = async |cwd: Option<&str>| {
            read_from(NewSessionRequest { cwd: cwd.map(str::to_owned), ..agent() }, None).await.unwrap_err()
        };
        assert!(at(None).await.contains("set cwd"));
        assert!(at(Some("relative")).await.contains("must be an absolute path"));
        assert!(at(Some("/proc/no such directory")).await.contains("is not a directory"));
        assert!(at(Some("/proc/version")).await.contains("is not a directory"));
    }

    #[tokio::test]
    async fn nonsense_is_refused() {
        let wrong = async |request| read_from(request, Some("/")).await.unwrap_err();
        let both = NewSessionRequest { command: Some(vec!["cat".to_owned()]), ..agent() };
        assert!(wrong(both).await.contains("not both"));
        assert!(wrong(NewSessionRequest::default()).await.contains("give an agent or a command"));
        let nameless = NewSessionRequest { command: Some(vec![String::new()]), ..NewSessionRequest::default() };
        assert!(wrong(nameless).await.contains("must name a program"));
        for size in ["0x0", "80", "80x24x3", "99999x1"] {
            assert!(
                wrong(NewSessionRequest { size: Some(size.to_owned()), ..agent() }).await.contains("120x40"),
                "{size}"
            );
        }
        for (name, value) in [("", "a"), ("A=B", "a"), ("A\0", "a"), ("A", "\0")] {
            let environment = Some(BTreeMap::from([(name.to_owned(), value.to_owned())]));
            assert!(
                wrong(NewSessionRequest { environment, ..agent() }).await.contains("invalid environment variable"),
                "{name:?}"
            );
        }
    }
}
