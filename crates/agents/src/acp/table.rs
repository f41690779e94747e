//! The agents that speak the protocol: what each is started by and what is particular about it. An agent that behaves as
//! the protocol says is a row here and nothing else.

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What it is chosen by.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The commands that it may be installed as; the first that is on the path is used.
    pub commands: &'static [&'static str],
    /// What makes it speak the protocol.
    pub arguments: &'static [&'static str],
    /// What makes it say its version.
    pub version: &'static [&'static str],
    /// What to run in order to have it.
    pub install: &'static str,
    /// What to do in order to log in.
    pub log_in: &'static str,
    /// How it is told to use the login that is there, without asking anybody.
    pub authenticate: Option<Authenticate>,
    /// The modes in which it asks for no permission.
    pub skipping: &'static [&'static str],
    /// What else is particular about it.
    pub quirks: Quirks,
}

/// How an agent is told to use the login that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authenticate {
    /// The method, by the agent's name for it.
    pub method: &'static str,
    /// Before every session; otherwise only once one was refused.
    pub always: bool,
}

/// What is particular about an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    /// A change of mode is told as a message that begins like this.
    pub mode_in_words: Option<&'static str>,
    /// A session is kept under the minute in which it began, and is lost if it is loaded within that minute.
    pub kept_by_minute: bool,
    /// Requests that only tell something: an empty answer is enough.
    pub told: &'static [&'static str],
    /// What the client says that it can do, beside the protocol.
    pub client: &'static [&'static str],
}

const PLAIN: Quirks = Quirks { mode_in_words: None, kept_by_minute: false, told: &[], client: &[] };

/// All of them, in the order in which to offer them.
pub const AGENTS: [Entry; 8] = [
    Entry {
        id: "gemini",
        title: "Gemini CLI",
        commands: &["gemini"],
        arguments: &["--acp"],
        version: &["--version"],
        install: "npm install -g @google/gemini-cli",
        log_in: "run `gemini` once and log in, or set GEMINI_API_KEY",
        authenticate: Some(Authenticate { method: "gemini-api-key", always: false }),
        skipping: &["yolo"],
        quirks: Quirks { mode_in_words: Some("[MODE_UPDATE] "), kept_by_minute: true, ..PLAIN },
    },
    Entry {
        id: "cursor",
        title: "Cursor",
        commands: &["cursor-agent", "agent"],
        arguments: &["acp"],
        version: &["--version"],
        install: "curl https://cursor.com/install -fsS | bash",
        log_in: "run `cursor-agent login`, or set CURSOR_API_KEY",
        authenticate: Some(Authenticate { method: "cursor_login", always: true }),
        skipping: &[],
        quirks: Quirks {
            told: &["cursor/update_todos", "cursor/task", "cursor/generate_image"],
            client: &["parameterizedModelPicker"],
            ..PLAIN
        },
    },
    Entry {
        id: "opencode",
        title: "OpenCode",
        commands: &["opencode"],
        arguments: &["acp"],
        version: &["--version"],
        install: "npm install -g opencode-ai",
        log_in: "run `opencode auth login`",
        authenticate: None,
        skipping: &[],
        quirks: PLAIN,
    },
    Entry {
        id: "goose",
        title: "Goose",
        commands: &["goose"],
        arguments: &["acp"],
        version: &["--version"],
        install: "curl -fsSL https://github.com/block/goose/releases/download/stable/download_cli.sh | bash",
        log_in: "run `goose configure`",
        authenticate: None,
        skipping: &["auto"],
        quirks: PLAIN,
    },
    Entry {
        id: "copilot",
        title: "GitHub Copilot CLI",
        commands: &["copilot"],
        arguments: &["--acp"],
        version: &["--version"],
        install: "npm install -g @github/copilot",
        log_in: "run `copilot login`, or set GH_TOKEN",
        authenticate: None,
        skipping: &["autopilot", "https://agentclientprotocol.com/protocol/session-modes#autopilot"],
        quirks: PLAIN,
    },
    Entry {
        id: "qwen",
        title: "Qwen Code",
        commands: &["qwen"],
        arguments: &["--acp"],
        version: &["--version"],
        install: "npm install -g @qwen-code/qwen-code",
        log_in: "run `qwen` once and log in, or set OPENAI_API_KEY",
        authenticate: None,
        skipping: &["yolo"],
        quirks: PLAIN,
    },
    Entry {
        id: "codex-acp",
        title: "Codex (ACP)",
        commands: &["codex-acp"],
        arguments: &[],
        version: &["--version"],
        install: "npm install -g @agentclientprotocol/codex-acp",
        log_in: "run `codex login`, or set OPENAI_API_KEY",
        authenticate: None,
        skipping: &["full-access", "agent-full-access"],
        quirks: PLAIN,
    },
    Entry {
        id: "claude-acp",
        title: "Claude (ACP)",
        commands: &["claude-agent-acp"],
        arguments: &[],
        version: &["--version"],
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        log_in: "run `claude auth login`, or set ANTHROPIC_API_KEY",
        authenticate: None,
        skipping: &["bypassPermissions", "auto"],
        quirks: PLAIN,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_agent_has_an_id_of_its_own_and_says_what_to_do() {
        let ids: HashSet<&str> = AGENTS.iter().map(|entry| entry.id).collect();
        assert_eq!(ids.len(), AGENTS.len());
        assert!(!ids.contains("codex") && !ids.contains("claude") && !ids.contains("demo"), "these speak otherwise");
        for entry in AGENTS {
            assert!(
                !entry.commands.is_empty() && !entry.install.is_empty() && !entry.log_in.is_empty(),
                "{}",
                entry.id
            );
        }
    }
}
