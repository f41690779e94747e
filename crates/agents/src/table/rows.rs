//! Rows of the table: the built-in agents.

use wh_core::space::roster::McpServer;

use super::ProtocolKind;
use super::management::{
    AdaptedAgent, DEFAULT_MANAGEMENT, ListSource, LoginCheck, LoginProcedure, LogoutProcedure, Management, McpSwitch,
    RemainingLoginCheck,
};
use crate::interface::ManageError;
use crate::manage::{self, cursor, gemini, logged_in_by, opencode, run};
use crate::{claude, codex};

/// Row of the table. [`AgentEntry`](super::AgentEntry) describes the fields.
pub(super) struct AgentRow {
    pub id: &'static str,
    pub title: &'static str,
    pub protocol: ProtocolKind,
    pub commands: &'static [&'static str],
    pub arguments: &'static [&'static str],
    pub install: &'static str,
    pub log_in: &'static str,
    /// Id of the authentication method. The second field is true to authenticate before every session.
    pub authenticate: Option<(&'static str, bool)>,
    pub skipping_modes: &'static [&'static str],
    pub quirks: RowQuirks,
    pub management: Management,
}

/// Quirks of a built-in agent. [`Quirks`](super::Quirks) describes the fields.
pub(super) struct RowQuirks {
    pub mode_message_prefix: Option<&'static str>,
    pub resume_only_after_start_minute: bool,
    pub gemini_files: bool,
    pub acknowledged_requests: &'static [&'static str],
    pub client_capabilities: &'static [&'static str],
    pub derives_arguments: bool,
    pub environment: &'static [(&'static str, &'static str)],
    /// Text before the attempt number, and number of attempts after which the agent gives up.
    pub retry_lines: Option<(&'static str, u32)>,
    pub compacts_by_itself: bool,
}

const NO_QUIRKS: RowQuirks = RowQuirks {
    mode_message_prefix: None,
    resume_only_after_start_minute: false,
    gemini_files: false,
    acknowledged_requests: &[],
    client_capabilities: &[],
    derives_arguments: false,
    environment: &[],
    retry_lines: None,
    compacts_by_itself: false,
};

const CLAUDE_VARIABLES: &[&str] = &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

const CODEX_ACP_VARIABLES: &[&str] = &["CODEX_API_KEY", "OPENAI_API_KEY"];

const CURSOR_VARIABLES: &[&str] = &["CURSOR_API_KEY"];

const CLAUDE_LOGIN: LoginCheck = LoginCheck::Asked(|inquiry| Box::pin(claude::manage::login(inquiry.launch)));

const CLAUDE_LOG_IN: LoginProcedure = LoginProcedure::Command(&["auth", "login"]);

const CLAUDE_LOG_OUT: LogoutProcedure = LogoutProcedure::Command {
    arguments: &["auth", "logout"],
    still: RemainingLoginCheck::Variables(CLAUDE_VARIABLES),
};

const CODEX_LOGIN: LoginCheck =
    LoginCheck::Asked(|inquiry| Box::pin(codex::manage::login(inquiry.launch, inquiry.here)));

const GEMINI_MCP: ListSource<Vec<McpServer>> = ListSource::Printed {
    arguments: &["mcp", "list"],
    name: "mcp list",
    read: |output| Ok(gemini::mcp(&output.text())),
};

const GEMINI_SWITCH: McpSwitch =
    McpSwitch::Command(|output| gemini::mcp_switch_result(&output.text()).map(Some).map_err(ManageError::Failed));

const fn claude_mcp(name: &'static str) -> ListSource<Vec<McpServer>> {
    ListSource::Printed { arguments: &["mcp", "list"], name, read: |output| Ok(manage::claude::mcp(&output.out)) }
}

/// Built-in agents in display order.
pub(super) static AGENTS: [AgentRow; 10] = [
    AgentRow {
        id: "claude",
        title: claude::TITLE,
        protocol: ProtocolKind::Claude,
        commands: &["claude"],
        arguments: &[],
        install: "npm install -g @anthropic-ai/claude-code",
        log_in: claude::LOG_IN,
        authenticate: None,
        skipping_modes: &[],
        quirks: NO_QUIRKS,
        management: Management {
            version: |output| run::version(&output.out),
            login: CLAUDE_LOGIN,
            log_in: CLAUDE_LOG_IN,
            log_out: CLAUDE_LOG_OUT,
            models: ListSource::Asked(|inquiry| Box::pin(claude::manage::models(inquiry))),
            mcp: claude_mcp("claude mcp list"),
            switch_mcp: McpSwitch::Never,
            conversations: |inquiry| Box::pin(claude::manage::conversations(inquiry)),
            tested: true,
            skips_permissions: true,
            ..DEFAULT_MANAGEMENT
        },
    },
    AgentRow {
        id: "codex",
        title: codex::TITLE,
        protocol: ProtocolKind::Codex,
        commands: &["codex"],
        arguments: &[],
        install: "npm install -g @openai/codex",
        log_in: codex::LOG_IN,
        authenticate: None,
        skipping_modes: &[],
        quirks: NO_QUIRKS,
        management: Management {
            login: CODEX_LOGIN,
            log_in: LoginProcedure::Asked(|inquiry| Box::pin(codex::manage::login_way(inquiry))),
            log_out: LogoutProcedure::Command {
                arguments: &["logout"],
                still: RemainingLoginCheck::Asked(|inquiry| Box::pin(codex::manage::provider_variable(inquiry))),
            },
            models: ListSource::Asked(|inquiry| Box::pin(codex::manage::models(inquiry))),
            mcp: ListSource::Printed {
                arguments: &["mcp", "list", "--json"],
                name: "codex mcp list",
                read: |output| manage::codex::mcp(&output.out).ok_or_else(|| ManageError::Failed(output.text())),
            },
            switch_mcp: McpSwitch::Never,
            conversations: |inquiry| Box::pin(codex::manage::conversations(inquiry)),
            tested: true,
            skips_permissions: true,
            ..DEFAULT_MANAGEMENT
        },
    },
    AgentRow {
        id: "gemini",
        title: "Gemini CLI",
        protocol: ProtocolKind::Acp,
        commands: &["gemini"],
        arguments: &["--acp"],
        install: "npm install -g @google/gemini-cli",
        log_in: "run `gemini` once and log in, or set GEMINI_API_KEY",
        authenticate: Some(("gemini-api-key", false)),
        skipping_modes: &["yolo"],
        quirks: RowQuirks {
            mode_message_prefix: Some("[MODE_UPDATE] "),
            resume_only_after_start_minute: true,
            gemini_files: true,
            derives_arguments: true,
            // Gemini CLI reports retries only in its debug log.
            environment: &[("GEMINI_DEBUG_LOG_FILE", "/dev/stderr")],
            retry_lines: Some(("] [WARN] Attempt ", 10)),
            compacts_by_itself: true,
            ..NO_QUIRKS
        },
        management: Management {
            login: LoginCheck::Files(gemini::login),
            log_in: LoginProcedure::Variable(gemini::INSTRUCTIONS),
            log_out: LogoutProcedure::Instead("unset GEMINI_API_KEY, or use /auth in `gemini` on a terminal"),
            mcp: GEMINI_MCP,
            switch_mcp: GEMINI_SWITCH,
            conversations: |inquiry| Box::pin(gemini::saved_conversations(inquiry)),
            tested: true,
            ..DEFAULT_MANAGEMENT
        },
    },
    AgentRow {
        id: "cursor",
        title: "Cursor",
        protocol: ProtocolKind::Acp,
        commands: &["cursor-agent", "agent"],
        arguments: &["acp"],
        install: "curl https://cursor.com/install -fsS | bash",
        log_in: "run `cursor-agent login`, or set CURSOR_API_KEY",
        authenticate: Some(("cursor_login", true)),
        skipping_modes: &[],
        quirks: RowQuirks {
            acknowledged_requests: &["cursor/update_todos", "cursor/task", "cursor/generate_image"],
            client_capabilities: &["parameterizedModelPicker"],
            ..NO_QUIRKS
        },
        management: Management {
            login_variables: CURSOR_VARIABLES,
            login: LoginCheck::Asked(|inquiry| Box::pin(cursor::login(inquiry))),
            log_in: LoginProcedure::Command(&["login"]),
            log_out: LogoutProcedure::Command {
                arguments: &["logout"],
                still: RemainingLoginCheck::Variables(CURSOR_VARIABLES),
            },
            about: Some(|inquiry| Box::pin(cursor::facts(inquiry))),
            models: ListSource::Printed {
                arguments: &["models"],
                name: "cursor-agent models",
                read: |output| Ok(cursor::models(&output.out)),
            },
            mcp: ListSource::Printed {
                arguments: &["mcp", "list"],
                name: "mcp list",
                read: |output| Ok(cursor::mcp(&output.out)),
            },
            switch_mcp: McpSwitch::Command(|output| Ok(Some(output.text()).filter(|text| !text.is_empty()))),
            ..DEFAULT_MANAGEMENT
        },
    },
    AgentRow {
        id: "opencode",
        title: "OpenCode",
        protocol: ProtocolKind::Acp,
        commands: &["opencode"],
        arguments: &["acp"],
        install: "npm install -g opencode-ai",
        log_in: "run `opencode auth login`",
        authenticate: None,
        skipping_modes: &[],
        quirks: NO_QUIRKS,
        management: Management {
            login: LoginCheck::Files(opencode::login),
            log_out: LogoutProcedure::Instead("run `opencode auth logout` on a terminal"),
            models: ListSource::Printed {
                arguments: &["models"],
                name: "opencode models",
                read: |output| Ok(opencode::models(&output.out)),
            },
            ..DEFAULT_MANAGEMENT
        },
    },
    AgentRow {
        id: "goose",
        title: "Goose",
        protocol: ProtocolKind::Acp,
        commands: &["goose"],
        arguments: &["acp"],
        install: "curl -fsSL https://github.com/block/goose/releases/download/stable/download_cli.sh | bash",
        log_in: "run `goose configure`",
        authenticate: None,
        skipping_modes: &["auto"],
        quirks: NO_QUIRKS,
        management: DEFAULT_MANAGEMENT,
    },
    AgentRow {
        id: "copilot",
        title: "GitHub Copilot CLI",
        protocol: ProtocolKind::Acp,
        commands: &["copilot"],
        arguments: &["--acp"],
        install: "npm install -g @github/copilot",
        log_in: "run `copilot login`, or set GH_TOKEN",
        authenticate: None,
        skipping_modes: &["autopilot", "https://agentclientprotocol.com/protocol/session-modes#autopilot"],
        quirks: NO_QUIRKS,
        management: Management {
            login_variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
            log_in: LoginProcedure::Command(&["login"]),
            log_out: LogoutProcedure::Instead("use /logout in `copilot` on a terminal"),
            ..DEFAULT_MANAGEMENT
        },
    },
    AgentRow {
        id: "qwen",
        title: "Qwen Code",
        protocol: ProtocolKind::Acp,
        commands: &["qwen"],
        arguments: &["--acp"],
        install: "npm install -g @qwen-code/qwen-code",
        log_in: "run `qwen` once and log in, or set OPENAI_API_KEY",
        authenticate: None,
        skipping_modes: &["yolo"],
        quirks: NO_QUIRKS,
        management: Management {
            login_variables: &["OPENAI_API_KEY"],
            login: LoginCheck::Files(|here| logged_in_by(here.home(".qwen/oauth_creds.json"))),
            log_out: LogoutProcedure::Instead("use /auth in `qwen` on a terminal"),
            mcp: GEMINI_MCP,
            switch_mcp: GEMINI_SWITCH,
            ..DEFAULT_MANAGEMENT
        },
    },
    AgentRow {
        id: "codex-acp",
        title: "Codex (ACP)",
        protocol: ProtocolKind::Acp,
        commands: &["codex-acp"],
        arguments: &[],
        install: "npm install -g @agentclientprotocol/codex-acp",
        log_in: "run `codex login`, or set OPENAI_API_KEY",
        authenticate: None,
        // In the mode `agent` another model grants permissions.
        skipping_modes: &["agent", "full-access", "agent-full-access"],
        quirks: NO_QUIRKS,
        management: Management {
            adapted: Some(AdaptedAgent { command: "codex", credentials: codex::manage::credentials }),
            login_variables: CODEX_ACP_VARIABLES,
            login: CODEX_LOGIN,
            log_in: LoginProcedure::Command(&["login"]),
            log_out: LogoutProcedure::Command {
                arguments: &["logout"],
                still: RemainingLoginCheck::Variables(CODEX_ACP_VARIABLES),
            },
            tested: true,
            ..DEFAULT_MANAGEMENT
        },
    },
    AgentRow {
        id: "claude-acp",
        title: "Claude (ACP)",
        protocol: ProtocolKind::Acp,
        commands: &["claude-agent-acp"],
        arguments: &[],
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        log_in: "run `claude auth login`, or set ANTHROPIC_API_KEY",
        authenticate: None,
        skipping_modes: &["bypassPermissions", "auto"],
        quirks: NO_QUIRKS,
        management: Management {
            adapted: Some(AdaptedAgent {
                command: "claude",
                credentials: |here| here.home(".claude/.credentials.json"),
            }),
            login_variables: CLAUDE_VARIABLES,
            login: CLAUDE_LOGIN,
            log_in: CLAUDE_LOG_IN,
            log_out: CLAUDE_LOG_OUT,
            mcp: claude_mcp("mcp list"),
            ..DEFAULT_MANAGEMENT
        },
    },
];
