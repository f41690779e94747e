//! What we ask of the server: the parameters of its methods.

use serde_json::{Map, Value, json};

/// Who we are, for `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client<'a> {
    /// Our name for programs.
    pub name: &'a str,
    /// Our name for people.
    pub title: &'a str,
    /// Our version.
    pub version: &'a str,
}

impl Client<'_> {
    /// The parameters of `initialize`. The experimental parts say which decisions an approval really offers.
    pub fn initialize(self) -> Value {
        json!({
            "clientInfo": { "name": self.name, "title": self.title, "version": self.version },
            "capabilities": { "experimentalApi": true },
        })
    }
}

/// What commands may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// They read.
    ReadOnly,
    /// They write in the directory that is worked in.
    WorkspaceWrite,
    /// There is none.
    DangerFullAccess,
}

impl Sandbox {
    /// As a thread is started with it.
    pub fn mode(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }

    /// As a turn is started with it, and as the server tells it.
    pub fn policy(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnly",
            Self::WorkspaceWrite => "workspaceWrite",
            Self::DangerFullAccess => "dangerFullAccess",
        }
    }
}

/// What is chosen for a thread or a turn; what is not, the server chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings<'a> {
    /// The model.
    pub model: Option<&'a str>,
    /// When it asks: `untrusted`, `on-request`, `never`.
    pub approval_policy: Option<&'a str>,
    /// What commands may reach.
    pub sandbox: Option<Sandbox>,
    /// Who is asked: `user`, or another model.
    pub approvals_reviewer: Option<&'a str>,
}

impl Settings<'_> {
    fn of_thread(&self) -> Map<String, Value> {
        let mut params = self.common();
        params.extend(self.sandbox.map(|sandbox| ("sandbox".to_owned(), json!(sandbox.mode()))));
        params
    }

    fn of_turn(&self) -> Map<String, Value> {
        let mut params = self.common();
        params.extend(self.sandbox.map(|sandbox| ("sandboxPolicy".to_owned(), json!({ "type": sandbox.policy() }))));
        params
    }

    fn common(&self) -> Map<String, Value> {
        let chosen = [
            ("model", self.model),
            ("approvalPolicy", self.approval_policy),
            ("approvalsReviewer", self.approvals_reviewer),
        ];
        chosen.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))).collect()
    }
}

fn with(mut params: Map<String, Value>, field: &str, value: impl Into<Value>) -> Map<String, Value> {
    params.insert(field.to_owned(), value.into());
    params
}

/// The parameters of `thread/start`.
pub fn start(directory: &str, settings: &Settings<'_>) -> Value {
    with(settings.of_thread(), "cwd", directory).into()
}

/// The parameters of `thread/resume`. What was said before is not sent again.
pub fn resume(thread: &str, directory: &str, settings: &Settings<'_>) -> Value {
    let params = with(settings.of_thread(), "cwd", directory);
    with(with(params, "threadId", thread), "excludeTurns", true).into()
}

/// The parameters of `thread/list`: the newest of a directory, from whichever program.
pub fn list(directory: &str) -> Value {
    json!({ "cwd": directory, "limit": 1, "sortKey": "updated_at", "modelProviders": [] })
}

/// The parameters of `thread/read`: how it is, without what was said.
pub fn look(thread: &str) -> Value {
    json!({ "threadId": thread, "includeTurns": false })
}

/// The parameters of `thread/settings/update`.
pub fn settings(thread: &str, settings: &Settings<'_>) -> Value {
    with(settings.of_turn(), "threadId", thread).into()
}

/// The parameters of `turn/start`.
pub fn turn(thread: &str, text: &str, settings: &Settings<'_>) -> Value {
    with(with(settings.of_turn(), "threadId", thread), "input", input(text)).into()
}

/// The parameters of `turn/steer`: more for a turn that runs.
pub fn steer(thread: &str, turn: &str, text: &str) -> Value {
    json!({ "threadId": thread, "expectedTurnId": turn, "input": input(text) })
}

/// The parameters of `turn/interrupt`.
pub fn interrupt(thread: &str, turn: &str) -> Value {
    json!({ "threadId": thread, "turnId": turn })
}

fn input(text: &str) -> Value {
    json!([{ "type": "text", "text": text, "text_elements": [] }])
}
