//! Decisions on hooks, and their encoding as output of the hook process.

use serde_json::{Value, json};

use super::{HookAgent, HookExit};

/// Kind of decision that a hook can make at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookDecisionPoint {
    /// The agent asks for a permission.
    Permission,
    /// A tool call is about to start.
    BeforeTool,
    /// The event only informs.
    Nothing,
}

/// Decision on a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum HookReply {
    /// Leaves the decision to the agent, which shows its own dialog.
    NoDecision,
    /// Allows the tool call.
    Allow,
    /// Allows the tool call with changes. Agents other than Claude Code support none and only allow the call.
    AllowWith {
        /// Input that replaces the input of the tool, such as the answers to the questions of Claude Code.
        input: Option<Value>,
        /// Permission updates, usually from the suggestions of the request: allows similar calls in the future.
        permissions: Vec<Value>,
    },
    /// Denies the tool call.
    Deny {
        /// Reason, which the agent sees.
        reason: String,
    },
}

impl HookReply {
    /// Returns the reply for an event that nobody decides on. Claude Code, Codex and Gemini CLI then show their own
    /// dialog, or follow their own rules. An agent that would run the tool must be denied here.
    pub fn undecided(agent: HookAgent) -> Self {
        match agent {
            HookAgent::Claude | HookAgent::Codex | HookAgent::Gemini => Self::NoDecision,
        }
    }

    /// Encodes the decision as output of the hook process. Events that the agent does not let a hook decide on get no
    /// decision.
    pub fn encode(&self, agent: HookAgent, point: HookDecisionPoint) -> HookExit {
        let output = match point {
            HookDecisionPoint::Permission => self.permission_output(agent),
            HookDecisionPoint::BeforeTool => self.tool_output(agent),
            HookDecisionPoint::Nothing => None,
        };
        match output {
            Some(output) => HookExit { code: 0, stdout: output.to_string(), stderr: String::new() },
            None => HookExit::undecided(),
        }
    }

    /// Returns the output for a permission event. Gemini CLI has none.
    fn permission_output(&self, agent: HookAgent) -> Option<Value> {
        let decision = match self {
            Self::NoDecision => return None,
            Self::AllowWith { input, permissions } if agent.accepts_permission_updates() => {
                let mut decision = json!({ "behavior": "allow" });
                if let Some(input) = input {
                    decision["updatedInput"] = input.clone();
                }
                if !permissions.is_empty() {
                    decision["updatedPermissions"] = Value::Array(permissions.clone());
                }
                decision
            }
            Self::Allow | Self::AllowWith { .. } => json!({ "behavior": "allow" }),
            Self::Deny { reason } => json!({ "behavior": "deny", "message": reason }),
        };
        let output = json!({ "hookEventName": "PermissionRequest", "decision": decision });
        (agent != HookAgent::Gemini).then(|| json!({ "hookSpecificOutput": output }))
    }

    /// Returns the output before a tool call. Only Claude Code lets a hook allow a call here.
    fn tool_output(&self, agent: HookAgent) -> Option<Value> {
        let permission = |decision: &str, reason: &str| {
            json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": decision,
                "permissionDecisionReason": reason,
            } })
        };
        match (self, agent) {
            (Self::Allow | Self::AllowWith { .. }, HookAgent::Claude) => Some(permission("allow", "allowed in wh")),
            (Self::Deny { reason }, HookAgent::Claude | HookAgent::Codex) => Some(permission("deny", reason)),
            (Self::Deny { reason }, HookAgent::Gemini) => Some(json!({ "decision": "deny", "reason": reason })),
            _ => None,
        }
    }
}
