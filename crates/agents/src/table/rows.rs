//! The rows of the table: the agents that wh knows by itself, in plain data and functions.

use wh_core::space::roster::McpServer;

use super::Protocol;
use super::management::{Behind, LogIn, LogOut, LoginCheck, Management, McpSwitch, PLAIN, Source, StillLoggedIn};
use crate::manage::{self, cursor, gemini, logged_in_by, opencode, run};
use crate::port::ManageError;
use crate::{claude, codex};

/// A row of the table. What each field means is said at [`Entry`](super::Entry).
pub(super) struct Row {
    pub id: &'static str,
    pub title: &'static str,
    pub protocol: Protocol,
    pub commands: &'static [&'static str],
    pub arguments: &'static [&'static str],
    pub install: &'static str,
    pub log_in: &'static str,
    /// The method, and whether it is told before every session.
    pub authenticate: Option<(&'static str, bool)>,
    pub skipping: &'static [&'static str],
    pub quirks: Oddities,
    pub management: Management,
}

/// What is particular about an agent of the table. What each field means is said at [`Quirks`](super::Quirks).
pub(super) struct Oddities {
    pub mode_in_words: Option<&'static str>,
    pub kept_by_minute: bool,
    pub gemini_files: bool,
    pub told: &'static [&'static str],
    pub client: &'static [&'static str],
    pub derives_arguments: bool,
    pub environment: &'static [(&'static str, &'static str)],
    /// The marker, and the number of attempts.
    pub retry_lines: Option<(&'static str, u32)>,
    pub compacts_by_itself: bool,
}

const BY_THE_BOOK: Oddities = Oddities {
    mode_in_words: None,
    kept_by_minute: false,
    gemini_files: false,
    told: &[],
    client: &[],
    derives_arguments: false,
    environment: &[],
    retry_lines: None,
    compacts_by_itself: false,
};

const CLAUDE_VARIABLES: &[&str] = &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

const CODEX_ACP_VARIABLES: &[&str] = &["CODEX_API_KEY", "OPENAI_API_KEY"];

const CURSOR_VARIABLES: &[&str] = &["CURSOR_API_KEY"];

const CLAUDE_LOGIN: LoginCheck = LoginCheck::Asked(|inquiry| Box::pin(claude::manage::login(inquiry.launch)));

const CLAUDE_LOG_IN: LogIn = LogIn::Command(&["auth", "login"]);

const CLAUDE_LOG_OUT: LogOut =
    LogOut::Command { arguments: &["auth", "logout"], still: StillLoggedIn::Variables(CLAUDE_VARIABLES) };

const CODEX_LOGIN: LoginCheck =
    LoginCheck::Asked(|inquiry| Box::pin(codex::manage::login(inquiry.launch, inquiry.here)));

const GEMINI_MCP: Source<Vec<McpServer>> =
    Source::Printed { arguments: &["mcp", "list"], name: "mcp list", read: |said| Ok(gemini::mcp(&said.text())) };

const GEMINI_SWITCH: McpSwitch =
    McpSwitch::Command(|said| gemini::switched(&said.text()).map(Some).map_err(ManageError::Failed));

const fn claude_mcp(name: &'static str) -> Source<Vec<McpServer>> {
    Source::Printed { arguments: &["mcp", "list"], name, read: |said| Ok(manage::claude::mcp(&said.out)) }
}

/// In the order in which to offer them.
pub(super) static AGENTS: [Row; 10] = [
    Row {
        id: "claude",
        title: claude::TITLE,
        protocol: Protocol::Claude,
        commands: &["claude"],
        arguments: &[],
        install: "npm install -g @anthropic-ai/claude-code",
        log_in: claude::LOG_IN,
        authenticate: None,
        skipping: &[],
        quirks: BY_THE_BOOK,
        management: Management {
            version: |said| run::version(&said.out),
            login: CLAUDE_LOGIN,
            log_in: CLAUDE_LOG_IN,
            log_out: CLAUDE_LOG_OUT,
            models: Source::Asked(|inquiry| Box::pin(claude::manage::models(inquiry))),
            mcp: claude_mcp("claude mcp list"),
            switch_mcp: McpSwitch::Never,
            conversations: |inquiry| Box::pin(claude::manage::conversations(inquiry)),
            tested: true,
            skips_permissions: true,
            ..PLAIN
        },
    },
    Row {
        id: "codex",
        title: codex::TITLE,
        protocol: Protocol::Codex,
        commands: &["codex"],
        arguments: &[],
        install: "npm install -g @openai/codex",
        log_in: codex::LOG_IN,
        authenticate: None,
        skipping: &[],
        quirks: BY_THE_BOOK,
        management: Management {
            login: CODEX_LOGIN,
            log_in: LogIn::Asked(|inquiry| Box::pin(codex::manage::login_way(inquiry))),
            log_out: LogOut::Command {
                arguments: &["logout"],
                still: StillLoggedIn::Asked(|inquiry| Box::pin(codex::manage::provider_variable(inquiry))),
            },
            models: Source::Asked(|inquiry| Box::pin(codex::manage::models(inquiry))),
            mcp: Source::Printed {
                arguments: &["mcp", "list", "--json"],
                name: "codex mcp list",
                read: |said| manage::codex::mcp(&said.out).ok_or_else(|| ManageError::Failed(said.text())),
            },
            switch_mcp: McpSwitch::Never,
            conversations: |inquiry| Box::pin(codex::manage::conversations(inquiry)),
            tested: true,
            skips_permissions: true,
            ..PLAIN
        },
    },
    Row {
        id: "gemini",
        title: "Gemini CLI",
        protocol: Protocol::Acp,
        commands: &["gemini"],
        arguments: &["--acp"],
        install: "npm install -g @google/gemini-cli",
        log_in: "run `gemini` once and log in, or set GEMINI_API_KEY",
        authenticate: Some(("gemini-api-key", false)),
        skipping: &["yolo"],
        quirks: Oddities {
            mode_in_words: Some("[MODE_UPDATE] "),
            kept_by_minute: true,
            gemini_files: true,
            derives_arguments: true,
            // Retries are reported nowhere else.
            environment: &[("GEMINI_DEBUG_LOG_FILE", "/dev/stderr")],
            retry_lines: Some(("] [WARN] Attempt ", 10)),
            compacts_by_itself: true,
            ..BY_THE_BOOK
        },
        management: Management {
            login: LoginCheck::Files(gemini::login),
            log_in: LogIn::Variable(gemini::INSTRUCTIONS),
            log_out: LogOut::Instead("unset GEMINI_API_KEY, or say /auth in `gemini` on a terminal"),
            mcp: GEMINI_MCP,
            switch_mcp: GEMINI_SWITCH,
            conversations: |inquiry| Box::pin(gemini::kept(inquiry)),
            tested: true,
            ..PLAIN
        },
    },
    Row {
        id: "cursor",
        title: "Cursor",
        protocol: Protocol::Acp,
        commands: &["cursor-agent", "agent"],
        arguments: &["acp"],
        install: "curl https://cursor.com/install -fsS | bash",
        log_in: "run `cursor-agent login`, or set CURSOR_API_KEY",
        authenticate: Some(("cursor_login", true)),
        skipping: &[],
        quirks: Oddities {
            told: &["cursor/update_todos", "cursor/task", "cursor/generate_image"],
            client: &["parameterizedModelPicker"],
            ..BY_THE_BOOK
        },
        management: Management {
            login_variables: CURSOR_VARIABLES,
            login: LoginCheck::Asked(|inquiry| Box::pin(cursor::login(inquiry))),
            log_in: LogIn::Command(&["login"]),
            log_out: LogOut::Command { arguments: &["logout"], still: StillLoggedIn::Variables(CURSOR_VARIABLES) },
            about: Some(|inquiry| Box::pin(cursor::facts(inquiry))),
            models: Source::Printed {
                arguments: &["models"],
                name: "cursor-agent models",
                read: |said| Ok(cursor::models(&said.out)),
            },
            mcp: Source::Printed {
                arguments: &["mcp", "list"],
                name: "mcp list",
                read: |said| Ok(cursor::mcp(&said.out)),
            },
            switch_mcp: McpSwitch::Command(|said| Ok(Some(said.text()).filter(|text| !text.is_empty()))),
            ..PLAIN
        },
    },
    Row {
        id: "opencode",
        title: "OpenCode",
        protocol: Protocol::Acp,
        commands: &["opencode"],
        arguments: &["acp"],
        install: "npm install -g opencode-ai",
        log_in: "run `opencode auth login`",
        authenticate: None,
        skipping: &[],
        quirks: BY_THE_BOOK,
        management: Management {
            login: LoginCheck::Files(opencode::login),
            log_out: LogOut::Instead("run `opencode auth logout` on a terminal"),
            models: Source::Printed {
                arguments: &["models"],
                name: "opencode models",
                read: |said| Ok(opencode::models(&said.out)),
            },
            ..PLAIN
        },
    },
    Row {
        id: "goose",
        title: "Goose",
        protocol: Protocol::Acp,
        commands: &["goose"],
        arguments: &["acp"],
        install: "curl -fsSL https://github.com/block/goose/releases/download/stable/download_cli.sh | bash",
        log_in: "run `goose configure`",
        authenticate: None,
        skipping: &["auto"],
        quirks: BY_THE_BOOK,
        management: PLAIN,
    },
    Row {
        id: "copilot",
        title: "GitHub Copilot CLI",
        protocol: Protocol::Acp,
        commands: &["copilot"],
        arguments: &["--acp"],
        install: "npm install -g @github/copilot",
        log_in: "run `copilot login`, or set GH_TOKEN",
        authenticate: None,
        skipping: &["autopilot", "https://agentclientprotocol.com/protocol/session-modes#autopilot"],
        quirks: BY_THE_BOOK,
        management: Management {
            login_variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
            log_in: LogIn::Command(&["login"]),
            log_out: LogOut::Instead("say /logout in `copilot` on a terminal"),
            ..PLAIN
        },
    },
    Row {
        id: "qwen",
        title: "Qwen Code",
        protocol: Protocol::Acp,
        commands: &["qwen"],
        arguments: &["--acp"],
        install: "npm install -g @qwen-code/qwen-code",
        log_in: "run `qwen` once and log in, or set OPENAI_API_KEY",
        authenticate: None,
        skipping: &["yolo"],
        quirks: BY_THE_BOOK,
        management: Management {
            login_variables: &["OPENAI_API_KEY"],
            login: LoginCheck::Files(|here| logged_in_by(here.home(".qwen/oauth_creds.json"))),
            log_out: LogOut::Instead("say /auth in `qwen` on a terminal"),
            mcp: GEMINI_MCP,
            switch_mcp: GEMINI_SWITCH,
            ..PLAIN
        },
    },
    Row {
        id: "codex-acp",
        title: "Codex (ACP)",
        protocol: Protocol::Acp,
        commands: &["codex-acp"],
        arguments: &[],
        install: "npm install -g @agentclientprotocol/codex-acp",
        log_in: "run `codex login`, or set OPENAI_API_KEY",
        authenticate: None,
        // In `agent` another model grants permissions.
        skipping: &["agent", "full-access", "agent-full-access"],
        quirks: BY_THE_BOOK,
        management: Management {
            behind: Some(Behind { command: "codex", credentials: codex::manage::credentials }),
            login_variables: CODEX_ACP_VARIABLES,
            login: CODEX_LOGIN,
            log_in: LogIn::Command(&["login"]),
            log_out: LogOut::Command { arguments: &["logout"], still: StillLoggedIn::Variables(CODEX_ACP_VARIABLES) },
            tested: true,
            ..PLAIN
        },
    },
    Row {
        id: "claude-acp",
        title: "Claude (ACP)",
        protocol: Protocol::Acp,
        commands: &["claude-agent-acp"],
        arguments: &[],
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        log_in: "run `claude auth login`, or set ANTHROPIC_API_KEY",
        authenticate: None,
        skipping: &["bypassPermissions", "auto"],
        quirks: BY_THE_BOOK,
        management: Management {
            behind: Some(Behind { command: "claude", credentials: |here| here.home(".claude/.credentials.json") }),
            login_variables: CLAUDE_VARIABLES,
            login: CLAUDE_LOGIN,
            log_in: CLAUDE_LOG_IN,
            log_out: CLAUDE_LOG_OUT,
            mcp: claude_mcp("mcp list"),
            ..PLAIN
        },
    },
];
