//! Replies of the Codex server to requests of the client.

use serde_json::Value;

use super::notification::ThreadStatus;
use super::read::JsonFields;

/// Conversation known to the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodexThread {
    /// Id of the conversation.
    pub id: String,
    /// Status of the conversation.
    pub status: ThreadStatus,
}

impl CodexThread {
    fn read(thread: &Value) -> Option<Self> {
        Some(Self { id: thread.text("id")?, status: ThreadStatus::read(&thread["status"]) })
    }

    /// Decodes the reply to `thread/read`; `None` if it contains no conversation.
    pub fn of(reply: &Value) -> Option<Self> {
        Self::read(&reply["thread"])
    }

    /// Returns the first conversation of a `thread/list` reply.
    pub fn first(reply: &Value) -> Option<Self> {
        reply.list("data").iter().find_map(Self::read)
    }
}

/// Reply to `thread/start` and `thread/resume`: the conversation and its settings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StartedThread {
    /// The conversation itself.
    pub thread: CodexThread,
    /// Model in use.
    pub model: Option<String>,
    /// Approval policy: a name, or an object for policies without a name.
    pub approval_policy: Value,
    /// Name of the sandbox for commands, for example `workspaceWrite`.
    pub sandbox: Option<String>,
    /// Reviewer of approval requests: `user`, or a model such as `auto_review`. `None` in versions of Codex that always
    /// ask the user.
    pub approvals_reviewer: Option<String>,
}

impl StartedThread {
    /// Decodes the reply; `None` if it contains no conversation.
    pub fn read(reply: &Value) -> Option<Self> {
        Some(Self { thread: CodexThread::read(&reply["thread"])?, ..Self::settings(reply, "sandbox") })
    }

    /// Decodes the settings of a conversation. `sandbox` is the name of the field that contains the sandbox.
    pub(super) fn settings(settings: &Value, sandbox: &str) -> Self {
        Self {
            thread: CodexThread::default(),
            model: settings.text("model"),
            approval_policy: settings["approvalPolicy"].clone(),
            sandbox: settings[sandbox].text("type"),
            approvals_reviewer: settings.text("approvalsReviewer"),
        }
    }
}

/// Model listed by `model/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodexModel {
    /// Id that selects the model.
    pub id: String,
    /// Description or display name of the model.
    pub title: String,
}

impl CodexModel {
    /// Decodes the models that are not hidden.
    pub fn list(reply: &Value) -> Vec<Self> {
        let shown = reply.list("data").iter().filter(|model| !model.is("hidden"));
        shown
            .filter_map(|model| {
                let id = model.text("model").or_else(|| model.text("id"))?;
                let described = model.text("description").filter(|text| !text.is_empty());
                let title = described.or_else(|| model.text("displayName")).unwrap_or_else(|| id.clone());
                Some(Self { id, title })
            })
            .collect()
    }
}

/// MCP server listed by `mcpServerStatus/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodexMcpServer {
    /// Name of the server.
    pub name: String,
    /// Status of the server, if known.
    pub status: Option<String>,
    /// Number of tools that the server offers.
    pub tools: usize,
    /// Error that prevented listing the tools.
    pub error: Option<String>,
}

impl CodexMcpServer {
    /// Decodes all listed servers.
    pub fn list(reply: &Value) -> Vec<Self> {
        let read = |server: &Value| {
            Some(Self {
                name: server.text("name")?,
                status: server.text("runtimeStatus").or_else(|| server["runtimeStatus"].text("type")),
                tools: server["tools"].as_object().map_or(0, serde_json::Map::len),
                error: server.text("toolsError"),
            })
        };
        reply.list("data").iter().filter_map(read).collect()
    }
}

/// Reply to `account/read`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// Account or credential that Codex is logged in with; `None` if not logged in.
    pub login: Option<String>,
    /// True if a login is required. Custom model providers do not require a login.
    pub needed: bool,
}

impl Account {
    /// Decodes the reply.
    pub fn read(reply: &Value) -> Self {
        let by = reply.some("account").map(|account| match account.text("type").as_deref() {
            Some("chatgpt") => account.text("email").unwrap_or_else(|| "ChatGPT".to_owned()),
            Some("apiKey") => "an API key".to_owned(),
            Some(other) => other.to_owned(),
            None => "an account".to_owned(),
        });
        Self { login: by, needed: reply.is("requiresOpenaiAuth") }
    }
}
