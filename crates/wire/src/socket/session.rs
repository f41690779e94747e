//! A session as a caller at the socket knows it. Ids are ours; the provider's own, and process ids, stay inside.

use serde::{Deserialize, Serialize};

/// One session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Its id.
    pub session_id: String,
    /// The agent with the session's id: `codex:s3`. What a control message names.
    pub agent_id: String,
    /// What people call it.
    pub name: String,
    /// Whose it is.
    pub team: String,
    /// An agent behind a protocol, or a program in a terminal.
    pub kind: SessionKind,
    /// The agent, or the program.
    pub agent: String,
    /// How it fares.
    pub status: SessionStatus,
    /// When it was started.
    pub created_at: String,
    /// Its working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What it says that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The mode in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    /// An agent behind a protocol.
    Agent,
    /// A program in a terminal.
    Terminal,
}

/// How a session fares, what says so, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// `starting`, `idle`, `working`, `waiting`, `paused`, `gone` or `unknown`.
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
    /// Why it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
