//! Tasks of the agent: subagents and background commands.

use serde::Deserialize;

use super::json::{lax, or_default};

/// Start of a task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskStarted {
    /// Id of the task.
    pub task_id: String,
    /// Id of the tool call that started the task.
    pub tool_use_id: Option<String>,
    /// One-line description of the task.
    #[serde(default)]
    pub description: String,
    /// Kind of task: `local_agent`, `local_bash`, …
    pub task_type: Option<String>,
    /// Name of the subagent.
    pub subagent_type: Option<String>,
    /// Id of the task that started this task.
    pub parent_task_id: Option<String>,
    /// Prompt of the task.
    pub prompt: Option<String>,
    /// True if the task should be omitted from the transcript.
    #[serde(default, deserialize_with = "or_default")]
    pub skip_transcript: bool,
}

/// Progress of a task.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TaskProgress {
    /// Id of the task.
    pub task_id: String,
    /// Id of the tool call that started the task.
    pub tool_use_id: Option<String>,
    /// One-line description of the current activity.
    #[serde(default)]
    pub description: String,
    /// Resources used so far.
    #[serde(default, deserialize_with = "lax")]
    pub usage: Option<TaskUsage>,
    /// Name of the tool that was called last.
    pub last_tool_name: Option<String>,
    /// Short summary of the work done.
    pub summary: Option<String>,
}

/// Resources used by a task.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct TaskUsage {
    /// Tokens used so far.
    pub total_tokens: u64,
    /// Number of tool calls so far.
    pub tool_uses: u64,
    /// Time in milliseconds since the task started.
    pub duration_ms: f64,
}

/// Change of a task's state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskUpdated {
    /// Id of the task.
    pub task_id: String,
    /// Changed fields of the task.
    #[serde(default, deserialize_with = "or_default")]
    pub patch: TaskPatch,
}

/// Changed fields of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct TaskPatch {
    /// State: `pending`, `running`, `completed`, `failed`, `killed` or `paused`.
    pub status: Option<String>,
    /// One-line description of the current activity.
    pub description: Option<String>,
    /// Reason for the failure.
    pub error: Option<String>,
    /// True if the task runs in the background.
    pub is_backgrounded: Option<bool>,
}

/// End of a task.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TaskNotification {
    /// Id of the task.
    pub task_id: String,
    /// Id of the tool call that started the task.
    pub tool_use_id: Option<String>,
    /// Outcome: `completed`, `failed` or `stopped`.
    pub status: String,
    /// Short summary of the work done.
    #[serde(default)]
    pub summary: String,
    /// Path of the output file.
    pub output_file: Option<String>,
    /// Resources used in total.
    #[serde(default, deserialize_with = "lax")]
    pub usage: Option<TaskUsage>,
}

/// Task that runs in the background.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BackgroundTask {
    /// Id of the task.
    pub task_id: String,
    /// Kind of task: `local_agent`, `local_bash`, …
    pub task_type: Option<String>,
    /// One-line description of the task.
    #[serde(default)]
    pub description: String,
    /// Id of the task that started this task.
    pub parent_task_id: Option<String>,
}
