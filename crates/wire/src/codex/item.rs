//! Items of a turn: messages, reasoning, commands, file changes and tool calls.

use serde_json::Value;

use super::read::JsonFields;

/// Item of a turn. The item id is unique within the turn if the model provider complies with the protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadItem {
    /// Id of the item.
    pub id: String,
    /// Content of the item.
    pub kind: ThreadItemKind,
}

/// Content of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum ThreadItemKind {
    /// Message sent by the client.
    User,
    /// Message of the model.
    Message {
        /// Text in Markdown format.
        text: String,
    },
    /// Reasoning of the model.
    Reasoning {
        /// Parts of the reasoning summary.
        summary: Vec<String>,
        /// Parts of the complete reasoning text.
        content: Vec<String>,
    },
    /// Plan proposed by the model.
    Plan {
        /// Text in Markdown format.
        text: String,
    },
    /// Command run by the agent.
    Command(CommandExecution),
    /// Changes to files.
    FileChange {
        /// Changed files with their diffs.
        changes: Vec<CodexFileChange>,
        /// Progress of the changes.
        status: ThreadItemStatus,
    },
    /// Call of any other tool.
    Tool(CodexToolCall),
    /// Compaction of the conversation.
    Compaction,
    /// Completed code review.
    Review {
        /// Text in Markdown format.
        text: String,
    },
    /// Item of an unknown kind, as received.
    Unknown(Value),
}

/// Progress of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThreadItemStatus {
    /// Running or waiting to run.
    #[default]
    InProgress,
    /// Ended with success.
    Completed,
    /// Ended with an error.
    Failed,
    /// Denied by the user or a rule.
    Declined,
}

impl ThreadItemStatus {
    fn read(item: &Value) -> Self {
        match item.text("status").as_deref() {
            Some("completed") => Self::Completed,
            Some("failed") => Self::Failed,
            Some("declined") => Self::Declined,
            _ => Self::InProgress,
        }
    }
}

/// Command run by the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandExecution {
    /// Complete command line, including the shell that runs the command.
    pub command: String,
    /// Working directory of the command.
    pub directory: Option<String>,
    /// Actions that the server recognised in the command. Each has a kind (`read`, `search`, `listFiles`, `unknown`)
    /// and a command line without the shell.
    pub actions: Vec<(String, String)>,
    /// Progress of the command.
    pub status: ThreadItemStatus,
    /// Complete output so far.
    pub output: Option<String>,
    /// Exit code; `None` while the command runs.
    pub exit_code: Option<i64>,
}

/// Change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodexFileChange {
    /// Path of the file.
    pub path: String,
    /// Kind of change.
    pub kind: ChangeKind,
    /// Complete content of an added or deleted file, or a unified diff of an updated file.
    pub diff: String,
}

/// Kind of a file change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// The file is new.
    Add,
    /// The file is deleted.
    Delete,
    /// The file is modified and possibly moved.
    Update {
        /// New path of a moved file.
        moved: Option<String>,
    },
}

impl CodexFileChange {
    /// Decodes the list in the field `changes`. Entries without a path are skipped.
    pub fn list(value: &Value) -> Vec<Self> {
        let read = |change: &Value| {
            let kind = &change["kind"];
            let word = kind.text("type").or_else(|| kind.as_str().map(str::to_owned));
            Some(Self {
                path: change.text("path")?,
                kind: match word.as_deref() {
                    Some("add") => ChangeKind::Add,
                    Some("delete") => ChangeKind::Delete,
                    _ => ChangeKind::Update { moved: kind.text("move_path") },
                },
                diff: change.text("diff").unwrap_or_default(),
            })
        };
        value.list("changes").iter().filter_map(read).collect()
    }
}

/// Tool call other than a command or a file change.
#[derive(Debug, Clone, PartialEq)]
pub struct CodexToolCall {
    /// Item type: `mcpToolCall`, `webSearch`, ….
    pub item_type: String,
    /// MCP server or namespace that provides the tool, if any.
    pub server: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// Input of the call.
    pub input: Value,
    /// Progress of the call.
    pub status: ThreadItemStatus,
    /// Result of the call as text; `None` if there is no text.
    pub output: Option<String>,
}

impl ThreadItem {
    /// Decodes an item; `None` if it has no id.
    pub fn read(item: &Value) -> Option<Self> {
        let id = item.text("id")?;
        let text = |field: &str| item.text(field).unwrap_or_default();
        let kind = match text("type").as_str() {
            "userMessage" => ThreadItemKind::User,
            "agentMessage" => ThreadItemKind::Message { text: text("text") },
            "reasoning" => ThreadItemKind::Reasoning { summary: item.texts("summary"), content: item.texts("content") },
            "plan" => ThreadItemKind::Plan { text: text("text") },
            "commandExecution" => ThreadItemKind::Command(CommandExecution::read(item)),
            "fileChange" => ThreadItemKind::FileChange {
                changes: CodexFileChange::list(item),
                status: ThreadItemStatus::read(item),
            },
            "contextCompaction" => ThreadItemKind::Compaction,
            "exitedReviewMode" => ThreadItemKind::Review { text: text("review") },
            of => CodexToolCall::read(of, item)
                .map_or_else(|| ThreadItemKind::Unknown(item.clone()), ThreadItemKind::Tool),
        };
        Some(Self { id, kind })
    }
}

impl CommandExecution {
    fn read(item: &Value) -> Self {
        let action = |action: &Value| (action.text("type").unwrap_or_default(), action.text("command"));
        Self {
            command: item.text("command").unwrap_or_default(),
            directory: item.text("cwd"),
            actions: item
                .list("commandActions")
                .iter()
                .map(action)
                .filter_map(|(of, words)| Some((of, words?)))
                .collect(),
            status: ThreadItemStatus::read(item),
            output: item.text("aggregatedOutput"),
            exit_code: item.get("exitCode").and_then(Value::as_i64),
        }
    }
}

impl CodexToolCall {
    fn read(of: &str, item: &Value) -> Option<Self> {
        let mut call = Self {
            item_type: of.to_owned(),
            server: None,
            name: item.text("tool").unwrap_or_default(),
            input: item.some("arguments").cloned().unwrap_or(Value::Null),
            status: ThreadItemStatus::read(item),
            output: None,
        };
        match of {
            "mcpToolCall" => {
                call.server = item.text("server");
                call.output = item["error"].text("message").or_else(|| joined_text(item["result"].list("content")));
            }
            "dynamicToolCall" => {
                call.server = item.text("namespace");
                call.output = joined_text(item.list("contentItems"));
            }
            "collabAgentToolCall" => call.input = item.text("prompt").map_or(Value::Null, Value::String),
            "webSearch" => {
                let action = &item["action"];
                let sought = ["query", "url"].iter().find_map(|field| action.text(field));
                let query = item.text("query").filter(|query| !query.is_empty()).or(sought);
                call.name = "web search".to_owned();
                call.input = query.map_or(Value::Null, Value::String);
            }
            "imageView" => {
                call.name = "view image".to_owned();
                call.input = item.text("path").map_or(Value::Null, Value::String);
            }
            _ => return None,
        }
        Some(call)
    }
}

/// Joins the text parts of a tool result. Other parts are shown as their type in brackets.
fn joined_text(content: &[Value]) -> Option<String> {
    let texts: Vec<String> = content
        .iter()
        .map(|part| part.text("text").unwrap_or_else(|| format!("[{}]", part.text("type").unwrap_or_default())))
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
