//! Bodies of `/sessions`. Ids are assigned by wh; provider ids and process ids are not exposed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Response body of `GET /sessions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsBody {
    /// All sessions, oldest first, including ended ones.
    pub sessions: Vec<SessionSummary>,
    /// Names of sessions of an earlier daemon that are still being restored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returning: Vec<String>,
}

/// Session of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionSummary {
    /// Id of the session.
    pub session_id: String,
    /// Agent id and session id, joined by a colon, for example `codex:7hq2m0v5kd`. Used to address control messages.
    pub agent_id: String,
    /// Display name of the session.
    pub name: String,
    /// Team that owns the session.
    pub team: String,
    /// Kind of the session: an agent or a program in a terminal.
    pub kind: SessionKind,
    /// The agent's id, or the program's name.
    pub agent: String,
    /// Command line of a terminal program. Absent for agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Current status of the session.
    pub status: SessionStatus,
    /// Time at which the session was created.
    pub created_at: String,
    /// Working directory of the session.
    pub cwd: String,
    /// Title reported by the agent or program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Model in use, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Mode in use, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Number of attached terminals.
    pub attached: u64,
    /// Number of open questions.
    pub questions: u64,
    /// Id of the session that created this session. Absent if this session was created from outside all sessions, or if
    /// the creator is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// True if processes in this session have the same rights as processes outside all sessions, for example to answer
    /// questions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub person: bool,
}

/// Kind of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    /// An agent controlled over its protocol.
    Agent,
    /// A program in a terminal.
    Terminal,
}

/// Status of a session, with its evidence and start time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionStatus {
    /// `starting`, `idle`, `working`, `waiting`, `paused`, `running`, `stopped`, `ended`, `lost` or `unknown`.
    pub state: String,
    /// Source of the state: `protocol`, `transcript`, `hook`, `title`, `screen` or `process`.
    pub evidence: String,
    /// Time at which the state was entered.
    pub since: String,
    /// True if the session accepts input.
    pub live: bool,
    /// Id of the turn in progress, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// Id of the question that waits for an answer, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Reason for the end of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Request body of `POST /sessions`. Exactly one of `agent` and `command` is required.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"agent": "demo", "name": "a"}))]
pub struct NewSessionRequest {
    /// Id of the agent to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Program to start, with its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Display name of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Team that owns the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Absolute working directory. Default: the working directory of the calling process, if it can be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Screen size, for example `120x40`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Model of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Mode of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Allows the agent to enter modes that skip permission requests.
    #[serde(default)]
    pub allow_skipping_permissions: bool,
    /// Extra command-line arguments for the agent.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Complete environment of the session. Default: the daemon's environment. Only variables that locate programs,
    /// home directories and settings are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<BTreeMap<String, String>>,
    /// If true, processes in this session have the same rights as processes outside all sessions, for example to answer
    /// questions. Allowed only with `command`, and only if the caller has these rights itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub person: bool,
    /// Idempotency key of this create request. A second request with the same key returns the existing session with 200
    /// instead of 201, as long as that session is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl NewSessionRequest {
    /// Returns the error message for an invalid request; `None` if the request has either an agent or a command.
    pub fn problem(&self) -> Option<&'static str> {
        match (&self.agent, &self.command) {
            (Some(_), Some(_)) => Some("give an agent or a command, not both"),
            (None, None) => Some("give an agent or a command to start"),
            (None, Some(command)) if command.first().is_none_or(String::is_empty) => {
                Some("the first element of the command must name a program")
            }
            _ => None,
        }
    }
}

/// Response body of `GET /sessions/{session}/last_screen`: the last screen of a terminal program that ran under an
/// earlier daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastScreenBody {
    /// Text of the screen, one line per row, without trailing blanks.
    pub text: String,
}

/// Request body of `PATCH /sessions/{session}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"name": "b"}))]
pub struct RenameRequest {
    /// New display name of the session.
    pub name: String,
}
