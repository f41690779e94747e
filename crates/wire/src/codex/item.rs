//! One thing in a turn: a message, a thought, a command, a change, a call.

use serde_json::Value;

use super::read::Read;

/// One thing in a turn. Its id is unique within the turn, as far as the model's provider keeps to that.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: ItemKind,
}

/// What an item is.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemKind {
    /// What we have said.
    User,
    /// Said by the model.
    Message {
        /// In Markdown.
        text: String,
    },
    /// Thought by it.
    Reasoning {
        /// In short, part by part.
        summary: Vec<String>,
        /// In full, part by part.
        content: Vec<String>,
    },
    /// A plan that it proposes.
    Plan {
        /// In Markdown.
        text: String,
    },
    /// A command.
    Command(Command),
    /// Files that are changed.
    FileChange {
        /// Which, and how.
        changes: Vec<Change>,
        /// How it fares.
        status: Status,
    },
    /// Another tool.
    Tool(ToolUse),
    /// The conversation was made shorter.
    Compaction,
    /// A review, once it is written.
    Review {
        /// In Markdown.
        text: String,
    },
    /// What is not known here.
    Unknown(Value),
}

/// How something fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Status {
    /// It runs, or waits.
    #[default]
    InProgress,
    /// It has worked.
    Completed,
    /// It has not.
    Failed,
    /// It was not allowed.
    Declined,
}

impl Status {
    fn read(item: &Value) -> Self {
        match item.text("status").as_deref() {
            Some("completed") => Self::Completed,
            Some("failed") => Self::Failed,
            Some("declined") => Self::Declined,
            _ => Self::InProgress,
        }
    }
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Command {
    /// The whole of it, with the shell that runs it.
    pub command: String,
    /// Where.
    pub directory: Option<String>,
    /// What it does, as far as the server can tell: `read`, `search`, `listFiles`, `unknown`; and its words without the
    /// shell.
    pub actions: Vec<(String, String)>,
    /// How it fares.
    pub status: Status,
    /// All that it has written.
    pub output: Option<String>,
    /// How it ended.
    pub exit_code: Option<i64>,
}

/// A file that is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its path.
    pub path: String,
    /// How.
    pub kind: ChangeKind,
    /// What it holds, for a file that is new or goes; a unified diff otherwise.
    pub diff: String,
}

/// How a file is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Add,
    /// It goes.
    Delete,
    /// It is changed, and perhaps moved.
    Update {
        /// To where.
        moved: Option<String>,
    },
}

impl Change {
    /// All of a list.
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

/// A call of a tool that is neither a command nor a change.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The item's type: `mcpToolCall`, `webSearch`, ….
    pub of: String,
    /// Whose tool it is, if somebody's.
    pub server: Option<String>,
    /// Its name.
    pub name: String,
    /// What it is given.
    pub input: Value,
    /// How it fares.
    pub status: Status,
    /// What came of it, as text.
    pub output: Option<String>,
}

impl Item {
    /// Reads it. `None`: it has no id.
    pub fn read(item: &Value) -> Option<Self> {
        let id = item.text("id")?;
        let text = |field: &str| item.text(field).unwrap_or_default();
        let kind = match text("type").as_str() {
            "userMessage" => ItemKind::User,
            "agentMessage" => ItemKind::Message { text: text("text") },
            "reasoning" => ItemKind::Reasoning { summary: item.texts("summary"), content: item.texts("content") },
            "plan" => ItemKind::Plan { text: text("text") },
            "commandExecution" => ItemKind::Command(Command::read(item)),
            "fileChange" => ItemKind::FileChange { changes: Change::list(item), status: Status::read(item) },
            "contextCompaction" => ItemKind::Compaction,
            "exitedReviewMode" => ItemKind::Review { text: text("review") },
            of => ToolUse::read(of, item).map_or_else(|| ItemKind::Unknown(item.clone()), ItemKind::Tool),
        };
        Some(Self { id, kind })
    }
}

impl Command {
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
            status: Status::read(item),
            output: item.text("aggregatedOutput"),
            exit_code: item.get("exitCode").and_then(Value::as_i64),
        }
    }
}

impl ToolUse {
    fn read(of: &str, item: &Value) -> Option<Self> {
        let mut call = Self {
            of: of.to_owned(),
            server: None,
            name: item.text("tool").unwrap_or_default(),
            input: item.some("arguments").cloned().unwrap_or(Value::Null),
            status: Status::read(item),
            output: None,
        };
        match of {
            "mcpToolCall" => {
                call.server = item.text("server");
                call.output = item["error"].text("message").or_else(|| written(item["result"].list("content")));
            }
            "dynamicToolCall" => {
                call.server = item.text("namespace");
                call.output = written(item.list("contentItems"));
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

/// The texts of some content.
fn written(content: &[Value]) -> Option<String> {
    let texts: Vec<String> = content
        .iter()
        .map(|part| part.text("text").unwrap_or_else(|| format!("[{}]", part.text("type").unwrap_or_default())))
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
