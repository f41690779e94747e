//! The agents that speak the protocol: what each is started by and what is particular about it. An agent that behaves as
//! the protocol says is a row here and nothing else.

use crate::program::{Program, owned};

/// One of them: a row of the table, or what a person's `agents.toml` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is chosen by.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// What it is started by, and what makes it speak the protocol.
    pub program: Program,
    /// What makes it say its version.
    pub version: Vec<String>,
    /// What to do in order to log in.
    pub log_in: String,
    /// The arguments of its own commands about the login.
    pub account: Account,
    /// How it is told to use the login that is there, without asking anybody.
    pub authenticate: Option<Authenticate>,
    /// The modes in which it asks nobody for permission, or another model in the place of a person.
    pub skipping: Vec<String>,
    /// What else is particular about it.
    pub quirks: Quirks,
}

/// What makes an agent log in, log out, and say who is logged in: arguments of its command. Empty: it has no such command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Logs in, on a terminal.
    pub log_in: Vec<String>,
    /// Logs out.
    pub log_out: Vec<String>,
    /// Ends well if somebody is logged in, and badly if nobody is.
    pub status: Vec<String>,
}

/// How an agent is told to use the login that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticate {
    /// The method, by the agent's name for it.
    pub method: String,
    /// Before every session; otherwise only once one was refused.
    pub always: bool,
}

/// What is particular about an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quirks {
    /// A change of mode is told as a message that begins like this.
    pub mode_in_words: Option<String>,
    /// A session is kept under the minute in which it began, and is lost if it is loaded within that minute.
    pub kept_by_minute: bool,
    /// Requests that only tell something: an empty answer is enough.
    pub told: Vec<String>,
    /// What the client says that it can do, beside the protocol.
    pub client: Vec<String>,
}

/// A row of the table. What each field means is said at [`Entry`].
struct Row {
    id: &'static str,
    title: &'static str,
    commands: &'static [&'static str],
    arguments: &'static [&'static str],
    version: &'static [&'static str],
    install: &'static str,
    log_in: &'static str,
    /// The method, and whether it is told before every session.
    authenticate: Option<(&'static str, bool)>,
    skipping: &'static [&'static str],
    quirks: Oddities,
}

/// What is particular about an agent of the table. What each field means is said at [`Quirks`].
struct Oddities {
    mode_in_words: Option<&'static str>,
    kept_by_minute: bool,
    told: &'static [&'static str],
    client: &'static [&'static str],
}

const PLAIN: Oddities = Oddities { mode_in_words: None, kept_by_minute: false, told: &[], client: &[] };

const AGENTS: [Row; 8] = [
    Row {
        id: "gemini",
        title: "Gemini CLI",
        commands: &["gemini"],
        arguments: &["--acp"],
        version: &["--version"],
        install: "npm install -g @google/gemini-cli",
        log_in: "run `gemini` once and log in, or set GEMINI_API_KEY",
        authenticate: Some(("gemini-api-key", false)),
        skipping: &["yolo"],
        quirks: Oddities { mode_in_words: Some("[MODE_UPDATE] "), kept_by_minute: true, ..PLAIN },
    },
    Row {
        id: "cursor",
        title: "Cursor",
        commands: &["cursor-agent", "agent"],
        arguments: &["acp"],
        version: &["--version"],
        install: "curl https://cursor.com/install -fsS | bash",
        log_in: "run `cursor-agent login`, or set CURSOR_API_KEY",
        authenticate: Some(("cursor_login", true)),
        skipping: &[],
        quirks: Oddities {
            told: &["cursor/update_todos", "cursor/task", "cursor/generate_image"],
            client: &["parameterizedModelPicker"],
            ..PLAIN
        },
    },
    Row {
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
    Row {
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
    Row {
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
    Row {
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
    Row {
        id: "codex-acp",
        title: "Codex (ACP)",
        commands: &["codex-acp"],
        arguments: &[],
        version: &["--version"],
        install: "npm install -g @agentclientprotocol/codex-acp",
        log_in: "run `codex login`, or set OPENAI_API_KEY",
        authenticate: None,
        // In `agent` another model grants permissions.
        skipping: &["agent", "full-access", "agent-full-access"],
        quirks: PLAIN,
    },
    Row {
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

/// The agents that wh knows by itself, in the order in which to offer them.
pub fn built_in() -> Vec<Entry> {
    AGENTS.iter().map(Row::entry).collect()
}

impl Row {
    fn entry(&self) -> Entry {
        let Oddities { mode_in_words, kept_by_minute, told, client } = self.quirks;
        Entry {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            program: Program::built_in(self.commands, self.arguments, self.install),
            version: owned(self.version),
            log_in: self.log_in.to_owned(),
            account: Account::default(),
            authenticate: self.authenticate.map(|(method, always)| Authenticate { method: method.to_owned(), always }),
            skipping: owned(self.skipping),
            quirks: Quirks {
                mode_in_words: mode_in_words.map(str::to_owned),
                kept_by_minute,
                told: owned(told),
                client: owned(client),
            },
        }
    }
}

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
