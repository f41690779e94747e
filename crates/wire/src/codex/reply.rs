//! What the server answers.

use serde_json::Value;

use super::notification::ThreadStatus;
use super::read::Read;

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thread {
    /// Its id.
    pub id: String,
    /// How it is.
    pub status: ThreadStatus,
}

impl Thread {
    fn read(thread: &Value) -> Option<Self> {
        Some(Self { id: thread.text("id")?, status: ThreadStatus::read(&thread["status"]) })
    }

    /// The one of a `thread/read`.
    pub fn of(reply: &Value) -> Option<Self> {
        Self::read(&reply["thread"])
    }

    /// The first of a `thread/list`.
    pub fn first(reply: &Value) -> Option<Self> {
        reply.list("data").iter().find_map(Self::read)
    }
}

/// The reply to `thread/start` and `thread/resume`: the conversation, and what holds in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Started {
    /// The conversation.
    pub thread: Thread,
    /// The model in use.
    pub model: Option<String>,
    /// When it asks; an object for what has no word.
    pub approval_policy: Value,
    /// What commands may reach, as `workspaceWrite`.
    pub sandbox: Option<String>,
    /// Who is asked: `user`, or another model. Versions that do not say ask the user.
    pub approvals_reviewer: Option<String>,
}

impl Started {
    /// `None`: it names no conversation.
    pub fn read(reply: &Value) -> Option<Self> {
        Some(Self { thread: Thread::read(&reply["thread"])?, ..Self::settings(reply, "sandbox") })
    }

    /// What holds in a conversation, as `thread/settings/updated` tells.
    pub(super) fn settings(settings: &Value, sandbox: &str) -> Self {
        Self {
            thread: Thread::default(),
            model: settings.text("model"),
            approval_policy: settings["approvalPolicy"].clone(),
            sandbox: settings[sandbox].text("type"),
            approvals_reviewer: settings.text("approvalsReviewer"),
        }
    }
}

/// A model of `model/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// What it is chosen by.
    pub id: String,
    /// What it is, for people.
    pub title: String,
}

impl Model {
    /// Those that may be offered.
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

/// A server of `mcpServerStatus/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is, where that is known.
    pub status: Option<String>,
    /// How many tools it has.
    pub tools: usize,
    /// Why it has none, if that is an error.
    pub error: Option<String>,
}

impl McpServer {
    /// All of them.
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

/// The reply to `account/read`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// By what somebody is logged in, and as whom.
    pub by: Option<String>,
    /// Whether a login is needed at all: a provider of one's own needs none.
    pub needed: bool,
}

impl Account {
    /// What it says.
    pub fn read(reply: &Value) -> Self {
        let by = reply.some("account").map(|account| match account.text("type").as_deref() {
            Some("chatgpt") => account.text("email").unwrap_or_else(|| "ChatGPT".to_owned()),
            Some("apiKey") => "an API key".to_owned(),
            Some(other) => other.to_owned(),
            None => "an account".to_owned(),
        });
        Self { by, needed: reply.is("requiresOpenaiAuth") }
    }
}
