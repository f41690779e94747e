//! What `/sessions` takes and gives. Ids are ours; the provider's own, and process ids, stay inside.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// `GET /sessions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsBody {
    /// The sessions, oldest first; those that have ended too.
    pub sessions: Vec<SessionSummary>,
    /// Names of those that an earlier daemon had and that are about to be here again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returning: Vec<String>,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionSummary {
    /// Its id.
    pub session_id: String,
    /// The agent with the session's id, as `codex:7hq2m0v5kd`. What a control message names.
    pub agent_id: String,
    /// What people call it.
    pub name: String,
    /// Whose it is.
    pub team: String,
    /// An agent behind a protocol, or a program in a terminal.
    pub kind: SessionKind,
    /// The agent, or the program.
    pub agent: String,
    /// The program's arguments, the program first; of terminal programs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// How it fares.
    pub status: SessionStatus,
    /// When it was started.
    pub created_at: String,
    /// Its working directory.
    pub cwd: String,
    /// What it says that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The mode in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// How many terminals are attached.
    pub attached: u64,
    /// How many questions wait for an answer.
    pub questions: u64,
    /// Id of the session that created it; absent if the creator is outside every session, or not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// Everything inside counts as outside every session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub person: bool,
}

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    /// An agent behind a protocol.
    Agent,
    /// A program in a terminal.
    Terminal,
}

/// How a session fares, what says so, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionStatus {
    /// `starting`, `idle`, `working`, `waiting`, `paused`, `running`, `stopped`, `ended`, `lost` or `unknown`.
    pub state: String,
    /// What says so: `protocol`, `transcript`, `hook`, `screen` or `process`.
    pub evidence: String,
    /// Since when.
    pub since: String,
    /// Whether it can be sent anything.
    pub live: bool,
    /// The turn that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The question that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// How or why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `POST /sessions`: an agent, or a command in a terminal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"agent": "demo", "name": "a"}))]
pub struct NewSessionRequest {
    /// The agent, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The program with its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// What people shall call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose it shall be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Its working directory, absolute; that of the calling process when absent, if it can be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The size of its screen, as `120x40`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// The agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Let the agent enter modes in which it asks for no permission.
    #[serde(default)]
    pub allow_skipping_permissions: bool,
    /// Arguments for the agent itself.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// All of its environment; the daemon's own when absent. Of it only where programs, homes and settings are is written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<BTreeMap<String, String>>,
    /// Everything inside counts as outside every session, and may answer questions. For a command only, and only for callers that are
    /// outside themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub person: bool,
    /// The caller's name for this wish: under the same name no second session is made, as long as the first is listed. Its repetition is
    /// answered with 200 in the place of 201.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl NewSessionRequest {
    /// The reason why it names nothing to start: it must have an agent or a command, and not both.
    pub fn problem(&self) -> Option<&'static str> {
        match (&self.agent, &self.command) {
            (Some(_), Some(_)) => Some("give an agent or a command, not both"),
            (None, None) => Some("give an agent or a command to start"),
            (None, Some(command)) if command.first().is_none_or(String::is_empty) => Some("the command has no program"),
            _ => None,
        }
    }
}

/// `GET /sessions/{session}/last_screen`: what a terminal program showed when its daemon was gone before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastScreenBody {
    /// The text on its screen, and the end of its output.
    pub text: String,
}

/// `PATCH /sessions/{session}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"name": "b"}))]
pub struct RenameRequest {
    /// What people shall call it.
    pub name: String,
}
