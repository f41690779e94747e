//! Parameters of the requests to the Codex server.

use serde_json::{Map, Value, json};

/// Client identification for `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodexClient<'a> {
    /// Machine-readable name of the client.
    pub name: &'a str,
    /// Display name of the client.
    pub title: &'a str,
    /// Version of the client.
    pub version: &'a str,
}

impl CodexClient<'_> {
    /// Encodes the parameters of `initialize`. Enables the experimental API, in which an approval request lists the
    /// accepted decisions.
    pub fn initialize(self) -> Value {
        json!({
            "clientInfo": { "name": self.name, "title": self.title, "version": self.version },
            "capabilities": { "experimentalApi": true },
        })
    }
}

/// Sandbox for commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// Commands can only read.
    ReadOnly,
    /// Commands can write in the working directory.
    WorkspaceWrite,
    /// Commands are not sandboxed.
    DangerFullAccess,
}

impl Sandbox {
    /// Returns the name of the sandbox in `thread/start` and `thread/resume`.
    pub fn mode(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }

    /// Returns the name of the sandbox in `turn/start`, `thread/settings/update` and the server's messages.
    pub fn policy(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnly",
            Self::WorkspaceWrite => "workspaceWrite",
            Self::DangerFullAccess => "dangerFullAccess",
        }
    }
}

/// Settings of a thread or turn. The server chooses the settings that are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadSettings<'a> {
    /// Model to use.
    pub model: Option<&'a str>,
    /// Approval policy: `untrusted`, `on-request`, `never`.
    pub approval_policy: Option<&'a str>,
    /// Sandbox for commands.
    pub sandbox: Option<Sandbox>,
    /// Reviewer of approval requests: `user`, or a model such as `auto_review`.
    pub approvals_reviewer: Option<&'a str>,
}

impl ThreadSettings<'_> {
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

/// Encodes the parameters of `thread/start`.
pub fn start(directory: &str, settings: &ThreadSettings<'_>) -> Value {
    with(settings.of_thread(), "cwd", directory).into()
}

/// Encodes the parameters of `thread/resume`. Earlier turns are not included in the reply.
pub fn resume(thread: &str, directory: &str, settings: &ThreadSettings<'_>) -> Value {
    let params = with(settings.of_thread(), "cwd", directory);
    with(with(params, "threadId", thread), "excludeTurns", true).into()
}

/// Encodes the parameters of `thread/list` for the most recent conversation of a directory. Includes conversations that
/// other programs created.
pub fn list(directory: &str) -> Value {
    json!({ "cwd": directory, "limit": 1, "sortKey": "updated_at", "modelProviders": [] })
}

/// Encodes the parameters of `thread/read` for the status of a conversation without its turns.
pub fn read_thread(thread: &str) -> Value {
    json!({ "threadId": thread, "includeTurns": false })
}

/// Encodes the parameters of `thread/settings/update`.
pub fn settings(thread: &str, settings: &ThreadSettings<'_>) -> Value {
    with(settings.of_turn(), "threadId", thread).into()
}

/// Encodes the parameters of `turn/start`.
pub fn turn(thread: &str, text: &str, settings: &ThreadSettings<'_>) -> Value {
    with(with(settings.of_turn(), "threadId", thread), "input", input(text)).into()
}

/// Encodes the parameters of `turn/steer`, which adds text to a running turn.
pub fn steer(thread: &str, turn: &str, text: &str) -> Value {
    json!({ "threadId": thread, "expectedTurnId": turn, "input": input(text) })
}

/// Encodes the parameters of `turn/interrupt`.
pub fn interrupt(thread: &str, turn: &str) -> Value {
    json!({ "threadId": thread, "turnId": turn })
}

fn input(text: &str) -> Value {
    json!([{ "type": "text", "text": text, "text_elements": [] }])
}
