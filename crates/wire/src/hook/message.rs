//! Decodes the payloads of hooks. The agents use different names for the same event; here, each event has one name.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{HookAgent, HookDecisionPoint};
use crate::claude::json::read;

/// Payload of one hook call.
#[derive(Debug, Clone, PartialEq)]
pub struct HookMessage {
    /// Agent that called the hook.
    pub agent: HookAgent,
    /// Provider session id: the agent's own id of the conversation.
    pub session_id: String,
    /// Transcript file of the conversation.
    pub transcript_path: Option<PathBuf>,
    /// Working directory of the agent.
    pub cwd: Option<PathBuf>,
    /// Id of the turn, or of the prompt that started it. Gemini CLI has none.
    pub turn_id: Option<String>,
    /// Id of the subagent that the event belongs to; `None` for the agent itself.
    pub subagent_id: Option<String>,
    /// Event that called the hook.
    pub event: HookEvent,
}

/// Event at which an agent calls a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEvent {
    /// A prompt was submitted; the turn starts.
    PromptSubmitted {
        /// Text of the prompt.
        prompt: String,
        /// Id of the prompt.
        prompt_id: Option<String>,
    },
    /// A tool call is about to start, or to be put to the user.
    ToolStarting {
        /// Name of the tool.
        name: String,
        /// Input of the tool.
        input: Value,
        /// Id of the tool call.
        id: Option<String>,
    },
    /// The agent asks for a permission and waits for the reply of the hook.
    PermissionRequested {
        /// Name of the tool.
        tool: String,
        /// Input of the tool.
        input: Value,
        /// Permission updates that the agent offers, for [`HookReply::AllowWith`](super::HookReply::AllowWith).
        suggestions: Vec<Value>,
        /// Id of the tool call. Claude Code and Codex send none.
        id: Option<String>,
    },
    /// A tool call has ended.
    ToolFinished {
        /// Name of the tool.
        name: String,
        /// Input of the tool.
        input: Value,
        /// Result of the tool.
        response: Value,
        /// Id of the tool call.
        id: Option<String>,
    },
    /// The agent notifies the user, for example of an open permission dialog.
    Notification {
        /// Kind of the notification, such as `permission_prompt` or `ToolPermission`.
        kind: String,
        /// Text of the notification.
        message: String,
        /// Details, such as the command that needs a permission; null if there are none.
        details: Value,
    },
    /// The turn ended.
    Stopped {
        /// Last message of the agent.
        last_message: Option<String>,
        /// Prompt of the turn; only Gemini CLI sends it.
        prompt: Option<String>,
    },
    /// The turn ended with an error.
    StopFailed {
        /// Code of the error, such as `unknown`.
        error: String,
        /// Message of the error.
        message: Option<String>,
    },
    /// The user interrupted the turn. Only Codex calls a hook then.
    Interrupted,
    /// Codex called its `notify` program at the end of a turn, also for turns that Codex starts for itself.
    TurnCompleted {
        /// Texts of the user in this turn.
        input_messages: Vec<String>,
        /// Last message of the agent.
        last_message: Option<String>,
    },
    /// A conversation started or was continued.
    SessionStarted {
        /// Cause, such as `startup`, `resume` or `clear`.
        source: Option<String>,
    },
    /// A conversation ended.
    SessionEnded {
        /// Cause, such as `exit` or `clear`.
        reason: Option<String>,
    },
    /// The conversation is about to be compacted.
    Compacting {
        /// Cause: `manual` or `auto`.
        trigger: Option<String>,
    },
    /// Event without a type of its own, with the agent's name of it.
    Other(String),
}

impl HookEvent {
    /// Returns true if the agent waits for a decision on a permission.
    pub fn is_permission(&self) -> bool {
        self.decision_point() == HookDecisionPoint::Permission
    }

    /// Returns the kind of decision that a hook can make at this event.
    pub fn decision_point(&self) -> HookDecisionPoint {
        match self {
            Self::PermissionRequested { .. } => HookDecisionPoint::Permission,
            Self::ToolStarting { .. } => HookDecisionPoint::BeforeTool,
            _ => HookDecisionPoint::Nothing,
        }
    }
}

impl HookMessage {
    /// Decodes the payload of a hook, or of the `notify` program of Codex. `None` if the payload is not a JSON object
    /// with a session id and an event.
    pub fn decode(agent: HookAgent, payload: &[u8]) -> Option<Self> {
        match read(std::str::from_utf8(payload).ok()?).ok()? {
            Value::Object(fields) => Self::from_fields(agent, HookFields(fields)),
            _ => None,
        }
    }

    fn from_fields(agent: HookAgent, mut fields: HookFields) -> Option<Self> {
        if let Some(kind) = fields.text("type").filter(|_| agent == HookAgent::Codex) {
            return Self::from_notification(kind, fields);
        }
        let name = fields.text("hook_event_name")?;
        let turn_id = fields.text("turn_id").or_else(|| fields.text("prompt_id"));
        Some(Self {
            agent,
            session_id: fields.text("session_id")?,
            transcript_path: fields.text("transcript_path").map(PathBuf::from),
            cwd: fields.text("cwd").map(PathBuf::from),
            subagent_id: fields.text("agent_id"),
            event: fields.event(&name, turn_id.as_ref()).unwrap_or(HookEvent::Other(name)),
            turn_id,
        })
    }

    /// Decodes a payload of the `notify` program of Codex, whose field names have hyphens.
    fn from_notification(kind: String, mut fields: HookFields) -> Option<Self> {
        Some(Self {
            agent: HookAgent::Codex,
            session_id: fields.text("thread-id")?,
            transcript_path: None,
            cwd: fields.text("cwd").map(PathBuf::from),
            turn_id: fields.text("turn-id"),
            subagent_id: None,
            event: match kind.as_str() {
                "agent-turn-complete" => HookEvent::TurnCompleted {
                    input_messages: fields.list("input-messages").into_iter().filter_map(into_text).collect(),
                    last_message: fields.text("last-assistant-message"),
                },
                _ => HookEvent::Other(kind),
            },
        })
    }
}

/// Fields of a payload. Reading a field removes it, because tool inputs and results can be long.
struct HookFields(Map<String, Value>);

impl HookFields {
    fn text(&mut self, name: &str) -> Option<String> {
        into_text(self.value(name))
    }

    fn value(&mut self, name: &str) -> Value {
        self.0.remove(name).unwrap_or_default()
    }

    fn list(&mut self, name: &str) -> Vec<Value> {
        match self.value(name) {
            Value::Array(values) => values,
            _ => Vec::new(),
        }
    }

    /// Returns the event with the agent's name `name`. `None` if the name is unknown, or a required field is missing.
    fn event(&mut self, name: &str, turn_id: Option<&String>) -> Option<HookEvent> {
        Some(match name {
            "UserPromptSubmit" | "BeforeAgent" => {
                HookEvent::PromptSubmitted { prompt: self.text("prompt")?, prompt_id: turn_id.cloned() }
            }
            "PreToolUse" | "BeforeTool" => HookEvent::ToolStarting {
                name: self.text("tool_name")?,
                input: self.value("tool_input"),
                id: self.text("tool_use_id"),
            },
            // A permission event without the name of a tool is still one: its hook must not go unanswered.
            "PermissionRequest" => HookEvent::PermissionRequested {
                tool: self.text("tool_name").unwrap_or_default(),
                input: self.value("tool_input"),
                suggestions: self.list("permission_suggestions"),
                id: self.text("tool_use_id"),
            },
            "PostToolUse" | "AfterTool" => HookEvent::ToolFinished {
                name: self.text("tool_name")?,
                input: self.value("tool_input"),
                response: self.value("tool_response"),
                id: self.text("tool_use_id"),
            },
            "Notification" => HookEvent::Notification {
                kind: self.text("notification_type").unwrap_or_default(),
                message: self.text("message").unwrap_or_default(),
                details: self.value("details"),
            },
            "Stop" | "AfterAgent" => HookEvent::Stopped {
                last_message: self.text("last_assistant_message").or_else(|| self.text("prompt_response")),
                prompt: self.text("prompt"),
            },
            "StopFailure" => HookEvent::StopFailed {
                error: self.text("error").unwrap_or_default(),
                message: self.text("last_assistant_message"),
            },
            "Interrupt" => HookEvent::Interrupted,
            "SessionStart" => HookEvent::SessionStarted { source: self.text("source") },
            "SessionEnd" => HookEvent::SessionEnded { reason: self.text("reason") },
            "PreCompact" | "PreCompress" => HookEvent::Compacting { trigger: self.text("trigger") },
            _ => return None,
        })
    }
}

fn into_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}
