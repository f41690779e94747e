//! Agents that call hooks, and the time limits of a call. Each limit is shorter than the one around it: the listener
//! replies before the hook process gives up, and the hook process exits before the agent kills it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Time that the agent gives a permission hook, written into the agent's configuration.
pub const PERMISSION_HOOK_TIMEOUT: Duration = Duration::from_secs(600);

/// Time that a hook process waits for the decision on a permission.
pub const PERMISSION_PROCESS_TIMEOUT: Duration = Duration::from_secs(590);

/// Time after which the listener replies to a permission hook without a decision.
pub const PERMISSION_REPLY_TIMEOUT: Duration = Duration::from_secs(580);

/// Time that the agent gives any other hook, written into the agent's configuration.
pub const EVENT_HOOK_TIMEOUT: Duration = Duration::from_secs(30);

/// Time that Codex gives hooks at the end of a session and of an interrupted turn, at most.
pub const SHORT_HOOK_TIMEOUT: Duration = Duration::from_secs(3);

/// Time that a hook process takes at most for any other event. Short enough for the hooks of
/// [`SHORT_HOOK_TIMEOUT`].
pub const EVENT_PROCESS_TIMEOUT: Duration = Duration::from_millis(2500);

/// Time after which the listener replies to any other event.
pub const EVENT_REPLY_TIMEOUT: Duration = Duration::from_secs(2);

/// Time that a hook process has for a notification of Codex, before it starts the user's own program.
pub const NOTIFY_PROCESS_TIMEOUT: Duration = Duration::from_secs(2);

/// Coding agent that calls hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookAgent {
    /// Claude Code of Anthropic.
    Claude,
    /// Codex CLI of OpenAI.
    Codex,
    /// Gemini CLI of Google.
    Gemini,
}

impl HookAgent {
    /// All agents that call hooks.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// Returns the name of the agent in `--agent`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// Returns true if the reply to a permission hook can also grant the permission for the future. Codex denies a
    /// request whose reply has permission updates.
    pub fn accepts_permission_updates(self) -> bool {
        self == Self::Claude
    }
}

impl fmt::Display for HookAgent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.id())
    }
}

impl FromStr for HookAgent {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|agent| agent.id() == id);
        found.ok_or_else(|| format!("unknown agent {id:?}; use claude, codex or gemini"))
    }
}
