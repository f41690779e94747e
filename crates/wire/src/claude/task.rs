//! The agent's own tasks: subagents, and commands that run in the background.

use serde::Deserialize;

use super::json::{lax, or_default};

/// A task began.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskStarted {
    /// Its id.
    pub task_id: String,
    /// The call that began it.
    pub tool_use_id: Option<String>,
    /// What it is to do, in a line.
    #[serde(default)]
    pub description: String,
    /// `local_agent`, `local_bash`, …
    pub task_type: Option<String>,
    /// Which subagent.
    pub subagent_type: Option<String>,
    /// The task that began it.
    pub parent_task_id: Option<String>,
    /// What it was told.
    pub prompt: Option<String>,
    /// Not for the transcript.
    #[serde(default, deserialize_with = "or_default")]
    pub skip_transcript: bool,
}

/// A task came further.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TaskProgress {
    /// Its id.
    pub task_id: String,
    /// The call that began it.
    pub tool_use_id: Option<String>,
    /// What it does, in a line.
    #[serde(default)]
    pub description: String,
    /// What it has used.
    #[serde(default, deserialize_with = "lax")]
    pub usage: Option<TaskUsage>,
    /// The tool that it called last.
    pub last_tool_name: Option<String>,
    /// What it has done, in a few words.
    pub summary: Option<String>,
}

/// What a task has used.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TaskUsage {
    /// Tokens.
    pub total_tokens: u64,
    /// Calls of tools.
    pub tool_uses: u64,
    /// Time.
    pub duration_ms: f64,
}

/// A task is in another state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskUpdated {
    /// Its id.
    pub task_id: String,
    /// What is different.
    #[serde(default, deserialize_with = "or_default")]
    pub patch: TaskPatch,
}

/// What is different about a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct TaskPatch {
    /// `pending`, `running`, `completed`, `failed`, `killed` or `paused`.
    pub status: Option<String>,
    /// What it does, in a line.
    pub description: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether it runs in the background.
    pub is_backgrounded: Option<bool>,
}

/// A task is over.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TaskNotification {
    /// Its id.
    pub task_id: String,
    /// The call that began it.
    pub tool_use_id: Option<String>,
    /// `completed`, `failed` or `stopped`.
    pub status: String,
    /// What it has done, in a few words.
    #[serde(default)]
    pub summary: String,
    /// Where its output is.
    pub output_file: Option<String>,
    /// What it has used.
    #[serde(default, deserialize_with = "lax")]
    pub usage: Option<TaskUsage>,
}

/// A task in the background.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BackgroundTask {
    /// Its id.
    pub task_id: String,
    /// `local_agent`, `local_bash`, …
    pub task_type: Option<String>,
    /// What it is to do, in a line.
    #[serde(default)]
    pub description: String,
    /// The task that began it.
    pub parent_task_id: Option<String>,
}
