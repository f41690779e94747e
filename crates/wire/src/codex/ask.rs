//! What the server asks and waits for.

use serde_json::{Value, json};

use super::read::Read;

/// Something that the server asks.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// May this command run?
    Command(CommandApproval),
    /// May these files be changed?
    FileChange(FileApproval),
    /// May it have these permissions?
    Permissions(PermissionApproval),
    /// A tool of its own wants to know something.
    UserInput(UserInput),
    /// An MCP server wants to know something.
    Elicitation(Elicitation),
    /// What is not known here.
    Unknown {
        /// What it asks.
        method: String,
        /// With what.
        params: Value,
    },
}

/// May this command run?
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommandApproval {
    /// In which conversation.
    pub thread: String,
    /// In which turn.
    pub turn: String,
    /// The item that it is about.
    pub item: String,
    /// The command, with the shell that runs it.
    pub command: Option<String>,
    /// Its words without the shell, where the server can tell.
    pub plain: Option<String>,
    /// Where it would run.
    pub directory: Option<String>,
    /// Why it is asked.
    pub reason: Option<String>,
    /// The host that it wants to reach, if it is about that.
    pub host: Option<String>,
    /// The decisions that are offered; where the server says nothing, those that it always takes.
    pub decisions: Vec<Decision>,
}

/// May these files be changed? The item tells which.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileApproval {
    /// In which conversation.
    pub thread: String,
    /// In which turn.
    pub turn: String,
    /// The item that it is about.
    pub item: String,
    /// Why it is asked.
    pub reason: Option<String>,
    /// The folder that it wants to write in from then on.
    pub root: Option<String>,
}

impl FileApproval {
    /// The decisions that it takes.
    pub fn decisions(&self) -> Vec<Decision> {
        vec![Decision::Accept, Decision::AcceptForSession, Decision::Decline, Decision::Cancel]
    }
}

/// A decision on an approval, as it is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Yes, this once.
    Accept,
    /// Yes, and the same for the rest of the session.
    AcceptForSession,
    /// Yes, and what begins with these words from now on.
    AcceptRule(Vec<String>),
    /// A host from now on: reached, or not.
    Host {
        /// Which.
        host: String,
        /// Whether it may be reached.
        allow: bool,
        /// As it is answered.
        raw: Value,
    },
    /// No; the turn goes on.
    Decline,
    /// No, and the turn ends.
    Cancel,
    /// Another, as the server has offered it.
    Other(Value),
}

impl Decision {
    fn read(decision: &Value) -> Self {
        let rule = &decision["acceptWithExecpolicyAmendment"];
        let host = &decision["applyNetworkPolicyAmendment"]["network_policy_amendment"];
        match decision.as_str() {
            Some("accept") => Self::Accept,
            Some("acceptForSession") => Self::AcceptForSession,
            Some("decline") => Self::Decline,
            Some("cancel") => Self::Cancel,
            _ if rule.is_object() => Self::AcceptRule(rule.texts("execpolicy_amendment")),
            _ => match host.text("host") {
                Some(name) => {
                    let allow = host.text("action").as_deref() == Some("allow");
                    Self::Host { host: name, allow, raw: decision.clone() }
                }
                None => Self::Other(decision.clone()),
            },
        }
    }

    /// As the server wants it.
    pub fn answer(&self) -> Value {
        let decision = match self {
            Self::Accept => json!("accept"),
            Self::AcceptForSession => json!("acceptForSession"),
            Self::AcceptRule(words) => json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": words } }),
            Self::Decline => json!("decline"),
            Self::Cancel => json!("cancel"),
            Self::Host { raw, .. } | Self::Other(raw) => raw.clone(),
        };
        json!({ "decision": decision })
    }
}

/// May it have these permissions?
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PermissionApproval {
    /// In which conversation.
    pub thread: String,
    /// The item that it is about.
    pub item: String,
    /// Why it is asked.
    pub reason: Option<String>,
    /// Which.
    pub permissions: Value,
}

impl PermissionApproval {
    /// Yes: for this turn, or for the session.
    pub fn grant(&self, session: bool) -> Value {
        let mut permissions = self.permissions.clone();
        if let Some(permissions) = permissions.as_object_mut() {
            permissions.retain(|_, wanted| !wanted.is_null());
        }
        json!({ "permissions": permissions, "scope": if session { "session" } else { "turn" } })
    }

    /// No: none of them.
    pub fn refuse(&self) -> Value {
        json!({ "permissions": {}, "scope": "turn" })
    }
}

/// Some questions that are answered together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserInput {
    /// In which conversation.
    pub thread: String,
    /// The questions.
    pub questions: Vec<UserQuestion>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuestion {
    /// Its id.
    pub id: String,
    /// What it is about, in a word.
    pub header: String,
    /// What is asked.
    pub question: String,
    /// The answers that are offered, each with what it means.
    pub options: Vec<(String, Option<String>)>,
    /// Whether words of one's own are an answer too.
    pub other: bool,
    /// The answer is nothing to show or to keep.
    pub secret: bool,
}

impl UserInput {
    /// The answers, in the order of the questions.
    pub fn answer<'a>(&self, answers: impl IntoIterator<Item = &'a str>) -> Value {
        let answers = self.questions.iter().zip(answers);
        let answers = answers.map(|(question, answer)| (question.id.clone(), json!({ "answers": [answer] })));
        json!({ "answers": answers.collect::<serde_json::Map<_, _>>() })
    }
}

/// An MCP server wants to know something, or whether a tool of its may be used.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Elicitation {
    /// In which conversation.
    pub thread: String,
    /// Which server.
    pub server: String,
    /// What it says.
    pub message: String,
    /// The form to fill, as JSON Schema. `None`: something is to be done at an address.
    pub schema: Option<Value>,
    /// The address.
    pub url: Option<String>,
    /// How long a yes may hold: `session`, `always`.
    pub persist: Vec<String>,
}

impl Elicitation {
    /// Yes, with what was filled in, and for how long it holds.
    pub fn accept(&self, content: Value, persist: Option<&str>) -> Value {
        let meta = persist.map(|persist| json!({ "persist": persist }));
        json!({ "action": "accept", "content": content, "_meta": meta })
    }

    /// No.
    pub fn decline(&self) -> Value {
        json!({ "action": "decline", "content": null, "_meta": null })
    }
}

impl Ask {
    /// Reads one. Never fails: what it does not know comes back as it came.
    pub fn read(method: &str, params: Value) -> Self {
        let text = |field: &str| params.text(field).unwrap_or_default();
        let (thread, turn, item, reason) = (text("threadId"), text("turnId"), text("itemId"), params.text("reason"));
        match method {
            "item/commandExecution/requestApproval" => Self::Command(CommandApproval {
                thread,
                turn,
                item,
                command: params.text("command"),
                plain: plain(&params),
                directory: params.text("cwd"),
                reason,
                host: params["networkApprovalContext"].text("host"),
                decisions: decisions(&params),
            }),
            "item/fileChange/requestApproval" => {
                Self::FileChange(FileApproval { thread, turn, item, reason, root: params.text("grantRoot") })
            }
            "item/permissions/requestApproval" => {
                let permissions = params["permissions"].clone();
                Self::Permissions(PermissionApproval { thread, item, reason, permissions })
            }
            "item/tool/requestUserInput" => Self::UserInput(UserInput {
                thread,
                questions: params.list("questions").iter().map(question).collect(),
            }),
            "mcpServer/elicitation/request" => {
                let persist = &params["_meta"]["persist"];
                Self::Elicitation(Elicitation {
                    thread,
                    server: text("serverName"),
                    message: text("message"),
                    schema: params.some("requestedSchema").cloned(),
                    url: params.text("url"),
                    persist: match persist.as_str() {
                        Some(one) => vec![one.to_owned()],
                        None => params["_meta"].texts("persist"),
                    },
                })
            }
            _ => Self::Unknown { method: method.to_owned(), params },
        }
    }
}

/// The words of a command, if it is one command.
fn plain(params: &Value) -> Option<String> {
    match params.list("commandActions") {
        [one] => one.text("command"),
        _ => None,
    }
}

fn decisions(params: &Value) -> Vec<Decision> {
    let offered = params.list("availableDecisions");
    if !offered.is_empty() {
        return offered.iter().map(Decision::read).collect();
    }
    let mut decisions = vec![Decision::Accept, Decision::AcceptForSession];
    let rule = params.texts("proposedExecpolicyAmendment");
    if !rule.is_empty() {
        decisions.push(Decision::AcceptRule(rule));
    }
    decisions.extend([Decision::Decline, Decision::Cancel]);
    decisions
}

fn question(question: &Value) -> UserQuestion {
    let text = |field: &str| question.text(field).unwrap_or_default();
    let option = |option: &Value| {
        let described = option.text("description").filter(|text| !text.is_empty());
        Some((option.text("label")?, described))
    };
    UserQuestion {
        id: text("id"),
        header: text("header"),
        question: text("question"),
        options: question.list("options").iter().filter_map(option).collect(),
        other: question.is("isOther"),
        secret: question.is("isSecret"),
    }
}
