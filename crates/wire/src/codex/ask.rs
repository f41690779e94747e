//! Requests of the Codex server that expect a response, for example approvals.

use serde_json::{Value, json};

use super::read::JsonFields;

/// Request of the Codex server that expects a response.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerRequest {
    /// Asks for approval of a command.
    Command(CommandApproval),
    /// Asks for approval of file changes.
    FileChange(FileApproval),
    /// Asks for additional permissions.
    Permissions(PermissionApproval),
    /// Asks the user questions on behalf of a tool.
    UserInput(UserInputRequest),
    /// Forwards a request of an MCP server to the user.
    Elicitation(Elicitation),
    /// Request of an unknown kind.
    Unknown {
        /// Method of the request.
        method: String,
        /// Parameters as received.
        params: Value,
    },
}

/// Request to approve a command.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommandApproval {
    /// Id of the conversation.
    pub thread: String,
    /// Id of the turn.
    pub turn: String,
    /// Id of the command's item.
    pub item: String,
    /// Complete command line, including the shell that runs the command.
    pub command: Option<String>,
    /// Command line without the shell; `None` if the server cannot determine it.
    pub plain: Option<String>,
    /// Working directory of the command.
    pub directory: Option<String>,
    /// Reason for the request.
    pub reason: Option<String>,
    /// Host that the command wants to reach, if the request is about network access.
    pub host: Option<String>,
    /// Decisions to offer to the user: the server's list, or the default decisions if the server lists none.
    pub decisions: Vec<ApprovalDecision>,
}

/// Request to approve file changes. The changes are part of the item with the id `item`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileApproval {
    /// Id of the conversation.
    pub thread: String,
    /// Id of the turn.
    pub turn: String,
    /// Id of the item with the changes.
    pub item: String,
    /// Reason for the request.
    pub reason: Option<String>,
    /// Directory for which write access is requested permanently.
    pub root: Option<String>,
}

impl FileApproval {
    /// Returns the decisions that the server accepts.
    pub fn decisions(&self) -> Vec<ApprovalDecision> {
        vec![
            ApprovalDecision::Accept,
            ApprovalDecision::AcceptForSession,
            ApprovalDecision::Decline,
            ApprovalDecision::Cancel,
        ]
    }
}

/// Decision on an approval request.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalDecision {
    /// Approves this request only.
    Accept,
    /// Approves this request and identical requests for the rest of the session.
    AcceptForSession,
    /// Approves this request, and allows all commands with this prefix from now on.
    AcceptRule(Vec<String>),
    /// Allows or blocks a host from now on.
    Host {
        /// Name of the host.
        host: String,
        /// True if the host may be reached.
        allow: bool,
        /// Decision as offered by the server; sent back unchanged.
        raw: Value,
    },
    /// Denies the request and continues the turn.
    Decline,
    /// Denies the request and ends the turn.
    Cancel,
    /// Unknown decision as offered by the server; sent back unchanged.
    Other(Value),
}

impl ApprovalDecision {
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

    /// Encodes the response.
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

/// Request for additional permissions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PermissionApproval {
    /// Id of the conversation.
    pub thread: String,
    /// Id of the item that needs the permissions.
    pub item: String,
    /// Reason for the request.
    pub reason: Option<String>,
    /// Requested permissions as received.
    pub permissions: Value,
}

impl PermissionApproval {
    /// Encodes a response that grants the permissions for the session, or only for the turn if `session` is false.
    pub fn grant(&self, session: bool) -> Value {
        let mut permissions = self.permissions.clone();
        if let Some(permissions) = permissions.as_object_mut() {
            permissions.retain(|_, wanted| !wanted.is_null());
        }
        json!({ "permissions": permissions, "scope": if session { "session" } else { "turn" } })
    }

    /// Encodes a response that grants no permissions.
    pub fn refuse(&self) -> Value {
        json!({ "permissions": {}, "scope": "turn" })
    }
}

/// Request with one or more questions. One response answers all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserInputRequest {
    /// Id of the conversation.
    pub thread: String,
    /// Questions in display order.
    pub questions: Vec<UserQuestion>,
}

/// Question for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuestion {
    /// Id of the question.
    pub id: String,
    /// Short heading of the question.
    pub header: String,
    /// Question text for the user.
    pub question: String,
    /// Offered answers, each with an optional description.
    pub options: Vec<(String, Option<String>)>,
    /// True if free text is accepted as an answer.
    pub other: bool,
    /// True if the answer must be neither displayed nor stored.
    pub secret: bool,
}

impl UserInputRequest {
    /// Encodes a response with the answers in the order of the questions.
    pub fn answer<'a>(&self, answers: impl IntoIterator<Item = &'a str>) -> Value {
        let answers = self.questions.iter().zip(answers);
        let answers = answers.map(|(question, answer)| (question.id.clone(), json!({ "answers": [answer] })));
        json!({ "answers": answers.collect::<serde_json::Map<_, _>>() })
    }
}

/// Request of an MCP server for user input or for permission to call one of its tools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Elicitation {
    /// Id of the conversation.
    pub thread: String,
    /// Name of the MCP server.
    pub server: String,
    /// Message for the user.
    pub message: String,
    /// JSON Schema of the form; `None` if the user must visit `url` instead.
    pub schema: Option<Value>,
    /// URL to visit, if any.
    pub url: Option<String>,
    /// Scopes in which an approval can be remembered: `session`, `always`.
    pub persist: Vec<String>,
}

impl Elicitation {
    /// Encodes a response with the completed form. `persist` is the scope in which the approval is remembered, if any.
    pub fn accept(&self, content: Value, persist: Option<&str>) -> Value {
        let meta = persist.map(|persist| json!({ "persist": persist }));
        json!({ "action": "accept", "content": content, "_meta": meta })
    }

    /// Encodes a response that declines the request.
    pub fn decline(&self) -> Value {
        json!({ "action": "decline", "content": null, "_meta": null })
    }
}

impl ServerRequest {
    /// Decodes a request. Never fails: unknown requests become [`ServerRequest::Unknown`].
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
            "item/tool/requestUserInput" => Self::UserInput(UserInputRequest {
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

/// Returns the command line without the shell if the request is for exactly one command.
fn plain(params: &Value) -> Option<String> {
    match params.list("commandActions") {
        [one] => one.text("command"),
        _ => None,
    }
}

fn decisions(params: &Value) -> Vec<ApprovalDecision> {
    let offered = params.list("availableDecisions");
    if !offered.is_empty() {
        return offered.iter().map(ApprovalDecision::read).collect();
    }
    let mut decisions = vec![ApprovalDecision::Accept, ApprovalDecision::AcceptForSession];
    let rule = params.texts("proposedExecpolicyAmendment");
    if !rule.is_empty() {
        decisions.push(ApprovalDecision::AcceptRule(rule));
    }
    decisions.extend([ApprovalDecision::Decline, ApprovalDecision::Cancel]);
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
