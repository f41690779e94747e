//! Converts a session to a stored record ([`of`]) and back ([`described`]).

use std::collections::BTreeMap;
use std::ffi::OsString;

use wh_client::{CreateSessionRequest, SessionHandle, Workload};
use wh_core::terminal::Size;

use super::{create_requests, state};
use crate::store::{SessionKind, SessionRecord};

/// Environment variables that are stored, so that a restarted agent finds its program and conversations. Other
/// variables may contain secrets and are not stored.
const STORED_VARIABLES: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "OPENCODE_CONFIG_DIR",
];

/// Creates the record of a new session.
pub(super) fn of(session: &SessionHandle, wanted: &CreateSessionRequest) -> SessionRecord {
    let texts = |words: &[OsString]| words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let environment = wanted
        .environment
        .iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .filter(|(name, _)| STORED_VARIABLES.contains(&name.as_str()))
        .collect();
    let record = SessionRecord {
        id: session.id.clone(),
        name: session.name(),
        team: session.team.clone(),
        kind: SessionKind::Terminal,
        agent: None,
        command: Vec::new(),
        directory: session.directory.clone(),
        size: Some((wanted.size.columns, wanted.size.rows)),
        model: None,
        mode: None,
        may_skip_permissions: false,
        environment,
        creators: wanted.creators.clone(),
        person: wanted.person,
        idempotency: create_requests::create_request(wanted),
        created_at: session.created,
        ended: None,
        resume: None,
        resume_changed: None,
    };
    match &wanted.workload {
        Workload::Agent { agent, model, mode, may_skip_permissions, arguments } => SessionRecord {
            kind: SessionKind::Agent,
            agent: Some(agent.clone()),
            command: texts(arguments),
            model: model.clone(),
            mode: mode.clone(),
            may_skip_permissions: *may_skip_permissions,
            ..record
        },
        Workload::Program(command) => SessionRecord { command: texts(command), ..record },
    }
}

/// Recreates a session and its create request from a record. `has_created` is true if other records list the session as
/// a creator.
pub(super) fn described(record: &SessionRecord, has_created: bool) -> (SessionHandle, CreateSessionRequest) {
    let words = || record.command.iter().map(OsString::from).collect();
    let what = match record.kind {
        SessionKind::Agent => Workload::Agent {
            agent: record.agent.clone().unwrap_or_default(),
            model: record.model.clone(),
            mode: record.mode.clone(),
            may_skip_permissions: record.may_skip_permissions,
            arguments: words(),
        },
        SessionKind::Terminal => Workload::Program(words()),
    };
    let (columns, rows) = record.size.unwrap_or((80, 24));
    let wanted = CreateSessionRequest {
        workload: what,
        name: Some(record.name.clone()),
        team: Some(record.team.clone()),
        directory: record.directory.clone(),
        size: Size::nearest(columns, rows),
        environment: environment(&record.environment),
        idempotency_key: None,
        creators: record.creators.clone(),
        person: record.person,
    };
    let session = SessionHandle::new(
        record.id.clone(),
        &wanted,
        record.team.clone(),
        record.created_at,
        state::new(record.name.clone()),
    );
    if has_created {
        session.state.set_has_created();
    }
    (session, wanted)
}

/// Returns the daemon's environment with the stored variables applied; `None` if no variables are stored.
fn environment(stored: &BTreeMap<String, String>) -> Option<Vec<(OsString, OsString)>> {
    if stored.is_empty() {
        return None;
    }
    let own = std::env::vars_os().filter(|(name, _)| name.to_str().is_none_or(|name| !stored.contains_key(name)));
    Some(own.chain(stored.iter().map(|(name, value)| (name.into(), value.into()))).collect())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::SystemTime;

    use super::*;

    fn wanted(what: Workload) -> CreateSessionRequest {
        CreateSessionRequest {
            workload: what,
            name: Some("one".to_owned()),
            team: Some("crew".to_owned()),
            directory: PathBuf::from("/somewhere"),
            size: Size::nearest(100, 30),
            environment: None,
            idempotency_key: None,
            creators: vec!["s0".to_owned()],
            person: true,
        }
    }

    fn round_trip(wanted: &CreateSessionRequest) -> (SessionRecord, SessionHandle, CreateSessionRequest) {
        let session = SessionHandle::new(
            "s1".to_owned(),
            wanted,
            "crew".to_owned(),
            SystemTime::now(),
            state::new("one".to_owned()),
        );
        let record = of(&session, wanted);
        let (read, again) = described(&record, true);
        (record, read, again)
    }

    #[test]
    fn a_record_round_trips() {
        let agent = Workload::Agent {
            agent: "claude".to_owned(),
            model: Some("opus".to_owned()),
            mode: Some("plan".to_owned()),
            may_skip_permissions: true,
            arguments: vec!["--verbose".into()],
        };
        for what in [agent, Workload::Program(vec!["vim".into(), "a file".into()])] {
            let before = wanted(what);
            let (_, session, after) = round_trip(&before);
            assert_eq!(format!("{after:?}"), format!("{before:?}"));
            assert_eq!((session.id.as_str(), session.team.as_str()), ("s1", "crew"));
            assert!(session.standing().has_created);
        }
    }

    #[test]
    fn only_listed_variables_are_stored() {
        let given = [("HOME", "/home/ada"), ("CODEX_HOME", "/codex"), ("API_KEY", "do-not-write-me")];
        let environment = Some(given.map(|(name, value)| (name.into(), value.into())).to_vec());
        let (record, _, after) =
            round_trip(&CreateSessionRequest { environment, ..wanted(Workload::Program(vec!["vim".into()])) });
        let stored: Vec<_> = record.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(stored, [("CODEX_HOME", "/codex"), ("HOME", "/home/ada")]);
        let after = after.environment.unwrap();
        assert!(after.contains(&("HOME".into(), "/home/ada".into())));
        assert_eq!(after.iter().filter(|(name, _)| name == "HOME").count(), 1, "it replaces the daemon's");
    }

    #[test]
    fn the_idempotency_key_is_recorded_with_its_request() {
        let (record, ..) = round_trip(&CreateSessionRequest {
            idempotency_key: Some("once".to_owned()),
            ..wanted(Workload::Program(vec!["vim".into()]))
        });
        let create = record.idempotency.unwrap();
        assert_eq!(create.key, "once");
        assert_eq!(create.terms["what"]["command"][0], "vim");
    }
}
